// Watches the values of a column of unknown kind, to find the values or the notations that make the column text.
//
// Invariants:
// - A value has the kind that inference would give a column with only this value, so the advice matches the table.
// - Values are counted; only one per class is kept.
import {
  DIGIT_NINE,
  DIGIT_ZERO,
  DOT,
  LOWER_F,
  LOWER_T,
  MINUS,
  OPEN_BRACKET,
  QUOTE,
} from '../base/ascii.js'
import { kindOfField, kindOfText } from '../schema/infer.js'
import { isFiniteToken, isNumberToken } from '../schema/value-rules.js'
import type { Advice, AdviceCode } from './advice.js'
import { parseNumberCell } from './cells.js'
import { fieldText } from './field-bounds.js'

/** Notations of numbers that inference treats as text, however many of them a column has. */
const NUMBERS_AS_TEXT = [
  'decimalComma',
  'commasUnsure',
  'longInteger',
  'spacedNumber',
  'looseNumber',
] as const

/** Notations reported only if a few values of a column have them. If all values have them, the values may be codes. */
const NUMBERS_PERHAPS = ['paddedNumber', 'groupedNumber'] as const

type ValueClass =
  | (typeof NUMBERS_AS_TEXT)[number]
  | (typeof NUMBERS_PERHAPS)[number]
  | 'number'
  | 'boolean'
  | 'date'
  | 'array'
  | 'text'

/** Groups of classes: apart from odd values, the values of a column are of one group. */
const GROUPS = {
  numbers: ['number', ...NUMBERS_AS_TEXT],
  booleans: ['boolean'],
  dates: ['date'],
  arrays: ['array'],
} as const satisfies Record<string, readonly ValueClass[]>

const GROUP_NAMES = Object.keys(GROUPS) as (keyof typeof GROUPS)[]

/** If all values are of these classes and none has a point, a decimal comma as an option makes all of them numbers. */
const READ_WITH_COMMA = ['number', 'decimalComma', 'commasUnsure', 'spacedNumber'] as const

/** JSON values other than text. */
const TOKENS = ['number', 'boolean', 'array'] as const

/** The values of one class: their number, and an example. */
type Seen = { count: number; line: number; example: string }

/** Odd values are reported if they are less than this share of the column, in percent. */
const ODD_PERCENT = 1

/** A CSV column is no longer watched once it has this many texts, and they are most of its values. */
const TEXTS_MAX = 4_096

const EXAMPLE_CHARS_MAX = 200

export class WatchedValues {
  readonly #column: string
  readonly #seen = new Map<ValueClass, Seen>()
  #count = 0
  /** Whether some number has a point, so that the decimal mark is certainly not a comma. */
  #hasPoints = false
  /** Whether the column is text, whatever follows. */
  isOver = false

  constructor(column: string) {
    this.#column = column
  }

