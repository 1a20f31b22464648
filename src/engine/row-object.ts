// Row objects of the library ⇄ cells: each value as the JSON token that is stored.
import { StoreError } from '../base/store-error.js'
import type { ScannedRow } from '../schema/scanned-row.js'

/**
 * The cells of a row object, as the scanners give them. Names are data here: `__proto__` is a column
 * like any other.
 * @param index - 0-based place of the row in its input, for errors.
 */
export function scanRowObject(row: unknown, index: number): ScannedRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    throw new StoreError(
      'REQUEST_VALIDATION_ERROR',
      `Invalid rows: row ${index} is not an object`,
      {
        row: index,
      },
    )
  }
  const ids: string[] = []
  const tokens: (string | null)[] = []
  let rowId: string | undefined
  for (const [id, value] of Object.entries(row)) {
    if (id === '$stashID') {
      throw new StoreError('COLUMN_ID_RESERVED', "Column ID '$stashID' is reserved", {
        row: index,
        column: id,
      })
    }
    if (id === '$rowID') {
      if (typeof value === 'string') rowId = value
      continue
    }
    ids.push(id)
    tokens.push(renderValue(value, id, index))
  }
  return { ids, tokens, rowId }
}

/** The JSON token of a value; null for an empty cell, which undefined is too. */
function renderValue(value: unknown, column: string, row: number): string | null {
  switch (typeof value) {
    case 'undefined':
      return null
    case 'number':
      if (!Number.isFinite(value)) throw misfit(column, row, String(value), 'a finite number')
      return JSON.stringify(value)
    case 'bigint':
      return value.toString()
    case 'function':
    case 'symbol':
      throw misfit(column, row, typeof value, 'a value that JSON can hold')
    case 'object':
      if (Array.isArray(value) && value.some((element) => typeof element === 'bigint')) {
        return `[${value.map((element) => renderValue(element, column, row) ?? 'null').join()}]`
      }
  }
  try {
    const token: string | undefined = JSON.stringify(value)
    return token === undefined || token === 'null' ? null : token
  } catch (cause) {
    throw misfit(column, row, 'object', 'a value that JSON can hold', cause)
  }
}

function misfit(
  column: string,
  row: number,
  value: string,
  rule: string,
  cause?: unknown,
): StoreError {
  return invalidValue(column, { row, value, rule, cause })
}

/** The error of a value that does not fit its column; the message is the contract's, to the letter. */
export function invalidValue(
  column: string,
  details: {
    row?: number
    value?: string
    rule?: string
    chunk?: string
    line?: number
    cause?: unknown
  },
): StoreError {
  return new StoreError('COLUMN_HAS_INVALID_VALUE', `Invalid value for column '${column}'`, {
    column,
    ...details,
  })
}
