// A file of rows, and how it is read.
import type { ColumnKinds, Dialect, Nested } from '../../base/intake.js'
import { SOURCE_FORMATS } from '../../base/records.js'

/** The formats of files. */
export const FILE_FORMATS = [...SOURCE_FORMATS, 'parquet'] as const

export type FileFormat = (typeof FILE_FORMATS)[number]

/** A file, and how it is read. */
export type SourceFile = Readonly<{
  path: string
  format: FileFormat
  /** A label of the Encoding Standard. Default: as its bytes show. */
  encoding?: string | undefined
  /** Whether what nobody said is detected. Default: true. */
  detects?: boolean
  /** What is said of a csv or tsv file. Default: nothing. */
  dialect?: Dialect
  /** The path to the array of rows in a JSON object. Default: the only one. */
  at?: string
  /** What becomes of objects in rows of JSON and Parquet. Default: they are refused. */
  nested?: Nested
  /** What bytes of Parquet are of which the file does not say that they are text. Default: text, and told. */
  binary?: 'text'
  /** Whether a file of nothing but blanks has no rows. Default: false, it is refused. */
  allowEmpty?: boolean
  /** The kinds of the columns of the table, if they are known. Default: they are not. */
  kindsOf?: () => Promise<ColumnKinds | undefined>
}>

/** A line of a text file, from 1, or a row of a Parquet file, from 1. */
export type RowPlace = Readonly<{ path: string; line: number; unit: 'line' | 'row' }>

export function renderPlace({ path, line, unit }: RowPlace): string {
  return `${path}, ${unit} ${line}`
}
