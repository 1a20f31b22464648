// Access to an abstract-level database: bytes in and out, every value verified, every failure a StoreError.

import type {
  AbstractBatchOptions,
  AbstractGetManyOptions,
  AbstractGetOptions,
  AbstractIteratorOptions,
  AbstractKeyIteratorOptions,
  AbstractSnapshot,
} from 'abstract-level'
import type { Bytes } from '../base/bytes.js'
import { compareBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { reasonOf } from '../base/shown-text.js'
import type { StoreErrorCode, WriteOutcome } from '../base/store-error.js'
import { isStoreError, StoreError } from '../base/store-error.js'
import type { KvScan } from './kv.js'
import { openValue } from './record-envelope.js'

/**
 * The used members of an abstract-level database. All implementations have them, whatever their default encodings.
 * Errors are those of `abstract-level`; `openLevelKv` converts each to a `StoreError`.
 */
export interface LevelDatabase {
  readonly status: string
  /** `getSync`: whether point reads do not need a thread pool. */
  readonly supports: Readonly<{ explicitSnapshots: boolean; getSync?: boolean }>
  open(): Promise<void>
  /** For a database whose `open` takes no lock: locks it until it is closed. @throws {StoreError} STORE_LOCKED */
  lock?(): Promise<void>
  /** Releases the lock of an open database that cannot be used. */
  unlock?(): void
  close(): Promise<void>
  snapshot(): AbstractSnapshot
  getSync<K, V>(key: K, options: AbstractGetOptions<K, V>): V | undefined
  getMany<K, V>(keys: K[], options: AbstractGetManyOptions<K, V>): Promise<(V | undefined)[]>
  batch<K, V>(
    operations: LevelOperation<K, V>[],
    options: AbstractBatchOptions<K, V>,
  ): Promise<void>
  /**
   * Does what `batch` does, faster for few operations. The database keeps the memory of the largest such batch. When
   * `writeSmall` or `writeLarge` returns, it has copied keys and values, so the caller may overwrite them.
   */
  writeSmall?(operations: readonly LevelOperation[], sync: boolean): Promise<void>
  /** Does what `batch` does, with less memory. */
  writeLarge?(operations: LevelOperation[], sync: boolean): Promise<void>
  iterator<K, V>(options: AbstractIteratorOptions<K, V>): LevelIterator<[K, V]>
  keys<K>(options: AbstractKeyIteratorOptions<K>): Pick<LevelIterator<K>, 'all'>
  /** Rewrites a range without deleted and replaced entries. Only for databases on a disk. */
  compactRange?<K>(start: K, end: K, options: { keyEncoding: string }): Promise<void>
}

interface LevelIterator<T> {
  nextv(count: number): Promise<T[]>
  all(): Promise<T[]>
  close(): Promise<void>
}

export type LevelOperation<K = Bytes, V = Bytes> =
  | { type: 'put'; key: K; value: V }
  | { type: 'del'; key: K }

/** Frozen: V8 of Node 20 takes twenty times as long to spread an unfrozen object with additions. */
const ENCODINGS = Object.freeze({ keyEncoding: 'view', valueEncoding: 'view' })

/**
 * The maximum number of bytes per call of an iterator. Classic-level supports this limit; other implementations
 * ignore it.
 */
const SCAN_BYTES_MAX = 1_048_576

/** Writes all operations or none. Resolves when they are durable, or with `sync: false` when they are in the log. */
export function writeBatch(
  database: LevelDatabase,
  operations: LevelOperation[],
  sync = true,
): Promise<void> {
  if (database.writeSmall !== undefined && isSmallBatch(operations)) {
    return database.writeSmall(operations, sync)
  }
  if (database.writeLarge !== undefined) return database.writeLarge(operations, sync)
  // abstract-level passes `sync` on. Databases that are not durable ignore it.
  const options = Object.freeze({ ...ENCODINGS, sync }) // Frozen like ENCODINGS.
  return database.batch<Bytes, Bytes>(operations, options)
}

/** The number of bytes of an operation's key and value. */
export function operationBytes(operation: LevelOperation): number {
  return operation.key.length + (operation.type === 'put' ? operation.value.length : 0)
}

/** The maximum number of bytes of a batch for `writeSmall`: a few hundred changes of rows. */
export const SMALL_BYTES_MAX = 64 * 1024

function isSmallBatch(operations: readonly LevelOperation[]): boolean {
  let bytes = 0
  for (const operation of operations) {
    bytes += operationBytes(operation)
    if (bytes > SMALL_BYTES_MAX) return false
  }
  return true
}

/** The payload of a record by its LevelDB key, in the snapshot if there is one. Only for a database with `getSync`. */
export function readRecordNow(
  database: LevelDatabase,
  key: Bytes,
  snapshot: AbstractSnapshot | undefined,
): Bytes | null {
  try {
    return openFound(key, database.getSync<Bytes, Bytes>(key, { ...ENCODINGS, snapshot }))
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
}

/** Payloads of records by their LevelDB keys, in the snapshot if there is one. */
export async function readRecords(
  database: LevelDatabase,
  keys: readonly Bytes[],
  snapshot?: AbstractSnapshot,
): Promise<(Bytes | null)[]> {
  const options = { ...ENCODINGS, snapshot }
  try {
    if (!database.supports.getSync) {
      const values = await database.getMany<Bytes, Bytes>([...keys], options)
      return values.map((value, index) => openFound(keys[index], value))
    }
    return keys.map((key) => openFound(key, database.getSync<Bytes, Bytes>(key, options)))
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
}

function openFound(key: Bytes | undefined, value: Bytes | undefined): Bytes | null {
  invariant(key !== undefined, 'a value is read for each key')
  return value === undefined ? null : openValue(key, value)
}

const NO_PAYLOAD = new Uint8Array(0)

/** Records of a range of LevelDB keys, in order, with their LevelDB keys. */
export async function scanRecords(
  database: LevelDatabase,
  scan: KvScan,
  snapshot?: AbstractSnapshot,
): Promise<[key: Bytes, payload: Bytes][]> {
  const { start, limit, count, bytesMax = Number.POSITIVE_INFINITY } = scan
  const { reverse = false, keysOnly = false } = scan
  if (compareBytes(start, limit) >= 0) return []
  const range = { gte: start, lt: limit, limit: count, reverse, values: !keysOnly }
  const options = { ...ENCODINGS, ...range, snapshot, highWaterMarkBytes: SCAN_BYTES_MAX }
  const records: [Bytes, Bytes][] = []
  let bytesLeft = bytesMax
  try {
    const iterator = database.iterator<Bytes, Bytes>(options)
    try {
      while (records.length < count && bytesLeft > 0) {
        const entries = await iterator.nextv(count - records.length)
        if (entries.length === 0) break
        for (const [key, value] of entries) {
          const payload = keysOnly ? NO_PAYLOAD : openValue(key, value)
          bytesLeft -= payload.length
          records.push([key, payload])
        }
      }
    } finally {
      await iterator.close()
    }
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
  return records
}

/** Stored entries of a range, unverified. */
export async function scanStored(
  database: LevelDatabase,
  { start, limit, count }: KvScan,
  snapshot: AbstractSnapshot,
): Promise<[key: Bytes, value: Bytes][]> {
  const range = { gte: start, lt: limit, limit: count }
  const options = { ...ENCODINGS, ...range, snapshot, highWaterMarkBytes: SCAN_BYTES_MAX }
  const found: [Bytes, Bytes][] = []
  try {
    const iterator = database.iterator<Bytes, Bytes>(options)
    try {
      while (found.length < count) {
        const entries = await iterator.nextv(count - found.length)
        if (entries.length === 0) break
        for (const entry of entries) found.push(entry)
      }
    } finally {
      await iterator.close()
    }
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
  return found
}

/** LevelDB keys of a range, without reading values. */
export async function scanLevelKeys(
  database: LevelDatabase,
  { start, limit, count, reverse = false }: KvScan,
): Promise<Bytes[]> {
  if (compareBytes(start, limit) >= 0) return []
  try {
    const range = { gte: start, lt: limit, limit: count, reverse }
    return await database.keys<Bytes>({ keyEncoding: 'view', ...range }).all()
  } catch (failure) {
    throw storageError(failure, 'The database cannot be read')
  }
}

/** The bounds of all our keys. */
const FIRST_KEY = Uint8Array.of(0)
const LAST_KEY = Uint8Array.of(0xff)

/** Rewrites the whole database without deleted and replaced records, if the database has `compactRange`. */
export async function compactAll(database: LevelDatabase): Promise<void> {
  try {
    await database.compactRange?.<Bytes>(FIRST_KEY, LAST_KEY, { keyEncoding: 'view' })
  } catch (failure) {
    throw storageError(failure, 'The database cannot be compacted')
  }
}

/** A range above every key of ours. Compacting it rewrites nothing, but flushes the memory table first. */
const NO_KEYS = [LAST_KEY, Uint8Array.of(0xff, 0xff)] as const

/** Puts all that was written so far on disk, and begins a new log. */
export async function flushMemory(database: LevelDatabase): Promise<void> {
  await database.compactRange?.<Bytes>(...NO_KEYS, { keyEncoding: 'view' })
}

const CAUSES_MAX = 8

const CODE_OF_LEVEL_CODE: Readonly<Record<string, StoreErrorCode>> = {
  LEVEL_CORRUPTION: 'DATA_CORRUPT',
  LEVEL_LOCKED: 'STORE_LOCKED',
  ENOSPC: 'INSUFFICIENT_STORAGE',
  EDQUOT: 'INSUFFICIENT_STORAGE',
}

const NOT_OPEN_CODES: ReadonlySet<unknown> = new Set([
  'LEVEL_DATABASE_NOT_OPEN',
  'LEVEL_ITERATOR_NOT_OPEN',
  'LEVEL_SNAPSHOT_NOT_OPEN',
  'LEVEL_BATCH_NOT_OPEN',
])

/** Converts a failure of the database to a StoreError. A StoreError does not change. */
export function storageError(
  failure: unknown,
  message: string,
  outcome?: WriteOutcome,
): StoreError {
  if (isStoreError(failure) && outcome === undefined) return failure
  const details = outcome === undefined ? { cause: failure } : { cause: failure, outcome }
  const reason = reasonOf(failure)
  return new StoreError(codeOf(failure), `${message}${reason}`, details)
}

/** A cause is more specific than its wrapper: "not open" may wrap "locked", an I/O error a full disk. */
function codeOf(failure: unknown): StoreErrorCode {
  let code: StoreErrorCode | undefined
  let inner = failure
  for (let depth = 0; typeof inner === 'object' && inner !== null && depth < CAUSES_MAX; depth++) {
    const { code: levelCode, message, cause } = inner as Partial<Error & { code: unknown }>
    if (typeof levelCode === 'string' && Object.hasOwn(CODE_OF_LEVEL_CODE, levelCode)) {
      code = CODE_OF_LEVEL_CODE[levelCode]
    } else if (/No space left on device|Disk quota exceeded/i.test(message ?? '')) {
      code = 'INSUFFICIENT_STORAGE'
    } else if (NOT_OPEN_CODES.has(levelCode)) {
      code = cause === undefined ? 'STORE_CLOSED' : 'STORAGE_UNAVAILABLE'
    }
    inner = cause
  }
  return code ?? 'STORAGE_UNAVAILABLE'
}
