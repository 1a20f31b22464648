// The sources of the rows that the grid shows: `PositionRows` reads rows by their positions in a table or in an order,
// and `FoundRows` reads the rows that match a condition, in the order of the table.
//
// Invariants:
// - All rows of a source are of one version of the table, or of later versions that only changes by this page created.
//   An answer of another version is dropped, and `onVersion` reports it.
// - Memory is bounded: the least recently used blocks of rows are dropped, and are read again when they are needed.
import { ClientError } from '../../../../src/client/client-error.js'
import type { Api, Row, RowsQuery, RowsRequest } from '../base/api.js'
import * as TEXT from '../base/texts.js'
import { RowBlocks } from './row-blocks.js'

export interface RowSource {
  /** Number of rows known to exist. */
  readonly count: number
  /** Whether more rows may follow, which are read when they are needed. */
  readonly isOpen: boolean
  /** Whether more rows may follow that are not read. */
  readonly isCut: boolean
  /** The total number of rows, if it is known before all rows are read. */
  readonly total?: number | undefined
  /** Whether rows wait until all are sorted. */
  readonly isSorting?: boolean
  rowAt(position: number): Row | undefined
  /** Declares which rows are visible, from a position up to another. */
  want(from: number, to: number): void
  /** The part of a request that gets the rows from a position on. */
  requestFrom(position: number): Promise<Partial<RowsRequest>>
  close(): void
}

export type SourceEvents = Readonly<{
  /** Called when there are more rows, or shown rows have arrived. */
  onRows: () => void
  /** Called with the table's version, if it is not the shown one. */
  onVersion: (version: number) => void
  onFailure: (failure: unknown) => void
}>

type Reading = Readonly<{
  api: Api
  tableId: string
  /** Whether rows of a version can be shown with the others. */
  isShown: (version: number) => boolean
  query: RowsQuery
}>

const POSITIONS = { blockRows: 128, blocksMax: 64 }
/** The maximum number of concurrent requests. More would delay the newest ones. */
const REQUESTS_MAX = 3

/** The number of rows that a server sorts for the first page of an order. For later pages it sorts more rows. */
const SORTED_AT_ONCE = 1_000
/** A server sorts at least this many of the first rows, even if the table has too many rows to sort all of them. */
const SORTED_ALWAYS = 10_000

/** The rows of a table or of a sorted query, read by their positions. */
export class PositionRows implements RowSource {
  count = 0
  isOpen = false
  isCut = false
  readonly #reading: Reading
  readonly #events: SourceEvents
  readonly #blocks = new RowBlocks(POSITIONS)
  readonly #underWay = new Map<number, AbortController>()
  readonly #ending = new AbortController()
  #wanted: readonly number[] = []
  #isStale = false
  isSorting = false
  /** Resolves when all rows are sorted. */
  #sorted: Promise<void> | undefined

  /** @param count - The number of rows. undefined: the first page tells the number. */
  constructor(reading: Reading, count: number | undefined, events: SourceEvents) {
    this.#reading = reading
    this.#events = events
    this.isOpen = count === undefined
    this.count = count ?? 0
    if (this.isOpen) this.want(0, 1)
  }

  rowAt(position: number): Row | undefined {
    return this.#blocks.rowAt(position)
  }

  want(from: number, to: number): void {
    const wanted = this.#blocks.want(from, to)
    const [first = 0, last = first] = [wanted[0], wanted.at(-1)]
    wanted.push(last + 1, first - 1) // the next ones, in both directions
    this.#wanted = wanted.filter((block) => block >= 0 && this.#has(block))
    for (const [block, controller] of this.#underWay) {
      if (!wanted.includes(block)) controller.abort()
    }
    this.#begin()
  }

