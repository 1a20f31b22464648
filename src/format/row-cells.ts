// Finds the cells of some columns in the bytes of a row's text, in one pass that ends with the last of them.
import { type Bytes, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { CellReader } from './cell-reader.js'
import { renderKey } from './row-text.js'

const OTHER_COLUMN = -1

/** Reads rows; the fields are those of the last one. */
export class RowCells {
  /** By column: where its cell begins, its value begins, and both end. An end of 0: the cell is empty. */
  readonly start: Int32Array
  readonly from: Int32Array
  readonly to: Int32Array
  /** By column: whether its value has a backslash. */
  readonly isEscaped: Uint8Array
  /** The columns in the order of the row. */
  readonly order: Int32Array
  /** How many of the columns the row has. */
  count = 0

  readonly #columnCount: number
  readonly #reader: CellReader<number>

  /** @param ids - The columns, none twice. The fields are by their indexes here. */
  constructor(ids: readonly string[]) {
    const count = ids.length
    this.#columnCount = count
    this.start = new Int32Array(count)
    this.from = new Int32Array(count)
    this.to = new Int32Array(count)
    this.isEscaped = new Uint8Array(count)
    this.order = new Int32Array(count)
    const columns = new Map(ids.map((id, column) => [byteText(utf8(`${renderKey(id)}:`)), column]))
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
    reader.begin()
    for (let at = from; at < to && this.count < this.#columnCount; at = reader.to + 1) {
      const column = reader.read(bytes, at, to)
      if (column === OTHER_COLUMN) continue
      this.start[column] = at
      this.from[column] = reader.from
      this.to[column] = reader.to
      this.isEscaped[column] = reader.isEscaped ? 1 : 0
      this.order[this.count++] = column
    }
  }
}
