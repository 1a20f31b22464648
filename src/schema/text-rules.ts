// The rules of uri, emailAddress, phoneNumber and emoji. Each takes time linear in its text: where the runtime's parser
// is slower, its input is bounded first.

import emojiRegex from 'emoji-regex'
import { DOT } from '../base/ascii.js'

const LOCAL_PART_CHARS_MAX = 64
const EMAIL_CHARS_MAX = 254
const PHONE_DIGITS_MIN = 3
const PHONE_DIGITS_MAX = 20

/**
 * The maximum number of characters of an ASCII host in a URI, and of a host with letters beyond ASCII. DNS allows 253.
 * For hosts with such letters, `URL` takes quadratic time (4 s for 200,000 letters), and converts one letter to up to
 * 18. So longer hosts are rejected unread.
 */
const HOST_CHARS_MAX = 512
const WIDE_HOST_CHARS_MAX = 253
const PORT = /:[0-9]*$/

/** The beginning of every URI. Most other texts fail this test within a word. */
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/
/** Characters that `URL` strips or encodes: a stored URI must be usable unchanged. */
const NOT_IN_URI = /[\s\p{Cc}<>"\\^`{|}]/u
/** Matches the part of a URI before the host, for the schemes whose hosts `URL` converts by IDNA. */
const BEFORE_HOST = /^(?:(?:https?|wss?|ftp):\/*|file:\/\/)/i
const AFTER_HOST = /[/?#]/

/** An absolute URI or IRI of any scheme that is usable unchanged. */
export function isUri(text: string): boolean {
  if (!SCHEME.test(text) || NOT_IN_URI.test(text)) return false
  const before = BEFORE_HOST.exec(text)
  if (before !== null) {
    const rest = text.slice(before[0].length)
    const end = rest.search(AFTER_HOST)
    const authority = end < 0 ? rest : rest.slice(0, end)
    if (isHostTooLong(authority.slice(authority.lastIndexOf('@') + 1))) return false
  }
  return isAscii(text) ? URL.canParse(text) : parsedUrl(text) !== undefined
}

/** @param host - The host, perhaps with a port. */
function isHostTooLong(host: string): boolean {
  if (host.length <= WIDE_HOST_CHARS_MAX) return false
  if (host.length > HOST_CHARS_MAX) return true
  return !isAscii(host) && host.replace(PORT, '').length > WIDE_HOST_CHARS_MAX
}

const LOCAL_PART = /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+$/
const DOMAIN =
  /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/
/** Characters allowed in a domain with letters beyond ASCII, so that `URL` parses a bare host. */
const WIDE_DOMAIN = /^(?:[a-zA-Z0-9.-]|[^\0-\x7f])+$/

/** The e-mail address shape of the HTML standard, with dots as in RFC 5321, and IDN domains. */
export function isEmailAddress(text: string): boolean {
  const at = text.indexOf('@')
  if (at < 1 || at > LOCAL_PART_CHARS_MAX || text.length > EMAIL_CHARS_MAX) return false
  if (text.charCodeAt(0) === DOT || text.charCodeAt(at - 1) === DOT) return false
  const local = text.slice(0, at)
  if (!LOCAL_PART.test(local) || local.includes('..')) return false
  const domain = text.slice(at + 1)
  return DOMAIN.test(domain) || isWideDomain(domain)
}

function isWideDomain(domain: string): boolean {
  if (isAscii(domain) || !WIDE_DOMAIN.test(domain)) return false
  const url = parsedUrl(`http://${domain}`)
  return url !== undefined && DOMAIN.test(url.hostname)
}

/**
 * Replaces `URL.canParse` for non-ASCII text: on Node 20 and 22, once the caller is optimized, `canParse` reads
 * Latin-1 strings as UTF-8 and rejects `https://münchen.example`.
 */
function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined // Not a URL.
  }
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}

const PHONE_SEPARATORS = '+-.()/ '

/**
 * Digits and separators in any order, with 3 to 20 digits. One extension mark (`x`, `ext` or `#`) may stand between
 * digits.
 */
export function isPhoneNumber(text: string): boolean {
  let digits = 0
  let digitsBeforeMark = 0
  let at = 0
  while (at < text.length && digits <= PHONE_DIGITS_MAX) {
    const char = text.charAt(at)
    if (char >= '0' && char <= '9') {
      digits++
      at++
    } else if (PHONE_SEPARATORS.includes(char)) {
      at++
    } else {
      const mark = extensionMarkChars(text, at)
      if (mark === 0 || digits === 0 || digitsBeforeMark > 0) return false
      digitsBeforeMark = digits
      at += mark
    }
  }
  return digits >= PHONE_DIGITS_MIN && digits <= PHONE_DIGITS_MAX && digits > digitsBeforeMark
}

/** Length of the extension mark at `at`; 0 when there is none. */
function extensionMarkChars(text: string, at: number): number {
  const char = text.charAt(at)
  if (char === '#' || char === 'x' || char === 'X') return 1
  return text.slice(at, at + 3).toLowerCase() === 'ext' ? 3 : 0
}

const EMOJI_SEQUENCE = new RegExp(emojiRegex().source, 'y')

/** Whether a text consists of one or more emoji sequences. A sequence has at most about ten code points. */
export function isEmoji(text: string): boolean {
  let at = 0
  while (at < text.length) {
    EMOJI_SEQUENCE.lastIndex = at
    if (!EMOJI_SEQUENCE.test(text)) return false
    at = EMOJI_SEQUENCE.lastIndex
  }
  return text.length > 0
}
