// Rows from callers, the requests that contain them, and the results.
import type { Bytes } from '../../base/bytes.js'
import type { Dialect } from '../../intake/dialect.js'
import type { IntakeReport } from '../../intake/intake.js'
import type { Nested } from '../../intake/nested.js'
import type { ColumnKind, ColumnType } from '../../schema/column-kind.js'
import type { AnySchema, ColumnOf, InputRow } from '../../schema/row-types.js'
import type { Abortable, Authored } from './call-types.js'
import type { Receipt } from './receipt-types.js'

/**
 * A row: cells by column ID. null is an empty cell, and a member that is undefined is absent. TABLES.md, "JavaScript
 * values", says what other values mean; `ReadOptions` says how to read a BigInt.
 */
export type RowObject = Readonly<Record<string, unknown>>

/** Options for rows as text. */
export type MayBeEmpty = Readonly<{
  /**
   * Whether a text of 0 bytes, or of only spaces, tabs and line ends, counts as no rows. Default: false; it fails
   * with REQUEST_VALIDATION_ERROR, because it may be a file whose writer failed, and would empty a table.
   */
  allowEmpty?: boolean | undefined
}>

/** Options for rows as text: the dialect of their source. The options of `Dialect` are for csv and tsv only. */
export type DialectOptions = Dialect &
  Readonly<{
    /**
     * `detect`: options that are not given are detected from the first megabyte, and reported to `onReport`. Default:
     * `plain`, which uses only the given options.
     */
    dialect?: 'plain' | 'detect' | undefined
    /** For json: the path to the array of rows in an object, such as `data.items`. Default: the text is the array. */
    at?: string | undefined
    /**
     * For json and ndjson: what to do with objects in rows. `flatten`: their members become columns, as in
     * `customer.name`. `text`: they become their JSON text. With both, arrays that contain objects or arrays become
     * text. Default: a row with an object is refused.
     */
    nested?: Nested | undefined
    /** Called after the whole text was read, with a report of what was read and how. Default: none. */
    onReport?: ((report: IntakeReport) => void) | undefined
  }>

/** Rows as text. Strings are decoded text, bytes are UTF-8; a byte order mark is dropped. */
export type TextRows = MayBeEmpty &
  DialectOptions &
  (
    | Readonly<{
        /** An array of objects, as bytes of UTF-8 or as text. */
        json: Bytes | string
        /**
         * If this text is a part of a larger one: the number of characters before it, which messages add to positions.
         * Default: 0. Range: 0 to 2^53 - 1.
         */
        offset?: number | undefined
      }>
    | Readonly<{ csv: Bytes | string }>
    | Readonly<{ tsv: Bytes | string }>
  )

/** A stream of bytes: a Node stream, a web stream, or any other async iterable of bytes. */
export type ByteStream = AsyncIterable<Bytes> | ReadableStream<Bytes>

/**
 * Rows as a stream of text in UTF-8, of any length: it is read once, as it arrives, in bounded memory. `ndjson`, one
 * JSON object per line, may also be a whole text.
 */
export type RowStream = MayBeEmpty &
  DialectOptions &
  (
    | Readonly<{ csv: ByteStream }>
    | Readonly<{ tsv: ByteStream }>
    | Readonly<{ json: ByteStream }>
    | Readonly<{ ndjson: ByteStream | Bytes | string }>
  )

/** An input row. It may be an instance of a class or an interface, but not an array or another iterable. */
export type RowInput = RowObject | (object & { readonly [Symbol.iterator]?: never })

/**
 * Rows as objects (an async iterable of any length is read in bounded memory), as text, as a stream of text, or as
 * `chunks`: consecutive texts, each with its own format and columns, like those of a stash. An error that concerns a
 * row has the number of the row in its chunk, and the number of the chunk, both counted from 0.
 */
export type RowsInput =
  | Iterable<RowInput>
  | AsyncIterable<RowInput>
  | TextRows
  | RowStream
  | Readonly<{ chunks: AsyncIterable<TextRows> }>

/**
 * The treatment of data that does not fit the schema. `abort` (default): nothing is written, and the first value that
 * does not fit is the error. `dropColumns`: cells that do not fit are left empty. `updateSchema`: unknown columns are
 * added, and types of other columns are widened until all values fit; a value that no type holds is an error as with
 * `abort`.
 */
export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema'

/**
 * The IDs of the rows of an operation, in input order. They are computed on access, never held as strings. In
 * `JSON.stringify` they are an array of strings; beyond 10,000 IDs its last element is the number of the others, as in
 * `... 5 more`.
 */
export interface RowIds extends Iterable<string> {
  /** The number of row IDs. */
  readonly length: number
  /**
   * The ID of the row at a 0-based index.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR if the operation has no such row
   * @example
   * const { rowIds } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log(rowIds.length, rowIds.get(1) === rowIds.at(-1)) // 2 true
   */
  get(index: number): string
  /** The ID at an index. A negative index counts from the end; undefined outside the range. */
  at(index: number): string | undefined
}

/**
 * The schema of a table: what `defineSchema` returns, or columns in order. `type` is a kind, `{ kind }`, or
 * `{ kind: 'array', items: { kind } }`.
 */
