// The hash of a value, by which the filters of a segment know it. FORMAT.md, section 6. Written to disk: never change it.
//
// Equal values have equal hashes, however they were written: 34.50 and 3.45e1, "a" and "\u0061".
import { DIGIT_NINE, DIGIT_ZERO, LOWER_E, MINUS, QUOTE, UPPER_E } from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { longDecimal } from '../schema/decimal.js'

const TEXT_SEED = 0x7465_7874
const NUMBER_SEED = 0x6e75_6d62
const NEGATIVE = 0x2d2d_2d2d
const WORD_FACTOR = 0x9e37_79b1
const DIGIT_FACTOR = 0x0100_0193
const LAST_FACTORS = Object.freeze([0x7feb_352d, 0x846c_a68b] as const)

/** Bytes of a text that count; its length counts too. */
const TEXT_BYTES_MAX = 64

/**
 * The hash of a token, a string or a number; undefined: true, false, an array or an object, which have none.
 * @param isEscaped - Whether the token has a backslash.
 */
export function hashOfToken(
  bytes: Bytes,
  from: number,
  to: number,
  isEscaped: boolean,
): number | undefined {
  const first = bytes[from] ?? 0
  if (first === QUOTE) {
    if (!isEscaped) return hashOfText(bytes, from + 1, to - 1)
    const text = utf8(String(JSON.parse(sliceText(bytes, from, to))))
    return hashOfText(text, 0, text.length)
  }
  if (first === MINUS || (first >= DIGIT_ZERO && first <= DIGIT_NINE)) {
    return hashOfNumber(bytes, from, to)
  }
  return undefined
}

export function hashOfText(bytes: Bytes, from: number, to: number): number {
  const length = to - from
  const end = from + Math.min(length, TEXT_BYTES_MAX)
  let hash = TEXT_SEED ^ length
  let at = from
  for (; at + 4 <= end; at += 4) {
    const word =
      (bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24)
    hash = Math.imul(hash ^ word, WORD_FACTOR)
    hash ^= hash >>> 15
  }
  for (; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] ?? 0), WORD_FACTOR)
    hash ^= hash >>> 15
  }
  return mixed(hash)
}

/** By the digits without zeros at either end, and the power of ten of the last one. */
function hashOfNumber(bytes: Bytes, from: number, to: number): number {
  let point = to
  let first = -1
  let last = -1
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    if (byte === LOWER_E || byte === UPPER_E) return hashOfLong(sliceText(bytes, from, to))
    if (byte < DIGIT_ZERO || byte > DIGIT_NINE) {
      if (byte !== MINUS) point = at
    } else if (byte > DIGIT_ZERO) {
      if (first < 0) first = at
      last = at
    }
  }
  if (first < 0) return mixed(NUMBER_SEED)
  let hash = NUMBER_SEED
  for (let at = first; at <= last; at++) {
    if (at !== point) hash = Math.imul(hash ^ (bytes[at] ?? 0), DIGIT_FACTOR)
  }
  const exponent = last < point ? point - 1 - last : point - last
  return numberHash(hash, exponent, bytes[from] === MINUS)
}

function hashOfLong(token: string): number {
  const { isNegative, digits, exponent } = longDecimal(token)
  if (digits === '') return mixed(NUMBER_SEED)
  let hash = NUMBER_SEED
  for (let i = 0; i < digits.length; i++) {
    hash = Math.imul(hash ^ digits.charCodeAt(i), DIGIT_FACTOR)
  }
  return numberHash(hash, Number(BigInt.asIntN(32, exponent)), isNegative)
}

/** @param exponent - Its lowest 32 bits count. */
function numberHash(hash: number, exponent: number, isNegative: boolean): number {
  return mixed(Math.imul(hash ^ exponent, WORD_FACTOR) ^ (isNegative ? NEGATIVE : 0))
}

function mixed(hash: number): number {
  let bits = hash ^ (hash >>> 16)
  bits = Math.imul(bits, LAST_FACTORS[0])
  bits ^= bits >>> 15
  bits = Math.imul(bits, LAST_FACTORS[1])
  return (bits ^ (bits >>> 16)) >>> 0
}
