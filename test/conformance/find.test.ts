// Finding rows over HTTP: CONTRACT.md, section 6. The OpenAPI document has every answer.
import { expect, onTestFinished, test } from 'vitest'
import { openMemory } from '../../src/index.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { Api } from './contract/api.js'
import { serveContract } from './contract-server.js'
import { type PlainReply, send } from './plain-request.js'

type Answer = Readonly<{
  data: readonly Readonly<Record<string, unknown>>[]
  continuation?: string
}>

async function serveRows(rows: readonly object[], pageBytesMax = 16 * 1024 * 1024) {
  const proof = new OpenApiProof()
  const server = await serveContract((options) => openMemory({ ...options, pageBytesMax }), {
    proof,
  })
  onTestFinished(() => server.close())
  const { rows: path } = await new Api(server).createTable({ rows })
  const get = (query: Readonly<Record<string, string>>): Promise<PlainReply> =>
    send(server, 'GET', `${path}?${new URLSearchParams(query)}`)
  const found = async (where: unknown, query: Readonly<Record<string, string>> = {}) => {
    const { status, json } = await get({ where: JSON.stringify(where), ...query })
    expect(status).toBe(200)
    return json as Answer
  }
  return { get, found, server, path }
}

const ROWS = [
  { n: 1, s: 'a', tags: ['x'] },
  { n: 2, s: 'b' },
  { n: 3, s: 'c', tags: ['x', 'y'] },
]

test('a page has the rows that match, and the cells that are asked for', async () => {
  const { found, get } = await serveRows(ROWS)

  expect((await found({ n: { gt: 1 } })).data).toMatchObject([{ n: 2 }, { n: 3 }])
  expect((await found({ tags: { has: 'y' } }, { columns: 'n' })).data).toEqual([
    { $rowID: expect.any(String), n: 3 },
  ])
  const { json } = await get({ columns: '["s","n"]', from: '2' })
  expect((json as Answer).data).toEqual([{ $rowID: expect.any(String), n: 3, s: 'c' }])
})

test('pages continue, also those without rows', async () => {
  const { found } = await serveRows(ROWS)
  const first = await found({ n: { gte: 1 } }, { limit: '2' })
  const second = await found(
    { n: { gte: 1 } },
    { limit: '2', continuation: first.continuation ?? '' },
  )

  expect(first.data).toMatchObject([{ n: 1 }, { n: 2 }])
  expect(second).toMatchObject({ data: [{ n: 3 }] })
  expect(second.continuation).toBeUndefined()
})

test('rows in an order, page after page, and their number', async () => {
  const rows = Array.from({ length: 7 }, (_, at) => ({ n: (at * 3) % 7, s: `${at % 2}` }))
  const { get } = await serveRows([...rows, { s: '2' }])
  const seen: unknown[] = []
  let query: Record<string, string> = { sort: '-s,n', limit: '3', total: 'true' }
  for (;;) {
    const { json } = await get(query)
    const page = json as { data: { n?: number }[]; continuation?: string; total: number }
    expect(page.total).toBe(8)
    seen.push(...page.data.map(({ n }) => n))
    if (page.continuation === undefined) break
    query = { ...query, continuation: page.continuation }
  }

  expect(seen).toEqual([undefined, 1, 2, 3, 0, 4, 5, 6])
  const sort = '[{"column":"n","descending":true}]'
  expect((await get({ sort, from: '1', limit: '1' })).json).toMatchObject({ data: [{ n: 5 }] })
  const where = '{"n":{"gte":5}}'
  expect((await get({ where, total: 'true', columns: 'n', limit: '1' })).json).toMatchObject({
    data: [{ n: 6 }],
    total: 2,
  })
  const other = await get({ ...query, sort: 's' })
  expect(other).toMatchObject({
    status: 400,
    json: { error: { type: 'request_validation_error' } },
  })
})

test('a page of more than a megabyte is cut, and one row fits in any case', async () => {
  const s = 'x'.repeat(700_000)
  const { found } = await serveRows([{ s }, { s }])
  const first = await found({ s: { contains: 'xx' } })

  expect(first.data).toHaveLength(1)
  expect(
    (await found({ s: { contains: 'xx' } }, { continuation: first.continuation ?? '' })).data,
  ).toHaveLength(1)
})

test('integers beyond 2^53 are compared exactly', async () => {
  const { get } = await serveRows([{ n: 1 }])

  expect((await get({ where: '{"n":{"lt":9007199254740993}}' })).json).toMatchObject({
    data: [{ n: 1 }],
  })
})

test.each<[string, Readonly<Record<string, string>>]>([
  ['where is not JSON', { where: '{' }],
  ['nested too deeply', { where: '['.repeat(100) + ']'.repeat(100) }],
  ['must be an object', { where: '[]' }],
  ['no column "missing"', { where: '{"missing":1}' }],
  ['invalid value for gt of column "n": must be a finite number', { where: '{"n":{"gt":"x"}}' }],
  ['columns must be', { columns: '[5]' }],
  ['columns: the table has no column "missing"; it has "n"', { columns: 'missing' }],
  ['from must be a row number', { from: '-1' }],
  ['sort: the table has no column "missing"; it has "n"', { sort: '-missing' }],
  ['sort must be an array of 1 to 8 columns', { sort: '[]' }],
  ['A column of sort must be an object', { sort: '["n"]' }],
  ['sort takes no "desc"', { sort: '[{"column":"n","desc":true}]' }],
  ['sort is not JSON', { sort: '[' }],
  ['total must be true or false', { total: 'yes' }],
  ['from cannot be combined with a continuation', { from: '1', continuation: 'x' }],
])('%s is 400', async (message, query) => {
  const { get } = await serveRows(ROWS)
  const { status, json } = await get(query)

  expect(status).toBe(400)
  expect(json).toMatchObject({ error: { type: 'request_validation_error' } })
  expect(JSON.stringify(json)).toContain(JSON.stringify(`Invalid request query: `).slice(1, -1))
  expect((json as { error: { message: string } }).error.message).toContain(message)
})

test('the key of a merge names a column: 400 says which was probably meant', async () => {
  const { server, path } = await serveRows([{ email: 'a', n: 1 }])
  const merge = path.replace(/rows$/, 'merge?key=emial')
  const { status, json } = await send(server, 'POST', merge, { body: [] })

  const message = expect.stringContaining(
    'column "emial"; did you mean "email"? It has "email", "n"',
  )
  expect([status, json]).toMatchObject([
    400,
    { error: { type: 'request_validation_error', message } },
  ])
})

test('a missing table is 404, whatever the condition', async () => {
  const { server } = await serveRows([])
  const { status } = await send(server, 'GET', '/tables/x/rows?where={"missing":1}')

  expect(status).toBe(404)
})
