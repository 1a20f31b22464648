// Errors of the data that a caller hands in. Their messages say where the data is wrong and which rule it
// breaks, and are built here alone.
import { cutText } from './shown-text.js'
import { type ErrorPlace, isStoreError, StoreError, type StoreErrorCode } from './store-error.js'

/** Characters of an offending value that a message shows; `StoreError.value` has more of it. */
const SHOWN_VALUE_CHARS_MAX = 80

type DataErrorDetails = ErrorPlace &
  Readonly<{
    /** `value` is a field of CSV or TSV: the message quotes it. */
    isField?: boolean
    /** What stands at the end of the message, behind the place and the rule. */
    advice?: string
    cause?: unknown
  }>

/**
 * An error with a message of one form: the phrase, the place, the rule, the value, the advice, as far as each is known.
 * `Invalid value for column 'n' in row 3 (counted from 0) of chunk '7', line 5: must be a finite number, not "x"`
 *
 * @param phrase - The beginning of the message. Clients know some of them: they never change.
 */
export function dataError(
  code: StoreErrorCode,
  phrase: string,
  { isField = false, advice = '', ...details }: DataErrorDetails,
): StoreError {
  const message = `${phrase}${renderErrorPlace(details)}${renderRule(details, isField)}${advice}`
  return new StoreError(code, message, details)
}

/** Whether a failure is an error of the data: well-formed rows or columns that break a rule of columns. */
export function isDataError(failure: unknown): failure is StoreError {
  return isStoreError(failure) && failure.code.startsWith('COLUMN_')
}

/** How many rows and lines of the whole input are before the part that an error counts from. */
export type PlaceShift = Readonly<{ rows: number; lines: number }>

/** The same error, with its row and its line counted from the beginning of the whole input. Other failures stay. */
export function shiftPlace(failure: unknown, { rows, lines }: PlaceShift): unknown {
  if (!isStoreError(failure)) return failure
  const { row, line, chunk } = failure
  if (row === undefined && line === undefined) return failure
  // An error of the header is not one of a row: its line is right already.
  return atPlace(failure, {
    ...(row !== undefined && { row: row + rows }),
    ...(line !== undefined && { line: row === undefined ? line : line + lines }),
    ...(chunk !== undefined && { chunk }),
  })
}

/** The same error, about this line. @param line - undefined: it is not known. */
export function withLine(failure: StoreError, line: number | undefined): StoreError {
  const { row, chunk } = failure
  return atPlace(failure, {
    ...(row !== undefined && { row }),
    ...(line !== undefined && { line }),
    ...(chunk !== undefined && { chunk }),
  })
}

/** The same error, told otherwise. @param line - Of its row, if it was not known. */
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

/** What an error is about, beside its place. */
function aboutOf({ column, value, rule, cause }: StoreError): object {
  return {
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value }),
    ...(rule !== undefined && { rule }),
    cause,
  }
}

/**
 * The same error without the value that it is about, and with a message of its own.
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

/** A value of the input that was read; throws the error of its data, if it has one. */
export type Deferred<T> = () => T

/**
 * Reads a part of the input now. An error of its data is thrown where the value is used, because
 * operations report it last, after rows that are missing and versions that have changed. Every other
 * error is thrown at once.
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
