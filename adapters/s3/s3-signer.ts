// Signatures, version 4, by aws4fetch. Only its signing is used: S3Sockets sends the requests.
import { AwsV4Signer } from 'aws4fetch'
import type { S3Settings } from './s3-options.js'

/** The maximum number of cached signing keys: one per day and secret. */
const SIGNING_KEYS_MAX = 8
/** The maximum validity of a signed URL, in seconds: 7 days. */
const EXPIRES_SECONDS_MAX = 604_800

type Unsigned = Readonly<{
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
}>

export class S3Signer {
  readonly #settings: S3Settings
  readonly #signingKeys = new Map<string, ArrayBuffer>()

  constructor(settings: S3Settings) {
    this.#settings = settings
  }

  /** The headers of a request, with its signature. */
  async headers(request: Unsigned): Promise<Record<string, string>> {
    const { headers } = await this.#sign(request)
    return Object.fromEntries(headers)
  }

  /** A URL for a request with these headers. All headers are signed, but not the body. */
  async presign(request: Unsigned, ttlMs: number): Promise<string> {
    const url = new URL(request.url)
    const seconds = Math.min(Math.max(1, Math.ceil(ttlMs / 1_000)), EXPIRES_SECONDS_MAX)
    url.searchParams.set('X-Amz-Expires', String(seconds))
    const signed = await this.#sign({ ...request, url }, { signQuery: true, allHeaders: true })
    return signed.url.href
  }

  async #sign(
    { method, url, headers }: Unsigned,
    form: Readonly<{ signQuery?: boolean; allHeaders?: boolean }> = {},
  ): Promise<Readonly<{ url: URL; headers: Headers }>> {
    const { clock, credentials, region } = this.#settings
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials()
    if (this.#signingKeys.size >= SIGNING_KEYS_MAX) this.#signingKeys.clear()
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region,
      cache: this.#signingKeys,
      datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
      ...form,
    })
    return await signer.sign()
  }
}
