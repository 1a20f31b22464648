// Fields of CSV with any delimiter: finds the delimiter of a header and the fields of a record, and rewrites records with
// commas, which the contract requires.
//
// Invariant: a record is cut here where the server cuts it. A record with broken quotes stays broken enough for the
// server to refuse it.
import { CARRIAGE_RETURN, COMMA, LINE_FEED, QUOTE } from '../base/ascii.js'

const ASCII_LIMIT = 0x80

/** Names of delimiters on the command line, which are easier to type. */
const NAMED_DELIMITERS: Readonly<Record<string, string>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  '\\t': '\t',
  pipe: '|',
}

/** Delimiters that are searched for in a header without commas. On a tie the first one wins. */
const DETECTED_DELIMITERS = Object.freeze([';', '\t', '|'].map(byteOf))

/** Parses a delimiter of the command line; undefined if it is invalid. */
export function parseDelimiter(text: string): number | undefined {
  const char = Object.hasOwn(NAMED_DELIMITERS, text) ? (NAMED_DELIMITERS[text] ?? '') : text
  const isUsable = char.length === 1 && byteOf(char) < ASCII_LIMIT && !/["\r\n]/.test(char)
  return isUsable ? byteOf(char) : undefined
}

export function renderDelimiter(delimiter: number): string {
  const char = String.fromCharCode(delimiter)
  const named = Object.entries(NAMED_DELIMITERS).find(([, known]) => known === char)
  return named?.[0] ?? JSON.stringify(char)
}

/** The delimiter of a header record: a comma, unless it has none and has another delimiter. */
export function detectDelimiter(header: Uint8Array, quotes: Quotes = 'strict'): number {
  const counts = new Map<number, number>()
  let isQuoted = false
  for (const [at, byte] of header.entries()) {
    const before = header[at - 1]
    const begins = before === undefined || before === COMMA || DETECTED_DELIMITERS.includes(before)
    if (byte === QUOTE) isQuoted = isQuoted ? false : begins || quotes === 'strict'
    else if (!isQuoted) counts.set(byte, (counts.get(byte) ?? 0) + 1)
  }
  let found = COMMA
  for (const byte of counts.has(COMMA) ? [] : DETECTED_DELIMITERS) {
    if ((counts.get(byte) ?? 0) > (counts.get(found) ?? 0)) found = byte
  }
  return found
}

/**
 * Finds the fields of a record.
 * @param bounds - Receives where field i begins, at 2 i, and ends, at 2 i + 1, with its quotes.
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
    // A quote inside is doubled, so the field ends at a quote that no other follows.
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

/** The text of a field, without its quotes. */
export function fieldText(bytes: Uint8Array, from: number, to: number): string {
  if (bytes[from] !== QUOTE) return textOf(bytes, from, to)
  return textOf(bytes, from + 1, to - 1).replaceAll('""', '"')
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
}

/** Whether a quote inside a field that does not begin with one is a fault, or text. */
export type Quotes = 'strict' | 'relaxed'

/**
 * The same records with commas between their fields. A field with a comma in it gets quotes; so does one with a quote
 * that is text, and its quotes are doubled.
 * @param rewritten - By the index of its field, the bytes that take the place of a field with its quotes; undefined: none.
 *   They are no more than the field has, and need no quotes.
 */
export function withCommas(
  bytes: Uint8Array,
  delimiter: number,
  quotes: Quotes = 'strict',
  rewritten: (field: number, from: number, to: number) => Uint8Array | undefined = () => undefined,
): Uint8Array {
  const doubled = quotes === 'relaxed' ? QUOTE : undefined
  // Two quotes for a field that is a comma at least, and one for each quote: never more than three times the bytes.
  const out = new Uint8Array(3 * bytes.length + 2)
  let length = 0
  let field = 0
  for (let from = 0; from < bytes.length; ) {
    const to = endOfField(bytes, from, bytes.length, delimiter)
    const other = rewritten(field, from, to)
    if (other === undefined) {
      const needsQuotes = bytes[from] !== QUOTE && hasAny(bytes, from, to, doubled)
      if (needsQuotes) out[length++] = QUOTE
      for (let at = from; at < to; at++) {
        out[length++] = bytes[at] ?? 0
        if (needsQuotes && bytes[at] === doubled) out[length++] = QUOTE
      }
      if (needsQuotes) out[length++] = QUOTE
    } else {
      out.set(other, length)
      length += other.length
    }
    if (to < bytes.length) out[length++] = bytes[to] === delimiter ? COMMA : (bytes[to] ?? 0)
    field = bytes[to] === delimiter ? field + 1 : 0
    from = to + 1
  }
  return out.subarray(0, length)
}

function hasAny(bytes: Uint8Array, from: number, to: number, other: number | undefined): boolean {
  for (let at = from; at < to; at++) {
    if (bytes[at] === COMMA || bytes[at] === other) return true
  }
  return false
}

function byteOf(char: string): number {
  return char.charCodeAt(0)
}
