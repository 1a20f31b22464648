// The dense sequence of commit records, by which an open detects lost commits.
//
// LevelDB drops a damaged part of its log without an error and keeps what follows (LEVELDB.md, F3). So each batch also
// puts commit record n, one more than the previous batch: a missing number shows that acknowledged commits are gone.
// Records lost at the end leave no gap: only the high-water mark beside the database shows them.
//
// Invariants:
// - All records from `lowest` to `last` exist, and none above `last`; `lowest` is in the checkpoint record, or 1
//   without one. Lower records, left by an interrupted restart, are ignored.
// - `lowest` and `last` change atomically with each batch, which contains its own record and, on pruning, the deletes
//   and the checkpoint.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import type { GroupBatch } from './group-batch.js'
import { LOSS_REMEDY } from './high-water.js'
import { keyAfter } from './key-range.js'
import type { LevelDatabase, LevelOperation } from './level-database.js'
import { readRecords, scanLevelKeys, scanRecords, writeBatch } from './level-database.js'
import {
  CHECKPOINT_KEY,
  decodeCommitKey,
  decodeUint64,
  encodeCommit,
  encodeCommitKey,
  encodeUint64,
  isOwnCommit,
  LevelSpace,
  sealValue,
  VERSION_BASE_KEY,
} from './record-envelope.js'

/** `lowest` and `last` are at least 0; `last` is `lowest - 1` if there are no records. */
export type CommitLog = Readonly<{ lowest: number; last: number }>

export type CommitLogOptions = Readonly<{
  commitRecordsMin: number
  checkpointBatches: number
  /** Checksum of the store's name; undefined: it has none. */
  storeCrc: number | undefined
}>

const FRESH_LOG: CommitLog = { lowest: 1, last: 0 }
const SCAN_COUNT = 10_000
const PRUNED_MAX = 8_192
const AFTER_COMMITS = Uint8Array.of(LevelSpace.Commit + 1)
const PARTITION_RANGE = {
  start: Uint8Array.of(LevelSpace.Partition),
  limit: Uint8Array.of(LevelSpace.Partition + 1),
}

/** Commit numbers from the first to the last, inclusive. */
export type CommitRange = Readonly<{ first: number; last: number }>

/** The commits that a database must at least contain. */
export type ExpectedCommits = Readonly<{
  /** Whether the database must contain any commit. */
  written: boolean
  /** The database must contain all commits up to this one; 0: unknown. */
  atLeast: number
  /** Checksum of the name of the store that made the commits; undefined: it has none. */
  storeCrc: number | undefined
}>

/** The maximum number of ranges listed; further ranges are only counted. */
const RANGES_MAX = 8

/**
 * Reads the commit records.
 * @returns the log, which ends at the highest number found.
 * @throws {StoreError} DATA_LOSS, with the missing numbers; DATA_CORRUPT
 */
export async function readCommitLog(
  database: LevelDatabase,
  expected: ExpectedCommits,
): Promise<CommitLog> {
  const [checkpoint = null] = await readRecords(database, [CHECKPOINT_KEY])
  const lowest = checkpoint === null ? FRESH_LOG.lowest : decodeUint64(checkpoint, CHECKPOINT_KEY)

  const missing: CommitRange[] = []
  let count = 0
  const miss = (first: number, last: number): void => {
    if (first > last) return
    count += last - first + 1
    if (missing.length < RANGES_MAX) missing.push({ first, last })
  }
  let last = lowest - 1
  let start = encodeCommitKey(lowest)
  for (;;) {
    const scan = { start, limit: AFTER_COMMITS, count: SCAN_COUNT }
    const records = await scanRecords(database, scan)
    for (const [key, payload] of records) {
      const sequence = decodeCommitKey(key)
      if (!isOwnCommit(payload, expected.storeCrc)) throw foreignCommit(sequence)
      miss(last + 1, sequence - 1)
      last = sequence
      start = keyAfter(key)
    }
    if (records.length < SCAN_COUNT) break
  }

  // Only a database that was never written to has no record.
  const isWritten =
    last >= lowest ||
    expected.written ||
    checkpoint !== null ||
    (await holdsPartitionRecord(database))
  miss(last + 1, Math.max(expected.atLeast, isWritten ? lowest : 0))
  if (missing.length > 0) throw lostCommits(missing, count)
  return { lowest, last }
}

