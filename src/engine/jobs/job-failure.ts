// Failures of jobs: which of them end a job, and how they are stored.
import { isStoreError, StoreError, type StoreErrorCode } from '../../base/store-error.js'
import type { JobError } from '../types/job-types.js'

/** Failures of the store, or because of one of its limits, after which the job is retried later. */
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

/** The stored form of a failure. A failure that is not a StoreError is a bug, and its details are not shown. */
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

/** The failure in the form that the operation itself would have thrown. */
export function jobFailure({ code, message, ...place }: JobError): Error {
  return code === undefined ? new Error(message) : new StoreError(code, message, place)
}
