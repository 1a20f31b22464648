// Metrics of a contract and its store. A request costs a few additions; everything else is read on request.
//
// Invariant: labels are routes, statuses, and names of caches, budgets and kinds, never text of a request. So their
// number is bounded, and no client text is shown.
import type { Store } from '../../engine/types/store-types.js'
import type { MemoryBudget } from '../memory/memory-budget.js'
import type { OpenFeeds } from '../memory/open-feeds.js'
import { LastDay } from './last-day.js'
import {
  type MetricFamily,
  type MetricSample,
  type MetricsRegistry,
  registerFamilies,
  renderFamilies,
} from './metric-family.js'
import { storeFamilies } from './store-metrics.js'

/** The operation label of requests refused before their operation was known. */
export const NO_OPERATION = 'none'

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

type Served = {
  readonly statuses: Map<number, number>
  /** Numbers of requests by bucket; the last bucket counts requests that took longer than all bounds. */
  readonly buckets: number[]
  seconds: number
}

type MetricsOptions = Readonly<{
  moreMetrics: readonly MetricFamily[]
  registry: MetricsRegistry | undefined
}>

/** The sources of current values: memory budgets by metric name, and feeds. */
type Held = Readonly<{ budgets: Readonly<Record<string, MemoryBudget>>; feeds: OpenFeeds }>

export class Metrics {
  readonly lastDay: LastDay
  readonly #families: readonly MetricFamily[]
  readonly #held: Held
  readonly #operations = new Map<string, Served>()
  #bytesIn = 0
  #bytesOut = 0

  constructor(store: Store, held: Held, { moreMetrics, registry }: MetricsOptions) {
    this.#held = held
    this.#families = [...this.#ownFamilies(), ...storeFamilies(store), ...moreMetrics]
    this.lastDay = new LastDay(this.#families)
    if (registry !== undefined) registerFamilies(registry, this.#families)
  }

  /**
   * Counts an answered request.
   * @param operation - Method and route, such as `GET /tables/{tableID}/rows`, or NO_OPERATION.
   * @param ms - Milliseconds from the request to its answer, before the body is sent.
   */
  answered(operation: string, status: number, ms: number): void {
    this.lastDay.advance()
    let served = this.#operations.get(operation)
    if (served === undefined) {
      served = { statuses: new Map(), buckets: Array(BUCKETS.length + 1).fill(0), seconds: 0 }
      this.#operations.set(operation, served)
    }
    const { statuses, buckets } = served
    const seconds = ms / 1_000
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound)
    const index = bucket < 0 ? BUCKETS.length : bucket
    buckets[index] = (buckets[index] ?? 0) + 1
    served.seconds += seconds
  }

  /** Counts the bytes of a request body. */
  received(bytes: number): void {
    this.#bytesIn += bytes
  }

  /** Counts the bytes of a piece of an answer's body, or of the whole body. */
  readonly sent = (bytes: number): void => {
    this.#bytesOut += bytes
  }

  /** All metrics as text. */
  render(): string {
    return renderFamilies(this.#families)
  }

  #ownFamilies(): readonly MetricFamily[] {
    const budgets = (of: (budget: MemoryBudget) => number) => (): readonly MetricSample[] =>
      Object.entries(this.#held.budgets).map(([budget, held]) => ({
        labels: { budget },
        value: of(held),
      }))
    const statuses = (): readonly MetricSample[] => this.#statuses()
    const latencies = (): readonly MetricSample[] => this.#latencies()
    const bytesIn = (): readonly MetricSample[] => [{ value: this.#bytesIn }]
    const bytesOut = (): readonly MetricSample[] => [{ value: this.#bytesOut }]
    const held = budgets(({ bytes }) => bytes)
    const most = budgets(({ bytesMax }) => bytesMax)
    const waiting = budgets((budget) => budget.waitingCount)
    const feeds = (): readonly MetricSample[] => [{ value: this.#held.feeds.count }]
    return [
      family('requests_total', 'counter', 'Answered requests.', statuses),
      family('request_seconds', 'histogram', REQUEST_SECONDS, latencies),
      family('request_body_bytes_total', 'counter', BYTES_IN, bytesIn),
      family('response_body_bytes_total', 'counter', 'Bodies of answers.', bytesOut),
      family('budget_bytes', 'gauge', 'Memory that requests in flight hold.', held),
      family('budget_bytes_max', 'gauge', 'Memory that requests in flight may hold.', most),
      family('budget_waiting', 'gauge', 'Requests that wait for memory.', waiting),
      family('feeds_open', 'gauge', 'Open feeds of changes.', feeds),
    ]
  }

  #statuses(): readonly MetricSample[] {
    const samples: MetricSample[] = []
    for (const [operation, { statuses }] of this.#operations) {
      for (const [status, value] of statuses) samples.push({ labels: { operation, status }, value })
    }
    return samples
  }

  #latencies(): readonly MetricSample[] {
    const samples: MetricSample[] = []
    for (const [operation, { buckets, seconds }] of this.#operations) {
      let count = 0
      for (const [index, inBucket] of buckets.entries()) {
        count += inBucket
        const labels = { operation, le: BUCKETS[index] ?? '+Inf' }
        samples.push({ labels, value: count, suffix: '_bucket' })
      }
      samples.push({ labels: { operation }, value: seconds, suffix: '_sum' })
      samples.push({ labels: { operation }, value: count, suffix: '_count' })
    }
    return samples
  }
}

const REQUEST_SECONDS = 'Time from a request to its answer, before its body is sent.'
const BYTES_IN = 'Bodies of requests, without the bytes of files.'

function family(
  name: string,
  type: MetricFamily['type'],
  help: string,
  samples: MetricFamily['samples'],
): MetricFamily {
  return { name: `rowstash_${name}`, type, help, samples }
}
