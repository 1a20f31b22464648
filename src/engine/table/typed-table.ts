// A table, or a table of a transaction, that was opened with a schema. Before its first operation its columns are
// compared with those of the schema.
import { type DisposableIterator, disposable } from '../../base/disposable.js'
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import type { ColumnType, TableSchema } from '../../schema/column-kind.js'
import type { AnySchema } from '../../schema/row-types.js'
import { columnIndex } from '../../schema/table-schema.js'
import { checkFindOptions, checkWhere } from '../arguments/find-arguments.js'
import { validatedRows } from '../import/validated-rows.js'
import type { Abortable, Authored, KeyValues } from '../types/call-types.js'
import type {
  CountOptions,
  FindPageRequest,
  GroupsRequest,
  ScanOptions,
  Where,
} from '../types/find-types.js'
import type { RowsToDelete, RowUpdate, UpdateRowsOptions } from '../types/many-types.js'
import type { MergeRequest } from '../types/merge-types.js'
import type { ReadOptions, RowWithId } from '../types/read-types.js'
import type {
  AddOptions,
  OverwriteRequest,
  RowInput,
  RowsInput,
  Stash,
  UpdateOptions,
} from '../types/row-types.js'
import type { Table, TypedTable } from '../types/store-types.js'
import type { TransactionTable, TypedTransactionTable } from '../types/transaction-types.js'

/** @throws {StoreError} REQUEST_VALIDATION_ERROR for a schema that `defineSchema` did not make */
export function typedTable<S extends AnySchema>(table: Table, schema: S): TypedTable<S> {
  checkDefined(schema)
  return new SchemaTable(table, schema) as unknown as TypedTable<S>
}

/**
 * The same for a table of a transaction.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR for a schema that `defineSchema` did not make
 */
export function typedStagedTable<S extends AnySchema>(
  table: TransactionTable,
  schema: S,
): TypedTransactionTable<S> {
  checkDefined(schema)
  return new SchemaRows(table, schema) as unknown as TypedTransactionTable<S>
}

/** Whether `defineSchema` made the schema. */
export function isDefinedSchema(schema: unknown): schema is AnySchema {
  return typeof schema === 'object' && schema !== null && 'definition' in schema
}

function checkDefined(schema: unknown): void {
  if (isDefinedSchema(schema)) return
  const remedy = 'must be what defineSchema returns'
  throw new StoreError('REQUEST_VALIDATION_ERROR', `The schema of a table ${remedy}`)
}

/**
 * This class declares no types of rows, because types do not exist at run time: `TypedTransactionTable` declares them.
 */
