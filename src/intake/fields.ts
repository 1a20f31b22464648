// The fields of a record of CSV in any dialect, and records written as RFC 4180 writes them, which is what the contract
// takes.
//
// Invariant: a record with broken quotes stays broken, so that it is refused where rows are read.
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import type { Dialect } from './dialect.js'

/** What decides where fields begin and end, with defaults. */
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

/** Whether records are cut at the same places as by RFC 4180, whose delimiter plays no part in it. */
export function areStandard({ quote, isRelaxed, isTrimmed, hasBackslashes }: Marks): boolean {
  return quote === '"' && !isRelaxed && !isTrimmed && !hasBackslashes
}

export type Field = Readonly<{
  text: string
  isQuoted: boolean
  /** Its quotes are at wrong places: `text` is what the source has. */
  isBroken: boolean
}>

/** The fields of the text of a record, which may end with a line break. */
export function splitRecordFields(record: string, marks: Marks): readonly Field[] {
  const end = endOfText(record)
  const fields: Field[] = []
  for (let at = 0; at <= end; ) {
    const field = fieldAt(record, at, end, marks)
    fields.push(field)
    if (record[field.end] !== marks.delimiter || field.end >= end) break
    at = field.end + 1
  }
  return fields
}

/** Where the line break begins that a record ends with. */
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
  const text = marks.hasBackslashes ? unescaped(raw) : raw
  const isBroken = !marks.isRelaxed && raw.includes('"') && marks.quote === '"' && text === raw
  return { text, isQuoted: false, isBroken, end }
}

/** undefined: what begins with a quote is text, as a relaxed reader takes it. */
function quotedAt(
  record: string,
  from: number,
  limit: number,
  { delimiter, quote, isTrimmed, hasBackslashes }: Marks,
): (Field & Readonly<{ end: number }>) | undefined {
  let text = ''
  let piece = from + 1
  let at = piece
  for (; at < limit; at++) {
    const char = record[at]
    if (hasBackslashes && char === '\\' && at + 1 < limit) {
      text += record.slice(piece, at) + plainOf(record[at + 1] ?? '')
      piece = at + 2
      at++
    } else if (char === quote) {
      if (record[at + 1] !== quote || at + 1 >= limit) break
      text += record.slice(piece, at + 1)
      piece = at + 2
      at++
    }
  }
  text += record.slice(piece, at)
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

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' }

/** What a backslash and a character mean. `\N` is kept: it means an empty cell, if `nulls` says so. */
function plainOf(char: string): string {
  if (char === 'N') return '\\N'
  return Object.hasOwn(ESCAPED, char) ? (ESCAPED[char] ?? '') : char
}

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\(.)/gs, (_, char: string) => plainOf(char)) : text
}

/** The columns that a program puts in front of rows that do not fit, to tell why: an import of that file leaves them out. */
export const REJECT_COLUMNS = ['$file', '$line', '$column', '$problem'] as const

/** A row of empty cells, whatever the number of columns and the delimiter. A blank last line would be no row. */
export const EMPTY_ROW = '""\n'

/** A field as RFC 4180 writes it. A broken one is written as it is. */
export function writeField(
  text: string,
  isQuoted: boolean,
  isBroken: boolean,
  delimiter: string,
): string {
  if (isBroken) return text
  const needsQuotes = isQuoted || text.includes(delimiter) || /["\r\n]/.test(text)
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text
}
