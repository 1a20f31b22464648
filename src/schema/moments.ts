// Orders times, and dates with times, by their moment: `10:00+02:00` is before `09:00Z`. A time without an offset is
// in UTC; a date without a time means its midnight. Fractions of a second are compared exactly, however long.

import { COLON, DIGIT_ZERO, DOT, MINUS, PLUS } from '../base/ascii.js'
import { type Bytes, NO_BYTES } from '../base/bytes.js'
import { isDigit } from './json-byte-values.js'

const DATE_BYTES = 10
const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400

/** Reads times; the fields describe the last one. */
export class MomentReader {
  #bytes = NO_BYTES
  /** Seconds in UTC: of a date with a time, since 1970; of a time, since midnight. */
  seconds = 0
  /** The digits of the fraction, without trailing zeros. */
  fractionFrom = 0
  fractionTo = 0

  /** Reads a `dateTime`. @returns false: it is not one. */
  readDateTime(bytes: Bytes, from: number, to: number): boolean {
    this.#bytes = bytes
    const days = parseEpochDays(bytes, from, to)
    if (Number.isNaN(days)) return false
    if (to - from === DATE_BYTES) {
      this.seconds = DAY_S * days
      this.fractionFrom = this.fractionTo = to
      return true
    }
    if (!this.readTime(bytes, from + DATE_BYTES + 1, to)) return false
    this.seconds += DAY_S * days
    return true
  }

  /** Reads a `time`. @returns false: it is not one. */
  readTime(bytes: Bytes, from: number, to: number): boolean {
    this.#bytes = bytes
    const hourMinute = parseHourMinute(bytes, from, to)
    if (Number.isNaN(hourMinute)) return false
    let at = from + 5
    let seconds = 0
    this.fractionFrom = this.fractionTo = at
    if (bytes[at] === COLON && at < to) {
      seconds = twoDigitsOrNaN(bytes, at + 1)
      at = this.#readFraction(bytes, at + 3, to)
    }
    const offset = at < to ? parseOffsetSeconds(bytes, at, to) : 0
    this.seconds = hourMinute + seconds - offset
    return !Number.isNaN(this.seconds)
  }

  #readFraction(bytes: Bytes, from: number, to: number): number {
    if (from >= to || bytes[from] !== DOT) return from
    let at = from + 1
    this.fractionFrom = this.fractionTo = at
    for (; at < to && isDigit(bytes[at]); at++)
      if (bytes[at] !== DIGIT_ZERO) this.fractionTo = at + 1
    return at
  }

  /** Compares the last moment with another reader's: negative if it is earlier, 0 if they are the same. */
  orderTo(other: MomentReader): number {
    if (this.seconds !== other.seconds) return this.seconds - other.seconds
    const length = this.fractionTo - this.fractionFrom
    const otherLength = other.fractionTo - other.fractionFrom
    for (let i = 0; i < Math.min(length, otherLength); i++) {
      const digit = this.#bytes[this.fractionFrom + i] ?? 0
      const otherDigit = other.#bytes[other.fractionFrom + i] ?? 0
      if (digit !== otherDigit) return digit - otherDigit
    }
    return length - otherLength
  }
}

/** Number of days from 1970 to `YYYY-MM-DD`; NaN: not a date. */
function parseEpochDays(bytes: Bytes, from: number, to: number): number {
  if (to - from < DATE_BYTES || bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS)
    return Number.NaN
  const year = 100 * twoDigitsOrNaN(bytes, from) + twoDigitsOrNaN(bytes, from + 2)
  const month = twoDigitsOrNaN(bytes, from + 5)
  const day = twoDigitsOrNaN(bytes, from + 8)
  // Years begin in March here, so that a leap day is the last day.
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - 400 * era
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return 146_097 * era + 365 * yearOfEra + leapDays + dayOfYear - 719_468
}

function parseOffsetSeconds(bytes: Bytes, at: number, to: number): number {
  const sign = bytes[at]
  if (sign === PLUS) return parseHourMinute(bytes, at + 1, to)
  if (sign === MINUS) return -parseHourMinute(bytes, at + 1, to)
  return at + 1 === to ? 0 : Number.NaN // Z
}

/** Reads `HH:mm` as seconds. */
function parseHourMinute(bytes: Bytes, at: number, to: number): number {
  if (at + 5 > to || bytes[at + 2] !== COLON) return Number.NaN
  return HOUR_S * twoDigitsOrNaN(bytes, at) + MINUTE_S * twoDigitsOrNaN(bytes, at + 3)
}

function twoDigitsOrNaN(bytes: Bytes, at: number): number {
  const tens = bytes[at]
  const ones = bytes[at + 1]
  if (!isDigit(tens) || !isDigit(ones)) return Number.NaN
  return 10 * ((tens ?? 0) - DIGIT_ZERO) + (ones ?? 0) - DIGIT_ZERO
}
