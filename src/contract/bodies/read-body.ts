// Bodies: media type, size, bytes (CONTRACT.md, sections 2 and 4).
//
// Invariants:
// - A body takes its memory from the budget (collect-body.ts), and never exceeds `bytesMax`.
// - The type is checked before the size, and both are checked before the body is read if the headers give them.

import type { Bytes } from '../../base/bytes.js'
import { either } from '../../base/shown-text.js'
import { BODY_TYPE_OF_FORMAT, type SourceFormat } from '../../base/source-format.js'
import { parseRowsType } from '../../engine/files/rows-type.js'
import type { ContractRequest, HeaderList } from '../http/message.js'
import { headerValues } from '../http/message.js'
import { invalidRequest, Refusal, shownId } from '../http/refusal.js'
import { type BodyLimits, type BodySource, bodyPieces, collectBody } from './collect-body.js'

export type BodyFormat = Exclude<SourceFormat, 'ndjson'>

export type ReceivedBody = Readonly<{ format: BodyFormat; bytes: Bytes }>

/** `withBody` with the limits of a contract. */
export type Receive = <T>(
  request: ContractRequest,
  formats: readonly BodyFormat[],
  use: (body: ReceivedBody) => Promise<T>,
) => Promise<T>

/** Whom the memory of a body is charged to. */
export type BodyHolder = Pick<BodySource, 'team' | 'key'>

/** As `Receive`, for the holder that the memory is charged to. */
export type ReceiveFor = <T>(
  holder: BodyHolder,
  request: ContractRequest,
  formats: readonly BodyFormat[],
  use: (body: ReceivedBody) => Promise<T>,
) => Promise<T>

/** Reads the body, calls `use` with it, and then releases its memory. */
export async function withBody<T>(
  request: ContractRequest,
  formats: readonly BodyFormat[],
  { team, key, ...limits }: BodyLimits & BodyHolder,
  use: (body: ReceivedBody) => Promise<T>,
): Promise<T> {
  checkEncoding(request.headers)
  const format = await resolveBodyFormat(request, formats)
  const source = { team, key, announced: announcedBytes(request.headers), pieces: request.body }
  return collectBody(source, limits, async (bytes) => {
    if (bytes.length === 0) throw invalidRequest('body', 'it is empty')
    return use({ format, bytes })
  })
}

/** @throws {Refusal} UNSUPPORTED_MEDIA_TYPE for a body that would have to be decoded. */
export function checkEncoding(headers: HeaderList): void {
  for (const value of headerValues(headers, 'content-encoding')) {
    if (value.toLowerCase() === 'identity') continue
    throw unsupported(
      `Content-Encoding '${shownId(value)}' is not supported: send the body as it is`,
    )
  }
}

async function resolveBodyFormat(
  request: ContractRequest,
  formats: readonly BodyFormat[],
): Promise<BodyFormat> {
  const values = headerValues(request.headers, 'content-type')
  if (values.length === 0 && (await isEmptyBody(request)))
    throw invalidRequest('body', 'it is empty')
  const [value = ''] = values
  const type = values.length === 1 ? parseRowsType(value) : undefined
  const format = formats.find((known) => known === type?.format)
  if (type === undefined || format === undefined) throw unsupportedType(values, formats)
  if (type.foreignCharset === undefined) return format
  throw unsupported(`Charset '${shownId(type.foreignCharset)}' is not supported: send UTF-8`)
}

function unsupportedType(values: readonly string[], formats: readonly BodyFormat[]): Refusal {
  const [value] = values
  const given = value === undefined ? 'is missing' : `'${shownId(value)}' is not supported here`
  const problem = values.length > 1 ? 'is given more than once' : given
  const types = formats.map((format) => BODY_TYPE_OF_FORMAT[format])
  return unsupported(`Content-Type ${problem}: send ${either(types)}`)
}

/** Whether a body without a type is empty. Reads at most its first bytes. */
async function isEmptyBody({ headers, body }: ContractRequest): Promise<boolean> {
  const announced = announcedBytes(headers)
  if (announced !== undefined) return announced === 0
  for await (const piece of bodyPieces(body)) if (piece.length > 0) return false
  return true
}

/** `Content-Length`; undefined for a body that comes in chunks. */
export function announcedBytes(headers: HeaderList): number | undefined {
  const [value] = headerValues(headers, 'content-length')
  return value !== undefined && /^[0-9]+$/.test(value) ? Number(value) : undefined
}

function unsupported(problem: string): Refusal {
  return new Refusal('UNSUPPORTED_MEDIA_TYPE', problem)
}
