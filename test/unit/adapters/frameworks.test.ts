// Goal: the handler works inside the common frameworks. If one has removed what it needs, the answer says so.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer, get } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import 'reflect-metadata'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fastifyPlugin } from '../../../adapters/http/fastify-plugin.js'
import { type NodeHandler, nodeHandler } from '../../../adapters/http/node-http.js'
import { openMemory } from '../../../src/index.js'

type Next = (failure?: unknown) => void
type Middleware = (request: IncomingMessage, response: ServerResponse, next: Next) => void

/** The used part of Express, whose packages include no types. */
type Express = (() => RequestListener & { use(...given: (string | Middleware)[]): void }) & {
  json(): Middleware
  text(options: { type: string }): Middleware
  raw(options: { type: string }): Middleware
}

const require = createRequire(import.meta.url)
const EXPRESS = {
  'Express 4': require('express-4') as Express,
  'Express 5': require('express') as Express,
}

const KEY = 'a-key-of-the-team-0'
const AUTHORIZATION = { authorization: `Bearer ${KEY}` }
const JSON_BODY = { ...AUTHORIZATION, 'content-type': 'application/json' }
const CSV_BODY = { ...AUTHORIZATION, 'content-type': 'text/csv' }

async function handlerAt(basePath?: string): Promise<NodeHandler> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return nodeHandler(store, { keys: [{ key: KEY, teamId: 'team' }], basePath })
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Answer = Readonly<{ status: number; message: string; data: { tableID?: string } }>

async function post(url: string, headers: Record<string, string>, body: string): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, body })
  const text = await response.text()
  const { error, data } = JSON.parse(text) as {
    error?: string | { message: string }
    data?: Answer['data']
  }
  const message = typeof error === 'object' ? error.message : text
  return { status: response.status, message, data: data ?? {} }
}

/** Creates tables below a URL, one from JSON and one from CSV. @returns the rows of both */
async function roundTrip(url: string): Promise<unknown> {
  const rows: unknown[] = []
  for (const [headers, body] of [
    [JSON_BODY, '[{"a":1},{"a":2}]'],
    [CSV_BODY, 'a\n1\n2\n'],
  ] as const) {
    const made = await post(`${url}/tables?name=x`, headers, body)
    if (made.status !== 201) throw new Error(made.message)
    const page = await fetch(`${url}/tables/${made.data.tableID}/rows`, { headers: AUTHORIZATION })
    const { data } = (await page.json()) as { data: { a: number }[] }
    rows.push(data.map(({ a }) => a))
  }
  return rows
}

const BOTH = [
  [1, 2],
  [1, 2],
]

const LOST = expect.stringContaining(
  'its body was read before it reached this handler; mount the handler before body parsers',
)

describe.each(Object.entries(EXPRESS))('in %s', (_, express) => {
  test.each([undefined, '/api'])('it is mounted at a path; basePath is %s', async (basePath) => {
    const app = express()
    app.use('/api', await handlerAt(basePath))
    const url = await listen(app)

    expect(await roundTrip(`${url}/api`)).toEqual(BOTH)
    expect((await fetch(`${url}/tables`, { headers: AUTHORIZATION })).status).toBe(404)
    const twice = await fetch(`${url}/api/api/tables`, { headers: AUTHORIZATION })
    expect(twice.status).toBe(404)
  })

  test('the path of its mount and its base path are in the location of an upload', async () => {
    for (const [mount, basePath, path] of [
      ['/api', '/api', '/api'],
      ['/api', undefined, '/api'],
      ['/outer', '/v2', '/outer/v2'],
      ['/outer/v2', '/v2', '/outer/v2'],
    ] as const) {
      const app = express()
      app.use(mount, await handlerAt(basePath))
      const url = await listen(app)
      const about = '{"fileName":"x.txt","contentType":"text/plain"}'
      const made = await post(`${url}${path}/apps/app/uploads`, JSON_BODY, about)
      const { uploadLocation = '' } = made.data as { uploadLocation?: string }

      expect(uploadLocation.startsWith(`${url}${path}/uploads/rsu-`)).toBe(true)
      const sent = { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: 'x' }
      expect((await fetch(uploadLocation, sent)).status).toBe(200)
    }
  })

  test('paths that are not of the contract go on to the routes of the host, with their bodies', async () => {
    const app = express()
    app.use('/api', await handlerAt())
    app.use('/api', (request, response) => {
      let body = ''
      request.on('data', (piece: Buffer) => {
        body += piece
      })
      request.on('end', () => response.end(`host: ${request.url} ${body}`))
    })
    const url = await listen(app)
    const send = async (path: string) =>
      await (await fetch(url + path, { method: 'POST', body: 'text' })).text()

    expect(await send('/api/orders')).toBe('host: /orders text')
    expect(await send('/api/tables/x/elsewhere?q=1')).toBe('host: /tables/x/elsewhere?q=1 text')
    expect(await send('/api/metrics')).toBe('host: /metrics text')
    expect(await send('/api/tables/x/rows')).toContain('request_error')
    expect(await roundTrip(`${url}/api`)).toEqual(BOTH)
  })

  test('a body that a parser left in request.body is taken', async () => {
    for (const parser of [
      express.json(),
      express.text({ type: '*/*' }),
      express.raw({ type: '*/*' }),
    ]) {
      const app = express()
      app.use(parser)
      app.use(await handlerAt())

      expect(await roundTrip(await listen(app))).toEqual(BOTH)
    }
  })

  test.each(['all', 'a part'])(
    'when %s of a body was read and is nowhere, it is refused',
    async (how) => {
      const app = express()
      app.use((request, _, next) => {
        if (how === 'all') return void request.resume().once('end', next)
        request.once('readable', () => {
          request.read(5)
          next()
        })
      })
      app.use(express.json())
      app.use(await handlerAt())
      const url = await listen(app)

      expect(await post(`${url}/tables?name=x`, CSV_BODY, 'a,b,c\n1,2,3\n')).toMatchObject({
        status: 400,
        message: LOST,
      })
    },
  )
})

