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

/** Options of `openLevelKv`. Each has a default; unknown names are rejected. */
export interface LevelKvOptions {
  /**
   * Least number of commit records kept. A lost commit is detected if its record would be among them. Default:
   * 65,536. Range: 1 to 1,000,000.
   */
  readonly commitRecordsMin?: number
  /** Number of batches after which older commit records are deleted. Default: 1,024. Range: 1 to 65,536. */
  readonly checkpointBatches?: number
  /**
   * Memory of the cache of records, in bytes; 0 caches nothing. Default: a sixteenth of the `cacheBytesMax` of the
   * store opened on it; 5 MiB before that. Range: 0 to 1 GiB.
   */
  readonly recordCacheBytes?: number
  /**
   * Whether the database was written to before, so that it is damaged if it has no commit records. Default: false: it
   * is new.
   */
  readonly written?: boolean
  /** The place of the high-water mark. Default: none; then the loss of the latest commits is not detected. */
  readonly highWater?: HighWaterPlace
  /**
   * Whether to open a database with missing or unreadable commits, with the remaining ones. Default: false: it fails
   * with DATA_LOSS or DATA_CORRUPT.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * When a commit is acknowledged. `commit`: when it is on disk. `interval`: earlier; a power cut may lose the newest
   * commits; needs a database with `compactRange`. `none`: earlier, and nothing is ever synced; a power cut may lose
   * any commits, and if later ones remain, the store does not open. Default: `commit`.
   */
  readonly durability?: Durability | undefined
  /** With `interval`: time within which commits are on disk, in milliseconds. Default: 1,000. Range: 10 to 60,000. */
  readonly flushMs?: number | undefined
  /**
   * With `interval`: bytes written before the database's memory table is flushed, at most half its size. Default: 2
   * MiB, half of LevelDB's default. Range: 1 KiB to 1 GiB.
   */
  readonly flushBytes?: number
  /** The least version base. A restore sets it to the backup's base plus 2^32. Default: 0. Range: 0 to 2^52. */
  readonly versionBaseMin?: number
  /**
   * Opens a copy of the database, under the same lock, if the disk has no room to open the database itself, which
   * writes at every open. The copy serves reads until there is room; until then, writes fail with INSUFFICIENT_STORAGE.
   * Default: none; then the open fails.
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
    /** Checksum of the store's name; undefined: it has none. */
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
