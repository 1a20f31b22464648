// Attempts at what fails while another transaction, or a failover, is in the way.
import { pause } from '../../src/base/backoff.js'
import { monotonicMs } from '../../src/base/clock.js'
import type { ResolvedPostgresOptions } from './postgres-options.js'

/**
 * Makes attempts, with pauses between them, until one succeeds.
 * @param isFinal - Whether a failure would only come again.
 * @param deadline - The end of the last pause, by the monotonic clock. Default: `retryMsMax` from now.
 * @throws the failure of the last attempt
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  isFinal: (failure: unknown) => boolean,
  { retryMsMax, pauseMs }: Pick<ResolvedPostgresOptions, 'retryMsMax' | 'pauseMs'>,
  deadline = monotonicMs() + retryMsMax,
): Promise<T> {
  for (let failed = 0; ; failed++) {
    try {
      return await attempt()
    } catch (failure) {
      const ms = pauseMs(failed)
      if (isFinal(failure) || monotonicMs() + ms > deadline) throw failure
      await pause(ms)
    }
  }
}