  async requestFrom(position: number): Promise<Partial<RowsRequest>> {
    return { ...this.#reading.query, from: position }
  }

  close(): void {
    this.#isStale = true
    this.#ending.abort()
    for (const controller of this.#underWay.values()) controller.abort()
  }

  /** Whether a block may have rows. The first one may, even while nothing is known about the rows. */
  #has(block: number): boolean {
    return block * POSITIONS.blockRows < Math.max(this.count, this.isOpen ? 1 : 0)
  }

  #begin(): void {
    for (const block of this.#wanted) {
      if (this.#isStale || this.#underWay.size >= REQUESTS_MAX) return
      if (!this.#has(block)) continue // There are fewer rows than it seemed.
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
        this.#events.onRows()
        this.#sortEarly()
      })
      .catch((failure: unknown) => {
        if (controller.signal.aborted || this.#isStale) return
        this.#isStale = true
        this.isCut = this.isOpen
        this.isOpen = false
        this.#events.onFailure(failure)
      })
      .finally(() => {
        this.#underWay.delete(block)
        this.#begin()
      })
  }

  /** Reads a block. A page has at most 1 MiB of text, so a block of long rows takes several pages. */
  async #read(block: number, signal: AbortSignal): Promise<readonly Row[] | undefined> {
    const rows: Row[] = []
    const start = block * POSITIONS.blockRows
    const isFar = start + POSITIONS.blockRows > SORTED_AT_ONCE
    if (isFar && this.#reading.query.sort !== undefined) {
      await this.#sort()
      signal.throwIfAborted()
    }
    for (;;) {
      const wanted = this.isOpen ? POSITIONS.blockRows : this.count - start
      const limit = Math.min(POSITIONS.blockRows, wanted) - rows.length
      if (limit <= 0) break
      const request = { from: start + rows.length, limit, ...(this.isOpen && { total: true }) }
      const page = await requestPage(this.#reading, request, signal)
      if (!this.#reading.isShown(page.version)) {
        this.#isStale = true
        this.#events.onVersion(page.version)
        return undefined
      }
      this.isOpen = false
      this.count = page.total ?? this.count
      if (page.rows.length === 0) break
      rows.push(...page.rows)
    }
    return rows
  }

  /** Begins to sort all rows once the first rows of an order are shown: a person may go to the others next. */
  #sortEarly(): void {
    const isLong = this.count > SORTED_AT_ONCE
    if (!isLong || this.#reading.query.sort === undefined || this.#isStale) return
    this.#sort().catch(() => undefined) // A person who goes there sees the failure.
  }

  #sort(): Promise<void> {
    if (this.#sorted === undefined) {
      this.isSorting = true
      this.#sorted = this.#sortAll().finally(() => {
        this.isSorting = false
        if (!this.#isStale) this.#events.onRows()
      })
    }
    return this.#sorted
  }

  /**
   * Makes the server sort all rows once, before they are requested: a request that had to sort them would be cancelled
   * while a person scrolls on. If the server refuses to sort so many rows, the source has only the first ones.
   */
  async #sortAll(): Promise<void> {
    const upTo = async (end: number): Promise<void> => {
      const last = { from: Math.max(0, end - 1), limit: 1 }
      await requestPage(this.#reading, last, this.#ending.signal)
    }
    try {
      await upTo(this.count)
    } catch (failure) {
      if (!isTooLarge(failure) || this.count <= SORTED_ALWAYS) throw failure
      this.count = SORTED_ALWAYS
      this.isCut = true
      this.#events.onRows()
      await upTo(SORTED_ALWAYS)
    }
  }
}

/** Recognizes the failure by its message: the contract has no error type for it. */
function isTooLarge(failure: unknown): boolean {
  const isRefused = failure instanceof ClientError && failure.status === 400
  return isRefused && failure.message.includes('too many to be sorted')
}

const MATCHES = { blockRows: 500, blocksMax: 40 }
/**
 * The maximum number of matches that are read. Each block has a stored continuation, and a person who wants more
 * matches narrows the condition.
 */
const MATCHES_MAX = 1_000_000

type FoundOptions = Readonly<{
  /** Default: `MATCHES_MAX`. */
  countMax?: number
  /** The number of matches that are read before they are needed. Default: 0. */
  atLeast?: number
}>

/** The rows that match a condition. Their number shows as they are read. */
export class FoundRows implements RowSource {
  count = 0
  isOpen = true
  isCut = false
  total: number | undefined
  readonly #reading: Reading
  readonly #events: SourceEvents
  readonly #options: FoundOptions
  readonly #blocks = new RowBlocks(MATCHES)
  /** For each block, the continuation that reads its first row. */
  readonly #continuations: (string | undefined)[] = []
  readonly #ending = new AbortController()
  /** The continuation that reads the next match. */
  #next: string | undefined
  #wanted: readonly number[] = []
  /** Number of matches to read. */
  #upTo = 0
  #isReading = false

  constructor(reading: Reading, events: SourceEvents, options: FoundOptions = {}) {
    this.#reading = reading
    this.#events = events
    this.#options = options
    this.want(0, 1)
  }

  rowAt(position: number): Row | undefined {
    return this.#blocks.rowAt(position)
  }

