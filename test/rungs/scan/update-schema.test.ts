// Goal: whatever is put into a table with `onSchemaError`, in any form and order, its schema, rows and versions are
// those of the contract, wherever the rows are stored.
// Method: random batches go into a table and into an oracle of plain lists. After each, schema and rows must be equal
// to the token.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  openMemory,
  type RowsInput,
  type Store,
  StoreError,
  type Table,
} from '../../../src/index.js'
import { runOptions } from '../../support/fast-check-options.js'
import {
  type Batch,
  type BatchRow,
  type Form,
  TableOracle,
  type WideColumn,
  type WideType,
} from '../model/widening-oracle.js'

/** Values by what they have in common, as JSON token and CSV field. */
type Sample = Readonly<{ json: string; field: string }>

const both = (token: string): Sample => ({ json: token, field: token })
const text = (value: string): Sample => ({ json: JSON.stringify(value), field: value })

const NUMBERS = ['0', '12', '34.50', '-0', '-7e2', '1234567890123456'].map(both)
const BOOLEANS = [both('true'), { json: 'false', field: 'FALSE' }]
const DATES = ['2024-02-29', '1999-12-31'].map(text)
const DATE_TIMES = ['2024-01-02T03:04', '2024-02-29', '2024-01-02T03:04:05Z'].map(text)
const TEXTS = ['x', 'a "b", c', '007', ' 12 ', 'two\nlines', '2024-02-29'].map(text)
const DURATIONS = [text('PT1H'), text('1:30:00'), both('90'), both('1.50')]
const NUMBER_LISTS = ['[1,2]', '[]', '[ 3 , -0.0 ]', '[34.50]'].map(both)
const TEXT_LISTS = ['["a"]', '["a, b","\\"c"]', '[]'].map(both)
const DATE_LISTS = ['["2024-02-29"]', '[]'].map(both)
const DATE_TIME_LISTS = ['["2024-02-29","2024-01-02T03:04"]', '["2024-02-29"]'].map(both)
const MIXED_LISTS = ['[1,"a",true]', '[true]', '["PT1H",5]', '[5]'].map(both)
const EMPTY: readonly Sample[] = [
  { json: 'null', field: '' },
  { json: '""', field: '' },
]
const MIX = [both('1'), both('true'), text('x'), text('2024-02-29'), both('[1]'), both('["a"]')]
const UNFIT = ['{}', '{"a":1}', '1e400', '[null]', '[[1]]', '"\\ud800"'].map((json) => {
  return { json, field: '{}' }
})

const FLAVOURS: readonly (readonly Sample[])[] = [
  NUMBERS,
  NUMBERS,
  BOOLEANS,
  DATES,
  DATE_TIMES,
  TEXTS,
  DURATIONS,
  NUMBER_LISTS,
  NUMBER_LISTS,
  TEXT_LISTS,
  DATE_LISTS,
  DATE_TIME_LISTS,
  MIXED_LISTS,
  MIX,
  EMPTY,
]

const anyFlavour = fc.constantFrom(...FLAVOURS)

/** Values of a column in one batch. */
function anySample(flavour: readonly Sample[]): fc.Arbitrary<Sample> {
  return fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...flavour) },
    { weight: 6, arbitrary: fc.constantFrom(...EMPTY) },
    { weight: 1, arbitrary: fc.constantFrom(...MIX) },
    { weight: 1, arbitrary: fc.constantFrom(...UNFIT) },
  )
}

type SampleRow = readonly (readonly [column: string, sample: Sample])[]
type Part = Readonly<{ kind: 'json' | 'objects' | 'csv'; rows: readonly SampleRow[] }>

const COLUMNS = ['a', 'b', 'é "q"', 'new'] as const

const anyRows: fc.Arbitrary<readonly SampleRow[]> = fc
  .tuple(...COLUMNS.map(() => anyFlavour))
  .chain((flavours) => {
    const cells = COLUMNS.map((id, i) =>
      fc.option(
        anySample(flavours[i] ?? MIX).map((sample) => [id, sample] as const),
        { freq: id === 'new' ? 1 : 3 },
      ),
    )
    const row = fc.tuple(...cells).map((all) => all.filter((cell) => cell !== null))
    return fc.array(row, { maxLength: 5 })
  })

const anyPart: fc.Arbitrary<Part> = fc.record({
  kind: fc.constantFrom('json', 'json', 'objects', 'csv', 'csv'),
  rows: anyRows,
})

