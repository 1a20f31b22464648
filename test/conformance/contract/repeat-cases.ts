// CONTRACT.md, section 6: for 24 hours, repeating a create or an add with the same Idempotency-Key gives the first
// result again.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  type Reply,
  rowIdsOf,
  type SendOptions,
  STASH_NOT_FOUND,
  TABLE_NOT_FOUND,
  TSV,
  tableAt,
  uniqueName,
  VALIDATION,
} from './api.js'

function keyed(options: SendOptions, key = uniqueName('key')): SendOptions {
  return { ...options, headers: { ...options.headers, 'idempotency-key': key } }
}

const REUSED = {
  status: 422,
  type: 'request_validation_error',
  message: /^Invalid request headers: Idempotency-Key /,
} as const

/** The parts of an answer that clients use. */
function told(reply: Reply): unknown {
  return [reply.status, etagOf(reply), reply.text]
}

/** The forms of a body. `options` creates one, and the stash that it may need. */
const FORMS: readonly [what: string, options: (api: Api) => Promise<SendOptions>, rows: number][] =
  [
    ['JSON', async () => ({ body: [{ n: 1 }, { n: 2 }] }), 2],
    ['CSV', async () => ({ body: 'n\n1\n2', type: CSV }), 2],
    ['TSV', async () => ({ body: 'n\n1\n2', type: TSV }), 2],
    ['many rows', async () => ({ body: Array.from({ length: 2_500 }, (_, n) => ({ n })) }), 2_500],
    [
      'a stash',
      async (api) => {
        const stashId = uniqueName('s')
        await api.putChunk(stashId, '0', [{ n: 1 }])
        await api.putChunk(stashId, '1', [{ n: 2 }])
        return { body: { $stashID: stashId } }
      },
      2,
    ],
  ]

const forms: ContractCase[] = FORMS.flatMap(([what, options, rows]) => [
  {
    name: `an add of ${what} with the same Idempotency-Key answers the first result again`,
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const request = keyed(await options(api))
      const first = await api.ok('POST', table.rows, request)
      await api.ok('POST', table.rows, { body: [{ n: 3 }] })
      assert.deepEqual(told(await api.send('POST', table.rows, request)), told(first))
      const ids = (await api.rowsOf(table)).map(({ $rowID }) => $rowID)
      assert.equal(ids.length, rows + 1)
      assert.deepEqual(ids.slice(0, rows), rowIdsOf(first))
    },
  },
  {
    name: `a create from ${what} with the same Idempotency-Key answers the first result again`,
    run: async (api) => {
      const name = uniqueName('made')
      const given = await options(api)
      const isStash = what === 'a stash'
      const request = keyed(isStash ? { body: { name, rows: given.body } } : given)
      const path = isStash ? '/tables' : `/tables?name=${name}`
      const first = await api.ok('POST', path, request)
      assert.deepEqual(told(await api.send('POST', path, request)), told(first))
      assert.equal(await api.tableCount(name), 1)
      const { data } = first.json as { data: { tableID: string; rowIDs: string[] } }
      const ids = (await api.rowsOf(tableAt(data.tableID))).map(({ $rowID }) => $rowID)
      assert.deepEqual(ids, data.rowIDs)
      assert.equal(ids.length, rows)
    },
  },
])

