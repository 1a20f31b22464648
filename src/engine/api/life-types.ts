// The life of a table: what it is now, its name and columns, and its end.
import type { Bytes } from '../../base/bytes.js'
import type { DisposableIterator } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { Where } from './find-types.js'
import type { SchemaInput } from './row-types.js'

/** The ID and the name of a table. */
export type TableEntry = Readonly<{ id: string; name: string }>

/** How the names of tables are read. */
export type TableNamesOptions = Readonly<{
  /**
   * Called before the names take more memory than the last call reserved, in bytes. Returns undefined if no wait is
   * needed. Default: nothing is reserved.
   */
  reserve?: ((bytes: number) => Promise<void> | undefined) | undefined
}>

/** A table as it is now. */
export type TableInfo = TableEntry &
  Readonly<{
    /** The columns, in order. */
    schema: TableSchema
    /** IDs of the columns of its key; absent: it has none. */
    key?: readonly string[]
    /** The number of rows. */
    rowCount: number
    /** The version of the table: each change makes it greater. */
    version: number
    /** When it was created, in milliseconds since 1970 UTC; null: by an earlier version of this package, which did not record it. */
    createdAt: number | null
    /**
     * When it was last changed, in milliseconds since 1970 UTC; null: not since an earlier version of this package.
     * Every change counts, also of the name.
     */
    updatedAt: number | null
    /**
     * Bytes of its rows as they are stored, compressed where they are: of segments, and of the row records that no
     * segment has yet. Records that lie over a segment until the next fold, and overwritten rows, are not counted.
     */
    bytes: number
  }>

/** A condition on the version of a table. */
export type IfTableMatch = Readonly<{
  /** Fails with PRECONDITION_FAILED if the table's version is greater than this. Any size. Default: no condition. */
  ifMatch?: number | bigint | undefined
}>

/** A change of a table that touches no row. It has a name or a schema, or both; or a key alone. */
export type AlterRequest = IfTableMatch &
  Readonly<{
    /** The new name: 1 to 1,000 UTF-16 units. Two tables may have the same. Default: the name stays. */
    name?: string | undefined
    /**
     * The new columns, all of them. A column that the table has keeps its type; its display name and its place may
     * change. A column that it does not have is added, without a cell. A column that is left out must be in `drop`. A
     * type cannot be changed this way: `overwrite` does, and `updateSchema` of `addRows` widens one. Default: the columns
     * stay.
     */
    schema?: SchemaInput | undefined
    /**
     * IDs of the columns that `schema` leaves out, in any order. Their cells are not shown any more, not even if a column
     * with the same ID is added later. They stay stored until the rows are overwritten or their cells are changed.
     * Default: none; a schema without a column of the table fails with REQUEST_VALIDATION_ERROR, whose message names such
     * columns and the number of their cells, in tables of up to 1,000,000 cells of such columns.
     */
    drop?: readonly string[] | undefined
    /** Whether that message has the number of their cells. Default: true. */
    countsCells?: boolean | undefined
    /**
     * IDs of the columns of the key, 1 to 16 of them, none with arrays; null: the table has no key any more. From then
     * on no two rows have the same values in all of them, in whatever form the values are written: an operation that
     * would make two fails with KEY_NOT_UNIQUE. Rows with an empty cell in one of them are not compared. An overwrite
     * keeps the key. All rows are read once, and other changes of the table wait meanwhile. A table with more than
     * 2,097,152 rows without an empty cell in these columns is refused: create one with the key, and add them in parts.
     * Default: the key stays.
     */
    key?: readonly string[] | null | undefined
    /**
     * Ends the call with ABORTED, and nothing is changed. With `key` that is before the next 256 KiB of rows. It has no
     * effect once the commit has begun. Default: none.
     */
    signal?: AbortSignal | undefined
  }>

