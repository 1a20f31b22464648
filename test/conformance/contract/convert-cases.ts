// CONTRACT.md, section 5: converting a column, with its cells, to another type.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  PRECONDITION,
  type SendOptions,
  type TableAt,
  TOO_LARGE,
  UNSUPPORTED,
  VALIDATION,
} from './api.js'

const KEY_NOT_UNIQUE = { status: 422, type: 'key_not_unique' } as const

const DAYS = ['2024-02-29', '', '2023-02-29'].concat(Array(150).fill('y'))

const pathOf = ({ path }: TableAt, query = '') => `${path}/convert${query}`

/** The rows of a table with their IDs, its version, and the type of a column. */
async function stateOf(api: Api, table: TableAt): Promise<unknown> {
  return [await api.versionOf(table), await api.textOf(table)]
}

/** Sends a request that must be refused and must change nothing. */
async function refused(
  api: Api,
  table: TableAt,
  options: SendOptions,
  wanted: Parameters<Api['refused']>[3],
  query = '',
): Promise<void> {
  const before = await stateOf(api, table)
  await api.refused('POST', pathOf(table, query), options, wanted)
  assert.deepEqual(await stateOf(api, table), before)
}

export const convertCases: readonly ContractCase[] = [
  {
    name: 'POST of a conversion with words for true and false → 200 {}; other words → 422, wrong ones → 400',
    run: async (api) => {
      const table = await api.createTyped({ s: 'string' }, [{ s: 'ja' }, { s: 'Nein' }])
      const body = { column: 's', type: 'boolean', booleans: ['ja', 'nein'] }
      const others = { body: { ...body, booleans: ['yes', 'no'] } }
      await refused(api, table, others, invalidValue('s'))
      for (const booleans of [['ja'], 'ja', ['ja', 'ja'], null])
        await refused(api, table, { body: { ...body, booleans } }, VALIDATION)
      await refused(api, table, { body: { ...body, type: 'string' } }, VALIDATION)
      await api.ok('POST', pathOf(table, '?validate=only'), { body })
      assert.equal((await api.ok('POST', pathOf(table), { body })).text, '{}')
      const { data } = (await api.ok('GET', table.rows)).json as { data: { s: unknown }[] }
      assert.deepEqual(
        data.map(({ s }) => s),
        [true, false],
      )
    },
  },
  {
    name: 'POST of a conversion → 200 {}, one version, with the tokens and the row IDs',
    run: async (api) => {
      const cells = [{ s: '34.50', n: 1 }, { s: '12345678901234567890.10' }, { n: 2 }]
      const table = await api.createTyped({ s: 'string', n: 'number' }, cells)
      const body = { column: 's', type: 'number' }
      const reply = await api.ok('POST', pathOf(table), { body, headers: { 'if-match': '"1"' } })
      assert.deepEqual([reply.text, etagOf(reply)], ['{}', '"2"'])
      const text = await api.textOf(table)
      assert.ok(text.includes('"s":34.50') && text.includes('"s":12345678901234567890.10'))
      const page = (await api.ok('GET', table.rows)).json as { data: { $rowID: string }[] }
      assert.deepEqual(
        page.data.map(({ $rowID }) => $rowID),
        table.rowIds,
      )
      const again = await api.ok('POST', pathOf(table), { body })
      assert.equal(etagOf(again), '"2"')
      const array = { column: 'n', type: { kind: 'string' } }
      assert.equal(etagOf(await api.ok('POST', pathOf(table), { body: array })), '"3"')
    },
  },
  {
    name: 'POST of a conversion of cells that do not all fit → 422 with the first 100, and nothing changes',
    run: async (api) => {
      const rows = DAYS.map((s) => ({ s }))
      const table = await api.createTyped({ s: 'string' }, rows)
      const body = { column: 's', type: 'date' }
      await refused(api, table, { body }, invalidValue('s'))
      const { json } = await api.send('POST', pathOf(table), { body })
      const { error } = json as { error: { problems: { row: number }[]; problemCount: number } }
      assert.deepEqual([error.problems.length, error.problemCount], [100, 152])
      assert.deepEqual(
        error.problems.slice(0, 3).map(({ row }) => row),
        [1, 2, 3],
      )
    },
  },
  {
    name: 'validate=only of a conversion lists the cells that do not fit, and writes nothing',
    run: async (api) => {
      const table = await api.createTyped(
        { s: 'string', n: 'number' },
        DAYS.map((s, n) => ({ s, n })),
      )
      const check = async (type: string, headers: Record<string, string> = {}) => {
        const before = await stateOf(api, table)
        const body = { column: 's', type }
        const options = { body, headers }
        const reply = await api.ok('POST', pathOf(table, '?validate=only'), options)
        assert.equal(etagOf(reply), '"1"')
        assert.deepEqual(await stateOf(api, table), before)
        return (reply.json as { data: Record<string, unknown> }).data
      }
      const { problems, ...report } = await check('date', { 'if-match': '"1"' })
      const schema = {
        columns: [
          { id: 's', type: { kind: 'date' } },
          { id: 'n', type: { kind: 'number' } },
        ],
      }
      assert.deepEqual(report, { rows: 153, schema, problemCount: 152 })
      const found = problems as { row: number; column: string; value: string; rule: string }[]
      assert.equal(found.length, 152)
      assert.deepEqual(
        found.slice(0, 3).map(({ row, column, value }) => [row, column, value]),
        [
          [1, 's', '""'],
          [2, 's', '"2023-02-29"'],
          [3, 's', '"y"'],
        ],
      )
      assert.ok(found.every(({ rule }) => rule !== ''))
      for (const fits of ['markdown', 'string']) {
        assert.deepEqual((await check(fits))['problemCount'], 0)
      }
      const body = { column: 's', type: 'date' }
      const late = { body, headers: { 'if-match': '"0"' } }
      await refused(api, table, late, PRECONDITION, '?validate=only')
    },
  },
  {
    name: 'a conversion that gives two rows one key → 422 key_not_unique, also when it is only checked',
    run: async (api) => {
      const table = await api.createTyped({ s: 'string' }, [{ s: '1' }, { s: '1.0' }])
      await api.ok('PATCH', table.path, { body: { key: ['s'] } })
      const body = { column: 's', type: 'number' }
      await refused(api, table, { body }, KEY_NOT_UNIQUE)
      await refused(api, table, { body }, KEY_NOT_UNIQUE, '?validate=only')
    },
  },
  {
    name: 'a conversion of a table without rows changes its column',
    run: async (api) => {
      const table = await api.createTyped({ s: 'string' }, [])
      await api.ok('POST', pathOf(table), { body: { column: 's', type: 'boolean' } })
      const { json } = await api.ok('GET', table.path)
      const { data } = json as { data: { schema: unknown } }
      assert.deepEqual(data.schema, { columns: [{ id: 's', type: { kind: 'boolean' } }] })
    },
  },
  {
    name: 'a conversion without a column or a type, or of others than the table has → 400',
    run: async (api) => {
      const table = await api.createTyped({ s: 'string' }, [{ s: '1' }])
      const bodies = [
        [],
        {},
        { column: 's' },
        { type: 'number' },
        { column: 's', type: 'number', other: 1 },
        { column: 1, type: 'number' },
        { column: 'none', type: 'number' },
        { column: 's', type: 'none' },
        { column: 's', type: null },
        { column: 's', type: 'array' },
      ]
      for (const body of bodies) {
        await refused(api, table, { body }, VALIDATION)
        await refused(api, table, { body }, VALIDATION, '?validate=only')
      }
      const body = { column: 's', type: 'number' }
      await refused(api, table, { body }, VALIDATION, '?validate=all')
      await refused(api, table, { body }, VALIDATION, '?onSchemaError=abort')
      await refused(api, table, { body, headers: { 'if-match': '"0"' } }, PRECONDITION)
      await refused(api, table, { body: 'column,type', type: CSV }, UNSUPPORTED)
      await refused(api, table, { body: 'x'.repeat(17 << 20) }, TOO_LARGE)
    },
  },
]
