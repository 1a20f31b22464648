// Transactions: several changes of the tables of a team, in one commit.
import type { DisposableIterator } from '../../base/disposable.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { AnySchema } from '../../schema/row-types.js'
import type { Authored, KeyValues } from './call-types.js'
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
import type { TypedRowUpdate, TypedTable } from './typed-types.js'

/** Options of `addRows` in a transaction. */
export type TransactionAddOptions = Authored &
  Readonly<{
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
  }>

/**
 * A table in a transaction. Reads see the table at the one moment of the transaction, with the changes that the
 * transaction itself has made. All changes of a table together make one version, which is the version of each result.
 * The author of this version is that of the last change that names one, otherwise that of the transaction.
 * Errors are those of `Table`.
 */
export interface TransactionTable {
  readonly id: string
  version(): Promise<number>
  schema(): Promise<TableSchema>
  get(row: string | KeyValues, options?: ReadOptions): Promise<ReadResult | null>
  /** Rows by their IDs, in order: null for a row that does not exist. At most 10,000 row IDs. */
  getMany(rowIds: readonly string[], options?: ReadOptions): Promise<readonly (ReadResult | null)[]>
  page(request?: PageRequest): Promise<Page>
  /** All rows, or those that match, in order; a transaction may read 100,000 rows in all. */
  scan(options?: ScanOptions): DisposableIterator<RowWithId>
  /** Adds rows. A stash must be filled earlier: putting its chunks is not part of the transaction. */
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
  deleteRow(rowId: string, options?: Authored): Promise<DeleteResult>
  deleteRows(rows: RowsToDelete, options?: Authored): Promise<DeleteRowsResult>
}

/**
 * A table in a transaction, with the rows of a schema. The first operation on rows checks that the table has the
 * columns of the schema; see `TypedTable`.
 */
export interface TypedTransactionTable<S extends AnySchema>
  extends Pick<TransactionTable, 'id' | 'version' | 'schema' | 'deleteRow'>,
    Pick<TypedTable<S>, 'get' | 'getMany' | 'page' | 'scan' | 'updateRow'> {
  /** Adds rows; see `TransactionTable`. */
  addRows(rows: TypedRowsInput<S> | Stash, options?: TransactionAddOptions): Promise<ChangeResult>
  /** Replaces all rows; see `TransactionTable`. */
  overwrite(
    request: Omit<OverwriteRequest, 'rows' | 'schema' | 'receipt'> &
      Readonly<{ rows: TypedRowsInput<S> | Stash }>,
  ): Promise<ChangeResult>
  /** Updates rows; see `TransactionTable`. */
  updateRows(
    updates: readonly TypedRowUpdate<S>[],
    options?: UpdateRowsOptions,
  ): Promise<Readonly<{ version: number }>>
  /** Deletes rows; see `TransactionTable`. */
  deleteRows(
    rows: Parameters<TypedTable<S>['deleteRows']>[0],
    options?: Authored,
  ): Promise<DeleteRowsResult>
  /** The same table without types and checks. */
  readonly untyped: TransactionTable
}

/** An open transaction. It ends when the function that received it settles; after that its methods fail. */
export interface Transaction {
  /**
   * A table of the team by its ID, whose rows the compiler knows.
   * @param schema - What `defineSchema` returns.
   * @throws {StoreError} as `table`; the first operation on rows also SCHEMA_MISMATCH
   */
  table<S extends AnySchema>(tableId: string, schema: S): TypedTransactionTable<S>
  /** A table of the team, by its ID: an existing one, or one that the transaction has created. */
  table(tableId: string): TransactionTable
  /**
   * Creates a table with its rows. Nobody else sees the table before the commit.
   * @throws {StoreError} as `Team.createTable`
   */
  createTable(
    request: Pick<CreateTableRequest, 'name' | 'schema' | 'rows' | 'onSchemaError'>,
  ): Promise<CreateResult>
}
