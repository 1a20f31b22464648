// An ObjectStore in PostgreSQL, for stores too small to need an S3 server: pieces in a table.
//
// Invariants:
// - An object becomes visible with the statement that writes its last pieces and its length. All statements are
//   repeatable, so a lost answer is no failure.
// - A put whose source is slow holds no connection and no transaction.
// - A listing removes the pieces of interrupted puts and deletions, after at least an hour.
import { inBatches } from '../../src/base/batches.js'
import { BoundedMap } from '../../src/base/bounded-map.js'
import { type Bytes, concatBytes, fromHex, NO_BYTES, toHex } from '../../src/base/bytes.js'
import { monotonicMs } from '../../src/base/clock.js'
import { invariant } from '../../src/base/invariant.js'
import { isStoreError, StoreError, type WriteOutcome } from '../../src/base/store-error.js'
import {
  assertObjectId,
  assertRange,
  LIST_COUNT_MAX,
  WHOLE_RANGE,
} from '../../src/objects/object-arguments.js'
import { inPieces } from '../../src/objects/object-parts.js'
import type { ByteRange, ObjectId, ObjectStore } from '../../src/objects/objects.js'
import { encodeByteaArray } from './connection/bytea-array.js'
import { ConnectionPool } from './connection/connection-pool.js'
import type {
  Parameter,
  PostgresConnection,
  Row,
  Statement,
} from './connection/postgres-connection.js'
import { isFinal, postgresError } from './connection/postgres-error.js'
import { PrimaryFinder } from './connection/primary.js'
import { retryPostgres } from './connection/retry.js'
import { type CopiedCell, CopyDecoder, decodeInt8 } from './copy-rows.js'
import { type Batch, cutIntoBatches } from './object-batches.js'
import {
  type PostgresObjectsOptions,
  type ResolvedObjectsOptions,
  resolveObjectsOptions,
} from './object-options.js'
import {
  type ObjectStatements,
  objectStatements,
  objectTables,
  prepareObjectTables,
  UNFINISHED,
  type Window,
} from './object-tables.js'
import { type Found, ObjectWindow, type Slice } from './object-window.js'
import { bytesOfCell } from './partition-names.js'

/** The maximum number of objects that one statement deletes. */
const DELETE_COUNT_MAX = 1_000
/** The maximum bytes of pieces that one statement deletes: it must end in `statementTimeoutMs`, even on a slow disk. */
const REMOVED_BYTES_MAX = 40_000_000
/** Bytes that take as long as a statement itself: 0.5 to 1 ms in a data center, at 3 to 5 ns per byte. */
const REQUEST_COST_BYTES = 128 * 1024
/** The maximum number of bytes that one statement reads. */
const READ_BYTES = 1024 * 1024
/** The maximum number of bytes that one statement writes. */
const WRITTEN_BYTES = 1024 * 1024
/**
 * The minimum bytes of a read that uses COPY. COPY sends raw bytes, which saves 9 ns per byte of hexadecimal text, but
 * is planned each time, which takes 0.1 to 0.2 ms.
 */
const COPY_BYTES_MIN = 16 * 1024
/** The maximum size of an object, in bytes. */
const OBJECT_BYTES_MAX = 2 ** 40
/** How often a listing looks for interrupted puts and deletions, in milliseconds. */
const ABANDONED_EVERY_MS = 600_000
/** The maximum number of failed puts remembered for removal. Garbage collection of the store removes the others. */
const FAILED_MAX = 10_000
/** The maximum number of failed puts whose remains one listing removes. */
const FAILED_TRIED_MAX = 16
const ID_DIGITS = 32
const MARK_BYTES = 16

const WRITING = 'An object cannot be written'
const DELETING = 'An object cannot be deleted'
const LISTING = 'The objects cannot be listed'
const READING = 'An object cannot be read'

