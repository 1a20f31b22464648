// The activity of a server in the last day: one sample per five minutes with requests.
//
// Invariants:
// - At most SAMPLES_MAX samples of ten numbers are held: 50 kB.
// - There is no timer: a sample ends with the first request after its five minutes.
import { systemClock } from '../../base/clock.js'
import type { MetricFamily, MetricSample } from './metric-family.js'

/** The length of a sample, in milliseconds. */
const SAMPLE_MS = 5 * 60_000
const SAMPLES_MAX = (24 * 3_600_000) / SAMPLE_MS

/** Counters by member of a sample; a sample has the increase of each. */
const COUNTERS = {
  requests: 'rowstash_requests_total',
  rowsIn: 'rowstash_rows_in_total',
  rowsOut: 'rowstash_rows_out_total',
  commits: 'rowstash_commits_total',
  writtenBytes: 'rowstash_written_bytes_total',
} as const

/** Gauges by member of a sample; a sample has the value of each at its end. */
const GAUGES = {
  memoryBytes: 'rowstash_process_resident_memory_bytes',
  cacheBytes: 'rowstash_cache_bytes',
} as const

const LATENCIES = 'rowstash_request_seconds'
const FAILED_FROM = 500

type Count = keyof typeof COUNTERS | 'failed'
type Totals = Readonly<Record<Count, number> & { buckets: ReadonlyMap<string, number> }>

/** Five minutes of a server's activity. */
export type DaySample = Readonly<
  Record<Count, number> &
    Partial<Record<keyof typeof GAUGES, number>> & {
      /** The beginning, in milliseconds since 1970. */
      at: number
      /**
       * Upper bounds of the median and of the 95th percentile of the response times; undefined: there was no response,
       * or it took longer than all bounds.
       */
      medianSeconds?: number | undefined
      slowSeconds?: number | undefined
    }
>

export class LastDay {
  readonly #families: ReadonlyMap<string, MetricFamily>
  readonly #samples: DaySample[] = []
  /** The beginning of the current sample. */
  #at: number
  /** The counters at the beginning of the current sample; undefined: just after the server's start. */
  #before: Totals | undefined

  constructor(families: readonly MetricFamily[]) {
    this.#families = new Map(families.map((family) => [family.name, family]))
    this.#at = beginOf(systemClock.now())
  }

  /** Called before each request is counted. Ends the current sample if its five minutes are over. */
  advance(): void {
    const at = beginOf(systemClock.now())
    if (at === this.#at) return
    this.#samples.push(this.#sampleSince())
    if (this.#samples.length >= SAMPLES_MAX) this.#samples.shift()
    this.#at = at
    this.#before = this.#totals()
  }

  /** The samples of the last day, oldest first. The last sample has not ended yet. */
  read(): Readonly<{ seconds: number; samples: readonly DaySample[] }> {
    this.advance()
    const from = this.#at - SAMPLES_MAX * SAMPLE_MS
    const samples = [...this.#samples, this.#sampleSince()].filter(({ at }) => at > from)
    return { seconds: SAMPLE_MS / 1_000, samples }
  }

  #sampleSince(): DaySample {
    const [before, now] = [this.#before, this.#totals()]
    const grown = (count: Count) => now[count] - (before?.[count] ?? 0)
    const buckets = [...now.buckets].map(
      ([bound, count]) => [Number(bound), count - (before?.buckets.get(bound) ?? 0)] as const,
    )
    return {
      at: this.#at,
      requests: grown('requests'),
      failed: grown('failed'),
      medianSeconds: boundOf(buckets, 0.5),
      slowSeconds: boundOf(buckets, 0.95),
      rowsIn: grown('rowsIn'),
      rowsOut: grown('rowsOut'),
      commits: grown('commits'),
      writtenBytes: grown('writtenBytes'),
      memoryBytes: this.#gauge('memoryBytes'),
      cacheBytes: this.#gauge('cacheBytes'),
    } as DaySample
  }

  #totals(): Totals {
    const requests = this.#samplesOf(COUNTERS.requests)
    const buckets = new Map<string, number>()
    for (const { labels = {}, suffix, value } of this.#samplesOf(LATENCIES)) {
      const bound = String(labels['le'])
      if (suffix === '_bucket') buckets.set(bound, (buckets.get(bound) ?? 0) + value)
    }
    const counted = Object.entries(COUNTERS).map(([count, name]) => {
      return [count, sumOf(this.#samplesOf(name))]
    })
    const failed = requests.filter(({ labels = {} }) => Number(labels['status']) >= FAILED_FROM)
    return { ...Object.fromEntries(counted), failed: sumOf(failed), buckets } as Totals
  }

  #gauge(gauge: keyof typeof GAUGES): number | undefined {
    const samples = this.#samplesOf(GAUGES[gauge])
    return samples.length === 0 ? undefined : sumOf(samples)
  }

  /** The samples of a metric, without requests that only observe the server. A metric of the host may fail. */
  #samplesOf(name: string): readonly MetricSample[] {
    try {
      const samples = this.#families.get(name)?.samples() ?? []
      return samples.filter(({ labels = {} }) => !LOOKS.has(labels['operation']))
    } catch {
      return []
    }
  }
}

const LOOKS: ReadonlySet<unknown> = new Set(['GET /metrics', 'GET /admin/day'])

function beginOf(now: number): number {
  return now - (now % SAMPLE_MS)
}

function sumOf(samples: readonly MetricSample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0)
}

/** The smallest bucket bound that covers a share of the counts. */
function boundOf(
  buckets: readonly (readonly [bound: number, count: number])[],
  share: number,
): number | undefined {
  const all = Math.max(0, ...buckets.map(([, count]) => count))
  if (all === 0) return undefined
  return buckets.find(([bound, count]) => Number.isFinite(bound) && count >= all * share)?.[0]
}
