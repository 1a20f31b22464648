// The plan for reading a CSV or TSV source: the given options, and with detection, what its beginning shows.
//
// Invariants:
// - A plan is made once per source, from its first bytes, and never changes.
// - Given options are not detected.
import { isDateTime } from '../schema/time-rules.js'
import { isNumberToken } from '../schema/value-rules.js'
import type { Advice } from './advice.js'
import {
  type Choice,
  type ColumnKinds,
  type Conversion,
  chooseConversion,
  contradictsChoice,
} from './conversions.js'
import type { Dialect } from './dialect.js'
import { areStandard, type Marks, REJECT_COLUMNS } from './fields.js'
import {
  detectMarks,
  findPreamble,
  readBeginning,
  type Sample,
  type SampleOptions,
  sampleRecords,
  TRIED_RECORDS,
  type Tried,
  triedOf,
} from './sample.js'
import {
  areAll,
  FIELD_WORK,
  NO_VALUES,
  NULL_OF_DATABASES,
  readSample,
  type SeenRecords,
  type SeenValues,
  VALUES_MAX,
} from './seen-records.js'

export type Plan = Readonly<{
  marks: Marks
  comment: string | undefined
  /** Number of bytes before the header to leave out. */
  skippedBytes: number
  skippedLines: number
  /** Whether the first record is the header. */
  hasHeader: boolean
  /** The column names in field order; undefined: those in the header. */
  names: readonly string[] | undefined
  /** The names of all fields, including those that are left out. */
  columns: readonly string[]
  /** The indexes of fields whose columns are left out. */
  dropped: ReadonlySet<number>
  /** The fields in `dropped` that the caller leaves out, whatever values they have. */
  omitted: ReadonlySet<number>
  /** Number of leading fields that a file of rejected rows adds. They are left out, whatever values they have. */
  rejectColumns: number
  fieldCount: number
  nulls: ReadonlySet<string>
  skipsBlankLines: boolean
  /** Whether advice may suggest to keep blank lines, because no option states what happens to them. */
  mayKeepBlankLines: boolean
  extraFields: 'refuse' | 'dropEmpty' | 'drop'
  /** The conversion of each converted column, by field index. */
  conversions: ReadonlyMap<number, Conversion>
  /** Whether records are passed on unchanged, except blank lines. */
  isPlain: boolean
  advice: readonly Advice[]
}>

export type PlanOptions = SampleOptions &
  Readonly<{
    /** Called only if a column may be converted. */
    kindsOf: () => Promise<ColumnKinds | undefined>
    /** Rejects a header without a column that an option names. Default: no check is needed. */
    checkHeader?: ((columns: readonly string[]) => void) | undefined
    /** The names of columns that are left out. Default: none. */
    omits?: readonly string[] | undefined
  }>

export async function planIntake(sample: Sample, options: PlanOptions): Promise<Plan> {
  const { dialect, detects, checkHeader } = options
  const begun = readBeginning(sample, dialect)
  const tried = triedOf(begun.sample)
  const marks = await detectMarks(tried, begun.separator, options)
  const preamble = findPreamble(tried, marks, options)
  const rest = { ...begun.sample, bytes: begun.sample.bytes.subarray(preamble.bytes) }
  const seen = await readSample(sampleRecords(rest, marks, dialect.comment), options)
  const lines = begun.lines + preamble.lines
  const found = planHeader(seen, options, lines)
  checkHeader?.(found.columns)
  const omitted = found.columns.flatMap((name, i) => (options.omits?.includes(name) ? [i] : []))
  const header = omitted.length === 0 ? found : omitColumns(found, omitted)
  const nulls = new Set(dialect.nulls ?? (seen.hasDatabaseNulls ? [NULL_OF_DATABASES] : []))
  const { conversions, unread } = await chooseConversions(header.columns, seen.values, options)
  const extraFields = dialect.extraFields ?? (detects ? seen.extraFields : 'refuse')
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
    omitted: new Set(omitted),
    rejectColumns: header.rejectColumns,
    fieldCount: header.fieldCount,
    nulls,
    skipsBlankLines:
      dialect.blankLines === undefined ? skipsByDefault : dialect.blankLines === 'skip',
    mayKeepBlankLines: dialect.blankLines === undefined,
    extraFields,
    conversions,
    isPlain,
    advice: [
      ...adviceOfMarks(marks, options, begun.separator),
      ...(preamble.lines > 0 ? [{ code: 'skippedLines', count: preamble.lines } as const] : []),
      ...header.advice,
      ...adviceOfOneColumn(seen, header, conversions, options),
      ...unread,
      ...(await adviceOfPoints(header.columns, seen.values, conversions, delimiter, options)),
    ],
  }
}