type Step =
  | Readonly<{ what: 'add' | 'overwrite'; form: Form; part: Part }>
  | Readonly<{ what: 'addStash'; form: Form; parts: readonly Part[] }>
  | Readonly<{ what: 'update'; form: Form; at: number; changes: SampleRow }>
  | Readonly<{ what: 'remove'; at: number }>
  | Readonly<{ what: 'compaction' }>

const anyForm: fc.Arbitrary<Form> = fc.constantFrom(
  'updateSchema',
  'updateSchema',
  'updateSchema',
  'dropColumns',
  'abort',
)

function anyStep(): fc.Arbitrary<Step> {
  const put = { form: anyForm, part: anyPart }
  const at = fc.nat({ max: 20 })
  const changes = anyRows.map(([first = []]) => first)
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ what: fc.constant('add'), ...put }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('overwrite'), ...put }) },
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant('addStash'),
        form: anyForm,
        parts: fc.array(anyPart, { minLength: 1, maxLength: 3 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ what: fc.constant('update'), form: anyForm, at, changes }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('remove'), at }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('compaction') }) },
  ) as fc.Arbitrary<Step>
}

const TYPES: readonly WideType[] = [
  ...(['string', 'number', 'boolean', 'date', 'dateTime', 'duration'] as const).map((kind) => {
    return { kind }
  }),
  ...(['number', 'number', 'string', 'date', 'boolean', 'duration'] as const).map((kind) => {
    return { kind: 'array' as const, items: { kind } }
  }),
]

const anyColumns: fc.Arbitrary<readonly WideColumn[]> = fc
  .tuple(...['a', 'b', 'é "q"'].map(() => fc.constantFrom(...TYPES)))
  .map((types) => types.map((type, i) => ({ id: COLUMNS[i] ?? '', type })))

const anyOptions = fc.record({
  inlineRowsMax: fc.constantFrom(0, 3, 1_000),
  segmentRowsMax: fc.constantFrom(3, 1, 65_536),
})

function headerOf(rows: readonly SampleRow[]): readonly string[] {
  const ids = new Set(rows.flatMap((row) => row.map(([id]) => id)))
  return ids.size === 0 ? ['a'] : [...ids]
}

function isUnwritable(json: string): boolean {
  return json === '1e400'
}

/** The input that the store is given. */
function toInput({ kind, rows }: Part): RowsInput {
  if (kind === 'objects') return rows.map((row) => Object.fromEntries(row.map(toMember)))
  if (kind === 'json') return { json: `[${rows.map(toJson).join(',')}]` }
  const header = headerOf(rows)
  const lines = rows.map((row) => {
    const fields = new Map(row)
    return header.map((id) => quoted(fields.get(id)?.field ?? '')).join(',')
  })
  return { csv: [header.map(quoted).join(','), ...lines].join('\r\n') }
}

/** A number without a JSON token is no value. */
function toMember([id, { json }]: SampleRow[number]): [string, unknown] {
  return [id, isUnwritable(json) ? {} : JSON.parse(json)]
}

function toJson(row: SampleRow): string {
  return `{${row.map(([id, { json }]) => `${JSON.stringify(id)}:${json}`).join(',')}}`
}

function quoted(field: string): string {
  return `"${field.replaceAll('"', '""')}"`
}

/** The same rows for the oracle. */
function toBatch({ kind, rows }: Part): Batch {
  const columns = headerOf(rows)
  if (kind !== 'csv') {
    const tokens = rows.map((row) => row.map((cell) => [cell[0], toToken(kind, cell)] as const))
    return { columns: rows.flat().length === 0 ? [] : columns, rows: tokens }
  }
  const fields = rows.map((row) => {
    const given = new Map(row)
    return columns.map((id) => [id, { field: given.get(id)?.field ?? '' }] as const)
  })
  return { columns, rows: fields }
}

function toToken(kind: Part['kind'], cell: SampleRow[number]): { token: string } {
  return { token: kind === 'objects' ? JSON.stringify(toMember(cell)[1]) : cell[1].json }
}

function toChanges(changes: SampleRow): BatchRow {
  return changes.map((cell) => [cell[0], toToken('json', cell)] as const)
}

/** A table and its oracle. */
class Pair {
  readonly #store: Store
  readonly #table: Table
  readonly #oracle: TableOracle
  #rowIds: string[] = []
  #stashes = 0

  constructor(store: Store, table: Table, columns: readonly WideColumn[]) {
    this.#store = store
    this.#table = table
    this.#oracle = new TableOracle(columns)
  }

