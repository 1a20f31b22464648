// Decides which columns of a source are in other notations than CSV rows, and converts their cells.
//
// Invariants:
// - A cell is converted if an option says so, or if all sampled values of its column have only one reading.
// - A conversion is decided once per source. A later value that contradicts the conversion ends it. If cells were
//   already changed, this value is a fault, because a column that becomes text must have the source's values.
import { isNumberToken } from '../schema/value-rules.js'
import {
  dateTimeOf,
  type NumberForm,
  parseBooleanCell,
  parseDateCell,
  parseNumberCell,
} from './cells.js'
import { DATE_FORMS, type DateForm, type DecimalMark, type Dialect } from './dialect.js'

export type ConversionCode = 'numbers' | 'dates' | 'dateTimes' | 'booleans'

/** How to read the cells of a column. */
export type Conversion = Readonly<{
  code: ConversionCode
  /** How the cells are written, as a value of the dialect option for this conversion. */
  form: string
  /** The decimal mark of a column of numbers. */
  decimal?: DecimalMark
  /**
   * Converts the text of a cell; undefined: the text is not of this form. In a column that keeps its kind, such text is
   * returned unchanged instead.
   */
  convert: (text: string) => string | undefined
  /** Whether a text that `convert` cannot read is a fault even before any cell was converted, as `1.5` beside `1,5`. */
  isAmbiguous: (text: string) => boolean
}>

/** The kinds of columns known before rows are read. */
export type ColumnKinds = Readonly<{
  kinds: ReadonlyMap<string, string>
  /** Whether misfits are rejected or dropped; otherwise they add or widen columns. */
  areFixed: boolean
}>

/** The facts about the column to decide on. */
type Known = Readonly<{
  column: string
  kind: string | undefined
  /** Whether the column keeps its kind. Values that do not convert are then passed on, to be rejected or dropped. */
  isFixed: boolean
  dialect: Dialect
  detects: boolean
}>

const never = (): boolean => false

/** The kinds that accept the result of a conversion. */
const KINDS_OF: Readonly<Record<ConversionCode, readonly string[]>> = {
  numbers: ['number'],
  dates: ['date', 'dateTime'],
  dateTimes: ['dateTime'],
  booleans: ['boolean'],
}

/** The decision on a column. */
export type Choice = Readonly<{
  /** The conversion of the column; undefined: its cells do not change. */
  conversion?: Conversion | undefined
  /** Several forms that fit all values, but as different days, so that the caller must choose one of the forms. */
  dates?: readonly DateForm[]
}>

/** @param values - The nonempty cells of a column in the sample. */
export function chooseConversion(values: readonly string[], known: Known): Choice {
  if (known.kind !== undefined && !isConvertible(known.kind)) return {}
  const numbers = chooseNumbers(values, known)
  const { conversion: days, dates } = numbers === undefined ? chooseDates(values, known) : {}
  const conversion =
    numbers ?? days ?? chooseBooleans(values, known) ?? chooseDateTimes(values, known)
  if (conversion === undefined) return dates === undefined ? {} : { dates }
  const isTaken = known.kind === undefined || KINDS_OF[conversion.code].includes(known.kind)
  return isTaken ? { conversion } : {}
}

/** Whether a further value would change the choice. */
export function contradictsChoice({ conversion, dates = [] }: Choice, text: string): boolean {
  if (conversion !== undefined) return conversion.convert(text) === undefined
  return dates.some((form) => parseDateCell(text, form) === undefined)
}

function isConvertible(kind: string): boolean {
  return Object.values(KINDS_OF).some((kinds) => kinds.includes(kind))
}

/** Number of digits that a double keeps. */
const DIGITS_MAX = 15

function chooseNumbers(values: readonly string[], known: Known): Conversion | undefined {
  const { column, kind, isFixed, dialect, detects } = known
  const decimal = dialect.columns?.[column]?.decimal ?? dialect.decimal
  const said = { decimal: decimal ?? '.', thousands: dialect.thousands, currency: dialect.currency }
  const isSaid = said.decimal === ',' || said.thousands !== undefined || said.currency !== undefined
  if (isSaid) {
    const mayBeNumber = (text: string) =>
      readExactNumber(text, said) !== undefined || isNumberToken(text.trim())
    const isOfNumbers = kind === 'number' || values.every(mayBeNumber)
    if (!isOfNumbers) return undefined
    const isAmbiguous = (text: string) => said.decimal === ',' && isNumberToken(text.trim())
    return { ...numbersBy(said, kind === 'number' && isFixed), isAmbiguous }
  }
  if (!detects || decimal !== undefined || values.length === 0) return undefined
  if (values.every((text) => isNumberToken(text.trim()))) return undefined
  const { forms, isOne } = findReadings(values, formsOf(values), readExactNumber)
  const [form] = forms
  if (form === undefined || !isOne || mayBeCodes(values, form)) return undefined
  return numbersBy(form, kind === 'number' && isFixed)
}

/** Finds the forms that read all values. `isOne`: there is such a form, and all such forms read each value alike. */
function findReadings<Form>(
  values: readonly string[],
  all: readonly Form[],
  read: (text: string, form: Form) => string | undefined,
): Readonly<{ forms: readonly Form[]; isOne: boolean }> {
  const forms = all.filter((form) => values.every((text) => read(text, form) !== undefined))
  const [first, ...others] = forms
  const isOne =
    first !== undefined &&
    others.every((form) => values.every((text) => read(text, form) === read(text, first)))
  return { forms, isOne }
}

