// Checks a whole database: every key and checksum, and that commit records are dense. It continues after damage, to
// report all damage.
import type { AbstractSnapshot } from 'abstract-level'
import type { Bytes } from '../base/bytes.js'
import { toHex } from '../base/bytes.js'
import { isStoreError, StoreError } from '../base/store-error.js'
import { keyAfter, prefixRange, spaceRange } from './key-range.js'
import type { KvCheckItem, KvScan } from './kv.js'
import { type LevelDatabase, scanStored } from './level-database.js'
import {
  CHECKPOINT_KEY,
  decodeCommitKey,
  decodeUint64,
  encodeCommitKey,
  encodePartitionPrefix,
  LevelSpace,
  openValue,
  partitionOfKey,
} from './record-envelope.js'

const SCAN_COUNT = 1_000
const KEY_HEX_BYTES_MAX = 64
/** Sorts after every key of ours. */
const LAST_KEY = Uint8Array.of(0xff)

type Read = (scan: KvScan) => Promise<[key: Bytes, value: Bytes][]>

/** @param full - Check every record; otherwise the commit records, and one record per partition. */
export async function* checkDatabase(
  database: LevelDatabase,
  snapshot: AbstractSnapshot,
  full: boolean,
): AsyncGenerator<KvCheckItem, void> {
  const read: Read = (scan) => scanStored(database, scan, snapshot)
  try {
    yield* checkMeta(read)
    yield* checkCommits(read)
    yield* full ? checkRecords(read) : listPartitions(read)
  } catch (failure) {
    yield damageOf(failure)
  }
}

async function* checkMeta(read: Read): AsyncGenerator<KvCheckItem, void> {
  for await (const [key, value] of entries(read, spaceRange(LevelSpace.Meta))) {
    yield* damagesOf(() => openValue(key, value))
  }
}

async function* checkCommits(read: Read): AsyncGenerator<KvCheckItem, void> {
  const [checkpoint] = await read({
    start: CHECKPOINT_KEY,
    limit: keyAfter(CHECKPOINT_KEY),
    count: 1,
  })
  let next = 1
  yield* damagesOf(() => {
    if (checkpoint !== undefined) next = decodeUint64(openValue(...checkpoint), CHECKPOINT_KEY)
  })
  const range = { start: encodeCommitKey(next), limit: spaceRange(LevelSpace.Commit).limit }
  for await (const [key, value] of entries(read, range)) {
    yield* damagesOf(() => {
      openValue(key, value)
      const sequence = decodeCommitKey(key)
      const missing = sequence - next
      next = sequence + 1
      if (missing === 0) return
      const message = `${missing} commits before commit ${sequence} are missing`
      throw new StoreError('DATA_LOSS', message)
    })
  }
}

async function* checkRecords(read: Read): AsyncGenerator<KvCheckItem, void> {
  let last: string | null = null
  const range = { start: Uint8Array.of(LevelSpace.Commit + 1), limit: LAST_KEY }
  for await (const [key, value] of entries(read, range)) {
    yield* damagesOf(() => openValue(key, value))
    const partition = partitionOfKey(key)
    if (partition === null) yield unknownRecord(key)
    else if (partition !== last) yield { kind: 'partition', partition }
    last = partition ?? last
  }
}

/** Reads one record per partition; the next one begins after the partition's last key. */
async function* listPartitions(read: Read): AsyncGenerator<KvCheckItem, void> {
  let start: Bytes = Uint8Array.of(LevelSpace.Commit + 1)
  for (;;) {
    const [found] = await read({ start, limit: LAST_KEY, count: 1 })
    if (found === undefined) return
    const [key] = found
    const partition = partitionOfKey(key)
    if (partition === null) yield unknownRecord(key)
    else yield { kind: 'partition', partition }
    start = partition === null ? keyAfter(key) : prefixRange(encodePartitionPrefix(partition)).limit
  }
}

async function* entries(
  read: Read,
  { start, limit }: Pick<KvScan, 'start' | 'limit'>,
): AsyncGenerator<readonly [key: Bytes, value: Bytes], void> {
  let from = start
  for (;;) {
    const found = await read({ start: from, limit, count: SCAN_COUNT })
    yield* found
    const last = found[found.length - 1]
    if (found.length < SCAN_COUNT || last === undefined) return
    from = keyAfter(last[0])
  }
}

function* damagesOf(look: () => void): Generator<KvCheckItem, void> {
  try {
    look()
  } catch (failure) {
    yield damageOf(failure)
  }
}

function damageOf(failure: unknown): KvCheckItem {
  if (!isStoreError(failure)) throw failure
  const { code, message } = failure
  if (code === 'DATA_LOSS') return { kind: 'commit-log', message }
  if (code === 'DATA_CORRUPT') return { kind: 'record', message }
  if (code === 'STORAGE_UNAVAILABLE') return { kind: 'unreadable', message }
  throw failure
}

function unknownRecord(key: Bytes): KvCheckItem {
  const hex = toHex(key.subarray(0, KEY_HEX_BYTES_MAX))
  return { kind: 'record', message: `There is an unknown record with the key ${hex}` }
}