  async take(step: Step): Promise<void> {
    switch (step.what) {
      case 'add':
      case 'overwrite':
        return this.#put(step.what, toInput(step.part), [toBatch(step.part)], step.form)
      case 'addStash': {
        const stash = this.#store.team('t').stash(`s${this.#stashes++}`)
        for (const [serial, part] of step.parts.entries()) {
          await stash.put(String(serial), toInput(part))
        }
        return this.#put('add', stash, step.parts.map(toBatch), step.form)
      }
      case 'update':
        return this.#update(step)
      case 'remove': {
        if (this.#rowIds.length === 0) return
        const index = step.at % this.#rowIds.length
        const [rowId = ''] = this.#rowIds.splice(index, 1)
        this.#oracle.remove(index)
        await this.#table.deleteRow(rowId)
        return
      }
      case 'compaction':
        await this.#store.maintain()
    }
  }

  async #put(
    what: 'add' | 'overwrite',
    rows: Parameters<Table['addRows']>[0],
    batches: readonly Batch[],
    onSchemaError: Form,
  ): Promise<void> {
    const changing =
      what === 'add'
        ? this.#table.addRows(rows, { onSchemaError })
        : this.#table.overwrite({ rows, onSchemaError })
    if (!this.#oracle[what](batches, onSchemaError)) return expectRefused(changing)
    const { rowIds, version } = await changing
    expect(version).toBe(this.#oracle.version)
    this.#rowIds = [...(what === 'add' ? this.#rowIds : []), ...rowIds]
  }

  async #update({ at, changes, form }: Step & { what: 'update' }): Promise<void> {
    if (this.#rowIds.length === 0) return
    const index = at % this.#rowIds.length
    const rowId = this.#rowIds[index] ?? ''
    const updating = this.#table.updateRowJson(rowId, toJson(changes), { onSchemaError: form })
    if (!this.#oracle.update(index, toChanges(changes), form)) return expectRefused(updating)
    expect(await updating).toEqual({ version: this.#oracle.version })
  }

  /** @param spot - Index of the row that is also read by its ID. */
  async check(spot: number): Promise<void> {
    const { columns, rows, version } = this.#oracle
    expect((await this.#table.schema()).columns).toEqual(columns)
    const page = await this.#table.pageBytes()
    expect(page).toMatchObject({ version, rowCount: rows.length })
    let rest = new TextDecoder().decode(page.json).slice(1)
    for (const [i, row] of rows.entries()) {
      const texts = this.#oracle.textsOf(row).map((cells) => {
        return `{"$rowID":"${this.#rowIds[i]}"${cells && ','}${cells}}`
      })
      const found = texts.find((one) => rest.startsWith(one))
      if (found === undefined) expect(rest).toBe(texts.join(' or '))
      rest = rest.slice((found ?? '').length + 1)
      if (i === spot % rows.length) {
        const one = await this.#table.getJson(this.#rowIds[i] ?? '')
        expect(one).toEqual({ json: found, version: this.#oracle.versionOf(row) })
      }
    }
    expect(rest).toBe(rows.length === 0 ? ']' : '')
  }
}

async function expectRefused(doing: Promise<unknown>): Promise<void> {
  const failure = await doing.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(failure).toBeInstanceOf(StoreError)
  const codes = ['COLUMN_ID_NOT_FOUND', 'COLUMN_HAS_INVALID_VALUE']
  expect(codes).toContain((failure as StoreError).code)
}

test('schema and rows are those of the oracle after every batch', {
  timeout: 300_000,
}, async () => {
  const steps = fc.array(anyStep(), { minLength: 1, maxLength: 8, size: 'max' })
  const property = fc.asyncProperty(
    anyColumns,
    anyOptions,
    steps,
    async (columns, options, all) => {
      const fixed = {
        maintenance: {
          garbageCollectionIntervalMs: 0,
          compactionIntervalMs: 0,
          compactionRecordsMin: 1,
        },
      }
      const store = await openMemory({ ...fixed, ...options })
      try {
        const team = store.team('t')
        const { tableId } = await team.createTable({ name: 't', schema: { columns }, rows: [] })
        const pair = new Pair(store, team.table(tableId), columns)
        for (const [i, step] of all.entries()) {
          await pair.take(step)
          await pair.check(i)
        }
      } finally {
        await store.close()
      }
    },
  )
  await fc.assert(property, runOptions(3_000))
})
