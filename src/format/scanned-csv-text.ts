// Writes the texts of rows found by the byte scanner of CSV and TSV. FORMAT.md section 5.
import { BACKSLASH, QUOTE } from '../base/ascii.js'
import { type Bytes, NO_BYTES, utf8 } from '../base/bytes.js'
import { type ColumnSummary, SEEN } from '../schema/column-summary.js'
import { type CsvByteScanner, MARK } from '../schema/scan-csv-bytes.js'
import { renderKey } from './row-text.js'
import { TextBuffer } from './text-buffer.js'

const STORED_AS_TOKEN = SEEN.storedNumbers | SEEN.storedBooleans

/** The escape of a byte in a JSON string, as JSON.stringify writes it; empty: the byte itself. */
const ESCAPED: readonly Bytes[] = Array.from({ length: BACKSLASH + 1 }, (_, byte) =>
  utf8(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
)

/** The longest escape, of a control character: a backslash, `u` and four digits. */
const ESCAPE_BYTES_MAX = 6

const ESCAPED_QUOTE = 0x5c22

/** Number of bytes of a word. A copy step is two words. */
const WORD_BYTES = 4
const STEP_BYTES = 2 * WORD_BYTES

/** Writes the rows of one segment. */
export class CsvRowWriter {
  readonly #rows: CsvByteScanner
  readonly #source: DataView
  /** The last position in the source at which a copy step may begin. Cached: the length of a view is slow to read. */
  readonly #sourceLast: number
  /** Per column: `,"key":"`, or `,"key":` if its cells are stored as tokens; and the place where this prefix begins. */
  readonly #prefixes: DataView
  readonly #prefixesLast: number
  readonly #prefixFrom: Int32Array
  readonly #areTokens: readonly boolean[]
  readonly #prefixesBytes: number
  readonly #hasEscapes: boolean

  /** @param columns - The summaries of all rows since the scanner's `clear`, in header order. */
  constructor(rows: CsvByteScanner, columns: readonly ColumnSummary[]) {
    this.#rows = rows
    this.#source = viewOf(rows.bytes)
    this.#sourceLast = rows.bytes.length - STEP_BYTES
    this.#areTokens = columns.map(({ seen }) => (seen & STORED_AS_TOKEN) !== 0)
    const prefixes = new TextBuffer()
    this.#prefixFrom = new Int32Array(columns.length + 1)
    columns.forEach(({ id }, column) => {
      prefixes.utf8(`,${renderKey(id)}:${this.#areTokens[column] ? '' : '"'}`)
      this.#prefixFrom[column + 1] = prefixes.length
    })
    this.#prefixesBytes = prefixes.length
    this.#hasEscapes = (rows.marks & MARK.escape) !== 0
    const bytes = prefixes.bytes(new Uint8Array(STEP_BYTES)).finish()
    this.#prefixes = viewOf(bytes)
    this.#prefixesLast = bytes.length - STEP_BYTES
  }

  /** Appends the text of a row. */
  write(writer: TextBuffer, row: number): void {
    const { columnOf, from, to, mark, rowEnds } = this.#rows
    const source = this.#source
    const prefixFrom = this.#prefixFrom
    const first = row === 0 ? 0 : (rowEnds[row - 1] ?? 0)
    const end = rowEnds[row] ?? 0
    const prefixes = this.#prefixes
    const areTokens = this.#areTokens
    const target = writer.room(this.#bytesMax(first, end))
    const start = writer.length
    let at = start
    for (let cell = first; cell < end; cell++) {
      const column = columnOf[cell] ?? 0
      const prefix = (prefixFrom[column] ?? 0) + (cell === first ? 1 : 0) // No comma before the first cell.
      at = copyBytes(target, at, prefixes, this.#prefixesLast, prefix, prefixFrom[column + 1] ?? 0)
      const inFrom = from[cell] ?? 0
      const inTo = to[cell] ?? 0
      const isEscaped = ((mark[cell] ?? 0) & (MARK.escape | MARK.quote)) !== 0
      if (isEscaped) at = copyEscaped(target, at, source, inFrom, inTo)
      else at = copyBytes(target, at, source, this.#sourceLast, inFrom, inTo)
      if (areTokens[column] !== true) target.setUint8(at++, QUOTE)
    }
    writer.extend(at - start)
  }

  /** An upper bound of the bytes that are written for consecutive cells, including the extra bytes of a copy step. */
  #bytesMax(first: number, end: number): number {
    if (first === end) return STEP_BYTES
    const { from, to, mark } = this.#rows
    let count = (to[end - 1] ?? 0) - (from[first] ?? 0) + this.#prefixesBytes + end - first
    if (this.#hasEscapes) {
      for (let cell = first; cell < end; cell++) {
        const bytes = (to[cell] ?? 0) - (from[cell] ?? 0)
        if ((mark[cell] ?? 0) & MARK.escape) count += (ESCAPE_BYTES_MAX - 1) * bytes
      }
    }
    return count + STEP_BYTES
  }
}

function viewOf({ buffer, byteOffset, length }: Bytes): DataView {
  return new DataView(buffer, byteOffset, length)
}

/**
 * Copies bytes by words, which is three times as fast as byte by byte. Writes up to seven extra bytes, to be
 * overwritten.
 * @param last - The last position in the source at which a copy step may begin.
 * @returns the end of the copy
 */
function copyBytes(
  target: DataView,
  start: number,
  source: DataView,
  last: number,
  from: number,
  to: number,
): number {
  const end = start + to - from
  let at = start
  let i = from
  if (to <= last) {
    for (; i < to; i += STEP_BYTES, at += STEP_BYTES) {
      target.setInt32(at, source.getInt32(i, true), true)
      target.setInt32(at + WORD_BYTES, source.getInt32(i + WORD_BYTES, true), true)
    }
  } else {
    while (i < to) target.setUint8(at++, source.getUint8(i++))
  }
  return end
}

/** Writes the content of a field, in which quotes are doubled, as the content of a JSON string. */
function copyEscaped(
  target: DataView,
  start: number,
  source: DataView,
  from: number,
  to: number,
): number {
  let at = start
  for (let i = from; i < to; i++) {
    const byte = source.getUint8(i)
    if (byte > QUOTE && byte !== BACKSLASH) {
      target.setUint8(at++, byte)
      continue
    }
    if (byte === QUOTE) {
      target.setUint16(at, ESCAPED_QUOTE)
      at += 2
      i++
      continue
    }
    const escaped = ESCAPED[byte] ?? NO_BYTES
    for (let k = 0; k < escaped.length; k++) target.setUint8(at++, escaped[k] ?? 0)
  }
  return at
}
