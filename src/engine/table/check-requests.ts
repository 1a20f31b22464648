// Checks the arguments of operations that also run as jobs. The operation and the start of its job call the same
// check, so that both refuse the same requests in the same order.
import { KEY_COLUMNS_MAX } from '../../base/limits.js'
import { isRecord, shown } from '../../base/options.js'
import { invalidArgument } from '../../base/store-error.js'
import { areBooleanWords } from '../../intake/dialect-rules.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { parseTableSchema } from '../../schema/table-schema.js'
import {
  AUTHORED,
  checkArguments,
  checkAuthored,
  checkChoice,
  checkFlag,
  checkIfMatchArgument,
  checkOnSchemaError,
  checkRowsFormat,
  checkSignal,
  checkTableName,
  checkText,
} from '../arguments/arguments.js'
import type { RequestKey } from '../commit/idempotency.js'
import {
  DIALECT_OPTION_NAMES,
  parseDialectOptions,
  type SaidOfRows,
} from '../import/dialect-rows.js'
import { validatedRows } from '../import/validated-rows.js'
import type { Abortable, Authored } from '../types/call-types.js'
import type { AlterRequest, IfTableMatch } from '../types/life-types.js'
import type { MergeRequest } from '../types/merge-types.js'
import type {
  AddOptions,
  CreateTableRequest,
  EnsureTableRequest,
  ImportTableRequest,
  OnSchemaError,
  OverwriteRequest,
  RowsFormat,
  RowsInput,
  SchemaInput,
  Stash,
  TablePreflightRequest,
} from '../types/row-types.js'
import type { Table } from '../types/store-types.js'
import {
  type ColumnChanges,
  type Conversion,
  changedColumns,
  checkNewNames,
} from './altered-columns.js'
import type { CheckedMerge } from './merge-commit.js'
import { makeRequestKey } from './request-digest.js'
import type { KeyAlteration } from './table-key.js'
import type { Alteration } from './table-life.js'

const CREATE_ARGUMENTS = [
  'name',
  'schema',
  'rows',
  'onSchemaError',
  'idempotencyKey',
  'requestDigest',
  'receipt',
  ...AUTHORED,
]
const ADD_ARGUMENTS = [
  'onSchemaError',
  'idempotencyKey',
  'requestDigest',
  'receipt',
  'signal',
  ...AUTHORED,
]
const OVERWRITE_ARGUMENTS = ['schema', 'rows', 'ifMatch', 'onSchemaError', 'receipt', ...AUTHORED]
const ALTER_ARGUMENTS = [
  'name',
  'schema',
  'add',
  'drop',
  'rename',
  'convert',
  'countsCells',
  'key',
  'ifMatch',
  'signal',
  ...AUTHORED,
]
const IMPORT_ARGUMENTS = ['fromUrl', 'name', 'format', 'onSchemaError', 'receipt', ...AUTHORED]

type CreateArguments = Readonly<{
  name: string
  schema: TableSchema | undefined
  rows: RowsInput | Stash
  onSchemaError: OnSchemaError
  receipt: boolean
  by: Authored | undefined
  signal: AbortSignal | undefined
}>

export type CheckedCreate = CreateArguments &
  Readonly<{ key: RequestKey | undefined; keyColumns: readonly string[] | undefined }>

/**
 * @param what - The name of the request in messages.
 * @param more - Names of further members that the request may have.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_…
 */
export async function checkCreate(
  what: string,
  given: CreateTableRequest & Abortable,
  columnsMax: number,
  more: readonly string[] = [],
): Promise<CheckedCreate> {
  const create = checkCreateArguments(what, given, columnsMax, ['key', ...more])
  const { name, schema, onSchemaError } = create
  const keyColumns = given.key === undefined ? undefined : checkKey(given.key)
  const about = ['create', name, schema ?? null, onSchemaError]
  const whole = keyColumns === undefined ? about : [...about, keyColumns]
  return { ...create, keyColumns, key: await makeRequestKey(given, whole, given.rows) }
}

