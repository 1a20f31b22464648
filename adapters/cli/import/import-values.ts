// The cells of rows before their import, and the classes of their values.
//
// Invariant: a class is the type that the server's inference gives a value. If the two differ, a warning is missing or
// superfluous; the types that are shown come from the server.
import { isJson } from '../../base/records.js'
import { fieldText, findFields } from './csv-fields.js'
import { withPoint } from './decimal-commas.js'
import { delimiterOfRun, type RowRun } from './import-source.js'

/**
 * Numbers of CSV that are text to the inference of the server: with a comma before their decimals, with more digits
 * than every double has, with spaces around them, and in forms that JSON lacks.
 */
export const NUMBERS_AS_TEXT = Object.freeze([
  'decimalComma',
  'longInteger',
  'spacedNumber',
  'looseNumber',
] as const)

export type NumberAsText = (typeof NUMBERS_AS_TEXT)[number]

export type ValueClass =
  | 'number'
  | NumberAsText
  | 'boolean'
  | 'date'
  | 'dateTime'
  | 'text'
  | 'array'

export type Cell = Readonly<{
  column: string
  /** As JSON has it; of CSV and TSV, the text of the field. */
  value: unknown
}>

/** What a row of an export calls its ID: no column. */
export const ROW_ID = '$rowID'

/** Reads the headers of runs, which have the same one in a file. */
export class HeaderReader {
  #header: Uint8Array | undefined
  #columns: readonly string[] = []

  /** The columns that CSV and TSV name; none of JSON. */
  read({ format, header }: RowRun): readonly string[] {
    if (isJson(format)) return []
    if (header !== this.#header) {
      const bounds: number[] = []
      const count = findFields(header, 0, header.length, delimiterOfRun({ format }), bounds)
      this.#header = header
      this.#columns = Array.from({ length: count }, (_, i) =>
        fieldText(header, bounds[2 * i] ?? 0, bounds[2 * i + 1] ?? 0),
      )
    }
    return this.#columns
  }
}

/**
 * The cells of a record; none of one that cannot be read, which the server will refuse.
 * @param header - Of CSV and TSV.
 * @param isWanted - The columns to read. Default: all.
 */
export function readRecordCells(
  run: RowRun,
  header: readonly string[],
  record: number,
  isWanted: (column: string) => boolean = () => true,
): readonly Cell[] {
  const end = run.ends[record] ?? 0
  const start = run.starts[record] ?? 0
  const wanted = (column: string): boolean => column !== ROW_ID && isWanted(column)
  return isJson(run.format)
    ? jsonCells(run, start, end).filter(({ column }) => wanted(column))
    : textCells(run, header, start, end, wanted)
}

function jsonCells({ bytes }: RowRun, start: number, end: number): readonly Cell[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
  let row: unknown
  try {
    row = JSON.parse(text)
  } catch (failure) {
    if (failure instanceof SyntaxError) return []
    throw failure
  }
  if (typeof row !== 'object' || row === null) return []
  return Object.entries(row).map(([column, value]) => ({ column, value }))
}

function textCells(
  { bytes, format }: RowRun,
  header: readonly string[],
  start: number,
  end: number,
  isWanted: (column: string) => boolean,
): readonly Cell[] {
  const bounds: number[] = []
  const count = findFields(bytes, start, end, delimiterOfRun({ format }), bounds)
  const cells: Cell[] = []
  for (let i = 0; i < count && i < header.length; i++) {
    const column = header[i] ?? ''
    if (!isWanted(column)) continue
    const value = fieldText(bytes, bounds[2 * i] ?? 0, bounds[2 * i + 1] ?? 0)
    cells.push({ column, value })
  }
  return cells
}

/** The class of a value; undefined for an empty cell. */
export function classifyValue(value: unknown, isField: boolean): ValueClass | undefined {
  if (value === null || value === '') return undefined
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value !== 'string') return 'text'
  const numeric = isField ? classOfNumber(value) : undefined
  if (numeric !== undefined) return numeric
  if (isField && /^(?:true|false)$/i.test(value)) return 'boolean'
  return classOfTime(value)
}

function classOfNumber(value: string): 'number' | NumberAsText | undefined {
  if (isInferredNumber(value)) return 'number'
  if (isInferredNumber(withPoint(value))) return 'decimalComma'
  if (/^-?[1-9][0-9]{15,}$/.test(value) && Number.isFinite(Number(value))) return 'longInteger'
  if (LOOSE_NUMBER.test(value)) return 'looseNumber'
  const inner = /^ *(\S+) *$/.exec(value)?.[1] ?? value
  const isSpaced = inner !== value && isInferredNumber(withPoint(inner))
  return isSpaced ? 'spacedNumber' : undefined
}

/** No digit beside the point, a plus sign (longer ones are of telephone numbers), separators of thousands. */
const LOOSE_NUMBER =
  /^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]{0,14})\.)|\+(?:0|[1-9][0-9]{0,3})(?:\.[0-9]+)?|[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4}(?:\.[0-9]+)?)$/

/** Longer integers may be identifiers, which a double would damage. */
const EXACT_DIGITS_MAX = 15

function isInferredNumber(text: string): boolean {
  const [, integer, rest] =
    /^-?(0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)$/.exec(text) ?? []
  if (integer === undefined || !Number.isFinite(Number(text))) return false
  return rest !== '' || integer.length <= EXACT_DIGITS_MAX
}

const DATE = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/
const TIME =
  /^[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])?$/
const DATE_CHARS = 10

function classOfTime(text: string): ValueClass {
  const [, year, month, day] = DATE.exec(text.slice(0, DATE_CHARS)) ?? []
  if (year === undefined || Number(day) < 1 || Number(month) < 1 || Number(month) > 12)
    return 'text'
  // Day 0 of the next month. In 400 years the calendar repeats; years below 100 would mean others.
  const lastDay = new Date(Date.UTC(Number(year) + 400, Number(month), 0)).getUTCDate()
  if (Number(day) > lastDay) return 'text'
  if (text.length === DATE_CHARS) return 'date'
  return TIME.test(text.slice(DATE_CHARS)) ? 'dateTime' : 'text'
}
