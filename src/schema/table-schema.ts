// Parses and renders the schema of a table in the form of CONTRACT.md, section 3.
import { utf8 } from '../base/bytes.js'
import { dataError } from '../base/data-error.js'
import { invariant } from '../base/invariant.js'
import { NAME_CHARS_MAX } from '../base/limits.js'
import { type ErrorPlace, StoreError } from '../base/store-error.js'
import { isWellFormed } from '../base/well-formed.js'
import type { Column, ColumnKind, ColumnType, TableSchema } from './column-kind.js'
import { COLUMN_KINDS } from './column-kind.js'

/** Keys of a row or a body that never name a column. */
const RESERVED_IDS: ReadonlySet<string> = new Set(['$rowID', '$stashID'])
export const COLUMN_ID_CHARS_MAX = 256
/** The maximum number of bytes of a schema as normalized JSON. Every operation on a table reads its schema. */
export const SCHEMA_BYTES_MAX = 1024 * 1024
const COLUMNS_MAX_DEFAULT = 1_000
/** The maximum number of characters of an unknown name in a message. */
const QUOTED_CHARS_MAX = 100

const KINDS: ReadonlySet<string> = new Set(COLUMN_KINDS)

/** Whether a text may be a column ID, apart from reserved IDs: see `isReservedColumnId`. */
export function isColumnId(id: string): boolean {
  return id !== '' && id.length <= COLUMN_ID_CHARS_MAX && isWellFormed(id)
}

export function isReservedColumnId(id: string): boolean {
  return RESERVED_IDS.has(id)
}

/**
 * Parses an external schema. Checks its whole shape before its IDs.
 *
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` if the shape is wrong, there are more than `columnsMax` columns, or
 *   it is too large; `COLUMN_ID_RESERVED`, `COLUMN_ID_NOT_UNIQUE`.
 */
export function parseTableSchema(value: unknown, columnsMax = COLUMNS_MAX_DEFAULT): TableSchema {
  const columns = parseColumns(value, columnsMax, NAME_CHARS_MAX)
  checkSchemaSize({ columns }, null)
  checkIds(columns)
  return { columns }
}

/**
 * Parses a stored schema. Earlier versions allowed display names and schemas of any length.
 * @throws {StoreError} the errors of `parseTableSchema`
 */
export function parseStoredSchema(value: unknown, columnsMax: number): TableSchema {
  const columns = parseColumns(value, columnsMax, Number.POSITIVE_INFINITY)
  checkIds(columns)
  return { columns }
}

/**
 * @param before - The schema that the new one replaces, if any: an oversized schema may stay unchanged.
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` if the new schema is too large.
 */
export function checkSchemaSize(schema: TableSchema, before: TableSchema | null): void {
  const bytes = schemaBytes(schema)
  if (bytes <= SCHEMA_BYTES_MAX || (before !== null && bytes <= schemaBytes(before))) return
  throw shapeError('schema', `has ${bytes} bytes as JSON; at most ${SCHEMA_BYTES_MAX} are allowed`)
}

function schemaBytes(schema: TableSchema): number {
  return utf8(JSON.stringify(schema)).length
}

function parseColumns(value: unknown, columnsMax: number, nameCharsMax: number): Column[] {
  const list = parseObject(value, 'schema', ['columns']).get('columns')
  if (!Array.isArray(list)) {
    const problem = "must be an array of columns such as { id: 'total', type: 'number' }"
    const remedy =
      typeof list === 'object' && list !== null ? '; defineSchema makes one of columns by ID' : ''
    throw shapeError('schema.columns', `${problem}${remedy}`)
  }
  if (list.length > columnsMax) {
    throw shapeError(
      'schema.columns',
      `has ${list.length} columns; at most ${columnsMax} are allowed`,
    )
  }
  const columns: Column[] = []
  for (let index = 0; index < list.length; index++) {
    columns.push(parseColumn(list[index], `schema.columns[${index}]`, nameCharsMax))
  }
  return columns
}

function checkIds(columns: readonly Column[]): void {
  const taken = new Set<string>()
  for (const { id } of columns) {
    if (isReservedColumnId(id)) {
      throw reservedColumn(id)
    }
    if (taken.has(id)) {
      throw repeatedColumn(id)
    }
    taken.add(id)
  }
}

