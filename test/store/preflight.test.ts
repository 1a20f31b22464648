import { describe, expect, onTestFinished, test } from 'vitest'
import {
  isStoreError,
  memoryObjects,
  openLevelKv,
  openStore,
  type PreflightProblem,
  type RowObject,
  type RowsInput,
  type SchemaInput,
  type Store,
  type StoreError,
  type TextRows,
} from '../../src/index.js'
import type { ObjectStore } from '../../src/ports.js'
import { plainDatabase } from '../support/plain-database.js'
import { runs } from '../support/runs.js'
import { type Seeded, seeded } from '../support/seeded.js'

const SCHEMA: SchemaInput = {
  columns: [
    { id: 'a', type: 'number' },
    { id: 'b', type: 'date' },
    { id: 'c', type: 'string' },
    { id: 'd', type: { kind: 'array', items: { kind: 'number' } } },
  ],
}

/** One chunk: rows of JSON values, to be sent in one of several forms. */
type Chunk = { columns: string[]; rows: RowObject[]; form: 'objects' | 'json' | 'csv' }

const VALUES: readonly unknown[] = [
  1,
  2.5,
  'x',
  '',
  '2024-02-29',
  '2023-02-29',
  true,
  [1, 2],
  ['y'],
]
const ODD_VALUES: readonly unknown[] = [{ o: 1 }, [null], '\ud800', { deep: { er: [] } }]

function anyChunk(random: Seeded, odd: boolean): Chunk {
  const form = random.pick(['objects', 'json', 'csv'] as const)
  const columns = ['a', 'b', 'c', 'd', 'x', 'y'].filter((id) => id < 'x' || random.once(4))
  const rows = Array.from({ length: random.below(12) }, () => {
    const cells: Record<string, unknown> = {}
    for (const id of columns.toSorted(() => random.below(3) - 1)) {
      if (random.once(3)) continue
      if (random.once(6)) cells[id] = null
      else cells[id] = random.pick(random.once(3) ? VALUES : (FITTING[id] ?? VALUES))
      if (odd && form !== 'csv' && random.once(9)) cells[id] = random.pick(ODD_VALUES)
    }
    return cells
  })
  return { columns, rows, form }
}

const FITTING: Readonly<Record<string, readonly unknown[]>> = {
  a: [1, 2.5, -7e3],
  b: ['2024-02-29'],
  c: ['x', 'yz'],
  d: [[1, 2], []],
}

function inputOf({ columns, rows, form }: Chunk): RowsInput {
  if (form === 'objects') return rows
  if (form === 'json') return { json: JSON.stringify(rows) }
  const lines = rows.map((row) => columns.map((id) => fieldOf(row[id])).join(','))
  return { csv: [columns.join(','), ...lines, ''].join('\n') }
}

function fieldOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `"${text.replaceAll('"', '""')}"`
}

/** Removes what an error names, like a user who fixes one error after another. */
function repair(chunk: Chunk, { code, row, column = '' }: StoreError): void {
  if (code === 'COLUMN_ID_NOT_FOUND') {
    chunk.columns = chunk.columns.filter((id) => id !== column)
    chunk.rows = chunk.rows.map(({ [column]: _, ...rest }) => rest)
  } else {
    chunk.rows = chunk.rows.map((cells, i) => (i === row ? { ...cells, [column]: null } : cells))
  }
}

function problemOf({ chunk, row, line, column, value, rule }: StoreError): PreflightProblem {
  return {
    ...(chunk !== undefined && { serial: chunk }),
    row: row ?? -1,
    ...(line !== undefined && { line }),
    column: column ?? '',
    ...(value !== undefined && { value }),
    rule: rule ?? 'the ID of a column of the schema',
  }
}

async function failureOf(action: () => Promise<unknown>): Promise<StoreError | null> {
  try {
    await action()
    return null
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    return failure
  }
}

async function outcomeOf(action: () => Promise<unknown>): Promise<unknown> {
  return action().catch((failure: Error) => failure.message)
}

async function* streamOf<Item>(items: readonly Item[]): AsyncGenerator<Item, void> {
  yield* items
}

