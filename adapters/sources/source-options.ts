// Options for fetching from source URLs.
import {
  booleanOption,
  checkFunctionOption,
  type IntegerRange,
  integerOptions,
  optionError,
} from '../base/arguments.js'
import { createLookup } from './source-lookup.js'

/** Finds the addresses of a host name, as text. The signal is aborted when the fetch ends. */
export type SourceLookup = (hostName: string, signal: AbortSignal) => Promise<readonly string[]>

/** Options for fetching from source URLs. Each has a default; unknown names are rejected. */
export interface SourceOptions {
  /**
   * Whether to fetch also from private addresses, and from any port. Clients that can set a source URL can then read
   * everything that this machine can reach: for tests, and for networks with trusted users. Default: false.
   */
  readonly allowPrivate?: boolean
  /** Allowed ports. Default: 80 and 443. Range: 1 to 100 ports from 1 to 65,535. */
  readonly ports?: readonly number[]
  /**
   * Time for DNS, connection and TLS of each hop, in milliseconds.
   * Default: 5 seconds. Range: 10 ms to 1 minute.
   */
  readonly connectTimeoutMs?: number
  /**
   * Time until the headers of an answer are complete, and between parts of its body, in milliseconds. Time in which the
   * body is not read does not count. Default: 10 seconds. Range: 10 ms to 10 minutes.
   */
  readonly idleTimeoutMs?: number
  /** Time from the first hop to the last byte, in milliseconds. Default: 1 minute. Range: 10 ms to 1 day. */
  readonly totalTimeoutMs?: number
  /** The maximum number of redirects followed. Default: 3. Range: 0 to 20. */
  readonly redirectsMax?: number
  /** Certificate authorities for https, in PEM, instead of the well-known ones. Default: the well-known ones. */
  readonly ca?: string
  /**
   * Finds the addresses of host names, IPv4 and IPv6. Default: the hosts file, then DNS; with `allowPrivate`, also
   * below the search domains of `/etc/resolv.conf`. Other sources of the system, such as mDNS, are not used.
   */
  readonly lookup?: SourceLookup
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const RANGES = {
  connectTimeoutMs: { default: 5_000, min: 10, max: MINUTE_MS },
  idleTimeoutMs: { default: 10_000, min: 10, max: 10 * MINUTE_MS },
  totalTimeoutMs: { default: MINUTE_MS, min: 10, max: DAY_MS },
  redirectsMax: { default: 3, min: 0, max: 20 },
} as const satisfies Record<NumberOption, IntegerRange>

type OtherOption = 'allowPrivate' | 'ports' | 'ca' | 'lookup'
type NumberOption = Exclude<keyof SourceOptions, OtherOption>

const OTHER_OPTIONS: readonly string[] = [
  'allowPrivate',
  'ports',
  'ca',
  'lookup',
] satisfies OtherOption[]

export type SourceSettings = Readonly<Record<NumberOption, number>> &
  Readonly<{
    allowPrivate: boolean
    ports: ReadonlySet<number>
    ca: string | undefined
    lookup: SourceLookup
  }>

const PORTS_DEFAULT = [80, 443]
const PORTS_MAX = 100
const PORT_MAX = 65_535

/**
 * Fills in defaults, and rejects unknown options.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function resolveSourceOptions(given: SourceOptions): SourceSettings {
  const numbers = integerOptions('sources', given, RANGES, OTHER_OPTIONS)
  const allowPrivate = booleanOption('allowPrivate', given.allowPrivate, false)
  const { ports = PORTS_DEFAULT, ca, lookup = createLookup({ searches: allowPrivate }) } = given
  if (!isPortList(ports)) {
    throw optionError('ports', `must be 1 to ${PORTS_MAX} integers from 1 to ${PORT_MAX}`)
  }
  if (ca !== undefined && typeof ca !== 'string') throw optionError('ca', 'must be a string')
  checkFunctionOption('lookup', lookup)
  return Object.freeze({ ...numbers, allowPrivate, ports: new Set(ports), ca, lookup })
}

function isPortList(ports: unknown): ports is readonly number[] {
  if (!Array.isArray(ports) || ports.length < 1 || ports.length > PORTS_MAX) return false
  return ports.every((port) => Number.isInteger(port) && port >= 1 && port <= PORT_MAX)
}
