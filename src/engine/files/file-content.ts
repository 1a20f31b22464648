// Streams the bytes of a file into and out of the object store: they are counted, hashed and checked.
//
// Invariants:
// - If content breaks a rule, the `put` of its object fails, and leaves nothing.
// - Not more than one piece is read beyond the maximum size, and nothing of this piece is stored.
// - The last piece of a whole file is returned only if the digest of the file matches.
import { type Bytes, bytesOf, sameBytes, utf8 } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { type Hash, openHash } from '../../base/platform.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import { streamPieces } from '../../base/web-stream.js'
import type { StoredContent } from '../../format/file-records.js'
import {
  LEAF_BYTES,
  type Leaf,
  openLeaves,
  seal,
  sealedBytes,
  sealedRange,
} from '../../format/sealed-content.js'
import type { ByteRange, ObjectId, ObjectStore } from '../../objects/objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { outcomeKnown } from '../leases/lifecycle.js'
import type { Claim } from '../limits/file-claims.js'
import type { Checksum, FileContent } from '../types/file-types.js'
import type { Problem } from '../types/verify-types.js'

export type ContentRules = Readonly<{
  bytesMax: number
  /** The announced length; null: any length up to `bytesMax`. */
  contentLength: number | null
  checksums?: readonly Checksum[]
  /** The claim, which grows with the content. */
  claim: Claim
}>

/**
 * Stores content as a new object, which is pending: the caller names it in a commit, or abandons it.
 * @throws {StoreError} FILE_TOO_LARGE, CONTENT_LENGTH_MISMATCH, CHECKSUM_MISMATCH, or the error of
 *   the content; then nothing is stored
 */
export async function storeContent(
  { ids, objects, activity }: StoreContext,
  content: AsyncIterable<Bytes>,
  rules: ContentRules,
): Promise<StoredContent> {
  const gauge = new Gauge(rules)
  const object = ids.next()
  try {
    const stored = await objects.put(object, seal(object, gauge.pass(content)))
    activity.fileBytesWritten += stored
    const { bytes } = gauge
    invariant(stored === sealedBytes(bytes), 'the object store stored all bytes')
    return { object, bytes, sha256: gauge.sha256(), sealed: true }
  } catch (failure) {
    ids.releaseAfter(failure, [object])
    throw failure
  }
}

/**
 * Discards stored content after its operation failed. If the outcome of the commit is unknown, the object
 * stays, and the garbage collection of a later opening decides.
 */
export async function giveUp(
  context: StoreContext,
  failure: unknown,
  object: ObjectId,
): Promise<void> {
  context.ids.releaseAfter(failure, [object])
  if (isStoreError(failure) && failure.outcome === 'unknown') return
  if (!context.holds.isHeld) await context.objects.delete([object]).catch(() => undefined)
}

/**
 * Deletes objects that have no names and no readers, before garbage collection would. If this fails, garbage collection
 * deletes them.
 */
export async function deleteEarly(context: StoreContext, ids: readonly ObjectId[]): Promise<void> {
  if (ids.length === 0) return
  const { kv, objects } = context
  try {
    if ((await readInUse(context)).isHeld) return
    await kv.flush?.() // A power failure must not restore a record that names an object.
    await objects.delete(ids)
  } catch {
    // Garbage collection tries again.
  }
}

/** Counts and hashes content as it passes, and throws if the content breaks a rule. */
class Gauge {
  readonly #rules: ContentRules
  readonly #sha256 = openHash('sha256')
  readonly #digests: readonly Readonly<{ hash: Hash; digest: Bytes }>[]
  #bytes = 0

