// A sample of the rows of an import. From it columns are found that a few values turned into text.
//
// Invariants:
// - Every column is in the sample, because the sample has the first record that names it.
// - It costs an import almost nothing: of 231 runs of 1,000 records, some 500 records are sampled.
// - A record is weighted by the number of records that it stands for, so that the first runs, which are sampled more
//   densely, have no more weight. Its place in a run varies from run to run, because odd values may be periodic.
import { isJson } from '../../base/records.js'
import type { RowRun } from './import-source.js'
import {
  classifyValue,
  HeaderReader,
  ROW_ID,
  readRecordCells,
  type ValueClass,
} from './import-values.js'

/** Sampled records of the first run. Run n has 1/n of that number, but at least one. */
const RECORDS_FIRST = 64

/** Columns of the sample, at most; further ones are left out. */
const COLUMNS_MAX = 4_096

/** A sampled value, and its record, counted from 1 in its file. */
export type SampledValue = Readonly<{ value: unknown; path: string; record: number }>

/** Values of each class that are kept, at most. */
const FIRST_MAX = 3

/** The estimated number of values of each class, and the first values of each. */
export type Tally = Readonly<{
  counts: ReadonlyMap<ValueClass, number>
  first: ReadonlyMap<ValueClass, readonly SampledValue[]>
}>

class SampledColumn implements Tally {
  readonly counts = new Map<ValueClass, number>()
  readonly first = new Map<ValueClass, SampledValue[]>()

  add(valueClass: ValueClass, weight: number, seen: SampledValue): void {
    this.counts.set(valueClass, (this.counts.get(valueClass) ?? 0) + weight)
    const first = this.first.get(valueClass) ?? []
    if (first.length < FIRST_MAX) this.first.set(valueClass, [...first, shortened(seen)])
  }
}

/** Characters of a kept value, at most. */
const VALUE_CHARS_MAX = 200

/** A message shows less of it. */
function shortened(seen: SampledValue): SampledValue {
  const { value } = seen
  const isLong = typeof value === 'string' && value.length > VALUE_CHARS_MAX
  return isLong ? { ...seen, value: value.slice(0, VALUE_CHARS_MAX) } : seen
}

export class ImportSample {
  readonly #columns = new Map<string, SampledColumn>()
  readonly #headers = new HeaderReader()
  #runs = 0
  #hasRowIds = false
  #path = ''
  /** Records of the runs of that file so far. */
  #records = 0

  /** The columns in the order in which the rows name them first. */
  get columns(): ReadonlyMap<string, Tally> {
    return this.#columns
  }

  /** Whether rows bring IDs, which a new table does not take. */
  get hasRowIds(): boolean {
    return this.#hasRowIds
  }

  add(run: RowRun, path: string): void {
    if (path !== this.#path) this.#records = 0
    this.#path = path
    const header = this.#headers.read(run)
    for (const column of header) {
      if (column === ROW_ID) this.#hasRowIds = true
      else this.#tallyOf(column)
    }
    this.#runs++
    for (const [record, weight] of sampledRecords(run, this.#runs)) {
      if (isJson(run.format)) this.#hasRowIds ||= namesRowId(run, record)
      for (const { column, value } of readRecordCells(run, header, record)) {
        const valueClass = classifyValue(value, !isJson(run.format))
        const seen = { value, path, record: this.#records + record + 1 }
        const tally = this.#tallyOf(column)
        if (valueClass !== undefined) tally?.add(valueClass, weight, seen)
      }
    }
    this.#records += run.starts.length
  }

  #tallyOf(column: string): SampledColumn | undefined {
    let tally = this.#columns.get(column)
    if (tally === undefined && this.#columns.size < COLUMNS_MAX) {
      tally = new SampledColumn()
      this.#columns.set(column, tally)
    }
    return tally
  }
}

/** Whether a row of JSON has an ID. In a text its quotes would have a backslash in front. */
function namesRowId({ bytes, starts, ends }: RowRun, record: number): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .subarray(starts[record], ends[record])
    .includes(`"${ROW_ID}"`)
}

/** Multiples of it, without their integers, spread evenly. */
const GOLDEN_RATIO = 0.618_033_988_749_895

/** Records of the run of that number, counted from 1, with how many records each of them stands for. */
function sampledRecords(
  { starts, namingRecords }: RowRun,
  runNumber: number,
): ReadonlyMap<number, number> {
  const weights = new Map<number, number>()
  const step = Math.ceil(starts.length / Math.ceil(RECORDS_FIRST / runNumber))
  const first = Math.floor(step * ((runNumber * GOLDEN_RATIO) % 1))
  for (let record = first; record < starts.length; record += step) weights.set(record, step)
  for (const record of namingRecords) if (!weights.has(record)) weights.set(record, 1)
  return weights
}
