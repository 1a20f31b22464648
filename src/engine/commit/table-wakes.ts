// Wakes the waiters for the next change of a table. A change of this process wakes them when it is durable. A change of
// another process, on a shared store, wakes them when a look at the heads of all watched tables finds it.
import { type Bytes, sameBytes, toHex } from '../../base/bytes.js'
import { pause } from '../../base/pause.js'
import { type TableKey, tableHeadKey } from '../../format/keys.js'
import type { KvPartition } from '../../kv/kv.js'

/** Pause between two looks at the heads of watched tables, in milliseconds. A look is one query per team. */
const LOOK_MS = 25

/** Pause after a failed look, in milliseconds. The waiters are woken, and get the failure themselves when they read. */
const FAILED_LOOK_MS = 1_000

/** The time from one change of a table to the next. */
export type Turn = Readonly<{
  /** Resolves when a change that was committed after the turn began is durable. */
  woken: Promise<void>
  wake: () => void
  /**
   * Reads in progress in the turn, by name. Waiters share them only within a turn: an earlier read may have missed a
   * change.
   */
  looks: Map<string, Promise<unknown>>
}>

/** A watch of a table. The watcher takes the turn before it looks, so that it misses no change, and ends the watch. */
export type TableWatch = Readonly<{ turn: () => Turn; end: () => void }>

type Watched = {
  readonly partition: KvPartition
  readonly table: TableKey
  watchers: number
  turn: Turn
  /** The head that the last look found; undefined: there was no look yet. */
  head: Bytes | null | undefined
}

/** Runs a look, and keeps the store open until it settles. */
type RunLook = (look: () => Promise<void>) => Promise<void>

export class TableWakes {
  readonly #watched = new Map<string, Watched>()
  readonly #runLook: RunLook | undefined
  #isLooking = false

  /** @param runLook - Runs looks; undefined: no other process changes the store, so no looks are needed. */
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

  /** Reports a durable change of the table. */
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
        wake(watched) // The first look wakes them, too: the table may have changed since the waiters looked.
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
