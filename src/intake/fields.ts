// Reads the fields of CSV records in any dialect, and writes records as in RFC 4180, the form that the contract
// accepts.
//
// Invariant: a record with broken quotes stays broken, so that the reader of rows rejects it.
import { BACKSLASH, CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import type { Dialect } from './dialect.js'

/** The marks that determine the bounds of fields, with defaults. */
export type Marks = Readonly<{
  delimiter: string
  quote: string
  isRelaxed: boolean
  isTrimmed: boolean
  hasBackslashes: boolean
}>

export function resolveMarks(dialect: Dialect, delimiter: string): Marks {
  return {
    delimiter,
    quote: dialect.quote ?? '"',
    isRelaxed: dialect.quotes === 'relaxed',
    isTrimmed: dialect.trim === true,
    hasBackslashes: dialect.escape === 'backslash',
  }
}

/** Whether records end at the same places as in RFC 4180; the delimiter does not matter. */
export function areStandard({ quote, isRelaxed, isTrimmed, hasBackslashes }: Marks): boolean {
  return quote === '"' && !isRelaxed && !isTrimmed && !hasBackslashes
}

export type Field = Readonly<{
  text: string
  isQuoted: boolean
  /** Whether its quotes are misplaced; `text` is then the raw text. */
  isBroken: boolean
}>

/** The maximum number of fields that are read singly from a record. A table has fewer columns. */
const FIELDS_MAX = 16_384

/**
 * The fields of a record's text, which may end with a line break. Everything after the first `FIELDS_MAX` is one more
 * field, empty if it has only delimiters.
 */
export function splitRecordFields(record: string, marks: Marks): readonly Field[] {
  const end = endOfText(record)
  const fields: Field[] = []
  for (let at = 0; at <= end; ) {
    if (fields.length === FIELDS_MAX) {
      const rest = record.slice(at, end)
      const isEmpty = rest === marks.delimiter.repeat(rest.length)
      fields.push({ text: isEmpty ? '' : rest, isQuoted: false, isBroken: false })
      break
    }
    const field = fieldAt(record, at, end, marks)
    fields.push(field)
    if (record[field.end] !== marks.delimiter || field.end >= end) break
    at = field.end + 1
  }
  return fields
}

/** The beginning of the line break at the end of a record. */
export function endOfText(record: string): number {
  let end = record.length
  if (record.charCodeAt(end - 1) === LINE_FEED) end--
  if (record.charCodeAt(end - 1) === CARRIAGE_RETURN) end--
  return end
}

function fieldAt(
  record: string,
  start: number,
  limit: number,
  marks: Marks,
): Field & Readonly<{ end: number }> {
  let from = start
  while (marks.isTrimmed && from < limit && isBlankChar(record[from], marks.delimiter)) from++
  if (record[from] === marks.quote && from < limit) {
    const quoted = quotedAt(record, from, limit, marks)
    if (quoted !== undefined) return quoted
  }
  const found = record.indexOf(marks.delimiter, from)
  const end = found < 0 || found > limit ? limit : found
  let to = end
  while (marks.isTrimmed && to > from && isBlankChar(record[to - 1], marks.delimiter)) to--
  const raw = record.slice(marks.isTrimmed ? from : start, to)
  const text = marks.hasBackslashes && raw.includes('\\') ? unescaped(raw, '', true) : raw
  const isBroken = !marks.isRelaxed && raw.includes('"') && marks.quote === '"' && text === raw
  return { text, isQuoted: false, isBroken, end }
}

/** Reads a quoted field; undefined: the field is not quoted, because relaxed quoting makes its leading quote text. */
function quotedAt(
  record: string,
  from: number,
  limit: number,
  { delimiter, quote, isTrimmed, hasBackslashes }: Marks,
): (Field & Readonly<{ end: number }>) | undefined {
  const quoteUnit = quote.charCodeAt(0)
  let at = from + 1
  let hasEscapes = false
  for (; at < limit; at++) {
    const unit = record.charCodeAt(at)
    if (unit === quoteUnit && (at + 1 >= limit || record.charCodeAt(at + 1) !== quoteUnit)) break
    if (unit !== quoteUnit && !(hasBackslashes && unit === BACKSLASH && at + 1 < limit)) continue
    hasEscapes = true
    at++
  }
  const raw = record.slice(from + 1, at)
  const text = hasEscapes ? unescaped(raw, quote, hasBackslashes) : raw
  let end = at + 1
  while (isTrimmed && end < limit && isBlankChar(record[end], delimiter)) end++
  if (at < limit && (end >= limit || record[end] === delimiter)) {
    return { text, isQuoted: true, isBroken: false, end: Math.min(end, limit) }
  }
  const next = at < limit ? record.indexOf(delimiter, end) : -1
  const to = next < 0 || next > limit ? limit : next
  return { text: record.slice(from, to), isQuoted: false, isBroken: true, end: to }
}

function isBlankChar(char: string | undefined, delimiter: string): boolean {
  return (char === ' ' || char === '\t') && char !== delimiter
}

/** The meaning of a character after a backslash. `\N` stays: `nulls` may define it as an empty cell. */
const ESCAPED: ReadonlyMap<number, string> = new Map(
  [
    ['n', '\n'],
    ['t', '\t'],
    ['r', '\r'],
    ['0', '\0'],
    ['N', '\\N'],
  ].map(([char = '', text = '']) => [char.charCodeAt(0), text]),
)

/** Number of UTF-16 units converted to a string at once. */
const PIECE_UNITS = 4_096

/**
 * The text of a field, unescaped unit by unit, because it may consist of escapes.
 * @param quote - The quote, which is doubled in the field; empty: the field is not quoted.
 */
function unescaped(raw: string, quote: string, hasBackslashes: boolean): string {
  if (!hasBackslashes) return raw.split(quote + quote).join(quote) // Faster than replacing many.
  const quoteUnit = quote.charCodeAt(0)
  const units = new Uint16Array(raw.length)
  let length = 0
  for (let at = 0; at < raw.length; at++) {
    const unit = raw.charCodeAt(at)
    const isEscape = unit === BACKSLASH && at + 1 < raw.length
    if (isEscape || unit === quoteUnit) at++
    const meant = isEscape ? ESCAPED.get(raw.charCodeAt(at)) : undefined
    if (meant === undefined) units[length++] = isEscape ? raw.charCodeAt(at) : unit
    else for (let i = 0; i < meant.length; i++) units[length++] = meant.charCodeAt(i)
  }
  let text = ''
  for (let at = 0; at < length; at += PIECE_UNITS) {
    text += String.fromCharCode(...units.subarray(at, Math.min(at + PIECE_UNITS, length)))
  }
  return text
}

/**
 * The leading columns of a file of rejected rows, which say why each row did not fit. An import of that file leaves
 * them out.
 */
export const REJECT_COLUMNS = ['$file', '$line', '$column', '$problem'] as const

/** A row of empty cells, for any number of columns and any delimiter. A blank last line would not count as a row. */
export const EMPTY_ROW = '""\n'

/** A field as in RFC 4180. A broken field does not change. */
export function writeField(
  text: string,
  isQuoted: boolean,
  isBroken: boolean,
  delimiter: string,
): string {
  if (isBroken) return text
  const needsQuotes = isQuoted || text.includes(delimiter) || /["\r\n]/.test(text)
  return needsQuotes ? `"${text.split('"').join('""')}"` : text
}
