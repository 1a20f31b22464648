// Reads bodies: checks media type and size, and collects the bytes (CONTRACT.md, sections 2 and 4).
//
// Invariants:
// - A body takes its memory from the budget (collect-body.ts), and never exceeds `bytesMax`.
// - The type is checked before the size. What the headers say of them is checked before the body is read.

import type { Bytes } from '../../base/bytes.js'
import { either } from '../../base/shown-text.js'
import { BODY_TYPE_OF_FORMAT, isJson, type SourceFormat } from '../../base/source-format.js'
import { parseRowsType, type RowsType } from '../../engine/files/rows-type.js'
import { isEncoding } from '../../intake/dialect-rules.js'
import type { ContractRequest, HeaderList } from '../http/message.js'
import { headerValues } from '../http/message.js'
import { invalidRequest, Refusal, shownId } from '../http/refusal.js'
import { type BodyLimits, type BodySource, bodyPieces, collectBody } from './collect-body.js'

export type BodyFormat = Exclude<SourceFormat, 'ndjson'>

export type ReceivedBody = BodyType & Readonly<{ bytes: Bytes }>

/** The properties that a media type states. */
type BodyType = Readonly<{
  format: BodyFormat
  /** For csv and tsv: properties that differ from the defaults of the format. */
  typed: Readonly<{ encoding?: string; header?: 'absent' }>
}>

/** `withBody`, bound to the limits of a contract. */
export type Receive = <T>(
  request: ContractRequest,
  formats: readonly BodyFormat[],
  use: (body: ReceivedBody) => Promise<T>,
) => Promise<T>

/** The holder that a body's memory is charged to. */
export type BodyHolder = Pick<BodySource, 'team' | 'key'>

/** `Receive` with the holder that the memory is charged to. */
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
  const type = await resolveBodyType(request, formats)
  const source = { team, key, announced: announcedBytes(request.headers), pieces: request.body }
  return collectBody(source, limits, async (bytes) => {
    if (bytes.length === 0) throw invalidRequest('body', 'it is empty')
    return use({ ...type, bytes })
  })
}

/** @throws {Refusal} UNSUPPORTED_MEDIA_TYPE for an encoded body. */
export function checkEncoding(headers: HeaderList): void {
  for (const value of headerValues(headers, 'content-encoding')) {
    if (value.toLowerCase() === 'identity') continue
    throw unsupported(
      `Content-Encoding '${shownId(value)}' is not supported: send the body as it is`,
    )
  }
}

async function resolveBodyType(
  request: ContractRequest,
  formats: readonly BodyFormat[],
): Promise<BodyType> {
  const values = headerValues(request.headers, 'content-type')
  if (values.length === 0 && (await isEmptyBody(request)))
    throw invalidRequest('body', 'it is empty')
  const [value = ''] = values
  const type = values.length === 1 ? parseRowsType(value) : undefined
  const format = formats.find((known) => known === type?.format)
  if (type === undefined || format === undefined) throw unsupportedType(values, formats)
  return { format, typed: typedBy(type) }
}

/** The properties of rows that the parameters of a media type state. @throws {Refusal} UNSUPPORTED_MEDIA_TYPE */
function typedBy({ format, foreignCharset, header }: RowsType): BodyType['typed'] {
  const encoding = foreignCharset?.toLowerCase()
  if (encoding !== undefined && (isJson(format) || !isEncodingName(encoding))) {
    const others = isJson(format) ? '' : ', or name the encoding, such as windows-1252'
    throw unsupported(`Charset '${shownId(encoding)}' is not supported: send UTF-8${others}`)
  }
  if (isJson(format) || header === undefined || header === 'present') {
    return encoding === undefined ? NOTHING_TYPED : { encoding }
  }
  if (header === 'absent') return { ...(encoding && { encoding }), header }
  throw unsupported(`The parameter header must be present or absent, not '${shownId(header)}'`)
}

const NOTHING_TYPED = Object.freeze({})

/**
 * Whether a charset names an encoding. Aliases are not accepted, because a sender may mean another encoding than the
 * standard: in the standard, `latin1` stands for windows-1252.
 */
function isEncodingName(charset: string): boolean {
  return isEncoding(charset) && new TextDecoder(charset).encoding === charset
}

function unsupportedType(values: readonly string[], formats: readonly BodyFormat[]): Refusal {
  const [value] = values
  const given = value === undefined ? 'is missing' : `'${shownId(value)}' is not supported here`
  const problem = values.length > 1 ? 'is given more than once' : given
  const types = formats.map((format) => BODY_TYPE_OF_FORMAT[format])
  return unsupported(`Content-Type ${problem}: send ${either(types)}`)
}

/** Whether a body without a media type is empty. Reads at most its first piece. */
async function isEmptyBody({ headers, body }: ContractRequest): Promise<boolean> {
  const announced = announcedBytes(headers)
  if (announced !== undefined) return announced === 0
  for await (const piece of bodyPieces(body)) if (piece.length > 0) return false
  return true
}

/** `Content-Length`; undefined: the body is chunked. */
export function announcedBytes(headers: HeaderList): number | undefined {
  const [value] = headerValues(headers, 'content-length')
  return value !== undefined && /^[0-9]+$/.test(value) ? Number(value) : undefined
}

function unsupported(problem: string): Refusal {
  return new Refusal('UNSUPPORTED_MEDIA_TYPE', problem)
}
