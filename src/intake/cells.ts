// Converts cells in other notations to those of CSV rows. Each function returns undefined for text that is not of its
// form.
import { isDate, isDateTime } from '../schema/time-rules.js'
import { isNumberToken } from '../schema/value-rules.js'
import type { DateForm, DecimalMark } from './dialect.js'

/** The notation of a column of numbers. */
export type NumberForm = Readonly<{
  decimal: DecimalMark
  /** The character between thousands. */
  thousands: string | undefined
  /** The sign that may precede or follow a number. */
  currency: string | undefined
}>

/** The maximum number of characters of a number in another notation. */
const NUMBER_CHARS_MAX = 1_024

/** Converts a number to JSON notation. */
export function parseNumberCell(text: string, form: NumberForm): string | undefined {
  if (text.length > NUMBER_CHARS_MAX) return undefined
  const { decimal, thousands } = form
  let plain = withoutCurrency(text.trim(), form.currency)
  if (thousands !== undefined && plain.includes(thousands)) {
    if (!isGrouped(plain, thousands, decimal)) return undefined
    plain = plain.replaceAll(thousands, '')
  }
  if (decimal === ',') {
    if (plain.includes('.')) return undefined
    plain = plain.replace(',', '.')
  }
  return isNumberToken(plain) ? plain : undefined
}

/** Removes the currency sign of a number, which may also follow the minus sign. */
function withoutCurrency(text: string, currency: string | undefined): string {
  if (currency === undefined) return text
  if (text.endsWith(currency)) return text.slice(0, -currency.length).trimEnd()
  const isNegative = text.startsWith('-')
  const rest = isNegative ? text.slice(1).trimStart() : text
  if (!rest.startsWith(currency)) return text
  return `${isNegative ? '-' : ''}${rest.slice(currency.length).trimStart()}`
}

/** Whether separators divide the integer's digits into groups of three, and no separator follows the decimal mark. */
function isGrouped(text: string, thousands: string, decimal: DecimalMark): boolean {
  const [integer = '', ...decimals] = text.replace(/^-/, '').split(decimal)
  const groups = integer.split(thousands)
  if (decimals.some((part) => part.includes(thousands))) return false
  return groups.every((group, i) => (i === 0 ? /^[0-9]{1,3}$/ : /^[0-9]{3}$/).test(group))
}

const DAY =
  /^([0-9]{1,4})([./-])([0-9]{1,2})\2([0-9]{1,4})(?:[T ]+([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?))?$/

/** A day as `yyyy-mm-dd`, with its time if the text has one. */
export function parseDateCell(text: string, form: DateForm): string | undefined {
  const [, first = '', separator, second = '', third = '', time] = DAY.exec(text.trim()) ?? []
  if (separator === undefined || !form.includes(separator)) return undefined
  const [year, month, day] = datePartsInOrder(form, first, second, third)
  if (year.length !== 4 || month.length > 2 || day.length > 2) return undefined
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  if (time === undefined) return isDate(date) ? date : undefined
  const moment = `${date}T${time.indexOf(':') === 1 ? '0' : ''}${time}`
  return isDateTime(moment) ? moment : undefined
}

type Ymd = readonly [year: string, month: string, day: string]

function datePartsInOrder(form: DateForm, first: string, second: string, third: string): Ymd {
  if (form.startsWith('y')) return [first, second, third]
  return form.startsWith('m') ? [third, first, second] : [third, second, first]
}

const SHORT_OFFSET = /^(.{10}[ T][0-9:.]+)([-+][0-9]{2})(?::?([0-9]{2}))?$/s

/** A moment with its offset as `+01:00`, from PostgreSQL's form (`+01`) or ISO 8601's basic form (`+0100`). */
export function dateTimeOf(text: string): string | undefined {
  if (isDateTime(text)) return text
  const [, moment = '', hours = '', minutes = '00'] = SHORT_OFFSET.exec(text) ?? []
  const found = `${moment}${hours}:${minutes}`
  return isDateTime(found) ? found : undefined
}

/** Converts a boolean to `true` or `false`. */
export function parseBooleanCell(
  text: string,
  [isTrue, isFalse]: readonly [string, string],
): string | undefined {
  const word = text.trim().toLowerCase()
  if (word === isTrue.toLowerCase()) return 'true'
  return word === isFalse.toLowerCase() ? 'false' : undefined
}
