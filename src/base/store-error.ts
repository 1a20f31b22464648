import { cutText, escapeControls } from './shown-text.js'

/**
 * The code of a failure. Codes are public API and change only with a major version; messages are for people and may
 * change at any time.
 *
 * - `REQUEST_VALIDATION_ERROR`: an argument breaks its rule
 * - `TABLE_NOT_FOUND`: the team has no table with this ID
 * - `ROW_NOT_FOUND`: the table has no row with this ID
 * - `JOB_NOT_FOUND`: the team has no job with this ID, or it ended long ago
 * - `PRECONDITION_FAILED`: the table or the row changed after the version that the caller gave
 * - `COLUMN_ID_NOT_FOUND`: a row has a column that the table lacks
 * - `COLUMN_HAS_INVALID_VALUE`: a value does not fit its column
 * - `COLUMN_ID_RESERVED`: `$rowID` or `$stashID` is used as a column ID
 * - `COLUMN_ID_NOT_UNIQUE`: a schema or a header has the same column ID twice
 * - `KEY_NOT_UNIQUE`: two rows have the same key; the message names both
 * - `STASH_NOT_FOUND`: the stash has no chunk, or may have lost some: delete it and put its chunks again
 * - `IDEMPOTENCY_KEY_REUSED`: the idempotency key belongs to another request
 * - `CONTINUATION_INVALID`: not a continuation of this table, or its rows are gone
 * - `HISTORY_GONE`: the table does not keep its history back to this version; read the whole table again
 * - `SCHEMA_MISMATCH`: the table lacks a column of the schema that it was opened with, or has it with another type
 * - `TRANSACTION_CONFLICT`: others changed the tables of a transaction, or of `deleteRows` with a condition, during each
 *   of its calls or searches; nothing was changed
 * - `SOURCE_URL_NOT_ALLOWED`: the store does not fetch this URL
 * - `SOURCE_URL_FAILED`: the server of the source URL did not send the file
 * - `SOURCE_URL_TIMEOUT`: the server of the source URL was too slow
 * - `APP_NOT_ALLOWED`: the app is unknown, or the upload belongs to another app
 * - `FILE_NOT_FOUND`: there is no file with this ID, or it was deleted
 * - `FILE_TOO_LARGE`: the file exceeds its limit, or that of the files of the team
 * - `UPLOAD_SIGNATURE_INVALID`: not an upload location that this store signed
 * - `UPLOAD_EXPIRED`: the upload location has expired
 * - `UPLOAD_NOT_FOUND`: the team has no upload with this ID, or it has expired
 * - `UPLOAD_INCOMPLETE`: the bytes of the upload were not received yet
 * - `UPLOAD_SUPERSEDED`: a newer PUT to the same upload location ended this one
 * - `UPLOAD_ALREADY_COMPLETED`: the upload was completed: its bytes cannot change
 * - `CONTENT_TYPE_MISMATCH`: the bytes have another media type than the upload
 * - `CONTENT_LENGTH_MISMATCH`: there are more or fewer bytes than announced
 * - `CHECKSUM_MISMATCH`: the bytes do not match the checksum that was sent with them
 * - `RATE_LIMITED`: too many uploads or jobs are open, or too many transfers wait; or the store has 10,000 API keys
 * - `LIMIT_EXCEEDED`: the team has reached a limit of the store, or a transaction one of its own; the message names it
 * - `PAYMENT_REQUIRED`: the quota hook of the host refused the file
 * - `STORAGE_UNAVAILABLE`: the storage failed, or the store is too busy; see `outcome`
 * - `INSUFFICIENT_STORAGE`: the disk is full, or has less than `freeDiskBytesMin`; see `outcome`
 * - `DATA_CORRUPT`: stored bytes fail their checksum or cannot be decoded
 * - `DATA_LOSS`: acknowledged commits are missing from the database
 * - `OPTION_NOT_ALLOWED`: an option is unknown, out of its range, or names a place that does not fit
 * - `STORE_CLOSED`: the store was closed
 * - `STORE_LOCKED`: another process, thread or store has the directory open; the message names its owner
 * - `FORMAT_UNKNOWN`: the directory is not a store, or of a format that this version cannot read
 * - `ABORTED`: a signal of the caller, or a broken connection, ended the operation
 */
export type StoreErrorCode =
  | 'REQUEST_VALIDATION_ERROR'
  | 'TABLE_NOT_FOUND'
  | 'ROW_NOT_FOUND'
  | 'JOB_NOT_FOUND'
  | 'PRECONDITION_FAILED'
  | 'COLUMN_ID_NOT_FOUND'
  | 'COLUMN_HAS_INVALID_VALUE'
  | 'COLUMN_ID_RESERVED'
  | 'COLUMN_ID_NOT_UNIQUE'
  | 'KEY_NOT_UNIQUE'
  | 'STASH_NOT_FOUND'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'CONTINUATION_INVALID'
  | 'SCHEMA_MISMATCH'
  | 'TRANSACTION_CONFLICT'
  | 'HISTORY_GONE'
  | 'SOURCE_URL_NOT_ALLOWED'
  | 'SOURCE_URL_FAILED'
  | 'SOURCE_URL_TIMEOUT'
  | 'APP_NOT_ALLOWED'
  | 'FILE_NOT_FOUND'
  | 'FILE_TOO_LARGE'
  | 'UPLOAD_SIGNATURE_INVALID'
  | 'UPLOAD_EXPIRED'
  | 'UPLOAD_NOT_FOUND'
  | 'UPLOAD_INCOMPLETE'
  | 'UPLOAD_SUPERSEDED'
  | 'UPLOAD_ALREADY_COMPLETED'
  | 'CONTENT_TYPE_MISMATCH'
  | 'CONTENT_LENGTH_MISMATCH'
  | 'CHECKSUM_MISMATCH'
  | 'RATE_LIMITED'
  | 'LIMIT_EXCEEDED'
  | 'PAYMENT_REQUIRED'
  | 'STORAGE_UNAVAILABLE'
  | 'INSUFFICIENT_STORAGE'
  | 'DATA_CORRUPT'
  | 'DATA_LOSS'
  | 'OPTION_NOT_ALLOWED'
  | 'STORE_CLOSED'
  | 'STORE_LOCKED'
  | 'FORMAT_UNKNOWN'
  | 'ABORTED'

