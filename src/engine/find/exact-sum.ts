// The exact sum of numbers, from the bytes of their JSON tokens.
import { DIGIT_NINE, DIGIT_ZERO, DOT, MINUS } from '../../base/ascii.js'
import type { Bytes } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import { longDecimal } from '../../schema/decimal.js'

/**
 * Up to this number of bytes, the digits of an unsigned token (with or without a point) are certainly a safe integer.
 */
const SHORT_BYTES = 15

const POWERS = Object.freeze(Array.from({ length: SHORT_BYTES + 1 }, (_, power) => 10 ** power))

/**
 * Limit of `units`, half of the greatest safe integer: the sum of two such numbers is exact, or recognisable as unsafe.
 */
const UNITS_MAX = 2 ** 52

/** Maximum number of digits of a sum on each side of the point. No double has more. */
export const SUM_PLACES_MAX = 400

/**
 * A sum in two parts that are added at the end: `units` / 10 ** `places`, where `units` is a safe integer, and
 * `large` / 10 ** `largePlaces`.
 */
export class ExactSum {
  #isEmpty = true
  #units = 0
  #places = 0
  #large = 0n
  #largePlaces = 0

  /** Adds a number. @returns false: the number has digits beyond `SUM_PLACES_MAX` places, and was not added */
  add(bytes: Bytes, from: number, to: number): boolean {
    const isNegative = bytes[from] === MINUS
    const start = isNegative ? from + 1 : from
    if (to - start > SHORT_BYTES) return this.#addLong(bytes, from, to)
    let units = 0
    let point = to - 1
    for (let at = start; at < to; at++) {
      const byte = bytes[at] ?? 0
      if (byte >= DIGIT_ZERO && byte <= DIGIT_NINE) units = 10 * units + byte - DIGIT_ZERO
      else if (byte === DOT) point = at
      else return this.#addLong(bytes, from, to)
    }
    this.#isEmpty = false
    this.#addUnits(isNegative ? -units : units, to - 1 - point)
    return true
  }

  #addUnits(given: number, givenPlaces: number): void {
    let units = given
    const difference = givenPlaces - this.#places
    if (difference < 0) units *= POWERS[-difference] ?? 0
    else if (difference > 0) {
      const scaled = this.#units * (POWERS[difference] ?? 0)
      if (Math.abs(scaled) > UNITS_MAX) this.#carry()
      else this.#units = scaled
      this.#places = givenPlaces
    }
    if (Math.abs(units) > UNITS_MAX) {
      this.#addLarge(BigInt(given), givenPlaces)
    } else {
      if (Math.abs(this.#units + units) > UNITS_MAX) this.#carry()
      this.#units += units
    }
  }

  #addLong(bytes: Bytes, from: number, to: number): boolean {
    const token = sliceText(bytes, from, to)
    const { isNegative, digits, exponent } = longDecimal(token)
    const power = Number(exponent)
    if (digits.length > SUM_PLACES_MAX || Math.abs(power) > SUM_PLACES_MAX) return false
    const value = BigInt(digits) * (isNegative ? -1n : 1n)
    const places = decimalsOf(token)
    this.#isEmpty = false
    this.#addLarge(value * 10n ** BigInt(power + places), places)
    return true
  }

  #carry(): void {
    this.#addLarge(BigInt(this.#units), this.#places)
    this.#units = 0
  }

  #addLarge(value: bigint, places: number): void {
    const difference = places - this.#largePlaces
    const power = 10n ** BigInt(Math.abs(difference))
    if (difference > 0) {
      this.#large *= power
      this.#largePlaces = places
    }
    this.#large += difference < 0 ? value * power : value
  }

  /**
   * The sum without an exponent. It has the decimals of the added number with the most decimals. null: nothing was
   * added.
   */
  text(): string | null {
    if (this.#isEmpty) return null
    this.#carry()
    const places = this.#largePlaces
    const isNegative = this.#large < 0n
    const digits = String(isNegative ? -this.#large : this.#large).padStart(places + 1, '0')
    const whole = digits.slice(0, digits.length - places)
    const fraction = digits.slice(digits.length - places)
    return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
  }
}

/** Decimals of a number before its exponent applies, including trailing zeros. */
function decimalsOf(token: string): number {
  const [, fraction = '', exponent = '0'] = /(?:\.([0-9]+))?(?:e(.+))?$/i.exec(token) ?? []
  return Math.min(Math.max(fraction.length - Number(exponent), 0), SUM_PLACES_MAX)
}