/** Whether all values are only groups of digits, such as `123.456`, so that they may be codes instead of numbers. */
function mayBeCodes(
  values: readonly string[],
  { decimal, thousands, currency }: NumberForm,
): boolean {
  if (thousands === undefined || currency !== undefined) return false
  return values.every((text) => !text.includes(decimal))
}

/** Reads a number of at most `DIGITS_MAX` digits. A longer one may be an identifier: a double would lose digits. */
function readExactNumber(text: string, form: NumberForm): string | undefined {
  const found = parseNumberCell(text, form)
  const isExact = found !== undefined && found.replace(/[^0-9]/g, '').length <= DIGITS_MAX
  return isExact ? found : undefined
}

function numbersBy(form: NumberForm, isLenient: boolean): Conversion {
  const { decimal, thousands, currency } = form
  const parts = [
    ...(decimal === ',' ? ['decimal comma'] : []),
    ...(thousands === undefined ? [] : [`thousands ${JSON.stringify(thousands)}`]),
    ...(currency === undefined ? [] : [`currency ${currency}`]),
  ]
  const convert = (text: string): string | undefined => {
    const found = parseNumberCell(text, form)
    // A number of JSON that is not of the form, such as `1.5` beside decimal commas, is never passed on unchanged.
    if (found === undefined && isLenient && !isNumberToken(text.trim())) return text
    return found
  }
  const shown = `numbers with ${parts.join(', ')}`
  return { code: 'numbers', form: shown, decimal, convert, isAmbiguous: never }
}

/** The codes of the most traded currencies. Other letters beside a number may make it an identifier. */
const CODES = 'AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|MXN|NOK|NZD|PLN|SEK|TRY|USD|ZAR'
export const SIGN = new RegExp(
  `^-?\\s*(\\p{Sc}|${CODES})\\s*[0-9]|[0-9]\\s*(\\p{Sc}|${CODES})$`,
  'u',
)

/** The forms of numbers that the values may have, judging by the marks in them (points, commas, currency signs). */
function formsOf(values: readonly string[]): readonly NumberForm[] {
  const [, before, behind] = SIGN.exec(values[0] ?? '') ?? []
  const currency = before ?? behind
  const forms = [
    { decimal: ',', thousands: undefined },
    { decimal: ',', thousands: '.' },
    { decimal: ',', thousands: ' ' },
    { decimal: ',', thousands: '\u00a0' },
    { decimal: ',', thousands: '\u202f' },
    { decimal: '.', thousands: ',' },
    { decimal: '.', thousands: "'" },
    { decimal: '.', thousands: '\u2019' },
    ...(currency === undefined ? [] : [{ decimal: '.', thousands: undefined } as const]),
  ] as const
  return forms.map((form) => ({ ...form, currency }))
}

function chooseDates(
  values: readonly string[],
  { kind, isFixed, dialect, detects }: Known,
): Choice {
  const said = dialect.dates
  if (said !== undefined) {
    const isOfDates = kind === 'date' || kind === 'dateTime'
    const isRead = values.every((text) => parseDateCell(text, said) !== undefined)
    return isOfDates || isRead ? { conversion: datesBy(said, isOfDates && isFixed) } : {}
  }
  if (!detects || values.length === 0) return {}
  const { forms, isOne } = findReadings(values, DATE_FORMS, parseDateCell)
  const [form] = forms
  if (form === undefined) return {}
  return isOne ? { conversion: datesBy(form, kind !== undefined && isFixed) } : { dates: forms }
}

function datesBy(form: DateForm, isLenient: boolean): Conversion {
  const convert = (text: string) => parseDateCell(text, form) ?? (isLenient ? text : undefined)
  return { code: 'dates', form: `days ${form}`, convert, isAmbiguous: never }
}

/** The words of Excel for true and false, which it writes in capitals. */
const EXCEL_WORDS: readonly (readonly [string, string])[] = [
  ['WAHR', 'FALSCH'],
  ['VRAI', 'FAUX'],
  ['VERDADERO', 'FALSO'],
  ['VERO', 'FALSO'],
  ['VERDADEIRO', 'FALSO'],
  ['WAAR', 'ONWAAR'],
  ['PRAWDA', 'FAŁSZ'],
  ['ИСТИНА', 'ЛОЖЬ'],
]

function chooseBooleans(
  values: readonly string[],
  { kind, isFixed, dialect, detects }: Known,
): Conversion | undefined {
  const said = dialect.booleans
  const isKnown = kind === 'boolean'
  if (said !== undefined) {
    const isRead = values.every((text) => parseBooleanCell(text, said) !== undefined)
    return isKnown || isRead ? booleansBy(said, isKnown && isFixed) : undefined
  }
  if (!detects || values.length === 0) return undefined
  const found = EXCEL_WORDS.find((words) => values.every((text) => words.includes(text)))
  return found && booleansBy(found, isKnown && isFixed)
}

function booleansBy(words: readonly [string, string], isLenient: boolean): Conversion {
  const convert = (text: string) => parseBooleanCell(text, words) ?? (isLenient ? text : undefined)
  return { code: 'booleans', form: words.join('/'), convert, isAmbiguous: never }
}

function chooseDateTimes(
  values: readonly string[],
  { kind, isFixed, detects }: Known,
): Conversion | undefined {
  if (!detects || values.length === 0) return undefined
  if (!values.every((text) => dateTimeOf(text) !== undefined)) return undefined
  if (values.every((text) => dateTimeOf(text) === text)) return undefined
  const isLenient = kind === 'dateTime' && isFixed
  const convert = (text: string) => dateTimeOf(text) ?? (isLenient ? text : undefined)
  return { code: 'dateTimes', form: 'moments', convert, isAmbiguous: never }
}
