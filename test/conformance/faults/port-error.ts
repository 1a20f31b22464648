import { isStoreError, StoreError } from '../../../src/base/store-error.js'
import { DiskFault } from './fault-plan.js'

/** A failure of the disk as an error of a port. */
export function portError(
  failure: unknown,
  message: string,
  outcome?: 'unchanged' | undefined,
): StoreError {
  if (isStoreError(failure)) return failure
  const isFull = failure instanceof DiskFault && failure.code === 'ENOSPC'
  const code = isFull ? 'INSUFFICIENT_STORAGE' : 'STORAGE_UNAVAILABLE'
  const details = { cause: failure, ...(outcome !== undefined && { outcome }) }
  return new StoreError(code, message, details)
}
