// Makes the JSON of rows and conditions that a caller gives, and the query for a key.
import { optionError, typeName } from '../base/options.js'
import { cellToken, membersOf, plainJson, ValueFault } from '../base/plain-value.js'
import { isWellFormed } from '../base/well-formed.js'
import type { KeyValues } from '../engine/types/call-types.js'
import { type ChunkPlace, type ClientError, invalidCall } from './client-error.js'
import type { OnSchemaError } from './import-types.js'

/** Advice for a caller that passes bytes or a text instead of row objects. */
export const BYTES_ADVICE =
  "; pass bytes or text in a Blob, or a stream of bytes, with `format`, such as 'csv'"

/**
 * The JSON of a row.
 * @param what - The name of the row in messages.
 * @throws {ClientError} argument_invalid
 */
export function rowText(
  row: unknown,
  what: string,
  onSchemaError?: OnSchemaError,
  place?: ChunkPlace,
): string {
  const members = membersOf(row)
  if (members === undefined) throw noCells(row, what, place)
  const cells: string[] = []
  for (const id of Object.keys(members)) {
    try {
      const token = cellToken(members, id, onSchemaError === 'dropColumns')
      if (token !== undefined) cells.push(`${JSON.stringify(id)}:${token}`)
    } catch (failure) {
      if (!(failure instanceof ValueFault)) throw failure
      throw invalidCall(`${what}, column '${id}': ${failure.message}`, place)
    }
  }
  return `{${cells.join()}}`
}

function noCells(row: unknown, what: string, place: ChunkPlace | undefined): ClientError {
  const type = typeName(row)
  const isBytes = typeof row === 'string' || ArrayBuffer.isView(row)
  const advice = isBytes ? BYTES_ADVICE : type === 'a Map' ? '; see Object.fromEntries' : ''
  return invalidCall(`${what} is not an object of cells but ${type}${advice}`, place)
}

/**
 * The JSON of a condition, in which no member may be undefined.
 * @param option - The name of the option in errors.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function whereText(where: object, option = 'where'): string {
  try {
    return plainJson(where) ?? 'null'
  } catch (failure) {
    if (!(failure instanceof ValueFault)) throw failure
    const names = failure.path.filter((name) => typeof name === 'string')
    const name = names.find((each) => !/^\$(?:and|or|not)$/.test(each)) ?? names[0]
    throw optionError(option, `has an invalid value for '${name}': ${failure.message}`)
  }
}

/**
 * The query for the row with a key.
 * @throws {ClientError} with the type `argument_invalid`
 */
export function keyQuery(values: KeyValues): string {
  const texts = Object.entries(values).map(([id, value]): [string, string] => {
    const isValue = Number.isFinite(value) || /^(?:string|bigint|boolean)$/.test(typeof value)
    if (isValue && isWellFormed(`${id}${value}`)) return [id, String(value)]
    throw invalidCall(
      `The value of '${id}' must be a string, a finite number or a boolean, not ${typeName(value)}`,
    )
  })
  return String(new URLSearchParams(texts))
}
