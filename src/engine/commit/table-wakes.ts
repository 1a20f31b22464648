// Wakes who waits for the next change of a table: for one of this process when it is durable; for one of another process,
// on a shared store, when a look at the heads of all watched tables finds it.
import { type Bytes, sameBytes, toHex } from '../../base/bytes.js'
import { pause } from '../../base/pause.js'
import { type TableKey, tableHeadKey } from '../../format/keys.js'
import type { KvPartition } from '../../kv/kv.js'

/** Pause between two looks at the heads of watched tables, in milliseconds; a team is one query. */
const LOOK_MS = 25

/** Pause after a look that failed. Whoever waits is woken, and meets the failure itself. */
const FAILED_LOOK_MS = 1_000

/** The time from one change of a table to the next. */
export type Turn = Readonly<{
  /** Resolves when a change is durable that is committed after the turn began. */
  woken: Promise<void>
  wake: () => void
  /** What is being read in the turn, by a name: those who wait share it. A look of an earlier turn may have missed a change. */
  looks: Map<string, Promise<unknown>>
}>

/** Who watches a table. It takes the turn before it looks, so that it misses no change, and ends the watch. */
export type TableWatch = Readonly<{ turn: () => Turn; end: () => void }>

type Watched = {
  readonly partition: KvPartition
  readonly table: TableKey
  watchers: number
  turn: Turn
  /** As the last look found it; undefined: there was none. */
  head: Bytes | null | undefined
}

/** Runs a look, which keeps the store open until it settles. */
type RunLook = (look: () => Promise<void>) => Promise<void>

export class TableWakes {
  readonly #watched = new Map<string, Watched>()
  readonly #runLook: RunLook | undefined
  #isLooking = false

  /** @param runLook - Undefined: no other process changes tables of the store. */
  constructor(runLook?: RunLook) {
    this.#runLook = runLook
  }

  watch(partition: KvPartition, table: TableKey): TableWatch {
    const name = toHex(table)
    const known = this.#watched.get(name)
    const watched = known ?? { partition, table, watchers: 0, turn: newTurn(), head: undefined }
    watched.watchers++
    this.#watched.set(name, watched)
    if (this.#runLook !== undefined && !this.#isLooking) void this.#lookOut(this.#runLook)
    return {
      turn: () => watched.turn,
      end: () => {
        watched.watchers--
        if (watched.watchers === 0) this.#watched.delete(name)
      },
    }
  }

  /** A change of the table is durable. */
  changed(table: TableKey): void {
    if (this.#watched.size === 0) return
    const watched = this.#watched.get(toHex(table))
    if (watched !== undefined) wake(watched)
  }

  async #lookOut(runLook: RunLook): Promise<void> {
    this.#isLooking = true
    while (this.#watched.size > 0) {
      const isDone = await runLook(() => this.#look()).then(
        () => true,
        () => false,
      )
      if (!isDone) for (const watched of this.#watched.values()) wake(watched)
      await pause(isDone ? LOOK_MS : FAILED_LOOK_MS)
    }
    this.#isLooking = false
  }

  async #look(): Promise<void> {
    const teams = new Map<KvPartition, Watched[]>()
    for (const watched of this.#watched.values()) {
      const tables = teams.get(watched.partition)
      if (tables === undefined) teams.set(watched.partition, [watched])
      else tables.push(watched)
    }
    for (const [partition, tables] of teams) {
      const keys = tables.map(({ table }) => tableHeadKey(table))
      const heads = await partition.read((view) => view.getMany(keys))
      for (const [i, watched] of tables.entries()) {
        const head = heads[i] ?? null
        if (isSame(watched.head, head)) continue
        watched.head = head
        wake(watched) // Also after the first look: it may have been changed since those who wait have looked.
      }
    }
  }
}

function newTurn(): Turn {
  let wake = (): void => undefined
  const woken = new Promise<void>((resolve) => {
    wake = resolve
  })
  return { woken, wake, looks: new Map() }
}

function wake(watched: Watched): void {
  const { turn } = watched
  watched.turn = newTurn()
  turn.wake()
}

function isSame(before: Bytes | null | undefined, now: Bytes | null): boolean {
  if (before === undefined || before === null || now === null) return before === now
  return sameBytes(before, now)
}
