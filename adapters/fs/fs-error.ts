import { reasonOf } from '../../src/base/shown-text.js'
import type { StoreErrorCode, WriteOutcome } from '../../src/base/store-error.js'
import { isStoreError, StoreError } from '../../src/base/store-error.js'

const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])

/** The system's code of a failure, such as `ENOENT`; undefined: not a failure of the system. */
export function systemCode(failure: unknown): string | undefined {
  const { code } = Object(failure) as NodeJS.ErrnoException // Not `instanceof`: test runners have their own `Error`.
  return code
}

/** Converts a failure of the file system to a `StoreError`. A `StoreError` does not change. */
export function fileError(failure: unknown, message: string, outcome?: WriteOutcome): StoreError {
  if (isStoreError(failure)) return failure
  const full = FULL_CODES.has(systemCode(failure))
  const code: StoreErrorCode = full ? 'INSUFFICIENT_STORAGE' : 'STORAGE_UNAVAILABLE'
  const reason = reasonOf(failure)
  const details = outcome === undefined ? { cause: failure } : { cause: failure, outcome }
  return new StoreError(code, `${message}${reason}`, details)
}
