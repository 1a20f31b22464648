// Bodies: media type, size, bytes (sections 2 and 4).
//
// Invariants:
// - No body is read before room for it was taken from the budget, and none beyond `bytesMax`.
// - The type is judged before the size, and both before a byte is read, as far as headers tell.

import type { BufferPool } from '../base/buffer-pool.js'
import type { Bytes } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import type { BodyBudget } from './body-budget.js'
import { invalidRequest, shownId } from './error-response.js'
import type { ContractRequest, HeaderList } from './message.js'
import { headerValues } from './message.js'

export type BodyFormat = 'json' | 'csv' | 'tsv'

export type ReceivedBody = Readonly<{ format: BodyFormat; bytes: Bytes }>

export type BodyLimits = Readonly<{ bytesMax: number; budget: BodyBudget; buffers: BufferPool }>

/** Room to begin with for a body of unknown length. */
const BUFFER_BYTES_FIRST = 64 * 1024

/** Reads the body, lets `use` work with it, and gives its room back when that is done. */
export async function withBody<T>(
  request: ContractRequest,
  formats: readonly BodyFormat[],
  limits: BodyLimits,
  use: (body: ReceivedBody) => Promise<T>,
): Promise<T> {
  checkEncoding(request.headers)
  const format = await formatOf(request, formats)
  const announced = announcedBytes(request.headers)
  if (announced !== undefined && announced > limits.bytesMax) throw tooLarge(limits.bytesMax)

  const release = await limits.budget.take(announced ?? limits.bytesMax)
  const buffer = limits.buffers.take(announced ?? BUFFER_BYTES_FIRST)
  let bytes: Bytes = buffer
  try {
    bytes = await readBytes(request.body, limits.bytesMax, buffer)
    if (bytes.length === 0) throw invalidRequest('body', 'it is empty')
    return await use({ format, bytes })
  } finally {
    limits.buffers.give(bytes)
    release()
  }
}

/** @throws {StoreError} UNSUPPORTED_MEDIA_TYPE for a body that would have to be decoded. */
export function checkEncoding(headers: HeaderList): void {
  for (const value of headerValues(headers, 'content-encoding')) {
    if (value.toLowerCase() === 'identity') continue
    throw unsupported(`Content-Encoding '${shownId(value)}' is not supported`)
  }
}

const FORMAT_OF_TYPE: ReadonlyMap<string, BodyFormat> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['text/tab-separated-values', 'tsv'],
])

async function formatOf(
  request: ContractRequest,
  formats: readonly BodyFormat[],
): Promise<BodyFormat> {
  const values = headerValues(request.headers, 'content-type')
  if (values.length === 0 && (await isEmpty(request))) throw invalidRequest('body', 'it is empty')
  const [value = ''] = values
  const media = values.length === 1 ? parseMediaType(value) : undefined
  const format = media && FORMAT_OF_TYPE.get(media.type)
  if (media === undefined || format === undefined || !formats.includes(format)) {
    throw unsupported(`Content-Type '${shownId(value)}' is not supported here`)
  }
  const foreign = media.charsets.find((charset) => charset !== 'utf-8' && charset !== 'utf8')
  if (foreign !== undefined) throw unsupported(`Charset '${shownId(foreign)}' is not supported`)
  return format
}

/** A longer one is refused unread, so that its parameters cannot cost time. */
const MEDIA_TYPE_CHARS_MAX = 256

const MEDIA_TYPE = /^([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*(?:;(.*))?$/i

/** Type and charsets in lower case; undefined when the text is not a media type. */
function parseMediaType(
  value: string,
): Readonly<{ type: string; charsets: readonly string[] }> | undefined {
  if (value.length > MEDIA_TYPE_CHARS_MAX) return undefined
  const [, type, parameters = ''] = MEDIA_TYPE.exec(value) ?? []
  if (type === undefined) return undefined
  const charsets: string[] = []
  for (const parameter of parameters.toLowerCase().split(';')) {
    const [, charset] = /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/.exec(parameter) ?? []
    if (charset !== undefined) charsets.push(charset)
  }
  return { type: type.toLowerCase(), charsets }
}

/** Whether a body of no type has no bytes either. Reads no more than it takes to know that. */
async function isEmpty({ headers, body }: ContractRequest): Promise<boolean> {
  const announced = announcedBytes(headers)
  if (announced !== undefined) return announced === 0
  for await (const piece of chunksOf(body)) if (piece.length > 0) return false
  return true
}

/** `Content-Length`; undefined for a body that comes in chunks. */
export function announcedBytes(headers: HeaderList): number | undefined {
  const [value] = headerValues(headers, 'content-length')
  return value !== undefined && /^[0-9]+$/.test(value) ? Number(value) : undefined
}

/**
 * Collects a body, and stops at the first byte too many.
 * @param buffer - Where to collect it; a larger one is made when it does not hold the body.
 */
export async function readBytes(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  buffer: Uint8Array<ArrayBuffer>,
): Promise<Bytes> {
  let collected = buffer
  let length = 0
  for await (const piece of chunksOf(body)) {
    if (length + piece.length > bytesMax) throw tooLarge(bytesMax)
    if (length + piece.length > collected.length) {
      const larger = new Uint8Array(Math.max(length + piece.length, 2 * collected.length))
      larger.set(collected.subarray(0, length))
      collected = larger
    }
    collected.set(piece, length)
    length += piece.length
  }
  return collected.subarray(0, length)
}

/** Names a broken connection as what it is for us: a body that never came in whole. */
export async function* chunksOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of body) yield piece
  } catch (cause) {
    throw new StoreError('ABORTED', 'The request body ended too early', { cause })
  }
}

function tooLarge(bytesMax: number): StoreError {
  return new StoreError(
    'REQUEST_TOO_LARGE',
    `The request body is over the limit of ${bytesMax} bytes`,
  )
}

function unsupported(problem: string): StoreError {
  return new StoreError('UNSUPPORTED_MEDIA_TYPE', problem)
}
