// Rows as text for files: CSV, or one JSON object per line. Tokens go out as they are, so a number keeps its digits.
import type { TableSchema } from '../schema/column-kind.js'
import { readSpans } from './row-text.js'

/** How rows are written. */
export type RowsWriter = Readonly<{
  /** What comes before all rows. */
  start: string
  /** One row, from its text. */
  line(text: string): string
}>

/** What a list of columns asks for. */
export type WantedCells = Readonly<{
  /** The rows begin with their IDs: the list has `$rowID`, which no column is called. */
  hasRowIds: boolean
  /** The other columns; undefined: all. */
  columns: readonly string[] | undefined
}>

export function wantedCells(columns: readonly string[] | undefined): WantedCells {
  if (columns?.includes(ROW_ID) !== true) return { hasRowIds: false, columns }
  return { hasRowIds: true, columns: columns.filter((id) => id !== ROW_ID) }
}

const ROW_ID = '$rowID'

/** The columns of rows with IDs, as CSV has them. */
export function withRowIds({ columns }: TableSchema): TableSchema {
  return { columns: [{ id: ROW_ID, displayName: ROW_ID, type: { kind: 'string' } }, ...columns] }
}

/** One JSON object per line, in the order of its cells. */
export const NDJSON_ROWS: RowsWriter = { start: '', line: (text) => `{${text}}\n` }

export type CsvDelimiter = ',' | '\t'

/** RFC 4180 with LF: the header has the IDs of the columns. A table without columns has empty lines. */
export function csvRows({ columns }: TableSchema, delimiter: CsvDelimiter = ','): RowsWriter {
  const places = new Map(columns.map(({ id }, place) => [id, place]))
  const record = (fields: readonly string[]): string => {
    const [only] = fields
    // An empty last line would be none.
    return fields.length === 1 && only === '' ? '""\n' : `${fields.join(delimiter)}\n`
  }
  return {
    start: record(columns.map(({ id }) => quoted(id, delimiter))),
    line(text) {
      const fields = new Array<string>(columns.length).fill('')
      for (const { id, valueStart, end } of readSpans(text)) {
        const place = places.get(id)
        if (place !== undefined) fields[place] = csvField(text.slice(valueStart, end), delimiter)
      }
      return record(fields)
    },
  }
}

/** A cell in CSV: its text; of a number, a boolean or an array, its token. */
export function csvField(token: string, delimiter: CsvDelimiter): string {
  if (!token.startsWith('"')) return quoted(token, delimiter)
  return quoted(token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1), delimiter)
}

function quoted(field: string, delimiter: CsvDelimiter): string {
  return NEEDS_QUOTES[delimiter].test(field) ? `"${field.replaceAll('"', '""')}"` : field
}

/** White space, and a byte order mark at the beginning, are not kept by all readers unless they are in quotes. */
const NEEDS_QUOTES = {
  ',': /[",\r\n]|^[\s\ufeff]|\s$/,
  '\t': /["\t\r\n]|^[\s\ufeff]|\s$/,
} as const
