// How a source of CSV or TSV is read: what is said of it, and where detection is on, what its beginning shows.
//
// Invariants:
// - A plan is made once a source, from its first bytes, and never changed.
// - What is said is not detected.
import { didYouMean } from '../base/nearest-word.js'
import { SourceFault } from '../base/record-scanner.js'
import { isDateTime } from '../schema/time-rules.js'
import { isNumberToken } from '../schema/value-rules.js'
import type { Advice } from './advice.js'
import {
  type ColumnKinds,
  type Conversion,
  chooseConversion,
  haveTwoReadings,
} from './conversions.js'
import type { Dialect } from './dialect.js'
import { areStandard, type Marks, REJECT_COLUMNS } from './fields.js'
import {
  findPreamble,
  marksIn,
  readBeginning,
  type Sample,
  type SampleOptions,
  scanSampleRecords,
  TRIED_RECORDS,
  type Tried,
  triedOf,
} from './sample.js'

export type Plan = Readonly<{
  marks: Marks
  comment: string | undefined
  /** Bytes in front of the header that are left out. */
  skippedBytes: number
  skippedLines: number
  /** Whether the first record is the header. */
  hasHeader: boolean
  /** The names of the columns in the order of the fields; undefined: those of the header as it is. */
  names: readonly string[] | undefined
  /** The names of all fields, also of those that are left out. */
  columns: readonly string[]
  /** By the index of a field, whether its column is left out. */
  dropped: ReadonlySet<number>
  /** Fields in front that are left out with their values. */
  rejectColumns: number
  fieldCount: number
  nulls: ReadonlySet<string>
  skipsBlankLines: boolean
  extraFields: 'refuse' | 'dropEmpty' | 'drop'
  /** By the index of a field. */
  conversions: ReadonlyMap<number, Conversion>
  /** Whether records are passed on as they are, but for blank lines. */
  isPlain: boolean
  advice: readonly Advice[]
}>

export type PlanOptions = SampleOptions &
  Readonly<{
    /** Asked only if a column may be converted. */
    kindsOf: () => Promise<ColumnKinds | undefined>
  }>

export async function planIntake(sample: Sample, options: PlanOptions): Promise<Plan> {
  const { dialect, detects } = options
  const begun = readBeginning(sample, dialect)
  const tried = triedOf(begun.sample)
  const marks = marksIn(tried, begun.separator, options)
  const preamble = findPreamble(tried, marks, options)
  const rest = { ...begun.sample, bytes: begun.sample.bytes.subarray(preamble.bytes) }
  const records = scanSampleRecords(rest, marks, dialect.comment)
  const lines = begun.lines + preamble.lines
  const header = planHeader(records, options, lines)
  checkDialectColumns(dialect, header.columns)
  const rows = header.hasHeader ? records.slice(1) : records
  const nulls = chooseNulls(rows, options)
  const values = collectFieldValues(rows, header.fieldCount, nulls)
  const conversions = await chooseConversions(header.columns, values, options)
  const extraFields = chooseExtraFields(rows, header.fieldCount, options)
  const { delimiter } = marks
  const isPlain =
    areStandard(marks) &&
    delimiter === (options.format === 'tsv' ? '\t' : ',') &&
    dialect.comment === undefined &&
    header.names === undefined &&
    nulls.size === 0 &&
    conversions.size === 0 &&
    extraFields === 'refuse'
  const skipsByDefault = detects && header.fieldCount > 1
  return {
    marks,
    comment: dialect.comment,
    skippedBytes: begun.bytes + preamble.bytes,
    skippedLines: lines,
    hasHeader: header.hasHeader,
    names: header.names,
    columns: header.columns,
    dropped: header.dropped,
    rejectColumns: header.rejectColumns,
    fieldCount: header.fieldCount,
    nulls,
    skipsBlankLines:
      dialect.blankLines === undefined ? skipsByDefault : dialect.blankLines === 'skip',
    extraFields,
    conversions,
    isPlain,
    advice: [
      ...adviceOfMarks(marks, options, begun.separator),
      ...(preamble.lines > 0 ? [{ code: 'skippedLines', count: preamble.lines } as const] : []),
      ...header.advice,
      ...adviceOfDays(header.columns, values, conversions, options),
      ...adviceOfPoints(header.columns, values, conversions, options),
    ],
  }
}

