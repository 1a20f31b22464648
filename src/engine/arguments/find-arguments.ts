// Checks the arguments of calls that find rows. Conditions are not checked here but in engine/find, against the schema.
import { isRecord, shown, typeName } from '../../base/options.js'
import { invalidArgument } from '../../base/store-error.js'
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { CountOptions, FindBounds, ScanOptions, Search, Where } from '../types/find-types.js'
import { checkArguments, checkFlag, checkNumbers, checkSignal, checkText } from './arguments.js'

export const FIND_ARGUMENTS = Object.freeze(['where', 'search', 'columns', 'from', 'orderBy'])

/** Maximum number of UTF-16 units of a text that is searched for in all columns. */
const SEARCH_CHARS_MAX = 256

/** Whether a request may ask for fewer than all rows or cells, or for an order. */
export function isFind({ where, search, columns, from, orderBy }: FindBounds): boolean {
  return [where, search, columns, from, orderBy].some((bound) => bound !== undefined)
}

/** Whether a request needs the number of matching rows, or their order. */
export function isSorted({
  orderBy,
  total,
}: FindBounds & Readonly<{ total?: boolean | undefined }>): boolean {
  return orderBy !== undefined || (total !== undefined && total !== false)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkFindBounds({
  where,
  search,
  columns,
  from,
  orderBy,
  continuation,
}: FindBounds & Readonly<{ continuation?: string | undefined }>): void {
  if (where !== undefined) checkWhere(where)
  checkSearch(search)
  if (orderBy !== undefined) checkOrderBy(orderBy)
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

/** Maximum number of columns to sort by. */
const ORDER_COLUMNS_MAX = 8

const ORDER_MEMBERS = ['column', 'descending', 'ignoreCase', 'locale']

/** Checks an order, but not whether the table has the columns. */
function checkOrderBy(given: unknown): void {
  if (!Array.isArray(given) || given.length < 1 || given.length > ORDER_COLUMNS_MAX) {
    throw invalidArgument(`orderBy must be an array of 1 to ${ORDER_COLUMNS_MAX} columns`)
  }
  const ids = new Set<string>()
  for (const column of Array.from<unknown>(given)) {
    if (!isRecord(column)) {
      const example = "such as { column: 'total', descending: true }"
      throw invalidArgument(
        `A column of orderBy must be an object ${example}, not ${shown(column)}`,
      )
    }
    checkArguments('orderBy', column, ORDER_MEMBERS)
    const { column: id, descending, ignoreCase, locale } = column
    const text = checkText('A column of orderBy', id)
    if (ids.has(text)) throw invalidArgument(`orderBy names the column ${shown(text)} twice`)
    ids.add(text)
    if (descending !== undefined) checkFlag('descending of orderBy', descending)
    if (ignoreCase !== undefined) checkFlag('ignoreCase of orderBy', ignoreCase)
    if (locale !== undefined) checkText('The locale of orderBy', locale)
  }
}

/** Checks the names of the options. `scan` checks their values. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkFindOptions(given: unknown): void {
  const options = ['search', 'columns', 'from', 'orderBy', 'limit', 'numbers', 'signal']
  checkArguments('find', given, options)
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

function checkSearch(given: unknown): void {
  if (given === undefined) return
  const { text, ignoreAccents }: Partial<Search> = isRecord(given)
    ? given
    : { text: given as string }
  if (isRecord(given)) checkArguments('search', given, ['text', 'ignoreAccents'])
  checkFlag('ignoreAccents of search', ignoreAccents)
  if (checkText('search', text).length > SEARCH_CHARS_MAX) {
    throw invalidArgument(`search must have at most ${SEARCH_CHARS_MAX} characters`)
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkWhere(given: unknown): Where {
  if (isRecord(given)) return given as Where
  throw invalidArgument(`where must be an object of conditions, not ${shown(given)}`)
}
