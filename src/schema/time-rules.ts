// The rules of the date and time kinds. Each is a hand-written scan from left to right. None uses `Date`, which accepts
// 30 February and "2024-2-3".

import { COLON, COMMA, DOT, MINUS, PLUS, SPACE, UPPER_P, UPPER_T, UPPER_Z } from '../base/ascii.js'
import { isDigit } from './json-byte-values.js'

const DIGIT_0 = 0x30

const DATE_CHARS = 10
const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** `YYYY-MM-DD`, an existing day of the calendar. */
export function isDate(text: string): boolean {
  return text.length === DATE_CHARS && startsWithDate(text)
}

/** `HH:mm[:ss[.f…]]`, followed by nothing, `Z` or `±HH:mm`. */
export function isTime(text: string): boolean {
  return endsWithTime(text, 0)
}

/** A date, `T` or a space, and a time; or a date alone. */
export function isDateTime(text: string): boolean {
  if (!startsWithDate(text)) return false
  if (text.length === DATE_CHARS) return true
  const separator = text.charCodeAt(DATE_CHARS)
  return (separator === UPPER_T || separator === SPACE) && endsWithTime(text, DATE_CHARS + 1)
}

/** An ISO 8601 duration with an optional sign, or `[-]H…:mm:ss[.f…]`. */
export function isDuration(text: string): boolean {
  const first = text.charCodeAt(0)
  const at = first === MINUS || first === PLUS ? 1 : 0
  if (text.charCodeAt(at) === UPPER_P) return isUnitDuration(text, at + 1)
  return first !== PLUS && isClockDuration(text, at)
}

function startsWithDate(text: string): boolean {
  if (text.charCodeAt(4) !== MINUS || text.charCodeAt(7) !== MINUS) return false
  const century = twoDigitsInText(text, 0)
  const yearOfCentury = twoDigitsInText(text, 2)
  const month = twoDigitsInText(text, 5)
  const day = twoDigitsInText(text, 8)
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return false
  return day <= daysOfMonth(century * 100 + yearOfCentury, month)
}

function daysOfMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 2 && isLeap ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0)
}

/** Whether the rest of the text from `start` is a time with an optional offset. */
function endsWithTime(text: string, start: number): boolean {
  if (!isHourMinute(text, start)) return false
  let at = start + 5
  if (text.charCodeAt(at) === COLON) {
    if (!isBelow60(text, at + 1)) return false
    at += 3
    if (text.charCodeAt(at) === DOT) {
      const end = skipDigits(text, at + 1)
      if (end === at + 1) return false
      at = end
    }
  }
  return at === text.length || isOffset(text, at)
}

function isOffset(text: string, at: number): boolean {
  const sign = text.charCodeAt(at)
  if (sign === UPPER_Z) return at + 1 === text.length
  return (sign === PLUS || sign === MINUS) && at + 6 === text.length && isHourMinute(text, at + 1)
}

function isHourMinute(text: string, at: number): boolean {
  const hour = twoDigitsInText(text, at)
  return hour >= 0 && hour < 24 && text.charCodeAt(at + 2) === COLON && isBelow60(text, at + 3)
}

function isBelow60(text: string, at: number): boolean {
  const count = twoDigitsInText(text, at)
  return count >= 0 && count < 60
}

/** The units of an ISO 8601 duration, in their required order. */
const DATE_UNITS = 'YMWD'
const TIME_UNITS = 'HMS'

/**
 * The part after `P`: at least one component, each unit at most once and in order; at least one after a `T`. Only the
 * last component may have a fraction.
 */
function isUnitDuration(text: string, start: number): boolean {
  let units = DATE_UNITS
  let unitIndex = 0
  let at = start
  while (at < text.length) {
    if (units === DATE_UNITS && text.charCodeAt(at) === UPPER_T) {
      units = TIME_UNITS
      unitIndex = 0
      at++
    }
    const digitsEnd = skipDigits(text, at)
    if (digitsEnd === at) return false
    const end = skipFraction(text, digitsEnd)
    const unit = units.indexOf(text.charAt(end), unitIndex)
    if (end === text.length || unit < 0) return false
    at = end + 1
    unitIndex = unit + 1
    if (end > digitsEnd && at < text.length) return false
  }
  return at > start
}

function isClockDuration(text: string, start: number): boolean {
  const hoursEnd = skipDigits(text, start)
  if (hoursEnd === start || text.charCodeAt(hoursEnd) !== COLON) return false
  if (!isBelow60(text, hoursEnd + 1) || text.charCodeAt(hoursEnd + 3) !== COLON) return false
  if (!isBelow60(text, hoursEnd + 4)) return false
  const at = hoursEnd + 6
  if (at === text.length) return true
  return (
    text.charCodeAt(at) === DOT && at + 1 < text.length && skipDigits(text, at + 1) === text.length
  )
}

/** The end of a fraction that starts at `at`; `at` itself if there is none. */
function skipFraction(text: string, at: number): number {
  const mark = text.charCodeAt(at)
  if (mark !== DOT && mark !== COMMA) return at
  const end = skipDigits(text, at + 1)
  return end === at + 1 ? at : end
}

function skipDigits(text: string, start: number): number {
  let at = start
  while (at < text.length && isDigit(text.charCodeAt(at))) at++
  return at
}

/** The number that two digits at `at` form; -1: one of the two is not a digit, or is beyond the end of the text. */
function twoDigitsInText(text: string, at: number): number {
  const tens = text.charCodeAt(at)
  const ones = text.charCodeAt(at + 1)
  return isDigit(tens) && isDigit(ones) ? (tens - DIGIT_0) * 10 + (ones - DIGIT_0) : -1
}
