// A file of rows, and how it is read.
import type { ColumnKinds, Dialect } from '../../base/intake.js'
import { SOURCE_FORMATS, type SourceFormat } from '../../base/records.js'

/** What is read of a text file, and in which encoding: a label of the Encoding Standard. Default: as its bytes show. */
export type FileBytes = Readonly<{
  path: string
  format: SourceFormat
  encoding?: string | undefined
  /** Whether an encoding that nobody said is guessed. Default: true. */
  detects?: boolean
}>

/** The formats of files. */
export const FILE_FORMATS = [...SOURCE_FORMATS, 'parquet'] as const

export type FileFormat = (typeof FILE_FORMATS)[number]

/** A file, and how it is read. */
export type SourceFile = Omit<FileBytes, 'format'> &
  Readonly<{
    format: FileFormat
    /** What is said of a csv or tsv file. Default: nothing. */
    dialect?: Dialect
    /** The path to the array of rows in a JSON object. Default: the only one. */
    at?: string
    /** Whether a file of nothing but blanks has no rows. Default: false, it is refused. */
    allowEmpty?: boolean
    /** The kinds of the columns of the table, if they are known. Default: they are not. */
    kindsOf?: () => Promise<ColumnKinds | undefined>
  }>
