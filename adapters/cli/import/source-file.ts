// A file of rows, and the options to read it.
import type { ColumnKinds, Dialect, Nested } from '../../base/intake.js'
import { SOURCE_FORMATS } from '../../base/records.js'

/** The formats of files. */
export const FILE_FORMATS = [...SOURCE_FORMATS, 'parquet'] as const

export type FileFormat = (typeof FILE_FORMATS)[number]

/** A file, and the options to read it. */
export type SourceFile = Readonly<{
  path: string
  format: FileFormat
  /** A label of the Encoding Standard. Default: detected from the bytes. */
  encoding?: string | undefined
  /** Whether what the options leave open is detected. Default: true. */
  detects?: boolean
  /** The stated dialect of a csv or tsv file. Default: none. */
  dialect?: Dialect
  /** The path to the array of rows in a JSON object. Default: the only array in the object. */
  at?: string
  /** What happens to objects in rows of JSON and Parquet. Default: rows with them are rejected. */
  nested?: Nested
  /** The type of Parquet bytes that are not marked as text. Default: text, with a report. */
  binary?: 'text'
  /** Whether a blank file counts as a file without rows. Default: false: it is rejected. */
  allowEmpty?: boolean
  /** The kinds of the table's columns. Default: unknown. */
  kindsOf?: () => Promise<ColumnKinds | undefined>
}>

/** A line of a text file, from 1, or a row of a Parquet file, from 1. */
export type RowPlace = Readonly<{ path: string; line: number; unit: 'line' | 'row' }>

export function renderPlace({ path, line, unit }: RowPlace): string {
  return `${path}, ${unit} ${line}`
}
