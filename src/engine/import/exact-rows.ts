// Feeds rows whose cells are tokens or texts to the columns of a chunk, and keeps the row texts.
//
// Invariants:
// - Empty cells are in no row text.
// - A column of a segment from CSV or TSV is stored as number tokens or booleans only if every non-empty cell is
//   exactly such a token; otherwise its cells are stored as strings. So quoting a token restores the text that was
//   sent.
import { utf8 } from '../../base/bytes.js'
import { runAtOnce, type Steps } from '../../base/time-slices.js'
import { NO_ROW } from '../../format/chunk-records.js'
import { SEEN } from '../../schema/column-summary.js'
import type { ScannedRow } from '../../schema/scanned-row.js'
import { isNumberToken } from '../../schema/value-rules.js'
import { type Column, type ColumnsOfChunk, invalidRows, workOfRow } from './columns-of-chunk.js'

type TextCells = Readonly<{ columns: readonly Column[]; texts: readonly (string | null)[] }>

const NO_CELLS: TextCells = Object.freeze({ columns: [], texts: [] })

/** Bytes of a text cell besides its key and its content: a comma, a colon and two quotes. */
export const TEXT_CELL_CHARS = 4

/** Maximum number of UTF-8 bytes per UTF-16 unit. */
export const UTF8_BYTES_MAX = 3

export class ExactRows {
  readonly #columns: ColumnsOfChunk
  #texts: string[] = []
  /** Rows of CSV and TSV. Their form is known only when the segment ends: all cells of a column decide it. */
  #cells: TextCells[] = []

  constructor(columns: ColumnsOfChunk) {
    this.#columns = columns
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR if the row or the number of columns is too large. */
  add(row: ScannedRow): void {
    const columns = this.#columns
    const { rowBytesMax } = columns.limits
    columns.isSettled = false
    columns.longValues.beginRow()
    columns.noteLine(row.line)
    if (row.rowId !== undefined) columns.noteClaim(row.rowId)
    const chars = columns.isText ? this.#addTextRow(row) : this.#addTokenRow(row)
    if (chars > rowBytesMax || this.#isTooLong(chars)) {
      const place = { row: columns.rowCount, ...(row.line !== undefined && { line: row.line }) }
      throw invalidRows(`The row is longer than ${rowBytesMax} bytes`, place)
    }
    columns.endRow(chars, Math.max(chars, row.work ?? 0), row.ids.length)
  }

  /** The texts of finished rows, in order, each given once. */
  drain(): readonly string[] {
    const texts = this.#texts
    this.#texts = []
    return texts
  }

  /** The texts that were not drained, at the end of the segment, when its summaries are complete. */
  take(columns: readonly Column[]): readonly string[] {
    const taken: string[] = []
    runAtOnce(
      this.takeInSteps(columns, (texts) => {
        for (const text of texts) taken.push(text)
      }),
    )
    return taken
  }

  /** Gives the texts to `write`, some rows at a time; see `take`. */
  *takeInSteps(columns: readonly Column[], write: (texts: readonly string[]) => void): Steps<void> {
    if (!this.#columns.isText) {
      write(this.drain())
      return
    }
    columns.forEach(noteStoredForm) // The form decides how cells are rendered.
    const rows = this.#cells
    this.#cells = []
    for (const cells of rows) {
      const text = renderTextCells(cells)
      write([text])
      yield workOfRow(text.length, cells.texts.length)
    }
  }

  /**
   * Whether the last row is too long. Its bytes are counted only if it has so many characters that the bytes may exceed
   * the limit.
   */
  #isTooLong(chars: number): boolean {
    const { rowBytesMax } = this.#columns.limits
    if (UTF8_BYTES_MAX * chars <= rowBytesMax) return false
    const row = this.#cells.at(-1)
    const text = row === undefined ? (this.#texts.at(-1) ?? '') : renderTextCells(row)
    return utf8(text).length > rowBytesMax
  }

  #addTokenRow({ ids, tokens }: ScannedRow): number {
    const { longValues, rowCount } = this.#columns
    let text = ''
    for (let i = 0; i < ids.length; i++) {
      const column = this.#columns.column(ids[i] ?? '')
      const token = tokens[i] ?? null
      if (column.firstRow === NO_ROW) column.firstRow = rowCount
      if (token === null) continue
      longValues.judgeToken(column.summary, token)
      text += text === '' ? `${column.key}:${token}` : `,${column.key}:${token}`
    }
    this.#texts.push(text)
    return text.length
  }

  #addTextRow({ ids, tokens }: ScannedRow): number {
    if (ids.length === 0) {
      this.#columns.beginText()
      this.#cells.push(NO_CELLS)
      return 0
    }
    const columns: Column[] = []
    let chars = 0
    for (let i = 0; i < ids.length; i++) {
      const column = this.#columns.column(ids[i] ?? '')
      const text = tokens[i] ?? ''
      columns.push(column)
      noteText(this.#columns, column, text)
      chars += column.key.length + text.length + TEXT_CELL_CHARS
    }
    this.#columns.beginText()
    this.#cells.push({ columns, texts: tokens })
    return chars
  }
}

/** Notes a cell of CSV or TSV. */
export function noteText({ longValues }: ColumnsOfChunk, column: Column, text: string): void {
  longValues.judgeField(column.summary, text)
  column.exact &&= isExactToken(text)
}

/** Whether CSV text may be stored as a token: only text that can be written back unchanged. */
function isExactToken(text: string): boolean {
  if (text === 'true' || text === 'false') return true
  return isNumberToken(text) && !(text.startsWith('-') && Number(text) === 0)
}

const VALUE_FLAGS = SEEN.number | SEEN.boolean | SEEN.text

function noteStoredForm(column: Column): void {
  const seen = column.summary.seen & VALUE_FLAGS
  if (seen === 0) return
  if (seen === SEEN.number && column.exact) column.summary.seen |= SEEN.storedNumbers
  else if (seen === SEEN.boolean && column.exact) column.summary.seen |= SEEN.storedBooleans
  else column.summary.seen |= SEEN.storedText
}

const STORED_AS_TOKEN = SEEN.storedNumbers | SEEN.storedBooleans

function renderTextCells({ columns, texts }: TextCells): string {
  let row = ''
  columns.forEach((column, i) => {
    const text = texts[i] ?? ''
    const token = column.summary.seen & STORED_AS_TOKEN ? text : JSON.stringify(text)
    row += row === '' ? `${column.key}:${token}` : `,${column.key}:${token}`
  })
  return row
}
