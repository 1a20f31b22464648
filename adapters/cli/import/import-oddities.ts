// Finds the columns of a new table that a few values turned into text: without those values they would be numbers,
// booleans, dates or arrays. Also those in which values of other types of JSON became text.
import { isJson } from '../../base/records.js'
import { mayBeThousands } from './decimal-commas.js'
import { canReadAgain } from './import-bytes.js'
import type { Tally } from './import-sample.js'
import { type RowRun, readFileRuns } from './import-source.js'
import {
  classifyValue,
  HeaderReader,
  NUMBERS_AS_TEXT,
  type NumberAsText,
  readRecordCells,
  type ValueClass,
} from './import-values.js'
import type { RowPlace, SourceFile } from './source-file.js'

/** Odd values of a reported column, in percent: fewer than this. */
const ODD_PERCENT = 1

/** Limit of odd values in a sample, in percent: higher, so that few columns are missed. */
const ODD_PERCENT_OF_SAMPLE = 10

/** Odd values of a column that are listed, at most. */
const FIRST_MAX = 3

/** A value, and where it is. */
export type SeenValue = Readonly<{ value: unknown }> & RowPlace

/** What an odd value of a column of numbers looks like, which decides what to do about it. */
export type OddShape = 'padded' | 'grouped' | 'other'

/** Values of one class. */
export type SeenClass = Readonly<{
  count: number
  first: readonly SeenValue[]
}>

export type OddColumn = Readonly<{
  column: string
  /** The kind of the other values. */
  others: Group
  /** The files cannot be read again: all that follows is of a sample, which may lack the odd values. */
  isSample: boolean
  valueCount: number
  /** The values of other kinds. */
  odd: SeenClass
  /** Whether it is text because of values of several types of JSON, of which none are few. */
  isMixed: boolean
  /** The values that JSON does not have as text. */
  tokens: SeenClass
  oddShapes: ReadonlySet<OddShape>
  /** The numbers that are text to a server. */
  asText: Readonly<Record<NumberAsText, SeenClass>>
  /** Whether each decimal comma can be a separator of thousands as well. */
  mayBeThousands: boolean
}>

/** Dates and date-times make a column of dates together. */
const GROUP_OF = {
  number: 'numbers',
  decimalComma: 'numbers',
  longInteger: 'numbers',
  spacedNumber: 'numbers',
  looseNumber: 'numbers',
  boolean: 'booleans',
  date: 'dates',
  dateTime: 'dates',
  array: 'arrays',
  text: 'text',
} as const satisfies Record<ValueClass, string>

type Group = (typeof GROUP_OF)[ValueClass]

/**
 * Finds the text columns in which less than one percent of the values are text, and those that are text because of
 * numbers that are text to a server, or have values of JSON that are no text. If a sample shows candidates, all files
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
    const others = nearlyAll(tally) ?? (hasTokens(tally) ? 'text' : null)
    if (others !== null) counts.set(column, new OddCount(others))
  }
  if (counts.size === 0) return []
  for (const file of files) {
    if (!(await canReadAgain(file))) {
      return [...counts].map(([column, { others }]) => sampled(column, others, columns.get(column)))
    }
  }
  for (const file of files) {
    const headers = new HeaderReader()
    for await (const run of readFileRuns(file, chunkRowsMax)) {
      signal.throwIfAborted()
      countRun(run, headers.read(run), counts)
    }
  }
  const reported = [...counts].filter(([, count]) => count.isOdd || count.isMixed)
  return reported.map(([column, count]) => ({ column, isSample: false, ...foundIn(count) }))
}

function countRun(
  run: RowRun,
  header: readonly string[],
  counts: ReadonlyMap<string, OddCount>,
): void {
  const isField = !isJson(run.format)
  for (let record = 0; record < run.starts.length; record++) {
    for (const { column, value } of readRecordCells(run, header, record, (id) => counts.has(id))) {
      const valueClass = classifyValue(value, isField)
      if (valueClass === undefined) continue
      counts.get(column)?.add(valueClass, value, () => run.placeOf(run.offsets[record] ?? 0))
    }
  }
}

/** Values that are counted, with the first of them as they are seen. */
class ClassCount implements SeenClass {
  count = 0
  readonly first: SeenValue[] = []