  /** Counts a CSV field. @param lineOf - Returns the line of its record. */
  addField(bytes: Uint8Array, from: number, to: number, lineOf: () => number): void {
    if (this.isOver || from === to) return
    const points = pointsOfNumber(bytes, from, to)
    this.#hasPoints ||= points > 0
    const sure = points >= 0 ? 'number' : isPlainDay(bytes, from, to) ? 'date' : undefined
    if (sure !== undefined && this.#counts(sure)) return
    const text = fieldText(bytes, from, to)
    if (text === '') return
    const valueClass = classOfField(text)
    this.#hasPoints ||= valueClass === 'number' && text.includes('.')
    if (!this.#counts(valueClass)) this.#begin(valueClass, text, lineOf)
    if (valueClass !== 'text') return
    const texts = this.#seen.get('text')?.count ?? 0
    this.isOver = texts >= TEXTS_MAX && 2 * texts > this.#count
  }

  /** Counts a JSON value. Ignores empty cells, and objects, which no column accepts. */
  addToken(bytes: Uint8Array, from: number, to: number, lineOf: () => number): void {
    const valueClass = classOfToken(bytes, from, to)
    if (valueClass === undefined || this.#counts(valueClass)) return
    this.#begin(valueClass, textOfToken(bytes, from, to), lineOf)
  }

  /** Counts a value of a class that has an example. @returns false: not counted, because the class has none yet */
  #counts(valueClass: ValueClass): boolean {
    const seen = this.#seen.get(valueClass)
    if (seen === undefined) return false
    seen.count++
    this.#count++
    return true
  }

  #begin(valueClass: ValueClass, text: string, lineOf: () => number): void {
    const example = text.slice(0, EXAMPLE_CHARS_MAX)
    this.#seen.set(valueClass, { count: 1, line: lineOf(), example })
    this.#count++
  }

  /**
   * Why the column is text although nearly all of its values are of another kind.
   * @param isDecimalSaid - Whether an option gives the decimal mark of the column.
   */
  advice(isJson: boolean, isDecimalSaid: boolean): readonly Advice[] {
    const about = { column: this.#column, values: this.#count }
    for (const others of GROUP_NAMES) {
      const odd = this.#count - (this.#all(GROUPS[others])?.count ?? 0)
      if (odd * 100 >= this.#count * ODD_PERCENT) continue
      const of = { ...about, others }
      const told = others === 'numbers' ? this.#adviceOfNumbers(isDecimalSaid) : []
      const known: readonly string[] = [...GROUPS[others], ...told.map(({ code }) => code)]
      const rest = this.#all([...this.#seen.keys()].filter((found) => !known.includes(found)))
      const ofRest = rest === undefined ? [] : [{ code: 'textColumn', ...rest } as const]
      return [...told, ...ofRest].map((found): Advice => ({ ...of, ...found }))
    }
    const tokens = isJson ? this.#all(TOKENS) : undefined
    return tokens === undefined ? [] : [{ code: 'mixedTypes', ...about, ...tokens }]
  }

  #adviceOfNumbers(isDecimalSaid: boolean): readonly (Seen & Readonly<{ code: AdviceCode }>)[] {
    const codes = new Set<(typeof NUMBERS_AS_TEXT)[number]>(NUMBERS_AS_TEXT)
    const commas = this.#seen.get('decimalComma')
    // A value such as `1,5` shows that the comma in `1,234` is a decimal mark too.
    if (isDecimalSaid || commas !== undefined) codes.delete('commasUnsure')
    if (isDecimalSaid) codes.delete('decimalComma')
    const unsure = this.#seen.get('commasUnsure')?.count ?? 0
    const read = this.#all(READ_WITH_COMMA)?.count === this.#count && !this.#hasPoints
    return [...codes, ...NUMBERS_PERHAPS].flatMap((code) => {
      const seen = this.#seen.get(code)
      if (seen === undefined) return []
      const isMended = read && (code === 'decimalComma' || code === 'commasUnsure')
      const count = code === 'decimalComma' ? seen.count + unsure : seen.count
      const remedy = { option: 'decimal', value: ',' } as const
      return [{ code, ...seen, count, ...(isMended && { remedy }) }]
    })
  }

  /** The number of values in several classes, with the first example; undefined: none. */
  #all(classes: readonly ValueClass[]): Seen | undefined {
    let all: Seen | undefined
    for (const valueClass of classes) {
      const seen = this.#seen.get(valueClass)
      if (seen === undefined) continue
      const count = (all?.count ?? 0) + seen.count
      all = { ...(all === undefined || seen.line < all.line ? seen : all), count }
    }
    return all
  }
}

/** A value of more characters is text; it is not examined. */
const JUDGED_CHARS_MAX = 1_024

/** A number that may have a separator of thousands: a comma before three digits. */
const UNSURE_COMMA = /^-?[1-9][0-9]{0,2},[0-9]{3}$/

/**
 * Matches three forms of numbers: no digit on one side of the point; a plus sign and at most four digits before the
 * point (with more digits, it is a telephone number); commas between thousands.
 */
const LOOSE_NUMBER =
  /^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,14})\.)|\+(?:0|[1-9][0-9]{0,3})(?:\.[0-9]+)?|[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4}(?:\.[0-9]+)?)$/

/** Matches digits that are meant as text, such as a ZIP code. */
const PADDED_NUMBER = /^(?:\+|-?0(?=[0-9]))[0-9][0-9.,]*$/

const GROUPED_NUMBER = /^-?[0-9]{1,3}(?:[.,][0-9]{3})+(?:[.,][0-9]+)?$/