  constructor(rules: ContentRules) {
    this.#rules = rules
    const { checksums = [] } = rules
    this.#digests = checksums.map(({ algorithm, digest }) => ({
      hash: openHash(algorithm),
      digest,
    }))
  }

  get bytes(): number {
    return this.#bytes
  }

  sha256(): Bytes {
    return this.#sha256.digest()
  }

  async *pass(content: AsyncIterable<Bytes>): AsyncGenerator<Bytes, void> {
    const { contentLength, bytesMax, claim } = this.#rules
    for await (const piece of content) {
      this.#bytes += piece.length
      if (contentLength !== null && this.#bytes > contentLength) throw wrongLength(contentLength)
      if (this.#bytes > bytesMax) throw fileTooLarge(bytesMax)
      await claim.grow(piece.length)
      this.#sha256.update(piece)
      for (const { hash } of this.#digests) hash.update(piece)
      yield piece
    }
    if (contentLength !== null && this.#bytes !== contentLength) throw wrongLength(contentLength)
    const isOther = this.#digests.some(({ hash, digest }) => !sameBytes(hash.digest(), digest))
    if (isOther)
      throw new StoreError(
        'CHECKSUM_MISMATCH',
        'The bytes do not match the checksum that came with them',
      )
  }
}

export function fileTooLarge(bytesMax: number): StoreError {
  return new StoreError('FILE_TOO_LARGE', `The file may have at most ${bytesMax} bytes`)
}

export function wrongLength(contentLength: number): StoreError {
  const message = `The file must have exactly ${contentLength} bytes, as announced`
  return new StoreError('CONTENT_LENGTH_MISMATCH', message)
}

/** The pieces of content that was given in any accepted form. */
export async function* contentPieces(content: FileContent): AsyncGenerator<Bytes, void> {
  const whole = typeof content === 'string' ? utf8(content) : bytesOf(content)
  if (whole !== undefined) yield* slices(whole)
  else for await (const piece of iterable(content)) yield* slices(checkContentPiece(piece))
}

/** Maximum number of bytes that are hashed between two yields to the event loop. */
const SLICE_BYTES_MAX = 1024 * 1024

function* slices(bytes: Bytes): Generator<Bytes, void> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES_MAX) {
    yield bytes.subarray(at, at + SLICE_BYTES_MAX)
  }
}

function iterable(content: unknown): AsyncIterable<unknown> {
  const pieces = streamPieces(content)
  if (pieces === undefined) throw wrongContent()
  return pieces
}

function checkContentPiece(piece: unknown): Bytes {
  const bytes = bytesOf(piece)
  if (bytes === undefined) throw wrongContent()
  return bytes
}

function wrongContent(): StoreError {
  return new StoreError(
    'REQUEST_VALIDATION_ERROR',
    'The content of a file must be bytes, a text, or a stream of bytes',
  )
}

/**
 * Reads stored content, or a range of it. A range beyond the end of the content is cut.
 * @param isDeleted - Called if the object is missing, to tell whether the file was deleted. If it was not, the error is
 *   DATA_CORRUPT.
 */
export async function* readContent(
  context: StoreContext,
  content: StoredContent,
  range: ByteRange | undefined,
  isDeleted: () => Promise<boolean>,
): AsyncGenerator<Bytes, void> {
  try {
    yield* readPieces(context, content, range, isDeleted)
  } catch (failure) {
    throw outcomeKnown(failure)
  }
}

async function* readPieces(
  { objects }: StoreContext,
  content: StoredContent,
  range: ByteRange | undefined,
  isDeleted: () => Promise<boolean>,
): AsyncGenerator<Bytes, void> {
  const { start, limit } = clip(range, content.bytes)
  const leaves = await storedLeaves(objects, content, { start, limit })
  if (leaves === null) {
    if (await isDeleted()) throw new StoreError('FILE_NOT_FOUND', 'The file was deleted')
    throw new StoreError('DATA_CORRUPT', 'The bytes of a file are missing')
  }
  const hash = limit - start === content.bytes ? openHash('sha256') : undefined
  let held: Bytes | undefined
  let at = leaves.start
  for await (const { bytes } of leaves.leaves) {
    if (held !== undefined && held.length > 0) yield held
    hash?.update(bytes)
    held = bytes.subarray(Math.max(0, start - at), Math.max(0, limit - at))
    at += bytes.length
  }
  const isWhole = hash === undefined || sameBytes(hash.digest(), content.sha256)
  if (at < limit || !isWhole) {
    throw new StoreError('DATA_CORRUPT', 'The bytes of a file do not match its checksum')
  }
  if (held !== undefined && held.length > 0) yield held
}

/** Leaves of an object, each verified if the object is sealed. The first begins at byte `start` of the content. */
type StoredLeaves = Readonly<{ start: number; leaves: AsyncIterable<Leaf> }>

/**
 * The leaves that have the bytes of a range of the content. Those of a sealed object are whole, with their checksums.
 * null: there is no object.
 */
export async function storedLeaves(
  objects: Pick<ObjectStore, 'stream'>,
  { object, bytes, sealed }: StoredContent,
  { start, limit }: ByteRange,
): Promise<StoredLeaves | null> {
  if (!sealed) {
    const pieces = await objects.stream(object, { start, limit })
    return pieces && { start, leaves: asLeaves(pieces) }
  }
  const pieces = await objects.stream(object, sealedRange({ start, limit }, bytes))
  const first = Math.floor(start / LEAF_BYTES)
  return pieces && { start: LEAF_BYTES * first, leaves: openLeaves(object, first, pieces) }
}

async function* asLeaves(pieces: AsyncIterable<Bytes>): AsyncGenerator<Leaf, void> {
  for await (const bytes of pieces) yield { stored: bytes, bytes }
}

/**
 * Checks that stored content exists with its length and, if `full`, that its bytes match the stored digest.
 * @param onRead - Called with the count of bytes as they are read; an error that it throws ends the check.
 * @returns the problem; null: there is none.
 */
export async function checkContent(
  objects: ObjectStore,
  content: StoredContent,
  full: boolean,
  onRead: (count: number) => void,
): Promise<Problem | null> {
  const { object, bytes, sha256 } = content
  // One byte beyond the recorded length is read too, to notice an object that is too long.
  const stored = storedBytes(content)
  const last = Math.max(0, stored - 1)
  const tail = await objects.get(object, { start: last, limit: stored + 1 })
  if (tail === null) return { kind: 'object-missing', message: `Object ${object} is missing` }
  if (tail.length !== stored - last) {
    const has = tail.length > stored - last ? 'more' : 'fewer'
    return {
      kind: 'object-length',
      message: `Object ${object} should have ${stored} bytes, but has ${has}`,
    }
  }
  if (!full) return null
  const hash = openHash('sha256')
  const read = await storedLeaves(objects, content, { start: 0, limit: bytes })
  for await (const leaf of read?.leaves ?? []) {
    hash.update(leaf.bytes)
    onRead(leaf.stored.length)
  }
  if (sameBytes(hash.digest(), sha256)) return null
  return { kind: 'file', message: `The bytes of object ${object} do not match their checksum` }
}

/** Length of the object of stored content, in bytes. */
export function storedBytes({ bytes, sealed }: StoredContent): number {
  return sealed ? sealedBytes(bytes) : bytes
}

function clip(range: ByteRange | undefined, bytes: number): ByteRange {
  const { start, limit } = range ?? { start: 0, limit: bytes }
  const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(limit)
  if (!isRange || start < 0 || limit < start) {
    const message =
      'A range must have a start and a limit, both whole numbers, with 0 <= start <= limit'
    throw new StoreError('REQUEST_VALIDATION_ERROR', message)
  }
  return { start: Math.min(start, bytes), limit: Math.min(limit, bytes) }
}