/**
 * Like `checkCreate`, without the idempotency key and the key of the table.
 * @param more - Names of further members that the request may have.
 */
export function checkCreateArguments(
  what: string,
  given: CreateTableRequest & Abortable,
  columnsMax: number,
  more: readonly string[] = [],
): CreateArguments {
  checkArguments(what, given, [...more, ...CREATE_ARGUMENTS])
  const { name } = given
  checkTableName(name)
  const schema = given.schema === undefined ? undefined : parseTableSchema(given.schema, columnsMax)
  const onSchemaError = checkOnSchemaError(given.onSchemaError)
  const rows = validatedRows(given.schema, given.rows)
  const signal = checkSignal(given.signal)
  const receipt = checkFlag('receipt', given.receipt)
  return { name, schema, rows, onSchemaError, receipt, by: checkAuthored(given), signal }
}

export type CheckedAdd = Readonly<{
  rows: RowsInput | Stash
  onSchemaError: OnSchemaError
  /** A repeat with the same key has no effect. */
  key: RequestKey | undefined
  /** Whether to keep and return the receipt. */
  receipt: boolean
  signal: AbortSignal | undefined
}>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export async function checkAdd(
  rows: RowsInput | Stash,
  given: AddOptions & Abortable,
): Promise<CheckedAdd> {
  checkArguments('addRows', given, ADD_ARGUMENTS)
  const onSchemaError = checkOnSchemaError(given.onSchemaError)
  return {
    rows,
    onSchemaError,
    key: await makeRequestKey(given, ['add', onSchemaError], rows),
    receipt: checkFlag('receipt', given.receipt),
    signal: checkSignal(given.signal),
  }
}

export type CheckedOverwrite = Readonly<{
  rows: RowsInput | Stash
  onSchemaError: OnSchemaError
  ifMatch: number | bigint | undefined
  /** undefined: the table keeps its schema. */
  readSchema: (() => TableSchema) | undefined
  receipt: boolean
  signal: AbortSignal | undefined
}>

/**
 * The schema is read later, because an unknown table is refused first.
 * @param what - The name of the request in messages.
 * @param more - Names of further members that the request may have.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkOverwrite(
  what: string,
  given: OverwriteRequest & Abortable,
  columnsMax: number,
  more: readonly string[] = [],
): CheckedOverwrite {
  checkArguments(what, given, [...more, ...OVERWRITE_ARGUMENTS])
  const { schema } = given
  return {
    rows: validatedRows(schema, given.rows),
    onSchemaError: checkOnSchemaError(given.onSchemaError),
    ifMatch: checkIfMatchArgument(given.ifMatch),
    readSchema: schema === undefined ? undefined : () => parseTableSchema(schema, columnsMax),
    receipt: checkFlag('receipt', given.receipt),
    signal: checkSignal(given.signal),
  }
}

export type CheckedPreflight = CheckedOverwrite &
  Readonly<{ operation: 'add' | 'overwrite'; comparesTable: boolean }>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkTablePreflight(
  given: Parameters<Table['preflight']>[0],
  columnsMax: number,
): CheckedPreflight | Conversion {
  if (isRecord(given) && 'convert' in given && given.convert !== undefined) {
    checkArguments('preflight', given, ['convert', 'ifMatch', 'signal'])
    return parseConversion(given, columnsMax)
  }
  return checkPreflight(given as TablePreflightRequest & Abortable, columnsMax)
}

function checkPreflight(
  given: TablePreflightRequest & Abortable,
  columnsMax: number,
): CheckedPreflight {
  const more = ['operation', 'comparesTable', 'signal']
  const checked = checkOverwrite('preflight', given, columnsMax, more)
  const operation = checkChoice('operation', given.operation, ['overwrite', 'add'])
  const comparesTable = checkFlag('comparesTable', given.comparesTable ?? true)
  if (operation === 'add' && (given.schema !== undefined || given.ifMatch !== undefined)) {
    throw invalidArgument(
      'an add has no schema and no ifMatch: leave them out, or preflight an overwrite',
    )
  }
  return { ...checked, operation, comparesTable }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkIfTableMatch(
  what: string,
  given: IfTableMatch,
  more: readonly string[] = [],
): number | bigint | undefined {
  checkArguments(what, given, ['ifMatch', ...more])
  return checkIfMatchArgument(given.ifMatch)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRename(name: string, given: IfTableMatch & Authored): Alteration {
  checkTableName(name)
  const ifMatch = checkIfTableMatch('rename', given, AUTHORED)
  return { name, columns: undefined, drop: [], countsCells: false, ifMatch }
}

function columnsAlong(
  schema: SchemaInput | undefined,
  changes: ColumnChanges,
  columnsMax: number,
): Alteration['columns'] {
  if (schema === undefined) return (before) => changedColumns(before, changes, columnsMax)
  const parsed = parseTableSchema(schema, columnsMax)
  return () => parsed
}

export type CheckedEnsure = Pick<CheckedCreate, 'name' | 'keyColumns' | 'by' | 'signal'> &
  Readonly<{ schema: TableSchema }>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_… */
