// Retries operations that fail during a conflict or a failover.
import { retry as retryAny } from '../../../src/base/backoff.js'
import { monotonicMs } from '../../../src/base/clock.js'
import type { ResolvedPostgresOptions } from './postgres-options.js'

/**
 * Makes attempts with pauses in between, until one succeeds.
 * @param isFinal - Whether retrying a failure is pointless.
 * @param deadlineMs - The end of the last pause, by the monotonic clock. Default: `retryMsMax` from now.
 * @throws the failure of the last attempt
 */
export function retryPostgres<T>(
  attempt: () => Promise<T>,
  isFinal: (failure: unknown) => boolean,
  { retryMsMax, pauseMs: backoff }: Pick<ResolvedPostgresOptions, 'retryMsMax' | 'pauseMs'>,
  deadlineMs = monotonicMs() + retryMsMax,
): Promise<T> {
  return retryAny(attempt, { backoff, deadlineMs }, (failure) => (isFinal(failure) ? null : 0))
}