/** Options of an export. */
export type ExportOptions = Readonly<{
  /** Only the rows that match. Default: all. */
  where?: Where | undefined
  /** Only the cells of these columns, in this order; `$rowID` puts the row IDs in front. Default: all. */
  columns?: readonly string[] | undefined
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

/** Bytes of text, a page of rows at a time. They can be read once; `await using` ends them early. */
export type ExportedRows = DisposableIterator<Bytes>

/** Rows out, as text. */
export interface TableExports {
  /**
   * All rows, or those that match, as CSV, in bounded memory: the column IDs, then a line for each row, in order. A
   * table with columns that is created from it with the same schema has the same rows, with new IDs; an empty text
   * becomes an empty cell. Arrays are JSON.
   * @throws {StoreError} from the iterator: TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, ABORTED, DATA_CORRUPT
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * let text = ''
   * for await (const bytes of team.table(tableId).toCSV()) text += new TextDecoder().decode(bytes)
   * console.log(text.split('\n')) // ["id","1","2",""]
   */
  toCSV(options?: CsvOptions): ExportedRows
  /**
   * As `toCSV`, as one JSON object per line, without row IDs unless `columns` has `$rowID`: nothing is lost.
   * @throws {StoreError} as `toCSV`
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * let text = ''
   * for await (const bytes of team.table(tableId).toNDJSON({ limit: 1 })) text += new TextDecoder().decode(bytes)
   * console.log(JSON.parse(text)) // {"id":1}
   */
  toNDJSON(options?: ExportOptions): ExportedRows
}

/** Operations on a table as a whole: its description, name, columns and deletion. */
export interface TableLife {
  /**
   * The table as it is now. Reads a few records, however many rows it has.
   * @throws {StoreError} TABLE_NOT_FOUND
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const { name, rowCount, schema } = await team.table(tableId).info()
   * console.log(name, rowCount, schema.columns.length) // Orders 2 1
   */
  info(): Promise<TableInfo>
  /**
   * Renames the table. The same name makes no version.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, PRECONDITION_FAILED, LIMIT_EXCEEDED
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).rename('Orders of 2026')
   * console.log((await team.table(tableId).info()).name) // Orders of 2026
   */
  rename(name: string, options?: IfTableMatch): Promise<Readonly<{ version: number }>>
  /**
   * Changes the name and the columns of the table in one version, without reading or writing a row, however many there
   * are. A request that changes nothing makes no version. If a column is dropped, all rows have the new version. A
   * column of the key can neither be dropped nor changed from numbers to texts. With `key`, the rows are read.
   * @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE,
   *   PRECONDITION_FAILED, LIMIT_EXCEEDED, KEY_NOT_UNIQUE, ABORTED
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * const columns = [{ id: 'id', type: 'number' }, { id: 'paid', type: 'boolean' }] as const
   * await team.table(tableId).alter({ schema: { columns } }) // adds the column "paid", and writes no row
   * console.log((await team.table(tableId).schema()).columns.map(({ id }) => id)) // ["id","paid"]
   */
  alter(request: AlterRequest): Promise<Readonly<{ version: number }>>
  /**
   * Deletes the table with all its rows, at once: from then on its operations fail with TABLE_NOT_FOUND. Scans in
   * progress still read all rows. The sweep frees the space; files that no other row names are deleted as after an
   * overwrite. The ID is never used again.
   * @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED
   * @example
   * const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * await team.table(tableId).delete()
   * console.log((await team.tables()).length) // 0
   */
  delete(options?: IfTableMatch): Promise<void>
}

/** Options of `deleteAll`. */
export type DeleteAllOptions = Readonly<{
  /**
   * Ends the call with ABORTED before the next step: a commit, or a batch of 50 tables or stashes. What was deleted
   * before stays deleted; call again to delete the rest. Default: none.
   */
  signal?: AbortSignal | undefined
}>

/** The tables of a team. */
export interface TeamTables<T> {
  /**
   * All tables in order of creation, including every table whose create has resolved.
   * @throws {StoreError} as every call: see `Store`
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }, { id: 2 }] })
   * console.log((await team.tables()).map(({ name, rowCount }) => `${name}: ${rowCount} rows`)) // ["Orders: 2 rows"]
   */
  tables(): Promise<readonly TableInfo[]>
  /**
   * As `tables`, but only their IDs and names, which is faster.
   * @throws {StoreError} as `tables`; what `reserve` throws
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * console.log((await team.tableNames()).map(({ name }) => name)) // ["Orders"]
   */
  tableNames(options?: TableNamesOptions): Promise<readonly TableEntry[]>
  /**
   * All tables with a name, the oldest first.
   * @throws {StoreError} as `tables`; REQUEST_VALIDATION_ERROR for what is no text
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.createTable({ name: 'Orders', rows: [{ id: 2 }] })
   * console.log((await team.tablesByName('Orders')).length) // 2
   */
  tablesByName(name: string): Promise<readonly T[]>
  /**
   * Deletes everything of the team: tables, stashes, uploads, files, jobs, receipts, and what is kept under idempotency
   * keys. Running jobs fail. When it resolves, the team is as if it had never been used, except for its API keys, and
   * for rows that scans in progress still read. An interrupted call can be repeated: what is deleted stays deleted.
   * What others add meanwhile is whole or gone afterwards.
   * @throws {StoreError} STORAGE_UNAVAILABLE: others keep adding data to the team. The `outcome` of every failure of the
   *   storage is `unknown`: something may be deleted. REQUEST_VALIDATION_ERROR, ABORTED
   * @example
   * await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
   * await team.deleteAll()
   * console.log((await team.tables()).length) // 0
   */
  deleteAll(options?: DeleteAllOptions): Promise<void>
}
