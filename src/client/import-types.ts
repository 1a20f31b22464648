// The types of imports by `rowstash/client`.
import type { Abortable } from '../engine/types/call-types.js'
import type { MergeCounts } from '../engine/types/merge-types.js'
import type { OnSchemaError } from '../engine/types/row-types.js'
import type { Dialect } from '../intake/dialect.js'
import type { IntakeReport } from '../intake/intake.js'
import type { TableSchema } from '../schema/column-kind.js'
import type { ChunkPlace } from './client-error.js'

export type { Abortable, Dialect, IntakeReport, MergeCounts, OnSchemaError }

/** How far an import has come. */
export type ImportProgress = Readonly<{
  /** Rows of the input that are on the server. */
  rows: number
  /**
   * Bytes of the input that are on the server. Of a Blob or a stream that the intake reads, bytes that were read for its
   * rows, as they are in the file.
   */
  bytes: number
  /**
   * All chunks below this number are on the server: what `startAt` takes to go on. Chunks are sent at the same time, so
   * it is 0 until the first is there, whatever `rows` is.
   */
  chunks: number
}>

/** A condition on the table that an import changes. */
type IfVersion = Readonly<{
  /**
   * A version of the table, as `version` of a result or `table.version()`. If the table's version is greater when all
   * chunks are sent, nothing is changed and the call fails with the status 412. The operation is then repeated after a
   * lost response only where an idempotency key makes that harmless. Default: no condition.
   */
  ifMatch?: string | undefined
}>

/** Options of another target. */
type Without<Option extends string> = Readonly<{ [name in Option]?: undefined }>

/**
 * What an import makes: a new table with a `name` of 1 to 1,000 characters, or a change of the table with a `tableId`:
 * more rows, other rows, or a merge, as its `mode` says, which has no default. Options of another target are refused,
 * such as the `mode` of a new table. `schema`: the columns that the table gets. Default: inferred from all rows; an
 * overwrite keeps those of the table.
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
        /** Only a server of rowstash knows merges. */
        mode: 'merge'
        /**
         * The IDs of the key columns, 1 to 16: a row with a key that the table has changes that row, others are added.
         */
        key: readonly string[]
        /** What becomes of rows of the table whose keys the input does not have. Default: `keep`. */
        missing?: 'keep' | 'delete' | undefined
        /**
         * What becomes of cells in columns that no row of the input names, in rows whose keys the input has. Default:
         * `keep`.
         */
        unnamed?: 'keep' | 'empty' | undefined
      }>)

/** Rows that are sent together, for inputs that their owner cuts. */
export interface RowChunk {
  /** The number of rows: 1 or more, or 0 in the only chunk of an input. */
  readonly rows: number
  /** For the progress. */
  readonly bytes: number
  /** The media type of its bodies: `application/json`, `text/csv` or `text/tab-separated-values`. */
  readonly type: string
  /** The body with the rows from `first` up to `limit`, which are counted from 0 in the chunk. */
  body(first: number, limit: number): Uint8Array<ArrayBuffer>
}

/**
 * Objects of cells; a Blob with CSV, TSV, JSON or NDJSON, also of gzip unless its dialect is `plain`; a stream of the bytes of one, which needs `format`; or chunks,
 * which must be the same again when an import goes on.
 */
export type ImportInput =
  | Iterable<object>
  | AsyncIterable<object>
  | ReadableStream<object>
  | Blob
  | Readonly<{ chunks: AsyncIterable<RowChunk> }>

