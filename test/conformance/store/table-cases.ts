// Tables: creating, listing, overwriting.
import assert from 'node:assert/strict'
import {
  cellsOf,
  columnOf,
  fails,
  failsWithoutEffect,
  kindsOf,
  numbered,
  type StoreCase,
  schemaOf,
} from './fixture.js'

export const tableCases: readonly StoreCase[] = [
  {
    name: 'a new table has version 1, a UUID, and its rows in order',
    async run({ team }) {
      const made = await team.createTable({ name: 'new', rows: numbered(3) })

      assert.equal(made.version, 1)
      assert.match(
        made.tableId,
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
      assert.deepEqual(await columnOf(team.table(made.tableId), 'n'), [0, 1, 2])
    },
  },
  {
    name: 'tables are listed in order of creation, as soon as they are made, same names twice',
    async run({ team }) {
      const ids: string[] = []
      for (const name of ['b', 'a', 'b']) {
        ids.push((await team.createTable({ name, rows: [] })).tableId)
        assert.equal((await team.tables()).length, ids.length)
      }

      const expected = ids.map((id, i) => ({ id, name: ['b', 'a', 'b'][i] }))
      assert.deepEqual(await team.tableNames(), expected)
      const infos = await Promise.all(ids.map((id) => team.table(id).info()))
      assert.deepEqual(await team.tables(), infos)
    },
  },
  {
    name: 'tables that are made at once are all there',
    async run({ team }) {
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, i) => team.createTable({ name: `${i}`, rows: numbered(i) })),
      )

      assert.equal((await team.tables()).length, 20)
      for (const [i, { tableId, rowIds }] of made.entries()) {
        assert.equal(rowIds.length, i)
        assert.equal((await team.table(tableId).page()).rows.length, i)
      }
    },
  },
  {
    name: 'a table that is refused leaves nothing',
    async run({ team }) {
      const schema = schemaOf({ n: 'number' })

      await fails(
        team.createTable({ name: 'x', schema, rows: [{ n: 'x' }] }),
        'COLUMN_HAS_INVALID_VALUE',
      )

      assert.deepEqual(await team.tables(), [])
    },
  },
  {
    name: 'a table needs a name of well-formed text',
    async run({ team }) {
      for (const name of ['', 'x'.repeat(1_001), '\ud800', 7, undefined]) {
        await fails(
          team.createTable({ name: name as string, rows: [] }),
          'REQUEST_VALIDATION_ERROR',
        )
      }
    },
  },
  {
    name: 'an argument that is not known is refused by name',
    async run({ team }) {
      const request = { name: 'x', rows: [], shema: schemaOf({}) }

      await assert.rejects(team.createTable(request), /"shema"/)
    },
  },
  {
    name: 'a schema is given back as it was given, in its order',
    async run(fixture) {
      const columns = [
        { id: 'b', displayName: 'Bé', type: 'string' },
        { id: 'a', type: { kind: 'array', items: { kind: 'date' } } },
      ] as const
      const { tableId } = await fixture.team.createTable({
        name: 'x',
        schema: { columns },
        rows: [],
      })

      assert.deepEqual(await fixture.team.table(tableId).schema(), {
        columns: [
          { id: 'b', displayName: 'Bé', type: { kind: 'string' } },
          { id: 'a', type: { kind: 'array', items: { kind: 'date' } } },
        ],
      })
    },
  },
  {
    name: 'a schema with a reserved column, or the same one twice, is refused by the column',
    async run({ team }) {
      for (const id of ['$rowID', '$stashID']) {
        const request = { name: 'x', schema: schemaOf({ [id]: 'string' }), rows: [] }
        await fails(team.createTable(request), 'COLUMN_ID_RESERVED', { column: id })
      }
      const twice = { columns: [schemaOf({ a: 'string' }).columns[0], { id: 'a', type: 'number' }] }
      await fails(
        team.createTable({ name: 'x', schema: twice as never, rows: [] }),
        'COLUMN_ID_NOT_UNIQUE',
        { column: 'a' },
      )
    },
  },
  {
    name: 'a schema of a wrong shape is refused',
    async run({ team }) {
      const types = [
        'json',
        'array',
        'text',
        { kind: 'array' },
        { kind: 'string', items: {} },
        null,
      ]
      for (const type of types) {
        const request = { name: 'x', schema: schemaOf({ a: type }), rows: [] }
        await fails(team.createTable(request), 'REQUEST_VALIDATION_ERROR')
      }
    },
  },
  {
    name: 'a table that is not there is TABLE_NOT_FOUND, whatever is asked of it',
    async run({ team }) {
      for (const id of ['00000000-0000-4000-8000-000000000000', 'x', '']) {
        const table = team.table(id)
        for (const action of [
          () => table.version(),
          () => table.schema(),
          () => table.page(),
          () => table.pageBytes(),
          () => table.scan().next(),
          () => table.get('x'),
          () => table.getJson('x'),
          () => table.updateRow('x', {}),
          () => table.updateRowJson('x', '[broken'),
          () => table.deleteRow('x'),
          () => table.addRows([7 as never]),
          () => table.overwrite({ rows: [], schema: schemaOf({ $rowID: 'string' }) }),
          () => table.preflight({ rows: [] }),
          () => table.receipt(1),
        ]) {
          await fails(action(), 'TABLE_NOT_FOUND')
        }
      }
    },
  },
  {
    name: 'an overwrite replaces all rows at once, and keeps the schema',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(3), { n: 'number' })

      const { version } = await table.overwrite({ rows: [{ n: 7 }] })

      assert.equal(version, 2)
      assert.deepEqual(await columnOf(table, 'n'), [7])
      assert.deepEqual(await kindsOf(table), { n: 'number' })
      for (const rowId of rowIds) assert.equal(await table.get(rowId), null)
    },
  },
  {
    name: 'an overwrite with a schema replaces the schema too',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3), { n: 'number' })

      await table.overwrite({ rows: [{ t: 'x' }], schema: schemaOf({ t: 'string' }) })

      assert.deepEqual(await kindsOf(table), { t: 'string' })
      assert.deepEqual(await cellsOf(table), ['{"t":"x"}'])
    },
  },
  {
    name: 'an overwrite with no rows empties the table and makes a version',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))

      assert.equal((await table.overwrite({ rows: [] })).version, 2)
      assert.equal((await table.overwrite({ rows: [] })).version, 3)
      assert.deepEqual(await table.page(), { rows: [], version: 3 })
    },
  },
  {
    name: 'an overwrite that is refused changes nothing',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3), { n: 'number' })

      const rows = [{ n: 1 }, { n: 'x' }]
      const place = { row: 1, column: 'n', value: '"x"' }
      await failsWithoutEffect(
        table,
        () => table.overwrite({ rows }),
        'COLUMN_HAS_INVALID_VALUE',
        place,
      )
    },
  },
  {
    name: 'an overwrite names the version that it must not be later than',
    async run(fixture) {
      const table = await fixture.createTable([])
      for (const ifMatch of [1, 5, 10n ** 300n]) {
        const { version } = await table.overwrite({ rows: [], ifMatch })
        assert.ok(version > 1)
        await failsWithoutEffect(
          table,
          () => table.overwrite({ rows: [], ifMatch: version - 1 }),
          'PRECONDITION_FAILED',
        )
      }
    },
  },
  {
    name: 'ifMatch must be a whole number that is not negative',
    async run(fixture) {
      const table = await fixture.createTable([])
      for (const ifMatch of [-1, 1.5, Number.NaN, 2 ** 53, -1n, '1', null]) {
        const request = { rows: [], ifMatch: ifMatch as number }
        await fails(table.overwrite(request), 'REQUEST_VALIDATION_ERROR')
      }
    },
  },
  {
    name: 'a broken body comes before ifMatch, and ifMatch before what is wrong with columns',
    async run(fixture) {
      const table = await fixture.createTable([], { a: 'string' })
      const late = { ifMatch: 0 }

      await fails(table.overwrite({ rows: { json: '[' }, ...late }), 'REQUEST_VALIDATION_ERROR')
      await fails(table.overwrite({ rows: fixture.team.stash('none'), ...late }), 'STASH_NOT_FOUND')
      for (const rows of [
        [{ b: 1 }],
        [{ a: 1 }],
        [{ $stashID: 'x' }],
        [{ a: Number.NaN }],
        { csv: 'a,a\n' },
      ]) {
        await fails(table.overwrite({ rows, ...late }), 'PRECONDITION_FAILED')
      }
      const schema = schemaOf({ $rowID: 'string' })
      await fails(table.overwrite({ rows: [], schema, ...late }), 'PRECONDITION_FAILED')
      await fails(table.overwrite({ rows: [], schema }), 'COLUMN_ID_RESERVED')
    },
  },
  {
    name: 'of many overwrites that name the same version one wins, and the others change nothing',
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number' })
      const outcomes = await Promise.allSettled(
        numbered(10).map((row) => table.overwrite({ rows: [row], ifMatch: 1 })),
      )

      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal(await table.version(), 2)
      assert.equal((await table.page()).rows.length, 1)
    },
  },
  {
    name: 'a team sees nothing of another one',
    async run({ store, team }) {
      const { tableId, rowIds } = await team.createTable({ name: 'ours', rows: numbered(1) })
      await team.stash('stash').put('0', numbered(1))
      const other = store.team('other')

      assert.deepEqual(await other.tables(), [])
      await fails(other.table(tableId).get(rowIds.at(0) ?? ''), 'TABLE_NOT_FOUND')
      await fails(other.table(tableId).overwrite({ rows: [] }), 'TABLE_NOT_FOUND')
      await fails(other.createTable({ name: 'x', rows: other.stash('stash') }), 'STASH_NOT_FOUND')
      await fails(
        other.createTable({ name: 'x', rows: team.stash('stash') }),
        'REQUEST_VALIDATION_ERROR',
      )
    },
  },
  {
    name: 'a team ID is 1 to 128 units of well-formed text',
    async run({ store }) {
      for (const id of ['', 'x'.repeat(129), '\udfff', 7]) {
        assert.throws(() => store.team(id as string), { code: 'REQUEST_VALIDATION_ERROR' })
      }
      assert.equal(store.team('\u0000').id, '\u0000')
    },
  },
]
