// Bodies of rows for both sides: objects, JSON or CSV for the store, JSON for the twin.
import type { RowObject, RowsInput } from '../../../src/index.js'
import type { Seeded } from '../../support/seeded.js'
import { COLUMNS, type ColumnId, UNKNOWN_COLUMN } from './statements.js'
import type { TwinBody } from './twin.js'

/** Cells by column, as JSON. */
export type Cells = Readonly<Record<string, string>>

export type Body = Readonly<{
  form: 'objects' | 'json' | 'csv'
  rows: readonly Cells[]
  /** Which of all row IDs ever used each row claims; null: none. */
  claims: readonly (number | null)[]
  /** Whether the JSON ends too early. */
  isBroken: boolean
}>

const FITTING: Readonly<Record<ColumnId, readonly string[]>> = {
  t: ['"x"', '"naïve 😀 \\"quoted\\", two\\nlines"', '"007"', '"2024-01-02"', '"[1]"'],
  n: ['0', '12', '34.50', '-7e2', '0.1', '1e21', '-0.5'],
  b: ['true', 'false'],
  d: ['"2024-02-29"', '"1999-12-31"', '"0001-01-01"'],
  l: ['[]', '[1,2]', '[-0.25,4.50,1e3]'],
}

const MISFITS: Readonly<Record<'json' | 'csv', readonly (readonly [string, string])[]>> = {
  json: [
    ['t', '12'],
    ['t', 'true'],
    ['t', '["x"]'],
    ['n', '"12"'],
    ['n', 'false'],
    ['b', '1'],
    ['b', '"true"'],
    ['d', '"2023-02-29"'],
    ['d', '"2024-1-02"'],
    ['d', '20240102'],
    ['l', '[1,"a"]'],
    ['l', '[[1]]'],
    ['l', '5'],
    ['l', '{"a":1}'],
    [UNKNOWN_COLUMN, '1'],
  ],
  csv: [
    ['n', 'twelve'],
    ['n', '0x10'],
    ['b', 'maybe'],
    ['d', '"2023-02-29"'],
    ['d', '"yesterday"'],
    ['l', '[1,"a"]'],
    ['l', '5'],
    [UNKNOWN_COLUMN, '1'],
  ],
}

const ROWS_MORE = 9
const MANY_ROWS_MORE = 70

/** Mostly a few rows that fit; sometimes many, or one that does not fit, or invalid JSON. */
export function anyBody(random: Seeded): Body {
  const form = random.pick(['objects', 'json', 'csv'] as const)
  const count = random.once(20) ? random.below(MANY_ROWS_MORE) : random.below(ROWS_MORE)
  const rows = Array.from({ length: count }, () => anyCells(random))
  if (count > 0 && random.once(9)) {
    const at = random.below(count)
    rows[at] = { ...rows[at], ...anyMisfit(random, form === 'csv' ? 'csv' : 'json') }
  }
  const claims = rows.map(() => (random.once(3) ? random.below(40) : null))
  return { form, rows, claims, isBroken: form === 'json' && random.once(15) }
}

function anyCells(random: Seeded): Cells {
  const cells: Record<string, string> = {}
  for (const id of COLUMNS) {
    if (random.once(3)) continue
    cells[id] = random.once(8) ? 'null' : random.pick(FITTING[id])
  }
  return cells
}

function anyMisfit(random: Seeded, form: 'json' | 'csv'): Cells {
  const [id, json] = random.pick(MISFITS[form])
  return { [id]: json }
}

/** The cells of an update: sometimes none, sometimes values that do not fit. */
export function anyChanges(random: Seeded): Cells {
  const cells = anyCells(random)
  return random.once(8) ? { ...cells, ...anyMisfit(random, 'json') } : cells
}

export function jsonOf(cells: Cells): string {
  return `{${Object.entries(cells)
    .map(([id, json]) => `${JSON.stringify(id)}:${json}`)
    .join()}}`
}

/** The rows with the IDs that they claim. */
function withClaims({ rows, claims }: Body, knownIds: readonly string[]): Cells[] {
  return rows.map((cells, i) => {
    const claim = claims[i] ?? null
    const id = claim === null ? undefined : knownIds[claim % knownIds.length]
    return id === undefined ? cells : { ...cells, $rowID: JSON.stringify(id) }
  })
}

function jsonBody(body: Body, knownIds: readonly string[]): string {
  return `[${withClaims(body, knownIds).map(jsonOf).join()}${body.isBroken ? ',{' : ''}]`
}

export function toStore(body: Body, knownIds: readonly string[]): RowsInput {
  if (body.form === 'csv') return { csv: csvOf(withClaims(body, knownIds)) }
  const json = jsonBody(body, knownIds)
  return body.form === 'json' ? { json } : (JSON.parse(json) as RowObject[])
}

export function toTwin(body: Body, knownIds: readonly string[]): TwinBody {
  if (body.form !== 'csv') return { isCsv: false, json: jsonBody(body, knownIds) }
  const rows = withClaims(body, knownIds).map((cells) => {
    return Object.fromEntries(Object.entries(cells).map(([id, json]) => [id, fieldOf(json)]))
  })
  return { isCsv: true, json: JSON.stringify(rows) }
}

function csvOf(rows: readonly Cells[]): string {
  const columns = [...new Set(['$rowID', ...COLUMNS, ...rows.flatMap(Object.keys)])]
  const records = rows.map((cells) => columns.map((id) => quoted(fieldOf(cells[id] ?? 'null'))))
  return [columns, ...records].map((fields) => `${fields.join()}\n`).join('')
}

/** A text is a field as it is, everything else as JSON. */
function fieldOf(json: string): string {
  if (json === 'null') return ''
  return json.startsWith('"') ? String(JSON.parse(json)) : json
}

function quoted(field: string): string {
  return /[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field
}
