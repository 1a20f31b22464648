// The hash of a value in the filters of a segment. FORMAT.md, section 6. Written to disk: never change it.
//
// Equal values have equal hashes, whatever their notation: 34.50 and 3.45e1, "a" and "\u0061".
import { DIGIT_NINE, DIGIT_ZERO, DOT, MINUS, QUOTE } from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { longDecimal, lowBitsOf } from '../schema/decimal.js'

const TEXT_SEED = 0x7465_7874
const NUMBER_SEED = 0x6e75_6d62
const NEGATIVE = 0x2d2d_2d2d
const WORD_FACTOR = 0x9e37_79b1
const DIGIT_FACTOR = 0x0100_0193
const LAST_FACTORS = Object.freeze([0x7feb_352d, 0x846c_a68b] as const)

/** Number of bytes of a text that the hash covers, besides its length. */
const TEXT_BYTES_MAX = 64

/**
 * The hash of a string or number token; undefined: true, false, an array or an object.
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
  return hashOfTextIn(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), from, to) >>> 0
}

/** The signed form of `hashOfText`. */
export function hashOfTextIn(view: DataView, from: number, to: number): number {
  const length = to - from
  const end = from + Math.min(length, TEXT_BYTES_MAX)
  let hash = TEXT_SEED ^ length
  let at = from
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), WORD_FACTOR)
    hash ^= hash >>> 15
  }
  for (; at < end; at++) {
    hash = Math.imul(hash ^ view.getUint8(at), WORD_FACTOR)
    hash ^= hash >>> 15
  }
  return mixed(hash)
}

function hashOfNumber(bytes: Bytes, from: number, to: number): number {
  const number = new NumberToken()
  return (number.read(bytes, from, to) ? number.hash : hashOfLong(sliceText(bytes, from, to))) >>> 0
}

/** Numbers with at most this many digits compare like their doubles. */
const EXACT_DIGITS = 15

/** Reads the hash and the value of a number in one pass. */
export class NumberToken {
  /** The hash, signed. */
  hash = 0
  /** The number as a double; NaN: it has too many digits to be compared as a double. */
  value = 0

  /**
   * The hash covers the digits without zeros at either end, and the power of ten of the last digit.
   * @returns false: the number has an exponent, see `hashOfToken`.
   */
  read(bytes: Bytes, from: number, to: number): boolean {
    const isNegative = bytes[from] === MINUS
    let whole = 0
    let point = to
    let last = -1 // The last nonzero digit.
    let hash = NUMBER_SEED
    let hashAtLast = NUMBER_SEED
    for (let at = isNegative ? from + 1 : from; at < to; at++) {
      const byte = bytes[at] ?? 0
      if (byte >= DIGIT_ZERO && byte <= DIGIT_NINE) {
        whole = 10 * whole + byte - DIGIT_ZERO
        if (byte === DIGIT_ZERO && last < 0) continue
        hash = Math.imul(hash ^ byte, DIGIT_FACTOR)
        if (byte === DIGIT_ZERO) continue
        last = at
        hashAtLast = hash
      } else if (byte === DOT) point = at
      else return false
    }
    const digits = to - from - (isNegative ? 1 : 0) - (point < to ? 1 : 0)
    const size = point < to ? whole / (POWERS[to - point - 1] ?? Number.NaN) : whole
    this.value = digits <= EXACT_DIGITS ? (isNegative ? -size : size) : Number.NaN
    const exponent = last < point ? point - 1 - last : point - last
    this.hash = last < 0 ? mixed(NUMBER_SEED) : numberHash(hashAtLast, exponent, isNegative)
    return true
  }
}

const POWERS = Object.freeze(
  Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent),
)

/** The signed hash of any number token. */
export function hashOfLong(token: string): number {
  const { isNegative, digits, exponent } = longDecimal(token)
  if (digits === '') return mixed(NUMBER_SEED)
  let hash = NUMBER_SEED
  for (let i = 0; i < digits.length; i++) {
    hash = Math.imul(hash ^ digits.charCodeAt(i), DIGIT_FACTOR)
  }
  return numberHash(hash, lowBitsOf(exponent), isNegative)
}

/** @param exponent - Only its lowest 32 bits count. */
function numberHash(hash: number, exponent: number, isNegative: boolean): number {
  return mixed(Math.imul(hash ^ exponent, WORD_FACTOR) ^ (isNegative ? NEGATIVE : 0))
}

/** Mixes the bits of a hash. The result is signed, so that V8 allocates no object for the number. */
function mixed(hash: number): number {
  let bits = hash ^ (hash >>> 16)
  bits = Math.imul(bits, LAST_FACTORS[0])
  bits ^= bits >>> 15
  bits = Math.imul(bits, LAST_FACTORS[1])
  return bits ^ (bits >>> 16)
}
