// Generated rows, converted for the engine and for the oracle.
import fc from 'fast-check'
import type { RowObject, RowsInput } from '../../../src/index.js'
import type { Cell } from './cell-rules.js'

export const FORMS = ['objects', 'async', 'json', 'jsonBytes', 'csv', 'tsv'] as const
export type Form = (typeof FORMS)[number]

/** One value in each form. The forms may differ in meaning: the oracle judges the form in use. */
export type Sample = Readonly<{
  json: string
  field: string
  /** The value in an object. Default: the value of the JSON token. */
  value?: unknown
}>

export type SampleRow = readonly (readonly [column: string, sample: Sample])[]

export type RowsSpec = Readonly<{
  form: Form
  rows: readonly SampleRow[]
  /** How often the rows are sent, one run after another. */
  times: number
  /** The row IDs of the first rows, in `$rowID`; null: none. */
  claims: readonly (string | null)[]
}>

/** A row for the oracle: its cells in order, including empty ones. */
export type InputRow = readonly (readonly [column: string, cell: Cell])[]
export type InputChunk = Readonly<{
  /** All columns in order of first appearance. */
  columns: readonly string[]
  rows: readonly InputRow[]
  /** The `$rowID` of each row that has one. */
  claims: readonly (string | null)[]
}>

const text = (value: string): Sample => ({ json: JSON.stringify(value), field: value })
const both = (token: string): Sample => ({ json: token, field: token })

const TEXTS = [
  text('x'),
  text('naïve 😀 "quoted"'),
  text('two\nlines, one comma'),
  text('\t tab and spaces '),
  text('a'.repeat(150)),
  text('三つのバイトの文字'.repeat(10)),
  text('文'.repeat(70)),
  { json: '""', field: '' },
  { json: '"\\u0041\\/"', field: "it's" },
]
const NUMBERS = [
  both('0'),
  both('12'),
  both('34.500000000000000000'), // A decimal is a number, however many digits it has.
  both('-7e2'),
  { json: '-0', field: '-0.0' },
  { json: '9007199254740993', field: '12345678901234567890', value: 9007199254740993n },
  { json: '1.50', field: ' 12 ' },
]
const BOOLEANS = [both('true'), both('false'), { json: 'true', field: 'TRUE' }]
const DATES = [
  text('2024-02-29'),
  text('1999-12-31'),
  { json: '"2024-01-02"', field: '2024-01-02' },
]
const ARRAYS = [both('[]'), both('[1,2]'), both('[ 3 , -0.0 ]'), both('[4.50]')]
const OTHERS = [
  text('007'),
  text('2023-02-29'),
  text('2024-01-02T03:04:05Z'),
  text('0x10'),
  both('["a","b"]'),
  both('[1,"a"]'),
  both('["2024-02-29"]'),
  both('[true]'),
  both('[[1]]'),
  both('[null]'),
  both('{"a":1}'),
  { json: '1e400', field: '1e400', value: { nested: true } },
]
const EMPTY: Sample = { json: 'null', field: '' }

/** The usual values of each column: most rows fit, some do not. */
const COLUMNS: readonly (readonly [column: string, fitting: readonly Sample[]])[] = [
  ['a', TEXTS],
  ['n', NUMBERS],
  ['b', BOOLEANS],
  ['d', DATES],
  ['l', ARRAYS],
  ['10', TEXTS],
  ['__proto__', TEXTS],
]

const ANY = [...TEXTS, ...NUMBERS, ...BOOLEANS, ...DATES, ...ARRAYS, ...OTHERS]

/** Mostly distinct values, for keys of tables. */
const anyName = fc.nat({ max: 80 }).map((n) => text(`k${n}`))
const anyNumber = fc.nat({ max: 80 }).map((n) => both(String(n)))

function sampleOf(fitting: readonly Sample[]): fc.Arbitrary<Sample> {
  return fc.oneof(
    { weight: 150, arbitrary: fc.constantFrom(...fitting) },
    ...(fitting === TEXTS ? [{ weight: 60, arbitrary: anyName }] : []),
    ...(fitting === NUMBERS ? [{ weight: 60, arbitrary: anyNumber }] : []),
    { weight: 12, arbitrary: fc.constant(EMPTY) },
    { weight: 3, arbitrary: fc.constantFrom(...ANY) },
  )
}

const cell: fc.Arbitrary<readonly [string, Sample]> = fc.oneof(
  ...COLUMNS.map(([id, fitting]) => ({
    weight: 10,
    arbitrary: fc.tuple(fc.constant(id), sampleOf(fitting)),
  })),
  { weight: 1, arbitrary: fc.tuple(fc.constant('unknown'), sampleOf(ANY)) },
)

export const anySampleRow: fc.Arbitrary<SampleRow> = fc.uniqueArray(cell, {
  selector: ([id]) => id,
  maxLength: 4,
  size: 'max',
})

/** A row with the cells of most keys, which few other rows share. */
const anyNamedRow: fc.Arbitrary<SampleRow> = fc
  .tuple(anyName, anyNumber, anySampleRow)
  .map(([name, number, row]) => [
    ['a', name] as const,
    ['n', number] as const,
    ...row.filter(([id]) => id !== 'a' && id !== 'n'),
  ])

