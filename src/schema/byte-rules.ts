// Quick answers to "does this text fit the kind", on the bytes of a text, for columns of which only
// one or two kinds of text are left.
//
// Invariants:
// - True means that the rule in text-rules or time-rules says true. False says nothing: the text then goes
//   to that rule.
// - A text that is not all ASCII fits nothing here.
import type { Bytes } from '../base/bytes.js'
import { KIND_BIT } from './column-kind.js'

const URI_KINDS = KIND_BIT.uri | KIND_BIT.imageURI | KIND_BIT.audioURI
const DAY_KINDS = KIND_BIT.date | KIND_BIT.dateTime

const SPACE = 0x20
const DASH = 0x2d
const DOT = 0x2e
const SLASH = 0x2f
const DIGIT_0 = 0x30
const COLON = 0x3a
const AT = 0x40
const LETTER_H = 0x68
const LETTER_P = 0x70
const LETTER_S = 0x73
const LOWER_T = 0x74
const LETTER_T = 0x54
const LETTER_Z = 0x5a

const LETTER = 1
const DIGIT = 2
const LOWER = 4
/** In a URI after the host. */
const PATH = 8
/** In the local part of an e-mail address, besides letters and digits; dots apart. */
const LOCAL = 16
/** Between the digits of a phone number. */
const SEPARATOR = 32

const CLASS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte)
  if (byte === SPACE) return SEPARATOR
  if (byte > 0x7e || byte <= 0x20) return 0
  let bits = '<>"\\^`{|}'.includes(char) ? 0 : PATH
  if (/[a-zA-Z]/.test(char)) bits |= LETTER
  if (/[a-z]/.test(char)) bits |= LOWER
  if (/[0-9]/.test(char)) bits |= DIGIT
  if ("!#$%&'*+/=?^_`{|}~-".includes(char)) bits |= LOCAL
  if ('+-.()/'.includes(char)) bits |= SEPARATOR
  return bits
})

const LOCAL_PART_CHARS_MAX = 64
const EMAIL_CHARS_MAX = 254
const LABEL_CHARS_MAX = 63
const HOST_CHARS_MAX = 253

/** Whether the text from `from` to `to` fits all of the ruled kinds given; false: not sure. */
export function surelyFits(bytes: Bytes, from: number, to: number, ruled: number): boolean {
  if (ruled & KIND_BIT.phoneNumber) {
    const others = ruled & ~KIND_BIT.phoneNumber // A day fits as a phone number, too.
    return isSurelyPhone(bytes, from, to) && (others === 0 || surelyFits(bytes, from, to, others))
  }
  if (ruled === KIND_BIT.emailAddress) return isSurelyEmail(bytes, from, to)
  if ((ruled & ~URI_KINDS) === 0) return isSurelyUri(bytes, from, to)
  if (ruled === KIND_BIT.dateTime) return isSurelyDateTime(bytes, from, to)
  return (ruled & ~DAY_KINDS) === 0 && to - from === 10 && isSurelyDay(bytes, from)
}

function classOf(bytes: Bytes, at: number): number {
  return CLASS[bytes[at] ?? 0] ?? 0
}

/** `local@domain.tld`, each label of letters, digits and inner dashes. */
function isSurelyEmail(bytes: Bytes, from: number, to: number): boolean {
  if (to - from > EMAIL_CHARS_MAX) return false
  let at = from
  for (;;) {
    const part = at
    while ((classOf(bytes, at) & (LETTER | DIGIT | LOCAL)) !== 0) at++
    if (at === part) return false
    if (bytes[at] === AT) break
    if (bytes[at] !== DOT) return false
    at++
  }
  if (at >= to || at - from > LOCAL_PART_CHARS_MAX) return false
  return endOfHost(bytes, at + 1, to, LETTER | DIGIT) === to
}

/**
 * Where a host of labels ends that begins at `from`; -1 if a label is empty, too long, or begins or ends
 * with a dash, and for two dashes, which may be Punycode.
 */
function endOfHost(bytes: Bytes, from: number, to: number, allowed: number): number {
  let label = from
  let at = from
  for (;;) {
    const part = at
    while (at < to && (classOf(bytes, at) & allowed) !== 0) at++
    if (at === part || at - label > LABEL_CHARS_MAX) return -1
    if (at === to) return at
    if (bytes[at] === DOT) label = at + 1
    else if (bytes[at] !== DASH) return at
    at++
  }
}

