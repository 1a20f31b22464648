// The programs in HOSTING.md that mount the contract in frameworks.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { Hono } from 'hono'
import * as node from '../../adapters/node.js'
import { memory, type Program, runModule, type Surroundings } from './run-module.js'

const DOCUMENT = 'src/guides/HOSTING.md'
const KEY = 'a-long-random-text-of-the-host'
const KEYS = [{ key: KEY, teamId: 'acme' }]

/** Creates a table of CSV and one of JSON, and reads both. @param ask - A request for a path of the server. */
async function checkMount(
  ask: (path: string, init: RequestInit) => Response | Promise<Response>,
): Promise<void> {
  for (const [type, body] of [
    ['application/json', '[{"a":1},{"a":34.50}]'],
    ['text/csv', 'a\n1\n34.50\n'],
  ] as const) {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': type }
    const made = await ask('/api/tables?name=x', { method: 'POST', headers, body })
    const { data } = (await made.json()) as { data: { tableID: string } }
    const page = await ask(`/api/tables/${data.tableID}/rows`, { headers })

    assert.equal(made.status, 201)
    assert.match(await page.text(), /"a":34\.50/)
  }
}

export async function listen(listener: RequestListener, { onEnd }: Surroundings): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const inHono: Program = {
  document: DOCUMENT,
  begins: "import { fetchHandler } from 'rowstash'",
  declared: [
    "declare const app: import('hono').Hono",
    "declare const store: import('rowstash').Store",
    'declare const keys: { key: string; teamId: string }[]',
  ].join(';'),
  async run({ text }, surroundings) {
    const app = new Hono()
    await runModule(text, { app, store: await memory(surroundings), keys: KEYS })

    await checkMount((path, init) => app.request(path, init))
  },
}

const require = createRequire(import.meta.url)

const shutdown: Program = {
  document: DOCUMENT,
  begins: "process.once('SIGTERM', () => closeServer(server, 5_000)",
  declared: [
    "import type { Server } from 'node:http'",
    "import { closeServer } from 'rowstash/node'",
    'declare const server: Server',
    "declare const store: import('rowstash').Store",
  ].join(';'),
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    const handler = node.nodeHandler(store, { keys: KEYS })
    const server = node.hardenServer(createServer(node.serverOptions, handler))
    const process = new EventEmitter()
    const { closeServer } = node
    let closed: () => void = () => undefined
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    const own = {
      close: async () => {
        assert.equal(server.listening, false)
        await store.close()
        closed()
      },
    }
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await runModule(text, { process, closeServer, server, store: own })

    process.emit('SIGTERM')
    await isClosed
  },
}

/** The used part of Express, which has no types of its own. */
type Express = () => RequestListener & { use: unknown; post: unknown }

const sessions: Program = {
  document: DOCUMENT,
  begins: "import type { AuthenticateRequest } from 'rowstash'",
  declared: [
    "import type { NodeHandler } from 'rowstash/node'",
    'type Reply = { status(code: number): Reply; end(): void; json(body: object): void; setHeader(name: string, value: string): void }',
    'declare const app: { post(path: string, answer: (request: object, response: Reply) => unknown): void; use(path: string, handler: NodeHandler): void }',
    "declare const store: import('rowstash').Store",
    'declare function checkPassword(request: object): Promise<{ teamId: string; userId: string } | undefined>',
  ].join(';'),
  async run({ text }, surroundings) {
    const app = (require('express') as Express)()
    const checkPassword = async ({ headers }: { headers: Record<string, string> }) =>
      headers['password'] === 'right' ? { teamId: 'acme', userId: 'ann' } : undefined
    await runModule(text, { app, store: await memory(surroundings), checkPassword })
    const url = await listen(app, surroundings)
    const login = (password: string) =>
      fetch(`${url}/login`, { method: 'POST', headers: { password } })

    assert.equal((await login('wrong')).status, 401)
    const entered = await login('right')
    const { csrf } = (await entered.json()) as { csrf: string }
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';')
    const create = (headers: Record<string, string>) => {
      const given = { 'content-type': 'application/json', ...headers }
      return fetch(`${url}/api/tables?name=x`, { method: 'POST', headers: given, body: '[]' })
    }
    for (const given of [
      {},
      { cookie },
      { cookie, 'x-csrf-token': 'x' },
      { 'x-csrf-token': csrf },
    ]) {
      const refused = await create(given)
      assert.equal(refused.status, 404)
      assert.match(await refused.text(), /API key not found, or duplicate \*\*\*\*/)
    }
    assert.equal((await create({ cookie, 'x-csrf-token': csrf })).status, 201)
    const list = (given: string) => fetch(`${url}/api/tables`, { headers: { cookie: given } })
    assert.deepEqual([(await list(cookie)).status, (await list('session=x')).status], [200, 404])
  },
}

export const HOSTING_PROGRAMS: readonly Program[] = [sessions, inHono, shutdown]