/**
 * The effect of an operation that failed because of the storage: `unchanged`, or `unknown` if the effect may be there
 * after a reopen. Every STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE and STORE_CLOSED of an operation has an outcome.
 */
export type WriteOutcome = 'unchanged' | 'unknown'

/** The place of a data error. The message describes it too, which is all that HTTP shows. */
export type ErrorPlace = Readonly<{
  /** 0-based index of the row in its chunk when `chunk` is given, else in the input. */
  row?: number
  /** ID of the column. */
  column?: string
  /** The offending value as its JSON or CSV text, cut at 200 characters. */
  value?: string
  /** The rule that the value breaks, in words. */
  rule?: string
  /** Serial of the stash chunk. */
  chunk?: string
  /** 1-based line of CSV or TSV input. */
  line?: number
  /** The effect of the operation; only if the storage failed. */
  outcome?: WriteOutcome
}>

/** Two copies of this package may be loaded; the brand lets each recognize the other's errors. */
const BRAND = Symbol.for('rowstash.StoreError')

/** The maximum number of characters kept of an offending value. */
export const VALUE_CHARS_MAX = 200

/**
 * The class of all failures that a caller may act on. `isStoreError` recognizes them. Invisible characters in messages,
 * such as control characters, are escaped as in JSON.
 * @example
 * import { StoreError } from 'rowstash'
 *
 * const refusal = new StoreError('SOURCE_URL_NOT_ALLOWED', 'Not this host') // as a `UrlFetcher` of your own throws
 * console.log(refusal.code, refusal.outcome) // SOURCE_URL_NOT_ALLOWED undefined
 */
export class StoreError extends Error {
  /** Always `StoreError`. */
  override readonly name = 'StoreError'
  /** What failed, for programs. Messages are for people and may change. */
  readonly code: StoreErrorCode
  /** See `row` of `ErrorPlace`. This and the following properties are absent where they do not apply. */
  declare readonly row?: number
  /** ID of the column. */
  declare readonly column?: string
  /** The offending value as its JSON or CSV text, cut at 200 characters. */
  declare readonly value?: string
  /** The rule that the value breaks, in words. */
  declare readonly rule?: string
  /** Serial of the stash chunk. */
  declare readonly chunk?: string
  /** 1-based line of CSV or TSV input. */
  declare readonly line?: number
  /** The effect of the operation; only if the storage failed. */
  declare readonly outcome?: WriteOutcome
  /** For a call for many rows: the problems of its rows, in order, at most 100. This error is one of them. */
  declare readonly problems?: readonly StoreError[]
  /** The number of rows with problems. */
  declare readonly problemCount?: number

  constructor(
    code: StoreErrorCode,
    message: string,
    details: ErrorPlace &
      Pick<StoreError, 'problems' | 'problemCount'> & { readonly cause?: unknown } = {},
  ) {
    const { cause, ...place } = details
    // Messages quote values, names, URLs and headers, and appear in terminals, logs and pages.
    super(escapeControls(message), cause === undefined ? undefined : { cause })
    this.code = code
    if (place.value !== undefined) place.value = cutText(place.value, VALUE_CHARS_MAX)
    for (const [part, known] of Object.entries(place)) {
      if (known !== undefined) Object.defineProperty(this, part, { value: known, enumerable: true })
    }
    Object.defineProperty(this, BRAND, { value: true })
  }

  /** The value for `JSON.stringify`: name, code, message and the properties that apply, but neither cause nor stack. */
  toJSON(): object {
    return { ...this, message: this.message }
  }
}

/** The same failure, with a known outcome. */
export function withOutcome(failure: StoreError, outcome: WriteOutcome): StoreError {
  const { code, message } = failure
  return new StoreError(code, message, { cause: failure, outcome })
}

/**
 * Whether a failure is a `StoreError`, of this or another copy of the package.
 * @example
 * import { isStoreError, openMemory } from 'rowstash'
 *
 * const store = await openMemory()
 * try {
 *   await store.team('acme').createTable({ name: 'Orders', schema: { columns: [] }, rows: [{ id: 1 }] })
 * } catch (failure) {
 *   if (!isStoreError(failure)) throw failure
 *   console.log(failure.code, failure.column) // COLUMN_ID_NOT_FOUND id
 * }
 * await store.close()
 */
export function isStoreError(failure: unknown): failure is StoreError {
  return typeof failure === 'object' && failure !== null && BRAND in failure
}

/** The error for an invalid argument. @param problem - For people, with the name of the argument. */
export function invalidArgument(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', problem)
}

/** The error of a call after `close`. */
export function storeClosed(): StoreError {
  return new StoreError('STORE_CLOSED', 'The store was closed', { outcome: 'unchanged' })
}
