import { StoreError } from '../base/store-error.js'
import type { CommitLogOptions } from './commit-log.js'
import type { HighWaterPlace } from './high-water.js'

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
  readonly acceptLoss?: boolean
}

const RANGES = {
  commitRecordsMin: { default: 65_536, min: 1, max: 1_000_000 },
  checkpointBatches: { default: 1_024, min: 1, max: 65_536 },
  recordCacheBytes: { default: 4 * 1_048_576, min: 0, max: 1_024 * 1_048_576 },
} as const satisfies Record<NumberOption, { default: number; min: number; max: number }>

type OtherOption = 'written' | 'highWater' | 'acceptLoss'
type NumberOption = Exclude<keyof LevelKvOptions, OtherOption>

const OTHER_OPTIONS: readonly string[] = [
  'written',
  'highWater',
  'acceptLoss',
] satisfies OtherOption[]

export type ResolvedLevelOptions = CommitLogOptions &
  Readonly<{
    recordCacheBytes: number
    written: boolean
    highWater: HighWaterPlace | undefined
    acceptLoss: boolean
  }>

export function resolveLevelOptions(given: LevelKvOptions): ResolvedLevelOptions {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(RANGES, name) && !OTHER_OPTIONS.includes(name)) {
      throw optionError(name, 'is not an option')
    }
  }
  const { written = false, acceptLoss = false, highWater } = given
  for (const [name, value] of Object.entries({ written, acceptLoss })) {
    if (typeof value !== 'boolean') throw optionError(name, 'must be true or false')
  }
  return Object.freeze({
    commitRecordsMin: inRange('commitRecordsMin', given.commitRecordsMin),
    checkpointBatches: inRange('checkpointBatches', given.checkpointBatches),
    recordCacheBytes: inRange('recordCacheBytes', given.recordCacheBytes),
    written,
    highWater,
    acceptLoss,
  })
}

function inRange(name: NumberOption, value: number | undefined): number {
  const { default: fallback, min, max } = RANGES[name]
  if (value === undefined) return fallback
  if (Number.isInteger(value) && min <= value && value <= max) return value
  throw optionError(name, `must be an integer from ${min} to ${max}, not ${value}`)
}

function optionError(name: string, problem: string): StoreError {
  return new StoreError('OPTION_NOT_ALLOWED', `Option "${name}" ${problem}`)
}
