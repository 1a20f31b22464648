// Checks the arguments of calls that take many rows.
import { isRecord, shown, typeName } from '../../base/options.js'
import { invalidArgument, StoreError } from '../../base/store-error.js'
import type { Where } from '../types/find-types.js'
import type { RowsToDelete, RowToDelete } from '../types/many-types.js'
import { checkArguments, checkFlag, checkIfMatchArgument, checkText } from './arguments.js'
import { checkWhere } from './find-arguments.js'

/** Maximum number of rows of one call. The rows are found together, and written together. */
export const ROWS_PER_CALL_MAX = 10_000

/** A row to delete, whatever its version. */
export function toDelete(rowId: string): RowToDelete {
  return { rowId }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRowsToDelete(given: unknown): readonly RowToDelete[] {
  checkRowList('deleteRows', 'an array of rows to delete', given)
  return given.map((row, index) => {
    const what = `The row to delete at index ${index}`
    if (!isRecord(row)) return toDelete(checkText(what, row))
    checkArguments(what, row, ['rowId', 'ifMatch'])
    const { rowId, ifMatch } = row as Partial<RowToDelete>
    return { rowId: checkText(`rowId of ${what}`, rowId), ifMatch: checkIfMatchArgument(ifMatch) }
  })
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRowIds(what: string, given: unknown): readonly string[] {
  checkRowList(what, 'an array of row IDs', given)
  return given.map((rowId, index) => checkText(`The row ID at index ${index}`, rowId))
}

/**
 * @param wanted - What the call accepts, for the message.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkRowList(
  what: string,
  wanted: string,
  given: unknown,
): asserts given is readonly unknown[] {
  if (!Array.isArray(given))
    throw invalidArgument(`${what} takes ${wanted}, not ${typeName(given)}`)
  if (given.length > ROWS_PER_CALL_MAX) {
    throw invalidArgument(
      `${what} takes at most ${ROWS_PER_CALL_MAX} rows, not ${shown(given.length)}: use several calls`,
    )
  }
  for (let index = 0; index < given.length; index++) {
    if (!(index in given)) throw invalidArgument(`${what} takes ${wanted}; index ${index} has none`)
  }
}

/** The rows to delete: the rows that match `where`. With `all`, every row may match. */
export type DeleteCondition = Readonly<{ where: Where; all: boolean }>

/**
 * The condition on the rows to delete; undefined: there is no condition.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function conditionIn(which: RowsToDelete): DeleteCondition | undefined {
  if (Array.isArray(which) || !isRecord(which)) return undefined
  checkArguments('deleteRows', which, ['where', 'all'])
  const { all: given, where } = which as Readonly<Record<string, unknown>>
  const all = checkFlag('all', given)
  return { where: all && !('where' in which) ? {} : checkWhere(where), all }
}

/** The ID of a row to change. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRowId(given: unknown): string {
  if (typeof given === 'object' && given !== null) {
    const remedy = 'get the row ID first, with (await table.get(key))?.row.$rowID'
    const message = `A row is changed by its row ID, not by the values of its key: ${remedy}`
    throw new StoreError('REQUEST_VALIDATION_ERROR', message)
  }
  return checkText('A row ID', given)
}
