// The port for big immutable bytes: segments and users' files.
//
// What every implementation owes (proved by the ObjectStore suite in `rowstash/testing`):
// - `put` is durable when it resolves; a put that fails leaves nothing that `get` or `list` shows.
// - An id is written once; its bytes never change until it is deleted. Only an id that `presignPut` gave
//   away is written from outside.

import type { Awaitable } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'

/** Bytes from `start` (included) to `limit` (not included). */
export type ByteRange = Readonly<{ start: number; limit: number }>

/** 32 lower-case hex digits. The first 16 name the incarnation (one opening of the store) that wrote it. */
export type ObjectId = string

export const OBJECT_ID_PATTERN = /^[0-9a-f]{32}$/

/** What somebody who holds a signed URL may put. */
export type PresignTerms = Readonly<{
  contentType: string
  /** null: any length up to `bytesMax`. */
  contentLength: number | null
  bytesMax: number
  /** How long the URL is good. */
  ttlMs: number
}>

export interface ObjectStore {
  /**
   * Stores bytes under an id that was never used before. Once it settles, the caller may use the bytes'
   * buffer for something else.
   * @returns the number of bytes stored.
   * @throws {StoreError} STORAGE_UNAVAILABLE or INSUFFICIENT_STORAGE: nothing is stored.
   */
  put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number>

  /**
   * Reads an object or a range of it, cut at its end. null: there is no such object. At once, if that takes no
   * longer than to ask for it; a failure is always a rejected promise.
   * @param memory - Where the bytes may be put, if it is large enough; they may as well come elsewhere.
   * @throws {StoreError} STORAGE_UNAVAILABLE
   */
  get(id: ObjectId, range?: ByteRange, memory?: Bytes): Awaitable<Bytes | null>

  /** As `get`, in pieces of bounded size, so that any object can be read in little memory. */
  stream(id: ObjectId, range?: ByteRange): Promise<AsyncIterable<Bytes> | null>

  /**
   * Only of a store that can sign for itself: an absolute URL to which a client without credentials may
   * PUT an object with an id that was never used before, once or again until the URL ends. What it puts
   * is untrusted and may change as long as the URL is good: whoever wants it copies it.
   */
  presignPut?(id: ObjectId, terms: PresignTerms): Promise<string>

  /** Deletes objects; those that are not there are no error. */
  delete(ids: readonly ObjectId[]): Promise<void>

  /**
   * Object ids that begin with a prefix, ascending, after `after`; at most 1,000, an empty list when done.
   */
  list(prefix: string, after?: ObjectId): Promise<ObjectId[]>

  close(): Promise<void>
}
