// The life of a table: what it is now, its name and columns, and its end.
import type { Bytes } from '../../base/bytes.js'
import type { DisposableIterator } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { Authored } from './call-types.js'
import type { FindBounds, OrderBy, Where } from './find-types.js'
import type { SchemaInput } from './row-types.js'

/** The ID and the name of a table. */
export type TableEntry = Readonly<{ id: string; name: string }>

/** Options of reading the names of tables. */
export type TableNamesOptions = Readonly<{
  /**
   * Called with the total number of bytes that the names take, before they take more than the last call reserved.
   * Reading waits for the promise, if there is one. Default: nothing is reserved.
   */
  reserve?: ((bytes: number) => Promise<void> | undefined) | undefined
}>

/** A table as it is now. */
export type TableInfo = TableEntry &
  Readonly<{
    /** The columns, in order. */
    schema: TableSchema
    /** IDs of the columns of its key; absent: the table has no key. */
    key?: readonly string[]
    /** The number of rows. */
    rowCount: number
    /** The version of the table, which grows with each change. */
    version: number
    /**
     * When it was created, in milliseconds since 1970 UTC; null: unknown, because an earlier version of this package
     * created it.
     */
    createdAt: number | null
    /**
     * When it was last changed, in milliseconds since 1970 UTC; null: an earlier version of this package made the last
     * change. Every change counts, including one of the name.
     */
    updatedAt: number | null
    /**
     * Stored bytes of its rows, after compression, in segments and in row records of rows that are in no segment yet.
     * Row records that replace rows of a segment until the next compaction are not counted, nor are overwritten rows.
     */
    bytes: number
  }>

/** A condition on the version of a table. */
export type IfTableMatch = Readonly<{
  /** Fails with PRECONDITION_FAILED if the table's version is greater than this. Any size. Default: no condition. */
  ifMatch?: number | bigint | undefined
}>

/**
 * A change of the name, the columns or the key of a table. `key` and `convert` cannot be combined with other changes.
 */
export type AlterRequest = Authored &
  IfTableMatch &
  Readonly<{
    /** The new name: 1 to 1,000 UTF-16 units. Tables may have equal names. Default: the name stays. */
    name?: string | undefined
    /**
     * All new columns. A column that the table has keeps its type; its display name and its place may change. A
     * column that the table lacks is added, with empty cells. A column that is left out must be in `drop`. A type
     * cannot be changed this way: `overwrite` does that, and `updateSchema` of `addRows` widens a type. Default: the
     * columns stay.
     */
    schema?: SchemaInput | undefined
    /** Columns to add after the others, with empty cells. Not with `schema`. Default: none. */
    add?: SchemaInput['columns'] | undefined
    /** New display names by column ID. Not with `schema`. Default: the names stay. */
    rename?: Readonly<Record<string, string>> | undefined
    /**
     * IDs of the columns to drop: those that `schema` leaves out, in any order. Their cells are hidden, even if a
     * column with the same ID is added later. They stay stored until the rows are overwritten or their cells are
     * changed. Default: none; then a schema that lacks a column of the table fails with REQUEST_VALIDATION_ERROR, whose
     * message names such columns and, up to 1,000,000 cells, the number of their cells.
     */
    drop?: readonly string[] | undefined
    /**
     * Gives a column another type, and its cells the form of that type, in one commit, like an overwrite with rows that
     * keep their IDs. A text is parsed like a CSV field; numbers, booleans and arrays become their JSON text. If a cell
     * does not fit the type, or would be lost because it is an empty text, nothing is changed: the call fails with
     * COLUMN_HAS_INVALID_VALUE, the first 100 such cells as `problems`, and the number of all as `problemCount`. Not
     * with other members. Default: none.
     */
    convert?:
      | Readonly<{
          /** The ID of the column. */
          column: string
          /** The type that it gets. */
          type: SchemaInput['columns'][number]['type']
          /** The words for true and false, in any case; `true` and `false` fit, too. Default: none. */
          booleans?: readonly [isTrue: string, isFalse: string] | undefined
        }>
      | undefined
    /** Whether the message about dropped columns counts their cells. Default: true. */
    countsCells?: boolean | undefined
    /**
     * IDs of the columns of the key, 1 to 16 of them, none with arrays; null: the key is removed. From then on no two
     * rows have equal values in all key columns, however the values are written: an operation that would violate this
     * fails with KEY_NOT_UNIQUE. Rows with an empty cell in a key column are not compared. An overwrite keeps the key.
     * All rows are read once, and other changes of the table wait meanwhile. A table with more than 2,097,152 rows
     * without an empty cell in these columns is refused: create a table with the key, and add the rows in parts.
     * Default: the key stays.
     */
    key?: readonly string[] | null | undefined
    /**
     * Ends the call with ABORTED, and nothing is changed. With `key`, the call ends before it reads the next 256 KiB of
     * rows. Once the commit has begun, the signal has no effect. Default: none.
     */
    signal?: AbortSignal | undefined
  }>

/** Options of an export. */
export type ExportOptions = Readonly<{
  /** Only the rows that match. Default: all. */
  where?: Where | undefined
  /** A text that a text column of the row must contain. See `page`. */
  search?: FindBounds['search']
  /** Only the cells of these columns, in this order; `$rowID` adds the row IDs as the first column. Default: all. */
  columns?: readonly string[] | undefined
  /** The order of the rows, as in `scan`. Default: that of the table. */
  orderBy?: OrderBy | undefined
  /** Maximum number of rows: a positive integer. Default: all. */
  limit?: number | undefined
  /** Ends the export, which fails with ABORTED before its next page. Default: none. */
  signal?: AbortSignal | undefined
}>

/** Options of an export as CSV. */
export type CsvOptions = ExportOptions &
  Readonly<{
    /** The separator of fields: a comma, or a tab for TSV. Default: a comma. */
    delimiter?: ',' | '\t' | undefined
  }>

/** The text of an export as bytes, a page of rows at a time. It can be read once; `await using` ends it early. */
export type ExportedRows = DisposableIterator<Bytes>

/** Options of `deleteAll`. */
export type DeleteAllOptions = Readonly<{
  /**
   * Ends the call with ABORTED before the next step: a commit, or a batch of 50 tables or stashes. What was deleted
   * before stays deleted; call again to delete the rest. Default: none.
   */
  signal?: AbortSignal | undefined
}>
