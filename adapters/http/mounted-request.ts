// Handles changes that frameworks make to a request before a handler gets it: they remove the mount path from its URL,
// read its body, and set headers.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HeaderList } from '../../src/ports.js'
import { invalidArgument, typeName } from '../base/arguments.js'

/** @throws {StoreError} REQUEST_VALIDATION_ERROR if a framework has wrapped the request or the response. */
export function checkNodeRequest(request: IncomingMessage, response: ServerResponse): void {
  const isRequest = Array.isArray(request?.rawHeaders) && typeof request.on === 'function'
  if (isRequest && typeof response?.writeHead === 'function') return
  const given = isRequest ? `a response that is ${typeName(response)}` : typeName(request)
  throw invalidArgument(
    `The handler takes a request and a response of node:http, not ${given}; with Fastify they are request.raw and reply.raw`,
  )
}

/** The path that a framework removed from the URL, as Express does for `app.use('/api', …)`; empty if none did. */
function mountOf(request: IncomingMessage): string {
  const { url = '' } = request
  const { originalUrl } = request as { originalUrl?: unknown }
  if (typeof originalUrl !== 'string' || !originalUrl.endsWith(url)) return ''
  return originalUrl.slice(0, originalUrl.length - url.length)
}

/**
 * The part of a base path that is still in the URL. If a host sets `basePath` and also mounts the handler there, both
 * mean the same path.
 */
export function basePathLeft(request: IncomingMessage, basePath: string): string {
  return mountOf(request).endsWith(basePath) ? '' : basePath
}

/** The URL at which the client reached the handler; undefined: the Host header contains more than a host. */
export function resolveRequestOrigin(
  request: IncomingMessage,
  basePath: string,
): string | undefined {
  const { headers, socket } = request
  const { host = '' } = headers
  if (host.includes('/')) return undefined // The rest would be taken for the path of the mount.
  const scheme = 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http'
  return `${scheme}://${host}${mountOf(request)}${basePathLeft(request, basePath)}`
}

/**
 * The header lines of a request, including changes that middleware made in `request.headers`. Repeated lines stay
 * unchanged, because Node keeps only the first of some.
 */
export function headerLines({ rawHeaders, headers }: IncomingMessage): HeaderList {
  const lines = new Map<string, string[]>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    const values = lines.get(name)
    if (values === undefined) lines.set(name, [value])
    else values.push(value)
  }
  for (const name of lines.keys()) if (headers[name] === undefined) lines.delete(name)
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    const isSet =
      value !== undefined && String(value) !== joinHeaderLines(name, lines.get(name) ?? [])
    if (isSet) lines.set(name, [value].flat().map(String))
  }
  return [...lines].flatMap(([name, values]) => values.map((value) => [name, value] as const))
}

/** Headers of which Node keeps only the first line. */
const FIRST_LINE =
  /^(?:age|authorization|content-(?:length|type)|etag|expires|from|host|if-(?:un)?modified-since|last-modified|location|max-forwards|proxy-authorization|referer|retry-after|server|user-agent)$/

/** Joins the lines of a header as Node does. */
function joinHeaderLines(name: string, lines: readonly string[]): string | undefined {
  if (lines.length < 2 || FIRST_LINE.test(name)) return lines[0]
  return name === 'set-cookie' ? String(lines) : lines.join(name === 'cookie' ? '; ' : ', ')
}

/** The body parsed by a framework; null: not read yet. */
export function parsedBody(request: IncomingMessage): Uint8Array | null {
  const { body } = request as { body?: unknown }
  if (!request.readableDidRead || !request.readableEnded || body === undefined) return null
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  if (typeof body === 'string') return new TextEncoder().encode(body)
  try {
    // Parsers of Express 4 leave an empty object for a body that they do not support.
    return isJsonRequest(request) ? new TextEncoder().encode(JSON.stringify(body)) : null
  } catch {
    return null // It was read, and the result is not JSON.
  }
}

function isJsonRequest({ headers }: IncomingMessage): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '')
}
