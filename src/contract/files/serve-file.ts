// GET and HEAD of a stored file (CONTRACT.md, section 9). Anyone who knows the URL may read it. The content is
// untrusted: the headers keep it from acting as a page of the host; see also `serveAs`.

import { StoreError } from '../../base/store-error.js'
import { parseMediaType } from '../../engine/files/media-type.js'
import type { OpenFile, PublicFiles } from '../../engine/types/file-types.js'
import type { ByteRange } from '../../objects/objects.js'
import { renderError } from '../http/error-response.js'
import { allowsRange, isNotModified } from '../http/file-conditions.js'
import {
  type ContractRequest,
  type ContractResponse,
  type HeaderList,
  headerValues,
} from '../http/message.js'
import { shownId } from '../http/refusal.js'

/** GET and HEAD /files/{fileID}[/{file name}] */
export async function serveFile(
  files: PublicFiles,
  { method, headers }: ContractRequest,
  fileId: string,
): Promise<ContractResponse> {
  const file = await files.open(fileId)
  if (file === null) {
    throw new StoreError('FILE_NOT_FOUND', `File with ID '${shownId(fileId)}' not found`)
  }
  const etag = `"${file.sha256}"`
  if (isNotModified(headers, etag)) return { status: 304, headers: cachedHeaders(etag), body: null }

  const whole = { ...cachedHeaders(etag), ...contentHeaders(file), ...lengthHeader(file.bytes) }
  // A `Range` header has a meaning for GET only (RFC 9110, 14.2).
  if (method === 'HEAD') return { status: 200, headers: whole, body: null }
  const range = allowsRange(headers, etag) ? parseRange(headers, file.bytes) : 'whole'
  if (range === 'whole') return { status: 200, headers: whole, body: file.stream() }
  if (range === 'none') return notSatisfiable(file.bytes)
  const { start, limit } = range
  const partHeaders = {
    ...lengthHeader(limit - start),
    'content-range': `bytes ${start}-${limit - 1}/${file.bytes}`,
  }
  return { status: 206, headers: { ...whole, ...partHeaders }, body: file.stream(range) }
}

/** Headers that let clients cache a file forever: the bytes of a URL never change. */
function cachedHeaders(etag: string): Readonly<Record<string, string>> {
  return {
    etag,
    'cache-control': 'public, max-age=31536000, immutable',
    'accept-ranges': 'bytes',
    'cross-origin-resource-policy': 'cross-origin',
  }
}

function contentHeaders({ contentType, fileName }: OpenFile): Readonly<Record<string, string>> {
  const { type, kind } = serveAs(contentType)
  return {
    'content-type': type,
    'content-disposition': renderDisposition(kind, fileName),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  }
}

function lengthHeader(bytes: number): Readonly<Record<'content-length', string>> {
  return { 'content-length': String(bytes) }
}

function notSatisfiable(bytes: number): ContractResponse {
  const message = `Range is not within the ${bytes} bytes of the file`
  const { headers, ...rest } = renderError(416, 'range_not_satisfiable', message)
  return { ...rest, headers: { ...headers, 'content-range': `bytes */${bytes}` } }
}

/**
 * The part of a file of `bytes` bytes that the `Range` header (RFC 9110, 14.2) requests. A request for several ranges
 * gets the whole file, so that no answer has more bytes than the file.
 * @returns `whole` if there is no header or an unsupported one; a nonempty range; or `none` (status 416) for a range
 *   that is malformed or beyond the file
 */
export function parseRange(headers: HeaderList, bytes: number): 'whole' | 'none' | ByteRange {
  const values = headerValues(headers, 'range')
  const [value = ''] = values
  const [, wanted] = /^bytes=(.*)$/i.exec(value) ?? []
  if (values.length !== 1 || wanted === undefined || wanted.includes(',')) return 'whole'
  const [, first, last = ''] = /^([0-9]*)-([0-9]*)$/.exec(wanted) ?? []
  if (first === undefined || (first === '' && last === '')) return 'none'
  // A number may have too many digits to be exact, but then it is beyond the end of every file.
  if (first === '') return nonEmpty(Math.max(0, bytes - Number(last)), bytes)
  const limit = last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  return nonEmpty(Number(first), limit)
}

function nonEmpty(start: number, limit: number): 'none' | ByteRange {
  return start < limit ? { start, limit } : 'none'
}

/** Characters in quotes that clients without `filename*` interpret differently. */
const NOT_IN_FALLBACK = /[^ -~]|["%\\]/gu

/** Characters that RFC 8187 encodes in an extended value, but `encodeURIComponent` does not. */
const LEFT_UNENCODED = /['()*]/g

/**
 * `Content-Disposition` (RFC 6266), always in ASCII without control characters.
 * @param fileName - Well-formed text.
 */
export function renderDisposition(kind: 'inline' | 'attachment', fileName: string): string {
  const fallback = fileName.replace(NOT_IN_FALLBACK, '_')
  const simple = `${kind}; filename="${fallback}"`
  return fallback === fileName ? simple : `${simple}; filename*=UTF-8''${encodeExtended(fileName)}`
}

function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(
    LEFT_UNENCODED,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

type ServedMedia = Readonly<{ type: string; kind: 'inline' | 'attachment' }>

/**
 * Types that browsers show and that contain no script, no markup and no external links. Files are untrusted and must
 * not run in a browser, so all others are downloaded. (A list of dangerous types would be outdated by the next type
 * that browsers support.)
 */
const INLINE: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/jpg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'audio/mpeg',
  'audio/mp3',
  'audio/mp4',
  'audio/x-m4a',
  'audio/aac',
  'audio/flac',
  'audio/ogg',
  'audio/webm',
  'audio/wav',
  'audio/x-wav',
  'audio/wave',
  'video/mp4',
  'video/webm',
  'video/ogg',
  'text/plain',
])

const UNKNOWN = 'application/octet-stream'

/** The media type of a served file, without parameters: a boundary or a charset can change the meaning of a file. */
export function serveAs(contentType: string): ServedMedia {
  const essence = parseMediaType(contentType)?.essence ?? UNKNOWN
  // Without its boundary, the content is unreadable; with it, its parts would have types of their own.
  if (essence.startsWith('multipart/')) return { type: UNKNOWN, kind: 'attachment' }
  const kind = INLINE.has(essence) ? 'inline' : 'attachment'
  return { type: essence === 'text/plain' ? 'text/plain; charset=utf-8' : essence, kind }
}
