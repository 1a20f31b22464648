// The port for large immutable bytes: segments and files.
//
// Every implementation must keep these rules, which the ObjectStore suite in `rowstash/testing` checks:
// - `put` is durable when it resolves; after a failed put, `get` and `list` show nothing of it.
// - An ID is written once; its bytes never change until it is deleted. Only IDs signed by `presignPut` are written from
//   outside.

import type { Awaitable } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'

/** Bytes from `start` to `limit` (exclusive). */
export type ByteRange = Readonly<{ start: number; limit: number }>

/** 32 lower-case hex digits. The first 16 identify the incarnation (one opening of the store) that wrote it. */
export type ObjectId = string

export const OBJECT_ID_PATTERN = /^[0-9a-f]{32}$/

/** The terms of a signed URL. */
export type PresignTerms = Readonly<{
  /** The required Content-Type of the PUT. */
  contentType: string
  /** The required length of the body; null: any length up to `bytesMax`. */
  contentLength: number | null
  /** The greatest length of the body, in bytes. */
  bytesMax: number
  /** How long the URL is valid, in milliseconds. */
  ttlMs: number
}>

/** A store of large immutable objects. */
export interface ObjectStore {
  /**
   * The cost of one request, as the number of bytes that take as long to read. A read may include up to that many
   * unneeded bytes to save a request, and independent reads run concurrently. Optional, for stores on other machines.
   * Default: 0, as for files on this machine. Range: 0 to 1 MiB; more counts as 1 MiB.
   */
  readonly requestCostBytes?: number

  /**
   * Stores bytes under a new ID. The caller may reuse the buffer once the call has settled.
   * @returns The number of bytes stored.
   * @throws {StoreError} STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE: nothing is stored.
   */
  put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number>

  /**
   * Reads an object, or a range, cut at the object's end. null: there is no such object. May return bytes without a
   * promise; failures are always rejected promises.
   * @param memory - The store may return the bytes in this memory, if it is large enough, or in other memory.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  get(id: ObjectId, range?: ByteRange, memory?: Bytes): Awaitable<Bytes | null>

  /**
   * Reads as `get` does, in pieces of bounded size.
   * @throws {StoreError} as `get`, also from the iterator
   */
  stream(id: ObjectId, range?: ByteRange): Promise<AsyncIterable<Bytes> | null>

  /**
   * Signs an absolute URL to which a client without credentials may PUT an object under a new ID. It may do so
   * repeatedly until the URL expires. The bytes are untrusted and may change until then, so they must be copied
   * before use. Optional: only for stores that can sign URLs.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  presignPut?(id: ObjectId, terms: PresignTerms): Promise<string>

  /**
   * Deletes objects; a missing object is no error.
   * @throws {StoreError} STORAGE_UNAVAILABLE; some may be deleted then
   */
  delete(ids: readonly ObjectId[]): Promise<void>

  /**
   * Lists at most 1,000 object IDs that have a prefix and sort after `after`, ascending. Empty: there are no more.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  list(prefix: string, after?: ObjectId): Promise<ObjectId[]>

  /**
   * Free space for objects and records of the store, in bytes. Optional: only if space is limited and known.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  freeBytes?(): Promise<number>

  /**
   * Waits for current calls, and frees everything. No other call may follow.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  close(): Promise<void>
}
