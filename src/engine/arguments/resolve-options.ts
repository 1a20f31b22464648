// Checks the options of a store and fills in their defaults.
import { StoreClock, systemClock } from '../../base/clock.js'
import { codecs } from '../../base/codecs.js'
import {
  booleanOption,
  checkFunctionOption,
  choiceOption,
  type IntegerRange,
  integerOptions,
  isRecord,
  optionError,
  shown,
} from '../../base/options.js'
import { warn } from '../../base/platform.js'
import type { Random } from '../../base/random.js'
import { openSystemRandom } from '../../base/random.js'
import { messageOf } from '../../base/shown-text.js'
import { isStoreError } from '../../base/store-error.js'
import { FILTERED_COLUMNS_MAX } from '../../format/column-values.js'
import type { Compression, CompressionByRows } from '../../format/frame-codec.js'
import type { BackgroundTask, MaintenanceOptions, StoreOptions } from '../types/store-options.js'
import type { UrlFetcher } from '../types/url-fetcher.js'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const TIB = 1024 * GIB
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** The options of a store that are integers, with their defaults and ranges. */
export const STORE_LIMITS = {
  stashTtlMs: { default: 2 * DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  idempotencyTtlMs: { default: DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  tablesMax: { default: 10_000, min: 0, max: 1_000_000 },
  tableNamesBytesMax: { default: 4 * MIB, min: 0, max: Number.MAX_SAFE_INTEGER },
  stashesMax: { default: 1_000, min: 0, max: 1_000_000 },
  stashBytesMax: {
    default: Number.MAX_SAFE_INTEGER,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  },
  teamRowBytesMax: { default: Number.MAX_SAFE_INTEGER, min: 0, max: Number.MAX_SAFE_INTEGER },
  idempotencyKeysMax: { default: 100_000, min: 0, max: 10_000_000 },
  stashChunksMax: { default: 20_000, min: 1, max: 65_535 },
  columnsMax: { default: 1_000, min: 1, max: 10_000 },
  rowBytesMax: { default: 4 * MIB, min: KIB, max: 64 * MIB },
  pageRowsMax: { default: 10_000, min: 1, max: 100_000 },
  pageBytesMax: { default: 16 * MIB, min: KIB, max: 256 * MIB },
  overwrittenRowsTtlMs: { default: HOUR_MS, min: 0, max: 30 * DAY_MS },
  overwrittenRowSetsMax: { default: 2, min: 0, max: 100 },
  overwrittenBytesMax: { default: 8 * GIB, min: 0, max: Number.MAX_SAFE_INTEGER },
  historyRetentionMs: { default: 0, min: 0, max: 30 * DAY_MS },
  orphanGraceMs: { default: 10 * MINUTE_MS, min: 0, max: DAY_MS },
  inlineRowsMax: { default: 1_000, min: 0, max: 1_000 },
  inlineBytesMax: { default: 256 * KIB, min: 0, max: MIB },
  mergeBytesMax: { default: 128 * MIB, min: MIB, max: 16 * GIB },
  segmentRowsMax: { default: 65_536, min: 1, max: 65_536 },
  segmentBytesMax: { default: 4 * MIB, min: KIB, max: 64 * MIB },
  cacheBytesMax: { default: 96 * MIB, min: 0, max: 16 * GIB },
  bufferBytesMax: { default: 28 * MIB, min: 0, max: GIB },
  fileBytesMax: { default: 5 * GIB, min: 1, max: TIB },
  teamFileBytesMax: { default: Number.MAX_SAFE_INTEGER, min: 0, max: Number.MAX_SAFE_INTEGER },
  uploadsOpenMax: { default: 50, min: 1, max: 10_000 },
  uploadUrlTtlMs: { default: 15 * MINUTE_MS, min: SECOND_MS, max: DAY_MS },
  uploadReceivedTtlMs: { default: HOUR_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  uploadTtlMs: { default: DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  fileRetentionMs: { default: 7 * DAY_MS, min: DAY_MS, max: 29 * DAY_MS },
  jobsInFlightMax: { default: 4, min: 1, max: 1_000 },
  jobLeaseMs: { default: MINUTE_MS / 2, min: 100, max: 10 * MINUTE_MS },
  clockSkewMs: { default: 5 * MINUTE_MS, min: SECOND_MS, max: Number.MAX_SAFE_INTEGER },
  jobTtlMs: { default: 7 * DAY_MS, min: MINUTE_MS, max: 30 * DAY_MS },
  freeDiskBytesMin: { default: 256 * MIB, min: 0, max: Number.MAX_SAFE_INTEGER },
  filesInFlightMax: { default: 64, min: 1, max: 10_000 },
} as const satisfies Record<NumberOption, IntegerRange>

/** Ranges and defaults of `maintenance`. */
export const MAINTENANCE_LIMITS = {
  garbageCollectionIntervalMs: { default: 5 * MINUTE_MS, min: 0, max: DAY_MS },
  fileCollectionIntervalMs: { default: HOUR_MS, min: 0, max: DAY_MS },
  compactionIntervalMs: { default: MINUTE_MS / 2, min: 0, max: DAY_MS },
  compactionRecordsMin: { default: 64, min: 1, max: 65_536 },
  recompressionIntervalMs: { default: MINUTE_MS, min: 0, max: DAY_MS },
  recompressionAgeMs: { default: 10 * MINUTE_MS, min: 0, max: 30 * DAY_MS },
  recompressionSavingMin: { default: 10, min: 0, max: 99 },
  recompressionBytesPerSecond: { default: 16 * MIB, min: 64 * KIB, max: 16 * GIB },
  jobIntervalMs: { default: 5 * SECOND_MS, min: 0, max: DAY_MS },
} as const satisfies Record<MaintenanceOption, IntegerRange>

/** The value of `maintenance` for no background work. `store.maintain()` works as usual. */
export const NO_MAINTENANCE = Object.freeze({
  garbageCollectionIntervalMs: 0,
  fileCollectionIntervalMs: 0,
  compactionIntervalMs: 0,
  recompressionIntervalMs: 0,
  jobIntervalMs: 0,
} satisfies MaintenanceOptions)

type MaintenanceOption = keyof MaintenanceOptions

type OtherOption =
  | 'compression'
  | 'recompression'
  | 'maintenance'
  | 'valueFilters'
  | 'formatChecks'
  | 'clock'
  | 'random'
  | 'sources'
  | 'quota'
  | 'onBackgroundFailure'
  | 'onEvent'
type NumberOption = Exclude<keyof StoreOptions, OtherOption>

export type ResolvedOptions = Readonly<Record<NumberOption | MaintenanceOption, number>> &
  Readonly<{
    /** The compression of new segments. */
    compression: CompressionByRows
    /** The compression of segments that have reached the age for it; `none`: the segments stay as they are. */
    recompression: Compression
    /** Whether value filters are written: for all columns, for none, or for the columns with these IDs. */
    valueFilters: boolean | readonly string[]
    formatChecks: boolean
    clock: StoreClock
    random: Random
    sources: UrlFetcher | undefined
    /**
     * Whether `historyRetentionMs` was not given. Then histories that other openings of the store keep are not
     * shortened.
     */
    leavesHistory: boolean
    quota: NonNullable<StoreOptions['quota']>
    onBackgroundFailure: NonNullable<StoreOptions['onBackgroundFailure']>
    onEvent: StoreOptions['onEvent']
  }>

const OTHER_OPTIONS: readonly string[] = [
  'compression',
  'recompression',
  'maintenance',
  'valueFilters',
  'formatChecks',
  'clock',
  'random',
  'sources',
  'quota',
  'onBackgroundFailure',
  'onEvent',
] satisfies OtherOption[]

/**
 * Fills in defaults and rejects unknown names, so that a misspelled option fails at open.
 * @param isShared - Whether several processes share the store.
 */
export function resolveStoreOptions(given: StoreOptions, isShared = false): ResolvedOptions {
  const resolved = integerOptions('a store', given, STORE_LIMITS, OTHER_OPTIONS)
  const maintenance = maintenanceOption(given.maintenance)
  const others = resolveOthers(given, isShared, resolved.clockSkewMs)
  const leavesHistory = given.historyRetentionMs === undefined
  return Object.freeze({ ...resolved, ...maintenance, ...others, leavesHistory })
}

/**
 * Checks the options of a store without opening one, for example before its directory is created. `openStore` checks
 * again the options that depend on the ports, such as a compression for a shared store.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function checkStoreOptions(options: StoreOptions): void {
  resolveStoreOptions(options)
}

function maintenanceOption(
  given: StoreOptions['maintenance'],
): Readonly<Record<MaintenanceOption, number>> {
  if (given !== undefined && given !== false && !isRecord(given)) {
    throw optionError('maintenance', `must be false or an object, not ${shown(given)}`)
  }
  const members = given === false ? NO_MAINTENANCE : (given ?? {})
  return integerOptions('maintenance', members, MAINTENANCE_LIMITS)
}

function resolveOthers(
  given: StoreOptions,
  isShared: boolean,
  skewMsMax: number,
): Pick<ResolvedOptions, Exclude<OtherOption, 'maintenance'>> {
  const { clock = systemClock, random = openSystemRandom() } = given
  const { sources, quota = () => true, onBackgroundFailure = warnOnce() } = given
  const formatChecks = choiceOption('formatChecks', given.formatChecks, ['on', 'off'])
  if (typeof clock?.now !== 'function') throw optionError('clock', 'must have a function `now`')
  checkFunctionOption('clock.monotonicMs', clock.monotonicMs)
  if (typeof random?.bytes !== 'function') {
    throw optionError('random', 'must have a function `bytes`')
  }
  if (sources !== undefined && typeof sources?.fetch !== 'function') {
    throw optionError('sources', 'must have a function `fetch`')
  }
  checkFunctionOption('quota', quota)
  checkFunctionOption('onBackgroundFailure', onBackgroundFailure)
  checkFunctionOption('onEvent', given.onEvent)
  return {
    ...resolveCompressions(given, isShared),
    valueFilters: valueFiltersOption(given.valueFilters),
    formatChecks: formatChecks === 'on',
    clock: new StoreClock(clock, skewMsMax),
    random,
    sources,
    quota,
    onBackgroundFailure,
    onEvent: given.onEvent,
  }
}

const TASK_TITLES: Readonly<Record<BackgroundTask, string>> = Object.freeze({
  garbageCollection: 'Garbage collection',
  fileCollection: 'Garbage collection of files',
  compaction: 'Compaction',
  recompression: 'Recompression',
  codecs: 'Recording which codecs the segments use',
  jobs: 'Running a job',
  lease: 'Renewing the lease of this process',
})

/** Makes a function that warns of the first failure of each task. */
function warnOnce(): ResolvedOptions['onBackgroundFailure'] {
  const warned = new Set<BackgroundTask>()
  return (failure, task) => {
    if (warned.has(task)) return
    warned.add(task)
    const code = isStoreError(failure) ? `${failure.code}: ` : ''
    const problem = messageOf(failure)
    const message = `${TASK_TITLES[task]} failed and will be retried: ${code}${problem}`
    warn(
      `${message} (set onBackgroundFailure to receive every failure)`,
      'ROWSTASH_BACKGROUND_FAILURE',
    )
  }
}

function valueFiltersOption(given: StoreOptions['valueFilters']): boolean | readonly string[] {
  if (!Array.isArray(given)) return booleanOption('valueFilters', given, false)
  const { length } = given
  if (length === 0 || length > FILTERED_COLUMNS_MAX) {
    throw optionError(
      'valueFilters',
      `must be true, false or 1 to ${FILTERED_COLUMNS_MAX} IDs of columns, not ${length} of them`,
    )
  }
  const other = given.find((id) => typeof id !== 'string' || id === '')
  if (other !== undefined) {
    throw optionError('valueFilters', `must be IDs of columns, not ${shown(other)}`)
  }
  return [...given]
}

/** @param isShared - Whether segments go over a network, where compressing a row costs less than sending it. */
function resolveCompressions(
  given: Pick<StoreOptions, 'compression' | 'recompression'>,
  isShared: boolean,
): Pick<ResolvedOptions, 'compression' | 'recompression'> {
  const isAuto = given.compression === undefined || given.compression === 'auto'
  const recompressed = isAuto && codecs.zstd !== null ? 'zstd' : 'none'
  const recompression = compressionOption(given, 'recompression', recompressed)
  const other = compressionOption(given, 'compression', isShared ? recompression : 'none')
  return { compression: { short: isAuto ? recompression : other, other }, recompression }
}

/** @param auto - The meaning of 'auto', the default. */
function compressionOption(
  options: Pick<StoreOptions, 'compression' | 'recompression'>,
  name: keyof typeof options,
  auto: Compression,
): Compression {
  const given = choiceOption(name, options[name], ['auto', 'none', 'deflate', 'zstd'])
  if (given === 'auto') return auto
  if (given !== 'none' && codecs[given] === null) {
    const remedy = given === 'zstd' ? '; Node 22.15 or later does' : ''
    throw optionError(name, `must not be '${given}': this runtime does not support it${remedy}`)
  }
  return given
}
