// Query parameters for the dialect of a body of rows or of an imported file (CONTRACT.md, section 4). They have the
// names of the library's options, with the prefix `csv.` or `json.`.
import { isStoreError } from '../../base/store-error.js'
import type { DialectOptions } from '../../engine/types/row-types.js'
import { DIALECT_NAMES, type Dialect } from '../../intake/dialect.js'
import { checkDialect } from '../../intake/dialect-rules.js'
import { NESTED_WAYS } from '../../intake/nested.js'
import { type Query, queryChoice, queryValue, queryValues, unknownParameter } from './query.js'
import { invalidRequest } from './refusal.js'

const CSV = 'csv.'
const AT = 'json.at'
const NESTED = 'json.nested'

/** The names of all dialect parameters. */
export const DIALECT_PARAMETERS: readonly string[] = [
  ...[...DIALECT_NAMES, 'dialect'].map((option) => CSV + option),
  AT,
  NESTED,
]

/** The dialect that a query states. */
export type QueryDialect = Omit<DialectOptions, 'onReport'>

/** Readers of options whose value is not a single text: it consists of several parameters, or has another type. */
const READERS: Readonly<Partial<Record<keyof Dialect, (query: Query, name: string) => unknown>>> = {
  header(query, name) {
    const values = queryValues(query, name)
    const [word] = values
    return values.length === 1 && (word === 'present' || word === 'absent') ? word : values
  },
  skipLines(query, name) {
    const value = queryValue(query, name) ?? ''
    return /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  },
  trim: (query, name) => queryChoice(query, name, ['true', 'false']) === 'true',
  booleans: queryValues,
  nulls: queryValues,
  columns(query, name) {
    try {
      return JSON.parse(queryValue(query, name) ?? '')
    } catch (failure) {
      if (failure instanceof SyntaxError) return undefined // The caller reports it like any other invalid value.
      throw failure
    }
  },
}

/**
 * The dialect that the query states; undefined: it states none.
 * @throws {Refusal} REQUEST_VALIDATION_ERROR for unknown names and invalid values
 */
export function parseQueryDialect(query: Query): QueryDialect | undefined {
  const names = [...query.keys()].filter((name) => /^(?:csv|json)\./.test(name))
  if (names.length === 0) return undefined
  const said: Record<string, unknown> = {}
  for (const name of names) {
    if (name === AT || name === NESTED || name === `${CSV}dialect`) continue
    const option = DIALECT_NAMES.find((known) => name === CSV + known)
    if (option === undefined) throw unknownParameter(name, DIALECT_PARAMETERS)
    const value = (READERS[option] ?? queryValue)(query, name)
    if (value === undefined) throw invalidRequest('query', `${name} must be JSON`)
    said[option] = value
  }
  const dialect = queryChoice(query, `${CSV}dialect`, ['plain', 'detect'])
  const at = queryValue(query, AT)
  const nested = queryChoice(query, NESTED, NESTED_WAYS)
  return {
    ...checkQueryDialect(said),
    ...(dialect !== undefined && { dialect }),
    ...(at !== undefined && { at }),
    ...(nested !== undefined && { nested }),
  }
}

/** @throws {Refusal} REQUEST_VALIDATION_ERROR */
export function checkQueryDialect(said: Readonly<Record<string, unknown>>): Dialect {
  try {
    return checkDialect(said)
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    throw invalidRequest('query', failure.message.replace(/^Option "(\w+)"/, `${CSV}$1`))
  }
}

/**
 * Refuses detection for a chunk, because a chunk is read without the rest of its file.
 * @throws {Refusal} REQUEST_VALIDATION_ERROR
 */
export function refuseDetection({ dialect }: QueryDialect = {}): void {
  if (dialect !== 'detect') return
  const rule = 'all chunks of a file have the same dialect'
  const remedy = 'set it for each chunk, such as csv.delimiter=;'
  throw invalidRequest(
    'query',
    `csv.dialect=detect cannot be used for a chunk, because ${rule}; ${remedy}`,
  )
}
