// Checks of the arguments of operations that also run as jobs. The operation and the start of its job call the same
// check, so that both refuse the same requests in the same order.
import type { TableSchema } from '../../schema/column-kind.js'
import { parseTableSchema } from '../../schema/table-schema.js'
import {
  checkArguments,
  checkFlag,
  checkIfMatchArgument,
  checkOnSchemaError,
  checkRowsFormat,
  checkTableName,
  checkText,
} from '../api/arguments.js'
import type {
  CreateTableRequest,
  ImportTableRequest,
  OnSchemaError,
  OverwriteRequest,
  RowsFormat,
  RowsInput,
  Stash,
} from '../api/row-types.js'
import type { RequestKey } from '../commit/idempotency.js'
import { requestKeyOf } from './request-digest.js'

const CREATE_ARGUMENTS = [
  'name',
  'schema',
  'rows',
  'onSchemaError',
  'idempotencyKey',
  'requestDigest',
  'receipt',
]
const OVERWRITE_ARGUMENTS = ['schema', 'rows', 'ifMatch', 'onSchemaError', 'receipt']
const IMPORT_ARGUMENTS = ['fromUrl', 'name', 'format', 'onSchemaError', 'receipt']

type CreateArguments = Readonly<{
  name: string
  schema: TableSchema | undefined
  rows: RowsInput | Stash
  onSchemaError: OnSchemaError
  receipt: boolean
}>

export type CheckedCreate = CreateArguments & Readonly<{ key: RequestKey | undefined }>

/**
 * @param what - The name of the request in messages.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_…
 */
export async function checkCreate(
  what: string,
  given: CreateTableRequest,
  columnsMax: number,
): Promise<CheckedCreate> {
  const create = checkCreateArguments(what, given, columnsMax)
  const { name, schema, rows, onSchemaError } = create
  const about = ['create', name, schema ?? null, onSchemaError]
  return { ...create, key: await requestKeyOf(given, about, rows) }
}

/** As `checkCreate`, without the idempotency key. */
export function checkCreateArguments(
  what: string,
  given: CreateTableRequest,
  columnsMax: number,
): CreateArguments {
  checkArguments(what, given, CREATE_ARGUMENTS)
  const { name, rows } = given
  checkTableName(name)
  const schema = given.schema === undefined ? undefined : parseTableSchema(given.schema, columnsMax)
  const onSchemaError = checkOnSchemaError(given.onSchemaError)
  return { name, schema, rows, onSchemaError, receipt: checkFlag('receipt', given.receipt) }
}

export type CheckedOverwrite = Readonly<{
  rows: RowsInput | Stash
  onSchemaError: OnSchemaError
  ifMatch: number | bigint | undefined
  /** undefined: the table keeps its schema. */
  readSchema: (() => TableSchema) | undefined
  receipt: boolean
}>

/**
 * The schema is read later, because an unknown table is refused first.
 * @param what - The name of the request in messages.
 * @param more - Further members that the request may have.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkOverwrite(
  what: string,
  given: OverwriteRequest,
  columnsMax: number,
  more: readonly string[] = [],
): CheckedOverwrite {
  checkArguments(what, given, [...more, ...OVERWRITE_ARGUMENTS])
  const { schema, rows } = given
  return {
    rows,
    onSchemaError: checkOnSchemaError(given.onSchemaError),
    ifMatch: checkIfMatchArgument(given.ifMatch),
    readSchema: schema === undefined ? undefined : () => parseTableSchema(schema, columnsMax),
    receipt: checkFlag('receipt', given.receipt),
  }
}

export type CheckedImport = Readonly<{
  fromUrl: string
  name: string | undefined
  format: RowsFormat | undefined
  onSchemaError: OnSchemaError
  receipt: boolean
}>

/**
 * @param what - The name of the request in messages.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkImport(what: string, given: ImportTableRequest): CheckedImport {
  checkArguments(what, given, IMPORT_ARGUMENTS)
  const { name } = given
  if (name !== undefined) checkTableName(name)
  return {
    fromUrl: checkText('fromUrl', given.fromUrl),
    name,
    format: checkRowsFormat(given.format),
    onSchemaError: checkOnSchemaError(given.onSchemaError),
    receipt: checkFlag('receipt', given.receipt),
  }
}
