// A view of the records of a table at an earlier version. Rows that were changed after that version have their earlier
// form, and rows that were added after it count as deleted. All other records are those of the underlying view, because
// what they say of the earlier rows does not change.

import type { Awaitable } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { decodeRowBeforeKey, rowBeforeKey, rowsBeforeRange } from '../../format/change-records.js'
import type { TableKey } from '../../format/keys.js'
import { decodeRowKey, KEY_SPACE, type Position, rowKey, tableOfKey } from '../../format/keys.js'
import { encodeRowRecord } from '../../format/records.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KvScan, KvView } from '../../kv/kv.js'
import { positionAfter } from '../read/record-scan.js'
import { comparePositions } from './generation-end.js'

/** A query for earlier forms of rows reads at most this many records, with at most this many bytes. */
const BEFORE_COUNT = 500
const BEFORE_BYTES = 1024 * 1024

/** The part of a table that the view shows. */
export type PastScope = Readonly<{
  table: TableKey
  version: number
  /** The position after the last row at that version. */
  end: Position
  /** Number of rows of the extent of `end` that were added after the version; 0 as long as this extent is open. */
  hiddenRows: number
}>

type Entry = [key: Bytes, value: Bytes]

export class PastView implements KvView {
  readonly #view: KvView
  readonly #scope: PastScope

  constructor(view: KvView, scope: PastScope) {
    this.#view = view
    this.#scope = scope
  }

  get(key: Bytes): Awaitable<Bytes | null> {
    return this.#isOfRow(key) ? this.#getRow(key) : this.#view.get(key)
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | null)[]> {
    return Promise.all(keys.map((key) => this.get(key)))
  }

  #isOfRow(key: Bytes): boolean {
    return key[0] === KEY_SPACE.row && sameBytes(tableOfKey(key), this.#scope.table)
  }

  async #getRow(key: Bytes): Promise<Bytes | null> {
    const { table, version, end } = this.#scope
    const position = decodeRowKey(key)
    if (comparePositions(position, end) >= 0) return ADDED_SINCE
    const start = rowBeforeKey(table, position, version + 1)
    const limit = rowBeforeKey(table, positionAfter(position), 0)
    const [before] = await this.#view.scan({ start, limit, count: 1 })
    return before === undefined ? this.#view.get(key) : before[1]
  }

  async scan(scan: KvScan): Promise<Entry[]> {
    if (!this.#isOfRow(scan.start)) return this.#view.scan(scan)
    invariant(scan.reverse !== true, 'rows are scanned from the first to the last')
    const first = decodeRowKey(scan.start)
    const found: Entry[] = []
    for await (const [position, value] of this.#rows(scan, first, decodeRowKey(scan.limit))) {
      found.push([rowKey(this.#scope.table, position), value])
      if (found.length === scan.count) break
    }
    return found
  }

  /** The row records of that version, in order. */
  async *#rows(
    scan: KvScan,
    first: Position,
    last: Position,
  ): AsyncGenerator<readonly [Position, Bytes], void> {
    const { table, end, hiddenRows } = this.#scope
    const limit = comparePositions(last, end) < 0 ? last : end
    if (comparePositions(first, limit) < 0) {
      const range = { ...scan, limit: rowKey(table, limit) }
      yield* merged(this.#now(range), this.#before(first, limit))
    }
    const hidden = first.extent === end.extent ? Math.max(first.slot, end.slot) : end.slot
    if (comparePositions(first, end) > 0 && first.extent !== end.extent) return
    for (let slot = hidden; slot < end.slot + hiddenRows; slot++) {
      const position = { extent: end.extent, slot }
      if (comparePositions(position, last) < 0) yield [position, ADDED_SINCE]
    }
  }

  async *#now(scan: KvScan): AsyncGenerator<readonly [Position, Bytes], void> {
    // `bytesMax` is left out: a scan that it ended early would look like the end of the range.
    const { bytesMax: _, ...whole } = scan
    let { start } = scan
    for (;;) {
      const entries = await this.#view.scan({ ...whole, start })
      for (const [key, value] of entries) yield [decodeRowKey(key), value]
      const last = entries[entries.length - 1]
      if (entries.length < scan.count || last === undefined) return
      start = keyAfter(last[0])
    }
  }

  /** For each row that was changed after the version, its record before the first such change. */
  async *#before(
    first: Position,
    limit: Position,
  ): AsyncGenerator<readonly [Position, Bytes], void> {
    const { table, version } = this.#scope
    const range = rowsBeforeRange(table, first, limit)
    let { start } = range
    let known: Position | undefined
    for (;;) {
      const scan = { start, limit: range.limit, count: BEFORE_COUNT, bytesMax: BEFORE_BYTES }
      const entries = await this.#view.scan(scan)
      for (const [key, value] of entries) {
        const before = decodeRowBeforeKey(key)
        if (before.version <= version) continue
        if (known !== undefined && comparePositions(known, before.position) === 0) continue
        known = before.position
        yield [before.position, value]
      }
      const last = entries[entries.length - 1]
      if (last === undefined) return
      start = keyAfter(last[0])
    }
  }
}

/** The record of a row that was added after the version: it counts as deleted. */
const ADDED_SINCE: Bytes = encodeRowRecord({ version: 0, schemaNumber: 0, text: null })

type Rows = AsyncGenerator<readonly [Position, Bytes], void>

/** The rows of `under` and `over` in order. If both have a row, the one of `over` is yielded. */
async function* merged(under: Rows, over: Rows): Rows {
  let [low, high] = [await under.next(), await over.next()]
  for (;;) {
    if (high.done === true) {
      if (low.done === true) return
      yield low.value
      low = await under.next()
      continue
    }
    const order = low.done === true ? 1 : comparePositions(low.value[0], high.value[0])
    if (order < 0 && low.done !== true) {
      yield low.value
      low = await under.next()
      continue
    }
    if (order === 0) low = await under.next()
    yield high.value
    high = await over.next()
  }
}