async function openCounted(
  options: object = {},
): Promise<{ store: Store; objects: ObjectStore; gets: { count: number; bytes: number } }> {
  const inner = memoryObjects()
  const gets = { count: 0, bytes: 0 }
  const objects: ObjectStore = {
    put: (id, content) => inner.put(id, content),
    async get(id, range) {
      const bytes = await inner.get(id, range)
      gets.count++
      gets.bytes += bytes?.length ?? 0
      return bytes
    },
    stream: (id, range) => inner.stream(id, range),
    delete: (ids) => inner.delete(ids),
    list: (prefix, after) => inner.list(prefix, after),
    close: () => inner.close(),
  }
  const kv = await openLevelKv(plainDatabase())
  const store = await openStore({
    kv,
    objects,
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    ...options,
  })
  onTestFinished(() => store.close())
  return { store, objects, gets }
}

const SEED_FIRST = Number(process.env['ROWSTASH_SEED'] ?? 1)

describe('a preflight finds what an operation would fail with, one error after the other', () => {
  const seeds = Array.from({ length: runs(60) }, (_, i) => SEED_FIRST + i)

  test.each(seeds)('of a stash, against a schema (seed %i)', async (seed) => {
    const random = seeded(seed)
    const { store } = await openCounted({ segmentRowsMax: 1 + random.below(5) })
    const team = store.team('t')
    const chunks = new Map([...'012'].map((serial) => [serial, anyChunk(random, true)]))
    const stash = team.stash('s')
    for (const [serial, chunk] of chunks) await stash.put(serial, inputOf(chunk))
    const request = { name: 't', schema: SCHEMA, rows: stash }

    const report = await team.preflight(request)
    const dropping = await team.preflight({ ...request, onSchemaError: 'dropColumns' })
    const inferred = await outcomeOf(() => team.preflight({ name: 't', rows: stash }))
    const given = { chunks: [...chunks.values()].map(inputOf) }
    const unstored = () => ({ chunks: streamOf(given.chunks as TextRows[]) })

    expect(await team.preflight({ ...request, rows: unstored() })).toEqual(report)
    expect(await outcomeOf(() => team.preflight({ name: 't', rows: unstored() }))).toEqual(inferred)
    const expected: PreflightProblem[] = []
    for (;;) {
      const failure = await failureOf(() => team.createTable(request))
      if (failure === null) break
      expected.push(problemOf(failure))
      const serial = failure.chunk ?? ''
      const chunk = chunks.get(serial)
      if (chunk === undefined) throw failure
      repair(chunk, failure)
      await stash.put(serial, inputOf(chunk))
    }
    expect(report.problems).toEqual(expected)
    expect(report.problemCount).toBe(expected.length)
    expect(report.rows).toBe([...chunks.values()].reduce((sum, { rows }) => sum + rows.length, 0))
    expect(dropping).toEqual(report)
  })

  test.each(seeds)(
    'of a body, in each way to take data that does not fit (seed %i)',
    async (seed) => {
      const random = seeded(seed)
      const { store } = await openCounted({ segmentRowsMax: 1 + random.below(5) })
      const team = store.team('t')
      const table = team.table(
        (await team.createTable({ name: 't', schema: SCHEMA, rows: [] })).tableId,
      )
      const chunk = anyChunk(random, true)
      const onSchemaError = random.pick(['abort', 'updateSchema'] as const)
      const schema = random.once(2) ? SCHEMA : undefined
      const change = random.pick([
        { preflight: 'table', run: () => table.addRows(inputOf(chunk), { onSchemaError }) },
        { preflight: 'table', run: () => table.overwrite({ rows: inputOf(chunk), onSchemaError }) },
        {
          preflight: 'team',
          run: () =>
            team.createTable({
              name: 't',
              rows: inputOf(chunk),
              onSchemaError,
              ...(schema && { schema }),
            }),
        },
      ])

      const rows = inputOf(chunk)
      const report = await (change.preflight === 'table'
        ? table.preflight({ rows, onSchemaError })
        : team.preflight({ name: 't', rows, onSchemaError, ...(schema && { schema }) }))

      const expected: PreflightProblem[] = []
      for (;;) {
        const failure = await failureOf(change.run)
        if (failure === null) break
        expected.push(problemOf(failure))
        repair(chunk, failure)
      }
      expect(report.problems).toEqual(expected)
      expect(report.problemCount).toBe(expected.length)
    },
  )
})

