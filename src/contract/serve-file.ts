// GET and HEAD of a stored file (CONTRACT.md, section 9). Anyone who knows the URL may read it. The content is
// untrusted: the headers keep it from acting as a page of the host, see also served-media.ts.
import { StoreError } from '../base/store-error.js'
import type { OpenFile, PublicFiles } from '../engine/api/file-types.js'
import { parseRange } from './byte-range.js'
import { renderDisposition } from './disposition.js'
import { renderError } from './error-response.js'
import { allowsRange, isNotModified } from './file-conditions.js'
import type { ContractRequest, ContractResponse } from './message.js'
import { shownId } from './refusal.js'
import { serveAs } from './served-media.js'

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
  // A range is defined for GET only (RFC 9110, 14.2).
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

/** Headers that let clients cache a file forever, because the bytes of a URL never change. */
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
