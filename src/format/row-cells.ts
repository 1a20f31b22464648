// Finds the cells of some columns in the bytes of a row's text, in one pass that ends with the last of them. That of a
// single column is looked for at the end of the row first (PERFORMANCE.md, P40).
import { COMMA, QUOTE } from '../base/ascii.js'
import { type Bytes, startsWith, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { CellReader } from './cell-reader.js'
import { renderKey } from './row-text.js'

const OTHER_COLUMN = -1

/** Bytes at the end of a row in which the cell of a single column is looked for first. */
const TAIL_BYTES = 48

/** What stands behind a quote that ends a text does not begin the ID of such a column. */
const TAIL_COLUMN = /^[^:,\]]/

/** Rows in turn without the cell there, after which it is not looked for there any more. */
const TAIL_MISSES_MAX = 16

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
  /** The key of the only column, with its colon; null: it is not looked for from the end. */
  readonly #onlyKey: Bytes | null
  #tailMisses = 0

  /** @param ids - The columns, none twice. The fields are by their indexes here. */
  constructor(ids: readonly string[]) {
    const count = ids.length
    this.#columnCount = count
    this.start = new Int32Array(count)
    this.from = new Int32Array(count)
    this.to = new Int32Array(count)
    this.isEscaped = new Uint8Array(count)
    const columns = new Map(ids.map((id, column) => [byteText(utf8(`${renderKey(id)}:`)), column]))
    const [only = ''] = ids
    const isPlain = count === 1 && TAIL_COLUMN.test(only)
    this.#onlyKey = isPlain ? utf8(`${renderKey(only)}:`) : null
    this.#reader = new CellReader((key) => columns.get(key) ?? OTHER_COLUMN)
  }

  /**
   * Reads the row whose text is from `from` to `to` (not included).
   * @throws {StoreError} DATA_CORRUPT if the text does not follow the grammar, as far as it is read.
   */
  read(bytes: Bytes, from: number, to: number): void {
    const reader = this.#reader
    this.to.fill(0)
    this.count = 0
    if (this.#onlyKey !== null && this.#tailMisses < TAIL_MISSES_MAX) {
      if (this.#readTail(bytes, from, to, this.#onlyKey)) return
    }
    reader.begin()
    for (let at = from; at < to && this.count < this.#columnCount; at = reader.to + 1) {
      const column = reader.read(bytes, at, to)
      if (column === OTHER_COLUMN) continue
      this.start[column] = at
      this.from[column] = reader.from
      this.to[column] = reader.to
      this.isEscaped[column] = reader.isEscaped ? 1 : 0
      this.count++
    }
  }

  /**
   * Looks for the cell of the only column from the end of the row on. A quote behind a comma begins a key or an element
   * of an array, or ends a text or a key. An element is not followed by a colon, and see `TAIL_COLUMN` for the others.
   */
  #readTail(bytes: Bytes, from: number, to: number, key: Bytes): boolean {
    const low = Math.max(from, to - TAIL_BYTES)
    for (let at = to - key.length - 1; at >= low; at--) {
      if (bytes[at] !== QUOTE || (at > from && bytes[at - 1] !== COMMA)) continue
      if (!startsWith(bytes, at, to, key)) continue
      const reader = this.#reader
      reader.readValue(bytes, at, at + key.length, to)
      this.start[0] = at
      this.from[0] = reader.from
      this.to[0] = reader.to
      this.isEscaped[0] = reader.isEscaped ? 1 : 0
      this.count = 1
      this.#tailMisses = 0
      return true
    }
    this.#tailMisses++
    return false
  }
}
