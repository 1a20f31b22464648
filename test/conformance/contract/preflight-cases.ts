// CONTRACT.md, section 5: `validate=only`.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  NOT_UNIQUE,
  PRECONDITION,
  type SendOptions,
  STASH_NOT_FOUND,
  TABLE_NOT_FOUND,
  type TableAt,
  tableAt,
  uniqueName,
  VALIDATION,
} from './api.js'

const KEY_TWICE = { status: 422, type: 'key_not_unique' } as const

type Report = Readonly<{
  rows: number
  schema: Readonly<{ columns: readonly Readonly<{ id: string; type: unknown }>[] }>
  problems: readonly unknown[]
  problemCount: number
}>

const NUMBER_RULE = 'a finite number'
const COLUMN_RULE = 'the ID of a column of the schema'

async function check(
  api: Api,
  method: string,
  path: string,
  options: SendOptions,
): Promise<Report> {
  const joint = path.includes('?') ? '&' : '?'
  const { json } = await api.ok(method, `${path}${joint}validate=only`, options)
  return (json as { data: Report }).data
}

/** Expects that `act` does not change the table. */
async function withoutChange(api: Api, table: TableAt, act: () => Promise<void>): Promise<void> {
  const before = await api.send('GET', table.rows)
  await act()
  const after = await api.send('GET', table.rows)
  assert.deepEqual(
    [after.text, after.headers.get('etag')],
    [before.text, before.headers.get('etag')],
  )
}

/** Each operation, with its method and path for a table with the number column `n`. */
const OPERATIONS: readonly [string, string, (table: TableAt) => string][] = [
  ['add', 'POST', (table) => table.rows],
  ['overwrite', 'PUT', (table) => table.path],
]

const ofBoth: ContractCase[] = OPERATIONS.flatMap(([operation, method, pathOf]): ContractCase[] => [
  {
    name: `validate=only of an ${operation} lists all problems in input order, and changes nothing`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 0 }])
      await withoutChange(api, table, async () => {
        const body = [{ n: 1 }, { n: 'x', m: 2 }, { m: 3 }, { n: true }]
        const report = await check(api, method, pathOf(table), { body })

        assert.deepEqual(report.problems, [
          { row: 1, column: 'n', value: '"x"', rule: NUMBER_RULE },
          { row: 1, column: 'm', rule: COLUMN_RULE },
          { row: 3, column: 'n', value: 'true', rule: NUMBER_RULE },
        ])
        assert.deepEqual([report.rows, report.problemCount], [4, 3])
        assert.deepEqual(report.schema.columns, [{ id: 'n', type: { kind: 'number' } }])
      })
    },
  },
  {
    name: `validate=only of an ${operation} names the chunk and the line of a problem`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const stashId = uniqueName('s')
      await api.ok('PUT', `/stashes/${stashId}/10`, { body: 'n\n1\nx\n', type: CSV })
      await api.putChunk(stashId, '9', [{ n: 2 }])
      await api.putChunk(stashId, '2', [{ n: 1 }, { n: {} }])
      const stash = { body: { $stashID: stashId } }

      const report = await check(api, method, pathOf(table), stash)
      assert.deepEqual(report.problems, [
        { serial: '2', row: 1, column: 'n', value: '{}', rule: NUMBER_RULE },
        {
          serial: '10',
          row: 1,
          line: 3,
          column: 'n',
          value: 'x',
          rule: 'a finite number as JSON writes it',
        },
      ])

      await api.putChunk(stashId, '2', [{ n: 1 }, { n: 2 }])
      await api.ok('PUT', `/stashes/${stashId}/10`, { body: 'n\n1\n2\n', type: CSV })
      assert.equal((await check(api, method, pathOf(table), stash)).problemCount, 0)
      await api.ok(method, pathOf(table), stash)
      assert.equal((await api.rowsOf(table)).length, 5)
    },
  },
  {
    name: `validate=only of an ${operation} answers errors of the whole request as the ${operation} does`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const path = `${pathOf(table)}?validate=only`
      const nowhere = tableAt('00000000-0000-4000-8000-000000000000')
      const stash = { $stashID: uniqueName('none') }
      await api.refused(method, path, { body: stash }, STASH_NOT_FOUND)
      await api.refused(method, path, { body: '[{"n":1' }, VALIDATION)
      await api.refused(method, path, { body: 'n,n\n1,2', type: CSV }, NOT_UNIQUE)
      await api.refused(method, `${pathOf(nowhere)}?validate=only`, { body: [] }, TABLE_NOT_FOUND)
    },
  },
])

