// The members of a body object that are not rows. They are small, so they are parsed as usual.
import type { SchemaInput } from '../engine/store-types.js'
import { parseJson } from '../schema/scan-json.js'
import { invalidRequest, shownId } from './error-response.js'

export type WireSchema = SchemaInput

const APPS_MAX = 1_000

export function parseName(text: string): string {
  const name = parseJson(text)
  if (typeof name !== 'string') throw invalidRequest('body', "'name' must be a string")
  return name
}

export function parseAppIds(text: string): readonly string[] {
  const appIds = parseJson(text)
  if (!Array.isArray(appIds) || appIds.length > APPS_MAX || !appIds.every(isString)) {
    throw invalidRequest('body', `'appsToLink' must be an array of at most ${APPS_MAX} strings`)
  }
  return appIds
}

/** Checks the shape of a schema; column types and the rules of IDs are the engine's. */
export function parseSchema(text: string): WireSchema {
  const schema = parseJson(text)
  if (!isObject(schema)) throw invalidRequest('body', "'schema' must be an object")
  checkClosed(schema, ['columns'], "'schema'")
  const { columns } = schema
  if (!Array.isArray(columns)) throw invalidRequest('body', "'schema.columns' must be an array")
  return { columns: columns.map(parseColumn) }
}

function parseColumn(column: unknown, index: number): WireSchema['columns'][number] {
  const where = `'schema.columns[${index}]'`
  if (!isObject(column)) throw invalidRequest('body', `${where} must be an object`)
  checkClosed(column, ['id', 'displayName', 'type'], where)
  const { id, displayName, type } = column
  if (!isString(id)) throw invalidRequest('body', `${where} must have an 'id' that is a string`)
  if (displayName !== undefined && !isString(displayName)) {
    throw invalidRequest('body', `'displayName' of ${where} must be a string`)
  }
  if (type === undefined) throw invalidRequest('body', `${where} must have a 'type'`)
  return { id, ...(displayName === undefined ? {} : { displayName }), type }
}

function checkClosed(object: object, names: readonly string[], where: string): void {
  for (const name of Object.keys(object)) {
    if (names.includes(name)) continue
    throw invalidRequest('body', `${where} has an unexpected property '${shownId(name)}'`)
  }
}

type JsonObject = { readonly [name in 'columns' | 'id' | 'displayName' | 'type']?: unknown }

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}
