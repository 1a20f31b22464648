import { reasonOf } from '../../src/base/shown-text.js'
import type { StoreErrorCode, WriteOutcome } from '../../src/base/store-error.js'
import { isStoreError, StoreError } from '../../src/base/store-error.js'

const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])

/** The system's name of a failure (`ENOENT`), or undefined when it is none of the system's. */
export function systemCode(failure: unknown): string | undefined {
  const { code } = Object(failure) as NodeJS.ErrnoException // Of any realm: a test runner has its own `Error`.
  return code
}

/** Maps a failure of the file system to a `StoreError`. A `StoreError` stays as it is. */
export function fileError(failure: unknown, message: string, outcome?: WriteOutcome): StoreError {
  if (isStoreError(failure)) return failure
  const full = FULL_CODES.has(systemCode(failure))
  const code: StoreErrorCode = full ? 'INSUFFICIENT_STORAGE' : 'STORAGE_UNAVAILABLE'
  const reason = reasonOf(failure)
  const details = outcome === undefined ? { cause: failure } : { cause: failure, outcome }
  return new StoreError(code, `${message}${reason}`, details)
}