type Header = Readonly<{
  hasHeader: boolean
  names: readonly string[] | undefined
  /** The names of all fields, also of those that are left out. */
  columns: readonly string[]
  dropped: ReadonlySet<number>
  rejectColumns: number
  fieldCount: number
  advice: readonly Advice[]
}>

/** @throws {SourceFault} if something is said of a column that is not there */
function checkDialectColumns({ columns = {} }: Dialect, names: readonly string[]): void {
  const missing = Object.keys(columns).find((column) => !names.includes(column))
  if (missing === undefined) return
  const meant = didYouMean(missing, names, JSON.stringify)
  throw new SourceFault(`the header has no column ${JSON.stringify(missing)}${meant}`)
}

/** The columns of a source. One without a name gets one, or is left out if no record of the sample has a value for it. */
function planHeader(
  records: readonly Tried[],
  { dialect, detects }: PlanOptions,
  line: number,
): Header {
  const { header = 'present' } = dialect
  const first = records[0]?.fields ?? []
  if (header !== 'present') {
    const given = header === 'absent' ? first.map((_, i) => fieldColumnName(i)) : header
    const of = { hasHeader: false, names: given, columns: given, dropped: new Set<number>() }
    return { ...of, rejectColumns: 0, fieldCount: given.length, advice: [] }
  }
  const columns = first.map(({ text }) => text)
  const isBroken = first.some((field) => field.isBroken)
  const nameless = columns.flatMap((name, i) => (name.trim() === '' ? [i] : []))
  const isOfRejects = detects && REJECT_COLUMNS.every((name, i) => columns[i] === name)
  const rejectColumns = isOfRejects ? REJECT_COLUMNS.length : 0
  const of = { hasHeader: true, fieldCount: columns.length, rejectColumns }
  const data = detects && !isOfRejects ? adviceOfData(records, line) : []
  const isAsItIs = nameless.length + rejectColumns === 0
  if (!detects || isBroken || isAsItIs || columns.length < 2) {
    return { ...of, names: undefined, columns, dropped: new Set(), advice: data }
  }
  const rows = records.slice(1)
  const dropped = new Set(
    nameless.filter((i) => rows.every(({ fields }) => (fields[i]?.text ?? '') === '')),
  )
  const names = columns.map((name, i) => (nameless.includes(i) ? fieldColumnName(i) : name))
  const advice = nameless.map((i): Advice => {
    return { code: dropped.has(i) ? 'columnDropped' : 'columnNamed', column: fieldColumnName(i) }
  })
  if (isOfRejects) {
    advice.push({ code: 'columnDropped', column: REJECT_COLUMNS[0], count: rejectColumns })
  }
  for (let i = 0; i < rejectColumns; i++) dropped.add(i)
  return { ...of, names, columns: names, dropped, advice: [...data, ...advice] }
}

function fieldColumnName(field: number): string {
  return `column${field + 1}`
}

/** Says that the names of a header look like values: one is a number or a moment, as are those below it. */
function adviceOfData(records: readonly Tried[], line: number): readonly Advice[] {
  const [header, ...rows] = records
  const names = header?.fields ?? []
  const example = names.find(({ text }, i) => {
    if (!looksLikeValue(text)) return false
    return (
      rows.length === 0 ||
      rows.slice(0, TRIED_RECORDS).every(({ fields }) => {
        const below = fields[i]?.text ?? ''
        return below === '' || looksLikeValue(below)
      })
    )
  })
  if (example === undefined || rows.length === 0) return []
  const remedy = { option: 'header', value: 'absent' } as const
  return [{ code: 'headerLooksLikeData', line: line + 1, example: example.text, remedy }]
}

function looksLikeValue(text: string): boolean {
  return isNumberToken(text) || isDateTime(text)
}

/** How MySQL and PostgreSQL write an empty cell. */
const NULL_OF_DATABASES = '\\N'

function chooseNulls(
  rows: readonly Tried[],
  { dialect, detects }: PlanOptions,
): ReadonlySet<string> {
  if (dialect.nulls !== undefined || !detects) return new Set(dialect.nulls)
  const isThere = rows.some(({ fields }) =>
    fields.some(({ text, isQuoted }) => !isQuoted && text === NULL_OF_DATABASES),
  )
  return new Set(isThere ? [NULL_OF_DATABASES] : [])
}