  want(from: number, to: number): void {
    this.#wanted = this.#blocks.want(from, to)
    this.#upTo = to + MATCHES.blockRows / 2
    if (this.#isReading) return
    this.#isReading = true
    this.#readWanted()
      .catch((failure: unknown) => this.#fail(failure))
      .finally(() => {
        this.#isReading = false
      })
  }

  /** A continuation leads to the beginning of a block. From there rows are read up to the position. */
  async requestFrom(position: number): Promise<Partial<RowsRequest>> {
    if (this.#ending.signal.aborted) throw new Error(TEXT.rowsEnded)
    const block = Math.floor(position / MATCHES.blockRows)
    let continuation = this.#continuations[block]
    for (let left = position - block * MATCHES.blockRows; left > 0; ) {
      const page = await this.#page({ limit: left, continuation })
      left -= page.rows.length
      continuation = page.continuation
      if (continuation === undefined) break
    }
    return { ...this.#reading.query, continuation }
  }

  close(): void {
    this.#ending.abort()
  }

  #fail(failure: unknown): void {
    if (this.#ending.signal.aborted) return
    this.#cut()
    this.#events.onFailure(failure)
  }

  #cut(): void {
    this.isCut = this.isOpen
    this.isOpen = false
    this.close()
  }

  async #readWanted(): Promise<void> {
    const { atLeast = 0 } = this.#options
    for (;;) {
      if (this.#ending.signal.aborted) return
      const dropped = this.#wanted.find(
        (block) => this.#knownOf(block) > 0 && !this.#blocks.has(block),
      )
      if (dropped !== undefined) await this.#readAgain(dropped)
      else if (this.isOpen && this.count < Math.max(atLeast, this.#upTo)) await this.#readMore()
      else return
      this.#events.onRows()
    }
  }

  /** How many rows of a block were found so far. */
  #knownOf(block: number): number {
    const { blockRows } = MATCHES
    return Math.max(0, Math.min(blockRows, this.count - block * blockRows))
  }

  async #readAgain(block: number): Promise<void> {
    const rows: Row[] = []
    const known = this.#knownOf(block)
    let continuation = this.#continuations[block]
    while (rows.length < known) {
      const page = await this.#page({ limit: known - rows.length, continuation })
      rows.push(...page.rows)
      continuation = page.continuation
      if (continuation === undefined) break
    }
    this.#blocks.set(block, rows)
  }

  /** Reads a page of matches. It may be empty although more follow: a server compares a bounded number of rows. */
  async #readMore(): Promise<void> {
    const block = Math.floor(this.count / MATCHES.blockRows)
    const known = this.#knownOf(block)
    if (known > 0 && !this.#blocks.has(block)) await this.#readAgain(block)
    if (known === 0) this.#continuations[block] = this.#next
    const { countMax = MATCHES_MAX } = this.#options
    const limit = Math.min(MATCHES.blockRows - known, countMax - this.count)
    const page = await this.#page({ limit, continuation: this.#next })
    this.#blocks.set(block, [...(this.#blocks.get(block) ?? []), ...page.rows])
    this.count += page.rows.length
    this.#next = page.continuation
    const isFull = this.count >= countMax
    this.isOpen = page.continuation !== undefined && !isFull
    this.isCut = page.continuation !== undefined && isFull
    if (block === 0 && this.isOpen) this.#countAll()
  }

  /** Counts matches before they are read. Otherwise their number shows as they are read. */
  #countAll(): void {
    if (this.total !== undefined) return
    const counted = this.#page({ limit: 1, total: true }).then(({ total }) => {
      this.total = total
      this.#events.onRows()
    })
    counted.catch(() => undefined)
  }

  /** A page of the shown version. An answer of another version ends the source. */
  async #page(request: RowsRequest): ReturnType<Api['rows']> {
    const { signal } = this.#ending
    const page = await requestPage(this.#reading, request, signal)
    signal.throwIfAborted()
    if (this.#reading.isShown(page.version)) return page
    this.#cut()
    this.#events.onVersion(page.version)
    this.#events.onRows()
    throw new DOMException('The table has another version', 'AbortError')
  }
}

function requestPage(
  { api, tableId, query }: Reading,
  request: RowsRequest,
  signal: AbortSignal,
): ReturnType<Api['rows']> {
  return api.rows(tableId, { ...query, ...request }, signal)
}

/**
 * Opens the rows of a query.
 * @param rowCount - The number of rows of the table.
 * @param atLeast - The number of matches that are read before they are needed.
 */
export function openRows(
  reading: Reading,
  events: SourceEvents,
  rowCount: number,
  atLeast: number,
): RowSource {
  const { where, search, sort } = reading.query
  const isAll = where === undefined && search === undefined
  if (!isAll && sort === undefined) return new FoundRows(reading, events, { atLeast })
  return new PositionRows(reading, isAll ? rowCount : undefined, events)
}
