// The state at the beginning of each step of a history, so that the oracle can go back with a store that lost its
// newest commits in a power cut.
import type { SimOperation } from './operations.js'
import type { ModelFile, ModelStash, ModelTable, Oracle, Possible } from './oracle.js'
import { withState } from './oracle.js'

type StashThen = Readonly<Omit<ModelStash, 'id'>>

type Moment = Readonly<{
  /** Number of batches written before it. */
  batches: number
  tables: ReadonlyMap<ModelTable, readonly Possible[]>
  stashes: ReadonlyMap<ModelStash, StashThen>
  files: readonly ModelFile[]
  /** The operations between this moment and the next. */
  operations: SimOperation[]
}>

export class Moments {
  #moments: Moment[] = []
  #hasLost = false

  /** Whether it has gone back since it began. */
  get hasLost(): boolean {
    return this.#hasLost
  }

  /** Forgets the past: all of it is on the disk. */
  begin(batches: number, oracle: Oracle): void {
    this.#moments = []
    this.#hasLost = false
    this.note(batches, oracle)
  }

  note(batches: number, { tables, stashes, files }: Oracle): void {
    const thenOf = ({ chunks, ...others }: ModelStash): StashThen => {
      return { ...others, chunks: new Map(chunks) }
    }
    this.#moments.push({
      batches,
      tables: new Map(tables.map((table) => [table, table.possible])),
      stashes: new Map([...stashes.values()].map((stash) => [stash, thenOf(stash)])),
      files: [...files.values()],
      operations: [],
    })
  }

  add(operations: readonly SimOperation[]): void {
    this.#moments.at(-1)?.operations.push(...operations)
  }

  /** Takes the oracle back to a number of written batches. Operations of that moment may have taken effect. */
  goBack(oracle: Oracle, batches: number): void {
    const then = this.#moments.findLast((moment) => moment.batches <= batches)
    this.#hasLost = true
    // A lost state never existed: a loss before the next opening must not go back to it.
    this.#moments = this.#moments.filter((moment) => moment.batches <= batches)
    if (then === undefined) throw new Error('What was on the disk before the first moment is lost')
    for (const table of oracle.tables) {
      const before = then.tables.get(table) ?? [{ state: null, pending: [] }]
      const own = then.operations.filter((one) => one.table === table)
      const maybe = own.map((one) => ({ ...one, outcome: { kind: 'unknown' } as const }))
      table.possible = before.map(({ state, pending }) => {
        return { state, pending: [...pending, ...maybe] }
      })
    }
    for (const stash of oracle.stashes.values()) {
      const { chunks, lastPutAt, isDoubted, isGone } = then.stashes.get(stash) ?? NO_STASH
      stash.chunks.clear()
      for (const [serial, states] of chunks) stash.chunks.set(serial, states)
      stash.lastPutAt = lastPutAt
      stash.isDoubted = isDoubted
      stash.isGone = isGone
    }
    for (const { stashed } of then.operations) {
      if (stashed === undefined) continue
      const { stash, serial, rows } = stashed
      for (const one of serial === null ? [...stash.chunks.keys()] : [serial]) {
        stash.chunks.set(one, withState(stash.chunks.get(one) ?? [null], [rows]))
      }
    }
    oracle.files.clear()
    for (const file of then.files) oracle.files.set(file.id, file)
    if (then.operations.some(({ parts }) => parts !== undefined)) oracle.doubtFiles()
  }
}

const NO_STASH: StashThen = {
  chunks: new Map(),
  lastPutAt: 0,
  isDoubted: false,
  isGone: false,
}
