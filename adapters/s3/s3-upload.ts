// Puts one object, by one request or in parts.
//
// Invariants:
// - An object becomes visible when it is complete: after its only request, or after the request that completes its
//   parts.
// - Every put marks its object with a random text. So after a lost answer, it is clear whether an existing object
//   belongs to this put, and after a failure only such an object is removed.
// - A put in parts is completed or aborted. A lifecycle rule of the bucket must remove parts left by a killed process.
import { type Bytes, NO_BYTES, toHex, utf8 } from '../../src/base/bytes.js'
import { invariant } from '../../src/base/invariant.js'
import { StoreError } from '../../src/base/store-error.js'
import { cutContentParts } from '../../src/objects/object-parts.js'
import type { S3Client, S3Reply, S3Request } from './s3-client.js'
import { answerFailure, S3Failure } from './s3-failure.js'
import type { S3Settings } from './s3-options.js'
import type { S3Answer } from './s3-sockets.js'
import { parseError, parseUploads, parseXmlUploadId, renderParts, xmlText } from './s3-xml.js'

/** The maximum number of parts of an object: a limit of S3. */
const PARTS_MAX = 10_000
const MARK_BYTES = 16
const MARK_HEADER = 'x-amz-meta-put'

/** What a failed put may have left: an object under this key. It is of this put only if it has this mark. */
export type Remains = Readonly<{ key: string; mark: string }>

export class PutFailure extends Error {
  override readonly name = 'PutFailure'
  readonly remains: Remains | undefined

  constructor(cause: unknown, remains: Remains | undefined) {
    super('A put failed', { cause })
    this.remains = remains
  }
}

export class S3Upload {
  readonly #client: S3Client
  readonly #settings: S3Settings
  readonly #key: string
  readonly #mark: string
  /** Whether an object of this put may exist. */
  #mayShow = false

  constructor(client: S3Client, settings: S3Settings, key: string) {
    this.#client = client
    this.#settings = settings
    this.#key = key
    this.#mark = toHex(settings.random.bytes(MARK_BYTES))
  }

  /**
   * @returns The number of bytes.
   * @throws {PutFailure} with the remains, and the reason as its cause
   */
  async put(content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    try {
      return await this.#put(content)
    } catch (failure) {
      const remains = { key: this.#key, mark: this.#mark }
      const isGone = !this.#mayShow || (await removeRemains(this.#client, remains))
      throw new PutFailure(failure, isGone ? undefined : remains)
    }
  }

  async #put(content: Bytes | AsyncIterable<Bytes>): Promise<number> {
    const parts = cutContentParts(content, this.#settings.partBytes)
    try {
      const { value: first = NO_BYTES } = await parts.next()
      const { value: second } = await parts.next()
      return second === undefined
        ? await this.#putWhole(first)
        : await this.#putParts([first, second], parts)
    } finally {
      await parts.return() // Closes a source that was not read to its end.
    }
  }

  async #putWhole(body: Bytes): Promise<number> {
    await this.#show({ method: 'PUT', key: this.#key, headers: this.#newHeaders(), body })
    return body.length
  }