export function checkEnsure(
  given: EnsureTableRequest & Abortable,
  columnsMax: number,
): CheckedEnsure {
  checkArguments('ensureTable', given, ['name', 'schema', 'key', 'signal', ...AUTHORED])
  const { name, key } = given
  checkTableName(name)
  return {
    name,
    schema: parseTableSchema(given.schema, columnsMax),
    keyColumns: key === undefined ? undefined : checkKey(key),
    by: checkAuthored(given),
    signal: checkSignal(given.signal),
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_… */
export function checkAlter(
  given: AlterRequest,
  columnsMax: number,
): Alteration | KeyAlteration | Conversion {
  checkArguments('alter', given, ALTER_ARGUMENTS)
  if (given.convert !== undefined) return parseConversion(given, columnsMax)
  const { name, schema, add = [], drop = [], rename = {}, key } = given
  const countsCells = checkFlag('countsCells', given.countsCells ?? true)
  const signal = checkSignal(given.signal)
  if (!Array.isArray(drop) || drop.findIndex((id) => typeof id !== 'string') >= 0) {
    throw invalidArgument(`drop must be a list of column IDs, not ${shown(drop)}`)
  }
  const changes = {
    add: parseTableSchema({ columns: add }, columnsMax).columns,
    drop,
    rename: checkNewNames(rename),
  }
  const isShort = changes.add.length + changes.rename.size > 0
  if (schema !== undefined && isShort) {
    throw invalidArgument('alter takes a schema, or add and rename, which change some columns')
  }
  const changesColumns = schema !== undefined || isShort || drop.length > 0
  if (key !== undefined) {
    if (name !== undefined || changesColumns) {
      throw invalidArgument(
        'alter takes a key by itself: change the name and the schema in another call',
      )
    }
    const columns = key === null ? null : checkKey(key)
    return { key: columns, ifMatch: checkIfMatchArgument(given.ifMatch), signal }
  }
  if (name === undefined && !changesColumns) {
    throw invalidArgument('alter takes a name, a schema or changes of columns, a key, or convert')
  }
  if (name !== undefined) checkTableName(name)
  return {
    name,
    columns: changesColumns ? columnsAlong(schema, changes, columnsMax) : undefined,
    drop,
    countsCells,
    ifMatch: checkIfMatchArgument(given.ifMatch),
    signal,
  }
}

function parseConversion(
  { convert, ifMatch, signal, author: _, note: __, ...others }: AlterRequest,
  columnsMax: number,
): Conversion {
  checkArguments('convert', convert, ['column', 'type', 'booleans'])
  if (Object.values(others).some((other) => other !== undefined)) {
    throw invalidArgument('alter takes convert by itself: change the rest in another call')
  }
  const { column = '', type = 'string', booleans } = convert ?? {}
  const [wanted] = parseTableSchema({ columns: [{ id: column, type }] }, columnsMax).columns
  if (wanted === undefined) throw invalidArgument('convert has no column')
  if (booleans !== undefined && !(wanted.type.kind === 'boolean' && areBooleanWords(booleans))) {
    throw invalidArgument(
      'booleans of convert must be the words for true and false, and needs the type boolean',
    )
  }
  return {
    convert: wanted,
    booleans,
    ifMatch: checkIfMatchArgument(ifMatch),
    signal: checkSignal(signal),
  }
}

export type CheckedImport = Readonly<{
  fromUrl: string
  name: string | undefined
  format: RowsFormat | undefined
  onSchemaError: OnSchemaError
  /** The dialect of the file; undefined: not given. */
  said: SaidOfRows | undefined
  receipt: boolean
  by: Authored | undefined
  signal: AbortSignal | undefined
}>

/**
 * @param what - The name of the request in messages.
 * @param more - Names of further members that the request may have.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, OPTION_NOT_ALLOWED
 */
export function checkImport(
  what: string,
  given: ImportTableRequest & Abortable,
  more: readonly string[] = [],
): CheckedImport {
  checkArguments(what, given, [...more, ...IMPORT_ARGUMENTS])
  const { name } = given
  if (name !== undefined) checkTableName(name)
  return {
    fromUrl: checkText('fromUrl', given.fromUrl),
    name,
    format: checkRowsFormat(given.format),
    onSchemaError: checkOnSchemaError(given.onSchemaError),
    said: saidOfImport(given),
    receipt: checkFlag('receipt', given.receipt),
    by: checkAuthored(given),
    signal: checkSignal(given.signal),
  }
}

function saidOfImport(given: ImportTableRequest): SaidOfRows | undefined {
  const names = DIALECT_OPTION_NAMES.filter((name) => given[name] !== undefined)
  if (names.length === 0) return undefined
  return parseDialectOptions(Object.fromEntries(names.map((name) => [name, given[name]])))
}

const MERGE_ARGUMENTS = [
  'rows',
  'key',
  'missing',
  'unnamed',
  'ifMatch',
  'onSchemaError',
  'idempotencyKey',
  'requestDigest',
  'receipt',
  'dryRun',
  'signal',
  ...AUTHORED,
]

const NO_MODE =
  "merge takes no mode: pass missing: 'delete' and unnamed: 'empty' to replace, neither to upsert"

/** The names of the choices in digests (FORMAT.md, section 4). */
const MODES = {
  keep: { keep: 'upsert', empty: 'empty' },
  delete: { keep: 'delete', empty: 'replace' },
} as const

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export async function checkMerge(given: MergeRequest): Promise<CheckedMerge> {
  if (isRecord(given) && 'mode' in given) throw invalidArgument(NO_MODE)
  checkArguments('merge', given, MERGE_ARGUMENTS)
  const { rows } = given
  const key = checkKey(given.key)
  const missing = checkChoice('missing', given.missing, ['keep', 'delete'])
  const unnamed = checkChoice('unnamed', given.unnamed, ['keep', 'empty'])
  const onSchemaError = checkOnSchemaError(given.onSchemaError)
  return {
    rows,
    key,
    missing,
    unnamed,
    onSchemaError,
    ifMatch: checkIfMatchArgument(given.ifMatch),
    requestKey: await makeRequestKey(
      given,
      ['merge', key, MODES[missing][unnamed], onSchemaError],
      rows,
    ),
    receipt: checkFlag('receipt', given.receipt),
    dryRun: checkFlag('dryRun', given.dryRun),
    signal: checkSignal(given.signal),
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkKey(given: unknown): readonly string[] {
  const isList = Array.isArray(given) && given.length > 0 && given.length <= KEY_COLUMNS_MAX
  const columns = isList ? given.filter((id): id is string => typeof id === 'string') : []
  const isKey = isList && columns.length === given.length
  if (isKey && new Set(columns).size === columns.length) return columns
  throw invalidArgument(`key must be a list of 1 to ${KEY_COLUMNS_MAX} different column IDs`)
}
