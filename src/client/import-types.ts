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
  /** The number of rows of the input that are on the server. */
  rows: number
  /**
   * The number of bytes of the input that are on the server. If the intake reads a Blob or a stream, it is the number
   * of bytes before unpacking and decoding.
   */
  bytes: number
  /**
   * All chunks below this number are on the server: to continue, pass it as `startAt`. Several chunks are sent at the
   * same time, so it stays 0 until the first chunk has arrived, even if others have.
   */
  chunks: number
}>

/** A condition on the version of the table. */
type IfVersion = Readonly<{
  /**
   * The `version` of a result, or one that `table.version()` returned. If the table's version is greater once all
   * chunks are sent, nothing is changed and the call fails with the status 412. After a lost response, the operation is
   * repeated only if an idempotency key makes the repeat harmless. Default: no condition.
   */
  ifMatch?: string | undefined
}>

/** Marks options of another target as not allowed. */
type Without<Option extends string> = Readonly<{ [name in Option]?: undefined }>

/**
 * The target of an import: a `name` of 1 to 1,000 characters creates a table; a `tableId` with a `mode`, which has no
 * default, adds rows, overwrites or merges. Options of another target, such as `mode` for a new table, are rejected.
 * `schema`: the columns of the table. Default: inferred from all rows; an overwrite keeps the columns of the table.
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
        /**
         * The IDs of the key columns, 1 to 16. An input row with a key that the table has changes that row; the other
         * input rows are added.
         */
        key: readonly string[]
        /** What happens to rows of the table with keys that the input lacks. Default: `keep`. */
        missing?: 'keep' | 'delete' | undefined
        /**
         * What happens, in rows with a key of the input, to cells of columns that the input does not name. Default:
         * `keep`.
         */
        unnamed?: 'keep' | 'empty' | undefined
      }>)

/** Rows that are sent together, for a caller that cuts the input itself. */
export interface RowChunk {
  /** The number of rows: 1 or more, or 0 in the only chunk of an input. */
  readonly rows: number
  /** The number of bytes that `bytes` of the progress grows by when this chunk is on the server. */
  readonly bytes: number
  /** The media type of the bodies: `application/json`, `text/csv` or `text/tab-separated-values`. */
  readonly type: string
  /** A body with the rows from number `first` to before number `limit`, counted from 0 in the chunk. */
  body(first: number, limit: number): Uint8Array<ArrayBuffer>
}

/**
 * Objects of cells; a Blob of CSV, TSV, JSON or NDJSON, which may be compressed with gzip unless the dialect is `plain`;
 * a stream of such bytes, which needs `format`; or chunks, which must be cut in the same way when an import continues.
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
     * `detect`: options that are not given are detected from the first megabyte of a Blob or a stream; `read` of the
     * result reports them. `plain`: nothing is detected. Default: `detect` for a Blob, `plain` for a stream.
     */
    dialect?: 'plain' | 'detect' | undefined
    /**
     * For json: the path to the array of rows in an object, such as `data.items`. Default: it is detected, or the text
     * itself is the array.
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
     * Whether a Blob or a stream without content (0 bytes, or only spaces, tabs and line ends) counts as no rows.
     * Default: false; the import fails with `argument_invalid`, because the writer of the input may have failed, and an
     * overwrite would empty the table.
     */
    allowEmpty?: boolean | undefined
    /**
     * Maximum size of a chunk, in bytes; a chunk of a single row may be larger. Default: 1 MiB. Range: 1 KiB to 8 MiB.
     */
    chunkBytes?: number | undefined
    /** Maximum number of chunks that are sent at the same time. Default: 4. Range: 1 to 64. */
    parallel?: number | undefined
    /** Called after each chunk that has arrived on the server. Default: none. */
    onProgress?: ((progress: ImportProgress) => void) | undefined
  }>

/** Options of `importRows`. */
export type ImportOptions = ImportTarget &
  SendOptions &
  Readonly<{
    /**
     * The ID of the stash for the chunks, which is also the idempotency key of the operation: 1 to 64 letters, digits,
     * `-` and `_`, beginning with a letter or a digit. With a given ID, an import can be continued after the program
     * has ended. Default: random.
     */
    stashId?: string | undefined
    /**
     * Continues the import with the same `stashId` and input, or begins it if there is none. Chunks on the server are
     * not sent again; digests of their bodies identify them. A server that cannot list a stash gets all chunks again.
     * Within 24 hours nothing is done twice, even if the import was already complete. If the stash has chunks of
     * another input, the call fails with the type `stash_differs`. Default: false.
     */
    resume?: boolean | undefined
    /**
     * Chunks below this number are not sent, because an earlier call with the same input has sent them. Not with
     * `resume`. Default: 0. Range: 0 to 2^30.
     */
    startAt?: number | undefined
    /** Whether to return a receipt. Needs a rowstash server. Default: false. */
    receipt?: boolean | undefined
  }>

/** The result of an import. */
export type ImportResult = Readonly<{
  /** The table that was created or changed. */
  tableId: string
  /** The version of the table. */
  version: string
  /** The number of rows of the input. */
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
  /**
   * The place of the row: its chunk, in which `row` counts, and its number in the whole input. Absent: the server names
   * no chunk.
   */
  place?: ChunkPlace
  /** The number of the row. Blank lines of CSV count. */
  row: number
  /** The ID of the column. */
  column: string
  /** The text of the value, cut to 200 characters. Absent: the table has no such column. */
  value?: string
  /** The rule that the value breaks, as a noun phrase. */
  rule: string
}>

/** The result of `checkRows`. */
export type ImportCheck = Readonly<{
  /** The number of rows of the input. */
  rows: number
  /** The first 1,000 problems. */
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
