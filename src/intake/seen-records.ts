// The facts collected from the records of a sample: the first records, and the values of fields.
import { type SampleOptions, STEP_BYTES, TRIED_RECORDS, type Tried } from './sample.js'

/** The nonempty values of a column in the sample. */
export type SeenValues = Readonly<{
  /** The first distinct values, at most `VALUES_MAX`, from which a conversion is chosen. */
  first: Set<string>
  /** All other values, which must fit the conversion too. */
  others: string[]
}>

export const VALUES_MAX = 4_096

/** The notation of an empty cell by MySQL and PostgreSQL. */
export const NULL_OF_DATABASES = '\\N'

/** The facts collected from a sample. */
export class SeenRecords {
  /** The header and the first rows. */
  readonly first: Tried[] = []
  /** The values of each column, by field index. */
  readonly values: SeenValues[] = []
  /** The fields that have text in some row. */
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

  /** The default of `extraFields`: `dropEmpty` if the sample has fields after the last column, and all are empty. */
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

/** The work of examining a field or a value of a sample, in the unit of time slices. */
export const FIELD_WORK = 16

export const NO_VALUES: SeenValues = { first: new Set(), others: [] }

/** Whether a test holds for all values of a column. */
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
