// A fast check whether the bytes of a text fit a kind. It serves columns whose texts so far fit only a few of the
// kinds that have a rule. The caller need not know the end of a text: the check reads as far as the kind allows, and
// the caller examines the byte there (in a JSON body, whether it is the closing quote).
//
// Invariants:
// - If the check reads a text to its end, the text also fits by the rule in text-rules or time-rules. Every other
//   text is undecided, and goes to that rule.
// - A text with a non-ASCII byte, a quote, a backslash or a control character is always undecided here.
import {
  AT,
  COLON,
  DOT,
  LOWER_H,
  LOWER_P,
  LOWER_S,
  LOWER_T,
  MINUS,
  SLASH,
  SPACE,
  UPPER_T,
  UPPER_Z,
} from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'
import { KIND_BIT } from './column-kind.js'

const URI_KINDS = KIND_BIT.uri | KIND_BIT.imageURI | KIND_BIT.audioURI
const DAY_KINDS = KIND_BIT.date | KIND_BIT.dateTime

const DIGIT_0 = 0x30

const LETTER = 1
const DIGIT = 2
const LOWER = 4
/** Allowed in a URI after the host. */
const PATH = 8
/** Allowed in the local part of an e-mail address, except dots. */
const LOCAL = 16
/** Allowed between the digits of a phone number. */
const SEPARATOR = 32
/** A letter, a digit, a dash or a dot. */
const IN_HOST = 64

const CLASS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte)
  if (byte === SPACE) return SEPARATOR
  if (byte > 0x7e || byte <= 0x20) return 0
  let bits = '<>"\\^`{|}'.includes(char) ? 0 : PATH
  if (/[a-zA-Z]/.test(char)) bits |= LETTER
  if (/[a-z]/.test(char)) bits |= LOWER
  if (/[0-9]/.test(char)) bits |= DIGIT
  if (/[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]/.test(char)) bits |= LOCAL
  if (/[a-zA-Z0-9.-]/.test(char)) bits |= IN_HOST
  if ('+-.()/'.includes(char)) bits |= SEPARATOR
  return bits
})

const LOCAL_PART_CHARS_MAX = 64
const EMAIL_CHARS_MAX = 254
const LABEL_CHARS_MAX = 63
const HOST_CHARS_MAX = 253

/** Number of bytes of a word. Shorter runs of bytes are compared byte by byte. */
const WORD_BYTES = 4

/** Bytes of the body that were already validated. */
type Run = { from: number; bytes: number }

/** Checks texts of one body. */
export class ByteRules {
  readonly #bytes: Bytes
  readonly #view: DataView
  /** The domain of the most recent e-mail address, with the `@`: a column often repeats it. */
  readonly #domain: Run = { from: 0, bytes: 0 }
  /** The scheme and host of the most recent URI with a path, including the slash. */
  readonly #origin: Run = { from: 0, bytes: 0 }

  constructor(bytes: Bytes) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /**
   * The end of a text that begins at `from` and fits all given ruled kinds; -1: unsure. Reads no byte from `limit`
   * on, and does not examine the byte at the returned end.
   */
  endOf(from: number, limit: number, ruled: number): number {
    if (ruled === KIND_BIT.emailAddress) return this.#endOfEmail(from, limit)
    if ((ruled & ~URI_KINDS) === 0) return this.#endOfUri(from, limit)
    if (ruled === KIND_BIT.dateTime) return endOfDateTime(this.#bytes, from, limit)
    if ((ruled & ~DAY_KINDS) === 0) return endOfDay(this.#bytes, from, limit)
    if ((ruled & KIND_BIT.phoneNumber) === 0) return -1
    const end = endOfPhone(this.#bytes, from, limit)
    const others = ruled & ~KIND_BIT.phoneNumber // The phone rule also accepts dates.
    return end < 0 || others === 0 || this.endOf(from, end, others) === end ? end : -1
  }

  /** The end of `local@domain.tld`, with labels of letters, digits and inner dashes; -1: unsure. */
  #endOfEmail(from: number, limit: number): number {
    const bytes = this.#bytes
    let at = from
    for (;;) {
      const part = at
      while (at < limit && (byteClassAt(bytes, at) & LOCAL) !== 0) at++
      if (at === part || at === limit) return -1
      const byte = bytes[at]
      if (byte === AT) break
      if (byte !== DOT) return -1
      at++
    }
    if (at - from > LOCAL_PART_CHARS_MAX) return -1
    let end = this.#endOfRun(this.#domain, at, limit)
    if (end < 0 || (end < limit && (byteClassAt(bytes, end) & IN_HOST) !== 0)) {
      end = endOfHost(bytes, at + 1, limit, LETTER | DIGIT)
      if (end < 0) return -1
      this.#domain.from = at
      this.#domain.bytes = end - at
    }
    return end - from > EMAIL_CHARS_MAX ? -1 : end
  }

  /** The end of `http://` or `https://`, a lower-case host that `URL` does not change, and a path. */
  #endOfUri(from: number, limit: number): number {
    const bytes = this.#bytes
    const known = this.#endOfRun(this.#origin, from, limit)
    if (known >= 0) return endOfPath(bytes, known, limit)
    const host = endOfScheme(bytes, from)
    if (host < 0 || host >= limit) return -1
    const end = endOfHost(bytes, host, limit, LOWER | DIGIT)
    if (end < 0 || end - host > HOST_CHARS_MAX || !isSurelyName(bytes, host, end)) return -1
    if (end === limit) return end
    const byte = bytes[end] ?? 0
    if (byte !== SLASH) return (byteClassAt(bytes, end) & PATH) === 0 ? end : -1 // A port, or something unusual.
    this.#origin.from = from
    this.#origin.bytes = end + 1 - from
    return endOfPath(bytes, end + 1, limit)
  }

  /** The end of the bytes at `start` that equal the run's; -1: they differ. */
  #endOfRun({ from, bytes }: Run, start: number, limit: number): number {
    const last = bytes - WORD_BYTES
    if (last < 0 || start + bytes > limit) return -1
    const view = this.#view
    for (let i = 0; i < last; i += WORD_BYTES)
      if (view.getInt32(start + i) !== view.getInt32(from + i)) return -1
    return view.getInt32(start + last) === view.getInt32(from + last) ? start + bytes : -1
  }
}