async function holdsPartitionRecord(database: LevelDatabase): Promise<boolean> {
  const keys = await scanLevelKeys(database, { ...PARTITION_RANGE, count: 1 })
  return keys.length > 0
}

function foreignCommit(sequence: number): StoreError {
  const message = `Commit ${sequence} in the database belongs to another store; ${LOSS_REMEDY}`
  return new StoreError('DATA_CORRUPT', message)
}

function lostCommits(missing: readonly CommitRange[], count: number): StoreError {
  const ranges = missing.map(({ first, last }) =>
    first === last ? `${first}` : `${first} to ${last}`,
  )
  const named = ranges.join(', ')
  const which = count === 1 ? `Commit ${named} is` : `Commits ${named} are`
  const all = missing.length < RANGES_MAX ? `${count} in all` : `${count} in all, these among them`
  return new StoreError(
    'DATA_LOSS',
    `${which} missing from the database (${all}) although they were acknowledged; ${LOSS_REMEDY}`,
  )
}

/** Numbers skipped after a loss, so that the numbers of lost commits are never reused. */
const RESTART_STEP = 2 ** 20

const STALE_DELETED_AT_ONCE = 8_192

/**
 * Restarts the sequence above `after` and every number in the database, in one synced batch. Earlier missing commits
 * are then ignored for good. The batch also raises the store's versions.
 */
export async function restartCommitLog(
  database: LevelDatabase,
  after: number,
  versionBase: number,
  storeCrc: number | undefined,
): Promise<CommitLog> {
  const highest = await highestCommit(database)
  const lowest = Math.max(after, highest) + RESTART_STEP
  const key = encodeCommitKey(lowest)
  await writeBatch(database, [
    putOperation(key, encodeCommit(1, storeCrc)),
    putOperation(VERSION_BASE_KEY, encodeUint64(versionBase)),
    putOperation(CHECKPOINT_KEY, encodeUint64(lowest)),
  ])
  let log: CommitLog = { lowest, last: lowest }
  for (;;) {
    const range = { start: Uint8Array.of(LevelSpace.Commit), limit: key }
    const stale = await scanLevelKeys(database, { ...range, count: STALE_DELETED_AT_ONCE })
    if (stale.length === 0) return log
    const last = log.last + 1
    const deletes = stale.map((gone): LevelOperation => ({ type: 'del', key: gone }))
    const record = putOperation(encodeCommitKey(last), encodeCommit(stale.length, storeCrc))
    await writeBatch(database, [...deletes, record])
    log = { lowest, last }
  }
}

/** The highest commit number; 0: none. Only keys are read, because values may be damaged. */
async function highestCommit(database: LevelDatabase): Promise<number> {
  const range = { start: Uint8Array.of(LevelSpace.Commit), limit: AFTER_COMMITS }
  const [key] = await scanLevelKeys(database, { ...range, count: 1, reverse: true })
  return key === undefined ? 0 : decodeCommitKey(key)
}

/** Adds to a batch the commit record for the given number of puts and deletes. */
export function addCommitRecord(
  batch: Pick<GroupBatch, 'put' | 'delete'>,
  log: CommitLog,
  operationCount: number,
  { commitRecordsMin, checkpointBatches, storeCrc }: CommitLogOptions,
): CommitLog {
  invariant(log.last < Number.MAX_SAFE_INTEGER, 'commit numbers are safe integers')
  const sequence = log.last + 1
  batch.put(encodeCommitKey(sequence), encodeCommit(operationCount, storeCrc))
  if (sequence % checkpointBatches !== 0) return { lowest: log.lowest, last: sequence }

  const surplus = sequence - log.lowest + 1 - commitRecordsMin
  const lowest = log.lowest + Math.max(0, Math.min(surplus, PRUNED_MAX))
  for (let pruned = log.lowest; pruned < lowest; pruned++) batch.delete(encodeCommitKey(pruned))
  batch.put(CHECKPOINT_KEY, encodeUint64(lowest))
  return { lowest, last: sequence }
}

function putOperation(key: Bytes, payload: Bytes): LevelOperation {
  return { type: 'put', key, value: sealValue(key, payload) }
}
