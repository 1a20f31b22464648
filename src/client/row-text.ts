// The JSON of a row that a caller hands in.
import { isRecord, typeName } from '../base/options.js'
import { type ChunkPlace, type ClientError, invalidArgument } from './client-error.js'

/** What the message says to whoever has bytes or a text of rows. */
export const BYTES_ADVICE =
  "; rows as bytes or text are given as a Blob or a stream of bytes, with `format`, such as 'csv'"

/**
 * The JSON of a row. Maps, bytes and the like are no rows, although JSON.stringify makes objects of them.
 * @param what - The row, for the message.
 * @throws {ClientError} argument_invalid
 */
export function rowText(row: unknown, what: string, place?: ChunkPlace): string {
  let text: string | undefined
  try {
    text = isCells(row) ? JSON.stringify(row) : undefined
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidArgument(`${what} cannot be sent as JSON: ${reason}`, place)
  }
  if (text?.startsWith('{') === true) return text
  throw noCells(row, what, place)
}

function isCells(row: unknown): boolean {
  if (ArrayBuffer.isView(row)) return false
  return isRecord(row) || typeof (Object(row) as { toJSON?: unknown }).toJSON === 'function'
}

function noCells(row: unknown, what: string, place: ChunkPlace | undefined): ClientError {
  const isBytes = typeof row === 'string' || ArrayBuffer.isView(row)
  const isMap = row instanceof Map
  const advice = isBytes ? BYTES_ADVICE : isMap ? '; see Object.fromEntries' : ''
  return invalidArgument(`${what} is not an object of cells but ${typeName(row)}${advice}`, place)
}