export type SchemaInput = Readonly<{
  /** The columns in order. */
  columns: readonly Readonly<{
    /** The ID of the column: 1 to 256 characters, unique in the schema. */
    id: string
    /** A name for people. Default: none; people then see the ID. */
    displayName?: string | undefined
    /** A kind such as `string`, short for `{ kind: 'string' }`, or `{ kind: 'array', items: { kind } }`. */
    type: ColumnKind | ColumnType
  }>[]
}>

/**
 * Rows of a schema: an array or an iterable of objects, or text. An async iterable may have any length. If the schema
 * has a validator, text and stashes fail with REQUEST_VALIDATION_ERROR, because a validator takes objects.
 */
export type TypedRowsInput<S extends AnySchema> =
  | readonly InputRow<S>[]
  | Iterable<InputRow<S>>
  | AsyncIterable<InputRow<S>>
  | TextRows
  | RowStream

/** The rows for a schema `S`: typed rows if `defineSchema` made the schema, otherwise any rows. */
export type RowsOf<S> = [S] extends [never]
  ? RowsInput
  : S extends AnySchema
    ? TypedRowsInput<S>
    : RowsInput

/** The IDs of key columns for a schema `S`: the IDs of its columns if `defineSchema` made it, otherwise any text. */
export type KeyColumnOf<S> = [S] extends [never]
  ? string
  : S extends AnySchema
    ? ColumnOf<S>
    : string

/** A new table and its rows. */
export type CreateTableRequest<S extends SchemaInput = SchemaInput> = Authored &
  Readonly<{
    /** The name of the table, for people: 1 to 1,000 UTF-16 units. Several tables may have the same name. */
    name: string
    /** The columns. With a schema of `defineSchema`, the compiler checks the rows. Default: inferred from all rows. */
    schema?: S | undefined
    /** The rows: objects, an iterable, text, a stream, or a stash. */
    rows: RowsOf<S> | Stash
    /** IDs of the columns of the table's key; see `AlterRequest`. Default: none. Not allowed in a job. */
    key?: readonly KeyColumnOf<S>[] | undefined
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /** Makes the create safe to repeat. See `AddOptions`. A repeat returns the result of the first create. */
    idempotencyKey?: string | undefined
    /** A digest that is compared instead of the request. See `AddOptions`. */
    requestDigest?: Bytes | undefined
    /** Whether the result has a receipt. See `AddOptions`. */
    receipt?: boolean | undefined
  }>

/** A table that a program needs. */
export type EnsureTableRequest<S extends SchemaInput = SchemaInput> = Authored &
  Readonly<{
    /** The name of the table: 1 to 1,000 UTF-16 units. */
    name: string
    /** The columns that the table must have. It may have others. */
    schema: S
    /**
     * IDs of the columns of the table's key; see `AlterRequest`. Default: a new table has none, an existing one keeps
     * its own.
     */
    key?: readonly KeyColumnOf<S>[] | undefined
  }>

/** The format of a file of rows. `ndjson`: one JSON object per line. */
export type RowsFormat = 'csv' | 'tsv' | 'json' | 'ndjson'

/**
 * A new table from a file at a URL, and the dialect of the file. If any option of the dialect is given or detected, the
 * `charset` and the `header` of the file's media type apply unless the request gives these options. Otherwise a charset
 * other than UTF-8 fails with REQUEST_VALIDATION_ERROR, and `header` is ignored.
 */
export type ImportTableRequest = Authored &
  DialectOptions &
  Readonly<{
    /** An http or https URL that `StoreOptions.sources` accepts. The file may have at most `fileBytesMax` bytes. */
    fromUrl: string
    /** The name of the table. Default: the name of the file without its extension. */
    name?: string | undefined
    /**
     * The format of the file. Default: by the media type of the response, otherwise by the extension of the file's
     * name; a file with neither fails with REQUEST_VALIDATION_ERROR.
     */
    format?: RowsFormat | undefined
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /** Whether the result has a receipt. See `AddOptions`. */
    receipt?: boolean | undefined
  }>

/** The members that make an operation safe to repeat; see `AddOptions`. */
export type Repeatable = Pick<AddOptions, 'idempotencyKey' | 'requestDigest'>

/** Options of `addRows`. */
export type AddOptions = Authored &
  Readonly<{
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /**
     * Makes the operation safe to repeat: for `idempotencyTtlMs`, a repeat with the same key has no effect and returns
     * the first result, even if its stash is gone. A team uses each key for one request only: a create, an add, a
     * merge, `updateRows` or `deleteRows`. A failed operation leaves the key unused, and so does an add without rows. 1
     * to 64 printable ASCII characters; use a random text. Default: none; a repeat is another operation.
     *
     * The same key with another request fails with IDEMPOTENCY_KEY_REUSED and changes nothing. Requests are compared by
     * the operation, the table of an add, `onSchemaError`, the name and the schema of a create, and the rows: text and
     * arrays as a whole, a stash by its ID. Other iterables are not compared, because that would mean reading them: use
     * a new key for each import from such an iterable.
     */
    idempotencyKey?: string | undefined
    /**
     * A digest of the request, 32 bytes, that is compared instead of the request. It is for callers that forward
     * requests, such as the HTTP contract. Only with `idempotencyKey`. Default: none.
     */
    requestDigest?: Bytes | undefined
    /**
     * Whether the result has a receipt, which the table keeps. For the receipt, the written rows are read once more,
     * which takes about as long as a scan of these rows. A preflight ignores this option. Default: false.
     */
    receipt?: boolean | undefined
  }>

