// The options for the dialect of csv and tsv files: the library's names, with hyphens.
import { checkDialect, DATE_FORMS, type Dialect, NESTED_WAYS } from '../../base/intake.js'
import type { OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'

export const DIALECT_OPTIONS = {
  dialect: {
    type: 'string',
    value: 'detect|plain',
    help: 'whether to detect what the options leave open (default: detect)',
    isRare: true,
  },
  delimiter: {
    type: 'string',
    value: 'D',
    help: 'one character, comma, semicolon, tab or pipe (default: detected)',
  },
  decimal: {
    type: 'string',
    multiple: true,
    value: '.|,',
    help: 'decimal mark (default: detected); COLUMN=, for one column',
  },
  encoding: {
    type: 'string',
    value: 'NAME',
    help: 'such as windows-1252 (default: detected)',
  },
  header: {
    type: 'string',
    value: 'present|absent|NAMES',
    help: 'whether the first line names the columns (default: present); or the names, as in id,city',
    isRare: true,
  },
  'skip-lines': {
    type: 'string',
    value: 'N',
    help: 'leave out N lines before the header',
    isRare: true,
  },
  comment: {
    type: 'string',
    value: 'C',
    help: 'leave out lines that begin with this character',
    isRare: true,
  },
  quotes: {
    type: 'string',
    value: 'strict|relaxed',
    help: `relaxed: a quote in an unquoted field is text, as spreadsheets write it; strict (default): it
      is refused`,
    isRare: true,
  },
  quote: { type: 'string', value: 'C', help: 'the character around fields', isRare: true },
  escape: {
    type: 'string',
    value: 'double|backslash',
    help: 'how a quote in a quoted field is written',
    isRare: true,
  },
  trim: {
    type: 'boolean',
    help: 'leave out blanks around fields and their quotes',
    isRare: true,
  },
  thousands: {
    type: 'string',
    value: 'C',
    help: 'the character between thousands in columns of numbers',
    isRare: true,
  },
  currency: {
    type: 'string',
    value: 'SIGN',
    help: 'the currency sign before or after numbers, such as € or EUR',
    isRare: true,
  },
  dates: {
    type: 'string',
    value: 'FORM',
    help: `how days are written: ${DATE_FORMS.join(', ')}`,
    isRare: true,
  },
  booleans: {
    type: 'string',
    value: 'YES,NO',
    help: 'the words for true and false',
    isRare: true,
  },
  nulls: {
    type: 'string',
    multiple: true,
    value: 'TEXT',
    help: 'a text without quotes that means an empty cell, such as NULL; repeat for several',
    isRare: true,
  },
  'blank-lines': {
    type: 'string',
    value: 'keep|skip',
    help: 'whether lines without a value are rows (default: skip; keep if there is one column)',
    isRare: true,
  },
  'extra-fields': {
    type: 'string',
    value: 'refuse|dropEmpty|drop',
    help: 'what to do with fields after the last column (default: refuse)',
    isRare: true,
  },
  at: {
    type: 'string',
    value: 'PATH',
    help: 'the path of the array of rows in a JSON object, as in data.items (default: the only array)',
    isRare: true,
  },
  binary: {
    type: 'string',
    value: 'text',
    help: 'read parquet bytes as UTF-8 text, even if they are not marked as text',
    isRare: true,
  },
  nested: {
    type: 'string',
    value: NESTED_WAYS.join('|'),
    help: 'objects in rows of json, ndjson and parquet become columns, as in customer.name, or JSON text',
    isRare: true,
  },
} as const satisfies OptionSpecs

type DialectOption = keyof typeof DIALECT_OPTIONS

export type DialectValues = Readonly<
  Partial<{
    [Name in DialectOption]: (typeof DIALECT_OPTIONS)[Name] extends { multiple: true }
      ? readonly string[]
      : (typeof DIALECT_OPTIONS)[Name] extends { type: 'boolean' }
        ? boolean
        : string
  }>
>

/** The command-line option for a dialect option. */
export function optionOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** @returns only the given options. @throws {ProgramFailure} */
export function parseDialect(values: DialectValues): Dialect {
  const { dialect: how = 'detect', decimal = [], booleans, nulls } = values
  if (how !== 'detect' && how !== 'plain') {
    throw new ProgramFailure('usage', `--dialect must be detect or plain, not "${how}"`)
  }
  const said: { [Name in keyof Dialect]: unknown } = {
    delimiter: values.delimiter,
    encoding: values.encoding,
    header: headerOfOption(values.header),
    skipLines: values['skip-lines'] === undefined ? undefined : Number(values['skip-lines']),
    comment: values.comment,
    quotes: values.quotes,
    quote: values.quote,
    escape: values.escape,
    trim: values.trim,
    thousands: values.thousands,
    currency: values.currency,
    dates: values.dates,
    booleans: booleans?.split(','),
    nulls,
    blankLines: values['blank-lines'],
    extraFields: values['extra-fields'],
    ...decimalsOf(decimal),
  }
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
  try {
    return checkDialect(given)
  } catch (failure) {
    const [, name = '', problem = ''] =
      /^Option "(\w+)" (.*)$/s.exec(String(Object(failure).message)) ?? []
    const value = Reflect.get(given, name)
    throw new ProgramFailure('usage', `${optionOf(name)} ${problem}, not "${String(value)}"`)
  }
}

function headerOfOption(text: string | undefined): Dialect['header'] {
  return text === undefined || text === 'present' || text === 'absent' ? text : text.split(',')
}

/** @throws {ProgramFailure} */
function decimalsOf(texts: readonly string[]): Pick<Dialect, 'decimal' | 'columns'> {
  const columns: Record<string, { decimal: '.' | ',' }> = {}
  let all: '.' | ',' | undefined
  for (const text of texts) {
    const [, column, decimal] = /^(?:(.+)=)?([.,])$/s.exec(text) ?? []
    if (decimal !== '.' && decimal !== ',') {
      const form = '".", "," or, for one column, "COLUMN=." or "COLUMN=,"'
      throw new ProgramFailure('usage', `--decimal must be ${form}, not "${text}"`)
    }
    if (column === undefined) all = decimal
    else columns[column] = { decimal }
  }
  const isNamed = Object.keys(columns).length > 0
  return { ...(all && { decimal: all }), ...(isNamed && { columns }) }
}
