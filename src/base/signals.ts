// Whether a caller has aborted a call.
import { StoreError } from './store-error.js'

/**
 * Ends a call that its caller has aborted. The reason of the signal is the cause of the error.
 * @param what - What was aborted, for the message: `The ${what} was aborted`.
 * @throws {StoreError} ABORTED
 */
export function checkNotAborted(what: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return
  throw new StoreError('ABORTED', `The ${what} was aborted`, { cause: signal.reason })
}