/** The values of each field, without empty ones. */
function collectFieldValues(
  rows: readonly Tried[],
  fieldCount: number,
  nulls: ReadonlySet<string>,
): readonly (readonly string[])[] {
  const values = Array.from({ length: fieldCount }, (): string[] => [])
  for (const { fields } of rows) {
    for (const [i, { text, isQuoted }] of fields.entries()) {
      if (text !== '' && (isQuoted || !nulls.has(text))) values[i]?.push(text)
    }
  }
  return values
}

async function chooseConversions(
  columns: readonly string[],
  values: readonly (readonly string[])[],
  { dialect, detects, kindsOf }: PlanOptions,
): Promise<ReadonlyMap<number, Conversion>> {
  const conversions = new Map<number, Conversion>()
  let kinds: ColumnKinds | undefined
  let isAsked = false
  const isSaid = saysConversions(dialect)
  for (const [i, column] of columns.entries()) {
    const known = { column, dialect, detects, isFixed: false, kind: undefined }
    const ofColumn = values[i] ?? []
    if (!isSaid && chooseConversion(ofColumn, known) === undefined) continue
    if (!isAsked) kinds = await kindsOf()
    isAsked = true
    const isFixed = kinds?.areFixed === true
    const kind = kinds?.kinds.get(column) ?? (isFixed ? 'unknown' : undefined)
    const found = chooseConversion(ofColumn, { ...known, kind, isFixed })
    if (found !== undefined) conversions.set(i, found)
  }
  return conversions
}

function saysConversions({
  decimal,
  thousands,
  currency,
  dates,
  booleans,
  columns,
}: Dialect): boolean {
  return [decimal, thousands, currency, dates, booleans, columns].some((said) => said !== undefined)
}

function chooseExtraFields(
  rows: readonly Tried[],
  fieldCount: number,
  { dialect, detects }: PlanOptions,
): Plan['extraFields'] {
  if (dialect.extraFields !== undefined || !detects) return dialect.extraFields ?? 'refuse'
  const long = rows.filter(({ fields }) => fields.length > fieldCount)
  const areEmpty = long.every(({ fields }) =>
    fields.slice(fieldCount).every(({ text }) => text === ''),
  )
  return long.length > 0 && areEmpty ? 'dropEmpty' : 'refuse'
}

function adviceOfMarks(
  { delimiter, isTrimmed, hasBackslashes }: Marks,
  { format, dialect }: PlanOptions,
  separator: string | undefined,
): readonly Advice[] {
  const advice: Advice[] = []
  const isSaid = dialect.delimiter !== undefined || separator !== undefined || format === 'tsv'
  if (!isSaid && delimiter !== ',') advice.push({ code: 'delimiter', example: delimiter })
  if (isTrimmed && dialect.trim === undefined) advice.push({ code: 'trimmed' })
  if (hasBackslashes && dialect.escape === undefined) advice.push({ code: 'backslashes' })
  return advice
}

function adviceOfDays(
  columns: readonly string[],
  values: readonly (readonly string[])[],
  conversions: ReadonlyMap<number, Conversion>,
  { detects }: PlanOptions,
): readonly Advice[] {
  if (!detects) return []
  return columns.flatMap((column, i): Advice[] => {
    const ofColumn = values[i] ?? []
    if (conversions.has(i) || !haveTwoReadings(ofColumn)) return []
    const remedy = { option: 'dates', value: 'dd/mm/yyyy' } as const
    return [{ code: 'datesUnread', column, example: ofColumn[0] ?? '', remedy }]
  })
}

/** A number that may be written with points between thousands. */
const POINTS = /^-?[0-9]{1,3}(?:\.[0-9]{3})+$/

/** Columns whose points may stand between thousands, as the decimal commas of others tell. */
function adviceOfPoints(
  columns: readonly string[],
  values: readonly (readonly string[])[],
  conversions: ReadonlyMap<number, Conversion>,
  { detects }: PlanOptions,
): readonly Advice[] {
  const hasCommas = [...conversions.values()].some(({ decimal }) => decimal === ',')
  if (!detects || !hasCommas) return []
  return columns.flatMap((column, i): Advice[] => {
    const ofColumn = values[i] ?? []
    const example = ofColumn.find((text) => POINTS.test(text))
    const isWhole = ofColumn.every((text) => POINTS.test(text) || /^-?[0-9]{1,3}$/.test(text))
    if (conversions.has(i) || example === undefined || !isWhole) return []
    const remedy = { option: 'thousands', value: '.' } as const
    return [{ code: 'pointsUnsure', column, example, remedy }]
  })
}
