// Finds the columns of a new table that a few values turned into text: without those values they would be numbers,
// booleans, dates or arrays.
import { isJson } from '../base/records.js'
import { mayBeThousands } from './decimal-commas.js'
import { canReadAgain } from './import-bytes.js'
import type { RowPlace } from './import-places.js'
import type { Tally } from './import-sample.js'
import { placesAt, type RowRun, readFileRuns, type SourceFile, unitOf } from './import-source.js'
import { cellsOf, classOf, HeaderReader, offsetOf, type ValueClass } from './import-values.js'

/** Odd values of a reported column, in percent: fewer than this. */
const ODD_PERCENT = 1

/** Limit of odd values in a sample, in percent: higher, so that few columns are missed. */
const ODD_PERCENT_OF_SAMPLE = 10

/** Odd values of a column that are listed, at most. */
const FIRST_MAX = 3

/** A value, and where it is. */
export type SeenValue = Readonly<{ value: unknown }> & RowPlace

export type OddColumn = Readonly<{
  column: string
  /** The kind of the other values. */
  others: string
  /** Whether some of its numbers have a decimal comma. */
  hasCommas: boolean
  /** undefined: the files cannot be read again. */
  found?: Readonly<{
    valueCount: number
    oddCount: number
    /** The first odd values. */
    odd: readonly SeenValue[]
    commaCount: number
    /** The first numbers with a decimal comma. */
    commas: readonly SeenValue[]
    /** Whether each comma can be a separator of thousands as well. */
    mayBeThousands: boolean
  }>
}>

/** Dates and date-times make a column of dates together. */
const GROUP_OF = {
  number: 'numbers',
  decimalComma: 'numbers',
  boolean: 'booleans',
  date: 'dates',
  dateTime: 'dates',
  array: 'arrays',
  text: 'text',
} as const satisfies Record<ValueClass, string>

type Group = (typeof GROUP_OF)[ValueClass]

/**
 * Finds the text columns in which less than one percent of the values are text, and those that are text because of
 * decimal commas. If a sample shows candidates, all files are read again.
 * @param columns - The text columns, with the classes of their sampled values.
 */
export async function findOddColumns(
  columns: ReadonlyMap<string, Tally>,
  files: readonly SourceFile[],
  chunkRowsMax: number,
  signal: AbortSignal,
): Promise<readonly OddColumn[]> {
  const counts = new Map<string, OddCount>()
  for (const [column, tally] of columns) {
    const others = nearlyAll(tally)
    if (others !== null) counts.set(column, new OddCount(others))
  }
  if (counts.size === 0) return []
  for (const file of files) {
    if (!(await canReadAgain(file))) {
      return [...counts].map(([column, { others }]) => {
        return { column, others, hasCommas: (columns.get(column)?.decimalComma ?? 0) > 0 }
      })
    }
  }
  for (const file of files) {
    const headers = new HeaderReader()
    for await (const run of readFileRuns(file, chunkRowsMax)) {
      signal.throwIfAborted()
      countRun(run, headers.read(run), file, counts)
    }
  }
  return withLines(counts)
}

function countRun(
  run: RowRun,
  header: readonly string[],
  file: SourceFile,
  counts: ReadonlyMap<string, OddCount>,
): void {
  const isField = !isJson(run.format)
  for (let record = 0; record < run.starts.length; record++) {
    for (const { column, value } of cellsOf(run, header, record, (id) => counts.has(id))) {
      const valueClass = classOf(value, isField, run.decimal)
      if (valueClass === undefined) continue
      counts.get(column)?.add(valueClass, { value, file, offset: offsetOf(run, record) })
    }
  }
}

type RawValue = Readonly<{ value: unknown; file: SourceFile; offset: number }>

class OddCount {
  readonly others: Group
  readonly odd: RawValue[] = []
  readonly commas: RawValue[] = []
  valueCount = 0
  oddCount = 0
  commaCount = 0
  mayBeThousands = true

  constructor(others: Group) {
    this.others = others
  }

  /** Whether the column is text because of a few values, or of the commas of its numbers. */
  get isReported(): boolean {
    return (
      this.oddCount * 100 < this.valueCount * ODD_PERCENT && this.oddCount + this.commaCount > 0
    )
  }

  add(valueClass: ValueClass, seen: RawValue): void {
    this.valueCount++
    if (GROUP_OF[valueClass] !== this.others) {
      this.oddCount++
      if (this.odd.length < FIRST_MAX) this.odd.push(seen)
    } else if (valueClass === 'decimalComma') {
      this.commaCount++
      this.mayBeThousands &&= mayBeThousands(String(seen.value))
      if (this.commas.length < FIRST_MAX) this.commas.push(seen)
    }
  }
}

/** The columns to report, with the lines of their first values. */
async function withLines(counts: ReadonlyMap<string, OddCount>): Promise<readonly OddColumn[]> {
  const reported = [...counts].filter(([, count]) => count.isReported)
  const firsts = reported.flatMap(([, { odd, commas }]) => [...odd, ...commas])
  const seen = new Map<RawValue, SeenValue>()
  for (const file of new Set(firsts.map((first) => first.file))) {
    const ofFile = firsts.filter((first) => first.file === file)
    ofFile.sort((left, right) => left.offset - right.offset)
    const lines = await placesAt(
      file,
      ofFile.map(({ offset }) => offset),
    )
    for (const [i, first] of ofFile.entries()) {
      const { value } = first
      seen.set(first, { value, path: file.path, line: lines[i] ?? 1, unit: unitOf(file) })
    }
  }
  const placed = (values: readonly RawValue[]) => values.flatMap((value) => seen.get(value) ?? [])
  return reported.map(([column, count]) => {
    const { others, valueCount, oddCount, commaCount, mayBeThousands } = count
    const values = { odd: placed(count.odd), commas: placed(count.commas) }
    const found = { valueCount, oddCount, commaCount, mayBeThousands, ...values }
    return { column, others, hasCommas: commaCount > 0, found }
  })
}

/** The kind of nearly all values of a sample, other than text; null if there is none. */
function nearlyAll(tally: Tally): Group | null {
  const counts = new Map<Group, number>()
  let total = 0
  for (const [valueClass, group] of Object.entries(GROUP_OF) as [ValueClass, Group][]) {
    counts.set(group, (counts.get(group) ?? 0) + tally[valueClass])
    total += tally[valueClass]
  }
  for (const [group, count] of counts) {
    const isMost = (total - count) * 100 <= total * ODD_PERCENT_OF_SAMPLE
    if (group !== 'text' && count > 0 && isMost) return group
  }
  return null
}
