// The dialect of a file: what was detected, and what a person chooses instead.
import type { SourceFormat } from '../../../../src/base/source-format.js'
import type { IntakeReport } from '../../../../src/client/import-types.js'
import type { AdviceCode } from '../../../../src/intake/advice.js'
import { DATE_FORMS, type Dialect } from '../../../../src/intake/dialect.js'
import { NESTED_WAYS } from '../../../../src/intake/nested.js'
import { el, labeledField, setText } from '../base/dom.js'
import * as TEXT from '../base/texts.js'
import { FORMATS, type GivenReading, type Reading } from './import-file.js'

/** Encodings of files from spreadsheets and older programs. */
const ENCODINGS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'iso-8859-15',
  'macintosh',
  'shift_jis',
  'gb18030',
  'big5',
  'euc-kr',
] as const

/** `numbers`: the decimal mark, followed by the mark between thousands. */
type Name = 'delimiter' | 'header' | 'numbers' | 'dates' | 'encoding' | 'nested'

/** The values that a person can choose, with their names. */
const CHOICES: Readonly<Record<Name, Readonly<Record<string, string>>>> = {
  delimiter: TEXT.delimiters,
  header: TEXT.headers,
  numbers: TEXT.numbers,
  dates: Object.fromEntries(DATE_FORMS.map((form) => [form, form])),
  encoding: Object.fromEntries(ENCODINGS.map((name) => [name, name])),
  nested: TEXT.nestedWays,
}

/** The formats to which a choice applies. */
function formatsOf(name: Name): readonly string[] {
  if (name === 'encoding') return FORMATS
  return name === 'nested' ? ['json', 'ndjson'] : ['csv', 'tsv']
}

const NAMES = Object.keys(CHOICES) as Name[]

export class DialectForm {
  readonly element: HTMLElement
  readonly #format: HTMLSelectElement
  readonly #at = el('input', { id: 'at', autocomplete: 'off' })
  readonly #choices: readonly Readonly<{ name: Name; select: HTMLSelectElement }>[]
  /** The fields of the form, each with the formats to which it applies. */
  readonly #fields: readonly Readonly<{ field: HTMLElement; formats: readonly string[] }>[]

  constructor({ format, dialect = {}, at = '', nested }: GivenReading, onChange: () => void) {
    this.#format = formatChoice(format)
    this.#at.value = at
    const { decimal = '', thousands = '' } = dialect
    const said = { ...dialect, nested, numbers: decimal + thousands }
    this.#choices = NAMES.map((name) => ({ name, select: makeChoice(name, said[name]) }))
    this.#fields = [
      ...this.#choices.map(({ name, select }) => ({
        field: labeledField(TEXT.dialect[name], select),
        formats: formatsOf(name),
      })),
      { field: labeledField(TEXT.dialect.at, this.#at), formats: ['json'] },
    ]
    this.element = el(
      'div',
      { class: 'fields choices', role: 'group', 'aria-label': TEXT.reading },
      labeledField(TEXT.format, this.#format),
      ...this.#fields.map(({ field }) => field),
    )
    this.element.addEventListener('change', () => {
      this.#show()
      onChange()
    })
    this.#show()
  }

  get reading(): Reading {
    const format = this.#format.value as SourceFormat
    const said = Object.fromEntries(
      this.#choices
        .filter(({ name, select }) => select.value !== '' && formatsOf(name).includes(format))
        .map(({ name, select }) => [name, select.value]),
    )
    const { nested: way, numbers, ...dialect } = said as Partial<Record<Name, string>>
    const [decimal, thousands] = numbers ?? []
    const nested = NESTED_WAYS.find((known) => known === way)
    const at = this.#at.value.trim()
    return {
      format,
      dialect: {
        ...dialect,
        ...(decimal && { decimal }),
        ...(thousands && { thousands }),
      } as Dialect,
      ...(format === 'json' && at !== '' && { at }),
      ...(nested && { nested }),
    }
  }

  /** Shows what was detected in choices left to detection. */
  tell({ encoding, delimiter, headerLine, advice }: IntakeReport): void {
    const exampleOf = (code: AdviceCode) => advice.find((one) => one.code === code)?.example
    const unread = exampleOf('datesUnread')
    const dates = exampleOf('dates')
    const found: Partial<Record<Name, string | undefined>> = {
      encoding,
      delimiter: delimiter && (TEXT.delimiters[delimiter as ','] ?? delimiter),
      header: headerLine === undefined ? undefined : TEXT.lineOfHeader(headerLine),
      numbers: exampleOf('numbers'),
      dates: unread ?? dates,
    }
    for (const { name, select } of this.#choices) {
      const value = found[name]
      const [first] = select.options
      if (first === undefined || select.value !== '') continue
      const isAsked = name === 'dates' && unread !== undefined
      select.classList.toggle('asked', isAsked)
      if (isAsked) setText(first, TEXT.chooseFor(unread))
      else setText(first, value === undefined ? firstOf(name) : TEXT.detectedAs(value))
    }
  }

  #show(): void {
    for (const { field, formats } of this.#fields)
      field.hidden = !formats.includes(this.#format.value)
  }
}

/** What applies if a person chooses nothing. Default: what is detected. */
const FIRST: Partial<Record<Name, string>> = {
  header: TEXT.headerPresent,
  nested: TEXT.nestedRefused,
}

function firstOf(name: Name): string {
  return FIRST[name] ?? TEXT.detected
}

function makeChoice(name: Name, chosen: unknown): HTMLSelectElement {
  const options = Object.entries(CHOICES[name]).map(([value, text]) =>
    el('option', { value }, text),
  )
  const select = el(
    'select',
    { id: `dialect-${name}` },
    el('option', { value: '' }, firstOf(name)),
    ...options,
  )
  select.value = String(chosen ?? '')
  return select
}

function formatChoice(chosen: SourceFormat): HTMLSelectElement {
  const options = FORMATS.map((name) => el('option', { value: name }, name.toUpperCase()))
  const format = el('select', { id: 'format' }, ...options)
  format.value = chosen
  return format
}
