// Metrics of a contract and its store in the text format of Prometheus (version 0.0.4). A request costs a few
// additions; everything else is read when the metrics are requested.
//
// Invariant: labels come from the routes, the statuses, and the names of caches and budgets, never from a request. So
// their number is bounded, and no text of a client is shown.
import type { MemoryUse } from '../engine/api/memory-types.js'
import type { Store } from '../engine/api/store-types.js'
import type { MemoryBudget } from './memory-budget.js'

/** The operation of requests that were refused before their operation was known. */
export const NO_OPERATION = 'none'

/** Upper bounds of the latency histogram, in seconds. */
const BUCKETS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

type Served = {
  readonly statuses: Map<number, number>
  /** Requests by bucket; the last one has those beyond all bounds. */
  readonly buckets: number[]
  seconds: number
}

type Labels = Readonly<Record<string, string | number>>
type Sample = readonly [labels: Labels, value: number, suffix?: string]

export class Metrics {
  readonly #store: Store
  readonly #budgets: Readonly<Record<string, MemoryBudget>>
  readonly #operations = new Map<string, Served>()
  #bytesIn = 0
  #bytesOut = 0

  /** @param budgets - By the name that the metrics give them. */
  constructor(store: Store, budgets: Readonly<Record<string, MemoryBudget>>) {
    this.#store = store
    this.#budgets = budgets
  }

  /**
   * Counts a request that was answered.
   * @param operation - Method and route, such as `GET /tables/{tableID}/rows`, or NO_OPERATION.
   * @param ms - From the request to its answer, before the body is sent.
   */
  answered(operation: string, status: number, ms: number): void {
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

  /** Counts a body of a request, in bytes. */
  received(bytes: number): void {
    this.#bytesIn += bytes
  }

  /** Counts bytes of an answer: of a piece, or of a whole body. */
  readonly sent = (bytes: number): void => {
    this.#bytesOut += bytes
  }

  /** All metrics as text. */
  render(): string {
    return [...this.#families()].map((family) => renderFamily(...family)).join('')
  }

  *#families(): Generator<Parameters<typeof renderFamily>, void> {
    const { statuses, latencies } = this.#requests()
    yield ['requests_total', 'counter', 'Answered requests.', statuses]
    yield [
      'request_seconds',
      'histogram',
      'Time from a request to its answer, before its body is sent.',
      latencies,
    ]
    yield [
      'request_body_bytes_total',
      'counter',
      'Bodies of requests, without the bytes of files.',
      [[{}, this.#bytesIn]],
    ]
    yield ['response_body_bytes_total', 'counter', 'Bodies of answers.', [[{}, this.#bytesOut]]]
    yield* this.#budgetFamilies()
    yield* this.#storeFamilies()
  }

  #requests(): Readonly<{ statuses: readonly Sample[]; latencies: readonly Sample[] }> {
    const statuses: Sample[] = []
    const latencies: Sample[] = []
    for (const [operation, { statuses: counts, buckets, seconds }] of this.#operations) {
      for (const [status, count] of counts) statuses.push([{ operation, status }, count])
      let count = 0
      for (const [index, inBucket] of buckets.entries()) {
        count += inBucket
        latencies.push([{ operation, le: BUCKETS[index] ?? '+Inf' }, count, '_bucket'])
      }
      latencies.push([{ operation }, seconds, '_sum'], [{ operation }, count, '_count'])
    }
    return { statuses, latencies }
  }

  *#budgetFamilies(): Generator<Parameters<typeof renderFamily>, void> {
    const samples = (of: (budget: MemoryBudget) => number): readonly Sample[] =>
      Object.entries(this.#budgets).map(([budget, held]) => [{ budget }, of(held)])
    const held = samples(({ bytes }) => bytes)
    yield ['budget_bytes', 'gauge', 'Memory that requests in flight hold.', held]
    const max = samples(({ bytesMax }) => bytesMax)
    yield ['budget_bytes_max', 'gauge', 'Memory that requests in flight may hold.', max]
    const waiting = samples((budget) => budget.waiting)
    yield ['budget_waiting', 'gauge', 'Requests that wait for memory.', waiting]
  }

  *#storeFamilies(): Generator<Parameters<typeof renderFamily>, void> {
    const writable = this.#store.status().writable ? 1 : 0
    yield ['writable', 'gauge', 'Whether the store accepts changes.', [[{}, writable]]]
    const { caches, buffers } = this.#store.memory()
    yield ['cache_bytes', 'gauge', 'Memory that a cache holds.', usesOf('cache', caches)]
    yield ['cache_bytes_max', 'gauge', 'Memory that a cache may hold.', maxesOf('cache', caches)]
    yield ['buffer_bytes', 'gauge', 'Memory that a buffer pool holds.', usesOf('pool', buffers)]
    yield [
      'buffer_bytes_max',
      'gauge',
      'Memory that a buffer pool may hold.',
      maxesOf('pool', buffers),
    ]
  }
}

function usesOf(label: string, uses: readonly MemoryUse[]): readonly Sample[] {
  return uses.map(({ name, bytes }) => [{ [label]: name }, bytes])
}

function maxesOf(label: string, uses: readonly MemoryUse[]): readonly Sample[] {
  return uses.map(({ name, bytesMax }) => [{ [label]: name }, bytesMax])
}

/** @param help - Without a line break and a backslash, as all of them are. */
function renderFamily(
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(
    ([labels, value, suffix = '']) => `rowstash_${name}${suffix}${renderLabels(labels)} ${value}\n`,
  )
  return `# HELP rowstash_${name} ${help}\n# TYPE rowstash_${name} ${type}\n${lines.join('')}`
}

function renderLabels(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}
