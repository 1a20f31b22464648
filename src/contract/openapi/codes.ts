// Lists of error codes that several operations share.
import type { DocumentedCode } from './model.js'

/** Errors of every operation with a key. */
export const KEYED = [
  'REQUEST_VALIDATION_ERROR',
  'REQUEST_ERROR',
  'SCOPE_MISSING',
  'DATA_CORRUPT',
  'INTERNAL_ERROR',
  'STORAGE_UNAVAILABLE',
  'RATE_LIMITED',
] as const satisfies readonly DocumentedCode[]

/** Errors of every operation that writes. */
export const WRITING = [
  ...KEYED,
  'INSUFFICIENT_STORAGE',
] as const satisfies readonly DocumentedCode[]

/** Errors of every operation that writes its body. */
export const RECEIVING = [
  ...WRITING,
  'PAYMENT_REQUIRED',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies readonly DocumentedCode[]

/** Errors of rows that do not fit a table. */
export const MISFITS = [
  'COLUMN_ID_NOT_FOUND',
  'COLUMN_HAS_INVALID_VALUE',
  'COLUMN_ID_RESERVED',
] as const satisfies readonly DocumentedCode[]

/** Errors of operations that write rows, of a body or a stash, into a table. */
export const FILLING = [
  ...RECEIVING,
  ...MISFITS,
  'COLUMN_ID_NOT_UNIQUE',
  'STASH_NOT_FOUND',
  'LIMIT_EXCEEDED',
] as const satisfies readonly DocumentedCode[]

/** Errors of operations that fetch a file from a URL. */
export const SOURCE_FAILURES = [
  'SOURCE_URL_NOT_ALLOWED',
  'SOURCE_URL_FAILED',
  'SOURCE_URL_TIMEOUT',
  'FILE_TOO_LARGE',
] as const satisfies readonly DocumentedCode[]