const rules: ContractCase[] = [
  {
    name: 'eight adds at once with one Idempotency-Key: one effect, eight equal answers',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const request = keyed({ body: [{ n: 1 }, { n: 2 }] })
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => api.ok('POST', table.rows, request)),
      )
      assert.equal(new Set(replies.map((reply) => JSON.stringify(told(reply)))).size, 1)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }, { n: 2 }])
      assert.equal(await api.versionOf(table), 2)
    },
  },
  {
    name: 'eight creates at once with one Idempotency-Key: one table, eight equal answers',
    run: async (api) => {
      const name = uniqueName('made')
      const request = keyed({ body: { name, rows: [{ n: 1 }] } })
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => api.ok('POST', '/tables', request)),
      )
      assert.equal(new Set(replies.map((reply) => JSON.stringify(told(reply)))).size, 1)
      assert.equal(await api.tableCount(name), 1)
    },
  },
  {
    name: 'without an Idempotency-Key, and with another one, the rows are added again',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      for (const options of [{}, {}, keyed({}), keyed({})]) {
        await api.ok('POST', table.rows, { ...options, body: [{ n: 1 }] })
      }
      assert.equal((await api.rowsOf(table)).length, 4)
    },
  },
  {
    name: 'an Idempotency-Key with another path is another request: an add to another table is refused',
    run: async (api) => {
      const [left, right] = [
        await api.createTyped({ n: 'number' }),
        await api.createTyped({ n: 'number' }),
      ]
      const request = keyed({ body: [{ n: 1 }] })
      const first = await api.ok('POST', left.rows, request)
      await api.refused('POST', right.rows, request, REUSED)
      assert.deepEqual(told(await api.ok('POST', left.rows, request)), told(first))
      assert.deepEqual(await api.cellsOf(left), [{ n: 1 }])
      assert.deepEqual(await api.cellsOf(right), [])
      assert.equal(await api.versionOf(right), 1)
    },
  },
  {
    name: 'an Idempotency-Key of a create is refused for an add, and that of an add for a create',
    run: async (api) => {
      const key = uniqueName('key')
      const name = uniqueName('made')
      const create = keyed({ body: { name, rows: [] } }, key)
      const { json } = await api.ok('POST', '/tables', create)
      const table = tableAt((json as { data: { tableID: string } }).data.tableID)
      const add = keyed({ body: [{}] }, key)
      await api.refused('POST', table.rows, add, REUSED)
      assert.deepEqual((await api.ok('POST', '/tables', create)).json, json)
      const added = keyed({ body: [{}] })
      await api.ok('POST', table.rows, added)
      const refused = keyed({ body: { name, rows: [] } }, added.headers?.['idempotency-key'])
      await api.refused('POST', '/tables', refused, REUSED)
      assert.equal(await api.tableCount(name), 1)
      assert.deepEqual(await api.cellsOf(table), [{}])
    },
  },
  {
    name: 'an Idempotency-Key is one of its team',
    run: async (api) => {
      const name = uniqueName('made')
      const request = keyed({ body: { name, rows: [] } })
      const { otherKey } = api.server
      const first = await api.ok('POST', '/tables', request)
      const second = await api.ok('POST', '/tables', { ...request, key: otherKey })
      assert.notEqual(first.text, second.text)
      const { data } = first.json as { data: { tableID: string } }
      const { rows } = tableAt(data.tableID)
      const add = keyed({ body: [{}] })
      await api.refused('POST', rows, { ...add, key: otherKey }, TABLE_NOT_FOUND)
    },
  },
  {
    name: 'a refused request leaves its Idempotency-Key unused',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const key = uniqueName('key')
      await api.refused('POST', table.rows, keyed({ body: [{ n: 'x' }] }, key), invalidValue('n'))
      await api.refused('POST', table.rows, keyed({ body: '[{' }, key), VALIDATION)
      const none = { $stashID: uniqueName('none') }
      await api.refused('POST', table.rows, keyed({ body: none }, key), STASH_NOT_FOUND)
      const name = uniqueName('made')
      const refused = keyed({ body: { name, rows: none } }, key)
      await api.refused('POST', '/tables', refused, STASH_NOT_FOUND)

      await api.ok('POST', table.rows, keyed({ body: [{ n: 1 }] }, key))
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
      assert.equal(await api.tableCount(name), 0)
    },
  },
  {
    name: 'a repeat does not need its stash to be there any more',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      const add = keyed({ body: { $stashID: stashId } })
      const create = keyed({ body: { name: uniqueName('made'), rows: { $stashID: stashId } } })
      const added = await api.ok('POST', table.rows, add)
      const created = await api.ok('POST', '/tables', create)
      await api.ok('DELETE', `/stashes/${stashId}`)
      assert.deepEqual(told(await api.send('POST', table.rows, add)), told(added))
      assert.deepEqual(told(await api.send('POST', '/tables', create)), told(created))
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  },
  {
    name: 'the same Idempotency-Key with another add is 422, and nothing changes',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const [left, right] = [uniqueName('s'), uniqueName('s')]
      for (const stashId of [left, right]) await api.putChunk(stashId, '0', [{ n: 3 }])
      const body = '[{"n":1}]'
      const FIRSTS: readonly (readonly [first: SendOptions, others: readonly SendOptions[]])[] = [
        [{ body }, [{ body: '[{"n":2}]' }, { body: '[{"n": 1}]' }, { body: '[{"n":"x"}]' }]],
        [{ body }, [{ body: '[]' }, { body: '[{' }, { body: { $stashID: left } }]],
        [{ body: 'n\n1', type: CSV }, [{ body: 'n\n1', type: TSV }, { body }]],
        [{ body: { $stashID: left } }, [{ body: { $stashID: right } }]],
      ]
      for (const [first, others] of FIRSTS) {
        const key = uniqueName('key')
        const added = await api.ok('POST', table.rows, keyed(first, key))
        const before = await api.textOf(table)
        for (const other of others) {
          await api.refused('POST', table.rows, keyed(other, key), REUSED)
        }
        const query = `${table.rows}?onSchemaError=dropColumns`
        await api.refused('POST', query, keyed(first, key), REUSED)
        assert.deepEqual(told(await api.send('POST', table.rows, keyed(first, key))), told(added))
        assert.deepEqual(
          told(await api.send('POST', `${table.rows}/`, keyed(first, key))),
          told(added),
        )
        assert.equal(await api.textOf(table), before)
      }
    },
  },
  {
    name: 'the same Idempotency-Key with another create is 422, and no table is made',
    run: async (api) => {
      const key = uniqueName('key')
      const name = uniqueName('made')
      const body = { name, rows: [{ n: 1 }] }
      const first = await api.ok('POST', '/tables', keyed({ body }, key))
      const other = uniqueName('other')
      const schema = { columns: [{ id: 'n', type: { kind: 'number' } }] }
      for (const changed of [
        { ...body, name: other },
        { ...body, schema },
        { ...body, rows: [{ n: 2 }] },
        { ...body, appsToLink: [] },
      ]) {
        await api.refused('POST', '/tables', keyed({ body: changed }, key), REUSED)
      }
      const path = `/tables?name=${name}`
      await api.refused('POST', path, keyed({ body: body.rows }, key), REUSED)
      assert.deepEqual(told(await api.send('POST', '/tables', keyed({ body }, key))), told(first))
      assert.deepEqual([await api.tableCount(name), await api.tableCount(other)], [1, 0])
    },
  },
  {
    name: 'a repeat answers the first result whatever has become of its rows',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const request = keyed({ body: [{ n: 1 }, { n: 2 }] })
      const first = await api.ok('POST', table.rows, request)
      await api.ok('DELETE', `${table.rows}/${rowIdsOf(first)[0]}`)
      await api.ok('PUT', table.path, { body: [{ n: 3 }] })
      assert.deepEqual(told(await api.send('POST', table.rows, request)), told(first))
      assert.deepEqual(await api.cellsOf(table), [{ n: 3 }])
      assert.equal(await api.versionOf(table), 4)
    },
  },
  {
    name: 'a repeat with a bad query, or of a type that is not supported, is refused as any request',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const request = keyed({ body: [{ n: 1 }] })
      await api.ok('POST', table.rows, request)
      await api.refused('POST', `${table.rows}?onSchemaError=x`, request, VALIDATION)
      const { status } = await api.send('POST', table.rows, { ...request, type: 'text/plain' })
      assert.equal(status, 415)
    },
  },
  {
    name: 'a repeated create still tells the apps that it was asked to link',
    run: async (api) => {
      const request = keyed({
        body: { name: uniqueName('made'), rows: [], appsToLink: ['app-1'] },
      })
      const first = await api.ok('POST', '/tables', request)
      assert.deepEqual(told(await api.send('POST', '/tables', request)), told(first))
    },
  },
]

export const repeatCases: readonly ContractCase[] = [...forms, ...rules]
