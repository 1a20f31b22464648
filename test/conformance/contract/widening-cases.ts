// CONTRACT.md, section 3, `updateSchema`: existing rows when a column is widened, once and again.
import assert from 'node:assert/strict'
import {
  type ContractCase,
  CSV,
  expectRefusal,
  invalidValue,
  ROW_NOT_FOUND,
  uniqueName,
} from './api.js'
import { pageText, rowTextsOf } from './schema-error-input.js'

const DROP = '?onSchemaError=dropColumns'
const UPDATE = '?onSchemaError=updateSchema'

export const wideningCases: readonly ContractCase[] = [
  {
    name: 'a column that is widened twice: rows of every age read back in the last form',
    run: async (api) => {
      const table = await api.createTyped({ d: 'date', n: 'number' }, [{ d: '2024-01-01', n: 1 }])
      await api.ok('POST', table.rows + UPDATE, { body: '[{"d":"2024-01-02T10:00","n":2.50}]' })
      await api.ok('POST', table.rows + UPDATE, { body: 'd,n\n2024-01-03,3', type: CSV })
      await api.refused('POST', table.rows, { body: [{ d: 'soon' }] }, invalidValue('d'))
      await api.ok('POST', table.rows + UPDATE, { body: [{ d: 'soon' }] })
      await api.ok('POST', table.rows + UPDATE, { body: 'n\n007', type: CSV })
      const wanted = [
        '{"d":"2024-01-01","n":"1"}',
        '{"d":"2024-01-02T10:00","n":"2.50"}',
        '{"d":"2024-01-03","n":"3"}',
        '{"d":"soon"}',
        '{"n":"007"}',
      ]
      assert.equal(await rowTextsOf(api, table), pageText(wanted))
      await api.ok('POST', table.rows, { body: [{ d: 'later', n: 'x' }] })
    },
  },
  {
    name: 'an element that was taken as text is text for good, from a body and from a stash',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.ok('PUT', `/stashes/${stashId}/0`, { body: '[{"l":[1.50,"a"]}]' })
      for (const body of ['[{"l":[1.50,"a"]}]', { $stashID: stashId }]) {
        const table = await api.createTyped({ l: { kind: 'array', items: { kind: 'string' } } })
        await api.ok('POST', table.rows + UPDATE, { body })
        assert.equal(await rowTextsOf(api, table), pageText(['{"l":["1.50","a"]}']))
        await api.ok('POST', table.rows + UPDATE, { body: [{ l: 5 }] })
        const wanted = ['{"l":"[\\"1.50\\",\\"a\\"]"}', '{"l":"5"}']
        assert.equal(await rowTextsOf(api, table), pageText(wanted))
      }
    },
  },
  {
    name: 'rows that were updated and deleted before a widening read back in the new form, or stay gone',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }, { n: 3 }])
      const [a, b] = table.rowIds.map((rowId) => `${table.rows}/${rowId}`)
      await api.ok('PATCH', `${a}`, { body: '{"n":1.50}' })
      await api.ok('DELETE', `${b}`)
      await api.ok('POST', table.rows + UPDATE, { body: [{ n: 'x' }] })
      assert.equal(
        await rowTextsOf(api, table),
        pageText(['{"n":"1.50"}', '{"n":"3"}', '{"n":"x"}']),
      )
      assert.equal((await api.ok('GET', `${a}`)).text.includes('"n":"1.50"'), true)
      await api.refused('GET', `${b}`, {}, ROW_NOT_FOUND)
    },
  },
  {
    name: 'a cell that is not sent keeps its value when update row widens the schema',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', m: 'number' }, [])
      await api.ok('POST', table.rows, { body: '[{"n":34.50,"m":1.50}]' })
      const [{ $rowID } = { $rowID: '' }] = await api.rowsOf(table)
      const at = `${table.rows}/${$rowID}`
      await api.ok('PATCH', at + UPDATE, { body: { m: 'x' } })
      assert.equal(await rowTextsOf(api, table), pageText(['{"n":34.50,"m":"x"}']))
      await api.ok('POST', table.rows + UPDATE, { body: [{ n: 'y' }] })
      assert.equal(await rowTextsOf(api, table), pageText(['{"n":"34.50","m":"x"}', '{"n":"y"}']))
    },
  },
  {
    name: 'a walk that a widening comes between goes on, with rows of the new form',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }, { n: 3 }])
      const first = await api.pageOf(table, { limit: 2 })
      await api.ok('POST', table.rows + UPDATE, { body: [{ n: 'x' }] })
      const { continuation } = first
      const rest = await api.pageOf(table, { continuation })
      assert.deepEqual(
        [...first.data, ...rest.data].map(({ n }) => n),
        [1, 2, '3', 'x'],
      )
    },
  },
  {
    name: 'a walk over rows that were overwritten shows them in the form that they had',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      const { continuation } = await api.pageOf(table, { limit: 1 })
      await api.ok('PUT', table.path + UPDATE, { body: [{ n: 'x' }] })
      const rest = await api.pageOf(table, { continuation })
      assert.deepEqual(
        rest.data.map(({ n }) => n),
        [2],
      )
    },
  },
  {
    name: 'adds that widen at once all go in',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const bodies = [[{ n: 'x' }], [{ n: true }], [{ u: 5 }]]
      const replies = await Promise.all(
        bodies.map((body) => api.send('POST', table.rows + UPDATE, { body })),
      )
      assert.deepEqual(
        replies.map(({ status }) => status),
        [201, 201, 201],
      )
      const cells = await api.cellsOf(table)
      assert.deepEqual(cells[0], { n: '1' })
      assert.deepEqual(
        new Set(cells.slice(1).map((row) => JSON.stringify(row))),
        new Set(['{"n":"x"}', '{"n":"true"}', '{"u":5}']),
      )
    },
  },
  {
    name: 'an add that aborts is judged by the schema as it was widened',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const add = (query: string) => api.send('POST', table.rows + query, { body: [{ n: 'x' }] })
      expectRefusal(await add(''), invalidValue('n'))
      await api.ok('POST', table.rows + UPDATE, { body: [{ n: 'x' }] })
      assert.equal((await add('')).status, 201)
      await api.refused('POST', table.rows, { body: [{ n: 1 }] }, invalidValue('n'))
      await api.ok('POST', table.rows, { body: 'n\n1', type: CSV })
      await api.ok('POST', table.rows + DROP, { body: [{ n: 2 }] })
      assert.deepEqual(await api.cellsOf(table), [{ n: 'x' }, { n: 'x' }, { n: '1' }, {}])
    },
  },
]
