// The types of imports by `rowstash/client`.
import type { Abortable } from '../engine/types/call-types.js'
import type { MergeCounts } from '../engine/types/merge-types.js'
import type { OnSchemaError } from '../engine/types/row-types.js'
import type { Dialect } from '../intake/dialect.js'
import type { IntakeReport } from '../intake/intake.js'
import type { TableSchema } from '../schema/column-kind.js'
import type { ChunkPlace } from './client-error.js'

export type { Abortable, Dialect, IntakeReport, MergeCounts, OnSchemaError }

/** The progress of an import. */
export type ImportProgress = Readonly<{
  /** Rows of the input that are on the server. */
  rows: number
  /**
   * Bytes of the input that are on the server. For a Blob or a stream read by the intake: bytes of the file, before
   * unpacking and decoding.
   */
  bytes: number
  /**
   * All chunks below this number are on the server: the value of `startAt` to continue. Chunks are sent at the same
   * time, so it is 0 until the first has arrived, whatever `rows` is.
   */
  chunks: number
}>

/** A condition on the version of the table. */
type IfVersion = Readonly<{
  /**
   * A `version` of a result or of `table.version()`. If the table's version is greater once all chunks are sent,
   * nothing is changed and the call fails with the status 412. After a lost response, the operation is repeated only if
   * an idempotency key makes that harmless. Default: no condition.
   */
  ifMatch?: string | undefined
}>

/** Marks options of another target as not allowed. */
type Without<Option extends string> = Readonly<{ [name in Option]?: undefined }>

/**
 * The target of an import: a `name` of 1 to 1,000 characters creates a table; a `tableId` with a `mode`, which has no
 * default, adds rows, overwrites or merges. Options of another target are rejected, such as the `mode` of a new table.
 * `schema`: the columns of the table. Default: inferred from all rows; an overwrite keeps the table's.
 */
export type ImportTarget =
  | (Without<'tableId' | 'mode' | 'key' | 'missing' | 'unnamed' | 'ifMatch'> &
      Readonly<{ name: string; schema?: TableSchema | undefined }>)
  | (Without<'name' | 'schema' | 'key' | 'missing' | 'unnamed' | 'ifMatch'> &
      Readonly<{ tableId: string; mode: 'add' }>)
  | (Without<'name' | 'key' | 'missing' | 'unnamed'> &
      IfVersion &
      Readonly<{ tableId: string; mode: 'overwrite'; schema?: TableSchema | undefined }>)
  | (Without<'name' | 'schema'> &
      IfVersion &
      Readonly<{
        /** The table that is changed. */
        tableId: string
        /** Needs a rowstash server. */
        mode: 'merge'
        /** The IDs of the key columns, 1 to 16. A row with a key in the table changes that row; others are added. */
        key: readonly string[]
        /** What happens to rows of the table with keys that the input lacks. Default: `keep`. */
        missing?: 'keep' | 'delete' | undefined
        /**
         * What happens, in rows with a key of the input, to cells of columns that the input does not name. Default:
         * `keep`.
         */
        unnamed?: 'keep' | 'empty' | undefined
      }>)

/** Rows sent together, for inputs that the caller cuts. */
export interface RowChunk {
  /** The number of rows: 1 or more, or 0 in the only chunk of an input. */
  readonly rows: number
  /** The number of bytes that the progress adds. */
  readonly bytes: number
  /** The media type of its bodies: `application/json`, `text/csv` or `text/tab-separated-values`. */
  readonly type: string
  /** A body with the rows from `first` up to `limit`, counted from 0 in the chunk. */
  body(first: number, limit: number): Uint8Array<ArrayBuffer>
}

/**
 * Objects of cells; a Blob with CSV, TSV, JSON or NDJSON, also compressed with gzip unless its dialect is `plain`; a
 * stream of such bytes, which needs `format`; or chunks, which must be the same when an import continues.
 */
export type ImportInput =
  | Iterable<object>
  | AsyncIterable<object>
  | ReadableStream<object>
  | Blob
  | Readonly<{ chunks: AsyncIterable<RowChunk> }>

