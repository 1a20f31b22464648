// Numbers, sizes and times as people read them.
import * as TEXT from './texts.js'

const { numbers: LANGUAGE, times: LANGUAGE_OF_TIMES } = TEXT.languages
const NUMBERS = new Intl.NumberFormat(LANGUAGE)
const SHORT = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 1 })

export function shownCount(value: number): string {
  return NUMBERS.format(value)
}

/** Rounded to one decimal, which is left out if it is 0; a value below 0.05 is rounded to one significant digit. */
export function shownShort(value: number): string {
  return value < 0.05 ? String(Number(value.toPrecision(1))) : SHORT.format(value)
}

export function shownBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1_000 && unit < TEXT.byteUnits.length - 1; unit++) value /= 1_000
  return `${unit === 0 ? NUMBERS.format(Math.round(value)) : SHORT.format(value)} ${TEXT.byteUnits[unit]}`
}

const AGES: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 24 * 3_600],
  ['month', 30 * 24 * 3_600],
  ['day', 24 * 3_600],
  ['hour', 3_600],
  ['minute', 60],
]
const RELATIVE = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto' })

/** @param at - In milliseconds since 1970; null: unknown. */
export function shownAge(at: number | null, now: number): string {
  if (at === null) return TEXT.unknown
  const seconds = (now - at) / 1_000
  const [unit, length] = AGES.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1]
  return RELATIVE.format(-Math.round(seconds / length), unit)
}

export function shownTime(at: number | null): string {
  return at === null ? TEXT.unknown : new Date(at).toLocaleString(LANGUAGE_OF_TIMES)
}

export function shownSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return TEXT.unknown
  if (seconds < 90) return TEXT.seconds(Math.max(0, Math.round(seconds)))
  return TEXT.minutes(Math.round(seconds / 60))
}