type Header = Readonly<{
  hasHeader: boolean
  names: readonly string[] | undefined
  /** The names of all fields, including those that are left out. */
  columns: readonly string[]
  dropped: ReadonlySet<number>
  rejectColumns: number
  fieldCount: number
  advice: readonly Advice[]
}>

/** The columns of a source. A column without a name gets one, or is left out if the sample has no value for it. */
function planHeader(seen: SeenRecords, { dialect, detects }: PlanOptions, line: number): Header {
  const { header = 'present' } = dialect
  const first = seen.first[0]?.fields ?? []
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
  const isAsked = detects && !isOfRejects && dialect.header === undefined
  const data = isAsked ? adviceOfData(seen.first, line) : []
  const isAsItIs = nameless.length + rejectColumns === 0
  if (!detects || isBroken || isAsItIs || columns.length < 2) {
    return { ...of, names: undefined, columns, dropped: new Set(), advice: data }
  }
  const dropped = new Set(nameless.filter((i) => !seen.filled.has(i)))
  const areNameless = new Set(nameless)
  const names = columns.map((name, i) => (areNameless.has(i) ? fieldColumnName(i) : name))
  const advice = nameless.map((i): Advice => {
    return { code: dropped.has(i) ? 'columnDropped' : 'columnNamed', column: fieldColumnName(i) }
  })
  if (isOfRejects) {
    advice.push({ code: 'columnDropped', column: REJECT_COLUMNS[0], count: rejectColumns })
  }
  for (let i = 0; i < rejectColumns; i++) dropped.add(i)
  return { ...of, names, columns: names, dropped, advice: [...data, ...advice] }
}

function omitColumns(header: Header, omitted: readonly number[]): Header {
  const names = header.names ?? header.columns
  return { ...header, names, dropped: new Set([...header.dropped, ...omitted]) }
}

function fieldColumnName(field: number): string {
  return `column${field + 1}`
}

/** Advice that the header looks like values: a name is a number or a moment, and so are the values below it. */
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

/** Decides which columns to convert. Adds advice on columns whose days fit several forms. */
async function chooseConversions(
  columns: readonly string[],
  values: readonly SeenValues[],
  { dialect, detects, slices, kindsOf }: PlanOptions,
): Promise<Readonly<{ conversions: ReadonlyMap<number, Conversion>; unread: readonly Advice[] }>> {
  const conversions = new Map<number, Conversion>()
  const unread: Advice[] = []
  const isSaid = saysConversions(dialect)
  for (const [i, column] of columns.entries()) {
    const known = { column, dialect, detects, isFixed: false, kind: undefined }
    const seen = values[i] ?? NO_VALUES
    const decided = await decideBySample(seen, known, slices)
    if (!isSaid && (decided.conversion ?? decided.dates) === undefined) continue
    const kinds = await kindsOf()
    const isFixed = kinds?.areFixed === true
    const kind = kinds?.kinds.get(column) ?? (isFixed ? 'unknown' : undefined)
    const { conversion, dates }: Choice =
      kind === undefined ? decided : chooseConversion(decided.values, { ...known, kind, isFixed })
    if (conversion !== undefined) conversions.set(i, conversion)
    if (dates === undefined) continue
    const [example = ''] = seen.first
    const remedy = { option: 'dates', value: dates[0] ?? '' } as const
    unread.push({ code: 'datesUnread', column, example, remedy })
  }
  return { conversions, unread }
}

