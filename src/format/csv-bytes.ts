// Makes CSV from the bytes of JSON lines, the same as `csvRows` does. A cell with ASCII at both ends and no escapes is
// copied. Any other cell is converted to a string first.
import { LINE_FEED, QUOTE, SPACE } from '../base/ascii.js'
import { type Bytes, NO_BYTES, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import type { TableSchema } from '../schema/column-kind.js'
import { RowCells } from './row-cells.js'
import { type CsvDelimiter, csvField } from './rows-writer.js'

const ASCII_END = 0x80

/** Memory for a row besides its cells: quotes and a line end. */
const ROW_BYTES = 4

export class CsvBytes {
  readonly #delimiter: CsvDelimiter
  readonly #separator: number
  readonly #cells: RowCells
  readonly #columnCount: number
  readonly #isReused: boolean
  #out: Bytes = NO_BYTES
  #length = 0

  /** @param isReused - Whether the result of `rows` is valid only until the next call. */
  constructor({ columns }: TableSchema, delimiter: CsvDelimiter, isReused = false) {
    this.#isReused = isReused
    this.#delimiter = delimiter
    this.#separator = delimiter.charCodeAt(0)
    this.#cells = new RowCells(columns.map(({ id }) => id))
    this.#columnCount = columns.length
  }

  /** @param lines - Objects, each followed by a line end. Line ends in texts are escaped. */
  rows(lines: Bytes): Bytes {
    const isKept = this.#isReused && this.#out.length >= lines.length
    if (!isKept) this.#out = new Uint8Array(lines.length)
    this.#length = 0
    for (let at = 0; at < lines.length; ) {
      const end = lines.indexOf(LINE_FEED, at)
      this.#cells.read(lines, at + 1, end - 1)
      this.#reserve(this.#columnCount + ROW_BYTES)
      this.#putRow(lines)
      at = end + 1
    }
    return this.#out.subarray(0, this.#length)
  }

  #putRow(bytes: Bytes): void {
    const { from, to, isEscaped } = this.#cells
    const start = this.#length
    for (let column = 0; column < this.#columnCount; column++) {
      if (column > 0) this.#out[this.#length++] = this.#separator
      const end = to[column] ?? 0
      if (end > 0) this.#putCell(bytes, from[column] ?? 0, end, isEscaped[column] === 1)
    }
    // The only cell is empty. It is written as `""`, because an empty line would not count as a row.
    if (this.#columnCount === 1 && this.#length === start) this.#putText(NO_BYTES, 0, 0, true)
    this.#out[this.#length++] = LINE_FEED
  }

  #putCell(bytes: Bytes, from: number, to: number, isEscaped: boolean): void {
    if (bytes[from] !== QUOTE) {
      this.#putText(bytes, from, to, false)
      return
    }
    const [first = 0, last = 0] = [bytes[from + 1], bytes[to - 2]]
    if (isEscaped || first >= ASCII_END || last >= ASCII_END) {
      const field = utf8(csvField(sliceText(bytes, from, to), this.#delimiter))
      this.#reserve(field.length + this.#columnCount + ROW_BYTES)
      this.#out.set(field, this.#length)
      this.#length += field.length
    } else if (to - from > 2) {
      this.#putText(bytes, from + 1, to - 1, first === SPACE || last === SPACE)
    }
  }

  /** Writes bytes, in quotes if necessary. */
  #putText(bytes: Bytes, from: number, to: number, needsQuotes: boolean): void {
    this.#reserve(2 * (to - from) + this.#columnCount + ROW_BYTES)
    const out = this.#out
    const separator = this.#separator
    const start = this.#length
    let length = start
    let isQuoted = needsQuotes
    if (isQuoted) out[length++] = QUOTE
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0
      if ((byte === separator || byte === QUOTE) && !isQuoted) {
        isQuoted = true
        out.copyWithin(start + 1, start, length++)
        out[start] = QUOTE
      }
      if (byte === QUOTE) out[length++] = QUOTE
      out[length++] = byte
    }
    if (isQuoted) out[length++] = QUOTE
    this.#length = length
  }

  /** Makes room for more bytes. */
  #reserve(count: number): void {
    const size = this.#length + count
    if (size <= this.#out.length) return
    const larger = new Uint8Array(Math.max(size, 2 * this.#out.length))
    larger.set(this.#out.subarray(0, this.#length))
    this.#out = larger
  }
}
