// One call changes many rows of a table.
import assert from 'node:assert/strict'
import { defineSchema } from '../../../src/index.js'
import {
  cellsOf,
  columnOf,
  fails,
  failsWithoutEffect,
  numbered,
  type StoreCase,
} from './fixture.js'

const TOO_MANY = 10_001

export const manyCases: readonly StoreCase[] = [
  {
    name: 'updates of many rows are one version, of rows in records and in segments',
    options: { inlineRowsMax: 3, segmentRowsMax: 4, maintenance: { compactionRecordsMin: 2 } },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(9))
      const more = await table.addRows(numbered(2))
      const ids = [...rowIds, ...more.rowIds]
      await table.updateRow(ids[1] ?? '', { n: 100 })

      const updates = [0, 1, 5, 10].map((at) => ({
        rowId: ids[at] ?? '',
        cells: { n: 0 - at, m: at },
      }))
      const { version } = await table.updateRows(updates, { onSchemaError: 'updateSchema' })

      assert.equal(version, 4)
      const expected = [0, -1, 2, 3, 4, -5, 6, 7, 8, 0, -10]
      assert.deepEqual(await columnOf(table, 'n'), expected)
      for (const at of [0, 1, 5, 10]) assert.equal((await table.get(ids[at] ?? ''))?.version, 4)
      assert.equal((await table.get(ids[2] ?? ''))?.version, 1)
      await fixture.store.maintain()
      assert.deepEqual(await columnOf(table, 'n'), expected)
    },
  },
  {
    name: 'updates of many rows are all or none, and the error names the one that failed',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(3), { n: 'number' })
      const [a = '', b = '', c = ''] = rowIds
      await table.deleteRow(c)
      const ok = { rowId: a, cells: { n: 7 } }
      const refused = (update: unknown, code: Parameters<typeof fails>[1], row = 1) =>
        failsWithoutEffect(table, () => table.updateRows([ok, update as never]), code, { row })

      await refused({ rowId: c, cells: { n: 1 } }, 'ROW_NOT_FOUND')
      await refused({ rowId: b, cells: { n: 1 }, ifMatch: 0 }, 'PRECONDITION_FAILED')
      await refused({ rowId: b, cells: { n: 'x' } }, 'COLUMN_HAS_INVALID_VALUE')
      await refused({ rowId: b, cells: { m: 1 } }, 'COLUMN_ID_NOT_FOUND')
      await refused({ rowId: b, cells: [] }, 'REQUEST_VALIDATION_ERROR')
      await refused({ rowId: b, cells: {}, other: 1 }, 'REQUEST_VALIDATION_ERROR')
      await refused({ rowId: 1, cells: {} }, 'REQUEST_VALIDATION_ERROR')
      await refused({ rowId: a, cells: { n: 8 } }, 'REQUEST_VALIDATION_ERROR')
      await assert.rejects(table.updateRows([ok, { rowId: c, cells: {} }]), new RegExp(`'${c}'`))
    },
  },
  {
    name: 'what is wrong with each of many rows is told, by the first problem of each',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(4), { n: 'number' })
      const [a = '', b = '', c = '', d = ''] = rowIds
      await table.updateRow(b, { n: 5 })
      const updates = [
        { rowId: a, cells: { n: 1, m: 1 } },
        { rowId: b, cells: { n: 'x' }, ifMatch: 1 },
        { rowId: c, cells: { n: 7 } },
        { rowId: 'none', cells: { n: 1 } },
        { rowId: d, cells: { n: new Map() } },
      ] as never
      const failure = await fails(table.updateRows(updates), 'ROW_NOT_FOUND', { row: 3 })
      assert.deepEqual(
        failure.problems?.map(({ row, code, column }) => [row, code, column]),
        [
          [0, 'COLUMN_ID_NOT_FOUND', 'm'],
          [1, 'PRECONDITION_FAILED', undefined],
          [3, 'ROW_NOT_FOUND', undefined],
          [4, 'COLUMN_HAS_INVALID_VALUE', 'n'],
        ],
      )
      assert.equal(failure.problemCount, 4)
      const deletion = table.deleteRows([a, { rowId: b, ifMatch: 1 }, { rowId: c, ifMatch: 0n }])
      const refused = await fails(deletion, 'PRECONDITION_FAILED', { row: 1 })
      assert.deepEqual(
        refused.problems?.map(({ row }) => row),
        [1, 2],
      )
      assert.deepEqual(await columnOf(table, 'n'), [0, 5, 2, 3])
      assert.equal(await table.version(), 2)
      await table.deleteRows([
        { rowId: b, ifMatch: 2 },
        { rowId: 'none', ifMatch: 0 },
      ])
      assert.deepEqual(await columnOf(table, 'n'), [0, 2, 3])
    },
  },
  {
    name: 'updates and deletions of many rows with an idempotency key have one effect',
    async run(fixture) {
      const { team } = fixture
      const { table, rowIds } = await fixture.create(numbered(4), { n: 'number' })
      const [a = '', b = '', c = '', d = ''] = rowIds
      const updates = [{ rowId: a, cells: { n: 10 }, ifMatch: 1 }]
      const update = () => table.updateRows(updates, { idempotencyKey: 'u' })
      const deletion = () => table.deleteRows([b, 'none'], { idempotencyKey: 'd' })
      const byWhere = () => table.deleteRows({ where: { n: 2 } }, { idempotencyKey: 'w' })

      const firsts = [await update(), await deletion(), await byWhere()]
      await table.updateRow(a, { n: 11 })
      await table.addRows([{ n: 2 }])
      assert.deepEqual([await update(), await deletion(), await byWhere()], firsts)
      assert.deepEqual(firsts[1], { version: 3, deleted: 1, missing: 1 })
      assert.deepEqual(await columnOf(table, 'n'), [11, 3, 2])
      const other = [{ rowId: d, cells: { n: 10 } }]
      await fails(table.updateRows(other, { idempotencyKey: 'u' }), 'IDEMPOTENCY_KEY_REUSED')
      await fails(table.deleteRows([d], { idempotencyKey: 'd' }), 'IDEMPOTENCY_KEY_REUSED')
      await fails(table.deleteRows([c], { idempotencyKey: 'w' }), 'IDEMPOTENCY_KEY_REUSED')
      await fails(table.deleteRows([d], { idempotencyKey: 'u' }), 'IDEMPOTENCY_KEY_REUSED')
      const inTransaction = team.transaction((t) =>
        t.table(table.id).updateRows(other, { idempotencyKey: 'u' } as never),
      )
      await fails(inTransaction, 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'updates without cells check their rows and make no version',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(2))

      assert.deepEqual(await table.updateRows([]), { version: 1 })
      assert.deepEqual(await table.updateRows([{ rowId: rowIds.get(0), cells: {} }]), {
        version: 1,
      })
      await fails(table.updateRows([{ rowId: 'x', cells: {} }]), 'ROW_NOT_FOUND', { row: 0 })
    },
  },
  {
    name: 'a column that one of many updates widens reads so in all rows',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([
        { n: 1, m: 1 },
        { n: 2, m: 2 },
      ])
      const [a = '', b = ''] = rowIds

      await table.updateRows(
        [
          { rowId: a, cells: { n: 'text' } },
          { rowId: b, cells: { m: 3 } },
        ],
        { onSchemaError: 'updateSchema' },
      )

      assert.deepEqual(await cellsOf(table), ['{"n":"text","m":1}', '{"n":"2","m":3}'])
      await fixture.store.maintain()
      assert.deepEqual(await columnOf(table, 'n'), ['text', '2'])
    },
  },
  {
    name: 'dropColumns leaves out cells of many updates that do not fit',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(2), { n: 'number' })
      const updates = [
        { rowId: rowIds.get(0), cells: { n: 'x' } },
        { rowId: rowIds.get(1), cells: { n: 5, m: 1 } },
      ]

      await table.updateRows(updates, { onSchemaError: 'dropColumns' })

      assert.deepEqual(await columnOf(table, 'n'), [0, 5])
      assert.deepEqual((await table.get(rowIds.get(0)))?.version, 1)
    },
  },
  {
    name: 'deletes of many rows are one version, and count what was missing',
    options: { inlineRowsMax: 3, segmentRowsMax: 4, maintenance: { compactionRecordsMin: 2 } },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(9))
      const [a = '', b = '', c = ''] = rowIds
      await table.deleteRow(b)

      const deleted = await table.deleteRows([a, b, 'x', c, a])

      assert.deepEqual(deleted, { version: 3, deleted: 2, missing: 3 })
      assert.deepEqual(await columnOf(table, 'n'), [3, 4, 5, 6, 7, 8])
      const again = await table.deleteRows([a, c])
      assert.deepEqual(again, { version: 3, deleted: 0, missing: 2 })
      await fixture.store.maintain()
      assert.deepEqual(await columnOf(table, 'n'), [3, 4, 5, 6, 7, 8])
      assert.deepEqual(await table.deleteRows([...rowIds]), { version: 4, deleted: 6, missing: 3 })
      assert.deepEqual(await columnOf(table, 'n'), [])
    },
  },
  {
    name: 'rows that match are deleted from a table that changes all the time',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(4_000))
      let isOver = false
      const change = async (row: number) => {
        for (let m = 0; !isOver; m++) {
          await table.updateRow(rowIds.get(row), { m }, { onSchemaError: 'updateSchema' })
          await new Promise((done) => setImmediate(done))
        }
      }
      const changing = [change(0), change(1)]
      const deleting = table.deleteRows({ where: { n: { gte: 2 } } }).finally(() => {
        isOver = true
      })

      assert.equal((await deleting).deleted, 3_998)
      await Promise.all(changing)
      assert.deepEqual(await columnOf(table, 'n'), [0, 1])
    },
  },
  {
    name: 'rows that match a condition are deleted by one commit',
    options: { inlineRowsMax: 3, segmentRowsMax: 4 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(9), { n: 'number' })
      await table.updateRow(rowIds.get(0), { n: 100 })

      const deleted = await table.deleteRows({ where: { n: { gte: 5 } } })

      assert.deepEqual(deleted, { version: 3, deleted: 5, missing: 0 })
      assert.deepEqual(await columnOf(table, 'n'), [1, 2, 3, 4])
      const none = await table.deleteRows({ where: { n: 50 } })
      assert.deepEqual(none, { version: 3, deleted: 0, missing: 0 })
      await fixture.team.transaction(async (t) => {
        const staged = t.table(table.id)
        await staged.addRows([{ n: 7 }, { n: 1 }])
        assert.equal((await staged.deleteRows({ where: { n: 1 } })).deleted, 2)
        const found: unknown[] = []
        for await (const row of staged.scan({ where: { n: { lt: 4 } } })) found.push(row['n'])
        assert.deepEqual(found, [2, 3])
      })
      assert.deepEqual(await columnOf(table, 'n'), [2, 3, 4, 7])
      const code = 'REQUEST_VALIDATION_ERROR'
      for (const given of [{}, { where: 1 }, { where: { n: 1 }, other: 1 }]) {
        await failsWithoutEffect(table, () => table.deleteRows(given as never), code)
      }
    },
  },
  {
    name: 'a condition that every row matches deletes rows only if all of them are meant',
    async run(fixture) {
      const { table } = await fixture.create(numbered(3), { n: 'number' })
      const every: object[] = [{}, { n: {} }, { $and: [] }, { $or: [{ n: 1 }, {}] }]
      every.push({ $and: [{}, { n: {} }] }, { $not: { $or: [] } }, { $not: { n: { in: [] } } })
      for (const where of every) {
        const code = 'REQUEST_VALIDATION_ERROR'
        await failsWithoutEffect(table, () => table.deleteRows({ where } as never), code)
        await fails(
          fixture.team.transaction((t) => t.table(table.id).deleteRows({ where } as never)),
          code,
        )
      }
      for (const given of [{ all: false }, { where: undefined, all: true }, { all: 1 }]) {
        const code = 'REQUEST_VALIDATION_ERROR'
        await failsWithoutEffect(table, () => table.deleteRows(given as never), code)
      }
      assert.equal((await table.deleteRows({ where: { $or: [] } })).deleted, 0)
      assert.equal((await table.deleteRows({ where: { n: 1 }, all: true })).deleted, 1)
      assert.equal((await table.deleteRows({ where: {}, all: true })).deleted, 2)
      await table.addRows(numbered(2))
      assert.equal((await table.deleteRows({ all: true })).deleted, 2)
    },
  },
  {
    name: 'a condition with undefined is refused wherever it stands, and nothing is deleted or read',
    async run(fixture) {
      const { table } = await fixture.create(numbered(2), { n: 'number' })
      const typed = fixture.team.table(
        table.id,
        defineSchema({ columns: { n: 'number' } }),
      ) as never as typeof table
      const bare: object[] = [{ n: undefined }, { typo: undefined }, { n: 1, typo: undefined }]
      for (const operator of ['eq', 'ne', 'in', 'gt', 'lte', 'has', 'isEmpty', 'startsWith']) {
        bare.push({ n: { [operator]: undefined } })
      }
      bare.push(
        { n: { in: [1, undefined] } },
        { n: { in: new Array(1) } },
        { n: { typo: undefined } },
      )
      const nested = bare.flatMap((where) => [{ $or: [where] }, { $and: [{}, where] }])
      const lists = [{ $or: undefined }, { $and: undefined }, { $not: undefined }]
      const holes = [{ $or: [undefined] }, { $and: new Array(1) }, { typo$: undefined }]
      const all = [
        ...bare,
        ...nested,
        ...bare.map((where) => ({ $not: where })),
        ...lists,
        ...holes,
      ]
      for (const where of all as never[]) {
        for (const of of [table, typed]) {
          const uses = [
            () => of.deleteRows({ where }),
            () => of.deleteRows({ where, all: true }),
            () => of.count(where),
            () => of.page({ where }),
            () => of.find(where).next(),
            () => of.scan({ where }).next(),
            () => fixture.team.transaction((t) => t.table(of.id).deleteRows({ where })),
            () => fixture.team.transaction((t) => t.table(of.id).page({ where } as never)),
          ]
          const names = bare.includes(where) ? /"(?:n|typo)"/ : /where/
          for (const use of uses) await assert.rejects(use, { code: 'REQUEST_VALIDATION_ERROR' })
          await assert.rejects(of.count(where), names)
        }
      }
      assert.throws(() => table.find(undefined as never), /where must be an object/)
      assert.equal(await table.version(), 1)
    },
  },
  {
    name: 'calls for too many rows are refused',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(1))
      const rowId = rowIds.get(0)
      const many = Array.from({ length: TOO_MANY }, () => rowId)

      const code = 'REQUEST_VALIDATION_ERROR'
      await failsWithoutEffect(table, () => table.deleteRows(many), code)
      const updates = many.map((id) => ({ rowId: id, cells: { n: 1 } }))
      await failsWithoutEffect(table, () => table.updateRows(updates), code)
      await failsWithoutEffect(table, () => table.deleteRows('x' as never), code)
      await failsWithoutEffect(table, () => table.deleteRows([1 as never]), code)
      await failsWithoutEffect(table, () => table.updateRows(null as never), code)
      const absent = fixture.team.table('00000000-0000-4000-8000-000000000000')
      await fails(absent.updateRows([{ rowId, cells: 1 as never }]), 'TABLE_NOT_FOUND')
      await fails(absent.deleteRows([rowId]), 'TABLE_NOT_FOUND')
    },
  },
  {
    name: 'updates that write too much text are refused',
    options: { rowBytesMax: 8 * 1024 * 1024 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(Array.from({ length: 3 }, () => ({ t: 'x' })))
      const cells = { t: 'y'.repeat(6 * 1024 * 1024) }
      const updates = [...rowIds].map((rowId) => ({ rowId, cells }))

      await failsWithoutEffect(table, () => table.updateRows(updates), 'REQUEST_VALIDATION_ERROR')
      await table.updateRows(updates.slice(0, 2))
      assert.deepEqual((await columnOf(table, 't'))[2], 'x')
    },
  },
  {
    name: 'a column gets another type with its cells in one commit, and rows keep their IDs',
    options: { inlineRowsMax: 3, segmentRowsMax: 4 },
    async run(fixture) {
      const rows = ['34.50', '12345678901234567890.10', null, '-7', '1e2'].map((s, m) => ({ s, m }))
      const { table, rowIds } = await fixture.create(rows, { s: 'string', m: 'number' })
      await table.deleteRow(rowIds.get(3))
      const ids = async () => (await table.page()).rows.map(({ $rowID }) => $rowID)
      const before = await ids()
      const jsonOf = async () => (await cellsOf(table)).join(' ')

      const { version } = await table.alter({
        convert: { column: 's', type: 'number' },
        ifMatch: 2,
      })
      assert.equal(version, 3)
      const numbers =
        '{"s":34.50,"m":0} {"s":12345678901234567890.10,"m":1} {"m":2} {"s":1e2,"m":4}'
      assert.equal(await jsonOf(), numbers)
      assert.deepEqual(await ids(), before)
      assert.equal((await table.alter({ convert: { column: 's', type: 'number' } })).version, 3)
      await table.alter({ convert: { column: 's', type: 'string' } })
      const texts = numbers.replace(/"s":([^,]+)/g, '"s":"$1"')
      assert.equal(await jsonOf(), texts)
      assert.deepEqual((await table.schema()).columns[0]?.type, { kind: 'string' })
      await fixture.store.maintain()
      assert.equal(await jsonOf(), texts)
    },
  },
  {
    name: 'words become booleans of a column that is converted, and others are told',
    async run(fixture) {
      const words = ['yes', ' No', 'YES', 'true', null, 'no'].map((s, n) => ({ s, n: n % 2 }))
      const { table, rowIds } = await fixture.create(words, { s: 'string', n: 'number' })
      const to = (booleans: readonly [string, string]) =>
        ({ column: 's', type: 'boolean', booleans }) as const
      const toOthers = () => table.alter({ convert: to(['ja', 'nein']) })
      await failsWithoutEffect(table, toOthers, 'COLUMN_HAS_INVALID_VALUE', { row: 0, column: 's' })
      const { problemCount } = await table.preflight({ convert: to(['yes', 'no']) })
      assert.equal(problemCount, 0)
      await table.alter({ convert: to(['yes', 'no']) })
      assert.deepEqual(await columnOf(table, 's'), [true, false, true, true, undefined, false])
      await table.alter({ convert: { ...to(['1', '0']), column: 'n' } })
      assert.deepEqual(await columnOf(table, 'n'), [false, true, false, true, false, true])
      assert.equal((await table.page()).rows[0]?.$rowID, rowIds.get(0))
      for (const booleans of [['a'], ['a', 'a'], ['', 'a'], 'ab', [1, 0]] as unknown[]) {
        const wrong = () => table.alter({ convert: to(booleans as never) })
        await failsWithoutEffect(table, wrong, 'REQUEST_VALIDATION_ERROR')
      }
      const wrong = () => table.alter({ convert: { ...to(['a', 'b']), type: 'string' } })
      await failsWithoutEffect(table, wrong, 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'a column whose cells do not all fit another type stays as it is, and each of them is told',
    options: { inlineRowsMax: 3, segmentRowsMax: 4 },
    async run(fixture) {
      const days = ['2024-02-29', '', '2023-02-29', 'x'].concat(Array(150).fill('y'))
      const { table } = await fixture.create(
        days.map((s, n) => ({ s, n })),
        { s: 'string', n: 'number' },
      )
      const code = 'COLUMN_HAS_INVALID_VALUE'
      const toDate = () => table.alter({ convert: { column: 's', type: 'date' } })
      await failsWithoutEffect(table, toDate, code, { row: 1, column: 's' })
      const failure = await fails(toDate(), code)
      assert.equal(failure.problemCount, 153)
      const found = failure.problems?.map(({ row, value }) => [row, value]) ?? []
      assert.deepEqual(found.slice(0, 3), [
        [1, '""'],
        [2, '"2023-02-29"'],
        [3, '"x"'],
      ])
      assert.equal(found.length, 100)
      const checked = await table.preflight({ convert: { column: 's', type: 'date' }, ifMatch: 1 })
      assert.deepEqual([checked.rows, checked.problemCount, checked.version], [154, 153, 1])
      assert.deepEqual(checked.problems.map(({ row, value }) => [row, value]).slice(0, 100), found)
      assert.equal(checked.problems.length, 153)
      assert.equal(await table.version(), 1)
      const refused = (given: object) =>
        failsWithoutEffect(table, () => table.alter(given), 'REQUEST_VALIDATION_ERROR')
      await refused({ convert: { column: 'none', type: 'date' } })
      await refused({ convert: { column: 's', type: 'none' } })
      await refused({ convert: { column: 's', type: 'date' }, name: 'other' })
      await refused({ convert: { column: 's' }, drop: ['n'] })
      const late = () => table.alter({ convert: { column: 'n', type: 'string' }, ifMatch: 0 })
      await failsWithoutEffect(table, late, 'PRECONDITION_FAILED')
    },
  },
  {
    name: 'a conversion of a column loses no change that others make meanwhile',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(2_000), { n: 'number' })
      const changes = [0, 1, 2].map((at) => table.updateRow(rowIds.get(at), { n: 10 + at }))
      const [, ...changed] = await Promise.all([
        table.alter({ convert: { column: 'n', type: 'string' } }).catch((reason) => reason),
        ...changes.map((change) => change.catch(() => null)),
      ])
      const values = (await columnOf(table, 'n')).slice(0, 3).map(Number)
      const expected = changed.map((result, at) => (result === null ? at : 10 + at))
      assert.deepEqual(values, expected)
    },
  },
]