describe('a preflight', () => {
  test('reads no sound chunk of a stash, and of others only the segments with problems', async () => {
    const { store, gets } = await openCounted({ segmentRowsMax: 10 })
    const team = store.team('t')
    const stash = team.stash('s')
    const rowsOf = (chunk: number) =>
      Array.from({ length: 30 }, (_, i) => ({ a: chunk === 7 && i === 15 ? 'x' : i }))
    for (let chunk = 0; chunk < 20; chunk++) await stash.put(chunk, rowsOf(chunk))
    const rows = { name: 't', schema: SCHEMA, rows: stash }

    const report = await team.preflight(rows)

    expect(report).toMatchObject({ rows: 600, problemCount: 1 })
    expect(report.problems).toMatchObject([{ serial: '7', row: 15, column: 'a' }])
    expect(gets.count).toBe(4) // three footers, and the frame of one segment
    await stash.put(8, [{ z: 1 }])
    await stash.put(7, rowsOf(0))
    gets.count = 0
    expect(await team.preflight(rows)).toMatchObject({ problemCount: 1 })
    expect(gets.count).toBe(0) // The summary shows an unknown column.
  })

  test.each([
    ['a body', (rows: readonly RowObject[]) => rows],
    ['a text', (rows: readonly RowObject[]) => ({ json: JSON.stringify(rows) })],
    ['an async iterable', (rows: readonly RowObject[]) => streamOf(rows)],
    [
      'chunks',
      (rows: readonly RowObject[]) => ({
        chunks: streamOf(
          [rows.slice(0, 400), rows.slice(400)].map((part) => ({ json: JSON.stringify(part) })),
        ),
      }),
    ],
  ])('of %s writes nothing, neither objects nor records', async (_, inputOf) => {
    const { store, objects } = await openCounted({ segmentRowsMax: 100 })
    const team = store.team('t')
    const rows = Array.from({ length: 1_000 }, (_, i) => ({ a: i % 100 === 0 ? 'x' : i }))
    const { tableId } = await team.createTable({ name: 't', schema: SCHEMA, rows: [] })
    const other = store.team('never seen')
    const listed = await objects.list('')

    const reports = [
      await team.preflight({ name: 't', schema: SCHEMA, rows: inputOf(rows) }),
      await other.preflight({ name: 't', schema: SCHEMA, rows: inputOf(rows) }),
      await team.table(tableId).preflight({ rows: inputOf(rows) }),
    ]

    for (const report of reports) expect(report).toMatchObject({ rows: 1_000, problemCount: 10 })
    expect(reports.at(-1)).toMatchObject({ version: 1 })
    expect(await objects.list('')).toEqual(listed)
    expect(await team.table(tableId).version()).toBe(1)
    expect(await team.tables()).toHaveLength(1)
    await expect(objects.list('')).resolves.toEqual(listed)
  })

  test('cuts long values', async () => {
    const { store } = await openCounted()
    const team = store.team('t')
    const rows = [{ a: 'v'.repeat(10_000) }]
    await team.stash('s').put(0, rows)
    for (const input of [rows, team.stash('s')]) {
      const { problems } = await team.preflight({ name: 't', schema: SCHEMA, rows: input })
      expect(problems.map(({ value }) => value)).toEqual([`"${'v'.repeat(199)}…`])
    }
  })

  test('of rows with more problems than are listed counts all of them', async () => {
    const { store } = await openCounted({ segmentRowsMax: 300 })
    const team = store.team('t')
    const rows = Array.from({ length: 3_000 }, (_, i) =>
      i === 999 ? { a: 'x', y: 1 } : { a: 'x' },
    )
    for (const [serial, part] of [rows.slice(0, 1_500), rows.slice(1_500)].entries())
      await team.stash('s').put(serial, part)
    for (const input of [rows, team.stash('s')]) {
      const report = await team.preflight({ name: 't', schema: SCHEMA, rows: input })
      expect(report.problemCount).toBe(3_001)
      expect(report.problems).toHaveLength(1_000)
      expect(report.problems.at(-1)).toMatchObject({ row: 999, column: 'a' })
    }
  })
})
