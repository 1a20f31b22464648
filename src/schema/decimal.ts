// Decimal numbers compared exactly, from the bytes of their JSON tokens. Nothing becomes a double that would round.
//
// Most numbers are short: a whole number of at most 15 digits, divided by a power of ten. Those are compared as such;
// all others by their digits.
import { DIGIT_NINE, DIGIT_ZERO, DOT, MINUS } from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'

/** Digits that every double keeps. */
const SHORT_DIGITS = 15

/** Powers of ten that a double has exactly. */
const POWERS = Object.freeze(Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`)))

/** A number as its digits: `digits` * 10 ** `exponent`, without zeros at either end. Zero has no digits. */
type LongDecimal = Readonly<{ isNegative: boolean; digits: string; exponent: bigint }>

/** A number that others are compared to. */
export class Decimal {
  /** Of a short number: the number is `whole` / 10 ** `scale`. */
  readonly #whole: number
  readonly #scale: number
  readonly #long: LongDecimal | null
  readonly #token: ShortToken = new ShortToken()
  readonly #text: string

  /** @param text - A number token of JSON. */
  constructor(text: string) {
    const bytes = new TextEncoder().encode(text)
    this.#text = text
    const isShort = this.#token.read(bytes, 0, bytes.length)
    this.#whole = isShort ? this.#token.whole : 0
    this.#scale = isShort ? this.#token.scale : 0
    this.#long = isShort ? null : longDecimal(text)
  }

  /** The order of a number token and this number: negative if the token is less, 0 if both are equal. */
  orderOf(bytes: Bytes, from: number, to: number): number {
    const token = this.#token
    if (this.#long === null && token.read(bytes, from, to)) {
      const difference = token.scale - this.#scale
      if (difference === 0) return token.whole - this.#whole
      const left = difference < 0 ? token.whole * (POWERS[-difference] ?? Number.NaN) : token.whole
      const right = difference > 0 ? this.#whole * (POWERS[difference] ?? Number.NaN) : this.#whole
      if (Math.abs(left) <= MAX && Math.abs(right) <= MAX) return left - right
    }
    return orderOfLong(
      longDecimal(sliceText(bytes, from, to)),
      this.#long ?? longDecimal(this.#text),
    )
  }
}

const MAX = Number.MAX_SAFE_INTEGER

/** Reads tokens without an exponent and of few digits. */
class ShortToken {
  whole = 0
  scale = 0

  /** false: the token is longer. */
  read(bytes: Bytes, from: number, to: number): boolean {
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
    this.whole = isNegative ? -whole : whole
    this.scale = to - point
    return true
  }
}

/** Of a number token of JSON. Its exponent may have any number of digits. */
export function longDecimal(token: string): LongDecimal {
  const isNegative = token.startsWith('-')
  const [, whole = '', fraction = '', power = '0'] = PARTS.exec(token) ?? []
  const all = whole + fraction
  let start = 0
  while (start < all.length && all.charCodeAt(start) === DIGIT_ZERO) start++
  let end = all.length
  while (end > start && all.charCodeAt(end - 1) === DIGIT_ZERO) end--
  if (start === end) return { isNegative: false, digits: '', exponent: 0n }
  const exponent = BigInt(power) + BigInt(whole.length - end)
  return { isNegative, digits: all.slice(start, end), exponent }
}

const PARTS = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]\+?(-?[0-9]+))?$/

function orderOfLong(left: LongDecimal, right: LongDecimal): number {
  const [leftSign, rightSign] = [signOf(left), signOf(right)]
  if (leftSign !== rightSign || leftSign === 0) return leftSign - rightSign
  return leftSign * orderOfSizes(left, right)
}

function signOf({ isNegative, digits }: LongDecimal): number {
  if (digits === '') return 0
  return isNegative ? -1 : 1
}

/** By the place of the first digit, then digit for digit. Neither is zero. */
function orderOfSizes(left: LongDecimal, right: LongDecimal): number {
  const places =
    left.exponent + BigInt(left.digits.length) - right.exponent - BigInt(right.digits.length)
  if (places !== 0n) return places < 0n ? -1 : 1
  if (left.digits === right.digits) return 0
  return left.digits < right.digits ? -1 : 1
}
