// The rows of a table as the grid wants them: by position, or those that a condition finds, in the order of the table.
//
// Invariants:
// - All rows of a source are of one version. An answer of another version is dropped, and said.
// - Memory is bounded: the blocks that were not seen for longest are dropped.
import type { Api, Row, RowsRequest } from './api.js'

export interface RowSource {
  /** Rows that are known to be there. */
  readonly count: number
  /** Whether more rows may follow. */
  readonly isOpen: boolean
  rowAt(position: number): Row | undefined
  /** Says which rows are in view, from a position up to another. */
  want(from: number, to: number): void
  close(): void
}

export type SourceEvents = Readonly<{
  /** There are more rows, or rows that are shown have come. */
  onRows: () => void
  /** The table has another version than the one that is shown. */
  onVersion: (version: number) => void
  onFailure: (failure: unknown) => void
}>

type Reading = Readonly<{
  api: Api
  tableId: string
  version: number
  columns: readonly string[] | undefined
}>

/** Rows of a block. */
const BLOCK = 128
/** Blocks that are kept. */
const BLOCKS_MAX = 160
/** Requests at the same time. More would delay the newest ones. */
const REQUESTS_MAX = 3

/** Every row of a table, by position. */
export class PositionRows implements RowSource {
  readonly count: number
  readonly isOpen = false
  readonly #reading: Reading
  readonly #events: SourceEvents
  readonly #blocks = new Map<number, readonly Row[]>()
  readonly #underWay = new Map<number, AbortController>()
  #wanted: readonly number[] = []
  #isStale = false

  constructor(reading: Reading, count: number, events: SourceEvents) {
    this.#reading = reading
    this.#events = events
    this.count = count
  }

  rowAt(position: number): Row | undefined {
    return this.#blocks.get(Math.floor(position / BLOCK))?.[position % BLOCK]
  }

  want(from: number, to: number): void {
    const first = Math.floor(from / BLOCK)
    const last = Math.floor(Math.max(from, to - 1) / BLOCK)
    const wanted: number[] = []
    for (let block = first; block <= last; block++) wanted.push(block)
    wanted.push(last + 1, first - 1) // Those that come next, whichever way it goes.
    this.#wanted = wanted.filter((block) => block >= 0 && block * BLOCK < this.count)
    for (const [block, controller] of this.#underWay) {
      if (!wanted.includes(block)) controller.abort()
    }
    this.#begin()
  }

  close(): void {
    this.#isStale = true
    for (const controller of this.#underWay.values()) controller.abort()
  }

  #begin(): void {
    for (const block of this.#wanted) {
      if (this.#isStale || this.#underWay.size >= REQUESTS_MAX) return
      if (!this.#blocks.has(block) && !this.#underWay.has(block)) this.#fetch(block)
    }
  }

  #fetch(block: number): void {
    const controller = new AbortController()
    this.#underWay.set(block, controller)
    this.#read(block, controller.signal)
      .then((rows) => {
        if (rows === undefined || this.#isStale) return
        this.#blocks.set(block, rows)
        for (const old of this.#blocks.keys()) {
          if (this.#blocks.size <= BLOCKS_MAX) break
          if (!this.#wanted.includes(old)) this.#blocks.delete(old)
        }
        this.#events.onRows()
      })
      .catch((failure: unknown) => {
        if (controller.signal.aborted) return
        this.#isStale = true
        this.#events.onFailure(failure)
      })
      .finally(() => {
        this.#underWay.delete(block)
        this.#begin()
      })
  }

  /** A page has 1 MiB of text at most, so a block of long rows takes several. */
  async #read(block: number, signal: AbortSignal): Promise<readonly Row[] | undefined> {
    const rows: Row[] = []
    const start = block * BLOCK
    const length = Math.min(BLOCK, this.count - start)
    while (rows.length < length) {
      const request = { from: start + rows.length, limit: length - rows.length }
      const page = await readPage(this.#reading, request, signal)
      if (page.version !== this.#reading.version) {
        this.#isStale = true
        this.#events.onVersion(page.version)
        return undefined
      }
      if (page.rows.length === 0) break
      rows.push(...page.rows)
    }
    return rows
  }
}

/** Rows that are kept of those that match. Whoever wants more of them narrows the condition. */
const FOUND_MAX = 100_000
const FOUND_PAGE = 500

/** The rows that match a condition. How many there are shows as they are read. */
export class FoundRows implements RowSource {
  readonly #reading: Reading
  readonly #where: object
  readonly #events: SourceEvents
  readonly #rows: Row[] = []
  readonly #ending = new AbortController()
  #continuation: string | undefined
  #isReading = false
  isOpen = true

  constructor(reading: Reading, where: object, events: SourceEvents) {
    this.#reading = reading
    this.#where = where
    this.#events = events
    this.want(0, 1)
  }

  get count(): number {
    return this.#rows.length
  }

  rowAt(position: number): Row | undefined {
    return this.#rows[position]
  }

  want(_from: number, to: number): void {
    if (this.#isReading || !this.isOpen || to + FOUND_PAGE / 2 < this.#rows.length) return
    this.#isReading = true
    this.#readMore(to + FOUND_PAGE)
      .catch((failure: unknown) => {
        this.isOpen = false
        if (!this.#ending.signal.aborted) this.#events.onFailure(failure)
      })
      .finally(() => {
        this.#isReading = false
      })
  }

  close(): void {
    this.#ending.abort()
  }

  /** A page may have no rows although more follow, because it compares a bounded number. */
  async #readMore(upTo: number): Promise<void> {
    while (this.isOpen && this.#rows.length < upTo) {
      const request = { limit: FOUND_PAGE, where: this.#where, continuation: this.#continuation }
      const page = await readPage(this.#reading, request, this.#ending.signal)
      if (page.version !== this.#reading.version) {
        this.isOpen = false
        this.#events.onVersion(page.version)
        this.#events.onRows()
        return
      }
      this.#rows.push(...page.rows)
      this.#continuation = page.continuation
      this.isOpen = page.continuation !== undefined && this.#rows.length < FOUND_MAX
      this.#events.onRows()
    }
  }
}

function readPage(
  { api, tableId, columns }: Reading,
  request: RowsRequest,
  signal: AbortSignal,
): ReturnType<Api['rows']> {
  return api.rows(tableId, { ...request, columns }, signal)
}
