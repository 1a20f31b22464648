// The rows of a table that was opened with a defined schema, as the compiler knows them.
import type { DisposableIterator } from '../../base/disposable.js'
import type { NumberForm } from '../../schema/parse-rendered.js'
import type {
  AnySchema,
  CellsOf,
  ColumnOf,
  KeyOf,
  RowOf,
  SpecsOf,
  TypedWhere,
} from '../../schema/row-types.js'
import type { Abortable, Authored } from './call-types.js'
import type { CountOptions, FindBounds, Group, GroupsRequest, OrderBy } from './find-types.js'
import type { ChangesRequest, TableChange, WatchRequest } from './history-types.js'
import type {
  ConditionToDelete,
  DeleteRowsResult,
  RowToDelete,
  UpdateRowsOptions,
} from './many-types.js'
import type { MergeRequest, MergeResult } from './merge-types.js'
import type { PageBounds } from './read-types.js'
import type {
  AddOptions,
  ChangeResult,
  OverwriteRequest,
  Repeatable,
  Stash,
  TypedRowsInput,
  UpdateOptions,
} from './row-types.js'
import type { Table } from './table-types.js'

/** Bounds of a find by the columns of a schema: see `FindBounds`. `numbers` is in `ReadOptions`. */
export type TypedFindOptions<
  S extends AnySchema,
  Column extends ColumnOf<S>,
  Form extends NumberForm,
> = Readonly<{
  where?: TypedWhere<S> | undefined
  search?: FindBounds['search']
  columns?: readonly Column[] | undefined
  from?: number | undefined
  orderBy?: readonly (OrderBy[number] & Readonly<{ column: ColumnOf<S> }>)[] | undefined
  numbers?: Form
}>

/** Options of a scan by the columns of a schema: see `ScanOptions`. */
export type TypedScanOptions<
  S extends AnySchema,
  Column extends ColumnOf<S> = ColumnOf<S>,
  Form extends NumberForm = 'number',
> = TypedFindOptions<S, Column, Form> & CountOptions & Readonly<{ limit?: number | undefined }>

/** A request for a page by the columns of a schema: see `FindPageRequest`. */
export type TypedPageRequest<
  S extends AnySchema,
  Column extends ColumnOf<S> = ColumnOf<S>,
  Form extends NumberForm = 'number',
> = TypedFindOptions<S, Column, Form> & PageBounds & Readonly<{ total?: boolean | undefined }>

/** A row as it is read, with the columns `Column`. */
export type TypedRow<
  S extends AnySchema,
  Column extends ColumnOf<S>,
  Form extends NumberForm,
> = RowOf<Pick<SpecsOf<S>, Column>, Form>

/** `ReadResult` with a typed row. */
export type TypedReadResult<S extends AnySchema, Form extends NumberForm> = Readonly<{
  row: RowOf<SpecsOf<S>, Form>
  version: number
}>

/**
 * `TableChange` with typed rows. If the table had other columns at that version, the rows have those columns. `retyped`
 * says whether the commit changed the type of a column.
 */
export type TypedChange<S extends AnySchema> = Omit<TableChange, 'rows'> &
  Readonly<{
    /** The rows of the change; see `TableChange`. */
    rows<Form extends NumberForm = 'number'>(
      options?: Readonly<{ numbers?: Form }>,
    ): DisposableIterator<RowOf<SpecsOf<S>, Form>>
  }>

/** An update with typed cells: see `RowUpdate`. */
export type TypedRowUpdate<S extends AnySchema> = Readonly<{
  rowId: string
  cells: CellsOf<S>
  ifMatch?: number | bigint | undefined
}>

/**
 * A table with the rows of a schema. Options and errors are as those of `Table`.
 *
 * The first operation on rows checks that the table has the columns of the schema, with the same types; if not, it
 * fails with SCHEMA_MISMATCH and the `column`. The table may have more columns; rows have cells of those columns, but
 * the compiler does not know them. Later changes of the columns are not noticed: get the table from the team again. The
 * rows of `at` have the columns of that version, which may differ, so they have no types.
 */
export interface TypedTable<S extends AnySchema>
  extends Pick<
    Table,
    | 'id'
    | 'info'
    | 'schema'
    | 'version'
    | 'deleteRow'
    | 'receipt'
    | 'change'
    | 'at'
    | 'toCSV'
    | 'toNDJSON'
    | 'log'
    | 'watchLog'
    | 'rename'
    | 'alter'
    | 'delete'
  > {
  /** The same table without types and checks: for JSON text, preflights, and columns that the schema lacks. */
  readonly untyped: Table
  addRows(rows: TypedRowsInput<S> | Stash, options?: AddOptions & Abortable): Promise<ChangeResult>
  overwrite(
    request: Omit<OverwriteRequest, 'rows' | 'schema'> &
      Abortable &
      Readonly<{ rows: TypedRowsInput<S> | Stash }>,
  ): Promise<ChangeResult>
  merge(
    request: Omit<MergeRequest, 'rows' | 'key'> &
      Readonly<{ rows: TypedRowsInput<S> | Stash; key: readonly ColumnOf<S>[] }>,
  ): Promise<MergeResult>
  page<Column extends ColumnOf<S> = ColumnOf<S>, Form extends NumberForm = 'number'>(
    request?: TypedPageRequest<S, Column, Form>,
  ): Promise<
    Readonly<{
      rows: readonly TypedRow<S, Column, Form>[]
      continuation?: string
      version: number
      total?: number
    }>
  >
  get<Form extends NumberForm = 'number'>(
    row: string | KeyOf<S>,
    options?: Readonly<{ numbers?: Form }>,
  ): Promise<TypedReadResult<S, Form> | null>
  getMany<Form extends NumberForm = 'number'>(
    rowIds: readonly string[],
    options?: Readonly<{ numbers?: Form }>,
  ): Promise<readonly (TypedReadResult<S, Form> | null)[]>
  scan<Column extends ColumnOf<S> = ColumnOf<S>, Form extends NumberForm = 'number'>(
    options?: TypedScanOptions<S, Column, Form>,
  ): DisposableIterator<TypedRow<S, Column, Form>>
  find<Column extends ColumnOf<S> = ColumnOf<S>, Form extends NumberForm = 'number'>(
    where: TypedWhere<S>,
    options?: Omit<TypedScanOptions<S, Column, Form>, 'where'>,
  ): DisposableIterator<TypedRow<S, Column, Form>>
  count(where?: TypedWhere<S>, options?: CountOptions): Promise<number>
  groups(
    request: GroupsRequest<TypedWhere<S>, ColumnOf<S>> & Readonly<{ numbers?: NumberForm }>,
  ): Promise<readonly Group[]>
  updateRow(
    rowId: string,
    cells: CellsOf<S>,
    options?: UpdateOptions,
  ): Promise<Readonly<{ version: number }>>
  updateRows(
    updates: readonly TypedRowUpdate<S>[],
    options?: UpdateRowsOptions & Repeatable,
  ): Promise<Readonly<{ version: number }>>
  deleteRows(
    rows: readonly (string | RowToDelete)[] | ConditionToDelete<TypedWhere<S>>,
    options?: Abortable & Authored & Repeatable,
  ): Promise<DeleteRowsResult>
  changes(request: ChangesRequest): DisposableIterator<TypedChange<S>>
  watch(request?: WatchRequest): DisposableIterator<TypedChange<S>>
}
