import { bytesOf } from '../base/bytes.js'
import {
  booleanOption,
  checkFunctionOption,
  choiceOption,
  hasMethods,
  type IntegerRange,
  integerOptions,
  isRecord,
  optionError,
  shown,
} from '../base/options.js'
import { crc32 } from '../base/platform.js'
import type { StoreError } from '../base/store-error.js'
import type { Durability } from './batch-writer.js'
import type { HighWaterPlace } from './high-water.js'
import type { LevelDatabase } from './level-database.js'

/** Options of `openLevelKv`. Each has a default; unknown names are refused. */
export interface LevelKvOptions {
  /**
   * Commit records that are kept, at least. A lost commit is noticed if its record is among them.
   * Default: 65,536. Range: 1 to 1,000,000.
   */
  readonly commitRecordsMin?: number
  /**
   * Older commit records are deleted after this many batches.
   * Default: 1,024. Range: 1 to 65,536.
   */
  readonly checkpointBatches?: number
  /**
   * Memory of the cache of records, in bytes; 0 caches nothing. Default: a sixteenth of the `cacheBytesMax` of the
   * store that is opened on it, 5 MiB before one is. What is given here comes instead of that sixteenth.
   * Range: 0 to 1 GiB.
   */
  readonly recordCacheBytes?: number
  /**
   * Whether the database was written to before: one without any commit record is damaged then.
   * Default: false; such a database is a new one.
   */
  readonly written?: boolean
  /** Where the high-water mark is kept. Default: nowhere; a database whose latest commits are cut off opens then. */
  readonly highWater?: HighWaterPlace
  /**
   * Opens a database even if commits are missing or cannot be read, with the ones that are left. Default: false;
   * such a database fails with DATA_LOSS or DATA_CORRUPT.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * When a commit is acknowledged. `commit`: when it is on disk. `interval`: earlier; a power cut may lose the newest
   * commits; it needs a database with `compactRange`. `none`: earlier, and nothing is ever synced; a power cut may
   * lose any commits, and if later ones are left, the store does not open. Default: `commit`.
   */
  readonly durability?: Durability | undefined
  /** With `interval`: the time within which commits are on disk, in milliseconds. Default: 1,000. Range: 10 to 60,000. */
  readonly flushMs?: number | undefined
  /**
   * With `interval`: bytes that are written before the memory table of the database is flushed, at most half of its
   * size. Default: 2 MiB, half of LevelDB's default. Range: 1 KiB to 1 GiB.
   */
  readonly flushBytes?: number
  /**
   * The version base of the store is raised to this at least. A restore sets it to the base of the backup plus
   * 2^32. Default: 0. Range: 0 to 2^52.
   */
  readonly versionBaseMin?: number
  /**
   * Opens a copy of the database, under the same lock, if there is no room on the disk to open the database itself,
   * which writes at every open. The copy serves reads until there is room; until then writes fail with
   * INSUFFICIENT_STORAGE. Default: none; the open fails then.
   */
  readonly standIn?: ((full: StoreError) => Promise<LevelDatabase>) | undefined
}

const RANGES = {
  commitRecordsMin: { default: 65_536, min: 1, max: 1_000_000 },
  checkpointBatches: { default: 1_024, min: 1, max: 65_536 },
  recordCacheBytes: { default: 5 * 1_048_576, min: 0, max: 1_024 * 1_048_576 },
  flushMs: { default: 1_000, min: 10, max: 60_000 },
  versionBaseMin: { default: 0, min: 0, max: 2 ** 52 },
  flushBytes: { default: 2 * 1_048_576, min: 1_024, max: 1_024 * 1_048_576 },
} as const satisfies Record<NumberOption, IntegerRange>

type OtherOption = 'written' | 'highWater' | 'acceptLoss' | 'durability' | 'standIn'
type NumberOption = Exclude<keyof LevelKvOptions, OtherOption>

const DURABILITIES: readonly [Durability, ...Durability[]] = ['commit', 'interval', 'none']

const OTHER_OPTIONS: readonly string[] = [
  'written',
  'highWater',
  'acceptLoss',
  'durability',
  'standIn',
] satisfies OtherOption[]

export type ResolvedLevelOptions = Readonly<Record<NumberOption, number>> &
  Readonly<{
    durability: Durability
    written: boolean
    highWater: HighWaterPlace | undefined
    /** Checksum of the name of the store; undefined: it has none. */
    storeCrc: number | undefined
    acceptLoss: boolean
    /** Whether `recordCacheBytes` was given. */
    isRecordCacheFixed: boolean
    standIn: LevelKvOptions['standIn']
  }>

export function resolveLevelOptions(given: LevelKvOptions): ResolvedLevelOptions {
  const numbers = integerOptions('a key-value store', given, RANGES, OTHER_OPTIONS)
  const durability = choiceOption('durability', given.durability, DURABILITIES)
  const written = booleanOption('written', given.written, false)
  const acceptLoss = booleanOption('acceptLoss', given.acceptLoss, false)
  const { highWater, standIn } = given
  if (highWater !== undefined && !isPlace(highWater)) {
    throw optionError('highWater', `must be { file, store }, not ${shown(highWater)}`)
  }
  checkFunctionOption('standIn', standIn)
  return Object.freeze({
    ...numbers,
    durability,
    written,
    highWater,
    storeCrc: highWater && crc32(highWater.store),
    acceptLoss,
    isRecordCacheFixed: given.recordCacheBytes !== undefined,
    standIn,
  })
}

function isPlace(given: unknown): given is HighWaterPlace {
  if (!isRecord(given) || bytesOf(given['store']) === undefined) return false
  return hasMethods(given['file'], ['read', 'replace', 'overwrite', 'probe', 'close'])
}
