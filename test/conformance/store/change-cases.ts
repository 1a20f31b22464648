// Misfitting data, kept IDs, repeated operations, and compacted records.
import assert from 'node:assert/strict'
import type { CreateTableRequest, RowsInput, Stash } from '../../../src/index.js'
import {
  cellsOf,
  columnOf,
  fails,
  failsWithoutEffect,
  kindsOf,
  numbered,
  type StoreCase,
} from './fixture.js'

const HOUR_MS = 3_600_000

export const changeCases: readonly StoreCase[] = [
  {
    name: 'onSchemaError has three forms, and no other is taken',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{ n: 1 }], { n: 'number' })
      const onSchemaError = 'drop' as never
      for (const action of [
        () => fixture.team.createTable({ name: 'x', rows: [], onSchemaError }),
        () => table.addRows([], { onSchemaError }),
        () => table.overwrite({ rows: [], onSchemaError }),
        () => table.updateRow(rowIds.at(0) ?? '', {}, { onSchemaError }),
      ]) {
        await failsWithoutEffect(table, action, 'REQUEST_VALIDATION_ERROR')
      }
    },
  },
  {
    name: 'dropColumns leaves out the cells that do not fit, and takes the rest',
    options: { inlineRowsMax: 1, segmentRowsMax: 2 },
    async run(fixture) {
      const onSchemaError = 'dropColumns'
      const table = await fixture.createTable([], { n: 'number', t: 'string' })
      await table.addRows([{ n: 'x', t: 'a', u: 1 }], { onSchemaError })
      await table.addRows({ csv: 'u,n,t\n1,two,b\n2,2,c\n3,,' }, { onSchemaError })
      const { rowIds } = await table.addRows([{}], { onSchemaError })
      await table.updateRow(rowIds.at(0) ?? '', { n: 7, t: 7, u: 7 }, { onSchemaError })

      assert.deepEqual(await cellsOf(table), [
        '{"t":"a"}',
        '{"t":"b"}',
        '{"n":2,"t":"c"}',
        '{}',
        '{"n":7}',
      ])
      assert.deepEqual(await kindsOf(table), { n: 'number', t: 'string' })
    },
  },
  {
    name: 'a row changed between two widenings reads as one that was not, compacted or not',
    options: { inlineRowsMax: 0, maintenance: { compactionRecordsMin: 1 } },
    async run(fixture) {
      const onSchemaError = 'updateSchema'
      const table = await fixture.createTable([
        { n: 1, tags: [1, 2] },
        { n: 1, tags: [1, 2] },
        { n: 1, tags: [1, 2] },
      ])
      const { rows } = await table.page({})
      const id = (at: number) => String(rows[at]?.['$rowID'])
      const tags = async () => [
        await columnOf(table, 'tags'),
        (await table.get(id(1)))?.row['tags'],
      ]
      await table.addRows([{ tags: ['x'] }], { onSchemaError })
      await table.updateRow(id(0), { n: 2 })
      await table.updateRow(id(1), { n: 2, tags: ['y', 'z'] })
      assert.deepEqual((await tags())[0], [['1', '2'], ['y', 'z'], ['1', '2'], ['x']])

      await table.updateRow(id(1), { n: 3 })
      await table.addRows([{ tags: 'text' }], { onSchemaError })

      const expected = [['[1,2]', '["y","z"]', '[1,2]', '["x"]', 'text'], '["y","z"]']
      assert.deepEqual(await tags(), expected)
      await fixture.store.maintain()
      assert.deepEqual(await tags(), expected)
    },
  },
  {
    name: 'updateSchema adds the columns that are unknown, and widens those that do not hold the values',
    options: { inlineRowsMax: 1, segmentRowsMax: 2 },
    async run(fixture) {
      const onSchemaError = 'updateSchema'
      const kinds = { n: 'number', d: 'date', l: { kind: 'array', items: { kind: 'number' } } }
      const table = await fixture.createTable(
        [{ n: 1.5, d: '2024-01-01', l: [1] }, { n: 2 }],
        kinds,
      )
      const rows = [{ n: 'x', d: '2024-01-01T10:00', l: ['y'], b: true }]
      await table.addRows(rows, { onSchemaError })

      assert.deepEqual(Object.entries(await kindsOf(table)), [
        ['n', 'string'],
        ['d', 'dateTime'],
        ['l', 'array of string'],
        ['b', 'boolean'],
      ])
      assert.deepEqual(await cellsOf(table), [
        '{"n":"1.5","d":"2024-01-01","l":["1"]}',
        '{"n":"2"}',
        '{"n":"x","d":"2024-01-01T10:00","l":["y"],"b":true}',
      ])
    },
  },
  {
    name: 'a walk over overwritten rows shows them under the schema that they had',
    options: { inlineRowsMax: 0, segmentRowsMax: 2 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(3), { n: 'number' })
      const { continuation = '' } = await table.page({ limit: 1 })
      await table.overwrite({ rows: [{ n: 'x' }], onSchemaError: 'updateSchema' })

      assert.deepEqual(
        (await table.page({ continuation })).rows.map(({ n }) => n),
        [1, 2],
      )
      assert.deepEqual(await columnOf(table, 'n'), ['x'])
    },
  },
  {
    name: 'an overwrite keeps the IDs that its rows carry, of rows that are there, each once',
    options: { inlineRowsMax: 1, segmentRowsMax: 2 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(4))
      const [first = '', second = '', third = ''] = rowIds
      await table.deleteRow(third)
      const rows = [
        { $rowID: second, n: 20 },
        { n: 21 },
        { $rowID: second, n: 22 },
        { $rowID: third, n: 23 },
        { $rowID: first, n: 24 },
        { $rowID: 7, n: 25 },
      ]
      const made = await table.overwrite({ rows })

      assert.deepEqual([made.rowIds.at(0), made.rowIds.at(4)], [second, first])
      assert.equal(new Set([...rowIds, ...made.rowIds]).size, 4 + 4)
      assert.deepEqual(await table.get(second), {
        row: { $rowID: second, n: 20 },
        version: made.version,
      })
      assert.equal(await table.get(third), null)
      await table.updateRow(first, { n: 240 })
      assert.deepEqual(await columnOf(table, 'n'), [20, 21, 22, 23, 240, 25])

      const again = await table.overwrite({
        rows: [{ $rowID: first }, { $rowID: made.rowIds.at(1) }],
      })
      assert.deepEqual([...again.rowIds], [first, made.rowIds.at(1)])
    },
  },
  {
    name: 'a create or add with a key answers a repeat with its first result',
    options: { idempotencyTtlMs: 24 * HOUR_MS },
    async run(fixture) {
      const { team, clock } = fixture
      const request = { name: 'once', rows: numbered(2), idempotencyKey: 'create' }
      const made = await team.createTable(request)
      const repeated = await team.createTable({ ...request, rows: numbered(2) })
      assert.deepEqual([repeated.tableId, [...repeated.rowIds]], [made.tableId, [...made.rowIds]])
      assert.equal((await team.tables()).length, 1)

      const table = team.table(made.tableId)
      const add = () => table.addRows([{ n: 2 }], { idempotencyKey: 'add' })
      const results = await Promise.all([add(), add(), add()])
      for (const { version, rowIds } of results) {
        assert.deepEqual([version, [...rowIds]], [2, [...(results[0]?.rowIds ?? [])]])
      }
      clock.pass(24 * HOUR_MS)
      assert.equal((await add()).version, 3)
      assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2, 2])
    },
  },
  {
    name: 'the same key with another create is refused, and makes nothing',
    async run({ team }) {
      const columns = [{ id: 'n', type: 'number' }] as const
      const request = {
        name: 'once',
        schema: { columns },
        rows: { json: '[{"n":1}]' },
        onSchemaError: 'abort',
        idempotencyKey: 'create',
      } as const
      const { tableId } = await team.createTable(request)

      for (const other of [
        { name: 'other' },
        { schema: { columns: [{ id: 'n', type: 'duration' }] } },
        { schema: undefined },
        { onSchemaError: 'dropColumns' },
        { rows: { json: '[{"n":2}]' } },
        { rows: { csv: 'n\n1' } },
        { rows: team.stash('none') },
        { rows: [{ n: 1 }] },
      ] as const) {
        const changed: CreateTableRequest = { ...request, ...other }
        await fails(team.createTable(changed), 'IDEMPOTENCY_KEY_REUSED')
      }
      const { schema: _, ...rest } = request
      const columnsInFull = [{ id: 'n', type: { kind: 'number' } }] as const
      const same = { ...rest, schema: { columns: columnsInFull } }
      assert.equal((await team.createTable(same)).tableId, tableId)
      const bytes = { json: new TextEncoder().encode('[{"n":1}]') }
      assert.equal((await team.createTable({ ...request, rows: bytes })).tableId, tableId)
      assert.equal((await team.tables()).length, 1)
    },
  },
  {
    name: 'the same key with other rows is refused, and adds nothing',
    async run(fixture) {
      const { team } = fixture
      const long = (chars: number, end: string) => [{ t: 'é'.repeat(chars) }, { n: 1, t: end }]
      const table = await fixture.createTable([{ n: 0, t: 'x' }])
      const [left, right] = [team.stash('left'), team.stash('right')]
      for (const stash of [left, right]) await stash.put('0', [{ n: 1 }])
      const INPUTS: readonly (readonly [of: RowsInput | Stash, others: readonly RowsInput[]])[] = [
        [{ json: '[{"n":1}]' }, [{ json: '[{"n": 1}]' }, { csv: 'n\n1' }, []]],
        [{ tsv: 'n\n1' }, [{ csv: 'n\n1' }, { tsv: 'n\n2' }]],
        [left, [{ json: '[]' }]],
        [[{ n: 1 }], [[{ n: 2 }], [{ n: 1 }, { n: 2 }], [{ m: 1 }], [], [{ n: 'x' }]]],
        [numbered(1_001), [numbered(1_002), numbered(1_001).reverse()]],
        [numbered(3_000), [[...numbered(2_999), { n: -1 }]]],
        [long(2_000_000, 'x'), [long(2_000_000, 'y'), long(2_000_001, 'x')]],
      ]
      for (const [i, [of, others]] of INPUTS.entries()) {
        const options = { idempotencyKey: `add ${i}` }
        const { version } = await table.addRows(of, options)
        for (const other of [...others, ...(of === left ? [right] : [])]) {
          const again = () => table.addRows(other, options)
          await failsWithoutEffect(table, again, 'IDEMPOTENCY_KEY_REUSED')
        }
        const relaxed = { ...options, onSchemaError: 'dropColumns' } as const
        await fails(table.addRows(of, relaxed), 'IDEMPOTENCY_KEY_REUSED')
        assert.equal((await table.addRows(of, options)).version, version)
      }
    },
  },
  {
    name: 'a digest of the caller stands for the whole request',
    async run(fixture) {
      const table = await fixture.createTable([{ n: 0 }])
      const keyed = { idempotencyKey: 'k', requestDigest: new Uint8Array(32).fill(1) }
      const { version } = await table.addRows([{ n: 1 }], keyed)

      assert.equal((await table.addRows([{ n: 2 }], keyed)).version, version)
      const other = { ...keyed, requestDigest: new Uint8Array(32).fill(2) }
      await fails(table.addRows([{ n: 1 }], other), 'IDEMPOTENCY_KEY_REUSED')
      for (const requestDigest of [new Uint8Array(31), 'x'.repeat(32), null]) {
        const odd = { ...keyed, requestDigest } as never
        await fails(table.addRows([{ n: 1 }], odd), 'REQUEST_VALIDATION_ERROR')
      }
    },
  },
  {
    name: 'a compaction moves row records into segments, and nothing looks different',
    options: {
      maintenance: { compactionRecordsMin: 1 },
      orphanGraceMs: 0,
      inlineRowsMax: 4,
      segmentRowsMax: 4,
    },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(12))
      const { continuation = '' } = await table.page({ limit: 2 })
      await table.updateRow(rowIds.at(1) ?? '', { n: 100 })
      await table.deleteRow(rowIds.at(2) ?? '')
      for (const i of [8, 9, 10, 11]) await table.deleteRow(rowIds.at(i) ?? '')
      const rows = async (): Promise<unknown[]> => {
        const found: unknown[] = [await table.version(), await table.page({ continuation })]
        for (const rowId of rowIds) found.push(await table.get(rowId).catch(({ code }) => code))
        return found
      }
      const before = await rows()

      assert.equal((await fixture.store.maintain()).compactions, 2)
      assert.deepEqual(await rows(), before)
      assert.equal((await fixture.store.maintain()).objects, 2)
      assert.deepEqual(await rows(), before)
      await table.updateRow(rowIds.at(1) ?? '', { n: 101 })
      await fixture.store.maintain()
      assert.deepEqual(await columnOf(table, 'n'), [0, 101, 3, 4, 5, 6, 7])
    },
  },
]
