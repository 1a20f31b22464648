// Metrics of the process: CPU, memory, and delays of its event loop.
import type { IntervalHistogram } from 'node:perf_hooks'
import type { MetricFamily } from '../../src/ports.js'

/** How often the event loop is sampled, in milliseconds, from the first scrape on. */
const RESOLUTION_MS = 20

const PERCENTILES: readonly number[] = [50, 90, 99]
const NS_PER_SECOND = 1e9

/** Each scrape reports the delays of the event loop since the previous scrape. The first scrape begins measuring. */
export function processMetrics(): readonly MetricFamily[] {
  let delays: IntervalHistogram | undefined
  const eventLoop = (): { labels: { statistic: string }; value: number }[] => {
    if (delays === undefined) {
      // Loaded on first use: PERFORMANCE.md, P47.
      const { monitorEventLoopDelay } = process.getBuiltinModule('node:perf_hooks')
      delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
      delays.enable()
    }
    const seconds = (ns: number): number => {
      // The histogram contains the time between two samples, and nothing at the first scrape.
      return Math.max(0, (Number.isFinite(ns) ? ns : 0) / NS_PER_SECOND - RESOLUTION_MS / 1_000)
    }
    const { max } = delays
    const samples = PERCENTILES.map((percentile) => {
      const ns = delays?.percentile(percentile) ?? 0
      return { labels: { statistic: `p${percentile}` }, value: seconds(ns) }
    })
    delays.reset()
    return [...samples, { labels: { statistic: 'max' }, value: seconds(max) }]
  }
  const cpu = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  return [
    processMetric('cpu_seconds_total', 'counter', 'CPU time of the process.', cpu),
    processMetric('resident_memory_bytes', 'gauge', 'Resident memory of the process.', () =>
      process.memoryUsage.rss(),
    ),
    processMetric('heap_used_bytes', 'gauge', 'Used memory of the JavaScript heap.', () => {
      return process.memoryUsage().heapUsed
    }),
    processMetric(
      'start_time_seconds',
      'gauge',
      'Start of the process, in seconds since 1970.',
      () => {
        return performance.timeOrigin / 1_000
      },
    ),
    {
      name: 'rowstash_event_loop_delay_seconds',
      type: 'gauge',
      help: 'Delay of the event loop since the last scrape: percentiles and the longest.',
      samples: eventLoop,
    },
  ]
}

function processMetric(
  name: string,
  type: MetricFamily['type'],
  help: string,
  value: () => number,
): MetricFamily {
  return { name: `rowstash_process_${name}`, type, help, samples: () => [{ value: value() }] }
}
