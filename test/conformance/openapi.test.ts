// Goal: the OpenAPI document and the contract agree both ways. The document has every answer of the contract suite,
// here on a store in memory; and each answer of the document occurs at least once.
// Method: answers that a server with default options cannot give come from other servers: with limits, known apps, a
// quota and admin keys, and over a store that fails on command.
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { MemoryLevel } from 'memory-level'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { memoryObjects, openLevelKv, openMemory, openStore } from '../../src/index.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { Api } from './contract/api.js'
import { announce, head, RawConnection, sendRaw } from './contract/raw-http.js'
import { serveContract } from './contract-server.js'
import type { ContractServer } from './contract-suite.js'
import { contractSuite } from './contract-suite.js'
import { FAILURES, failingStore } from './failing-store.js'
import { SOURCE_URLS, contractSources as sources } from './fake-sources.js'
import { proveKeys } from './key-requests.js'
import { requestOf, send } from './plain-request.js'
import { openSigningObjects } from './signing-objects.js'

const proof = new OpenApiProof()

const ADMIN_KEY = 'a-key-of-whoever-runs-the-server'
const DIRECT = { contentType: 'image/png', fileName: 'a.png' }
const MINUTE_MS = 60_000

/** A body that stops coming is refused after 10 seconds, while the other tests run. */
let slow: Promise<void> = Promise.resolve()
let slowServer: ContractServer | undefined

beforeAll(async () => {
  const server = await serveContract(() => openMemory(), { proof })
  slowServer = server
  slow = sendSlowly(server)
  slow.catch(() => {}) // The last test awaits it.
})

afterAll(() => slowServer?.close())

/** Whether an operation needs an admin key. */
function isOfOperator(path: string): boolean {
  return /^\/(?:admin\/|metrics$)/.test(path)
}

async function sendSlowly(server: ContractServer): Promise<void> {
  const path = '/tables'
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(server.url + path, { method: 'POST', headers }, resolve)
    sent.on('error', reject)
    sent.write('{')
  })
  server.onExchange?.({
    method: 'POST',
    path,
    status: answered.statusCode ?? 0,
    headers: new Headers(answered.headers as Record<string, string>),
    text: await text(answered),
    request: { headers: new Headers(headers) },
  })
}

describe('the contract over HTTP on a store in memory', () => {
  const open = (): Promise<ContractServer> =>
    serveContract((options) => openMemory({ ...options, sources }), { proof })
  for (const { name, run } of contractSuite(open)) test(name, run)
})

/** Sends a body to an operation that takes none, which fetch cannot. */
async function sendBody(api: Api, method: string, path: string): Promise<void> {
  const lines = head(api, `${method} ${path}`, 'Content-Length: 2')
  const connection = new RawConnection(api)
  connection.write(`${lines.join('\r\n')}\r\n\r\n{}`)
  const reply = await connection.reply(method)
  announce(api, lines, method === 'HEAD' ? { ...reply, body: '' } : reply)
  connection.close()
  expect(reply.status).toBe(400)
}

