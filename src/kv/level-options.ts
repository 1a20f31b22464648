import {
  checkOptionNames,
  hasMethods,
  type IntegerRange,
  integerOption,
  isRecord,
  optionError,
  shown,
} from '../base/options.js'
import { crc32 } from '../base/platform.js'
import type { StoreError } from '../base/store-error.js'
import type { Durability } from './batch-writer.js'
import type { HighWaterPlace } from './high-water.js'
import type { LevelDatabase } from './level-database.js'

export interface LevelKvOptions {
  /**
   * How many of the latest commit records are kept at least. Lost commits are noticed among those.
   * Default: 65,536. Range: 1 to 1,000,000.
   */
  readonly commitRecordsMin?: number
  /**
   * After how many batches older commit records are deleted.
   * Default: 1,024. Range: 1 to 65,536.
   */
  readonly checkpointBatches?: number
  /** Records that stay in memory to be read again, in bytes. Default: 4 MiB. Range: 0 to 1 GiB. */
  readonly recordCacheBytes?: number
  /**
   * Whether the database was written to before, so that one without any commit record is a damaged one.
   * Default: false, which takes such a database for a new one.
   */
  readonly written?: boolean
  /** Where the store keeps how far it got. Default: nowhere; then a database whose end is cut off opens. */
  readonly highWater?: HighWaterPlace
  /**
   * Opens a database whose commits are missing or cannot be read, with those that are there, and forgets that
   * there were others. Default: false, which refuses it with DATA_LOSS or DATA_CORRUPT.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * When a commit is answered: `commit`, when it is on the disk; `interval`, before, and a power cut may take the
   * newest commits back; `none`, before, and nothing is ever synced: a power cut may take any commits back, and
   * when later ones are left, the store does not open. Default: `commit`.
   */
  readonly durability?: Durability | undefined
  /** In `interval`, the time after which commits are on the disk, in milliseconds. Default: 1,000. Range: 10 to 60,000. */
  readonly flushMs?: number | undefined
  /**
   * In `interval`, how many bytes are written before the database's memory table is flushed: at most half of what
   * it holds before it is written out by itself. Default: 2 MiB, half of LevelDB's. Range: 1 KiB to 1 GiB.
   */
  readonly flushBytes?: number
  /**
   * The versions of the store are raised until their base is this at least: what a restore sets, to that of the store that was
   * backed up and `RESTORED_VERSION_STEP`. Default: 0. Range: 0 to 2^52.
   */
  readonly versionBaseMin?: number
  /**
   * Opens another database that holds the same, under the same lock, when there is no room on the disk to open that of the
   * source, which writes to do so. It is read until that one can be opened; until then writes fail with
   * INSUFFICIENT_STORAGE. Default: none; then the store does not open.
   */
  readonly standIn?: ((full: StoreError) => Promise<LevelDatabase>) | undefined
}

const RANGES = {
  commitRecordsMin: { default: 65_536, min: 1, max: 1_000_000 },
  checkpointBatches: { default: 1_024, min: 1, max: 65_536 },
  recordCacheBytes: { default: 4 * 1_048_576, min: 0, max: 1_024 * 1_048_576 },
  flushMs: { default: 1_000, min: 10, max: 60_000 },
  versionBaseMin: { default: 0, min: 0, max: 2 ** 52 },
  flushBytes: { default: 2 * 1_048_576, min: 1_024, max: 1_024 * 1_048_576 },
} as const satisfies Record<NumberOption, IntegerRange>

type OtherOption = 'written' | 'highWater' | 'acceptLoss' | 'durability' | 'standIn'
type NumberOption = Exclude<keyof LevelKvOptions, OtherOption>

const DURABILITIES: readonly Durability[] = ['commit', 'interval', 'none']

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
    /** Of the name of the store; undefined: it has none. */
    storeCrc: number | undefined
    acceptLoss: boolean
    standIn: LevelKvOptions['standIn']
  }>

export function resolveLevelOptions(given: LevelKvOptions): ResolvedLevelOptions {
  checkOptionNames('a key-value store', given, (name) => {
    return Object.hasOwn(RANGES, name) || OTHER_OPTIONS.includes(name)
  })
  const { written = false, acceptLoss = false, durability = 'commit', highWater, standIn } = given
  if (!DURABILITIES.includes(durability)) {
    throw optionError(
      'durability',
      `must be one of ${DURABILITIES.join(', ')}, not ${shown(durability)}`,
    )
  }
  for (const [name, value] of Object.entries({ written, acceptLoss })) {
    if (typeof value !== 'boolean') throw optionError(name, 'must be true or false')
  }
  if (highWater !== undefined && !isPlace(highWater)) {
    throw optionError('highWater', `must be { file, store }, not ${shown(highWater)}`)
  }
  if (standIn !== undefined && typeof standIn !== 'function') {
    throw optionError('standIn', `must be a function, not ${shown(standIn)}`)
  }
  const names = Object.keys(RANGES) as NumberOption[]
  const numbers = Object.fromEntries(
    names.map((name) => [name, integerOption(name, given[name], RANGES[name])]),
  )
  return Object.freeze({
    ...(numbers as Record<NumberOption, number>),
    durability,
    written,
    highWater,
    storeCrc: highWater && crc32(highWater.store),
    acceptLoss,
    standIn,
  })
}

function isPlace(given: unknown): given is HighWaterPlace {
  if (!isRecord(given) || !(given['store'] instanceof Uint8Array)) return false
  return hasMethods(given['file'], ['read', 'replace', 'overwrite', 'probe', 'close'])
}
