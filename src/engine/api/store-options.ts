import type { Clock } from '../../base/clock.js'
import { systemClock } from '../../base/clock.js'
import { codecs } from '../../base/codecs.js'
import {
  checkFunctionOption,
  choiceOption,
  type IntegerRange,
  integerOptions,
  optionError,
  shown,
} from '../../base/options.js'
import { warn } from '../../base/platform.js'
import type { Random } from '../../base/random.js'
import { openSystemRandom } from '../../base/random.js'
import { isStoreError } from '../../base/store-error.js'
import type { Compression } from '../../format/frame-codec.js'
import type { BackgroundTask } from './background-types.js'
import type { QuotaRequest } from './file-types.js'
import type { UrlFetcher } from './url-fetcher.js'

/** Options of a store. Each has a default; an unknown name is OPTION_NOT_ALLOWED. */
export interface StoreOptions {
  /**
   * How long a stash is kept after its last acknowledged chunk, in milliseconds.
   * Default: 48 hours. Range: 1 minute to 30 days.
   */
  readonly stashTtlMs?: number
  /**
   * How long the result of a create or an add with an `idempotencyKey` is kept for repeats, in
   * milliseconds. Default: 24 hours. Range: 1 minute to 30 days.
   */
  readonly idempotencyTtlMs?: number
  /** Chunks of one stash, at most. Default: 20,000. Range: 1 to 65,535. */
  readonly stashChunksMax?: number
  /** Columns of a table, and of one chunk, at most. Default: 1,000. Range: 1 to 10,000. */
  readonly columnsMax?: number
  /** Text of one row, in bytes, at most; also after an update. Default: 4 MiB. Range: 1 KiB to 64 MiB. */
  readonly rowBytesMax?: number
  /** Rows of one page, at most. Default: 10,000. Range: 1 to 100,000. */
  readonly pageRowsMax?: number
  /** Text of one page, in bytes, at most; a page of a single row may be larger. Default: 16 MiB. Range: 1 KiB to 256 MiB. */
  readonly pageBytesMax?: number
  /** How long the rows of an overwritten table stay readable for walks under way, in milliseconds. Default: 1 hour. Range: 0 to 30 days. */
  readonly overwrittenRowsTtlMs?: number
  /** How many overwritten row sets of a table stay readable. Default: 2. Range: 0 to 100. */
  readonly overwrittenRowSetsMax?: number
  /**
   * Bytes of segments that the overwritten row sets of a table may hold together. The sweep drops the
   * oldest first; a row set that a `scan()` of this process reads is dropped when the scan has ended.
   * Default: 8 GiB. Range: 0 to 2^53 - 1.
   */
  readonly overwrittenBytesMax?: number
  /**
   * How long an object must have been unreferenced before the sweep deletes it, in milliseconds.
   * Protects readers that looked the object up before. Default: 10 minutes. Range: 0 to 1 day.
   */
  readonly orphanGraceMs?: number
  /** Time between two background sweeps, in milliseconds; 0 switches them off. Default: 5 minutes. Range: 0 to 1 day. */
  readonly sweepIntervalMs?: number
  /** Time between two background folds, in milliseconds; 0 switches them off. Default: 30 seconds. Range: 0 to 1 day. */
  readonly foldIntervalMs?: number
  /**
   * A fold rewrites a segment that has at least this many row records over it. Fewer cost readers less than
   * the rewrite does. Default: 64. Range: 1 to 65,536.
   */
  readonly foldRecordsMin?: number
  /**
   * An add of at most this many rows and bytes of text becomes row records instead of a segment.
   * Defaults: 1,000 rows, 256 KiB. Ranges: 0 to 1,000 rows, 0 to 1 MiB.
   */
  readonly inlineRowsMax?: number
  readonly inlineBytesMax?: number
  /** Rows of one segment, at most. Default: 65,536. Range: 1 to 65,536. */
  readonly segmentRowsMax?: number
  /** Text of one segment, in bytes, at most; a segment of a single row may be larger. Default: 4 MiB. Range: 1 KiB to 64 MiB. */
  readonly segmentBytesMax?: number
  /**
   * Compression of new segments; existing ones stay as they are and are still read. `zstd` takes about a
   * quarter of the space and needs Node 22.15 or newer, also for reading. `deflate` takes as much space, is
   * slower, and can be read everywhere. `none` is the fastest to read. Compression runs on other threads.
   * Default: `auto`, which is `zstd` where the runtime has it, else `none`.
   */
  readonly compression?: 'auto' | Compression
  /**
   * Memory of the cache of frames, footers and rows, in bytes. Preserved row IDs have a cache of the same size,
   * parsed schemas one of 16 MiB. Default: 16 MiB. Range: 0 to 16 GiB.
   */
  readonly cacheBytesMax?: number
  /** Size of one file, in bytes, at most. Default: 5 GiB. Range: 1 byte to 1 TiB. */
  readonly fileBytesMax?: number
  /**
   * Size of all files of one team, in bytes, at most; received and incoming bytes of uploads count.
   * Default: 2^53 - 1, which is no limit. Range: 0 to 2^53 - 1.
   */
  readonly teamFileBytesMax?: number
  /** Open uploads of one owner, at most. Default: 50. Range: 1 to 10,000. */
  readonly uploadsOpenMax?: number
  /** How long the signed location of an upload is valid, in milliseconds. Default: 15 minutes. Range: 1 second to 1 day. */
  readonly uploadUrlTtlMs?: number
  /** How long an upload may take from its creation to its completion, in milliseconds. Default: 24 hours. Range: 1 minute to 30 days. */
  readonly uploadTtlMs?: number
  /**
   * How long an upload may take from the receipt of its bytes to its completion, in milliseconds; never longer
   * than `uploadTtlMs` in all. Default: 1 hour. Range: 1 minute to 30 days.
   */
  readonly uploadReceivedTtlMs?: number
  /**
   * How long a file that no row refers to is kept after its completion, in milliseconds.
   * Default: 7 days. Range: 24 hours to 29 days.
   */
  readonly fileRetentionMs?: number
  /**
   * Time between two background sweeps of files, in milliseconds; with 0 only `store.sweep()` sweeps them.
   * Default: 1 hour. Range: 0 to 1 day.
   */
  readonly fileSweepIntervalMs?: number
  /**
   * Uploads and source URLs that are read at the same time. A team starts one only while it has fewer than there
   * are free places, so a single team has at most half of them. Others wait; beyond 1,000 waiting, or 500 of one
   * team, they fail with RATE_LIMITED. Default: 64. Range: 1 to 10,000.
   */
  readonly filesInFlightMax?: number
  /** Fetches files from URLs. Default: none, and `fromUrl` fails; `openDirectory` has one. */
  readonly sources?: UrlFetcher
  /**
   * Called before a file is stored, for one file of a team at a time; it must not change files itself. If it
   * returns false, the file is deleted and the operation fails with PAYMENT_REQUIRED. Default: no quota.
   */
  readonly quota?: (request: QuotaRequest) => boolean | Promise<boolean>
  /**
   * Called with each failure of background work, which nobody waits for; the work is repeated later. One that comes
   * again and again, such as DATA_CORRUPT, needs somebody: run `store.verify()`. What the function throws is an
   * unhandled rejection. Default: one warning of the process for each task, with the first failure.
   */
  readonly onBackgroundFailure?: (failure: unknown, task: BackgroundTask) => void
  /**
   * `off`: any string fits the kinds uri, imageURI, audioURI, emailAddress, phoneNumber and emoji.
   * Default: `on`.
   */
  readonly formatChecks?: 'on' | 'off'
  /** The time source. Default: the system's. */
  readonly clock?: Clock
  /** The source of IDs and nonces. Default: the system's, fit for secrets. */
  readonly random?: Random
}

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const TIB = 1024 * GIB
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const RANGES = {
  stashTtlMs: { default: 2 * DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  idempotencyTtlMs: { default: DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  stashChunksMax: { default: 20_000, min: 1, max: 65_535 },
  columnsMax: { default: 1_000, min: 1, max: 10_000 },
  rowBytesMax: { default: 4 * MIB, min: KIB, max: 64 * MIB },
  pageRowsMax: { default: 10_000, min: 1, max: 100_000 },
  pageBytesMax: { default: 16 * MIB, min: KIB, max: 256 * MIB },
  overwrittenRowsTtlMs: { default: HOUR_MS, min: 0, max: 30 * DAY_MS },
  overwrittenRowSetsMax: { default: 2, min: 0, max: 100 },
  overwrittenBytesMax: { default: 8 * GIB, min: 0, max: Number.MAX_SAFE_INTEGER },
  orphanGraceMs: { default: 10 * MINUTE_MS, min: 0, max: DAY_MS },
  sweepIntervalMs: { default: 5 * MINUTE_MS, min: 0, max: DAY_MS },
  foldIntervalMs: { default: MINUTE_MS / 2, min: 0, max: DAY_MS },
  foldRecordsMin: { default: 64, min: 1, max: 65_536 },
  inlineRowsMax: { default: 1_000, min: 0, max: 1_000 },
  inlineBytesMax: { default: 256 * KIB, min: 0, max: MIB },
  segmentRowsMax: { default: 65_536, min: 1, max: 65_536 },
  segmentBytesMax: { default: 4 * MIB, min: KIB, max: 64 * MIB },
  cacheBytesMax: { default: 16 * MIB, min: 0, max: 16 * GIB },
  fileBytesMax: { default: 5 * GIB, min: 1, max: TIB },
  teamFileBytesMax: { default: Number.MAX_SAFE_INTEGER, min: 0, max: Number.MAX_SAFE_INTEGER },
  uploadsOpenMax: { default: 50, min: 1, max: 10_000 },
  uploadUrlTtlMs: { default: 15 * MINUTE_MS, min: SECOND_MS, max: DAY_MS },
  uploadReceivedTtlMs: { default: HOUR_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  uploadTtlMs: { default: DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  fileRetentionMs: { default: 7 * DAY_MS, min: DAY_MS, max: 29 * DAY_MS },
  fileSweepIntervalMs: { default: HOUR_MS, min: 0, max: DAY_MS },
  filesInFlightMax: { default: 64, min: 1, max: 10_000 },
} as const satisfies Record<NumberOption, IntegerRange>

type OtherOption =
  | 'compression'
  | 'formatChecks'
  | 'clock'
  | 'random'
  | 'sources'
  | 'quota'
  | 'onBackgroundFailure'
type NumberOption = Exclude<keyof StoreOptions, OtherOption>

export type ResolvedOptions = Readonly<Record<NumberOption, number>> &
  Readonly<{
    compression: Compression
    formatChecks: boolean
    clock: Clock
    random: Random
    sources: UrlFetcher | undefined
    quota: NonNullable<StoreOptions['quota']>
    onBackgroundFailure: NonNullable<StoreOptions['onBackgroundFailure']>
  }>

const OTHER_OPTIONS: readonly string[] = [
  'compression',
  'formatChecks',
  'clock',
  'random',
  'sources',
  'quota',
  'onBackgroundFailure',
] satisfies OtherOption[]

/** Fills in defaults and rejects what is unknown, so a misspelled option fails at open. */
export function resolveStoreOptions(given: StoreOptions): ResolvedOptions {
  const resolved = integerOptions('a store', given, RANGES, OTHER_OPTIONS)
  const others = resolveOthers(given)
  return Object.freeze({ ...resolved, ...others })
}

function resolveOthers(given: StoreOptions): Pick<ResolvedOptions, OtherOption> {
  const { clock = systemClock, random = openSystemRandom() } = given
  const { sources, quota = () => true, onBackgroundFailure = warnOnce() } = given
  const formatChecks = choiceOption('formatChecks', given.formatChecks, ['on', 'off'])
  if (typeof clock?.now !== 'function') throw optionError('clock', 'must have a function `now`')
  if (typeof random?.bytes !== 'function') {
    throw optionError('random', 'must have a function `bytes`')
  }
  if (sources !== undefined && typeof sources?.fetch !== 'function') {
    throw optionError('sources', 'must have a function `fetch`')
  }
  checkFunctionOption('quota', quota)
  checkFunctionOption('onBackgroundFailure', onBackgroundFailure)
  const compression = resolveCompression(given.compression)
  return {
    compression,
    formatChecks: formatChecks === 'on',
    clock,
    random,
    sources,
    quota,
    onBackgroundFailure,
  }
}

const TASK_TITLES: Readonly<Record<BackgroundTask, string>> = Object.freeze({
  sweep: 'The background sweep',
  fileSweep: 'The background sweep of files',
  fold: 'The background fold',
  codecs: 'Noting the compressions of the segments',
})

/** Warns of the first failure of each task. */
function warnOnce(): ResolvedOptions['onBackgroundFailure'] {
  const warned = new Set<BackgroundTask>()
  return (failure, task) => {
    if (warned.has(task)) return
    warned.add(task)
    const code = isStoreError(failure) ? `${failure.code}: ` : ''
    const problem = failure instanceof Error ? failure.message : String(failure)
    const message = `${TASK_TITLES[task]} failed and will be repeated: ${code}${problem}`
    warn(`${message} (set onBackgroundFailure to get every failure)`, 'ROWSTASH_BACKGROUND_FAILURE')
  }
}

function resolveCompression(given: StoreOptions['compression'] = 'auto'): Compression {
  if (given === 'auto') return codecs.zstd === null ? 'none' : 'zstd'
  if (!['none', 'deflate', 'zstd'].includes(given)) {
    throw optionError(
      'compression',
      `must be 'auto', 'none', 'deflate' or 'zstd', not ${shown(given)}`,
    )
  }
  if (given !== 'none' && codecs[given] === null) {
    throw optionError('compression', `must not be '${given}' here: Node 22.15 or newer is needed`)
  }
  return given
}
