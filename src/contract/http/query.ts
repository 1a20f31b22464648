// Query parameters. Published routes ignore unknown parameters; known parameters are checked strictly.
import { didYouMean } from '../../base/nearest-word.js'
import { either } from '../../base/shown-text.js'
import { ON_SCHEMA_ERROR } from '../../engine/arguments/arguments.js'
import type { OnSchemaError } from '../../engine/types/row-types.js'
import { invalidRequest, shownId } from './refusal.js'

const QUERY_CHARS_MAX = 65_536

/** Values of the parameters by name, in order; null where the percent-encoding is broken. */
export type Query = ReadonlyMap<string, readonly (string | null)[]>

export function parseQuery(text: string): Query {
  if (text.length > QUERY_CHARS_MAX)
    throw invalidRequest('query', `it has more than ${QUERY_CHARS_MAX} characters`)
  const query = new Map<string, (string | null)[]>()
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=')
    const name = decodeComponent(equals < 0 ? pair : pair.slice(0, equals))
    if (name === null || pair === '') continue
    const value = equals < 0 ? '' : decodeComponent(pair.slice(equals + 1))
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}

function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null // The URIError is dropped: it says only that the encoding is invalid.
  }
}

/** @throws {Refusal} REQUEST_VALIDATION_ERROR for a parameter that the operation does not have */
export function refuseUnknown(query: Query, known: readonly string[]): void {
  const name = [...query.keys()].find((given) => !known.includes(given))
  if (name !== undefined) throw unknownParameter(name, known)
}

export function unknownParameter(name: string, known: readonly string[]): Error {
  const takes = known.filter((one) => !one.includes('.')).join(', ') || 'none'
  const meant = didYouMean(name, known, (nearest) => `'${nearest}'`) || `; it takes ${takes}`
  return invalidRequest('query', `'${shownId(name)}' is not a parameter${meant}`)
}

/** All values of a parameter. */
export function queryValues(query: Query, name: string): readonly string[] {
  return (query.get(name) ?? []).map((value) => {
    if (value === null) throw invalidRequest('query', `'${name}' has invalid percent-encoding`)
    return value
  })
}

/** The only value of a parameter; undefined: it is not given. */
export function queryValue(query: Query, name: string): string | undefined {
  const values = queryValues(query, name)
  if (values.length > 1) throw invalidRequest('query', `'${name}' is given more than once`)
  return values[0]
}

/** The value of a parameter with a fixed set of words; undefined: it is not given. */
export function queryChoice<Choice extends string>(
  query: Query,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = queryValue(query, name)
  const choice = choices.find((known) => known === value)
  if (value === undefined || choice !== undefined) return choice
  throw invalidRequest('query', `${name} must be ${either(choices)}, not '${shownId(value)}'`)
}

export function parseOnSchemaError(query: Query): OnSchemaError | undefined {
  return queryChoice(query, 'onSchemaError', ON_SCHEMA_ERROR)
}

/** Whether the query has `validate=only`: the request is then checked, and nothing is written. */
export function parseValidate(query: Query): boolean {
  return queryChoice(query, 'validate', ['only']) !== undefined
}

/** Refuses `validate` for an operation that has no check: a client that sends it does not want the change. */
export function refuseValidate(query: Query): void {
  if (!query.has('validate')) return
  const remedy = 'only create, overwrite, add, merge and convert can be checked'
  throw invalidRequest('query', `validate is not a parameter of this operation; ${remedy}`)
}

/** The value of `at`: a version of the table. */
export function parseAt(query: Query): number | undefined {
  const value = queryValue(query, 'at')
  if (value === undefined) return undefined
  const version = Number(value)
  if (/^[1-9][0-9]*$/.test(value) && Number.isSafeInteger(version)) return version
  throw invalidRequest('query', `at must be a version of the table, not '${shownId(value)}'`)
}

/** The value of `limit`, or `rowsMax` if it is greater. */
export function parseLimit(query: Query, rowsMax: number): number | undefined {
  const value = queryValue(query, 'limit')
  if (value === undefined) return undefined
  if (!/^0*[1-9][0-9]*$/.test(value))
    throw invalidRequest('query', 'limit must be a positive integer')
  return Math.min(Number(value), rowsMax)
}
