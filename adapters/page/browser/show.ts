// Numbers, sizes and times as people read them.

const NUMBERS = new Intl.NumberFormat('en')
const SHORT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

export function shownCount(value: number): string {
  return NUMBERS.format(value)
}

/** With one digit behind the point, where there is one. */
export function shownShort(value: number): string {
  return SHORT.format(value)
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

export function shownBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1_000 && unit < UNITS.length - 1; unit++) value /= 1_000
  return `${unit === 0 ? NUMBERS.format(value) : SHORT.format(value)} ${UNITS[unit]}`
}

const AGES: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 24 * 3_600],
  ['month', 30 * 24 * 3_600],
  ['day', 24 * 3_600],
  ['hour', 3_600],
  ['minute', 60],
]
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** @param at - In milliseconds since 1970; null: it is not known. */
export function shownAge(at: number | null, now: number): string {
  if (at === null) return '–'
  const seconds = (now - at) / 1_000
  const [unit, length] = AGES.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1]
  return RELATIVE.format(-Math.round(seconds / length), unit)
}

export function shownTime(at: number | null): string {
  return at === null ? '–' : new Date(at).toLocaleString('en-GB')
}

export function shownSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`
  return `${Math.round(seconds / 60)} min`
}
