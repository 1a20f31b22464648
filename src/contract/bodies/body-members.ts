// Members of a body object other than rows. They are small and parsed as usual, but the columns of a schema are counted
// first, because a body may contain any number of columns.
import type { Steps } from '../../base/time-slices.js'
import type { SchemaInput } from '../../engine/types/row-types.js'
import {
  type JsonPart,
  parseSmallJson,
  splitJsonArray,
  splitJsonObject,
} from '../../schema/scan-json.js'
import { invalidRequest, shownId } from '../http/refusal.js'

export type WireSchema = SchemaInput

type WireColumn = WireSchema['columns'][number]

const APPS_MAX = 1_000

/** The cost of parsing a character of JSON, relative to reading one. */
const PARSE_WORK = 4

/** Maximum number of columns of a schema in a body: the largest possible `columnsMax` of a store. */
export const COLUMNS_MAX = 10_000

export function parseName(part: JsonPart): string {
  const name = parsePart(part)
  if (typeof name !== 'string') throw invalidRequest('body', "'name' must be a string")
  return name
}

export function* parseAppIds({ text, offset }: JsonPart): Steps<readonly string[]> {
  const elements = text.startsWith('[') ? yield* splitJsonArray(text, APPS_MAX, offset) : []
  const isList = text.startsWith('[') && elements.length <= APPS_MAX
  const appIds: unknown[] = isList ? [] : [undefined]
  for (const element of isList ? elements : []) {
    appIds.push(parsePart(element))
    yield PARSE_WORK * element.text.length
  }
  if (appIds.every(isString)) return appIds
  throw invalidRequest('body', `'appsToLink' must be an array of at most ${APPS_MAX} strings`)
}

/** The columns of a table's key; null: none. The engine limits their number. */
export function parseKey(part: JsonPart): readonly string[] | null {
  return part.text === 'null' ? null : parseColumnIds('key', part, ', or null')
}

/** @param or - The alternative that the message mentions. */
export function parseColumnIds(name: string, part: JsonPart, or = ''): readonly string[] {
  const ids = parsePart(part)
  if (Array.isArray(ids) && ids.every(isString)) return ids
  throw invalidRequest('body', `'${name}' must be an array of column IDs${or}`)
}

/** Checks the shape of a schema. The engine checks column types and IDs. */
export function* parseSchema({ text, offset }: JsonPart): Steps<WireSchema> {
  if (!text.startsWith('{')) throw invalidRequest('body', "'schema' must be an object")
  let columns: JsonPart = { text: '', offset }
  for (const { key, ...member } of yield* splitJsonObject(text, offset)) {
    checkMemberName(key, ['columns'], "'schema'")
    columns = member
  }
  if (!columns.text.startsWith('[')) {
    throw invalidRequest(
      'body',
      `'schema.columns' must be an array of columns such as { "id": "total", "type": "number" }`,
    )
  }
  const elements = yield* splitJsonArray(columns.text, COLUMNS_MAX, columns.offset)
  if (elements.length > COLUMNS_MAX) {
    throw invalidRequest('body', `'schema.columns' has more than ${COLUMNS_MAX} columns`)
  }
  const parsed: WireColumn[] = []
  for (const [index, element] of elements.entries()) {
    parsed.push(parseWireColumn(parsePart(element), index))
    yield PARSE_WORK * element.text.length
  }
  return { columns: parsed }
}

export function parsePart({ text, offset }: JsonPart): unknown {
  return parseSmallJson(text, offset)
}

function parseWireColumn(column: unknown, index: number): WireColumn {
  const where = `'schema.columns[${index}]'`
  if (!isObject(column)) throw invalidRequest('body', `${where} must be an object`)
  checkClosed(column, ['id', 'displayName', 'type'], where)
  const { id, displayName, type } = column
  if (!isString(id)) throw invalidRequest('body', `${where} must have an 'id' that is a string`)
  if (displayName !== undefined && !isString(displayName)) {
    throw invalidRequest('body', `'displayName' of ${where} must be a string`)
  }
  if (type === undefined) throw invalidRequest('body', `${where} must have a 'type'`)
  const named = displayName === undefined ? { id } : { id, displayName }
  return { ...named, type: type as WireColumn['type'] } // The engine checks the type.
}

function checkClosed(object: object, names: readonly string[], where: string): void {
  for (const name of Object.keys(object)) checkMemberName(name, names, where)
}

function checkMemberName(name: string, names: readonly string[], where: string): void {
  if (names.includes(name)) return
  throw invalidRequest('body', `${where} has an unexpected property '${shownId(name)}'`)
}

type JsonObject = { readonly [name in 'id' | 'displayName' | 'type']?: unknown }

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

/** A string member. @throws {Refusal} REQUEST_VALIDATION_ERROR */
export function parseTextPart(name: string, part: JsonPart): string {
  const text = parsePart(part)
  if (typeof text !== 'string') throw invalidRequest('body', `'${name}' must be a string`)
  return text
}