/** The new rows of a table. */
export type OverwriteRequest = Authored &
  Readonly<{
    /** The new columns. Default: the table keeps its schema. */
    schema?: SchemaInput | undefined
    /** The new rows. A row with the `$rowID` of a row of the table keeps this ID. */
    rows: RowsInput | Stash
    /** Fails with PRECONDITION_FAILED if the table's version is greater than this. Any size. Default: no condition. */
    ifMatch?: number | bigint | undefined
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /** Whether the result has a receipt. See `AddOptions`. */
    receipt?: boolean | undefined
  }>

/** The request that `table.preflight` checks: the request of an overwrite or of an add. */
export type TablePreflightRequest = OverwriteRequest &
  Readonly<{
    /**
     * `overwrite`: the rows would replace those of the table. `add`: they would be added, so their keys are also
     * compared with those of the table. An add has no `schema` and no `ifMatch`. Default: `overwrite`.
     */
    operation?: 'add' | 'overwrite' | undefined
    /** Whether the keys of added rows are compared with those of the table, too. Default: true. */
    comparesTable?: boolean | undefined
  }>

/** Options of `updateRow`. */
export type UpdateOptions = Authored &
  Readonly<{
    /** Fails with PRECONDITION_FAILED if the row's version is greater than this. Any size. Default: no condition. */
    ifMatch?: number | bigint | undefined
    /** What to do with cells that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
  }>

/** The new version of the table, and the IDs of the written rows in input order. */
export type ChangeResult = Readonly<{
  /** The new version of the table. */
  version: number
  /** The IDs of the written rows, in input order. */
  rowIds: RowIds
  /** The receipt, if it was requested. The result of a repeated add or create has it as long as the table keeps it. */
  receipt?: Receipt
}>
/** A created table, its version, and the IDs of its rows in input order. */
export type CreateResult = ChangeResult & Readonly<{ tableId: string }>

/** The number of rows of a stored chunk. */
export type ChunkResult = Readonly<{ rows: number }>

/** A chunk of a stash. */
export type StashChunk = Readonly<{
  /** The serial of the chunk, which orders the chunks of its stash. */
  serial: string
  /** The number of its rows. */
  rows: number
}>

/** A stash as `team.stashes` lists it. */
export type StashEntry = Readonly<{
  /** The ID that its caller chose. */
  id: string
  /** The number of its chunks. */
  chunks: number
  /** The number of rows in all its chunks. */
  rows: number
  /** Stored size of its chunks, in bytes. */
  bytes: number
  /** When its first chunk was put, in milliseconds since 1970 UTC. */
  createdAt: number
  /** When it expires if no further chunk is put, in milliseconds since 1970 UTC. */
  expiresAt: number
}>

/**
 * Rows that are staged in chunks, to become rows of a table in one operation. The operation does not delete the stash.
 */
export interface Stash {
  /** Names the stash in its team. */
  readonly id: string
  /**
   * Stores or replaces one chunk; durable when it resolves. Chunks may be put in parallel.
   * @param serial - Orders the chunks: a number from 0 to 2^53 - 1, which stands for its decimal digits, or a text of
   *   1 to 256 letters, digits, `-` and `_` that begins with a letter or a digit.
   * @throws {StoreError} ABORTED, REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE; LIMIT_EXCEEDED
   *   (`stashesMax`, `stashBytesMax`); STASH_NOT_FOUND if earlier chunks have expired or may be lost: delete
   *   the stash and put all chunks again. Expired stashes are remembered for 30 days, at most the 10,000 latest of a
   *   team.
   * @example
   * const stash = team.stash('orders')
   * const { rows } = await stash.put(0, { csv: 'id,total\n1,34.50\n2,12\n' })
   * console.log(rows) // 2
   */
  put(serial: string | number, rows: RowsInput, options?: Abortable): Promise<ChunkResult>
  /**
   * The chunks, in order.
   * @throws {StoreError} STASH_NOT_FOUND if the stash has no chunks, or if chunks have expired or may be lost
   * @example
   * const stash = team.stash('orders')
   * await stash.put(0, [{ id: 1 }])
   * console.log(await stash.chunks()) // [{"serial":"0","rows":1}]
   */
  chunks(): Promise<readonly StashChunk[]>
  /**
   * Deletes the stash. Tables made from it stay.
   * @returns whether the stash existed; an expired stash counts too.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await team.stash('orders').put(0, [{ id: 1 }])
   * console.log(await team.stash('orders').delete(), await team.stash('orders').delete()) // true false
   */
  delete(): Promise<boolean>
}