/** A row that soon fits no schema: with `updateSchema` it widens its columns. */
export const anyWideningRow: fc.Arbitrary<SampleRow> = fc.uniqueArray(
  fc.tuple(fc.constantFrom('n', 'b', 'd', 'l'), fc.constantFrom(...TEXTS, ...OTHERS, ...ARRAYS)),
  { selector: ([id]) => id, minLength: 1, maxLength: 2 },
)

/** @param hasLarge - Whether some inputs have hundreds of rows. */
export function anyRows(hasLarge: boolean): fc.Arbitrary<RowsSpec> {
  const form = fc.constantFrom(...FORMS)
  const few = fc.record({
    form,
    rows: fc.oneof(
      fc.array(anySampleRow, { maxLength: 9, size: 'max' }),
      fc.array(anyNamedRow, { maxLength: 9, size: 'max' }),
    ),
    times: fc.constant(1),
    claims: fc.constant([]),
  })
  if (!hasLarge) return few
  const many = fc.record({
    form,
    rows: fc.array(anySampleRow, { minLength: 1, maxLength: 2 }),
    times: fc.constantFrom(40, 140),
    claims: fc.constant([]),
  })
  return fc.oneof({ weight: 15, arbitrary: few }, { weight: 1, arbitrary: many })
}

function allRows({ rows, times }: RowsSpec): SampleRow[] {
  return Array.from({ length: times }, () => rows).flat()
}

/** The input for the engine. */
export function toInput(spec: RowsSpec): RowsInput {
  const rows = allRows(spec).map((row, i): SampleRow => {
    const claim = spec.claims[i] ?? null
    if (claim === null) return row
    const id = ['$rowID', { json: JSON.stringify(claim), field: claim }] as const
    return [...row.slice(0, 1), id, ...row.slice(1)] // anywhere in the row
  })
  switch (spec.form) {
    case 'objects':
      return rows.map(toObject)
    case 'async':
      return toAsync(rows)
    case 'json':
      return { json: toJson(rows) }
    case 'jsonBytes':
      return { json: new TextEncoder().encode(toJson(rows)) }
    case 'csv':
      return { csv: toSeparated(rows, ',') }
    case 'tsv':
      return { tsv: new TextEncoder().encode(toSeparated(rows, '\t')) }
  }
}

async function* toAsync(rows: readonly SampleRow[]): AsyncGenerator<RowObject> {
  for (const row of rows) yield toObject(row)
}

/** Cells as members of an object; `__proto__` is an ordinary one. */
export function toObject(row: SampleRow): RowObject {
  return Object.fromEntries(row.map(([id, sample]) => [id, givenValue(sample)]))
}

function givenValue(sample: Sample): unknown {
  return 'value' in sample ? sample.value : JSON.parse(sample.json)
}

export function toJsonObject(row: SampleRow): string {
  return `{ ${row.map(([id, { json }]) => `${JSON.stringify(id)} : ${json}`).join(' , ')} }`
}

function toJson(rows: readonly SampleRow[]): string {
  return `[\n${rows.map(toJsonObject).join(',\n')} ]`
}

function columnsOf(rows: readonly (readonly (readonly [string, unknown])[])[]): string[] {
  return [...new Set(rows.flatMap((row) => row.map(([id]) => id)))]
}

/** A header needs a column. */
function headerOf(rows: readonly SampleRow[]): string[] {
  const columns = columnsOf(rows)
  return columns.length === 0 ? ['a'] : columns
}

function toSeparated(rows: readonly SampleRow[], delimiter: string): string {
  const header = headerOf(rows)
  const quote = (field: string): string =>
    field === '' || /["\n\r,\t]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
  const lines = rows.map((row) => {
    const fields = new Map(row)
    return header.map((id) => quote(fields.get(id)?.field ?? '')).join(delimiter)
  })
  return [header.map(quote).join(delimiter), ...lines].join('\r\n')
}

/** The same rows for the oracle. */
export function toChunk(spec: RowsSpec): InputChunk {
  const rows = allRows(spec)
  const { claims } = spec
  if (spec.form === 'csv' || spec.form === 'tsv') {
    const hasClaims = claims.some((claim) => claim !== null)
    const columns = hasClaims ? columnsOf(rows) : headerOf(rows)
    return {
      claims,
      columns,
      rows: rows.map((row) => {
        const fields = new Map(row)
        return columns.map((id) => [id, { field: fields.get(id)?.field ?? '' }] as const)
      }),
    }
  }
  const isText = spec.form === 'json' || spec.form === 'jsonBytes'
  const cells = rows.map((row) => (isText ? tokensOfText(row) : tokensOfObject(row)))
  return { claims, columns: columnsOf(cells), rows: cells }
}

export function tokensOfText(row: SampleRow): InputRow {
  return row.map(([id, { json }]) => [id, { token: json }] as const)
}

/** In the order of the object's keys: keys that look like an index come first. */
export function tokensOfObject(row: SampleRow): InputRow {
  return Object.entries(toObject(row)).map(([id, value]) => {
    const token = typeof value === 'bigint' ? String(value) : JSON.stringify(value)
    return [id, { token }] as const
  })
}
