// Numeric limits of the HTTP contract, with their ranges. LIMITS.md lists them.
import type { IntegerRange } from '../../base/options.js'

/** Limits of requests. */
export interface ContractLimitOptions {
  /**
   * Maximum size of the body of one request, in bytes. The limit does not apply to uploads of files. Default: 16 MiB.
   * Range: 1 KiB to 256 MiB.
   */
  readonly bodyBytesMax?: number | undefined
  /**
   * Maximum memory of all request bodies that are being received or processed, in bytes. A request for whose body there
   * is no memory waits, and gets status 503 after `waitMsMax`. A team uses at most about half. Default: 64 MiB. Range:
   * 1 KiB to 16 GiB. Never less than `bodyBytesMax`.
   */
  readonly bodyBytesInFlightMax?: number | undefined
  /**
   * Maximum memory of all responses that are being made or sent, in bytes: pages, long rows and lists. A request for
   * whose response there is no memory waits, and gets status 503 after `waitMsMax`. A team uses at most about half.
   * Default: 64 MiB. Range: 1 KiB to 16 GiB; never less than one page needs.
   */
  readonly answerBytesInFlightMax?: number | undefined
  /**
   * Maximum memory of one key's request bodies that are being received or processed, in bytes. A request for whose body
   * there is no memory waits, and gets status 503 after `waitMsMax`; one waiting request may use the memory that is
   * reserved for the largest body. Default: 0, which leaves only the limit of the team. Range: 0 to 16 GiB.
   */
  readonly bodyBytesPerKeyMax?: number | undefined
  /**
   * Maximum memory of one key's responses that are being made or sent, in bytes, under the rules of
   * `bodyBytesPerKeyMax`. Default: 0, which leaves only the limit of the team. Range: 0 to 16 GiB.
   */
  readonly answerBytesPerKeyMax?: number | undefined
  /**
   * Longest wait of a request for memory or for its turn, in milliseconds; then it gets status 503 with `Retry-After`.
   * Default: 30 seconds, half the usual timeout of proxies. Range: 100 ms to 10 minutes.
   */
  readonly waitMsMax?: number | undefined
  /**
   * Maximum number of requests of one key that are served at the same time. Further requests wait in order of arrival,
   * and get status 503 after `waitMsMax`. A request counts until its answer is ready, not until the answer is sent.
   * Default: 16. Range: 1 to 10,000.
   */
  readonly requestsAtOncePerKeyMax?: number | undefined
  /**
   * Maximum number of files that one key fetches from URLs at the same time: uploads by `sourceURL`, and imports that
   * are not jobs. Further requests wait in order of arrival, and get status 503 after `waitMsMax`. Default: 4. Range: 1
   * to 1,000.
   */
  readonly sourcesAtOncePerKeyMax?: number | undefined
  /**
   * Maximum number of open feeds of changes (`text/event-stream`) of one key. They do not count towards
   * `requestsAtOncePerKeyMax`. A request for a further feed gets status 429 with `Retry-After`. Default: 100. Range: 0
   * to 100,000.
   */
  readonly feedsPerKeyMax?: number | undefined
  /**
   * Maximum number of requests per second of one key, on average; after a pause of a second, this number of requests
   * may arrive at once. Further requests get status 429 with `Retry-After`. Default: 0, no limit. Range: 0 to
   * 1,000,000.
   */
  readonly requestsPerSecondPerKeyMax?: number | undefined
  /**
   * Maximum number of requests per minute, on average, that one client may send with an unknown key or without a key.
   * Beyond this number, all its requests that need a key get status 429 with `Retry-After`. A client is an address;
   * `nodeHandler` exempts connections on which it has seen a known key. 0: no limit. Default: 600. Range: 0 to
   * 1,000,000.
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
