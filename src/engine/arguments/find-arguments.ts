// Checks the arguments of calls that find rows. Conditions are checked against the schema, in engine/find.
import { isRecord, shown, typeName } from '../../base/options.js'
import { invalidArgument } from '../../base/store-error.js'
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { CountOptions, FindBounds, ScanOptions, Where } from '../types/find-types.js'
import { checkArguments, checkNumbers, checkSignal, checkText } from './arguments.js'

export const FIND_ARGUMENTS = Object.freeze(['where', 'search', 'columns', 'from'])

/** UTF-16 units of a text that is searched for in all columns, at most. */
const SEARCH_CHARS_MAX = 256

/** Whether a request asks for some of the rows or cells. */
export function isFind({ where, search, columns, from }: FindBounds): boolean {
  return [where, search, columns, from].some((bound) => bound !== undefined)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkFindBounds({
  where,
  search,
  columns,
  from,
  continuation,
}: FindBounds & Readonly<{ continuation?: string | undefined }>): void {
  if (where !== undefined) checkWhere(where)
  checkSearch(search)
  if (from !== undefined && !(Number.isSafeInteger(from) && from >= 0)) {
    throw invalidArgument(`from must be a row number, an integer of at least 0, not ${shown(from)}`)
  }
  if (from !== undefined && continuation !== undefined) {
    throw invalidArgument(
      'from cannot be combined with a continuation, which already says where the page begins',
    )
  }
  if (columns === undefined) return
  if (!Array.isArray(columns))
    throw invalidArgument(`columns must be an array, not ${typeName(columns)}`)
  for (const id of columns as readonly unknown[]) checkText('A column of columns', id)
}

/** `scan` checks the values. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkFindOptions(given: unknown): void {
  checkArguments('find', given, ['search', 'columns', 'from', 'limit', 'numbers', 'signal'])
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkScan(
  what: string,
  given: ScanOptions,
): Readonly<{ numbers: NumberForm; limit: number }> {
  checkArguments(what, given, [...FIND_ARGUMENTS, 'limit', 'numbers', 'signal'])
  checkFindBounds(given)
  checkSignal(given.signal)
  const { limit = Number.POSITIVE_INFINITY } = given
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(limit) && limit > 0)) {
    throw invalidArgument(`limit must be a positive integer, not ${shown(limit)}`)
  }
  return { numbers: checkNumbers(given.numbers), limit }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkCount(where: unknown, given: CountOptions): void {
  if (where !== undefined) checkWhere(where)
  checkArguments('count', given, ['search', 'signal'])
  checkSearch(given.search)
  checkSignal(given.signal)
}

function checkSearch(search: unknown): void {
  if (search === undefined) return
  if (checkText('search', search).length > SEARCH_CHARS_MAX) {
    throw invalidArgument(`search must have at most ${SEARCH_CHARS_MAX} characters`)
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkWhere(given: unknown): Where {
  if (isRecord(given)) return given as Where
  throw invalidArgument(`where must be an object of conditions, not ${shown(given)}`)
}