const others: ContractCase[] = [
  {
    name: 'validate=only of an add and an overwrite compares the keys of rows, as these do',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('PATCH', table.path, { body: { key: ['n'] } })
      const [add, overwrite] = [
        ['POST', `${table.rows}?validate=only`],
        ['PUT', `${table.path}?validate=only`],
      ] as const
      const known = { body: [{ n: 2 }, { n: 1.0 }] }
      assert.match(await api.refused(...add, known, KEY_TWICE), /row 1 /)
      await api.ok(...overwrite, known)
      const twice = { body: 'n\n3\n3.0\n', type: CSV }
      await api.refused(...add, twice, KEY_TWICE)
      assert.match(await api.refused(...overwrite, twice, KEY_TWICE), /row 0 .*row 1 /)
    },
  },
  {
    name: 'validate=only of a create answers 200 with the schema, and makes no table',
    run: async (api) => {
      const name = uniqueName('checked')
      const rows = [{ n: 1, d: '2024-02-29' }, { n: 'x' }, { o: {} }]
      const report = await check(api, 'POST', '/tables', { body: { name, rows } })

      const kinds = report.schema.columns.map(({ id, type }) => [id, type])
      assert.deepEqual(kinds, [
        ['n', { kind: 'string' }],
        ['d', { kind: 'date' }],
        ['o', { kind: 'string' }],
      ])
      const rule = 'text, a number, a boolean or an array'
      assert.deepEqual(report.problems, [{ row: 2, column: 'o', value: '{}', rule }])
      assert.deepEqual([report.rows, report.problemCount], [3, 1])
      assert.equal(await api.tableCount(name), 0)
    },
  },
  {
    name: 'validate=only of a create takes an Idempotency-Key, and leaves it unused',
    run: async (api) => {
      const headers = { 'idempotency-key': uniqueName('key') }
      const name = uniqueName('checked')
      const body = { name, rows: [{ n: 1 }] }
      await check(api, 'POST', '/tables', { body, headers })
      await api.ok('POST', '/tables', { body, headers })
      assert.equal(await api.tableCount(name), 1)
    },
  },
  {
    name: 'validate=only of an overwrite checks If-Match, after the body and before the data',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 0 }])
      await api.ok('POST', table.rows, { body: [{ n: 1 }] })
      const path = `${table.path}?validate=only`
      const headers = { 'if-match': '"1"' }
      await api.refused('PUT', path, { body: [{ n: 'x' }], headers }, PRECONDITION)
      await api.refused('PUT', path, { body: '[', headers }, VALIDATION)
      const current = { 'if-match': '"2"' }
      const { problemCount } = await check(api, 'PUT', table.path, {
        body: [{ n: 'x' }],
        headers: current,
      })
      assert.equal(problemCount, 1)
    },
  },
  {
    name: 'validate=only shows what onSchemaError makes of the data',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const body = [{ n: 'x', m: true }, { m: {} }]
      const of = (onSchemaError: string) =>
        check(api, 'POST', `${table.rows}?onSchemaError=${onSchemaError}`, { body })

      const dropped = await of('dropColumns')
      assert.deepEqual([dropped.problemCount, dropped.schema.columns.length], [2, 1])
      const updated = await of('updateSchema')
      assert.deepEqual(
        updated.schema.columns.map(({ id, type }) => [id, type]),
        [
          ['n', { kind: 'string' }],
          ['m', { kind: 'boolean' }],
        ],
      )
      assert.deepEqual(
        updated.problems.map((problem) => (problem as { row: number }).row),
        [1],
      )
    },
  },
  {
    name: 'validate=only lists the first 1,000 problems and counts all',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const body = Array.from({ length: 2_500 }, (_, i) => ({ n: i % 2 === 0 ? i : 'x' }))
      const { problems, problemCount } = await check(api, 'POST', table.rows, { body })
      assert.deepEqual([problems.length, problemCount], [1_000, 1_250])
      assert.equal((problems.at(-1) as { row: number }).row, 1_999)
    },
  },
  {
    name: 'validate is 400 on writes that cannot be checked, and nothing is written',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 0 }])
      const [{ $rowID: rowId } = {}] = await api.rowsOf(table)
      const row = `${table.rows}/${String(rowId)}`
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      await withoutChange(api, table, async () => {
        const writes: readonly [string, string, unknown?][] = [
          ['PATCH', row, { n: 2 }],
          ['DELETE', row],
          ['PUT', `/stashes/${stashId}/1`, [{ n: 2 }]],
          ['DELETE', `/stashes/${stashId}`],
          ['POST', '/tables/import', { fromUrl: 'https://files.example/rows.csv' }],
        ]
        for (const [method, path, body] of writes) {
          await api.refused(method, `${path}?validate=only`, { body }, VALIDATION)
        }
      })
      await api.ok('PUT', table.path, { body: { $stashID: stashId } })
      assert.equal((await api.rowsOf(table)).length, 1)
    },
  },
  {
    name: 'another value of validate is 400, and so is a second one',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      for (const query of ['validate=', 'validate=true', 'validate=only&validate=only']) {
        await api.refused('POST', `${table.rows}?${query}`, { body: [{ n: 1 }] }, VALIDATION)
      }
      assert.deepEqual(await api.rowsOf(table), [])
    },
  },
]

export const preflightCases: readonly ContractCase[] = [...ofBoth, ...others]