/**
 * Opens the objects in tables of a PostgreSQL database. Creates the tables if there are none. Any number of processes
 * may have them open.
 * @throws {StoreError} OPTION_NOT_ALLOWED, STORAGE_UNAVAILABLE, FORMAT_UNKNOWN (tables of a newer version, or not of
 *   objects)
 * @example
 * import { openPostgresObjects } from 'rowstash/postgres'
 *
 * const objects = await openPostgresObjects({ urls: ['postgres://rowstash@db.internal/rows'] })
 * console.log(await objects.list('')) // []
 * await objects.close()
 */
export async function openPostgresObjects(options: PostgresObjectsOptions): Promise<ObjectStore> {
  const resolved = resolveObjectsOptions(options)
  const names = objectTables(resolved)
  const finder = new PrimaryFinder(resolved)
  const prepared = finder.use((connection) => prepareObjectTables(connection, names, resolved))
  return new PostgresObjects(finder, resolved, objectStatements(names, await prepared))
}

class PostgresObjects implements ObjectStore {
  readonly requestCostBytes = REQUEST_COST_BYTES
  readonly #pool: ConnectionPool<PostgresConnection>
  readonly #statements: ObjectStatements
  readonly #options: ResolvedObjectsOptions
  /** The marks of failed puts that may have left a hidden object. */
  readonly #failed = new BoundedMap<ObjectId, Bytes>(FAILED_MAX)
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(
    finder: PrimaryFinder,
    options: ResolvedObjectsOptions,
    statements: ObjectStatements,
  ) {
    const { connectionsMax, retryMsMax } = options
    this.#pool = new ConnectionPool(() => finder.open(async (connection) => connection), {
      max: connectionsMax,
      waitMsMax: retryMsMax,
      what: 'objects',
    })
    this.#statements = statements
    this.#options = options
  }

  async put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    const key = keyOfObject(id)
    const mark = this.#options.random.bytes(MARK_BYTES)
    try {
      return await this.#put(key, mark, content)
    } catch (failure) {
      this.#failed.set(id, mark)
      // A server that does not answer is not asked again: the next listing will clean up.
      if (!isStoreError(failure)) await this.#discard(id, mark).catch(() => undefined)
      throw failure
    }
  }

  async #put(key: Bytes, mark: Bytes, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    let bytes = 0
    const { pieceBytes } = this.#statements
    const batchBytes = WRITTEN_BYTES - (WRITTEN_BYTES % pieceBytes)
    for await (const batch of cutIntoBatches(content, batchBytes)) {
      const number = bytes / pieceBytes
      bytes += batch.bytes.length
      if (bytes > OBJECT_BYTES_MAX) throw tooLong()
      const size = batch.isLast ? bytes : UNFINISHED
      if (number === 0) await this.#begin(key, mark, size, batch)
      else await this.#goOn(key, mark, size, batch, number)
    }
    return bytes
  }

  async #begin(key: Bytes, mark: Bytes, size: number, batch: Batch): Promise<void> {
    const { begin, isOwn } = this.#statements
    const parameters = [key, mark, size, batch.bytes]
    if (countOfResult(await this.#write(begin, parameters, WRITING)) > 0) return
    // The ID is taken: by another put, or by an earlier attempt of this put whose answer was lost.
    const own = countOfResult(await this.#write(isOwn, [key, mark], WRITING))
    invariant(own > 0, 'an object id is put once')
  }

  async #goOn(key: Bytes, mark: Bytes, size: number, batch: Batch, number: number): Promise<void> {
    const parameters = [key, mark, size, batch.bytes, number]
    if (countOfResult(await this.#write(this.#statements.goOn, parameters, WRITING)) > 0) return
    const message = 'An object was deleted while it was put, or its source paused for an hour'
    throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
  }

  async get(id: ObjectId, range: ByteRange = WHOLE_RANGE, memory?: Bytes): Promise<Bytes | null> {
    const windows = await this.#open(id, range, memory)
    if (windows === null) return null
    const parts: Bytes[] = []
    for await (const bytes of windows) parts.push(bytes)
    const [first = NO_BYTES] = parts
    return parts.length > 1 ? concatBytes(parts) : first
  }

  async stream(id: ObjectId, range: ByteRange = WHOLE_RANGE): Promise<AsyncIterable<Bytes> | null> {
    const windows = await this.#open(id, range)
    return windows && windowPieces(windows)
  }

  async delete(ids: readonly ObjectId[]): Promise<void> {
    const keys = ids.map(keyOfObject)
    for (const some of inBatches(keys, DELETE_COUNT_MAX)) {
      await this.#write(this.#statements.hide, [encodeByteaArray(some)], DELETING)
      await this.#remove(some)
    }
    for (const id of ids) this.#failed.delete(id)
  }

  async list(prefix: string, after = ''): Promise<ObjectId[]> {
    await this.#removeRemains()
    const first = keyOrNull(prefix.padEnd(ID_DIGITS, '0'))
    const last = keyOrNull(prefix.padEnd(ID_DIGITS, 'f'))
    if (first === null || last === null) return []
    const parameters = [first, last, keyOrNull(after) ?? NO_BYTES, LIST_COUNT_MAX]
    const rows = await this.#query(this.#statements.list, parameters, LISTING)
    return rows.map(([cell]) => toHex(bytesOfCell(cell))).filter((id) => !this.#failed.has(id))
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  /** @param memory - Memory for the first window. */
  async #open(
    id: ObjectId,
    range: ByteRange,
    memory?: Bytes,
  ): Promise<AsyncIterable<Bytes> | null> {
    assertObjectId(id)
    assertRange(range)
    const first = await this.#read(id, range, memory)
    return first && this.#windows(id, range, first)
  }

  async *#windows(id: ObjectId, range: ByteRange, first: Found): AsyncGenerator<Bytes, void> {
    const limit = Math.min(range.limit, first.total)
    yield first.bytes
    for (let at = range.start + first.bytes.length; at < limit; ) {
      const found = await this.#read(id, { start: at, limit })
      if (found === null) {
        throw new StoreError('STORAGE_UNAVAILABLE', 'An object was deleted while it was read')
      }
      yield found.bytes
      at += found.bytes.length
    }
  }

  /** Reads the first bytes of a range, at most `READ_BYTES`. */
  async #read(id: ObjectId, range: ByteRange, memory?: Bytes): Promise<Found | null> {
    const start = Math.min(range.start, OBJECT_BYTES_MAX)
    const window = { start, limit: Math.min(range.limit, start + READ_BYTES) }
    const isLong = window.limit - start > COPY_BYTES_MIN
    const slices = isLong
      ? this.#copySlices(id, window, memory)
      : this.#readSlices(id, window, memory)
    const found = (await slices).found()
    return this.#failed.has(id) ? null : found
  }

  async #readSlices(id: ObjectId, range: ByteRange, memory?: Bytes): Promise<ObjectWindow> {
    const { first, last, skip, limit } = this.#piecesIn(range)
    const parameters = [keyOfObject(id), first, last, skip, limit]
    const rows = await this.#query(this.#statements.read, parameters, READING)
    const window = new ObjectWindow(id, range, memory)
    for (const [total, place, cell = null] of rows) {
      const bytes = cell === null ? NO_BYTES : bytesOfCell(cell)
      window.add({ total: Number(total), place: Number(place ?? range.start), bytes })
    }
    return window
  }

  async #copySlices(id: ObjectId, range: ByteRange, memory?: Bytes): Promise<ObjectWindow> {
    const text = this.#statements.copy(id, this.#piecesIn(range))
    const copied = async (connection: PostgresConnection): Promise<ObjectWindow> => {
      const decoder = new CopyDecoder()
      const window = new ObjectWindow(id, range, memory)
      await connection.copy(text, (message) => {
        for (const cells of decoder.rowsOf(message)) window.add(decodeSlice(cells, range))
      })
      return window
    }
    return await this.#run(copied, READING)
  }

  #piecesIn({ start, limit }: ByteRange): Window {
    const { pieceBytes } = this.#statements
    const first = Math.floor(start / pieceBytes)
    const last = Math.ceil(limit / pieceBytes) - 1
    return { first, last, skip: start - first * pieceBytes, limit: limit - last * pieceBytes }
  }

  /** Removes leftovers of failed puts and of processes that ended. */
  async #removeRemains(): Promise<void> {
    for (const [id, mark] of this.#failed.oldest(FAILED_TRIED_MAX)) {
      await this.#discard(id, mark)
    }
    if (monotonicMs() - this.#lookedAt < ABANDONED_EVERY_MS) return
    const rows = await this.#write(this.#statements.abandoned, [DELETE_COUNT_MAX], LISTING)
    await this.#remove(rows.map(([cell]) => bytesOfCell(cell)))
    if (rows.length < DELETE_COUNT_MAX) this.#lookedAt = monotonicMs()
  }

  /** Removes leftovers of a put, but nothing of another put of the same ID. */
  async #discard(id: ObjectId, mark: Bytes): Promise<void> {
    const key = keyOfObject(id)
    const hidden = await this.#write(this.#statements.discard, [key, mark], WRITING)
    if (hidden.length > 0) await this.#remove([key])
    this.#failed.delete(id)
  }

  /** Removes the rows of hidden objects, after their pieces. */
  async #remove(keys: readonly Bytes[]): Promise<void> {
    if (keys.length === 0) return
    const { removePieces, removeRows, pieceBytes } = this.#statements
    const array = encodeByteaArray(keys)
    const piecesMax = Math.floor(REMOVED_BYTES_MAX / pieceBytes)
    for (let found = piecesMax; found === piecesMax; ) {
      found = countOfResult(await this.#write(removePieces, [array, piecesMax], DELETING))
    }
    await this.#write(removeRows, [array], DELETING)
  }

  #write(statement: Statement, parameters: readonly Parameter[], message: string): Promise<Row[]> {
    return this.#query(statement, parameters, message, 'unchanged')
  }

  #query(
    statement: Statement,
    parameters: readonly Parameter[],
    message: string,
    outcome?: WriteOutcome,
  ): Promise<Row[]> {
    const run = (connection: PostgresConnection) => replicated(connection, statement, parameters)
    return this.#run(run, message, outcome)
  }

  /** Runs repeatable work. @throws {StoreError} STORAGE_UNAVAILABLE, INSUFFICIENT_STORAGE, DATA_CORRUPT */
  async #run<T>(
    run: (connection: PostgresConnection) => Promise<T>,
    message: string,
    outcome?: WriteOutcome,
  ): Promise<T> {
    try {
      return await retryPostgres(() => this.#pool.use(run), isFinal, this.#options)
    } catch (failure) {
      throw postgresError(failure, message, outcome)
    }
  }
}

