// Checks a dialect that a caller states.
import { didYouMean } from '../base/nearest-word.js'
import { isRecord, optionError, typeName } from '../base/options.js'
import { SourceFault } from '../base/record-scanner.js'
import { DATE_FORMS, type DecimalMark, DIALECT_NAMES, type Dialect } from './dialect.js'

const SKIPPED_LINES_MAX = 1_000
const NULLS_MAX = 32
const NULL_CHARS_MAX = 64
const DELIMITERS: Readonly<Record<string, string>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  '\\t': '\t',
  pipe: '|',
  space: ' ',
}

/** The delimiter that an option gives as a character or by its name; undefined: it is not allowed. */
export function delimiterOf(given: string): string | undefined {
  const char = Object.hasOwn(DELIMITERS, given) ? (DELIMITERS[given] ?? '') : given
  return isMark(char) && char !== '"' ? char : undefined
}

/** The name of a delimiter in a message. */
export function renderDelimiter(delimiter: string): string {
  const named = Object.entries(DELIMITERS).find(([, char]) => char === delimiter)
  return named?.[0] ?? JSON.stringify(delimiter)
}

/** One ASCII character other than a line end. */
function isMark(given: unknown): given is string {
  return typeof given === 'string' && given.length === 1 && given < '\x80' && !/[\r\n]/.test(given)
}

/**
 * Checks a dialect.
 * @throws {StoreError} OPTION_NOT_ALLOWED for an unknown name, an invalid value, or equal marks
 */
export function checkDialect(given: unknown): Dialect {
  if (!isRecord(given)) throw optionError('dialect', `must be an object, not ${typeName(given)}`)
  for (const [name, value] of Object.entries(given)) {
    const check = CHECKS[name as keyof Dialect]
    if (check === undefined) {
      throw optionError(
        name,
        `is not an option of a dialect, which has ${DIALECT_NAMES.join(', ')}`,
      )
    }
    if (value !== undefined && !check.isGood(value))
      throw optionError(name, `must be ${check.form}`)
  }
  const dialect = given as Dialect
  checkMarks(dialect)
  const delimiter = dialect.delimiter === undefined ? undefined : delimiterOf(dialect.delimiter)
  const isOfCommas = dialect.thousands === '.' && dialect.decimal === undefined
  return {
    ...dialect,
    ...(delimiter !== undefined && { delimiter }),
    ...(isOfCommas && { decimal: ',' }),
  }
}

function checkMarks({ delimiter, quote, comment, decimal, thousands }: Dialect): void {
  const marks = [
    ['quote', quote ?? '"'],
    ['comment', comment],
    ['delimiter', delimiter],
  ] as const
  for (const [i, [name, mark]] of marks.entries()) {
    const same = marks.slice(0, i).find(([, other]) => other === mark && mark !== undefined)
    if (same !== undefined) throw optionError(name, `must not be the same as ${same[0]}`)
  }
  if (thousands !== undefined && thousands === decimal) {
    throw optionError('thousands', 'must not be the same as decimal')
  }
}

type Check = Readonly<{ form: string; isGood: (value: unknown) => boolean }>

function oneOf(...known: readonly string[]): Check {
  return {
    form: `one of ${known.join(', ')}`,
    isGood: (value) => typeof value === 'string' && known.includes(value),
  }
}

const FLAG: Check = { form: 'true or false', isGood: (value) => typeof value === 'boolean' }
const MARK: Check = { form: 'one character of ASCII', isGood: isMark }

function isTexts(value: unknown, min: number, max: number): value is readonly string[] {
  if (!Array.isArray(value) || value.length < min || value.length > max) return false
  return value.every((text) => typeof text === 'string')
}

/** Whether these are the words for true and false. */
export function areBooleanWords(value: unknown): boolean {
  return isTexts(value, 2, 2) && value[0] !== value[1] && !value.includes('')
}

function isColumns(value: unknown): boolean {
  if (!isRecord(value)) return false
  return Object.values(value).every((said) => {
    if (!isRecord(said)) return false
    return Object.entries(said).every(([name, mark]) => name === 'decimal' && isDecimal(mark))
  })
}

function isDecimal(value: unknown): value is DecimalMark {
  return value === '.' || value === ','
}

/** Whether a text is a label of the Encoding Standard. */
export function isEncoding(value: unknown): value is string {
  try {
    return typeof value === 'string' && new TextDecoder(value).encoding !== ''
  } catch {
    return false
  }
}

const COLUMNS_MAX = 4_096

/** Marked as pure, so that a bundle without the checks omits it. */
const CHECKS = /* @__PURE__ */ makeChecks()

function makeChecks(): Readonly<Record<keyof Dialect, Check>> {
  return {
    delimiter: {
      form: 'one character of ASCII, comma, semicolon, tab or pipe',
      isGood: (value) => typeof value === 'string' && delimiterOf(value) !== undefined,
    },
    header: {
      form: 'present, absent or the names of the columns',
      isGood: (value) =>
        value === 'present' || value === 'absent' || isTexts(value, 1, COLUMNS_MAX),
    },
    skipLines: {
      form: `an integer from 0 to ${SKIPPED_LINES_MAX}`,
      isGood: (value) =>
        Number.isInteger(value) && Number(value) >= 0 && Number(value) <= SKIPPED_LINES_MAX,
    },
    comment: MARK,
    quotes: oneOf('strict', 'relaxed'),
    quote: MARK,
    escape: oneOf('double', 'backslash'),
    trim: FLAG,
    encoding: { form: 'a name such as windows-1252 or utf-16le', isGood: isEncoding },
    decimal: oneOf('.', ','),
    thousands: {
      form: 'one character',
      isGood: (value) => typeof value === 'string' && /^[^0-9eE+-]$/u.test(value),
    },
    currency: {
      form: 'a sign such as € or EUR',
      isGood: (value) => typeof value === 'string' && /^(?:\p{Sc}|[A-Za-z]{1,3})$/u.test(value),
    },
    dates: oneOf(...DATE_FORMS),
    booleans: {
      form: 'the words for true and false',
      isGood: areBooleanWords,
    },
    nulls: {
      form: `up to ${NULLS_MAX} texts of 1 to ${NULL_CHARS_MAX} characters`,
      isGood: (value) =>
        isTexts(value, 0, NULLS_MAX) &&
        value.every((text) => text.length > 0 && text.length <= NULL_CHARS_MAX),
    },
    blankLines: oneOf('keep', 'skip'),
    extraFields: oneOf('refuse', 'dropEmpty', 'drop'),
    columns: {
      form: 'options by column, such as { price: { decimal: "," } }',
      isGood: isColumns,
    },
  }
}

/** @throws {SourceFault} if a named column does not exist */
export function checkDialectColumns({ columns = {} }: Dialect, names: readonly string[]): void {
  const missing = Object.keys(columns).find((column) => !names.includes(column))
  if (missing === undefined) return
  const meant = didYouMean(missing, names, JSON.stringify)
  throw new SourceFault(`the header has no column ${JSON.stringify(missing)}${meant}`)
}
