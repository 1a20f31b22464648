// Decimal numbers compared exactly, from the bytes of their JSON tokens.
//
// Numbers are first rounded to doubles. If the doubles differ, the numbers have the order of the doubles. Digits are
// compared only if two numbers round to one double, and one of them has more than 15 digits, which a double may lose.
//
// Invariant: the work is linear in the length of a token, whatever its exponent. An exponent of millions of digits
// stays text, because parsing it would take quadratic time.
import { DIGIT_NINE, DIGIT_ZERO, DOT, LOWER_E, MINUS, UPPER_E } from '../base/ascii.js'
import { type Bytes, NO_BYTES, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'

/** Two numbers with at most this many digits have the same double only if they are equal. */
const SHORT_DIGITS = 15

/** Powers of ten that a double represents exactly. */
const POWERS = Object.freeze(
  Array.from({ length: SHORT_DIGITS + 1 }, (_, exponent) => Number(`1e${exponent}`)),
)

/** A number as its digits: `digits` * 10 ** `exponent`, without zeros at either end. Zero has no digits. */
type LongDecimal = Readonly<{
  isNegative: boolean
  digits: string
  /** The shortest text of an integer: `0`, `-12`. */
  exponent: string
}>

const ZERO: LongDecimal = Object.freeze({ isNegative: false, digits: '', exponent: '0' })

/** Reads number tokens; the fields describe the last one. */
export class DecimalReader {
  /** The double that is nearest to the number. */
  near = 0
  /** Whether the token is short: only short numbers of equal value have the same double. */
  isShort = true
  #bytes = NO_BYTES
  #from = 0
  #to = 0
  #long: LongDecimal | undefined

  read(bytes: Bytes, from: number, to: number): void {
    this.isShort = this.#readShort(bytes, from, to)
    if (!this.isShort) this.near = Number(sliceText(bytes, from, to))
    this.#bytes = bytes
    this.#from = from
    this.#to = to
    this.#long = undefined
  }

  /** Reads a short token without an exponent. @returns false: the token is longer. */
  #readShort(bytes: Bytes, from: number, to: number): boolean {
    const isNegative = bytes[from] === MINUS
    const start = isNegative ? from + 1 : from
    if (to - start > SHORT_DIGITS + 1) return false
    let whole = 0
    let point = to
    for (let at = start; at < to; at++) {
      const byte = bytes[at] ?? 0
      if (byte >= DIGIT_ZERO && byte <= DIGIT_NINE) whole = 10 * whole + byte - DIGIT_ZERO
      else if (byte === DOT) point = at + 1
      else return false
    }
    if (to - start > SHORT_DIGITS && point === to) return false
    const size = point < to ? whole / (POWERS[to - point] ?? Number.NaN) : whole
    this.near = isNegative ? -size : size
    return true
  }

  /** Compares the last number with another reader's: negative if it is less, 0 if they are equal. */
  orderTo(other: DecimalReader): number {
    if (this.near !== other.near) return this.near < other.near ? -1 : 1
    return this.isShort && other.isShort ? 0 : orderOfLong(this.#digits, other.#digits)
  }

  get #digits(): LongDecimal {
    this.#long ??= longDecimal(sliceText(this.#bytes, this.#from, this.#to))
    return this.#long
  }
}

/** A number to compare others with. */
export class Decimal {
  readonly #wanted = new DecimalReader()
  readonly #token = new DecimalReader()

  /** @param text - A number token of JSON. */
  constructor(text: string) {
    const bytes = utf8(text)
    this.#wanted.read(bytes, 0, bytes.length)
  }

  /** Compares a number token with this number: negative if the token is less, 0 if they are equal. */
  orderOf(bytes: Bytes, from: number, to: number): number {
    this.#token.read(bytes, from, to)
    return this.#token.orderTo(this.#wanted)
  }
}

/** The digits and exponent of a JSON number token. Its exponent may have any number of digits. */
export function longDecimal(token: string): LongDecimal {
  const isNegative = token.charCodeAt(0) === MINUS
  let end = token.length // The end of the digits.
  let point = -1
  let first = -1 // The places of the first and the last nonzero digit.
  let last = -1
  for (let at = isNegative ? 1 : 0; at < end; at++) {
    const code = token.charCodeAt(at)
    if (code === DOT) point = at
    else if (code === LOWER_E || code === UPPER_E) end = at
    else if (code !== DIGIT_ZERO) {
      if (first < 0) first = at
      last = at
    }
  }
  if (first < 0) return ZERO
  const units = point < 0 ? end : point // The end of the units digit.
  const isWithin = first < units && last > units
  const digits = isWithin
    ? token.slice(first, units) + token.slice(units + 1, last + 1)
    : token.slice(first, last + 1)
  const power = last < units ? units - 1 - last : units - last
  return { isNegative, digits, exponent: sumText(token.slice(end + 1), power) }
}

