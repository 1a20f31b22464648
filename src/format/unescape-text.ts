// Unescapes the bytes of a string token, without making a string.
import { BACKSLASH, LOWER_U } from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'

/** For each byte after a backslash: the byte that the two encode. A byte that is not listed stands for itself. */
const ESCAPED = Object.freeze(
  Object.fromEntries([...'bfnrt'].map((char, at) => [char.charCodeAt(0), [8, 12, 10, 13, 9][at]])),
)

/** Number of bytes of an escape such as `\u0000`. */
const UNICODE_ESCAPE_BYTES = 6

const REPLACEMENT = 0xfffd

/**
 * Writes the text of a token as UTF-8. The token, without its quotes, is the bytes from `from` to `to` (exclusive). A
 * lone surrogate becomes U+FFFD.
 * @param target - At least `to - from` bytes. @returns the number of bytes written.
 */
export function unescapeText(bytes: Bytes, from: number, to: number, target: Bytes): number {
  let length = 0
  for (let at = from; at < to; ) {
    const byte = bytes[at] ?? 0
    if (byte !== BACKSLASH) {
      target[length++] = byte
      at++
      continue
    }
    const escaped = bytes[at + 1] ?? 0
    if (escaped !== LOWER_U) {
      target[length++] = ESCAPED[escaped] ?? escaped
      at += 2
      continue
    }
    let code = unitAt(bytes, at, to)
    at += UNICODE_ESCAPE_BYTES
    if (isHigh(code)) {
      const low = unitAt(bytes, at, to)
      if (isLow(low)) {
        code = 0x10000 + ((code - 0xd800) << 10) + low - 0xdc00
        at += UNICODE_ESCAPE_BYTES
      } else code = REPLACEMENT
    } else if (isLow(code)) code = REPLACEMENT
    length = putCode(target, length, code)
  }
  return length
}

/** The UTF-16 unit of the escape at `at`; NaN: there is none. */
function unitAt(bytes: Bytes, at: number, to: number): number {
  if (at + UNICODE_ESCAPE_BYTES > to) return Number.NaN
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LOWER_U) return Number.NaN
  let unit = 0
  for (let digit = at + 2; digit < at + UNICODE_ESCAPE_BYTES; digit++) {
    const byte = bytes[digit] ?? 0
    unit = 16 * unit + (byte & 0x0f) + (byte > 0x40 ? 9 : 0)
  }
  return unit
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

/** The high bits of a character's first byte, by the number of bytes after it. */
const LEAD = Object.freeze([0, 0xc0, 0xe0, 0xf0])

function putCode(target: Bytes, at: number, code: number): number {
  if (code < 0x80) {
    target[at] = code
    return at + 1
  }
  const more = 1 + Number(code >= 0x800) + Number(code >= 0x10000)
  target[at] = (LEAD[more] ?? 0) | (code >> (6 * more))
  for (let left = more - 1; left >= 0; left--) {
    target[at + more - left] = 0x80 | ((code >> (6 * left)) & 0x3f)
  }
  return at + more + 1
}
