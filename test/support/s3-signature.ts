// Verifies AWS Signature Version 4 with node:crypto alone: it shares no code with the signer under test.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export type S3Account = Readonly<{ accessKeyId: string; secretAccessKey: string; region: string }>

/** A refusal: the status and the code of S3. */
export type S3Refusal = Readonly<{ status: number; code: string }>

const SKEW_MS = 15 * 60_000
/** Headers that a request must sign if it has them, besides all that begin with `x-amz-`. */
const SIGNED_ALWAYS = ['content-md5', 'host', 'if-none-match']

type Claim = Readonly<{
  credential: string
  signedHeaders: string
  signature: string
  datetime: string
  payload: string
  /** undefined: the signature is in a header. */
  expiresSeconds: number | undefined
}>

/** Checks the signature of a request. @returns null if it is valid */
export function checkSignature(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  { accessKeyId, secretAccessKey, region }: S3Account,
): S3Refusal | null {
  const claim = claimOf(request, url)
  if (claim === undefined) return { status: 403, code: 'AccessDenied' }
  const [id, date = '', claimedRegion, service, end] = claim.credential.split('/')
  if (id !== accessKeyId) return { status: 403, code: 'InvalidAccessKeyId' }
  if (claimedRegion !== region) return { status: 400, code: 'AuthorizationHeaderMalformed' }
  const isScoped = service === 's3' && end === 'aws4_request' && claim.datetime.startsWith(date)
  if (!isScoped) return { status: 403, code: 'SignatureDoesNotMatch' }
  const names = claim.signedHeaders.split(';')
  const unsigned = Object.keys(request.headers).filter(
    (name) => (name.startsWith('x-amz-') || SIGNED_ALWAYS.includes(name)) && !names.includes(name),
  )
  if (unsigned.length > 0 || !names.includes('host')) return { status: 403, code: 'AccessDenied' }
  const canonical = [
    request.method,
    canonicalPath(url),
    canonicalQuery(url),
    ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    claim.signedHeaders,
    claim.payload,
  ].join('\n')
  const scope = claim.credential.slice(claim.credential.indexOf('/') + 1)
  const text = ['AWS4-HMAC-SHA256', claim.datetime, scope, sha256(canonical)].join('\n')
  const parts = [date, region, 's3', 'aws4_request', text]
  const expected = parts.reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`)).toString('hex')
  if (!isSame(expected, claim.signature)) return { status: 403, code: 'SignatureDoesNotMatch' }
  return checkTime(claim) ?? checkPayload(claim, body)
}

function claimOf(request: IncomingMessage, url: URL): Claim | undefined {
  const query = url.searchParams
  if (query.has('X-Amz-Signature')) {
    return {
      credential: query.get('X-Amz-Credential') ?? '',
      signedHeaders: query.get('X-Amz-SignedHeaders') ?? '',
      signature: query.get('X-Amz-Signature') ?? '',
      datetime: query.get('X-Amz-Date') ?? '',
      payload: 'UNSIGNED-PAYLOAD',
      expiresSeconds: Number(query.get('X-Amz-Expires') ?? 0),
    }
  }
  const [, credential, signedHeaders, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    ) ?? []
  const { 'x-amz-date': datetime, 'x-amz-content-sha256': payload } = request.headers
  if (credential === undefined || signedHeaders === undefined || signature === undefined) return
  if (typeof datetime !== 'string' || typeof payload !== 'string') return
  return { credential, signedHeaders, signature, datetime, payload, expiresSeconds: undefined }
}

function checkTime({ datetime, expiresSeconds }: Claim): S3Refusal | null {
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(datetime) ?? []
  const signedAt = Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`)
  const age = Date.now() - signedAt
  if (expiresSeconds !== undefined) {
    return age <= expiresSeconds * 1_000 ? null : { status: 403, code: 'AccessDenied' }
  }
  return Math.abs(age) <= SKEW_MS ? null : { status: 403, code: 'RequestTimeTooSkewed' }
}

function checkPayload({ payload }: Claim, body: Buffer): S3Refusal | null {
  if (payload === 'UNSIGNED-PAYLOAD' || payload === sha256(body)) return null
  return { status: 400, code: 'XAmzContentSHA256Mismatch' }
}

function canonicalPath({ pathname }: URL): string {
  return pathname
    .split('/')
    .map((part) => encode(decodeURIComponent(part)))
    .join('/')
}

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
}

function encode(text: string): string {
  const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text).replace(/[!'()*]/g, percent)
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function isSame(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
}
