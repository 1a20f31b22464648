// Transactions: several changes of the tables of a team, in one commit.
import type { DisposableIterator } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { AnySchema } from '../../schema/row-types.js'
import type { Abortable } from './abort-types.js'
import type { ScanOptions } from './find-types.js'
import type { DeleteRowsResult, RowsToDelete, RowUpdate, UpdateRowsOptions } from './many-types.js'
import type {
  DeleteResult,
  Page,
  PageRequest,
  ReadOptions,
  ReadResult,
  RowWithId,
} from './read-types.js'
import type {
  ChangeResult,
  CreateResult,
  CreateTableRequest,
  OnSchemaError,
  OverwriteRequest,
  RowInput,
  RowsInput,
  Stash,
  TypedRowsInput,
  UpdateOptions,
} from './row-types.js'
import type { TypedRows } from './typed-types.js'
import type { KeyValues } from './unique-types.js'

/** Options of `addRows` in a transaction. */
export type TransactionAddOptions = Readonly<{
  /** What to do with rows that do not fit the schema. Default: `abort`. */
  onSchemaError?: OnSchemaError | undefined
}>

/**
 * A table in a transaction. Reads see the table at the one moment of the transaction, with its own changes. All changes
 * of a table together make one version, which is the version of each result. Errors are those of `Table`.
 */
export interface TransactionTable {
  readonly id: string
  version(): Promise<number>
  schema(): Promise<TableSchema>
  get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null>
  /** `get` for each row ID, in their order: null for a row that does not exist. At most 10,000 row IDs. */
  getMany(rowIds: readonly string[], options?: ReadOptions): Promise<readonly (ReadResult | null)[]>
  page(request?: PageRequest): Promise<Page>
  /** All rows, or those that match, in order; a transaction may read 100,000 rows in all. */
  scan(options?: ScanOptions): DisposableIterator<RowWithId>
  /** Adds rows. A stash must be put before: putting its chunks is not part of the transaction. */
  addRows(rows: RowsInput | Stash, options?: TransactionAddOptions): Promise<ChangeResult>
  /** Replaces all rows. It must be the first change of the table in the transaction. */
  overwrite(request: Omit<OverwriteRequest, 'receipt'>): Promise<ChangeResult>
  updateRow(
    rowId: string,
    cells: RowInput,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
  updateRows(
    updates: readonly RowUpdate[],
    options?: UpdateRowsOptions,
  ): Promise<Readonly<{ version: number }>>
  deleteRow(rowId: string): Promise<DeleteResult>
  deleteRows(rows: RowsToDelete): Promise<DeleteRowsResult>
}

/**
 * A table in a transaction, with the rows of a schema. The first operation on rows checks that the table has the columns
 * of the schema, as that of a `TypedTable` does.
 */
export interface TypedTransactionTable<S extends AnySchema>
  extends Pick<TransactionTable, 'id' | 'version' | 'schema' | 'deleteRow'>,
    Pick<TypedRows<S>, 'get' | 'getMany' | 'page' | 'scan' | 'updateRow' | 'updateRows'> {
  /** As in `TransactionTable`. */
  addRows(rows: TypedRowsInput<S> | Stash, options?: TransactionAddOptions): Promise<ChangeResult>
  /** As in `TransactionTable`. */
  overwrite(
    request: Omit<OverwriteRequest, 'rows' | 'schema' | 'receipt'> &
      Readonly<{ rows: TypedRowsInput<S> | Stash }>,
  ): Promise<ChangeResult>
  /** As in `TransactionTable`. */
  deleteRows(rows: Parameters<TypedRows<S>['deleteRows']>[0]): Promise<DeleteRowsResult>
  /** The same table without types and checks. */
  readonly untyped: TransactionTable
}

/** An open transaction. It ends when the function that received it settles; then its methods fail. */
export interface Transaction {
  /**
   * As `table`, with rows that the compiler knows.
   * @param schema - What `defineSchema` returns.
   * @throws {StoreError} as `table`; the first operation on rows also SCHEMA_MISMATCH
   */
  table<S extends AnySchema>(tableId: string, schema: S): TypedTransactionTable<S>
  /** A table of the team, by its ID: an existing one, or one that the transaction has created. */
  table(tableId: string): TransactionTable
  /**
   * Creates a table with its rows. Nobody else sees it before the commit.
   * @throws {StoreError} as `Team.createTable`
   */
  createTable(
    request: Pick<CreateTableRequest, 'name' | 'schema' | 'rows' | 'onSchemaError'>,
  ): Promise<CreateResult>
}

/** Transactions of a team. */
export interface Transactions {
  /**
   * Runs a function whose changes of tables are committed together when it resolves, or not at all when it rejects.
   *
   * All its reads are of one moment, and nobody has changed any of the tables between that moment and the commit: the
   * transactions and all other operations of the team are serializable. Nothing is locked. If others have changed a
   * table that it read or changed, the function is called again, on the tables as they are then, 10 times in all. So it
   * must have no effects beside those on the transaction, and must await all that it calls. What it reads is of one
   * moment also in a call that will be repeated.
   *
   * The key of a table is checked by each call, on the rows that the calls before it left: two rows exchange their keys in
   * one `updateRows`.
   *
   * Limits of one transaction: 100 tables, 20,000 records and 16 MiB of changes (a record is a changed row; a segment
   * of added rows counts as a part of one), 100,000 rows read. Merges, receipts, idempotency keys, jobs, imports, files
   * and other transactions are no part of it: a call of `team.transaction` within the function is a transaction of its
   * own, which does not see this one's changes and makes it be repeated if it changes the same tables.
   *
   * A `signal` ends the transaction with ABORTED, and nothing is committed: the function is not called again, its next
   * call of the transaction fails, and what it returns is not used. The function itself is waited for. Once the commit
   * has begun, the signal has no effect: the transaction resolves if it was committed, fails with ABORTED if the commit
   * was refused because of others, and fails as without a signal if its outcome is unknown.
   * @param options - `signal`.
   * @returns What the function resolved to.
   * @throws {StoreError} TRANSACTION_CONFLICT with outcome `unchanged` after 10 calls; LIMIT_EXCEEDED; what the function
   *   throws; ABORTED; STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE
   * @example
   * const { tableId, rowIds } = await team.createTable({ name: 'Accounts', rows: [{ left: 10 }, { left: 0 }] })
   * await team.transaction(async (transaction) => {
   *   const table = transaction.table(tableId)
   *   await table.updateRow(rowIds.get(0), { left: 7 })
   *   await table.updateRow(rowIds.get(1), { left: 3 })
   * })
   * console.log((await team.table(tableId).page()).rows.map(({ left }) => left)) // [7,3]
   */
  transaction<T>(run: (transaction: Transaction) => Promise<T>, options?: Abortable): Promise<T>
}
