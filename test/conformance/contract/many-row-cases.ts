// CONTRACT.md, section 6: one request changes or deletes many rows.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  PRECONDITION,
  RESERVED,
  type Reply,
  ROW_NOT_FOUND,
  type SendOptions,
  type TableAt,
  TOO_LARGE,
  UNSUPPORTED,
  uniqueName,
  unknownColumn,
  VALIDATION,
} from './api.js'

const NO_ROW = 'AAAAAAAAAAAAAAAAAAAAAA'

type Change = Readonly<{ rowID?: unknown; cells?: unknown; ifMatch?: unknown }>

type Problem = Readonly<{ row: number; type: string; column?: string; message: string }>

async function threeRows(api: Api): Promise<TableAt> {
  return api.createTyped({ n: 'number', s: 'string' }, [{ n: 0 }, { n: 1 }, { n: 2 }])
}

const numbers = async (api: Api, table: TableAt) => (await api.cellsOf(table)).map(({ n }) => n)

/** Sends a request that must be refused and must change nothing. */
async function refusedWhole(
  api: Api,
  method: 'PATCH' | 'DELETE',
  table: TableAt,
  options: SendOptions,
  wanted: Parameters<Api['refused']>[3],
  query = '',
): Promise<readonly Problem[]> {
  const before = [await api.versionOf(table), await api.textOf(table)]
  const path = table.rows + query
  await api.refused(method, path, options, wanted)
  const { json } = await api.send(method, path, options)
  assert.deepEqual([await api.versionOf(table), await api.textOf(table)], before)
  return (json as { error: { problems?: Problem[] } }).error.problems ?? []
}

const updates: ContractCase[] = [
  {
    name: 'PATCH of many rows → 200 {}, one version for all of them',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b, c] = table.rowIds
      const version = await api.versionOf(table)
      const body = [
        { rowID: c, cells: { n: 20, s: 'x' } },
        { rowID: a, cells: { n: null, $rowID: b }, ifMatch: version },
      ]
      const reply = await api.ok('PATCH', table.rows, { body })
      assert.equal(reply.text, '{}')
      assert.equal(etagOf(reply), `"${version + 1}"`)
      assert.deepEqual(await api.cellsOf(table), [{}, { n: 1 }, { n: 20, s: 'x' }])
      assert.equal(etagOf(await api.ok('GET', `${table.rows}/${a}`)), `"${version + 1}"`)
      assert.equal(etagOf(await api.ok('GET', `${table.rows}/${b}`)), `"${version}"`)
    },
  },
  {
    name: 'PATCH of many rows keeps tokens as they are sent',
    run: async (api) => {
      const table = await threeRows(api)
      const cells = '{"n":34.50,"n":12345678901234567890.0,"s":"\\u0061"}'
      const body = `\ufeff [ {"ifMatch":99999999999999999999,"rowID":"${table.rowIds[0]}", "cells" : ${cells} } ]`
      await api.ok('PATCH', table.rows, { body })
      assert.ok((await api.textOf(table)).includes('"n":12345678901234567890.0,"s":"\\u0061"'))
    },
  },
  {
    name: 'PATCH of no rows, and of rows without cells, makes no version',
    run: async (api) => {
      const table = await threeRows(api)
      const [a = ''] = table.rowIds
      for (const body of [[], [{ rowID: a, cells: {} }]]) {
        assert.equal(etagOf(await api.ok('PATCH', table.rows, { body })), '"1"')
      }
    },
  },
  {
    name: 'PATCH of many rows is all or nothing, and names each row that has a problem',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b, c] = table.rowIds
      await api.ok('PATCH', `${table.rows}/${b}`, { body: { s: 'newer' } })
      const ok = { rowID: a, cells: { n: 7 } }
      const gone = { rowID: NO_ROW, cells: { n: 7 } }
      const old = { rowID: b, cells: { n: 'not looked at' }, ifMatch: 1 }
      const wrong = { rowID: c, cells: { n: 'x' } }
      const refused = (body: unknown, wanted: Parameters<Api['refused']>[3]) =>
        refusedWhole(api, 'PATCH', table, { body }, wanted)

      const all = await refused([ok, wrong, old, gone], ROW_NOT_FOUND)
      assert.deepEqual(
        all.map(({ row, type, column }) => [row, type, column]),
        [
          [1, 'column_has_invalid_value', 'n'],
          [2, 'precondition_failed', undefined],
          [3, 'row_not_found', undefined],
        ],
      )
      assert.match(all[1]?.message ?? '', /after version 1: it is at version 2; .*row 2 \(counted/)
      assert.equal((await refused([wrong, ok, old], PRECONDITION)).length, 2)
      const [one, ...more] = await refused([ok, wrong], invalidValue('n'))
      assert.deepEqual([one?.row, more], [1, []])
      await refused([ok, { rowID: b, cells: { m: 1 } }], unknownColumn('m'))
      await refused([ok, { rowID: b, cells: { $stashID: 1 } }], RESERVED)
      const twice = await refused([ok, { rowID: a, cells: {} }, gone], VALIDATION)
      assert.deepEqual(
        twice.map(({ row, type }) => [row, type]),
        [
          [1, 'request_validation_error'],
          [2, 'row_not_found'],
        ],
      )
    },
  },
  {
    name: 'PATCH of many rows that would give two rows one key is 422, and rows may exchange their keys',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b] = table.rowIds
      await api.ok('PATCH', table.path, { body: { key: ['n'] } })
      const wanted = { status: 422, type: 'key_not_unique' }
      const body = [{ rowID: a, cells: { n: 1 } }]
      assert.deepEqual(await refusedWhole(api, 'PATCH', table, { body }, wanted), [])
      await api.ok('PATCH', table.rows, { body: [...body, { rowID: b, cells: { n: 0 } }] })
      assert.deepEqual(await numbers(api, table), [1, 0, 2])
    },
  },
  {
    name: 'Of more than 100 rows with problems, the first 100 are named, and all are counted',
    run: async (api) => {
      const table = await threeRows(api)
      const [a] = table.rowIds
      const body: Change[] = Array.from({ length: 150 }, (_, at) => ({
        rowID: at === 149 ? NO_ROW : `${NO_ROW.slice(4)}${1_000 + at}`,
        cells: {},
      }))
      const { json } = await api.send('PATCH', table.rows, {
        body: [{ rowID: a, cells: {} }, ...body],
      })
      const { error } = json as { error: { problems: Problem[]; problemCount: number } }
      assert.deepEqual([error.problems.length, error.problemCount], [100, 150])
      assert.equal(error.problems.at(-1)?.row, 100)
    },
  },
  {
    name: 'PATCH of many rows takes onSchemaError',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b] = table.rowIds
      const body = [
        { rowID: a, cells: { n: 'x', m: 1 } },
        { rowID: b, cells: { m: 2 } },
      ]
      await api.ok('PATCH', `${table.rows}?onSchemaError=dropColumns`, { body })
      assert.deepEqual(await numbers(api, table), [0, 1, 2])
      await api.ok('PATCH', `${table.rows}?onSchemaError=updateSchema`, { body })
      assert.deepEqual(await api.cellsOf(table), [{ n: 'x', m: 1 }, { n: '1', m: 2 }, { n: '2' }])
      const odd = [
        { rowID: a, cells: { k: {} } },
        { rowID: b, cells: { k: 1 } },
      ]
      const query = '?onSchemaError=updateSchema'
      const problems = await refusedWhole(
        api,
        'PATCH',
        table,
        { body: odd },
        invalidValue('k'),
        query,
      )
      assert.deepEqual(
        problems.map(({ row, column }) => [row, column]),
        [[0, 'k']],
      )
    },
  },
]

