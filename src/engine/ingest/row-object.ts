// Row objects of the library ⇄ cells: each value as the JSON token that is stored.
import { dataError } from '../../base/data-error.js'
import { didYouMean } from '../../base/nearest-word.js'
import { isRecord, shown } from '../../base/options.js'
import type { ErrorPlace, StoreError } from '../../base/store-error.js'
import type { ScannedRow } from '../../schema/scanned-row.js'
import { reservedColumn } from '../../schema/table-schema.js'

/**
 * The cells of a row object, as the scanners give them. Names are data here: `__proto__` is a column
 * like any other.
 * @param index - 0-based place of the row in its input, for errors; none for the cells of an update.
 */
export function scanRowObject(row: unknown, index?: number): ScannedRow {
  const place: ErrorPlace = index === undefined ? {} : { row: index }
  if (typeof row !== 'object' || row === null || Array.isArray(row) || ArrayBuffer.isView(row)) {
    throw noRow(row, index)
  }
  const ids: string[] = []
  const tokens: (string | null)[] = []
  let rowId: string | undefined
  for (const [id, value] of Object.entries(row)) {
    if (id === '$stashID') throw reservedColumn(id, place)
    if (id === '$rowID') {
      if (typeof value === 'string') rowId = value
      continue
    }
    ids.push(id)
    tokens.push(renderValue(value, id, place))
  }
  if (ids.length === 0 && !isRecord(row)) throw noRow(row, index)
  return { ids, tokens, rowId }
}

/** The error for objects that hold no cells, such as a Map or a Date: they would be stored as empty rows. */
function noRow(row: unknown, index: number | undefined): StoreError {
  const phrase = index === undefined ? 'Invalid cells' : 'Invalid row'
  const place: ErrorPlace = index === undefined ? {} : { row: index }
  const rule = 'an object of cells by column ID'
  return dataError('REQUEST_VALIDATION_ERROR', phrase, { ...place, rule, value: shown(row) })
}

/** The JSON token of a value; null for an empty cell, which undefined is too. */
function renderValue(value: unknown, column: string, place: ErrorPlace): string | null {
  switch (typeof value) {
    case 'undefined':
      return null
    case 'number':
      if (!Number.isFinite(value)) throw misfit(column, place, String(value), 'a finite number')
      return JSON.stringify(value)
    case 'bigint':
      return value.toString()
    case 'function':
    case 'symbol':
      throw misfit(column, place, typeof value, 'a value that JSON can represent')
    case 'object':
      if (Array.isArray(value) && value.some((element) => typeof element === 'bigint')) {
        return `[${value.map((element) => renderValue(element, column, place) ?? 'null').join()}]`
      }
  }
  try {
    const token: string | undefined = JSON.stringify(value)
    return token === undefined || token === 'null' ? null : token
  } catch (cause) {
    throw misfit(column, place, 'object', 'a value that JSON can represent', cause)
  }
}

function misfit(
  column: string,
  place: ErrorPlace,
  value: string,
  rule: string,
  cause?: unknown,
): StoreError {
  return invalidValue(column, { ...place, value, rule, cause })
}

/** The error of a value that does not fit its column. Clients know the beginning of its message. */
export function invalidValue(
  column: string,
  details: ErrorPlace & Readonly<{ isField?: boolean; cause?: unknown }>,
): StoreError {
  const phrase = `Invalid value for column '${column}'`
  return dataError('COLUMN_HAS_INVALID_VALUE', phrase, { column, ...details })
}

/**
 * The error of a column that the table lacks. Clients know the beginning of its message.
 * @param known - The columns of the table, by ID: the message names the one that was probably meant.
 */
export function unknownColumn(
  column: string,
  known: ReadonlyMap<string, unknown>,
  place: ErrorPlace = {},
): StoreError {
  const phrase = `Unknown column ID '${column}'`
  const advice = didYouMean(column, known.keys(), (nearest) => `'${nearest}'`)
  return dataError('COLUMN_ID_NOT_FOUND', phrase, { column, ...place, advice })
}
