// How a file is written: what was detected, and what a person says instead.
import type { SourceFormat } from '../../../../src/base/source-format.js'
import type { IntakeReport } from '../../../../src/client/import-types.js'
import { DATE_FORMS, type Dialect } from '../../../../src/intake/dialect.js'
import { NESTED_WAYS } from '../../../../src/intake/nested.js'
import { el, setText } from '../base/dom.js'
import { TEXT } from '../base/texts.js'
import { FORMATS, type GivenReading, type Reading } from './import-file.js'
import { makeLabeledField } from './import-target.js'

/** Encodings that files of spreadsheets and older programs have. */
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

type Name = 'delimiter' | 'header' | 'decimal' | 'thousands' | 'dates' | 'encoding' | 'nested'

/** The values that a person can say, with their names. */
const CHOICES: Readonly<Record<Name, Readonly<Record<string, string>>>> = {
  delimiter: TEXT.delimiters,
  header: TEXT.headers,
  decimal: TEXT.decimals,
  thousands: TEXT.thousands,
  dates: Object.fromEntries(DATE_FORMS.map((form) => [form, form])),
  encoding: Object.fromEntries(ENCODINGS.map((name) => [name, name])),
  nested: TEXT.nestedWays,
}

/** The formats that a choice is of. */
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
  /** By format, what a person can say of it. */
  readonly #fields: readonly Readonly<{ field: HTMLElement; formats: readonly string[] }>[]

  /** @param said - Without a format, a person must choose it. */
  constructor({ format, dialect = {}, at = '', nested }: GivenReading, onChange: () => void) {
    this.#format = formatChoice(format)
    this.#at.value = at
    const said = { ...dialect, nested }
    this.#choices = NAMES.map((name) => ({ name, select: makeChoice(name, said[name]) }))
    this.#fields = [
      ...this.#choices.map(({ name, select }) => ({
        field: makeLabeledField(TEXT.dialect[name], select),
        formats: formatsOf(name),
      })),
      { field: makeLabeledField(TEXT.dialect.at, this.#at), formats: ['json'] },
    ]
    const fields = el('div', { class: 'fields' }, ...this.#fields.map(({ field }) => field))
    this.element = el(
      'div',
      { class: 'preview' },
      makeLabeledField(TEXT.format, this.#format),
      el('details', {}, el('summary', {}, TEXT.reading), fields),
    )
    this.element.addEventListener('change', () => {
      this.#show()
      onChange()
    })
    this.#show()
  }

  focus(): void {
    this.#format.focus()
  }

  /** undefined: the format is not known. */
  get reading(): Reading | undefined {
    const format = FORMATS.find((name) => name === this.#format.value)
    if (format === undefined) return undefined
    const said = this.#choices
      .filter(({ name, select }) => select.value !== '' && formatsOf(name).includes(format))
      .map(({ name, select }) => [name, select.value])
    const at = this.#at.value.trim()
    const { nested: way, ...dialect } = Object.fromEntries(said) as Dialect & { nested?: string }
    const nested = NESTED_WAYS.find((known) => known === way)
    return {
      format,
      dialect,
      ...(format === 'json' && at !== '' && { at }),
      ...(nested && { nested }),
    }
  }

  /** Shows what was detected in the choices that leave it so. */
  tell({ encoding, delimiter }: IntakeReport): void {
    const found: Partial<Record<Name, string | undefined>> = { encoding, delimiter }
    for (const { name, select } of this.#choices) {
      const value = found[name]
      const [first] = select.options
      if (value !== undefined && select.value === '' && first !== undefined)
        setText(first, TEXT.detectedAs(CHOICES[name][value] ?? value))
    }
  }

  #show(): void {
    for (const { field, formats } of this.#fields)
      field.hidden = !formats.includes(this.#format.value)
  }
}

/** What holds where nothing is said, if it is not detected. */
const FIRST: Partial<Record<Name, string>> = {
  header: TEXT.headerPresent,
  nested: TEXT.nestedRefused,
}

function makeChoice(name: Name, chosen: unknown): HTMLSelectElement {
  const options = Object.entries(CHOICES[name]).map(([value, text]) =>
    el('option', { value }, text),
  )
  const first = FIRST[name] ?? TEXT.detected
  const select = el(
    'select',
    { id: `dialect-${name}` },
    el('option', { value: '' }, first),
    ...options,
  )
  select.value = String(chosen ?? '')
  return select
}

function formatChoice(chosen: SourceFormat | undefined): HTMLSelectElement {
  const format = el(
    'select',
    { id: 'format' },
    chosen === undefined ? el('option', { value: '' }, TEXT.chooseFormat) : null,
    ...FORMATS.map((name) => el('option', { value: name }, name.toUpperCase())),
  )
  format.value = chosen ?? ''
  return format
}
