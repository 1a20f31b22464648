// An ObjectStore in a bucket of an S3 server. The key of an object is `keyPrefix` and its ID. IDs begin with the 16
// random digits of an incarnation, so keys of many processes are spread, and keys sort like IDs.
//
// Invariants:
// - When a put resolves, the server has acknowledged all bytes and verified their SHA-256.
// - A failed put leaves nothing visible: its object is removed, or hidden until it can be removed.
// - A read is complete: its length is compared with the range that the server states.
// - A stream that waits for its reader holds no connection.
import { createHash } from 'node:crypto'
import { inBatches } from '../../src/base/batches.js'
import { BoundedMap } from '../../src/base/bounded-map.js'
import { type Bytes, NO_BYTES, utf8 } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import { StoreError } from '../../src/base/store-error.js'
import {
  assertObjectId,
  assertRange,
  LIST_COUNT_MAX,
  WHOLE_RANGE,
} from '../../src/objects/object-arguments.js'
import { inPieces } from '../../src/objects/object-parts.js'
import { OBJECT_ID_PATTERN } from '../../src/objects/objects.js'
import type { ByteRange, ObjectId, ObjectStore, PresignTerms } from '../../src/ports.js'
import { S3Client } from './s3-client.js'
import {
  answerFailure,
  credentialsFailure,
  openingError,
  S3Failure,
  s3Error,
} from './s3-failure.js'
import { resolveS3Options, type S3Options, type S3Settings } from './s3-options.js'
import type { S3Answer } from './s3-sockets.js'
import { PutFailure, type Remains, removeRemains, S3Upload } from './s3-upload.js'
import { parseDeleteError, parseListing, renderDelete, xmlText } from './s3-xml.js'

const DELETE_COUNT_MAX = 1_000
/** The maximum number of bytes returned by one `get`. */
const GET_BYTES_MAX = 2 ** 31 - 1
/** The maximum number of pages of foreign keys that a listing skips. */
const FOREIGN_PAGES_MAX = 1_000
/** The maximum number of remembered objects of failed puts. Garbage collection removes older ones. */
const REMAINS_MAX = 10_000
/** The maximum number of remembered objects of failed puts that one listing tries to remove. */
const REMAINS_TRIED_MAX = 16

/**
 * Opens the objects in a bucket of an S3 server, as an `ObjectStore` for `openStore({ kv, objects })`.
 * @throws {StoreError} OPTION_NOT_ALLOWED (an option breaks its rule, or does not fit the server: the bucket is
 *   missing, the credentials are refused, the region is another), STORAGE_UNAVAILABLE
 * @example
 * import { openS3Objects } from 'rowstash/s3'
 *
 * const credentials = { accessKeyId, secretAccessKey }
 * const objects = await openS3Objects({ endpoint, bucket, region, credentials, keyPrefix: 'orders/' })
 * console.log(await objects.list('')) // []
 * await objects.close()
 */
export async function openS3Objects(options: S3Options): Promise<ObjectStore> {
  const settings = resolveS3Options(options)
  const client = new S3Client(settings)
  try {
    const query = { 'list-type': '2', 'max-keys': '1', prefix: settings.keyPrefix }
    await client.send({ method: 'GET', query })
  } catch (failure) {
    await client.close()
    throw openingError(failure, settings)
  }
  return new S3Objects(settings, client)
}

type FoundRange = Readonly<{ bytes: Bytes; total: number; etag: string | undefined }>

class S3Objects implements ObjectStore {
  readonly requestCostBytes: number
  readonly #settings: S3Settings
  readonly #client: S3Client
  /** IDs of puts in progress. */
  readonly #incoming = new Set<ObjectId>()
  readonly #remains = new BoundedMap<ObjectId, Remains>(REMAINS_MAX)

  constructor(settings: S3Settings, client: S3Client) {
    this.requestCostBytes = settings.requestCostBytes
    this.#settings = settings
    this.#client = client
  }

