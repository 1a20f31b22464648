// An ObjectStore in a KvStore of its own, for runtimes without files, such as browsers. FORMAT.md, section 11.
//
// Invariants:
// - An object exists from the commit that puts its head. This commit comes after those of all its pieces.
// - Pieces without a head belong to a put that is in progress or was interrupted. An `unfinished` record names the
//   object until it has a head. Before the first put, the unfinished puts of earlier openings are deleted.
import { type Bytes, concatBytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { StoreError } from '../base/store-error.js'
import {
  decodeObjectHead,
  encodeObjectHead,
  objectHeadKey,
  objectHeadsRange,
  objectIdOfKey,
  objectPieceKey,
  objectPiecesRange,
  UNFINISHED_OBJECTS_RANGE,
  unfinishedObjectKey,
} from '../format/object-records.js'
import { keyAfter } from '../kv/key-range.js'
import type { KvCommit, KvPartition, KvStore } from '../kv/kv.js'
import {
  assertObjectId,
  assertRange,
  LIST_COUNT_MAX,
  WHOLE_RANGE,
} from '../objects/object-arguments.js'
import { cutContentParts } from '../objects/object-parts.js'
import type { ByteRange, ObjectId, ObjectStore } from '../objects/objects.js'
import { checkKv } from './arguments/arguments.js'

const PARTITION = 'objects'
const PIECE_BYTES = 64 * 1024
/**
 * Maximum number of pieces that one call deletes. It is large because each call steps over the pieces deleted before.
 */
const DELETED_COUNT = 100_000
const NO_VALUE = new Uint8Array(0)

/**
 * An object store in a key-value store of its own, which it closes. Objects are stored in records of 64 KiB. One
 * process, or one tab of a browser, may have the key-value store open.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { MemoryLevel } from 'memory-level' // or any other of the abstract-level family
 * import { kvObjects, openLevelKv, openStore } from 'rowstash'
 *
 * const kv = await openLevelKv(new MemoryLevel())
 * const objects = kvObjects(await openLevelKv(new MemoryLevel())) // another database
 * await using store = await openStore({ kv, objects })
 * console.log(store.status().writable) // true
 */
export function kvObjects(kv: KvStore): ObjectStore {
  checkKv(kv)
  return new KvObjects(kv)
}

class KvObjects implements ObjectStore {
  readonly #kv: KvStore
  readonly #partition: KvPartition
  readonly #incoming = new Set<ObjectId>()
  #cleaned: Promise<void> | undefined

  constructor(kv: KvStore) {
    this.#kv = kv
    this.#partition = kv.partition(PARTITION)
  }

  async put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    assertObjectId(id)
    invariant(!this.#incoming.has(id), 'an object id is put once')
    this.#incoming.add(id)
    try {
      this.#cleaned ??= this.#deleteUnfinished()
      await this.#cleaned
      return await this.#put(id, content)
    } finally {
      this.#incoming.delete(id)
    }
  }

  async #put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    const key = objectHeadKey(id)
    await this.#commit({
      checks: [{ key, equals: null }],
      puts: [[unfinishedObjectKey(id), NO_VALUE]],
    })
    let bytes = 0
    let number = 0
    try {
      for await (const piece of cutContentParts(content, PIECE_BYTES)) {
        await this.#commit({ puts: [[objectPieceKey(id, number++), piece]] })
        bytes += piece.length
      }
      await this.#commit({
        checks: [{ key, equals: null }],
        puts: [[key, encodeObjectHead(bytes)]],
        deletes: [unfinishedObjectKey(id)],
      })
      return bytes
    } catch (failure) {
      await this.#deletePieces(id).catch(() => undefined) // After a failure, the next opening deletes the pieces.
      throw failure
    }
  }

  async get(id: ObjectId, range: ByteRange = WHOLE_RANGE): Promise<Bytes | null> {
    const pieces = await this.stream(id, range)
    if (pieces === null) return null
    const parts: Bytes[] = []
    for await (const piece of pieces) parts.push(piece)
    return concatBytes(parts)
  }

  async stream(id: ObjectId, range: ByteRange = WHOLE_RANGE): Promise<AsyncIterable<Bytes> | null> {
    assertObjectId(id)
    assertRange(range)
    const head = await this.#partition.read((view) => view.get(objectHeadKey(id)))
    if (head === null) return null
    return this.#pieces(id, range.start, Math.min(range.limit, decodeObjectHead(head)))
  }

  async *#pieces(id: ObjectId, start: number, limit: number): AsyncGenerator<Bytes, void> {
    for (let at = start; at < limit; ) {
      const number = Math.floor(at / PIECE_BYTES)
      const first = number * PIECE_BYTES
      const piece = await this.#partition.read((view) => view.get(objectPieceKey(id, number)))
      const part = piece?.subarray(at - first, limit - first)
      if (part === undefined || part.length === 0) {
        throw new StoreError('DATA_CORRUPT', `Object ${id} is missing its bytes from ${at} on`)
      }
      yield part
      at += part.length
    }
  }

  async delete(ids: readonly ObjectId[]): Promise<void> {
    for (const id of ids) assertObjectId(id)
    for (const id of ids) {
      // First the object is named as unfinished again, so that a crash leaves no unnamed pieces.
      const key = objectHeadKey(id)
      await this.#commit({ puts: [[unfinishedObjectKey(id), NO_VALUE]], deletes: [key] })
      await this.#deletePieces(id)
    }
  }

  async list(prefix: string, after?: ObjectId): Promise<ObjectId[]> {
    const range = objectHeadsRange(prefix)
    const start = after === undefined ? range.start : keyAfter(objectHeadKey(after))
    const heads = await this.#partition.read((view) =>
      view.scan({ start, limit: range.limit, count: LIST_COUNT_MAX }),
    )
    return heads.map(([key]) => objectIdOfKey(key)).filter((id) => id.startsWith(prefix))
  }

  close(): Promise<void> {
    return this.#kv.close()
  }

  async #deleteUnfinished(): Promise<void> {
    for (;;) {
      const found = await this.#partition.read((view) =>
        view.scan({ ...UNFINISHED_OBJECTS_RANGE, count: LIST_COUNT_MAX }),
      )
      const ids = found.map(([key]) => objectIdOfKey(key)).filter((id) => !this.#incoming.has(id))
      if (ids.length === 0) return
      for (const id of ids) await this.#deletePieces(id)
    }
  }

  async #deletePieces(id: ObjectId): Promise<void> {
    while (
      (await this.#partition.deleteRange(objectPiecesRange(id), DELETED_COUNT)) === DELETED_COUNT
    );
    await this.#commit({ deletes: [unfinishedObjectKey(id)] })
  }

  async #commit(commit: KvCommit): Promise<void> {
    const { ok } = await this.#partition.commit(commit)
    invariant(ok, 'an object id is put once')
  }
}