class SchemaRows<T extends TransactionTable>
  implements Record<keyof TypedTransactionTable<AnySchema>, unknown>
{
  readonly id: string
  readonly untyped: T
  readonly #schema: AnySchema
  #isChecked = false

  constructor(table: T, schema: AnySchema) {
    this.id = table.id
    this.untyped = table
    this.#schema = schema
  }

  addRows(rows: RowsInput | Stash, options?: AddOptions & Abortable) {
    return this.checked(() => this.untyped.addRows(this.validated(rows), options))
  }

  overwrite(request: OverwriteRequest & Abortable) {
    const rows = request?.rows
    return this.checked(() => this.untyped.overwrite({ ...request, rows: this.validated(rows) }))
  }

  page(request?: FindPageRequest) {
    return this.checked(() => this.untyped.page(request))
  }

  get(row: string | KeyValues, options?: ReadOptions) {
    return this.checked(() => this.untyped.get(row, options))
  }

  getMany(rowIds: readonly string[], options?: ReadOptions) {
    return this.checked(() => this.untyped.getMany(rowIds, options))
  }

  scan(options?: ScanOptions): DisposableIterator<RowWithId> {
    return this.checkedItems(() => this.untyped.scan(options))
  }

  updateRow(rowId: string, cells: RowInput, options?: UpdateOptions) {
    return this.checked(() => this.untyped.updateRow(rowId, cells, options))
  }

  updateRows(updates: readonly RowUpdate[], options?: UpdateRowsOptions) {
    return this.checked(() => this.untyped.updateRows(updates, options))
  }

  deleteRows(rows: RowsToDelete, options?: Authored) {
    return this.checked(() => this.untyped.deleteRows(rows, options))
  }

  deleteRow(...given: Parameters<TransactionTable['deleteRow']>) {
    return this.untyped.deleteRow(...given)
  }

  version() {
    return this.untyped.version()
  }

  schema() {
    return this.untyped.schema()
  }

  protected validated(rows: RowsInput | Stash): RowsInput | Stash {
    return validatedRows(this.#schema, rows)
  }

  protected checkedItems<I>(open: () => DisposableIterator<I>): DisposableIterator<I> {
    return this.#isChecked ? open() : disposable(this.#itemsAfterCheck(open))
  }

  async *#itemsAfterCheck<I>(open: () => DisposableIterator<I>): AsyncGenerator<I, void> {
    yield* await this.checked(open)
  }

  protected async checked<R>(operation: () => R | Promise<R>): Promise<R> {
    if (!this.#isChecked) {
      checkTypedColumns(this.#schema, await this.untyped.schema(), this.id)
      this.#isChecked = true
    }
    return operation()
  }
}

/** The members of a table that are not part of a transaction. */
class SchemaTable
  extends SchemaRows<Table>
  implements Record<keyof TypedTable<AnySchema>, unknown>
{
  merge(request: MergeRequest) {
    const rows = request?.rows
    return this.checked(() => this.untyped.merge({ ...request, rows: this.validated(rows) }))
  }

  find(where: Where, options: Omit<ScanOptions, 'where'> = {}): DisposableIterator<RowWithId> {
    checkFindOptions(options)
    return this.scan({ ...options, where: checkWhere(where) })
  }

  count(where?: Where, options?: CountOptions) {
    return this.checked(() => this.untyped.count(where, options))
  }

  groups(request: GroupsRequest & Pick<ReadOptions, 'numbers'>) {
    return this.checked(() => this.untyped.groups(request))
  }

  override deleteRows(rows: RowsToDelete, options?: Abortable & Authored) {
    return this.checked(() => this.untyped.deleteRows(rows, options))
  }

  info() {
    return this.untyped.info()
  }

  rename(...given: Parameters<Table['rename']>) {
    return this.untyped.rename(...given)
  }

  alter(...given: Parameters<Table['alter']>) {
    return this.untyped.alter(...given)
  }

  delete(...given: Parameters<Table['delete']>) {
    return this.untyped.delete(...given)
  }

  toCSV(...given: Parameters<Table['toCSV']>) {
    return this.untyped.toCSV(...given)
  }

  toNDJSON(...given: Parameters<Table['toNDJSON']>) {
    return this.untyped.toNDJSON(...given)
  }

  changes(...given: Parameters<Table['changes']>) {
    return this.checkedItems(() => this.untyped.changes(...given))
  }

  watch(...given: Parameters<Table['watch']>) {
    return this.checkedItems(() => this.untyped.watch(...given))
  }

  log(...given: Parameters<Table['log']>) {
    return this.untyped.log(...given)
  }

  watchLog(...given: Parameters<Table['watchLog']>) {
    return this.untyped.watchLog(...given)
  }

  at(version: number) {
    return this.untyped.at(version)
  }

  receipt(version: number) {
    return this.untyped.receipt(version)
  }

  change(version: number) {
    return this.untyped.change(version)
  }
}

/** @throws {StoreError} SCHEMA_MISMATCH with the first column that the table lacks or has with another type */
function checkTypedColumns(schema: TableSchema, found: TableSchema, tableId: string): void {
  const columns = columnIndex(found)
  for (const { id, type } of schema.columns) {
    const column = columns.get(id)
    if (column === undefined) {
      throw mismatch(tableId, id, 'the table has no such column')
    }
    if (kindPhrase(column.type) !== kindPhrase(type)) {
      throw mismatch(tableId, id, `it is ${kindPhrase(column.type)}, not ${kindPhrase(type)}`)
    }
  }
}

function kindPhrase(type: ColumnType): string {
  return type.kind === 'array' ? `an array of ${type.items.kind}` : `of the kind ${type.kind}`
}

function mismatch(tableId: string, column: string, why: string): StoreError {
  const phrase = `Table ${tableId} does not fit the schema it was opened with: column ${shown(column)}`
  return new StoreError('SCHEMA_MISMATCH', `${phrase}: ${why}`, { column })
}