const deletions: ContractCase[] = [
  {
    name: 'DELETE of many rows → 200, with how many there were, in one version',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b, c] = table.rowIds
      const body = [{ rowID: a }, { rowID: NO_ROW }, { rowID: c, ifMatch: 1 }, { rowID: a }]
      const reply = await api.ok('DELETE', table.rows, { body })
      assert.deepEqual(reply.json, { data: { deleted: 2, missing: 2 } })
      assert.equal(etagOf(reply), '"2"')
      assert.deepEqual(
        (await api.rowsOf(table)).map(({ $rowID }) => $rowID),
        [b],
      )
      const again = await api.ok('DELETE', table.rows, { body })
      assert.deepEqual([again.json, etagOf(again)], [{ data: { deleted: 0, missing: 4 } }, '"2"'])
    },
  },
  {
    name: 'DELETE of many rows is all or nothing, and names each row that has changed',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b, c] = table.rowIds
      await api.ok('PATCH', `${table.rows}/${b}`, { body: { n: 10 } })
      const body = [
        { rowID: a, ifMatch: 1 },
        { rowID: b, ifMatch: 1 },
        { rowID: c, ifMatch: 0 },
      ]
      const problems = await refusedWhole(api, 'DELETE', table, { body }, PRECONDITION)
      assert.deepEqual(
        problems.map(({ row }) => row),
        [1, 2],
      )
      await api.ok('DELETE', table.rows, { body: [{ rowID: b, ifMatch: 2 }] })
      assert.deepEqual(await numbers(api, table), [0, 2])
    },
  },
]

