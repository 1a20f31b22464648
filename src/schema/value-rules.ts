// Which kinds a value fits: the table in CONTRACT.md, section 3.

import { SPACE } from '../base/ascii.js'
import type { ColumnKind } from './column-kind.js'
import { KIND_BIT } from './column-kind.js'
import { SEEN } from './column-summary.js'
import { isEmailAddress, isEmoji, isPhoneNumber, isUri } from './text-rules.js'
import { isDate, isDateTime, isDuration, isTime } from './time-rules.js'

/** Calls of this function are marked as pure, so that a bundle contains only the masks that it uses. */
function maskOf(...kinds: readonly ColumnKind[]): number {
  return kinds.reduce((mask, kind) => mask | KIND_BIT[kind], 0)
}

/** The kinds that every well-formed text fits. */
export const PLAIN_TEXT_KINDS = /* @__PURE__ */ maskOf('string', 'markdown')

const URI_KINDS = /* @__PURE__ */ maskOf('uri', 'imageURI', 'audioURI')
const DIGIT_FIRST_KINDS = /* @__PURE__ */ maskOf('date', 'time', 'dateTime')

/** The kinds whose rule the store option `formatChecks: 'off'` disables. */
export const FORMAT_KINDS = /* @__PURE__ */ (() =>
  URI_KINDS | maskOf('emailAddress', 'phoneNumber', 'emoji'))()

/** The kinds whose rule examines the text. */
export const RULED_TEXT_KINDS = /* @__PURE__ */ (() =>
  FORMAT_KINDS | DIGIT_FIRST_KINDS | maskOf('duration'))()

/**
 * The bit of the rule that applies to a kind. Without format checks, FORMAT_KINDS have the rule of `string`: they
 * accept any string, but no number or boolean.
 */
export function checkedBit(kind: ColumnKind, formatChecks: boolean): number {
  const bit = KIND_BIT[kind]
  return formatChecks || (bit & FORMAT_KINDS) === 0 ? bit : KIND_BIT.string
}

/** The kinds among `candidates` that a well-formed text fits as a JSON string. `""` fits only plain text. */
export function textKindMask(text: string, candidates: number): number {
  let mask = candidates & PLAIN_TEXT_KINDS
  const ruled = candidates & RULED_TEXT_KINDS
  if (ruled === 0 || text === '') return mask
  const first = text.charCodeAt(0)
  const isDigit = first >= 0x30 && first <= 0x39
  if (isDigit && (ruled & DIGIT_FIRST_KINDS) !== 0) {
    if (ruled & KIND_BIT.date && isDate(text)) mask |= KIND_BIT.date
    if (ruled & KIND_BIT.time && isTime(text)) mask |= KIND_BIT.time
    if (ruled & KIND_BIT.dateTime && isDateTime(text)) mask |= KIND_BIT.dateTime
  }
  if ((ruled & URI_KINDS) !== 0 && isUri(text)) mask |= ruled & URI_KINDS
  if (ruled & KIND_BIT.emailAddress && isEmailAddress(text)) mask |= KIND_BIT.emailAddress
  if (ruled & KIND_BIT.phoneNumber && isPhoneNumber(text)) mask |= KIND_BIT.phoneNumber
  if (ruled & KIND_BIT.emoji && isEmoji(text)) mask |= KIND_BIT.emoji
  if (ruled & KIND_BIT.duration && isDuration(text)) mask |= KIND_BIT.duration
  return mask
}

const NUMBER_TOKEN = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Whether the text is a JSON number without spaces. It may be infinite, such as `1e400`. */
export function isNumberToken(text: string): boolean {
  const first = text.charCodeAt(0)
  return ((first >= 0x30 && first <= 0x39) || first === 0x2d) && NUMBER_TOKEN.test(text)
}

/** A token without an exponent is finite if it has at most this many characters: the largest double has 309 digits. */
const FINITE_CHARS = 300

/** Whether a number token is a finite double. */
export function isFiniteToken(token: string): boolean {
  if (token.length <= FINITE_CHARS && !token.includes('e') && !token.includes('E')) return true
  return Number.isFinite(Number(token))
}

/** The finite number token in a CSV or TSV text, without surrounding spaces; undefined: not a number. */
export function numberTokenOf(text: string): string | undefined {
  const token = withoutSpaces(text)
  return isNumberToken(token) && isFiniteToken(token) ? token : undefined
}

function withoutSpaces(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) === SPACE) start++
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--
  return end - start === text.length ? text : text.slice(start, end)
}

const LONGEST_EXACT_DIGITS = 15

/**
 * Whether a number token is an integer (without a point or an exponent) with so many digits that a double may lose
 * some. Such a token may be an identifier, which no tool writes with a point.
 */
export function isLongInteger(token: string): boolean {
  const digits = token.startsWith('-') ? token.length - 1 : token.length
  return digits > LONGEST_EXACT_DIGITS && !/[.eE]/.test(token)
}

/** Whether a CSV or TSV text is `true` or `false` in any letter case. */
export function isBooleanText(text: string): boolean {
  if (text.length !== 4 && text.length !== 5) return false
  const lower = text.toLowerCase()
  return lower === 'true' || lower === 'false'
}

/** The class of a CSV or TSV field by its text: a bit of `SEEN`, and the bit of long integers. */
export function seenOfText(text: string): number {
  if (isNumberToken(text) && isFiniteToken(text)) {
    return isLongInteger(text) ? SEEN.number | SEEN.longInteger : SEEN.number
  }
  return isBooleanText(text) ? SEEN.boolean : SEEN.text
}
