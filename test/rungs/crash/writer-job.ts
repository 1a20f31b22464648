import type { StoreOptions } from '../../../src/index.js'
import type { Lie } from './lie.js'

/** The arguments of a writer. */
export type WriterJob = Readonly<{
  directory: string
  seed: number
  /** Operations are numbered consecutively over all writers of a directory. */
  firstOperation: number
  lanes: number
  operationsOfLane: number
  /** The number of operations after which the writer kills itself. */
  operationsMax: number
  /** Most rows per add or chunk, and most bytes of text per row. */
  rowsMax: number
  rowBytesMax: number
  fileBytesMax: number
  /** `small`: commits to the database only; `all`: objects too. */
  mix: 'small' | 'all'
  /** Whether several callers ensure tables at once. */
  ensures: boolean
  /** How the database lies, to prove that lies are detected. */
  lie?: Lie
}>

const DEFAULTS: WriterJob = {
  directory: '',
  seed: 1,
  firstOperation: 1,
  lanes: 3,
  operationsOfLane: 1_000_000,
  operationsMax: 1_000_000,
  rowsMax: 60,
  rowBytesMax: 120,
  fileBytesMax: 100_000,
  mix: 'all',
  ensures: false,
}

export function resolveJob(given: Partial<WriterJob>): WriterJob {
  return { ...DEFAULTS, ...given }
}

const DAY_MS = 86_400_000

/** Small sizes, so that little data takes every path. Nothing runs in the background. */
export const SMALL_SIZES: StoreOptions = {
  freeDiskBytesMin: 0, // The disks of these tests are small, and become full.
  inlineRowsMax: 20,
  segmentRowsMax: 64,
  maintenance: {
    compactionRecordsMin: 4,
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    recompressionIntervalMs: 0,
    recompressionAgeMs: 0,
    recompressionSavingMin: 0,
  },
  overwrittenRowsTtlMs: 0,
  orphanGraceMs: 0,
  stashTtlMs: 2 * DAY_MS,
  // Each garbage collection recompresses all segments, on each runtime.
  compression: 'none',
  recompression: 'deflate',
}