const BAD_BODIES: readonly (readonly [what: string, body: unknown, message?: RegExp])[] = [
  ['nothing', ' ', /send an array/],
  ['an object', { rowID: NO_ROW, cells: {} }, /send an array/],
  ['no JSON', '[{"rowID":"x"'],
  ['a row that is no object', ['x'], /row 0 \(counted from 0\) must be/],
  ['a row without its ID', [{ cells: {} }], /'rowID' is missing; row 0/],
  ['an ID that is no text', [{ rowID: 1, cells: {} }]],
  ['another member', [{ rowID: NO_ROW, cells: {}, n: 1 }], /unexpected property 'n'; row 0/],
  ...['"1"', '1.5', '-1', '1e2', 'null', `1${'0'.repeat(400)}`].map(
    (version) =>
      [
        `ifMatch ${version.slice(0, 8)}`,
        `[{"rowID":"${NO_ROW}","cells":{},"ifMatch":${version}}]`,
        /'ifMatch' must be a version/,
      ] as const,
  ),
  ['more than 10,000 rows', Array(10_001).fill({ rowID: NO_ROW, cells: {} }), /10000 rows/],
]

const refusals: ContractCase[] = [
  ...BAD_BODIES.map(([what, body, message]) => ({
    name: `PATCH and DELETE of many rows with ${what} is 400`,
    run: async (api: Api) => {
      const table = await threeRows(api)
      const wanted = { ...VALIDATION, ...(message && { message }) }
      await refusedWhole(api, 'PATCH', table, { body }, wanted)
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const of = text
        .replaceAll(',"cells":{}', '')
        .replaceAll('"cells":{},', '')
        .replaceAll('"cells":{}', '')
      await refusedWhole(api, 'DELETE', table, { body: of }, wanted)
    },
  })),
  ...[undefined, 1, [], null, 'x'].map((cells) => ({
    name: `PATCH of many rows with cells ${JSON.stringify(cells)} is 400`,
    run: async (api: Api) => {
      const table = await threeRows(api)
      const body = [{ rowID: table.rowIds[0], cells }]
      await refusedWhole(api, 'PATCH', table, { body }, { ...VALIDATION, message: /'cells'/ })
    },
  })),
  {
    name: 'PATCH and DELETE of many rows without a body, of another type, and of too many bytes are refused',
    run: async (api) => {
      const table = await threeRows(api)
      for (const method of ['PATCH', 'DELETE'] as const) {
        await refusedWhole(api, method, table, {}, VALIDATION)
        await refusedWhole(api, method, table, { body: 'n\n1', type: CSV }, UNSUPPORTED)
        await refusedWhole(api, method, table, { body: 'x'.repeat(17 << 20) }, TOO_LARGE)
      }
    },
  },
  {
    name: 'PATCH and DELETE of many rows with If-Match or validate are 400: neither is for a list',
    run: async (api) => {
      const table = await threeRows(api)
      const [rowID] = table.rowIds
      for (const [method, body] of [
        ['PATCH', [{ rowID, cells: { n: 5 } }]],
        ['DELETE', [{ rowID }]],
      ] as const) {
        const headers = { 'if-match': '"1"' }
        await refusedWhole(
          api,
          method,
          table,
          { body, headers },
          { ...VALIDATION, message: /ifMatch/ },
        )
        await refusedWhole(api, method, table, { body }, VALIDATION, '?validate=only')
      }
    },
  },
]

/** The parts of an answer that clients use. */
function told(reply: Reply): unknown {
  return [reply.status, etagOf(reply), reply.text]
}

const repeats: ContractCase[] = [
  {
    name: 'PATCH and DELETE of many rows with the same Idempotency-Key answer the first result again',
    run: async (api) => {
      const table = await threeRows(api)
      const [a, b, c] = table.rowIds
      const keyed = (body: unknown) => ({ body, headers: { 'idempotency-key': uniqueName('key') } })
      const update = keyed([{ rowID: a, cells: { n: 5 }, ifMatch: 1 }])
      const deletion = keyed([{ rowID: b, ifMatch: 1 }, { rowID: NO_ROW }])
      const first = await api.ok('PATCH', table.rows, update)
      const second = await api.ok('DELETE', table.rows, deletion)
      await api.ok('PATCH', `${table.rows}/${a}`, { body: { n: 6 } })
      assert.deepEqual(told(await api.send('PATCH', table.rows, update)), told(first))
      assert.deepEqual(told(await api.send('DELETE', table.rows, deletion)), told(second))
      assert.deepEqual(await numbers(api, table), [6, 2])
      const { headers } = update
      const other = { body: [{ rowID: c, cells: { n: 5 } }], headers }
      const reused = { status: 422, type: 'request_validation_error' }
      await refusedWhole(api, 'PATCH', table, other, reused)
      await refusedWhole(api, 'DELETE', table, { body: [{ rowID: c }], headers }, reused)
    },
  },
]

export const manyRowCases: readonly ContractCase[] = [
  ...updates,
  ...deletions,
  ...refusals,
  ...repeats,
]
