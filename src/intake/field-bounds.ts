// Finds the fields in the records that an intake passes on: commas or tabs separate them, quotes are as in RFC 4180.
//
// Invariant: records are divided into fields exactly as the server does it.
import { CARRIAGE_RETURN, LINE_FEED, QUOTE } from '../base/ascii.js'

/**
 * Finds the fields of a record.
 * @param bounds - Receives the beginning of field i at 2 i, and its end at 2 i + 1, including quotes.
 * @returns the number of fields.
 */
export function findFields(
  bytes: Uint8Array,
  start: number,
  limit: number,
  delimiter: number,
  bounds: number[],
): number {
  let count = 0
  let from = start
  while (from <= limit) {
    const to = endOfField(bytes, from, limit, delimiter)
    bounds[2 * count] = from
    bounds[2 * count + 1] = to
    count++
    if (bytes[to] !== delimiter) break
    from = to + 1
  }
  return count
}

function endOfField(bytes: Uint8Array, start: number, limit: number, delimiter: number): number {
  let at = start
  if (bytes[at] === QUOTE) {
    // Quotes inside are doubled, so the field ends at a quote that is not followed by another.
    for (at++; at < limit && (bytes[at] !== QUOTE || bytes[at + 1] === QUOTE); at++) {
      if (bytes[at] === QUOTE) at++
    }
  }
  while (at < limit && bytes[at] !== delimiter && !isLineBreak(bytes[at])) at++
  return Math.min(at, limit)
}

function isLineBreak(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN
}

/** The position after a line break (CRLF, LF or CR) at `at`; `at` if there is none. */
export function endOfLineBreak(bytes: Uint8Array, at: number): number {
  if (bytes[at] === CARRIAGE_RETURN) return bytes[at + 1] === LINE_FEED ? at + 2 : at + 1
  return bytes[at] === LINE_FEED ? at + 1 : at
}

const DECODER = new TextDecoder()

/** The text of a field, unquoted. */
export function fieldText(bytes: Uint8Array, from: number, to: number): string {
  if (bytes[from] !== QUOTE) return DECODER.decode(bytes.subarray(from, to))
  return DECODER.decode(bytes.subarray(from + 1, to - 1)).replaceAll('""', '"')
}

/** The texts of the fields of a record. */
export function fieldTexts(record: Uint8Array, delimiter: number): readonly string[] {
  const bounds: number[] = []
  const count = findFields(record, 0, record.length, delimiter, bounds)
  return Array.from({ length: count }, (_, i) =>
    fieldText(record, bounds[2 * i] ?? 0, bounds[2 * i + 1] ?? 0),
  )
}