/** @throws {StoreError} STORAGE_UNAVAILABLE if the written data may exist only on the primary. */
async function replicated(
  connection: PostgresConnection,
  statement: Statement,
  parameters: readonly Parameter[],
): Promise<Row[]> {
  const rows = await connection.query(statement, parameters)
  if (!connection.isUnreplicated) return rows
  connection.destroy() // The next commit on it would count as unreplicated, too.
  const message = 'PostgreSQL ended the wait for a standby: an object may be on the primary alone'
  throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
}

/** The slice in a row of a result. If the window has no slice, the row has neither place nor bytes. */
function decodeSlice([total, place, bytes]: readonly CopiedCell[], { start }: ByteRange): Slice {
  return {
    total: decodeInt8(bytesOfCell(total)),
    place: place ? decodeInt8(place) : start,
    bytes: bytes ?? NO_BYTES,
  }
}

async function* windowPieces(windows: AsyncIterable<Bytes>): AsyncGenerator<Bytes, void> {
  for await (const bytes of windows) yield* inPieces(bytes)
}

function countOfResult([row]: readonly Row[]): number {
  return Number(row?.[0])
}

function keyOfObject(id: ObjectId): Bytes {
  assertObjectId(id)
  return keyOrNull(id) ?? NO_BYTES
}

/** The key of an object's rows. null: the text is no object ID. */
function keyOrNull(id: string): Bytes | null {
  return id.length === ID_DIGITS ? fromHex(id) : null
}

function tooLong(): StoreError {
  const message = `An object in PostgreSQL has at most ${OBJECT_BYTES_MAX} bytes`
  return new StoreError('INSUFFICIENT_STORAGE', message, { outcome: 'unchanged' })
}
