// What a sample of the rows of an import looks like, from which the types of a new table are guessed, and columns
// that a few values have made text are noticed.
//
// Invariants:
// - Every column is in the sample, as it holds the first record that names it.
// - It costs an import next to nothing: of 231 runs of 1,000 records, some 500 records are looked at.
import type { RowRun } from './import-source.js'
import { isJson } from './import-source.js'
import { cellsOf, classOf, HeaderReader, type ValueClass } from './import-values.js'

/** Records of the first run that are looked at. Of run n it is 1/n of them, and one at least. */
const RECORDS_FIRST = 64

/** A table has fewer columns; what is beyond is left out of the sample. */
const COLUMNS_MAX = 4_096

export type Tally = { [Class in ValueClass]: number } & {
  /** Of the elements of arrays. */
  elements?: Tally
}

function newTally(): Tally {
  return { number: 0, boolean: 0, date: 0, dateTime: 0, text: 0, array: 0 }
}

export class ImportSample {
  readonly #columns = new Map<string, Tally>()
  readonly #headers = new HeaderReader()
  #runs = 0

  /** The columns in the order in which the rows name them first. */
  get columns(): ReadonlyMap<string, Readonly<Tally>> {
    return this.#columns
  }

  add(run: RowRun): void {
    const header = this.#headers.read(run)
    for (const column of header) if (column !== '$rowID') this.#tallyOf(column)
    this.#runs++
    for (const record of sampledRecords(run, Math.ceil(RECORDS_FIRST / this.#runs))) {
      for (const { column, value } of cellsOf(run, header, record)) {
        const tally = this.#tallyOf(column)
        if (tally !== undefined) note(tally, value, !isJson(run.format))
      }
    }
  }

  #tallyOf(column: string): Tally | undefined {
    let tally = this.#columns.get(column)
    if (tally === undefined && this.#columns.size < COLUMNS_MAX) {
      tally = newTally()
      this.#columns.set(column, tally)
    }
    return tally
  }
}

function sampledRecords({ starts, namingRecords }: RowRun, count: number): readonly number[] {
  const records = new Set(namingRecords)
  const step = Math.ceil(starts.length / count)
  for (let record = 0; record < starts.length; record += step) records.add(record)
  return [...records].sort((left, right) => left - right)
}

function note(tally: Tally, value: unknown, isField: boolean): void {
  const valueClass = classOf(value, isField)
  if (valueClass !== undefined) tally[valueClass]++
  if (!Array.isArray(value)) return
  tally.elements ??= newTally()
  for (const element of value) note(tally.elements, element, false)
}
