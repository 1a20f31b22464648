// Measures how long the event loop of this process is blocked.
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** The delay is measured from one timer to the next, so this much of it is no delay. */
const RESOLUTION_MS = 1

const NANOSECONDS_PER_MS = 1e6

/** @returns a function that ends the measurement and returns p50, p99 and the longest delay in milliseconds */
export function watchLoop() {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const delayMs = (nanoseconds) => Math.max(0, nanoseconds / NANOSECONDS_PER_MS - RESOLUTION_MS)
  histogram.enable()
  return () => {
    histogram.disable()
    const [p50, p99] = [50, 99].map((share) => delayMs(histogram.percentile(share)))
    return { p50, p99, max: delayMs(histogram.max) }
  }
}