/** @param place - The row or the header that uses the ID; none for a schema. */
export function reservedColumn(column: string, place: ErrorPlace = {}): StoreError {
  const isPlaced = place.row !== undefined || place.line !== undefined
  const phrase = `Column ID '${column}' is reserved${isPlaced ? ', but used as a column' : ''}`
  return dataError('COLUMN_ID_RESERVED', phrase, { ...place, column })
}

/** @param place - The header that repeats the ID; none for a schema. */
export function repeatedColumn(column: string, place: ErrorPlace = {}): StoreError {
  const phrase = `Column ID '${column}' is not unique`
  return dataError('COLUMN_ID_NOT_UNIQUE', phrase, { ...place, column })
}

function parseColumn(value: unknown, place: string, nameCharsMax: number): Column {
  const parts = parseObject(value, place, ['id', 'displayName', 'type'])
  const id = parts.get('id')
  if (typeof id !== 'string' || !isColumnId(id)) {
    const rule = `must be a well-formed string of 1 to ${COLUMN_ID_CHARS_MAX} characters`
    throw shapeError(`${place}.id`, rule)
  }
  const displayName = parts.get('displayName')
  const type = parseColumnType(parts.get('type'), `${place}.type`)
  if (displayName === undefined) return { id, type }
  if (typeof displayName !== 'string' || !isWellFormed(displayName)) {
    throw shapeError(`${place}.displayName`, 'must be a well-formed string')
  }
  if (displayName.length > nameCharsMax) {
    throw shapeError(`${place}.displayName`, `must have at most ${nameCharsMax} characters`)
  }
  return { id, displayName, type }
}

function parseColumnType(value: unknown, place: string): ColumnType {
  if (typeof value === 'string') return { kind: parseKind(value, place) }
  const parts = parseObject(value, place, ['kind', 'items'], 'a kind name or an object')
  if (parts.get('kind') !== 'array') {
    if (parts.has('items')) throw shapeError(`${place}.items`, 'belongs to arrays only')
    return { kind: parseKind(parts.get('kind'), `${place}.kind`) }
  }
  const items = parseObject(parts.get('items'), `${place}.items`, ['kind'])
  return { kind: 'array', items: { kind: parseKind(items.get('kind'), `${place}.items.kind`) } }
}

function parseKind(value: unknown, place: string): ColumnKind {
  if (isKind(value)) return value
  if (value === 'json') throw shapeError(place, "must not be 'json': that kind is not allowed")
  if (value === 'array') {
    throw shapeError(
      place,
      "must not be 'array' here: an array is { kind: 'array', items: { kind } }",
    )
  }
  if (typeof value === 'string') {
    const known = COLUMN_KINDS.join(', ')
    throw shapeError(place, `is the unknown kind ${quoteName(value)}; the kinds are ${known}`)
  }
  throw shapeError(place, 'must be a kind name')
}

function isKind(value: unknown): value is ColumnKind {
  return typeof value === 'string' && KINDS.has(value)
}

/** The members of an object that may have only the known ones. Undefined members count as absent. */
function parseObject(
  value: unknown,
  place: string,
  known: readonly string[],
  wanted = 'an object',
): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw shapeError(place, `must be ${wanted}`)
  }
  const members = new Map<string, unknown>()
  for (const [name, member] of Object.entries(value)) {
    if (!known.includes(name)) throw shapeError(place, `has an unknown property ${quoteName(name)}`)
    if (member !== undefined) members.set(name, member)
  }
  return members
}

function quoteName(name: string): string {
  return name.length > QUOTED_CHARS_MAX ? `'${name.slice(0, QUOTED_CHARS_MAX)}…'` : `'${name}'`
}

function shapeError(place: string, problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `${place} ${problem}`)
}

/** The columns by ID. */
export function columnIndex(schema: TableSchema): Map<string, Column> {
  const index = new Map(schema.columns.map((column) => [column.id, column]))
  invariant(index.size === schema.columns.length, 'column IDs of a schema are unique')
  return index
}
