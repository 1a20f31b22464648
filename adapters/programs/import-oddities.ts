// Finds the columns of a new table that a few values turned into text: without those values they would be numbers,
// booleans, dates or arrays.
import { isJson } from '../base/records.js'
import { canReadAgain } from './import-bytes.js'
import type { Tally } from './import-sample.js'
import { placesAt, type RowRun, readFileRuns, type SourceFile, unitOf } from './import-source.js'
import { cellsOf, classOf, HeaderReader, offsetOf, type ValueClass } from './import-values.js'

/** Odd values of a reported column, in percent: fewer than this. */
const ODD_PERCENT = 1

/** Limit of odd values in a sample, in percent: higher, so that few columns are missed. */
const ODD_PERCENT_OF_SAMPLE = 10

export type OddColumn = Readonly<{
  column: string
  /** The kind of the other values. */
  others: string
  /** undefined: the files cannot be read again. */
  found?: Readonly<{
    oddCount: number
    valueCount: number
    /** The first odd value. */
    value: unknown
    path: string
    line: number
    unit: 'line' | 'row'
  }>
}>

/** Dates and date-times make a column of dates together. */
const GROUP_OF = {
  number: 'numbers',
  boolean: 'booleans',
  date: 'dates',
  dateTime: 'dates',
  array: 'arrays',
  text: 'text',
} as const satisfies Record<ValueClass, string>

type Group = (typeof GROUP_OF)[ValueClass]

/**
 * Finds the text columns in which less than one percent of the values are text. If a sample shows candidates, all files
 * are read again.
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
    if (others !== null) counts.set(column, { others, valueCount: 0, oddCount: 0 })
  }
  if (counts.size === 0) return []
  for (const file of files) {
    if (!(await canReadAgain(file))) {
      return [...counts].map(([column, { others }]) => ({ column, others }))
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
      const valueClass = classOf(value, isField)
      const count = counts.get(column)
      if (valueClass === undefined || count === undefined) continue
      count.valueCount++
      if (GROUP_OF[valueClass] === count.others) continue
      count.oddCount++
      count.first ??= { value, file, offset: offsetOf(run, record) }
    }
  }
}

type OddValue = Readonly<{ value: unknown; file: SourceFile; offset: number }>

type OddCount = { readonly others: Group; valueCount: number; oddCount: number; first?: OddValue }

/** Counts with the line of the first odd value; of those that are frequent, nothing. */
async function withLines(counts: ReadonlyMap<string, OddCount>): Promise<readonly OddColumn[]> {
  const rare = [...counts].filter(([, { oddCount, valueCount }]) => {
    return oddCount * 100 < valueCount * ODD_PERCENT
  })
  const firsts = rare.flatMap(([, { first }]) => (first === undefined ? [] : [first]))
  const lines = new Map<OddValue, number>()
  for (const file of new Set(firsts.map((first) => first.file))) {
    const ofFile = firsts.filter((first) => first.file === file)
    ofFile.sort((left, right) => left.offset - right.offset)
    const found = await placesAt(
      file,
      ofFile.map(({ offset }) => offset),
    )
    for (const [i, first] of ofFile.entries()) lines.set(first, found[i] ?? 1)
  }
  return rare.flatMap(([column, { others, oddCount, valueCount, first }]) => {
    if (first === undefined) return []
    const { value, file } = first
    const line = lines.get(first) ?? 1
    const found = { oddCount, valueCount, value, path: file.path, line, unit: unitOf(file) }
    return [{ column, others, found }]
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