const DECIMAL_COMMA = { decimal: ',', thousands: undefined, currency: undefined } as const

/** The class of a nonempty field. */
export function classOfField(text: string): ValueClass {
  if (text.length > JUDGED_CHARS_MAX) return 'text'
  const kind = kindOfField(text)
  if (kind !== 'string') return kind === 'dateTime' ? 'date' : kind
  if (!/^[ .+\-0-9]/.test(text)) return 'text'
  if (isNumberToken(text) && isFiniteToken(text)) return 'longInteger'
  const comma = text.includes(',') ? parseNumberCell(text, DECIMAL_COMMA) : undefined
  if (comma !== undefined && isFiniteToken(comma)) {
    return UNSURE_COMMA.test(text) ? 'commasUnsure' : 'decimalComma'
  }
  if (LOOSE_NUMBER.test(text)) return 'looseNumber'
  const inner = text.trim()
  if (inner !== text && kindOfField(inner) === 'number') return 'spacedNumber'
  if (PADDED_NUMBER.test(inner)) return 'paddedNumber'
  return GROUPED_NUMBER.test(inner) ? 'groupedNumber' : 'text'
}

/** The class of a JSON token; undefined: the token is not a value of a cell. */
function classOfToken(bytes: Uint8Array, from: number, to: number): ValueClass | undefined {
  const first = bytes[from]
  if (first === OPEN_BRACKET) return 'array'
  if (first === LOWER_T || first === LOWER_F) return 'boolean'
  if (first === MINUS || isDigitAt(bytes, from)) return 'number'
  if (first !== QUOTE || to - from < 3) return undefined
  if (!isDigitAt(bytes, from + 1) || to - from > JUDGED_CHARS_MAX) return 'text'
  if (isPlainDay(bytes, from + 1, to - 1)) return 'date'
  return kindOfText(textOfToken(bytes, from, to)) === 'string' ? 'text' : 'date'
}

const DECODER = new TextDecoder()

/** The text of a JSON string; other tokens unchanged. */
export function textOfToken(bytes: Uint8Array, from: number, to: number): string {
  const token = DECODER.decode(bytes.subarray(from, to))
  if (bytes[from] !== QUOTE) return token
  try {
    return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1)
  } catch {
    return token // The reader of rows rejects it.
  }
}

/** Numbers with at most this many digits are exact as doubles. */
const PLAIN_DIGITS_MAX = 15

/** The number of points, 0 or 1, in the bytes of a simple number; -1: the bytes must be examined as text. */
function pointsOfNumber(bytes: Uint8Array, from: number, to: number): number {
  const start = bytes[from] === MINUS ? from + 1 : from
  if (to - start > PLAIN_DIGITS_MAX || !isDigitAt(bytes, start) || !isDigitAt(bytes, to - 1))
    return -1
  if (bytes[start] === DIGIT_ZERO && to > start + 1 && bytes[start + 1] !== DOT) return -1
  let points = 0
  for (let at = start; at < to; at++) {
    if (!isDigitAt(bytes, at) && (bytes[at] !== DOT || points++ > 0)) return -1
  }
  return points
}

const DAY_BYTES = 10
const DAYS_OF_ALL_MONTHS = 28

/** Whether bytes are a day that exists in every month, such as `2024-02-28`. Other days are examined as text. */
function isPlainDay(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== DAY_BYTES || bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS)
    return false
  const month = twoDigitsAt(bytes, from + 5)
  const day = twoDigitsAt(bytes, from + 8)
  const isYear = twoDigitsAt(bytes, from) >= 0 && twoDigitsAt(bytes, from + 2) >= 0
  return isYear && month >= 1 && month <= 12 && day >= 1 && day <= DAYS_OF_ALL_MONTHS
}

function twoDigitsAt(bytes: Uint8Array, at: number): number {
  if (!isDigitAt(bytes, at) || !isDigitAt(bytes, at + 1)) return -1
  return 10 * ((bytes[at] ?? 0) - DIGIT_ZERO) + ((bytes[at + 1] ?? 0) - DIGIT_ZERO)
}

function isDigitAt(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at] ?? 0
  return byte >= DIGIT_ZERO && byte <= DIGIT_NINE
}
