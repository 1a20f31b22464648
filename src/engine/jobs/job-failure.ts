// Failures of jobs: which of them end a job, and how they are kept.
import { isStoreError, StoreError, type StoreErrorCode } from '../../base/store-error.js'
import type { JobError } from '../types/job-types.js'

/** The store, or a limit of it, stood in the way: the job is taken up again later. */
const PASSING: ReadonlySet<StoreErrorCode> = new Set([
  'STORAGE_UNAVAILABLE',
  'INSUFFICIENT_STORAGE',
  'STORE_CLOSED',
  'RATE_LIMITED',
  'DATA_LOSS',
])

export function isPassing(failure: unknown): boolean {
  return isStoreError(failure) && PASSING.has(failure.code)
}

/** A failure that is no StoreError is a mistake of the program, and shows no details. */
export function toJobError(failure: unknown): JobError {
  if (!isStoreError(failure)) return { message: 'Internal error' }
  const { code, message, row, column, value, rule, chunk, line } = failure
  return {
    code,
    message,
    ...(row !== undefined && { row }),
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value }),
    ...(rule !== undefined && { rule }),
    ...(chunk !== undefined && { chunk }),
    ...(line !== undefined && { line }),
  }
}

/** The failure as the operation itself would have thrown it. */
export function jobFailure({ code, message, ...place }: JobError): Error {
  return code === undefined ? new Error(message) : new StoreError(code, message, place)
}
