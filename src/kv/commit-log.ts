// The dense sequence of commit records, by which an open notices that the database lost some.
//
// LevelDB drops a damaged part of its log without an error and keeps what follows (40 of 40 flipped
// bits, ARCHITECTURE.md, F3). So each written batch also puts commit record number n, one more than the
// batch before, and a missing number tells that acknowledged commits are gone. Records cut off at the
// end leave no gap: no record inside the database can show those.
//
// Invariants:
// - The records of `lowest` to `last` are all there, and none else; `lowest` is in the checkpoint
//   record, or 1 when there is none.
// - A batch changes them by itself: its record, and when records are pruned the deletes and the
//   checkpoint, are part of it.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import { keyAfter } from './key-range.js'
import type { LevelDatabase, LevelOperation } from './level-database.js'
import { readRecords, scanKeys, scanRecords } from './level-database.js'
import {
  CHECKPOINT_KEY,
  decodeCommitKey,
  decodeUint64,
  encodeCommitKey,
  encodeUint32,
  encodeUint64,
  LevelSpace,
  sealValue,
} from './record-envelope.js'

/** Both are at least 0; `last` is `lowest - 1` when there is no record. */
export type CommitLog = Readonly<{ lowest: number; last: number }>

export type CommitLogOptions = Readonly<{ commitRecordsMin: number; checkpointBatches: number }>

const FRESH_LOG: CommitLog = { lowest: 1, last: 0 }
const SCAN_COUNT = 10_000
const PRUNED_MAX = 8_192
const AFTER_COMMITS = Uint8Array.of(LevelSpace.Commit + 1)
const PARTITION_RANGE = {
  start: Uint8Array.of(LevelSpace.Partition),
  limit: Uint8Array.of(LevelSpace.Partition + 1),
}

/**
 * Reads the sequence and makes sure that none is missing.
 * @param isWritten - The database is known to hold commits.
 * @throws {StoreError} DATA_LOSS, saying which numbers are missing; DATA_CORRUPT
 */
export async function readCommitLog(
  database: LevelDatabase,
  isWritten: boolean,
): Promise<CommitLog> {
  const [checkpoint = null] = await readRecords(database, [CHECKPOINT_KEY])
  const lowest = checkpoint === null ? FRESH_LOG.lowest : decodeUint64(checkpoint, CHECKPOINT_KEY)

  let last = lowest - 1
  let start = encodeCommitKey(lowest)
  for (;;) {
    const scan = { start, limit: AFTER_COMMITS, count: SCAN_COUNT }
    const records = await scanRecords(database, scan)
    for (const [key] of records) {
      const sequence = decodeCommitKey(key)
      if (sequence !== last + 1) throw missingCommits(last + 1, sequence - 1)
      last = sequence
      start = keyAfter(key)
    }
    if (records.length < SCAN_COUNT) break
  }

  // Only a database that was never written to has no record at all.
  if (last < lowest) {
    const written = isWritten || checkpoint !== null || (await holdsPartitionRecord(database))
    if (written) throw missingCommits(lowest, lowest)
  }
  return { lowest, last }
}

async function holdsPartitionRecord(database: LevelDatabase): Promise<boolean> {
  const keys = await scanKeys(database, { ...PARTITION_RANGE, count: 1 })
  return keys.length > 0
}

function missingCommits(first: number, last: number): StoreError {
  const which = first === last ? `Commit ${first} is` : `Commits ${first} to ${last} are`
  return new StoreError('DATA_LOSS', `${which} missing from the database`)
}

/** Decides what a batch of `operationCount` puts and deletes writes besides them. */
export function planCommitRecord(
  log: CommitLog,
  operationCount: number,
  { commitRecordsMin, checkpointBatches }: CommitLogOptions,
): { log: CommitLog; operations: LevelOperation[] } {
  invariant(log.last < Number.MAX_SAFE_INTEGER, 'commit numbers are safe integers')
  const sequence = log.last + 1
  const operations = [putOperation(encodeCommitKey(sequence), encodeUint32(operationCount))]
  if (sequence % checkpointBatches !== 0) return { log: { ...log, last: sequence }, operations }

  const surplus = sequence - log.lowest + 1 - commitRecordsMin
  const lowest = log.lowest + Math.max(0, Math.min(surplus, PRUNED_MAX))
  for (let pruned = log.lowest; pruned < lowest; pruned++) {
    operations.push({ type: 'del', key: encodeCommitKey(pruned) })
  }
  operations.push(putOperation(CHECKPOINT_KEY, encodeUint64(lowest)))
  return { log: { lowest, last: sequence }, operations }
}

function putOperation(key: Bytes, payload: Bytes): LevelOperation {
  return { type: 'put', key, value: sealValue(key, payload) }
}