/**
 * The maximum number of values added one by one to the first values. Each excludes a possible form of the column, and
 * there are fewer than 32 forms.
 */
const CONTRARY_MAX = 32

/**
 * The choice for a column of unknown kind, and the values that determine it: the first values, and further values
 * that would have changed it.
 */
async function decideBySample(
  { first, others }: SeenValues,
  known: Parameters<typeof chooseConversion>[1],
  slices: PlanOptions['slices'],
): Promise<Choice & Readonly<{ values: readonly string[] }>> {
  const values = [...first]
  for (;;) {
    if (slices?.spend(FIELD_WORK * (1 + values.length))) await slices.pause()
    const choice = chooseConversion(values, known)
    const isOpen = (choice.conversion ?? choice.dates) !== undefined
    if (!isOpen || values.length === first.size + CONTRARY_MAX) return { ...choice, values }
    let contrary: string | undefined
    for (let at = 0; at < others.length && contrary === undefined; at += VALUES_MAX) {
      const some = others.slice(at, at + VALUES_MAX)
      contrary = some.find((text) => contradictsChoice(choice, text))
      if (slices?.spend(FIELD_WORK * some.length)) await slices.pause()
    }
    if (contrary === undefined || values.includes(contrary)) return { ...choice, values }
    values.push(contrary)
  }
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

/** An integer, possibly with points between thousands. */
const THOUSANDS = /^-?(?:0|[1-9][0-9]{0,2}(?:\.[0-9]{3})*)$/

/**
 * Advice on columns whose points may separate thousands. It is given if another column has decimal commas. It is also
 * given if the delimiter suggests decimal commas and no column has points before decimals.
 */
async function adviceOfPoints(
  columns: readonly string[],
  values: readonly SeenValues[],
  conversions: ReadonlyMap<number, Conversion>,
  delimiter: string,
  { detects, dialect, slices, kindsOf }: PlanOptions,
): Promise<readonly Advice[]> {
  const marks = new Set([...conversions.values()].map(({ decimal }) => decimal))
  const mayBe = marks.has(',') || delimiter !== ','
  if (!detects || !mayBe || dialect.thousands !== undefined) return []
  const found: Advice[] = []
  let hasPoints = marks.has('.')
  for (const [i, column] of columns.entries()) {
    const seen = values[i] ?? NO_VALUES
    const isSaid = (dialect.columns?.[column]?.decimal ?? dialect.decimal) !== undefined
    const example = [...seen.first].find((text) => text.includes('.'))
    if (example === undefined || conversions.has(i) || isSaid) continue
    if (await areAll(seen, (text) => THOUSANDS.test(text), slices)) {
      const { kinds, areFixed } = (await kindsOf()) ?? {}
      const kind = kinds?.get(column) ?? (areFixed ? undefined : 'number')
      if (kind === 'number') found.push({ code: 'pointsUnsure', column, example })
    } else hasPoints ||= await areAll(seen, (text) => isNumberToken(text.trim()), slices)
  }
  if (hasPoints) return marks.has(',') ? found : []
  const remedy = { option: 'thousands', value: '.' } as const
  return found.map((advice) => ({ ...advice, remedy }))
}

/** A line that may contain several cells. */
const SEVERAL = /[,;|]|\S\s/

/** Advice that the delimiter may be wrong: lines have one column, but perhaps several cells. */
function adviceOfOneColumn(
  { first }: SeenRecords,
  { fieldCount }: Header,
  conversions: ReadonlyMap<number, Conversion>,
  { dialect, format, detects }: PlanOptions,
): readonly Advice[] {
  const isKnown = dialect.delimiter !== undefined || format === 'tsv' || conversions.size > 0
  if (!detects || fieldCount !== 1 || isKnown) return []
  const texts = first.map(({ fields }) => fields[0]?.text ?? '')
  const example = texts.find((text) => SEVERAL.test(text) && !looksLikeValue(text))
  return example === undefined ? [] : [{ code: 'oneColumn', example }]
}
