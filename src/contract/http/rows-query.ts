// Query parameters that say how a body of rows, or an imported file, is written (CONTRACT.md, section 4). They have the
// names of the options of the library, behind `csv.` and `json.`.
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

/** The names of all parameters that say how rows are written. */
export const DIALECT_PARAMETERS: readonly string[] = [
  ...[...DIALECT_NAMES, 'dialect'].map((option) => CSV + option),
  AT,
  NESTED,
]

/** How rows are written, as the query says it. */
export type QueryDialect = Omit<DialectOptions, 'onReport'>

/** Options whose values are no single text: each value is a parameter of its own, or has another type. */
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
      if (failure instanceof SyntaxError) return undefined // It is told as other values that are none.
      throw failure
    }
  },
}

/**
 * What the query says of how the rows are written; undefined: nothing.
 * @throws {Refusal} REQUEST_VALIDATION_ERROR for names that are none, and for values that are none of their option
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

/** Refuses the detection of what is read apart from the rest of its file. @throws {Refusal} REQUEST_VALIDATION_ERROR */
export function refuseDetection({ dialect }: QueryDialect = {}): void {
  if (dialect !== 'detect') return
  const rule = 'a dialect is the same for all chunks of a file'
  const remedy = 'say it with each of them, such as csv.delimiter=;'
  throw invalidRequest('query', `csv.dialect=detect is not for a chunk, as ${rule}; ${remedy}`)
}
