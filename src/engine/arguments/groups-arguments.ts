// Checks the arguments of `groups`.
import { shown } from '../../base/options.js'
import { invalidArgument } from '../../base/store-error.js'
import type { GroupsRequest } from '../types/find-types.js'
import { checkArguments, checkSignal, checkText } from './arguments.js'
import { checkFindBounds } from './find-arguments.js'

/** Maximum number of groups of one call. */
export const GROUPS_MAX = 10_000

/** Maximum number of columns whose values make a group. */
const BY_MAX = 4

/** Maximum number of aggregated columns: sums, least and greatest values together. */
const AGGREGATES_MAX = 8

/** A checked request, without the bounds of the rows to group. */
export type GroupsBounds = Readonly<
  Record<'by' | 'sum' | 'least' | 'greatest', readonly string[]> & { limit: number }
>

const MEMBERS = ['by', 'sum', 'least', 'greatest', 'where', 'search', 'limit', 'signal']

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkGroups(given: GroupsRequest, more: readonly string[]): GroupsBounds {
  checkArguments('groups', given, [...MEMBERS, ...more])
  const { where, search, limit = GROUPS_MAX } = given
  checkFindBounds({ where, search })
  checkSignal(given.signal)
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > GROUPS_MAX) {
    throw invalidArgument(`limit must be an integer from 1 to ${GROUPS_MAX}, not ${shown(limit)}`)
  }
  const by = checkColumnList('by', given.by, BY_MAX)
  const [sum, least, greatest] = (['sum', 'least', 'greatest'] as const).map((name) =>
    checkColumnList(name, given[name], AGGREGATES_MAX),
  ) as [string[], string[], string[]]
  if (sum.length + least.length + greatest.length > AGGREGATES_MAX) {
    throw invalidArgument(`sum, least and greatest take at most ${AGGREGATES_MAX} columns together`)
  }
  return { by, sum, least, greatest, limit }
}

function checkColumnList(name: string, given: unknown, most: number): string[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) throw invalidArgument(`${name} must be an array of column IDs`)
  if (given.length > most) throw invalidArgument(`${name} takes at most ${most} columns`)
  const ids = Array.from(given, (id) => checkText(`A column of ${name}`, id))
  if (new Set(ids).size === ids.length) return ids
  throw invalidArgument(`${name} names a column twice`)
}