  add(value: unknown, place: () => RowPlace, count: number): void {
    this.count += count
    if (this.first.length < FIRST_MAX) this.first.push({ value, ...place() })
  }
}

class OddCount {
  readonly others: Group
  readonly odd = new ClassCount()
  readonly oddShapes = new Set<OddShape>()
  readonly asText: Readonly<Record<NumberAsText, ClassCount>> = {
    decimalComma: new ClassCount(),
    longInteger: new ClassCount(),
    spacedNumber: new ClassCount(),
    looseNumber: new ClassCount(),
  }
  readonly tokens = new ClassCount()
  valueCount = 0
  mayBeThousands = true

  constructor(others: Group) {
    this.others = others
  }

  get isMixed(): boolean {
    return !this.isOdd && this.tokens.count > 0
  }

  /** Whether the column is text because of a few values, or of how its numbers are written. */
  get isOdd(): boolean {
    const { odd, valueCount } = this
    if (odd.count * 100 >= valueCount * ODD_PERCENT) return false
    return odd.count > 0 || NUMBERS_AS_TEXT.some((name) => this.asText[name].count > 0)
  }

  add(valueClass: ValueClass, value: unknown, place: () => RowPlace, count = 1): void {
    this.valueCount += count
    if (typeof value !== 'string') this.tokens.add(value, place, count)
    if (this.others === 'text') return
    if (GROUP_OF[valueClass] !== this.others) {
      this.odd.add(value, place, count)
      this.oddShapes.add(this.others === 'numbers' ? shapeOf(value) : 'other')
    } else if (isNumberAsText(valueClass)) {
      this.asText[valueClass].add(value, place, count)
      if (valueClass === 'decimalComma') this.mayBeThousands &&= mayBeThousands(String(value))
    }
  }
}

function isNumberAsText(valueClass: ValueClass): valueClass is NumberAsText {
  return (NUMBERS_AS_TEXT as readonly ValueClass[]).includes(valueClass)
}

/** `padded`: digits that mean something as text, such as a ZIP code; `grouped`: with separators of thousands. */
export function shapeOf(value: unknown): OddShape {
  const text = typeof value === 'string' ? value.trim() : ''
  if (/^(?:\+|-?0(?=[0-9]))[0-9][0-9.,]*$/.test(text)) return 'padded'
  return /^-?[0-9]{1,3}(?:[.,][0-9]{3})+(?:[.,][0-9]+)?$/.test(text) ? 'grouped' : 'other'
}

/** What a sample tells of a column of a file that cannot be read again. */
function sampled(column: string, others: Group, tally: Tally | undefined): OddColumn {
  const count = new OddCount(others)
  for (const [valueClass, weight] of tally?.counts ?? []) {
    const first = tally?.first.get(valueClass) ?? []
    for (const [i, { value, path, record }] of first.entries()) {
      const place = () => ({ path, line: record, unit: 'row' }) as const
      count.add(valueClass, value, place, i === 0 ? weight - first.length + 1 : 1)
    }
  }
  return { column, isSample: true, ...foundIn(count), isMixed: others === 'text' }
}

function foundIn(count: OddCount): Omit<OddColumn, 'column' | 'isSample'> {
  const { others, valueCount, odd, oddShapes, isMixed, asText, tokens, mayBeThousands } = count
  return { others, valueCount, odd, oddShapes, isMixed, asText, tokens, mayBeThousands }
}

/** Whether a sample has values that JSON does not have as text. */
function hasTokens({ first }: Tally): boolean {
  return [...first.values()].flat().some(({ value }) => typeof value !== 'string')
}

/** The kind of nearly all values of a sample, other than text; null if there is none. */
function nearlyAll(tally: Tally): Group | null {
  const counts = new Map<Group, number>()
  let total = 0
  for (const [valueClass, group] of Object.entries(GROUP_OF) as [ValueClass, Group][]) {
    const count = tally.counts.get(valueClass) ?? 0
    counts.set(group, (counts.get(group) ?? 0) + count)
    total += count
  }
  for (const [group, count] of counts) {
    const isMost = (total - count) * 100 <= total * ODD_PERCENT_OF_SAMPLE
    if (group !== 'text' && count > 0 && isMost) return group
  }
  return null
}
