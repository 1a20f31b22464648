// Errors about a caller's data. All messages that state the place in the data and the broken rule are built here.
import { cutText } from './shown-text.js'
import { type ErrorPlace, isStoreError, StoreError, type StoreErrorCode } from './store-error.js'

/** The maximum number of characters of an offending value in a message; `StoreError.value` has more. */
const SHOWN_VALUE_CHARS_MAX = 80

type DataErrorDetails = ErrorPlace &
  Readonly<{
    /** Whether `value` is a CSV or TSV field, which the message quotes. */
    isField?: boolean
    /** Text at the end of the message, after the place and the rule. */
    advice?: string
    cause?: unknown
  }>

/**
 * Makes an error. Its message consists of the phrase, the place, the rule, the value and the advice, as far as they are
 * known. `Invalid value for column 'n' in row 3 (counted from 0) of chunk '7', line 5: must be a finite number, not
 * "x"`
 *
 * @param phrase - The beginning of the message. Clients match on some phrases, so they never change.
 */
export function dataError(
  code: StoreErrorCode,
  phrase: string,
  { isField = false, advice = '', ...details }: DataErrorDetails,
): StoreError {
  const message = `${phrase}${renderErrorPlace(details)}${renderRule(details, isField)}${advice}`
  return new StoreError(code, message, details)
}

/** Whether a failure is a data error, about well-formed rows or columns that break a rule of columns. */
export function isDataError(failure: unknown): failure is StoreError {
  return isStoreError(failure) && failure.code.startsWith('COLUMN_')
}

/** The number of rows and lines before a part of the input, for errors that count rows and lines within the part. */
export type PlaceShift = Readonly<{ rows: number; lines: number }>

/** The same error, with row and line counted in the whole input. Other failures do not change. */
export function shiftPlace(failure: unknown, { rows, lines }: PlaceShift): unknown {
  if (!isStoreError(failure)) return failure
  const { row, line, chunk } = failure
  if (row === undefined && line === undefined) return failure
  // An error of the header has no row, and its line is already right.
  return atPlace(failure, {
    ...(row !== undefined && { row: row + rows }),
    ...(line !== undefined && { line: row === undefined ? line : line + lines }),
    ...(chunk !== undefined && { chunk }),
  })
}

/** The same error, with a line. @param line - undefined: unknown. */
export function withLine(failure: StoreError, line: number | undefined): StoreError {
  const { row, chunk } = failure
  return atPlace(failure, {
    ...(row !== undefined && { row }),
    ...(line !== undefined && { line }),
    ...(chunk !== undefined && { chunk }),
  })
}

/** The same error with changed text. @param line - The line of its row, if it was unknown. */
export function retold(
  failure: StoreError,
  message: string,
  line: number | undefined = failure.line,
): StoreError {
  const { code, row, chunk } = failure
  const place = {
    ...(row !== undefined && { row }),
    ...(line !== undefined && { line }),
    ...(chunk !== undefined && { chunk }),
  }
  return new StoreError(code, message, { ...place, ...aboutOf(failure) })
}

function atPlace(failure: StoreError, place: ErrorPlace): StoreError {
  const placed = failure.message.replace(renderErrorPlace(failure), () => renderErrorPlace(place))
  return new StoreError(failure.code, placed, { ...place, ...aboutOf(failure) })
}

/** The properties of an error besides its place. */
function aboutOf({ column, value, rule, cause }: StoreError): object {
  return {
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value }),
    ...(rule !== undefined && { rule }),
    cause,
  }
}

/**
 * The same error without the offending value, and with another message.
 * @param phrase - The beginning of the message.
 */
export function withoutValue(
  { code, row, line, column, rule, chunk }: StoreError,
  phrase: string,
  shownRule = rule,
): StoreError {
  return dataError(code, phrase, {
    ...(row !== undefined && { row }),
    ...(chunk !== undefined && { chunk }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    ...(shownRule !== undefined && { rule: shownRule }),
  })
}

/** Returns a value parsed from input earlier, or throws the data error of that value. */
export type Deferred<T> = () => T

/**
 * Parses a part of the input now. Its data error is thrown only when the value is used, because operations report data
 * errors last, after missing rows and changed versions. Every other error is thrown at once.
 */
export function deferred<T>(read: () => T): Deferred<T> {
  try {
    const value = read()
    return () => value
  } catch (failure) {
    if (!isDataError(failure)) throw failure
    return () => {
      throw failure
    }
  }
}

function renderErrorPlace({ row, chunk, line }: ErrorPlace): string {
  const parts = [
    row === undefined ? '' : ` in row ${row} (counted from 0)`,
    chunk === undefined ? '' : ` of chunk '${chunk}'`,
    line === undefined ? '' : `${row === undefined ? ' in' : ','} line ${line}`,
  ]
  return parts.join('')
}

function renderRule({ rule, value }: ErrorPlace, isField: boolean): string {
  if (rule === undefined) return ''
  if (value === undefined) return `: must be ${rule}`
  const shown = cutText(value, SHOWN_VALUE_CHARS_MAX)
  return `: must be ${rule}, not ${isField ? JSON.stringify(shown) : shown}`
}