/** How the rows of an import reach the server, and how a Blob or a stream of csv or tsv is written. */
export type SendOptions = Abortable &
  Dialect &
  Readonly<{
    /**
     * Whether what is not said of a Blob or a stream is detected from its first megabyte; `read` of the result tells what
     * was. Default: `detect` of a Blob, `plain` of a stream.
     */
    dialect?: 'plain' | 'detect' | undefined
    /**
     * Of json: the path to the array of rows in an object, such as `data.items`. Default: detected, or the text itself.
     */
    at?: string | undefined
    /**
     * Of json and ndjson: what becomes of objects in rows. `flatten`: their members become columns, as in `customer.name`;
     * `text`: they become the text of their JSON, as arrays with objects or arrays in them do in both. Default: a row with
     * one is refused.
     */
    nested?: 'flatten' | 'text' | undefined
    /** What the server does with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /**
     * The format of a Blob, or of a stream of Uint8Array, such as the `body` of a response or a file of Node. Default:
     * of a Blob, by the extension of its `name`, if it is a File, in front of `.gz` as well, or by its type; a stream is one of objects.
     */
    format?: 'csv' | 'tsv' | 'json' | 'ndjson' | undefined
    /**
     * Whether a Blob or a stream of 0 bytes, or of nothing but spaces, tabs and line ends, has no rows. Default: false;
     * it fails with `argument_invalid`, because it may be a file whose writer failed, and would empty a table.
     */
    allowEmpty?: boolean | undefined
    /** Bytes of a chunk, at most; a row may be longer. Default: 1 MiB. Range: 1 KiB to 8 MiB. */
    chunkBytes?: number | undefined
    /** Chunks that are sent at the same time. Default: 4. Range: 1 to 64. */
    parallel?: number | undefined
    /** Called after each chunk. Default: none. */
    onProgress?: ((progress: ImportProgress) => void) | undefined
  }>

/** Options of `importRows`. */
export type ImportOptions = ImportTarget &
  SendOptions &
  Readonly<{
    /**
     * The stash of the chunks, and the idempotency key of what is done with them: 1 to 64 letters, digits, `-` and `_`,
     * beginning with a letter or a digit. Name one to be able to go on after the program has ended. Default: random.
     */
    stashId?: string | undefined
    /**
     * Goes on with an import of the same `stashId` and the same input, wherever it ended, or begins it. Chunks that are
     * on the server are not sent again; they are recognised by digests of their bodies. A server that does not tell
     * what a stash has gets all chunks again. Within 24 hours nothing is done twice, also if the import was complete
     * already. If the stash has chunks of another input, the call fails with the type `stash_differs`. Default: false.
     */
    resume?: boolean | undefined
    /**
     * Chunks below this number are on the server already; the input must be the same. Not with `resume`. Default: 0.
     * Range: 0 to 2^30.
     */
    startAt?: number | undefined
    /** Asks for a receipt of what was done. Only a server of rowstash has them. Default: false. */
    receipt?: boolean | undefined
  }>

/** What an import has made. */
export type ImportResult = Readonly<{
  /** The table that was made or changed. */
  tableId: string
  /** Its version. */
  version: string
  /** Rows of the input. */
  rows: number
  /** Chunks that were on the server already. */
  skipped: number
  /** What was read of a Blob or a stream, and how. */
  read?: IntakeReport
  /** Of a merge. */
  merged?: MergeCounts
  /** What `receipt` asked for, as section 5 of the contract describes it. */
  receipt?: Readonly<Record<string, unknown>>
}>

/** A value that does not fit its column. */
export type ImportProblem = Readonly<{
  /**
   * Where the counting of `row` begins, and the `inputRow` that it is in the whole input. Absent: the server names no
   * chunk.
   */
  place?: ChunkPlace
  /** As the server counts: blank lines of CSV are rows. */
  row: number
  /** The ID of the column. */
  column: string
  /** Its text, cut at 200 characters. Absent: the table has no such column. */
  value?: string
  /** What the value must be, as a noun phrase. */
  rule: string
}>

/** What an import would meet. */
export type ImportCheck = Readonly<{
  /** Rows of the input. */
  rows: number
  /** The first 1,000. */
  problems: readonly ImportProblem[]
  /** All of them. */
  problemCount: number
  /** The columns that the table would have. */
  schema: TableSchema
  /** What was read of a Blob or a stream, and how. */
  read?: IntakeReport
  /** What the merge would do. Only of a merge whose values all fit. */
  merged?: MergeCounts
}>