describe('answers that take a server of their own', () => {
  test('limits, known apps and a quota', async () => {
    const server = await serveContract(
      (options) =>
        openMemory({ ...options, sources, fileBytesMax: 100, quota: ({ bytes }) => bytes !== 5 }),
      { proof, apps: ['a'], bodyBytesMax: 1_024 },
    )
    const post = (path: string, body: unknown) => send(server, 'POST', path, { body })
    const uploadOf = async () => {
      const { json } = await post('/apps/a/uploads', DIRECT)
      const { uploadID, uploadLocation } = (json as { data: Record<string, string> }).data
      const location = (uploadLocation ?? '').slice(server.url.length)
      return { location, completion: `/apps/a/uploads/${uploadID}/complete` }
    }
    const put = (location: string, body: string) =>
      send(server, 'PUT', location, { body, type: 'image/png', key: null })

    expect((await post('/apps/b/uploads', DIRECT)).status).toBe(403)
    expect((await post('/apps/a/uploads', { ...DIRECT, fileName: 'x'.repeat(2_000) })).status).toBe(
      413,
    )
    const tooLong = { fromUrl: SOURCE_URLS.csv, displayName: 'x'.repeat(2_000) }
    expect((await post('/tables/import', tooLong)).status).toBe(413)
    expect((await post('/apps/a/uploads', { sourceURL: SOURCE_URLS.plain })).status).toBe(402)
    const refused = await uploadOf()
    expect((await put(refused.location, 'x'.repeat(101))).status).toBe(413)
    expect((await put(refused.location, 'hello')).status).toBe(200)
    expect((await post(refused.completion, undefined)).status).toBe(402)
    expect((await post('/apps/%zz/uploads/x/complete', undefined)).status).toBe(400)
    const expired = await uploadOf()
    await server.later?.(16 * MINUTE_MS)
    expect((await put(expired.location, 'late')).status).toBe(403)
    await server.close()
  })

  test('a team at its limits', async () => {
    const limits = {
      ...{ tablesMax: 1, tableNamesBytesMax: 10, stashesMax: 0 },
      ...{ idempotencyKeysMax: 0, teamRowBytesMax: 0 },
    }
    const server = await serveContract(
      (options) => openMemory({ ...options, sources, ...limits }),
      {
        proof,
      },
    )
    const post = (path: string, body: unknown) => send(server, 'POST', path, { body })
    const schema = { columns: [{ id: 'a', type: 'number' }] }
    const { json } = await post('/tables', { name: 'T', schema, rows: [] })
    const { tableID } = (json as { data: Record<string, string> }).data
    expect((await post('/tables', { name: 'U', rows: [] })).status).toBe(403)
    expect((await post('/tables/import', { fromUrl: SOURCE_URLS.csv })).status).toBe(403)
    expect((await send(server, 'PUT', '/stashes/s/0', { body: [] })).status).toBe(403)
    const renamed = { name: 'longer than it may be' }
    expect((await send(server, 'PATCH', `/tables/${tableID}`, { body: renamed })).status).toBe(403)
    const rows = [{ a: 1 }]
    expect((await send(server, 'PUT', `/tables/${tableID}`, { body: rows })).status).toBe(403)
    expect((await post(`/tables/${tableID}/merge?key=a`, rows)).status).toBe(403)
    const api = new Api(server)
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      const body = method === 'POST' ? '[{"a":1}]' : '[]'
      const lines = head(
        api,
        `${method} /tables/${tableID}/rows`,
        'Idempotency-Key: k',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      )
      const connection = new RawConnection(api)
      connection.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
      const reply = await connection.reply(method)
      announce(api, lines, reply)
      expect(reply.status).toBe(403)
      connection.close()
    }
    await server.close()
    const small = await serveContract(
      (options) => openMemory({ ...options, teamRowBytesMax: 400 }),
      { proof },
    )
    const full = { name: 'T', rows: [{ a: 'x'.repeat(250) }] }
    const made = await send(small, 'POST', '/tables', { body: full })
    const of = (made.json as { data: Record<string, string> }).data
    const body = { column: 'a', type: 'markdown' }
    const converted = await send(small, 'POST', `/tables/${of['tableID']}/convert`, { body })
    expect(converted.status).toBe(403)
    await small.close()
  })

  test('an object store that signs for itself, which takes what it gets', async () => {
    const level = new MemoryLevel<Uint8Array, Uint8Array>()
    const [kv, objects] = await Promise.all([openLevelKv(level), openSigningObjects()])
    const server = await serveContract(
      (options) => openStore({ ...options, kv, objects, fileBytesMax: 10 }),
      { proof },
    )
    const complete = async (about: object, bytes: string) => {
      const { json } = await send(server, 'POST', '/apps/a/uploads', {
        body: { ...DIRECT, ...about },
      })
      const { uploadID, uploadLocation = '' } = (json as { data: Record<string, string> }).data
      await fetch(uploadLocation, { method: 'PUT', body: bytes })
      return (await send(server, 'POST', `/apps/a/uploads/${uploadID}/complete`)).status
    }

    expect(await complete({}, 'good')).toBe(200)
    expect(await complete({}, 'far too long')).toBe(413)
    expect(await complete({ contentLength: 5 }, 'four')).toBe(400)
    await server.close()
  })

  test('admin keys', async () => {
    const server = await serveContract((options) => openMemory(options), {
      proof,
      adminKeys: [ADMIN_KEY],
    })
    for (const [path, good, bad] of [
      ['/admin/verify', 'full=true', 'full=maybe'],
      ['/admin/backup', 'files=reference', 'files=some'],
    ]) {
      const key = ADMIN_KEY
      expect((await send(server, 'POST', `${path}?${good}`, { key })).status).toBe(200)
      expect((await send(server, 'POST', `${path}?${bad}`, { key })).status).toBe(400)
      expect((await send(server, 'POST', `${path}?${good}`)).status).toBe(404)
      expect((await send(server, 'GET', `${path}`, { key })).status).toBe(405)
    }
    for (const path of ['/metrics', '/admin/day']) {
      const read = (method: string, key: string) => send(server, method, path, { key })
      expect((await read('GET', ADMIN_KEY)).status).toBe(200)
      expect((await read('HEAD', ADMIN_KEY)).status).toBe(200)
      expect((await read('GET', server.key)).status).toBe(404)
      expect((await read('HEAD', server.key)).status).toBe(404)
      expect((await read('POST', ADMIN_KEY)).status).toBe(405)
    }
    await server.close()
  })

  test('a client with too many unknown keys', async () => {
    vi.useFakeTimers({ toFake: ['performance'] }) // all requests within one minute
    onTestFinished(() => void vi.useRealTimers())
    const server = await serveContract((options) => openMemory(options), {
      proof,
      adminKeys: [ADMIN_KEY],
      refusedKeysPerMinuteMax: 1,
    })
    const key = 'unknown-key'
    expect((await send(server, 'GET', '/tables', { key })).status).toBe(404)
    for (const operation of proof.openApi.operations) {
      const { id, method, path } = operation
      if (!isOfOperator(path)) continue
      expect([id, (await send(server, method, path, { key })).status]).toEqual([id, 429])
    }
    expect((await send(server, 'GET', '/no/such/path', { key })).status).toBe(429)
    expect((await send(server, 'POST', '/tables', { key })).status).toBe(429)
    await server.close()
  })

  test('keys that the store keeps', async () => {
    const server = await serveContract((options) => openMemory(options), {
      proof,
      adminKeys: [ADMIN_KEY],
      storedKeys: true,
      bodyBytesMax: 1_024,
    })
    const ask = (method: string, path: string, options: object = {}) =>
      send(server, method, path, { key: ADMIN_KEY, ...options })
    const rights = { scopes: ['read'], tables: ['00000000-0000-4000-8000-000000000000'] }
    const expiresAt = '2999-12-31T23:59:59.999Z'
    const added = await ask('POST', '/admin/keys', {
      body: { teamID: 'first', label: 'a report', ...rights, expiresAt },
    })
    expect(added.status).toBe(201)
    const { key, keyID, ...about } = (added.json as { data: Record<string, unknown> }).data
    expect(about).toMatchObject({ teamID: 'first', label: 'a report', ...rights, expiresAt })
    expect((await ask('POST', '/admin/keys', { body: { teamID: 'first' } })).status).toBe(201)
    expect((await send(server, 'GET', '/tables', { key: String(key) })).status).toBe(200)
    for (const [body, type, status] of [
      [{ teamID: '' }, 'application/json', 400],
      ['x'.repeat(2_000), 'application/json', 413],
      ['a', 'text/csv', 415],
    ] as const) {
      expect((await ask('POST', '/admin/keys', { body, type })).status).toBe(status)
    }
    const listed = (await ask('GET', '/admin/keys')).json as { data: object[] }
    expect(listed.data).toEqual([{ keyID, ...about }, expect.objectContaining({ label: '' })])
    expect((await ask('HEAD', '/admin/keys')).status).toBe(200)
    expect((await ask('DELETE', '/admin/keys/%zz')).status).toBe(400)
    expect((await ask('DELETE', `/admin/keys/${keyID}`)).status).toBe(200)
    expect((await ask('DELETE', `/admin/keys/${keyID}`)).status).toBe(404)
    expect((await send(server, 'GET', '/tables', { key: String(key) })).status).toBe(404)
    for (const method of ['GET', 'HEAD', 'POST'] as const) {
      expect((await send(server, method, '/admin/keys')).status).toBe(404)
    }
    expect((await ask('GET', '/admin/nothing')).status).toBe(404)
    await server.close()
  })

  test('hooks that refuse', async () => {
    for (const [hooks, refusal] of [
      [{ rateLimit: () => ({ retryAfterMs: 1_500 }) }, 429],
      [{ quota: () => false }, 402],
    ] as const) {
      const server = await serveContract((options) => openMemory(options), { proof, ...hooks })
      for (const operation of proof.openApi.operations) {
        const { id, responses } = operation
        // The bytes of a file need no key, and its quota is the store's.
        const isAsked = responses.has('403') && id !== 'putUpload'
        const isStoring = responses.has('402') && id !== 'completeUpload'
        if (!(refusal === 402 ? isStoring : isAsked)) continue
        const { method, path, ...options } = requestOf(operation)
        expect([id, (await send(server, method, path, options)).status]).toEqual([id, refusal])
      }
      await server.close()
    }
  })

  test('keys without the scope of an operation', async () => {
    const [key, otherKey] = ['a-key-without-any-scope', 'a-key-of-the-other-team']
    const keys = [
      { key, teamId: 'first', scopes: [] },
      { key: otherKey, teamId: 'second' },
    ]
    const server = await serveContract((options) => openMemory(options), { proof, keys })
    for (const operation of proof.openApi.operations) {
      if (!operation.responses.has('403')) continue
      const { method, path, ...options } = requestOf(operation)
      expect((await send(server, method, path, { ...options, key })).status).toBe(403)
    }
    await server.close()
  })

  test('pages of named origins', async () => {
    const origin = 'https://app.example.com'
    const server = await serveContract((options) => openMemory(options), {
      proof,
      cors: { origins: [origin] },
    })
    const api = new Api(server)
    for (const [line, status] of [
      ['OPTIONS /tables', 204],
      ['GET /tables', 200],
    ] as const) {
      const more = [`Origin: ${origin}`, 'Access-Control-Request-Method: POST']
      const reply = await sendRaw(api, head(api, line, ...more))
      expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([
        status,
        origin,
      ])
    }
    await server.close()
  })

  test('paths with invalid percent-encoding', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    for (const [method, path] of [
      ['HEAD', '/tables/%zz/rows'],
      ['HEAD', '/tables/x/rows/%zz'],
      ['HEAD', '/tables/x/receipts/%zz'],
      ['HEAD', '/tables/x/changes/%zz'],
      ['DELETE', '/tables/x/rows/%zz'],
      ['HEAD', '/stashes/%zz'],
    ] as const) {
      expect((await send(server, method, path)).status).toBe(400)
    }
    await server.close()
  })

  test('lists that are sent a body, and HEAD with parameters', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    const api = new Api(server)
    for (const path of ['/stashes', '/jobs', '/uploads', '/files']) {
      for (const method of ['GET', 'HEAD']) await sendBody(api, method, path)
    }
    expect((await send(server, 'DELETE', '/files/x?validate=only')).status).toBe(400)
    expect((await send(server, 'HEAD', '/files?limit=1&continuation=')).status).toBe(200)
    const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
    const row = `${table.rows}/${table.rowIds[0]}`
    await api.ok('PATCH', row, { body: { n: 2 } })
    expect((await send(server, 'HEAD', `${row}?at=2`)).status).toBe(200)
    expect((await send(server, 'HEAD', `${row}?at=1`)).status).toBe(410)
    await server.close()
  })

  test('HEAD of a stash', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    await new Api(server).putChunk('s', '0', [{ n: 1 }])
    expect((await send(server, 'HEAD', '/stashes/s')).status).toBe(200)
    await server.close()
  })

  test('HEAD of a receipt and of a change, and an unknown key', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    const headers = { prefer: 'return=receipt' }
    const body = { name: 'x', rows: [{ n: 1 }] }
    const { json } = await new Api(server).ok('POST', '/tables', { body, headers })
    const { tableID } = (json as { data: { tableID: string } }).data
    const path = `/tables/${tableID}/receipts`
    expect((await send(server, 'HEAD', `${path}/1`)).status).toBe(200)
    expect((await send(server, 'HEAD', `${path}/2`)).status).toBe(404)
    const changes = `/tables/${tableID}/changes`
    expect((await send(server, 'HEAD', `${changes}/1`)).status).toBe(200)
    expect((await send(server, 'HEAD', `${changes}/2`)).status).toBe(410)
    for (const method of ['GET', 'HEAD']) {
      expect((await send(server, method, `${path}/1`, { key: 'unknown' })).status).toBe(404)
      expect((await send(server, method, `${changes}/1`, { key: 'unknown' })).status).toBe(404)
    }
    await server.close()
  })

  test('a table that is read, altered and deleted oddly', async () => {
    const server = await serveContract((options) => openMemory(options), {
      proof,
      bodyBytesMax: 1_024,
    })
    const { path } = await new Api(server).createTable()
    const body = { name: 'x'.repeat(2_000) }
    expect((await send(server, 'HEAD', path)).status).toBe(200)
    expect((await send(server, 'HEAD', `${path}x`)).status).toBe(404)
    expect((await send(server, 'PATCH', path, { body })).status).toBe(413)
    for (const method of ['GET', 'HEAD', 'PATCH', 'DELETE']) {
      expect((await send(server, method, '/tables/%zz')).status).toBe(400)
      expect((await send(server, method, path, { key: 'unknown' })).status).toBe(404)
    }
    await server.close()
  })

  test('a table with a key', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    await proveKeys(server)
    await server.close()
  })

  test('rows that match, and some of their cells', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    const { rows } = await new Api(server).createTable({ rows: [{ n: 1, s: 'a' }, { n: 2 }] })
    const where = encodeURIComponent('{"n":{"gt":1}}')
    const { status, json } = await send(server, 'GET', `${rows}?where=${where}&columns=n&from=1`)
    expect({ status, json }).toMatchObject({ status: 200, json: { data: [{ n: 2 }] } })
    expect((await send(server, 'GET', `${rows}?where=%7B`)).status).toBe(400)
    const sorted = await send(server, 'GET', `${rows}?sort=-n,s&total=true&limit=1`)
    expect(sorted).toMatchObject({ status: 200, json: { data: [{ n: 2 }], total: 2 } })
    await server.close()
  })

  test('rows that are counted, and found by their key', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    const api = new Api(server)
    const table = await api.createTable({ rows: [{ n: 1 }, { n: 2 }] })
    expect((await send(server, 'PATCH', table.path, { body: { key: ['n'] } })).status).toBe(200)
    const where = encodeURIComponent('{"n":{"gt":1}}')
    for (const method of ['GET', 'HEAD']) {
      expect(
        (await send(server, method, `${table.path}/count?where=${where}&search=`)).status,
      ).toBe(200)
      expect((await send(server, method, `${table.path}/count?where=x`)).status).toBe(400)
      expect((await send(server, method, `${table.path}x/count`)).status).toBe(404)
      const groups = `${table.path}/groups?by=n&sum=n&least=n&greatest=n&limit=1`
      expect((await send(server, method, `${groups}&where=${where}&search=`)).status).toBe(200)
      expect((await send(server, method, `${groups}&where=x`)).status).toBe(400)
      expect((await send(server, method, `${table.path}x/groups`)).status).toBe(404)
      expect((await send(server, method, `${table.path}/by-key?n=1`)).status).toBe(200)
      const headers = { 'if-none-match': '"1"' }
      const again = await api.send(method, `${table.path}/by-key?n=1`, { headers })
      expect(again.status).toBe(304)
      expect((await send(server, method, `${table.path}/by-key?n=x`)).status).toBe(400)
      expect((await send(server, method, `${table.path}/by-key?n=3`)).status).toBe(404)
      for (const format of ['csv', 'tsv', 'ndjson', 'parquet']) {
        const path = `${table.path}/export?format=${format}`
        expect((await send(server, method, path)).status).toBe(200)
        expect((await api.send(method, path, { headers: { 'if-none-match': '*' } })).status).toBe(
          304,
        )
      }
      expect((await send(server, method, `${table.path}/export?format=x`)).status).toBe(400)
      expect((await send(server, method, `${table.path}/export?at=1`)).status).toBe(410)
      expect((await send(server, method, `${table.path}/export?at=2`)).status).toBe(200)
      for (const path of ['count', 'by-key?n=1', 'groups', 'export']) {
        const unknown = await send(server, method, `${table.path}/${path}`, { key: 'unknown' })
        expect(unknown.status).toBe(404)
      }
    }
    await server.close()
  })

  test('changes of a table, as a page and as a feed', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    const api = new Api(server)
    const { path } = await api.createTable({ rows: [{ n: 1 }, { n: 2 }] })
    for (const method of ['GET', 'HEAD']) {
      expect((await send(server, method, `${path}/changes?since=0&limit=1`)).status).toBe(200)
      expect((await send(server, method, `${path}/changes?since=x`)).status).toBe(400)
      const headers = { 'last-event-id': '1' }
      expect((await api.send(method, `${path}/changes`, { headers })).status).toBe(200)
      expect((await send(server, method, `${path}x/changes`)).status).toBe(404)
      expect((await send(server, method, `${path}/changes`, { key: 'unknown' })).status).toBe(404)
    }
    await server.close()

    const kv = await openLevelKv(new MemoryLevel(), { versionBaseMin: 100 })
    const restored = await serveContract(
      (options) => openStore({ ...options, kv, objects: memoryObjects() }),
      { proof },
    )
    const table = await new Api(restored).createTable({ rows: [] })
    for (const method of ['GET', 'HEAD']) {
      expect((await send(restored, method, `${table.path}/changes?since=1`)).status).toBe(410)
    }
    await restored.close()
  })

  test('HEAD of a list', async () => {
    const server = await serveContract((options) => openMemory(options), { proof })
    expect((await send(server, 'HEAD', '/tables', { key: 'unknown' })).status).toBe(404)
    const api = new Api(server)
    await sendBody(api, 'HEAD', '/tables')
    await server.close()
  })
})

describe('a store that fails', () => {
  test.each(FAILURES)('with %s', async (code, status) => {
    const server = await serveContract(
      async (options) => failingStore(await openMemory(options), code),
      { proof, onFailure: () => {}, adminKeys: [ADMIN_KEY] },
    )
    for (const operation of proof.openApi.operations) {
      if (!operation.responses.has(String(status))) continue
      if (status === 429 && isOfOperator(operation.path)) continue // A client that is refused gets it.
      const { method, path, ...sent } = requestOf(operation)
      const options = path.startsWith('/admin/') ? { ...sent, key: ADMIN_KEY } : sent
      expect([operation.id, (await send(server, method, path, options)).status]).toEqual([
        operation.id,
        status,
      ])
    }
    await server.close()
  })
})

test('every answer of the document was seen', async () => {
  await slow

  expect(proof.unseen).toEqual([])
  expect(proof.seenCount).toBeGreaterThan(200)
})