describe('in Fastify', () => {
  test('behind its own parsers, a body that is gone is refused', async () => {
    const app = fastify()
    const handler = await handlerAt()
    app.all('/*', (request, reply) => {
      reply.hijack()
      handler(request.raw, reply.raw)
    })
    const url = await app.listen({ port: 0 })
    onTestFinished(() => app.close())

    const answer = await post(`${url}/tables`, JSON_BODY, '{"name":"x","rows":[]}')
    expect(answer).toMatchObject({ status: 400, message: LOST })
    expect((await fetch(`${url}/tables`, { headers: AUTHORIZATION })).status).toBe(200)
  })

  test("its own request is no request of Node's, and the error says what to pass", async () => {
    const app = fastify()
    const handler = (await handlerAt()) as unknown as (request: unknown, reply: unknown) => void
    app.post('/tables', (request, reply) => handler(request, reply))
    app.get('/tables', (request, reply) => handler(request.raw, reply))
    const url = await app.listen({ port: 0 })
    onTestFinished(() => app.close())
    const what = expect.stringContaining('with Fastify they are request.raw and reply.raw')

    expect(await post(`${url}/tables`, JSON_BODY, '{}')).toMatchObject({
      status: 500,
      message: what,
    })
    expect(await (await fetch(`${url}/tables`)).text()).toEqual(what)
  })
})

describe('the plugin of Fastify', () => {
  const options = { keys: [{ key: KEY, teamId: 'team' }] }

  test('streams bodies beside the parsers of the host, and leaves unknown paths to it', async () => {
    const store = await openMemory()
    onTestFinished(() => store.close())
    const app = fastify({ bodyLimit: 10 })
    app.setNotFoundHandler((request, reply) => {
      void reply.code(404).send(`the host does not have ${request.url}`)
    })
    app.post('/echo', (request, reply) => reply.send(request.body))
    await app.register(fastifyPlugin(store, options), { prefix: '/api' })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(() => app.close())
    const echo = (body: string) =>
      fetch(`${url}/echo`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })

    expect(await roundTrip(`${url}/api`)).toEqual(BOTH)
    expect(await (await fetch(`${url}/api/orders`)).text()).toBe(
      'the host does not have /api/orders',
    )
    expect(await (await echo('{"a":1}')).json()).toEqual({ a: 1 })
    expect((await echo('{"a":1,"b":2}')).status).toBe(413)
    expect(await roundTrip(`${url}/api`)).toEqual(BOTH)
  })

  test('stands at the root without a prefix, and names its prefix in the location of an upload', async () => {
    const store = await openMemory()
    onTestFinished(() => store.close())
    for (const prefix of ['', '/outer/v2']) {
      const app = fastify()
      await app.register(fastifyPlugin(store, options), { prefix })
      const url = await app.listen({ port: 0, host: '127.0.0.1' })
      onTestFinished(() => app.close())
      const about = '{"fileName":"x.txt","contentType":"text/plain"}'
      const made = await post(`${url}${prefix}/apps/app/uploads`, JSON_BODY, about)

      expect(await roundTrip(url + prefix)).toEqual(BOTH)
      const { uploadLocation } = made.data as { uploadLocation?: string }
      expect(uploadLocation).toContain(`${url}${prefix}/uploads/rsu-`)
    }
  })

  test('has no base path of its own, and reports wrong options when it is registered', async () => {
    const store = await openMemory()
    onTestFinished(() => store.close())
    const wrong = { ...options, basePath: '/x' }

    expect(() => fastifyPlugin(store, wrong)).toThrow(
      expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
    )
    const app = fastify()
    onTestFinished(() => app.close())
    const ready = async () => {
      await app.register(fastifyPlugin(store, { keys: [{ key: '', teamId: 'team' }] }))
    }
    await expect(ready()).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  })
})

