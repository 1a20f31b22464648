// Preflights: requests that are checked and not executed.
import assert from 'node:assert/strict'
import { failsWithoutEffect, type StoreCase, schemaOf } from './fixture.js'

export const preflightCases: readonly StoreCase[] = [
  {
    name: 'a preflight lists all problems of a stash, and the repaired chunk makes it fit',
    async run(fixture) {
      const { team } = fixture
      const table = await fixture.createTable([], { n: 'number' })
      const rows = await fixture.stash({
        '0': [{ n: 1 }],
        '1': [{ n: 'x' }, { n: 2 }, { n: true, m: 1 }],
      })

      const report = await table.preflight({ rows })

      const rule = 'a finite number'
      assert.deepEqual(report, {
        rows: 4,
        schema: await table.schema(),
        problems: [
          { serial: '1', row: 0, column: 'n', value: '"x"', rule },
          { serial: '1', row: 2, column: 'n', value: 'true', rule },
          { serial: '1', row: 2, column: 'm', rule: 'the ID of a column of the schema' },
        ],
        problemCount: 3,
        version: 1,
      })
      await rows.put('1', [{ n: 0 }, { n: 2 }, { n: 3 }])
      assert.equal((await table.preflight({ rows })).problemCount, 0)
      assert.equal((await table.addRows(rows)).rowIds.length, 4)
      assert.equal((await team.tables()).length, 1)
    },
  },
  {
    name: 'a preflight of a create infers the schema that the table gets',
    async run({ team }) {
      const request = {
        name: 'new',
        rows: [
          { a: 1, b: '2024-02-29' },
          { a: 'x', c: [true] },
        ],
      }

      const report = await team.preflight(request)

      assert.deepEqual(await team.tables(), [])
      const { tableId } = await team.createTable(request)
      assert.deepEqual(report.schema, await team.table(tableId).schema())
      assert.deepEqual([report.rows, report.problemCount], [2, 0])
    },
  },
  {
    name: 'a preflight fails as its operation does, apart from data that does not fit',
    async run(fixture) {
      const { team } = fixture
      const table = await fixture.createTable([{ n: 1 }])
      await table.addRows([{ n: 2 }])
      const rows = [{ n: 'x' }]
      const preflight = (request: object) => () => table.preflight({ rows, ...request })

      await failsWithoutEffect(table, preflight({ ifMatch: 1 }), 'PRECONDITION_FAILED')
      const twice = { columns: [...schemaOf({ n: 'number' }).columns, { id: 'n', type: 'date' }] }
      await failsWithoutEffect(table, preflight({ schema: twice }), 'COLUMN_ID_NOT_UNIQUE')
      const both = preflight({ schema: twice, ifMatch: 1 })
      await failsWithoutEffect(table, both, 'PRECONDITION_FAILED')
      const none = preflight({ rows: team.stash('none') })
      await failsWithoutEffect(table, none, 'STASH_NOT_FOUND')
      const broken = preflight({ rows: { json: '[' }, ifMatch: 1 })
      await failsWithoutEffect(table, broken, 'REQUEST_VALIDATION_ERROR')
      const unknown = preflight({ onSchemaErrors: 'abort' })
      await failsWithoutEffect(table, unknown, 'REQUEST_VALIDATION_ERROR')
    },
  },
]
