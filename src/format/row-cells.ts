// Finds the cells of some columns in the bytes of a row's text. A few columns are searched by their keys, in the order
// of earlier rows (PERFORMANCE.md, P40); for more columns, all cells are read up to the last one.
import { type Bytes, startsWith, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { SkipSearch } from '../base/skip-search.js'
import { CellReader } from './cell-reader.js'
import { renderKey } from './row-text.js'

const OTHER_COLUMN = -1

/**
 * After each row, the learned distance of a key moves towards the distance found in the row, by the difference of the
 * two divided by 2 to the power of `NEARER`.
 */
const NEARER = 4

/**
 * The maximum number of columns that are searched, and of bytes of a row that is searched. Both are small, because
 * each search may scan the whole row.
 */
const SEARCHED_COLUMNS_MAX = 4
const SEARCHED_BYTES_MAX = 4_096

/**
 * Matches column IDs that can be searched. They begin with a character that never follows a closing quote, so the quote
 * before the ID is an opening one.
 */
const SEARCHED_COLUMN = /^[^:,\]]/

/** Reads rows; the fields describe the last one. */
export class RowCells {
  /** Per column: the beginning of its cell and of its value, and the end of both. An end of 0: the cell is empty. */
  readonly start: Int32Array
  readonly from: Int32Array
  readonly to: Int32Array
  /** Per column: whether its value has a backslash. */
  readonly isEscaped: Uint8Array
  /** The number of columns in `ids` that have a cell in the row. */
  count = 0

  readonly #columnCount: number
  readonly #reader: CellReader<number>
  /** The searches for keys, in the order of the previous row's cells; null: columns are not searched. */
  readonly #keys: KeySearch[] | null

  /** @param ids - Distinct columns, whose indexes the fields use. */
  constructor(ids: readonly string[]) {
    const count = ids.length
    this.#columnCount = count
    this.start = new Int32Array(count)
    this.from = new Int32Array(count)
    this.to = new Int32Array(count)
    this.isEscaped = new Uint8Array(count)
    const columns = new Map(ids.map((id, column) => [byteText(utf8(`${renderKey(id)}:`)), column]))
    const isSearched = count <= SEARCHED_COLUMNS_MAX && ids.every((id) => SEARCHED_COLUMN.test(id))
    this.#keys = isSearched ? ids.map((id, column) => new KeySearch(id, column)) : null
    this.#reader = new CellReader((key) => columns.get(key) ?? OTHER_COLUMN)
  }

  /**
   * Reads the row text from `from` to `to` (exclusive).
   * @throws {StoreError} DATA_CORRUPT if the text does not follow the grammar, as far as it is read.
   */
  read(bytes: Bytes, from: number, to: number): void {
    const reader = this.#reader
    for (let column = 0; column < this.#columnCount; column++) this.to[column] = 0
    this.count = 0
    if (this.#keys !== null && to - from <= SEARCHED_BYTES_MAX) {
      this.#search(this.#keys, bytes, from, to)
      return
    }
    reader.begin()
    for (let at = from; at < to && this.count < this.#columnCount; at = reader.to + 1) {
      const column = reader.read(bytes, at, to)
      if (column !== OTHER_COLUMN) this.#note(column, at)
    }
  }

  #note(column: number, at: number): void {
    const reader = this.#reader
    this.start[column] = at
    this.from[column] = reader.from
    this.to[column] = reader.to
    this.isEscaped[column] = reader.isEscaped ? 1 : 0
    this.count++
  }

  /** Searches for each key after the previous one, and then before it. */
  #search(keys: KeySearch[], bytes: Bytes, from: number, to: number): void {
    let end = from
    let isInOrder = true
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]
      if (key === undefined) break
      let at = key.find(bytes, from, end, to)
      if (at < 0 && end > from) {
        at = key.find(bytes, from, from, end)
        if (at >= 0) isInOrder = false
      }
      if (at < 0) continue
      this.#reader.readValue(bytes, at, at + key.length, to)
      this.#note(key.column, at)
      end = this.#reader.to
    }
    if (!isInOrder)
      keys.sort((one, other) => (this.start[one.column] ?? 0) - (this.start[other.column] ?? 0))
  }
}

/**
 * Searches rows for a comma and a column's key with its colon. The quote after the comma may also begin an array
 * element, but no colon follows an element. Or it may end a text or a key, but then no `SEARCHED_COLUMN` follows.
 */
class KeySearch {
  readonly column: number
  /** Length of the key with its colon. */
  readonly length: number
  readonly #key: Bytes
  /** Searches for a comma and the key with its colon. */
  readonly #search: SkipSearch
  /** Number of bytes that a search skips first, because most rows have the key further on. */
  #near = 0

  constructor(id: string, column: number) {
    this.column = column
    this.#key = utf8(`${renderKey(id)}:`)
    this.length = this.#key.length
    this.#search = new SkipSearch(utf8(`,${renderKey(id)}:`))
  }

  /** The position of the key after `after`, which is the beginning of the row or the end of a cell; -1: none. */
  find(bytes: Bytes, from: number, after: number, to: number): number {
    if (after === from && startsWith(bytes, from, to, this.#key)) return from
    const near = this.#near
    let at = this.#search.find(bytes, after + near, to)
    if (at >= 0) {
      this.#near = near + ((at - after - near) >> NEARER)
    } else if (near > 0) {
      at = this.#search.find(bytes, after, Math.min(to, after + near + this.length))
      if (at >= 0) this.#near = at - after
    }
    return at < 0 ? at : at + 1
  }
}