  async put(id: ObjectId, content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    const key = this.#key(id)
    invariant(!this.#incoming.has(id), 'an object id is put once')
    this.#incoming.add(id)
    try {
      return await new S3Upload(this.#client, this.#settings, key).put(content)
    } catch (failure) {
      const { cause, remains } = failure instanceof PutFailure ? failure : { cause: failure }
      if (remains !== undefined) this.#remains.set(id, remains)
      throw s3Error(cause, 'An object cannot be written', 'unchanged')
    } finally {
      this.#incoming.delete(id)
    }
  }

  async get(id: ObjectId, range: ByteRange = WHOLE_RANGE, memory?: Bytes): Promise<Bytes | null> {
    assertRange(range)
    const found = await this.#read(id, range, memory)
    return found === null ? null : found.bytes
  }

  async stream(id: ObjectId, range: ByteRange = WHOLE_RANGE): Promise<AsyncIterable<Bytes> | null> {
    assertRange(range)
    const first = await this.#read(id, this.#window(range, range.start))
    return first === null ? null : this.#pieces(id, range, first)
  }

  async presignPut(id: ObjectId, terms: PresignTerms): Promise<string> {
    const { contentType, contentLength, ttlMs } = terms
    const headers = {
      'content-type': contentType,
      ...(contentLength !== null && { 'content-length': String(contentLength) }),
    }
    const key = this.#key(id)
    try {
      return await this.#client.presignPut(key, headers, ttlMs)
    } catch (failure) {
      throw s3Error(credentialsFailure(failure), 'A URL cannot be signed', 'unchanged')
    }
  }

  async delete(ids: readonly ObjectId[]): Promise<void> {
    const keys = ids.map((id) => this.#key(id))
    this.#client.assertOpen()
    try {
      for (const some of inBatches(keys, DELETE_COUNT_MAX)) await this.#delete(some)
    } catch (failure) {
      throw s3Error(failure, 'An object cannot be deleted')
    }
    for (const id of ids) this.#remains.delete(id)
  }

  async list(prefix: string, after = ''): Promise<ObjectId[]> {
    this.#client.assertOpen()
    await this.#removeRemains()
    try {
      return await this.#list(prefix, after)
    } catch (failure) {
      throw s3Error(failure, 'The objects cannot be listed')
    }
  }

  /** Waits for current requests. */
  close(): Promise<void> {
    return this.#client.close()
  }

  #key(id: ObjectId): string {
    assertObjectId(id)
    this.#client.assertOpen()
    return this.#settings.keyPrefix + id
  }

  async #read(id: ObjectId, range: ByteRange, memory?: Bytes): Promise<FoundRange | null> {
    const key = this.#key(id)
    if (this.#remains.has(id)) return null
    try {
      return await this.#readRange(key, range, memory)
    } catch (failure) {
      throw s3Error(failure, 'An object cannot be read')
    }
  }

  /** Reads a range. Even a whole object is read by range, because the answer then states the object's length. */
  async #readRange(
    key: string,
    { start, limit }: ByteRange,
    memory: Bytes | undefined,
  ): Promise<FoundRange | null> {
    const isEmpty = start === limit
    const last = isEmpty ? start : limit - 1
    const range = `bytes=${start}-${limit === Number.MAX_SAFE_INTEGER ? '' : last}`
    const answer = await this.#client.send({
      method: 'GET',
      key,
      headers: { range },
      refusals: ['404 NoSuchKey', '416'],
      failureIn: (found) => wrongRange(range, { start, limit: last + 1 }, found),
      memory,
      bytesMax: Math.min(last + 1 - start, GET_BYTES_MAX),
    })
    if (answer.status === 404) return null
    const { total } = foundRange(answer)
    const bytes = isEmpty || answer.status === 416 ? NO_BYTES : answer.body
    return { bytes, total, etag: answer.headers.etag }
  }

  /** The part of a range that one request reads. */
  #window({ limit }: ByteRange, start: number): ByteRange {
    return { start, limit: Math.min(limit, start + this.#settings.readBytes) }
  }

  /** Reads the next window while the pieces of the current one are used. */
  async *#pieces(id: ObjectId, range: ByteRange, first: FoundRange): AsyncGenerator<Bytes, void> {
    const limit = Math.min(range.limit, first.total)
    let at = range.start
    for (let found = first; ; ) {
      at += found.bytes.length
      const isLast = at >= limit || found.bytes.length === 0
      const reading = isLast ? undefined : this.#read(id, this.#window({ start: at, limit }, at))
      reading?.catch(() => undefined) // The reader may stop before this read is awaited.
      yield* inPieces(found.bytes)
      if (reading === undefined) return
      const next = await reading
      if (next === null || next.etag !== first.etag || next.total !== first.total) {
        const change = next === null ? 'deleted' : 'replaced'
        throw new StoreError('STORAGE_UNAVAILABLE', `An object was ${change} while it was read`)
      }
      found = next
    }
  }

  async #delete(keys: readonly string[]): Promise<void> {
    const [key] = keys
    if (key === undefined) return
    if (keys.length === 1) {
      await this.#client.send({ method: 'DELETE', key, refusals: ['404 NoSuchKey'] })
      return
    }
    const body = utf8(renderDelete(keys))
    const headers = {
      'content-md5': createHash('md5').update(body).digest('base64'), // S3 requires this header for a bulk delete.
      'content-type': 'application/xml',
    }
    const query = { delete: '' }
    await this.#client.send({ method: 'POST', query, headers, body, failureIn: deleteFailure })
  }

  /** A server may send fewer keys than there are: a page ends where the server says so, or when it is full. */
  async #list(prefix: string, after: string): Promise<ObjectId[]> {
    const { keyPrefix } = this.#settings
    const listed: ObjectId[] = []
    let continuation: string | undefined
    for (let page = 0; page < FOREIGN_PAGES_MAX; page++) {
      const { body } = await this.#client.send({
        method: 'GET',
        query: {
          'list-type': '2',
          'max-keys': String(LIST_COUNT_MAX - listed.length),
          prefix: keyPrefix + prefix,
          ...(after !== '' && { 'start-after': keyPrefix + after }),
          ...(continuation !== undefined && { 'continuation-token': continuation }),
        },
      })
      const found = parseListing(xmlText(body))
      const ids = found.keys.map((key) => key.slice(keyPrefix.length))
      listed.push(...ids.filter((id) => OBJECT_ID_PATTERN.test(id) && !this.#remains.has(id)))
      continuation = found.continuation
      if (listed.length >= LIST_COUNT_MAX || continuation === undefined) return listed
    }
    if (listed.length > 0) return listed
    const problem = `The keyPrefix has ${FOREIGN_PAGES_MAX * LIST_COUNT_MAX} keys that do not belong to this store`
    throw new StoreError('STORAGE_UNAVAILABLE', `${problem}; give the store a keyPrefix of its own`)
  }

  async #removeRemains(): Promise<void> {
    for (const [id, remains] of this.#remains.oldest(REMAINS_TRIED_MAX)) {
      if (!(await removeRemains(this.#client, remains))) return
      this.#remains.delete(id)
    }
  }
}

/** `bytes 0-499/1234`; `*` instead of the first two numbers if the range begins after the end. */
const CONTENT_RANGE = /^bytes (?:(\d{1,15})-\d{1,15}|\*)\/(\d{1,15})$/

/** The offset of an answer's bytes, and the length of the whole object. */
function foundRange({ headers }: S3Answer): Readonly<{ start: number; total: number }> {
  const [, start = '0', total = '0'] = CONTENT_RANGE.exec(headers['content-range'] ?? '') ?? []
  return { start: Number(start), total: Number(total) }
}

/** The failure of an answer without exactly the requested bytes, up to the end of the object. */
function wrongRange(
  asked: string,
  { start, limit }: ByteRange,
  answer: S3Answer,
): S3Failure | undefined {
  const { status, headers, body } = answer
  const found = foundRange(answer)
  const isWhole = body.length === Math.min(limit, found.total) - start && body.length > 0
  const isRange = status === 206 && found.start === start && isWhole
  const isNothing = status === 200 && body.length === 0 // Some servers answer an empty object in this way.
  if (isRange || isNothing || status === 404 || status === 416) return undefined
  const { 'content-range': given = 'none' } = headers
  const message = `asked for ${asked}, the S3 server sent ${body.length} bytes, its Content-Range: ${given}`
  return new S3Failure(message, { status, isRetryable: true, isAmbiguous: false })
}

/** The failure of one object in a bulk delete. The bulk delete is then repeated for all objects. */
function deleteFailure({ body }: S3Answer): S3Failure | undefined {
  const error = parseDeleteError(xmlText(body))
  return error && answerFailure(200, error)
}