  /** The headers of the request that creates an object. */
  #newHeaders(): Record<string, string> {
    return {
      ...this.#condition(),
      'content-type': 'application/octet-stream',
      [MARK_HEADER]: this.#mark,
    }
  }

  #condition(): Record<string, string> {
    return this.#settings.conditionalPuts ? { 'if-none-match': '*' } : {}
  }

  /**
   * Sends the request that makes the object visible. If the object already exists, an earlier attempt without an answer
   * may have created it.
   */
  async #show(request: S3Request): Promise<void> {
    const refusals = ['412', '404 NoSuchUpload']
    let reply: S3Reply
    try {
      reply = await this.#client.send({ ...request, refusals })
    } catch (failure) {
      this.#mayShow = failure instanceof S3Failure && failure.isAmbiguous
      throw failure
    }
    if (reply.status < 300) return
    this.#mayShow = reply.mayHaveHappened
    if (this.#mayShow && (await isMarked(this.#client, this.#key, this.#mark))) return
    this.#mayShow = false
    invariant(reply.status !== 412, 'an object id is put once')
    throw new StoreError('STORAGE_UNAVAILABLE', 'The S3 server no longer has an upload', {
      outcome: 'unchanged',
    })
  }

  async #putParts(begun: readonly Bytes[], others: AsyncIterable<Bytes>): Promise<number> {
    const { 'if-none-match': _, ...headers } = this.#newHeaders()
    const reply = await this.#client.send({
      method: 'POST',
      key: this.#key,
      query: { uploads: '' },
      headers,
    })
    const uploadId = parseXmlUploadId(xmlText(reply.body))
    try {
      if (uploadId === undefined) throw noUploadId()
      const { etags, bytes } = await this.#sendParts(uploadId, begun, others)
      await this.#show({
        method: 'POST',
        key: this.#key,
        query: { uploadId },
        headers: { ...this.#condition(), 'content-type': 'application/xml' },
        body: utf8(renderParts(etags)),
        failureIn: lateFailure,
      })
      if (reply.mayHaveHappened) await this.#abortAll()
      return bytes
    } catch (failure) {
      if (uploadId !== undefined) await this.#abort(uploadId)
      if (reply.mayHaveHappened || uploadId === undefined) await this.#abortAll()
      throw failure
    }
  }

  async #sendParts(
    uploadId: string,
    begun: readonly Bytes[],
    others: AsyncIterable<Bytes>,
  ): Promise<Readonly<{ etags: string[]; bytes: number }>> {
    const etags: string[] = []
    const sending = new Set<Promise<void>>()
    let bytes = 0
    const send = async (part: Bytes): Promise<void> => {
      if (sending.size >= this.#settings.partsAtOnce) await Promise.race(sending)
      const index = etags.push('') - 1
      if (index >= PARTS_MAX) throw tooManyParts(this.#settings)
      bytes += part.length
      const sent = this.#sendPart(uploadId, index + 1, part).then((etag) => {
        etags[index] = etag
        sending.delete(sent)
      })
      sent.catch(() => undefined) // The next wait for parts gets the failure.
      sending.add(sent)
    }
    try {
      for (const part of begun) await send(part)
      for await (const part of others) await send(part)
      await Promise.all(sending)
      return { etags, bytes }
    } finally {
      await Promise.allSettled(sending) // A part that arrives after the abort would stay on the server.
    }
  }

  async #sendPart(uploadId: string, partNumber: number, body: Bytes): Promise<string> {
    const query = { partNumber: String(partNumber), uploadId }
    const { headers } = await this.#client.send({ method: 'PUT', key: this.#key, query, body })
    if (headers.etag !== undefined) return headers.etag
    throw new StoreError('STORAGE_UNAVAILABLE', 'The S3 server has sent no ETag of a part', {
      outcome: 'unchanged',
    })
  }

  /** Aborts an upload. If that fails, the lifecycle rule of the bucket removes it. */
  async #abort(uploadId: string): Promise<void> {
    const request = { method: 'DELETE', key: this.#key, query: { uploadId } } as const
    await this.#client
      .send({ ...request, refusals: ['404 NoSuchUpload'], isCleanup: true })
      .catch(() => undefined)
  }

  /** Aborts all uploads of the key. If the answer that created an upload was lost, the ID of that upload is unknown. */
  async #abortAll(): Promise<void> {
    const query = { uploads: '', prefix: this.#key }
    const reply = await this.#client
      .send({ method: 'GET', query, isCleanup: true })
      .catch(() => undefined)
    if (reply === undefined) return
    for (const uploadId of parseUploads(xmlText(reply.body), this.#key)) {
      await this.#abort(uploadId)
    }
  }
}

/** Whether the object of a key exists with a mark. */
async function isMarked(
  client: S3Client,
  key: string,
  mark: string,
  isCleanup = false,
): Promise<boolean> {
  const { status, headers } = await client.send({
    method: 'HEAD',
    key,
    refusals: ['404'],
    isCleanup,
  })
  return status < 300 && headers[MARK_HEADER] === mark
}

/** Removes the object of a failed put. @returns whether it is certainly gone. */
export async function removeRemains(client: S3Client, { key, mark }: Remains): Promise<boolean> {
  try {
    if (await isMarked(client, key, mark, true)) {
      await client.send({ method: 'DELETE', key, refusals: ['404 NoSuchKey'], isCleanup: true })
    }
    return true
  } catch (failure) {
    if (failure instanceof S3Failure) return false
    throw failure
  }
}

/** The error in an answer with status 200: a server that takes long to join parts sends the status first. */
function lateFailure({ status, body }: S3Answer): S3Failure | undefined {
  const xml = xmlText(body)
  return status === 200 && xml.includes('<Error>')
    ? answerFailure(status, parseError(xml))
    : undefined
}

function noUploadId(): StoreError {
  const message = 'The S3 server has sent no ID of a multipart upload'
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
}

function tooManyParts({ partBytes }: S3Settings): StoreError {
  const rule = `at most ${PARTS_MAX} parts of ${partBytes} bytes`
  return new StoreError('INSUFFICIENT_STORAGE', `An object has ${rule}; raise partBytes`, {
    outcome: 'unchanged',
  })
}