test('in NestJS it stands before the parsers, and leaves other paths to the controllers', async () => {
  class Host {}
  const { Controller, Get, Module } = await import('@nestjs/common')
  const { NestFactory } = await import('@nestjs/core')
  class Orders {
    list(): string {
      return 'the orders of the host'
    }
  }
  const list = Object.getOwnPropertyDescriptor(Orders.prototype, 'list') ?? {}
  Get('orders')(Orders.prototype, 'list', list)
  Controller('api')(Orders)
  Module({ controllers: [Orders] })(Host)
  const app = await NestFactory.create(Host, { logger: false })
  app.use('/api', await handlerAt())
  await app.listen(0, '127.0.0.1')
  onTestFinished(() => app.close())
  const url = await app.getUrl()

  expect(await roundTrip(`${url}/api`)).toEqual(BOTH)
  expect(await (await fetch(`${url}/api/orders`)).text()).toBe('the orders of the host')
})

describe('what a middleware or hook makes of a request reaches authenticate', () => {
  type Asked = Readonly<{ token: string; user: string | undefined; host: unknown }>

  async function asking(basePath?: string) {
    const asked: Asked[] = []
    const store = await openMemory()
    onTestFinished(() => store.close())
    const options = {
      tokenRequired: false,
      authenticate: async (
        token: string,
        { headers, host }: Readonly<{ headers: Readonly<Record<string, string>>; host: unknown }>,
      ) => {
        asked.push({ token, user: headers['x-user'], host })
        return { teamId: 'team', keyId: 'k' }
      },
    }
    const handler = nodeHandler(store, { ...options, basePath })
    return { handler, plugin: fastifyPlugin(store, options), asked }
  }

  /** Sends a user in two headers, which Node joins. */
  async function listTables(url: string): Promise<number> {
    const headers = new Headers({ authorization: 'Bearer of-the-client', 'x-user': 'mallory' })
    headers.append('x-user', 'eve')
    return (await fetch(`${url}/api/tables`, { headers })).status
  }

  test.each(Object.entries(EXPRESS))('in %s', async (_, express) => {
    const { handler, asked } = await asking()
    const app = express()
    app.use((request, _response, next) => {
      request.headers['x-user'] = 'ann'
      delete request.headers.authorization
      Object.assign(request, { session: 7 })
      next()
    })
    app.use('/api', handler)

    expect(await listTables(await listen(app))).toBe(200)
    expect(asked).toMatchObject([{ token: '', user: 'ann', host: { session: 7 } }])
  })

  test.each(['sets', 'replaces'])('in Fastify, whose hook %s headers', async (what) => {
    const { asked, plugin } = await asking()
    const app = fastify()
    onTestFinished(() => app.close())
    app.decorateRequest('session', 0)
    app.addHook('onRequest', async (request) => {
      const set = { authorization: 'Bearer of-the-hook', 'x-user': 'ann' }
      if (what === 'sets') Object.assign(request.headers, set)
      else (request as { headers: object }).headers = set
      Object.assign(request, { session: 7 })
    })
    await app.register(plugin, { prefix: '/api' })

    expect(await listTables(await app.listen({ port: 0, host: '127.0.0.1' }))).toBe(200)
    expect(asked).toMatchObject([{ token: 'of-the-hook', user: 'ann', host: { session: 7 } }])
  })

  test('in Koa', async () => {
    type Context = { req: IncomingMessage; res: ServerResponse; respond?: boolean; state: object }
    type Koa = { use(given: (context: Context) => void): void; callback(): RequestListener }
    const { handler, asked } = await asking('/api')
    const app = new (require('koa') as new () => Koa)()
    app.use((context) => {
      context.req.headers['x-user'] = 'ann'
      context.respond = false
      handler(context.req, context.res, undefined, context)
    })

    expect(await listTables(await listen(app.callback()))).toBe(200)
    expect(asked).toMatchObject([{ token: 'of-the-client', user: 'ann', host: { state: {} } }])
  })

  test('a repeated header is refused as it came', async () => {
    const { handler, asked } = await asking('/api')
    const url = await listen(handler)
    const status = await new Promise((resolve) => {
      const lines = ['host', 'x', 'authorization', 'Bearer a', 'authorization', 'Bearer b']
      get(`${url}/api/tables`, { headers: lines as never }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
    })

    expect([status, asked]).toEqual([404, []])
  })
})