/**
 * Splits a nonzero number into parts that sort it among numbers of the same sign: first by the place of its first
 * digit (`placesSign`, and `places` without leading zeros), then by its digits as text.
 */
export function orderedDecimal(
  token: string,
): Readonly<{ isNegative: boolean; placesSign: number; places: string; digits: string }> {
  const { isNegative, digits, exponent } = longDecimal(token)
  const places = sumText(exponent, digits.length)
  const isBelow = places.startsWith('-')
  return {
    isNegative,
    placesSign: isBelow ? -1 : 1,
    places: isBelow ? places.slice(1) : places,
    digits,
  }
}

/** The lowest 32 bits, signed, of an integer in the form of `LongDecimal`. */
export function lowBitsOf(integer: string): number {
  const isNegative = integer.charCodeAt(0) === MINUS
  let bits = 0
  for (let at = isNegative ? 1 : 0; at < integer.length; at++) {
    bits = (Math.imul(10, bits) + integer.charCodeAt(at) - DIGIT_ZERO) | 0
  }
  return isNegative ? -bits | 0 : bits
}

/**
 * The sum of an exponent, which may have a sign and leading zeros, and a small integer.
 * @param more - At most `SHORT_DIGITS` - 1 digits.
 */
function sumText(integer: string, more: number): string {
  if (integer.length <= SHORT_DIGITS) return String(Number(integer) + more)
  const sign = integer.startsWith('-') ? '-' : ''
  const digits = integer.replace(/^[+-]?0*/, '')
  if (digits.length <= SHORT_DIGITS) return String(Number(`${sign}0${digits}`) + more)
  return sign + longSum(digits, sign === '' ? more : -more)
}

/** The sum of a number with more than `SHORT_DIGITS` digits and one with fewer. */
function longSum(digits: string, more: number): string {
  const split = digits.length - SHORT_DIGITS
  const limit = POWERS[SHORT_DIGITS] ?? 0
  const low = Number(digits.slice(split)) + more
  const high = digits.slice(0, split)
  const carry = low < 0 ? -1 : Number(low >= limit)
  const lowDigits = String(low - carry * limit).padStart(SHORT_DIGITS, '0')
  return (carry === 0 ? high : carried(high, carry)) + lowDigits
}

/** Adds `carry`, which is 1 or -1, to digits. @returns the digits of the sum, without leading zeros */
function carried(digits: string, carry: number): string {
  const turned = carry > 0 ? DIGIT_NINE : DIGIT_ZERO
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === turned) end--
  const rest = (carry > 0 ? '0' : '9').repeat(digits.length - end)
  const changed = (end === 0 ? 0 : digits.charCodeAt(end - 1) - DIGIT_ZERO) + carry
  const head = digits.slice(0, Math.max(0, end - 1))
  return head === '' && changed === 0 ? rest : head + changed + rest
}

function orderOfLong(left: LongDecimal, right: LongDecimal): number {
  const [leftSign, rightSign] = [signOf(left), signOf(right)]
  if (leftSign !== rightSign || leftSign === 0) return leftSign - rightSign
  return leftSign * orderOfSizes(left, right)
}

function signOf({ isNegative, digits }: LongDecimal): number {
  if (digits === '') return 0
  return isNegative ? -1 : 1
}

/** Compares the magnitudes of two nonzero numbers: by the place of the first digit, then digit by digit. */
function orderOfSizes(left: LongDecimal, right: LongDecimal): number {
  const places = orderOfIntegers(
    sumText(left.exponent, left.digits.length),
    sumText(right.exponent, right.digits.length),
  )
  if (places !== 0) return places
  if (left.digits === right.digits) return 0
  return left.digits < right.digits ? -1 : 1
}

function orderOfIntegers(left: string, right: string): number {
  if (left === right) return 0
  const isNegative = left.startsWith('-')
  if (isNegative !== right.startsWith('-')) return isNegative ? -1 : 1
  const isLess = left.length === right.length ? left < right : left.length < right.length
  return isLess === isNegative ? 1 : -1
}
