// The connections on which a known key was seen, by team and key, and which of them gives way to a further one.
//
// Invariants:
// - A connection gives way only if its team has at least as many as that of the further one then has, and of one team
//   the key that has most. So no team and no key takes places from one that has fewer.

/** Whose key it is. A key of the operator has no team. */
export type Sender = Readonly<{ keyId: string; teamId?: string }>

type Named = Readonly<{ team: string; key: string }>

/** @typeParam C - A connection. */
export class KnownConnections<C extends object> {
  /** By team, then by key; those of a key oldest first. */
  readonly #teams = new Map<string, Map<string, Set<C>>>()
  readonly #holders = new Map<C, Named>()

  get size(): number {
    return this.#holders.size
  }

  has(connection: C): boolean {
    return this.#holders.has(connection)
  }

  /** Counts a connection to a key, and no more to the one before: that of a proxy carries requests of many. */
  set(connection: C, sender: Sender): void {
    const { team, key } = namedSender(sender)
    const holder = this.#holders.get(connection)
    if (holder?.team === team && holder.key === key) return
    this.delete(connection)
    this.#holders.set(connection, { team, key })
    const keys = this.#teams.get(team) ?? new Map<string, Set<C>>()
    this.#teams.set(team, keys.set(key, (keys.get(key) ?? new Set<C>()).add(connection)))
  }

  delete(connection: C): void {
    const holder = this.#holders.get(connection)
    if (holder === undefined) return
    this.#holders.delete(connection)
    const keys = this.#teams.get(holder.team)
    const connections = keys?.get(holder.key)
    connections?.delete(connection)
    if (connections?.size === 0) keys?.delete(holder.key)
    if (keys?.size === 0) this.#teams.delete(holder.team)
  }

  /**
   * Which connection gives way to a further one: an idle one of the team that has most with it.
   * @returns `busy`: that team is another, and has none. `refused`: it is that of the further one, and has none.
   */
  givesWay(sender: Sender, isIdle: (connection: C) => boolean): C | 'busy' | 'refused' {
    const own = namedSender(sender)
    let most = own.team
    let mostCount = 1 + countConnections(this.#teams.get(own.team))
    for (const [team, keys] of this.#teams) {
      const count = countConnections(keys)
      if (team !== own.team && count > mostCount) [most, mostCount] = [team, count]
    }
    const keys = [...(this.#teams.get(most) ?? [])]
    keys.sort(([key, some], [other, others]) => {
      return others.size + Number(other === own.key) - some.size - Number(key === own.key)
    })
    for (const [, connections] of keys) {
      for (const connection of connections) if (isIdle(connection)) return connection
    }
    return most === own.team ? 'refused' : 'busy'
  }
}

function namedSender({ teamId = '', keyId }: Sender): Named {
  return { team: teamId, key: keyId }
}

function countConnections(keys: ReadonlyMap<string, ReadonlySet<unknown>> = new Map()): number {
  let count = 0
  for (const { size } of keys.values()) count += size
  return count
}
