// Finds the cells of some columns in the bytes of a row's text. Those of a few columns are searched for, by their keys, in
// the order in which the rows before had them (PERFORMANCE.md, P40); of more, all cells are passed up to the last of them.
import { type Bytes, startsWith, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { SkipSearch } from '../base/skip-search.js'
import { CellReader } from './cell-reader.js'
import { renderKey } from './row-text.js'

const OTHER_COLUMN = -1

/** A key that is further on than in the rows before is looked for further on by this power of two of the distance. */
const NEARER = 4

/** Columns that are searched for, at most, and bytes of a row in which they are: a search may pass the row for each. */
const SEARCHED_COLUMNS_MAX = 4
const SEARCHED_BYTES_MAX = 4_096

/** What stands behind a quote that ends a text does not begin the ID of such a column. */
const SEARCHED_COLUMN = /^[^:,\]]/

/** Reads rows; the fields are those of the last one. */
export class RowCells {
  /** By column: where its cell begins, its value begins, and both end. An end of 0: the cell is empty. */
  readonly start: Int32Array
  readonly from: Int32Array
  readonly to: Int32Array
  /** By column: whether its value has a backslash. */
  readonly isEscaped: Uint8Array
  /** How many of the columns the row has. */
  count = 0

  readonly #columnCount: number
  readonly #reader: CellReader<number>
  /** In the order of the cells of the row before; null: columns are not searched for. */
  readonly #keys: KeySearch[] | null

  /** @param ids - The columns, none twice. The fields are by their indexes here. */
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
   * Reads the row whose text is from `from` to `to` (not included).
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

  /** Each from the end of the one before on, and then before it. */
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
 * Searches rows for the key of a column. A quote behind a comma begins a key or an element of an array, or ends a text
 * or a key. An element is not followed by a colon, and see `SEARCHED_COLUMN` for the others.
 */
class KeySearch {
  readonly column: number
  /** Of the key with its colon. */
  readonly length: number
  readonly #key: Bytes
  /** For the key with its colon, and a comma in front. */
  readonly #search: SkipSearch
  /** How far behind the place from which it is searched for the key mostly is, at least. */
  #near = 0

  constructor(id: string, column: number) {
    this.column = column
    this.#key = utf8(`${renderKey(id)}:`)
    this.length = this.#key.length
    this.#search = new SkipSearch(utf8(`,${renderKey(id)}:`))
  }

  /** Where the key is that begins behind `after`, the beginning of the row or the end of a cell; -1: nowhere. */
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
