// What a server did in its last day: a sample for each five minutes in which it was asked for something.
//
// Invariants:
// - At most SAMPLES_MAX samples are held, of ten numbers each: 50 kB.
// - No timer runs: the first request of the next five minutes ends a sample.
import { systemClock } from '../../base/clock.js'
import type { MetricFamily, MetricSample } from './metric-family.js'

/** The time of a sample, in milliseconds. */
const SAMPLE_MS = 5 * 60_000
const SAMPLES_MAX = (24 * 3_600_000) / SAMPLE_MS

/** Counters whose growth a sample has. */
const COUNTERS = {
  requests: 'rowstash_requests_total',
  rowsIn: 'rowstash_rows_in_total',
  rowsOut: 'rowstash_rows_out_total',
  commits: 'rowstash_commits_total',
  writtenBytes: 'rowstash_written_bytes_total',
} as const

/** Gauges that a sample has as they are at its end. */
const GAUGES = {
  memoryBytes: 'rowstash_process_resident_memory_bytes',
  cacheBytes: 'rowstash_cache_bytes',
} as const

const LATENCIES = 'rowstash_request_seconds'
const FAILED_FROM = 500

type Count = keyof typeof COUNTERS | 'failed'
type Totals = Readonly<Record<Count, number> & { buckets: ReadonlyMap<string, number> }>

/** Five minutes of a server. */
export type DaySample = Readonly<
  Record<Count, number> &
    Partial<Record<keyof typeof GAUGES, number>> & {
      /** When it began, in milliseconds since 1970. */
      at: number
      /** Bounds of the times to half, and to 95 in 100, of the answers; undefined: there was none, or no bound. */
      medianSeconds?: number | undefined
      slowSeconds?: number | undefined
    }
>

export class LastDay {
  readonly #families: ReadonlyMap<string, MetricFamily>
  readonly #samples: DaySample[] = []
  /** When the sample began that is not over. */
  #at: number
  /** undefined: nothing was counted, as the server has begun. */
  #before: Totals | undefined

  constructor(families: readonly MetricFamily[]) {
    this.#families = new Map(families.map((family) => [family.name, family]))
    this.#at = beginOf(systemClock.now())
  }

  /** Called before a request is counted; does something once in five minutes. */
  advance(): void {
    const at = beginOf(systemClock.now())
    if (at === this.#at) return
    this.#samples.push(this.#sampleSince())
    if (this.#samples.length >= SAMPLES_MAX) this.#samples.shift()
    this.#at = at
    this.#before = this.#totals()
  }

  /** The samples of the last day, the oldest first; the last one is not over. */
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

  /** Those of a metric, without those of requests that look at the server. A metric of the host may fail. */
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

/** The least bound that a share of what was counted is within. */
function boundOf(
  buckets: readonly (readonly [bound: number, count: number])[],
  share: number,
): number | undefined {
  const all = Math.max(0, ...buckets.map(([, count]) => count))
  if (all === 0) return undefined
  return buckets.find(([bound, count]) => Number.isFinite(bound) && count >= all * share)?.[0]
}
