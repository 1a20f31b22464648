// The contents of one bucket of the S3 double, and its operations: a request in, an answer out, without sockets.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export type S3Question = Readonly<{
  method: string
  /** '' for the bucket. */
  key: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: Buffer
}>

export type S3Given = Readonly<{
  status: number
  headers?: Readonly<Record<string, string>>
  body?: Buffer | string
}>

type Stored = Readonly<{ body: Buffer; etag: string; meta: Readonly<Record<string, string>> }>
type Upload = Readonly<{
  key: string
  meta: Readonly<Record<string, string>>
  parts: Map<number, Stored>
}>

const PART_BYTES_MIN = 5 * 1_024 * 1_024
const KEYS_MAX = 1_000

export class S3Bucket {
  readonly objects = new Map<string, Stored>()
  readonly uploads = new Map<string, Upload>()

  answer(question: S3Question): S3Given {
    const { method, key, query, headers, body } = question
    const { 'content-md5': md5 } = headers
    const digest = createHash('md5').update(body).digest('base64')
    if (md5 !== undefined && md5 !== digest) return refusal(400, 'BadDigest')
    if (key === '') {
      if (method === 'GET' && query.has('uploads')) return this.#listUploads(query)
      if (method === 'GET' && query.get('list-type') === '2') return this.#list(query)
      if (method !== 'POST' || !query.has('delete')) return refusal(501, 'NotImplemented')
      return md5 === undefined ? refusal(400, 'InvalidRequest') : this.#deleteMany(String(body))
    }
    const uploadId = query.get('uploadId')
    if (method === 'POST' && query.has('uploads')) return this.#begin(key, headers)
    if (uploadId !== null) return this.#ofUpload(uploadId, question)
    if (method === 'PUT') return this.#put(key, headers, body)
    if (method === 'DELETE') {
      this.objects.delete(key)
      return { status: 204 }
    }
    return method === 'GET' || method === 'HEAD'
      ? this.#get(key, headers.range)
      : refusal(501, 'NotImplemented')
  }

  #put(key: string, headers: IncomingHttpHeaders, body: Buffer): S3Given {
    if (headers['if-none-match'] === '*' && this.objects.has(key)) {
      return refusal(412, 'PreconditionFailed')
    }
    const stored = { body, etag: etagOf(body), meta: metaOf(headers) }
    this.objects.set(key, stored)
    return { status: 200, headers: { etag: stored.etag } }
  }

  #get(key: string, range: string | undefined): S3Given {
    const stored = this.objects.get(key)
    if (stored === undefined) return refusal(404, 'NoSuchKey')
    const { body, etag, meta } = stored
    const headers = { etag, ...meta }
    if (range === undefined) return { status: 200, headers, body }
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range) ?? []
    const start = Number(from)
    if (start >= body.length) {
      const { body: xml = '' } = refusal(416, 'InvalidRange')
      return { status: 416, headers: { 'content-range': `bytes */${body.length}` }, body: xml }
    }
    const limit = Math.min(to === '' ? body.length : Number(to) + 1, body.length)
    return {
      status: 206,
      headers: { ...headers, 'content-range': `bytes ${start}-${limit - 1}/${body.length}` },
      body: body.subarray(start, limit),
    }
  }

  #deleteMany(xml: string): S3Given {
    for (const [, key = ''] of xml.matchAll(/<Key>([^<]*)<\/Key>/g)) this.objects.delete(key)
    return { status: 200, body: '<DeleteResult></DeleteResult>' }
  }

  #list(query: URLSearchParams): S3Given {
    const prefix = query.get('prefix') ?? ''
    const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
    const count = Math.min(Number(query.get('max-keys') ?? KEYS_MAX), KEYS_MAX)
    const found = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > after)
      .sort()
    const page = found.slice(0, count)
    const contents = page.map((key) => `<Contents><Key>${xmlEscaped(key)}</Key></Contents>`)
    const isTruncated = found.length > page.length
    const token = `<NextContinuationToken>${xmlEscaped(page.at(-1) ?? '')}</NextContinuationToken>`
    const rest = `<IsTruncated>${isTruncated}</IsTruncated>${isTruncated ? token : ''}`
    return { status: 200, body: `<ListBucketResult>${contents.join('')}${rest}</ListBucketResult>` }
  }

  #listUploads(query: URLSearchParams): S3Given {
    const prefix = query.get('prefix') ?? ''
    const found = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix))
    const uploads = found.map(
      ([id, { key }]) => `<Upload><Key>${xmlEscaped(key)}</Key><UploadId>${id}</UploadId></Upload>`,
    )
    const xml = `<ListMultipartUploadsResult>${uploads.join('')}</ListMultipartUploadsResult>`
    return { status: 200, body: xml }
  }

  #begin(key: string, headers: IncomingHttpHeaders): S3Given {
    const id = randomBytes(12).toString('base64url')
    this.uploads.set(id, { key, meta: metaOf(headers), parts: new Map() })
    const body = `<R><Key>${xmlEscaped(key)}</Key><UploadId>${id}</UploadId></R>`
    return { status: 200, body }
  }

  #ofUpload(uploadId: string, { method, key, query, headers, body }: S3Question): S3Given {
    const upload = this.uploads.get(uploadId)
    if (upload?.key !== key) return refusal(404, 'NoSuchUpload')
    if (method === 'PUT') {
      const part = { body, etag: etagOf(body), meta: {} }
      upload.parts.set(Number(query.get('partNumber')), part)
      return { status: 200, headers: { etag: part.etag } }
    }
    if (method === 'DELETE') {
      this.uploads.delete(uploadId)
      return { status: 204 }
    }
    return this.#complete(uploadId, upload, headers, String(body))
  }

  #complete(id: string, upload: Upload, headers: IncomingHttpHeaders, xml: string): S3Given {
    const named = [...xml.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&#34;(\w+)&#34;<\/ETag>/g)]
    const parts = named.map(([, number, etag]) => {
      const part = upload.parts.get(Number(number))
      return part?.etag === `"${etag}"` ? part : undefined
    })
    const whole = parts.filter((part) => part !== undefined)
    if (whole.length === 0 || whole.length < parts.length) return refusal(400, 'InvalidPart')
    if (whole.slice(0, -1).some(({ body }) => body.length < PART_BYTES_MIN)) {
      return refusal(400, 'EntityTooSmall')
    }
    if (headers['if-none-match'] === '*' && this.objects.has(upload.key)) {
      return refusal(412, 'PreconditionFailed')
    }
    this.uploads.delete(id)
    const body = Buffer.concat(whole.map((part) => part.body))
    const etag = `"${etagOf(body).slice(1, -1)}-${whole.length}"`
    this.objects.set(upload.key, { body, etag, meta: upload.meta })
    return { status: 200, body: `<CompleteMultipartUploadResult></CompleteMultipartUploadResult>` }
  }
}

export function refusal(status: number, code: string): S3Given {
  const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>It is &lt;so&gt;</Message></Error>`
  return { status, body: xml }
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`
}

function metaOf(headers: IncomingHttpHeaders): Record<string, string> {
  const meta = Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-'))
  return Object.fromEntries(meta.map(([name, value]) => [name, String(value)]))
}

function xmlEscaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#x${character.charCodeAt(0).toString(16)};`)
}