/** How the rows of an import are sent, and how CSV or TSV is written. */
export type SendOptions = Abortable &
  Dialect &
  Readonly<{
    /**
     * Whether what the options leave open is detected from the first megabyte of a Blob or a stream; `read` of the
     * result reports it. Default: `detect` for a Blob, `plain` for a stream.
     */
    dialect?: 'plain' | 'detect' | undefined
    /**
     * For json: the path to the array of rows in an object, such as `data.items`. Default: detected, or the text
     * itself.
     */
    at?: string | undefined
    /**
     * For json and ndjson: what happens to objects in rows. `flatten`: their members become columns, such as
     * `customer.name`; `text`: they become JSON text. In both, arrays that contain objects or arrays become JSON text.
     * Default: such a row is rejected.
     */
    nested?: 'flatten' | 'text' | undefined
    /** What the server does with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /**
     * The format of a Blob, or of a stream of Uint8Array, such as the `body` of a response or a file of Node. Default:
     * for a Blob, by the extension of a File's `name`, also before `.gz`, or by its type; a stream consists of objects.
     */
    format?: 'csv' | 'tsv' | 'json' | 'ndjson' | undefined
    /**
     * Whether a Blob or a stream without content (0 bytes, or only spaces, tabs and line ends) has no rows. Default:
     * false: it fails with `argument_invalid`, because its writer may have failed, and it would empty a table.
     */
    allowEmpty?: boolean | undefined
    /** Most bytes of a chunk; a single row may be longer. Default: 1 MiB. Range: 1 KiB to 8 MiB. */
    chunkBytes?: number | undefined
    /** Chunks sent at the same time. Default: 4. Range: 1 to 64. */
    parallel?: number | undefined
    /** Called after each chunk. Default: none. */
    onProgress?: ((progress: ImportProgress) => void) | undefined
  }>

/** Options of `importRows`. */
export type ImportOptions = ImportTarget &
  SendOptions &
  Readonly<{
    /**
     * The stash of the chunks, also the idempotency key of the operation: 1 to 64 letters, digits, `-` and `_`,
     * beginning with a letter or a digit. Give one to continue after the program has ended. Default: random.
     */
    stashId?: string | undefined
    /**
     * Continues an import of the same `stashId` and input, or begins it. Chunks on the server are not sent again;
     * digests of their bodies identify them. A server that cannot list a stash gets all chunks again. Within 24 hours
     * nothing is done twice, even if the import was already complete. If the stash has chunks of another input, the
     * call fails with the type `stash_differs`. Default: false.
     */
    resume?: boolean | undefined
    /**
     * Chunks below this number are already on the server; the input must be the same. Not with `resume`. Default: 0.
     * Range: 0 to 2^30.
     */
    startAt?: number | undefined
    /** Whether to return a receipt. Needs a rowstash server. Default: false. */
    receipt?: boolean | undefined
  }>

/** The result of an import. */
export type ImportResult = Readonly<{
  /** The table that was created or changed. */
  tableId: string
  /** Its version. */
  version: string
  /** Rows of the input. */
  rows: number
  /** Chunks that were already on the server. */
  skipped: number
  /** How a Blob or a stream was read. */
  read?: IntakeReport
  /** The counts of a merge. */
  merged?: MergeCounts
  /** The receipt, if it was requested, as in section 5 of the contract. */
  receipt?: Readonly<Record<string, unknown>>
}>

/** A value that does not fit its column. */
export type ImportProblem = Readonly<{
  /** The chunk in which `row` counts, and the number of the row in the whole input. Absent: the server names no chunk. */
  place?: ChunkPlace
  /** The number of the row. Blank lines of CSV count. */
  row: number
  /** The ID of the column. */
  column: string
  /** Its text, cut to 200 characters. Absent: the table has no such column. */
  value?: string
  /** The rule that the value breaks, as a noun phrase. */
  rule: string
}>

/** The result of `checkRows`. */
export type ImportCheck = Readonly<{
  /** Rows of the input. */
  rows: number
  /** The first 1,000. */
  problems: readonly ImportProblem[]
  /** The number of all problems. */
  problemCount: number
  /** The columns that the import would give the table. */
  schema: TableSchema
  /** How a Blob or a stream was read. */
  read?: IntakeReport
  /** The counts of the merge, if all values fit. */
  merged?: MergeCounts
}>
