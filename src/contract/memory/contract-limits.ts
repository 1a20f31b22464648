// Limits of the HTTP contract that are numbers, with their ranges. LIMITS.md lists them.
import type { IntegerRange } from '../../base/options.js'

/** Limits of requests. */
export interface ContractLimitOptions {
  /** Body of one request, in bytes, at most. File uploads are exempt. Default: 16 MiB. Range: 1 KiB to 256 MiB. */
  readonly bodyBytesMax?: number | undefined
  /**
   * Memory for bodies of requests in flight, in bytes, at most. Requests that find none wait, and get status 503 after
   * `waitMsMax`. A team uses at most about half. Default: 64 MiB. Range: 1 KiB to 16 GiB. Never less than
   * `bodyBytesMax`.
   */
  readonly bodyBytesInFlightMax?: number | undefined
  /**
   * Memory of responses in flight, in bytes, at most: pages, long rows and lists. Requests that find none wait, and get
   * status 503 after `waitMsMax`. A team uses at most about half.
   * Default: 64 MiB. Range: 1 KiB to 16 GiB; never less than one page takes.
   */
  readonly answerBytesInFlightMax?: number | undefined
  /**
   * Memory for the bodies of one key in flight, in bytes, at most. Requests that find none wait, and get status 503
   * after `waitMsMax`; one of them may use memory that is set aside for the largest body. Default: 0, which is no limit
   * but that of its team. Range: 0 to 16 GiB.
   */
  readonly bodyBytesPerKeyMax?: number | undefined
  /** As `bodyBytesPerKeyMax`, of responses. Default: 0. Range: 0 to 16 GiB. */
  readonly answerBytesPerKeyMax?: number | undefined
  /**
   * Longest wait of a request for memory or for its turn, in milliseconds; then it gets status 503 with `Retry-After`.
   * Default: 30 seconds, half of the usual timeout of proxies. Range: 100 ms to 10 minutes.
   */
  readonly waitMsMax?: number | undefined
  /**
   * Requests of one key that are served at the same time, at most. Further ones wait in order of arrival, and get
   * status 503 after `waitMsMax`. A request counts until its answer is made, not until it is sent.
   * Default: 16. Range: 1 to 10,000.
   */
  readonly requestsAtOncePerKeyMax?: number | undefined
  /**
   * Files that one key fetches from URLs at the same time, at most: uploads by `sourceURL`, and imports that are no
   * jobs. Further ones wait in order of arrival, and get status 503 after `waitMsMax`. Default: 4. Range: 1 to 1,000.
   */
  readonly sourcesAtOncePerKeyMax?: number | undefined
  /**
   * Feeds of changes (`text/event-stream`) of one key that are open at the same time, at most. They do not count to
   * `requestsAtOncePerKeyMax`. Further ones get status 429 with `Retry-After`. Default: 100. Range: 0 to 100,000.
   */
  readonly feedsPerKeyMax?: number | undefined
  /**
   * Requests of one key in a second, at most, on average; as many may come at once after a pause of a second. Further
   * ones get status 429 with `Retry-After`. Default: 0, which is no limit. Range: 0 to 1,000,000.
   */
  readonly requestsPerSecondPerKeyMax?: number | undefined
  /**
   * Requests with an unknown key, or without one, from one client in a minute, at most, on average. After that all its
   * requests that need a key get status 429 with `Retry-After`. A client is an address; `nodeHandler` leaves out
   * connections on which it has seen a known key. 0 is no limit. Default: 600. Range: 0 to 1,000,000.
   */
  readonly refusedKeysPerMinuteMax?: number | undefined
}

export type ContractLimits = Readonly<Record<keyof ContractLimitOptions, number>>

const KIB = 1_024
const MIB = 1_024 * KIB
const MINUTE_MS = 60_000

/** The options of `createContract` that are integers, with their defaults and ranges. */
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
