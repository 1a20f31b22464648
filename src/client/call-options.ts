// Checks the options of a call before anything is sent. An option has the same rule in every call, so one table
// contains the rules of all options.
import { KEY_COLUMNS_MAX, NAME_CHARS_MAX } from '../base/limits.js'
import { didYouMean } from '../base/nearest-word.js'
import {
  booleanOption,
  checkFunctionOption,
  checkOptions,
  checkSignalOption,
  choiceOption,
  type IntegerRange,
  integerOption,
  isRecord,
  optionError,
  shown,
  typeName,
} from '../base/options.js'
import { SOURCE_FORMATS } from '../base/source-format.js'
import { StoreError } from '../base/store-error.js'
import { isWellFormed } from '../base/well-formed.js'
import { invalidCall } from './client-error.js'
import { whereText } from './row-text.js'

/** @throws {StoreError} OPTION_NOT_ALLOWED */
type Rule = (name: string, value: unknown) => void

/** Maximum value of the number of a chunk. It keeps the serials of chunks far below 2^53. */
const CHUNKS_MAX = 2 ** 30

const MODES = ['add', 'overwrite', 'merge'] as const
const ON_SCHEMA_ERROR = ['abort', 'dropColumns', 'updateSchema'] as const
const LIMIT = { default: 1, min: 1, max: Number.MAX_SAFE_INTEGER }

export const CHUNK_BYTES = { default: 1024 ** 2, min: 1_024, max: 8 * 1024 ** 2 }
export const PARALLEL = { default: 4, min: 1, max: 64 }
export const START_AT = { default: 0, min: 0, max: CHUNKS_MAX }

const text = matching(/^/, 'a string')
/**
 * Only characters that a quoted header value may have. With others, fetch would fail as if the server had not answered.
 */
const version = matching(/^[!#-~]*$/, 'a version as text, as the client returns it')
const nonEmpty = matching(/./s, 'a string that is not empty')
const choice = (choices: readonly [string, ...string[]]): Rule => {
  return (name, value) => void choiceOption(name, value, choices)
}
const integer = (range: IntegerRange): Rule => {
  return (name, value) => void integerOption(name, value, range)
}
const flag: Rule = (name, value) => void booleanOption(name, value, false)
const record: Rule = (name, value) => {
  if (!isRecord(value)) throw optionError(name, `must be an object, not ${typeName(value)}`)
}
const json: Rule = (name, value) => {
  record(name, value)
  try {
    JSON.stringify(value)
  } catch (cause) {
    throw new StoreError('OPTION_NOT_ALLOWED', `Option "${name}" must be JSON`, { cause })
  }
}

const columnList: Rule = (name, value) => {
  if (!isTextList(value))
    throw optionError(name, `must be a list of column IDs, not ${shown(value)}`)
}

/** The options of `groups` that are lists of columns. */
export const GROUP_COLUMNS = Object.freeze(['by', 'sum', 'least', 'greatest'])

const RULES: Readonly<Record<string, Rule>> = {
  signal: (_, value) => checkSignalOption(value),
  onProgress: checkFunctionOption,
  onSchemaError: choice(ON_SCHEMA_ERROR),
  ifMatch: version,
  ifNoneMatch: version,
  since: version,
  limit: integer(LIMIT),
  pageSize: integer(LIMIT),
  continuation: text,
  where: (name, value) => {
    record(name, value)
    whereText(value as object)
  },
  from: integer({ default: 0, min: 0, max: Number.MAX_SAFE_INTEGER }),
  search: (name, value) => {
    if (!isRecord(value)) return text(name, value)
    checkCall(name, value, ['text', 'ignoreAccents'])
    text(name, value['text'])
  },
  ignoreAccents: flag,
  orderBy: (name, value) => {
    if (!Array.isArray(value)) throw optionError(name, `must be an array, not ${shown(value)}`)
  },
  total: flag,
  columns: columnList,
  ...Object.fromEntries(GROUP_COLUMNS.map((name) => [name, columnList])),
  delimiter: choice([',', '\t']),
  name: matching(
    new RegExp(`^.{1,${NAME_CHARS_MAX}}$`, 's'),
    `a string of 1 to ${NAME_CHARS_MAX} characters`,
  ),
  tableId: checkId,
  schema: json,
  mode: choice(MODES),
  key: checkKeyList,
  missing: choice(['keep', 'delete']),
  unnamed: choice(['keep', 'empty']),
  format: choice(SOURCE_FORMATS),
  chunkBytes: integer(CHUNK_BYTES),
  parallel: integer(PARALLEL),
  startAt: integer(START_AT),
  stashId: matching(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/,
    '1 to 64 letters, digits, - and _, beginning with a letter or a digit',
  ),
  resume: flag,
  allowEmpty: flag,
  receipt: flag,
  appId: checkId,
  fileName: nonEmpty,
  contentType: text,
}

/**
 * Checks the options of a call: their names, and the values of those that are given.
 * @param known - The options that the call takes; each must have a rule.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function checkCall(call: string, given: unknown, known: readonly string[]): void {
  if (given === undefined) return
  checkOptions(call, given)
  checkNames(call, given, known)
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) RULES[name]?.(name, value)
  }
}

/** @throws {StoreError} OPTION_NOT_ALLOWED for an unknown name. */
export function checkNames(call: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) throw notTaken(call, unknown, known)
}

/** The error for an option that a call does not take. */
export function notTaken(call: string, name: string, known: readonly string[]): Error {
  const message = `${call} takes no "${name}"; it takes ${known.join(', ')}`
  return new StoreError('OPTION_NOT_ALLOWED', `${message}${didYouMean(name, known)}`)
}

/**
 * The ID in the path of a request. An empty ID, or an ID of dots, would change the path.
 * @throws {ClientError} argument_invalid
 */
export function checkIdArgument(what: string, given: unknown): asserts given is string {
  const problem = idProblem(given)
  if (problem !== undefined) throw invalidCall(`${what} ${problem}`)
}

/** Checks the name of a table. @throws {ClientError} argument_invalid */
export function checkNameArgument(given: unknown): asserts given is string {
  if (typeof given === 'string') return
  throw invalidCall(`The name of a table must be a string, not ${shown(given)}`)
}

function checkId(name: string, given: unknown): void {
  const problem = idProblem(given)
  if (problem !== undefined) throw optionError(name, problem)
}

function idProblem(given: unknown): string | undefined {
  if (typeof given === 'string' && isWellFormed(given) && !/^\.{0,2}$/.test(given)) return undefined
  return `must be a string that is an ID, not ${shown(given)}`
}

function matching(pattern: RegExp, rule: string): Rule {
  return (name, value) => {
    if (typeof value === 'string' && pattern.test(value)) return
    throw optionError(name, `must be ${rule}, not ${shown(value)}`)
  }
}

function isTextList(given: unknown): given is readonly string[] {
  // Without `Array.from`, `every` would skip the holes of the array.
  return Array.isArray(given) && Array.from(given).every((id) => typeof id === 'string')
}

function checkKeyList(name: string, given: unknown): void {
  const columns = isTextList(given) ? given.length : 0
  const isKey =
    columns > 0 && columns <= KEY_COLUMNS_MAX && new Set(given as string[]).size === columns
  if (isKey) return
  const rule = `a list of 1 to ${KEY_COLUMNS_MAX} different column IDs, such as ['id']`
  throw optionError(name, `must be ${rule}, not ${shown(given)}`)
}
