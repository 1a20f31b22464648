// Converts row objects of the library to cells: each value to the JSON token that is stored.
import { dataError } from '../../base/data-error.js'
import { shown } from '../../base/options.js'
import { cellToken, membersOf, ValueFault } from '../../base/plain-value.js'
import type { ErrorPlace, StoreError } from '../../base/store-error.js'
import { columnsInstead } from '../../base/unknown-column.js'
import type { ScannedRow } from '../../schema/scanned-row.js'
import { reservedColumn } from '../../schema/table-schema.js'

/**
 * The cells of a row object, in the form of the scanners. Names are data here: `__proto__` is an ordinary column.
 * @param drops - Whether values without a JSON form are passed on, to be dropped later with others that do not fit.
 * @param index - 0-based place of the row in its input, for errors; undefined for the cells of an update.
 */
export function scanRowObject(row: unknown, drops: boolean, index?: number): ScannedRow {
  const place: ErrorPlace = index === undefined ? {} : { row: index }
  const members = membersOf(row)
  if (members === undefined) throw noRow(row, place)
  const ids: string[] = []
  const tokens: (string | null)[] = []
  let rowId: string | undefined
  for (const id of Object.keys(members)) {
    if (id === '$stashID') throw reservedColumn(id, place)
    if (id === '$rowID') {
      const value = members[id]
      if (typeof value === 'string') rowId = value
      continue
    }
    const token = readCellToken(members, id, drops, place)
    if (token === undefined) continue
    ids.push(id)
    tokens.push(token)
  }
  return { ids, tokens, rowId }
}

/** The token of a cell. @throws {StoreError} COLUMN_HAS_INVALID_VALUE */
function readCellToken(
  members: Readonly<Record<string, unknown>>,
  id: string,
  drops: boolean,
  place: ErrorPlace,
): string | null | undefined {
  try {
    return cellToken(members, id, drops)
  } catch (failure) {
    if (!(failure instanceof ValueFault)) throw failure
    const { value, rule, cause } = failure
    throw invalidValue(id, { ...place, value, rule, cause })
  }
}

/** The error for a value that is no row, such as a Map or a Date, which would otherwise be stored as an empty row. */
function noRow(row: unknown, place: ErrorPlace): StoreError {
  const phrase = place.row === undefined ? 'Invalid cells' : 'Invalid row'
  const rule = 'an object of cells by column ID'
  return dataError('REQUEST_VALIDATION_ERROR', phrase, { ...place, rule, value: shown(row) })
}

/** The error for a value that does not fit its column. Clients rely on the beginning of its message. */
export function invalidValue(
  column: string,
  details: ErrorPlace & Readonly<{ isField?: boolean; cause?: unknown }>,
): StoreError {
  const phrase = `Invalid value for column '${column}'`
  return dataError('COLUMN_HAS_INVALID_VALUE', phrase, { column, ...details })
}

/**
 * The error for a column that the table lacks. Clients rely on the beginning of its message.
 * @param known - The columns of the table, by ID. The message lists them, and suggests the one that was probably
 *   meant.
 */
export function unknownColumn(
  column: string,
  known: ReadonlyMap<string, unknown>,
  place: ErrorPlace = {},
): StoreError {
  const phrase = `Unknown column ID '${column}'`
  return dataError('COLUMN_ID_NOT_FOUND', phrase, {
    column,
    ...place,
    advice: columnsInstead(known, column),
  })
}
