// The connections with a known key, by team and key, and the choice of the connection that yields to a further one.
//
// Invariants:
// - A connection yields only if its team has at least as many connections as the team of the further connection would
//   have. Within a team, a connection of the key with most connections yields. So no team or key takes a place from one
//   with fewer connections.

/** The owner of a key. A key of the operator has no team. */
export type Sender = Readonly<{ keyId: string; teamId?: string }>

type Named = Readonly<{ team: string; key: string }>

/** @typeParam C - A connection. */
export class KnownConnections<C extends object> {
  /** By team, then by key; the connections of a key oldest first. */
  readonly #teams = new Map<string, Map<string, Set<C>>>()
  readonly #holders = new Map<C, Named>()

  get size(): number {
    return this.#holders.size
  }

  has(connection: C): boolean {
    return this.#holders.has(connection)
  }

  /** Counts a connection for a key instead of its previous one: a proxy's connection carries requests of many keys. */
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
   * The connection that yields to a further one: an idle connection of the team that would have most connections.
   * @returns `busy`: that team is not the sender's, and none of its connections is idle. `refused`: that team is the
   *   sender's, and none of its connections is idle.
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