function byteClassAt(bytes: Bytes, at: number): number {
  return CLASS[bytes[at] ?? 0] ?? 0
}

/**
 * The end of a host of labels that begins at `from`; -1: a label is empty, too long, or begins or ends with a dash, or
 * has two adjacent dashes, which may be Punycode.
 */
function endOfHost(bytes: Bytes, from: number, limit: number, allowed: number): number {
  let label = from
  let at = from
  for (;;) {
    const part = at
    while (at < limit && (byteClassAt(bytes, at) & allowed) !== 0) at++
    if (at === part || at - label > LABEL_CHARS_MAX) return -1
    if (at === limit) return at
    if (bytes[at] === DOT) label = at + 1
    else if (bytes[at] !== MINUS) return at
    at++
  }
}

/** The beginning of a URI's host; -1: another scheme. */
function endOfScheme(bytes: Bytes, from: number): number {
  if (bytes[from] !== LOWER_H || bytes[from + 1] !== LOWER_T || bytes[from + 2] !== LOWER_T)
    return -1
  if (bytes[from + 3] !== LOWER_P) return -1
  const colon = bytes[from + 4] === LOWER_S ? from + 5 : from + 4
  if (bytes[colon] !== COLON || bytes[colon + 1] !== SLASH || bytes[colon + 2] !== SLASH) return -1
  return colon + 3
}

/** The end of a URI's path. Reads four bytes at a time, because the path is most of a URI. */
function endOfPath(bytes: Bytes, from: number, limit: number): number {
  let at = from
  for (; at + 4 <= limit; at += 4) {
    const firstTwo = byteClassAt(bytes, at) & byteClassAt(bytes, at + 1)
    if ((firstTwo & byteClassAt(bytes, at + 2) & byteClassAt(bytes, at + 3) & PATH) === 0) break
  }
  while (at < limit && (byteClassAt(bytes, at) & PATH) !== 0) at++
  return at
}

/** Whether a host is certainly a name, and not an IPv4 address, whose last label begins with a digit. */
function isSurelyName(bytes: Bytes, from: number, to: number): boolean {
  let label = to
  while (label > from && bytes[label - 1] !== DOT) label--
  return (byteClassAt(bytes, label) & LOWER) !== 0
}

const PHONE_DIGITS_MIN = 3
const PHONE_DIGITS_MAX = 20

/** The end of a phone number, before any extension mark; -1: it has too few or too many digits. */
function endOfPhone(bytes: Bytes, from: number, limit: number): number {
  let digits = 0
  let at = from
  for (; at < limit; at++) {
    const bits = byteClassAt(bytes, at)
    if (bits & DIGIT) digits++
    else if ((bits & SEPARATOR) === 0) break
  }
  return digits >= PHONE_DIGITS_MIN && digits <= PHONE_DIGITS_MAX ? at : -1
}

/** The minimum number of days of a month other than February. */
const DAYS_MIN = 30
const FEBRUARY_DAYS_MIN = 28
/** A bit for each month with 31 days. */
const LONG_MONTHS = 0b1010110101010

function endOfDay(bytes: Bytes, from: number, limit: number): number {
  if (from + DAY_BYTES > limit) return -1
  if (bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS) return -1
  if (twoDigits(bytes, from) < 0 || twoDigits(bytes, from + 2) < 0) return -1
  const month = twoDigits(bytes, from + 5)
  const day = twoDigits(bytes, from + 8)
  if (month < 1 || month > 12 || day < 1) return -1
  const days = month === 2 ? FEBRUARY_DAYS_MIN : DAYS_MIN + ((LONG_MONTHS >> month) & 1)
  return day <= days ? from + DAY_BYTES : -1
}

const DAY_BYTES = 10
const SECONDS_BYTES = 19

/** The end of `YYYY-MM-DDTHH:mm:ss`, with `T` or a space, and an optional fraction and `Z`; -1: unsure. */
function endOfDateTime(bytes: Bytes, from: number, limit: number): number {
  if (from + SECONDS_BYTES > limit || endOfDay(bytes, from, limit) < 0) return -1
  if (bytes[from + 10] !== UPPER_T && bytes[from + 10] !== SPACE) return -1
  if (bytes[from + 13] !== COLON || bytes[from + 16] !== COLON) return -1
  const hour = twoDigits(bytes, from + 11)
  const minute = twoDigits(bytes, from + 14)
  const second = twoDigits(bytes, from + 17)
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return -1
  let at = from + SECONDS_BYTES
  if (at < limit && bytes[at] === DOT) {
    const fraction = ++at
    while (at < limit && (byteClassAt(bytes, at) & DIGIT) !== 0) at++
    if (at === fraction) return -1
  }
  return at < limit && bytes[at] === UPPER_Z ? at + 1 : at
}

function twoDigits(bytes: Bytes, at: number): number {
  const tens = (bytes[at] ?? 0) - DIGIT_0
  const ones = (bytes[at + 1] ?? 0) - DIGIT_0
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}
