// What the records of a sample show: the first of them, and the values of their fields.
import { type SampleOptions, STEP_BYTES, TRIED_RECORDS, type Tried } from './sample.js'

/** Values of a column in the sample, without empty ones. */
export type SeenValues = Readonly<{
  /** The first different ones, at most `VALUES_MAX`, from which a conversion is chosen. */
  first: Set<string>
  /** The others, which it must fit as well. */
  others: string[]
}>

export const VALUES_MAX = 4_096

/** How MySQL and PostgreSQL write an empty cell. */
export const NULL_OF_DATABASES = '\\N'

/** What the records of a sample show. */
export class SeenRecords {
  /** The header and the first rows. */
  readonly first: Tried[] = []
  /** By field. */
  readonly values: SeenValues[] = []
  /** The fields that have a text in a row. */
  readonly filled = new Set<number>()
  hasDatabaseNulls = false
  readonly #nulls: ReadonlySet<string>
  readonly #hasHeader: boolean
  readonly #seeksNulls: boolean
  #fieldCount: number
  #hasExtraFields = false
  #hasExtraTexts = false

  constructor({ dialect: { header = 'present', nulls }, detects }: SampleOptions) {
    this.#hasHeader = header === 'present'
    this.#fieldCount = Array.isArray(header) ? header.length : 0
    this.#nulls = new Set(nulls)
    this.#seeksNulls = nulls === undefined && detects
  }

  /** What is done with fields behind the last column: that those of the sample are empty allows to drop them. */
  get extraFields(): 'refuse' | 'dropEmpty' {
    return this.#hasExtraFields && !this.#hasExtraTexts ? 'dropEmpty' : 'refuse'
  }

  add(record: Tried): void {
    const { fields } = record
    const isFirst = this.first.length === 0
    if (isFirst && this.#fieldCount === 0) this.#fieldCount = fields.length
    if (this.first.length <= TRIED_RECORDS) this.first.push(record)
    if (isFirst && this.#hasHeader) return
    this.#hasExtraFields ||= fields.length > this.#fieldCount
    for (const [i, { text, isQuoted }] of fields.entries()) {
      if (text === '') continue
      if (i >= this.#fieldCount) this.#hasExtraTexts = true
      const isDatabaseNull = this.#seeksNulls && !isQuoted && text === NULL_OF_DATABASES
      this.hasDatabaseNulls ||= isDatabaseNull
      this.filled.add(i)
      if (!isDatabaseNull && (isQuoted || !this.#nulls.has(text))) this.#addValue(i, text)
    }
  }

  #addValue(field: number, text: string): void {
    if (field >= this.#fieldCount) return
    while (this.values.length <= field) this.values.push({ first: new Set(), others: [] })
    const values = this.values[field]
    if (values === undefined || values.first.has(text)) return
    if (values.first.size < VALUES_MAX) values.first.add(text)
    else values.others.push(text)
  }
}

export async function readSample(
  records: Iterable<Tried | undefined>,
  options: SampleOptions,
): Promise<SeenRecords> {
  const { slices } = options
  const seen = new SeenRecords(options)
  for (const record of records) {
    if (record !== undefined) seen.add(record)
    const work = record === undefined ? STEP_BYTES : FIELD_WORK * (1 + record.fields.length)
    if (slices?.spend(work)) await slices.pause()
  }
  return seen
}

/** The work of a field or of a value of a sample. */
export const FIELD_WORK = 16

export const NO_VALUES: SeenValues = { first: new Set(), others: [] }

/** Whether all values of a column are so. */
export async function areAll(
  { first, others }: SeenValues,
  test: (text: string) => boolean,
  slices: SampleOptions['slices'],
): Promise<boolean> {
  if (![...first].every(test)) return false
  for (let at = 0; at < others.length; at += VALUES_MAX) {
    const some = others.slice(at, at + VALUES_MAX)
    if (!some.every(test)) return false
    if (slices?.spend(FIELD_WORK * some.length)) await slices.pause()
  }
  return true
}
