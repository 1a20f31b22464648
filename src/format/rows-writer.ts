// Writes rows as text for files: CSV, or one JSON object per line. Tokens do not change, so numbers keep their digits.
import type { TableSchema } from '../schema/column-kind.js'
import { readSpans } from './row-text.js'

/** A format for rows. */
export type RowsWriter = Readonly<{
  /** Text before all rows. */
  start: string
  /** Renders one row from its text. */
  line(text: string): string
}>

/** A parsed list of wanted columns. */
export type WantedCells = Readonly<{
  /** Whether rows begin with their IDs: the list has `$rowID`, which is not a column. */
  hasRowIds: boolean
  /** The columns in the list; undefined: all. */
  columns: readonly string[] | undefined
}>

export function wantedCells(columns: readonly string[] | undefined): WantedCells {
  if (columns?.includes(ROW_ID) !== true) return { hasRowIds: false, columns }
  return { hasRowIds: true, columns: columns.filter((id) => id !== ROW_ID) }
}

const ROW_ID = '$rowID'

/** The schema of rows with IDs, for CSV. */
export function withRowIds({ columns }: TableSchema): TableSchema {
  return { columns: [{ id: ROW_ID, displayName: ROW_ID, type: { kind: 'string' } }, ...columns] }
}

/** One JSON object per line, in cell order. */
export const NDJSON_ROWS: RowsWriter = { start: '', line: (text) => `{${text}}\n` }

export type CsvDelimiter = ',' | '\t'

/** RFC 4180 with LF; the header has the column IDs. A table without columns yields empty lines. */
export function csvRows({ columns }: TableSchema, delimiter: CsvDelimiter = ','): RowsWriter {
  const places = new Map(columns.map(({ id }, place) => [id, place]))
  const record = (fields: readonly string[]): string => {
    const [only] = fields
    // An only cell that is empty is written as `""`, because an empty line would not count as a row.
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

/** A cell in CSV: the text itself; for a number, a boolean or an array, the token. */
export function csvField(token: string, delimiter: CsvDelimiter): string {
  if (!token.startsWith('"')) return quoted(token, delimiter)
  return quoted(token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1), delimiter)
}

function quoted(field: string, delimiter: CsvDelimiter): string {
  return NEEDS_QUOTES[delimiter].test(field) ? `"${field.replaceAll('"', '""')}"` : field
}

/**
 * Matches texts that need quotes. Some readers drop white space, or a leading byte order mark, that is not in quotes.
 */
const NEEDS_QUOTES = {
  ',': /[",\r\n]|^[\s\ufeff]|\s$/,
  '\t': /["\t\r\n]|^[\s\ufeff]|\s$/,
} as const
