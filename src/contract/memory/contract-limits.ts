// Numeric limits of the HTTP contract, with their ranges. LIMITS.md lists them.
import type { IntegerRange } from '../../base/options.js'

/** Limits of requests. */
export interface ContractLimitOptions {
  /** Most bytes in the body of one request. File uploads are exempt. Default: 16 MiB. Range: 1 KiB to 256 MiB. */
  readonly bodyBytesMax?: number | undefined
  /**
   * Most memory for request bodies in flight, in bytes. Without memory, a request waits, and gets status 503 after
   * `waitMsMax`. A team uses at most about half. Default: 64 MiB. Range: 1 KiB to 16 GiB. Never less than
   * `bodyBytesMax`.
   */
  readonly bodyBytesInFlightMax?: number | undefined
  /**
   * Most memory for responses in flight, in bytes: pages, long rows and lists. Without memory, a request waits, and
   * gets status 503 after `waitMsMax`. A team uses at most about half. Default: 64 MiB. Range: 1 KiB to 16 GiB; never
   * less than one page needs.
   */
  readonly answerBytesInFlightMax?: number | undefined
  /**
   * Most memory for one key's bodies in flight, in bytes. Without memory, a request waits, and gets status 503 after
   * `waitMsMax`; one of them may use the memory reserved for the largest body. Default: 0, only the limit of its team.
   * Range: 0 to 16 GiB.
   */
  readonly bodyBytesPerKeyMax?: number | undefined
  /** The same for responses as `bodyBytesPerKeyMax` for bodies. Default: 0. Range: 0 to 16 GiB. */
  readonly answerBytesPerKeyMax?: number | undefined
  /**
   * Longest wait of a request for memory or for its turn, in milliseconds; then it gets status 503 with `Retry-After`.
   * Default: 30 seconds, half the usual timeout of proxies. Range: 100 ms to 10 minutes.
   */
  readonly waitMsMax?: number | undefined
  /**
   * Most requests of one key served at the same time. More wait in order of arrival, and get status 503 after
   * `waitMsMax`. A request counts until its answer is ready, not until it is sent. Default: 16. Range: 1 to 10,000.
   */
  readonly requestsAtOncePerKeyMax?: number | undefined
  /**
   * Most files that one key fetches from URLs at the same time: uploads by `sourceURL`, and imports that are not jobs.
   * More wait in order of arrival, and get status 503 after `waitMsMax`. Default: 4. Range: 1 to 1,000.
   */
  readonly sourcesAtOncePerKeyMax?: number | undefined
  /**
   * Most open feeds of changes (`text/event-stream`) of one key. They do not count towards `requestsAtOncePerKeyMax`.
   * More get status 429 with `Retry-After`. Default: 100. Range: 0 to 100,000.
   */
  readonly feedsPerKeyMax?: number | undefined
  /**
   * Most requests per second of one key, on average; after a pause of a second, as many may arrive at once. More get
   * status 429 with `Retry-After`. Default: 0, no limit. Range: 0 to 1,000,000.
   */
  readonly requestsPerSecondPerKeyMax?: number | undefined
  /**
   * Most requests per minute, on average, from one client with an unknown key or without one. Beyond that, all its
   * requests that need a key get status 429 with `Retry-After`. A client is an address; `nodeHandler` exempts
   * connections on which it has seen a known key. 0: no limit. Default: 600. Range: 0 to 1,000,000.
   */
  readonly refusedKeysPerMinuteMax?: number | undefined
}

export type ContractLimits = Readonly<Record<keyof ContractLimitOptions, number>>

const KIB = 1_024
const MIB = 1_024 * KIB
const MINUTE_MS = 60_000

/** The integer options of `createContract`, with defaults and ranges. */
export const CONTRACT_LIMITS = {
  bodyBytesMax: { default: 16 * MIB, min: KIB, max: 256 * MIB },
  bodyBytesInFlightMax: { default: 64 * MIB, min: KIB, max: 16 * KIB * MIB },
  answerBytesInFlightMax: { default: 64 * MIB, min: KIB, max: 16 * KIB * MIB },
  bodyBytesPerKeyMax: { default: 0, min: 0, max: 16 * KIB * MIB },
  answerBytesPerKeyMax: { default: 0, min: 0, max: 16 * KIB * MIB },
  sourcesAtOncePerKeyMax: { default: 4, min: 1, max: 1_000 },
  feedsPerKeyMax: { default: 100, min: 0, max: 100_000 },
  waitMsMax: { default: MINUTE_MS / 2, min: 100, max: 10 * MINUTE_MS },
  requestsAtOncePerKeyMax: { default: 16, min: 1, max: 10_000 },
  refusedKeysPerMinuteMax: { default: 600, min: 0, max: 1_000_000 },
  requestsPerSecondPerKeyMax: { default: 0, min: 0, max: 1_000_000 },
} as const satisfies Record<keyof ContractLimitOptions, IntegerRange>