/** `http://` or `https://`, a host in small letters that no rule of `URL` changes, and a path. */
function isSurelyUri(bytes: Bytes, from: number, to: number): boolean {
  if (bytes[from] !== LETTER_H || bytes[from + 1] !== LOWER_T || bytes[from + 2] !== LOWER_T)
    return false
  if (bytes[from + 3] !== LETTER_P) return false
  const colon = bytes[from + 4] === LETTER_S ? from + 5 : from + 4
  if (bytes[colon] !== COLON || bytes[colon + 1] !== SLASH || bytes[colon + 2] !== SLASH)
    return false
  const host = colon + 3
  if (host >= to) return false
  const end = endOfHost(bytes, host, to, LOWER | DIGIT)
  if (end < 0 || end - host > HOST_CHARS_MAX || !isSurelyName(bytes, host, end)) return false
  if (end === to) return true
  if (bytes[end] !== SLASH) return false // A port, or something odd.
  return isPath(bytes, end, to)
}

/** Looks at four bytes in a step: the path is most of a URI. */
function isPath(bytes: Bytes, from: number, to: number): boolean {
  let at = from
  for (; at + 4 <= to; at += 4) {
    const [first, second] = [classOf(bytes, at), classOf(bytes, at + 1)]
    const [third, fourth] = [classOf(bytes, at + 2), classOf(bytes, at + 3)]
    if ((first & second & third & fourth & PATH) === 0) return false
  }
  for (; at < to; at++) if ((classOf(bytes, at) & PATH) === 0) return false
  return true
}

/** Of a host: no IPv4 address, the last label of which begins with a digit. */
function isSurelyName(bytes: Bytes, from: number, to: number): boolean {
  let label = to
  while (label > from && bytes[label - 1] !== DOT) label--
  return (classOf(bytes, label) & LOWER) !== 0
}

const PHONE_DIGITS_MIN = 3
const PHONE_DIGITS_MAX = 20

/** Digits and separators, without the mark of an extension. */
function isSurelyPhone(bytes: Bytes, from: number, to: number): boolean {
  let digits = 0
  for (let at = from; at < to; at++) {
    const bits = classOf(bytes, at)
    if (bits & DIGIT) digits++
    else if ((bits & SEPARATOR) === 0) return false
  }
  return digits >= PHONE_DIGITS_MIN && digits <= PHONE_DIGITS_MAX
}

/** Days that every month but February has. */
const DAYS_MIN = 30
const FEBRUARY_DAYS_MIN = 28

function isSurelyDay(bytes: Bytes, from: number): boolean {
  if (bytes[from + 4] !== DASH || bytes[from + 7] !== DASH) return false
  const year = twoDigits(bytes, from) >= 0 && twoDigits(bytes, from + 2) >= 0
  const month = twoDigits(bytes, from + 5)
  const day = twoDigits(bytes, from + 8)
  const isMonth = month >= 1 && month <= 12
  return year && isMonth && day >= 1 && day <= (month === 2 ? FEBRUARY_DAYS_MIN : DAYS_MIN)
}

/** `YYYY-MM-DDTHH:mm:ss`, or with a space for the `T`, with a fraction and a `Z` or without. */
function isSurelyDateTime(bytes: Bytes, from: number, to: number): boolean {
  if (to - from < 19 || !isSurelyDay(bytes, from)) return false
  if (bytes[from + 10] !== LETTER_T && bytes[from + 10] !== SPACE) return false
  if (bytes[from + 13] !== COLON || bytes[from + 16] !== COLON) return false
  const hour = twoDigits(bytes, from + 11)
  const minute = twoDigits(bytes, from + 14)
  const second = twoDigits(bytes, from + 17)
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false
  let at = from + 19
  if (at < to && bytes[at] === DOT) {
    const fraction = ++at
    while (at < to && (classOf(bytes, at) & DIGIT) !== 0) at++
    if (at === fraction) return false
  }
  return at === to || (at + 1 === to && bytes[at] === LETTER_Z)
}

function twoDigits(bytes: Bytes, at: number): number {
  const tens = (bytes[at] ?? 0) - DIGIT_0
  const ones = (bytes[at + 1] ?? 0) - DIGIT_0
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}
