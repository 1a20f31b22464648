// Goal: pages of the named origins can use the routes with a key, errors included, and no other page can.
import { expect, onTestFinished, test } from 'vitest'
import type { ContractOptions, CorsOptions } from '../../../src/index.js'
import { createContract, openMemory } from '../../../src/index.js'

const KEY = 'a-key-of-the-first-team'
const PAGE = 'https://app.example.com'
const ALLOWED = 'access-control-allow-origin'
const EXPOSED = 'access-control-expose-headers'

async function* noBody(): AsyncGenerator<Uint8Array> {}

type Headers = Readonly<Record<string, string>>

async function open(options: Partial<ContractOptions> = {}) {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const contract = createContract(store, { keys: [{ key: KEY, teamId: 'team' }], ...options })
  return (method: string, path: string, headers: Headers = {}) =>
    contract.handle({ method, path, query: '', headers: Object.entries(headers), body: noBody() })
}

function preflight(origin = PAGE): Headers {
  return { Origin: origin, 'Access-Control-Request-Method': 'PATCH' }
}

const WITH_KEY = { Origin: PAGE, Authorization: `Bearer ${KEY}` }

test('a preflight of a named origin is answered without a key, on every path', async () => {
  const send = await open({ cors: { origins: [PAGE], headers: ['X-Request-ID'] } })

  for (const path of ['/tables', '/tables/T/rows/R', '/nothing/here']) {
    expect(await send('OPTIONS', path, preflight())).toEqual({
      status: 204,
      body: null,
      headers: {
        allow: 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers':
          'authorization, content-type, if-match, if-none-match, idempotency-key, x-glide-asynchronous, prefer, last-event-id, x-request-id',
        'access-control-max-age': '7200',
        [ALLOWED]: PAGE,
        [EXPOSED]: 'etag, location, preference-applied, retry-after, row-count',
        vary: 'origin',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      },
    })
  }
})

test('a page of a named origin reads answers and errors', async () => {
  const send = await open({ cors: { origins: ['http://localhost:3000', PAGE] } })
  const refused = { Origin: PAGE, Authorization: 'Bearer wrong-and-long-enough' }
  const seen = [
    await send('GET', '/tables', WITH_KEY),
    await send('GET', '/tables/none/rows', WITH_KEY),
    await send('GET', '/nowhere', WITH_KEY),
    await send('PUT', '/tables', WITH_KEY),
    await send('GET', '/tables', refused),
  ]

  expect(seen.map(({ status }) => status)).toEqual([200, 404, 404, 405, 404])
  for (const { headers } of seen) {
    expect(headers).toMatchObject({ [ALLOWED]: PAGE, vary: 'origin' })
    expect(headers[EXPOSED]).toBe('etag, location, preference-applied, retry-after, row-count')
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  }
})

test.each(['https://evil.example', 'https://app.example.com.evil.example', 'null', ''])(
  'a page of another origin (%s) reads nothing',
  async (origin) => {
    const send = await open({ cors: { origins: [PAGE] } })
    const asked = await send('OPTIONS', '/tables', preflight(origin))
    const answered = await send('GET', '/tables', { ...WITH_KEY, Origin: origin })

    for (const { headers } of [asked, answered]) {
      expect(headers).not.toHaveProperty(ALLOWED)
      expect(headers['vary']).toBe('origin')
    }
  },
)

test('with any origin, the answer does not depend on it', async () => {
  const send = await open({ cors: { origins: '*' } })
  const { headers } = await send('GET', '/tables', { ...WITH_KEY, Origin: 'https://a.example' })

  expect(headers).toMatchObject({ [ALLOWED]: '*' })
  expect(headers).not.toHaveProperty('vary')
})

test('without the option a preflight is a request without a key', async () => {
  const send = await open()
  const { status, headers, close } = await send('OPTIONS', '/tables', preflight())

  expect([status, close]).toEqual([404, true])
  expect(headers).not.toHaveProperty(ALLOWED)
  expect((await send('GET', '/tables', WITH_KEY)).headers).not.toHaveProperty(ALLOWED)
})

test('OPTIONS that is no preflight needs a key and is refused', async () => {
  const send = await open({ cors: { origins: [PAGE] } })

  expect(await send('OPTIONS', '/tables', { Origin: PAGE })).toMatchObject({ status: 404 })
  expect(await send('OPTIONS', '/tables', WITH_KEY)).toMatchObject({ status: 405 })
})

test('uploads and files stay open to every page', async () => {
  const send = await open({ cors: { origins: [PAGE] } })
  const asked = await send('OPTIONS', '/files/some-file/a.png', preflight('https://b.example'))

  expect(asked.headers).toMatchObject({ [ALLOWED]: '*', allow: 'GET, HEAD, OPTIONS' })
  const { status, headers } = await send('GET', '/files/some-file/a.png')
  expect([status, headers[ALLOWED]]).toEqual([404, '*'])
})

test.each([
  [{ origins: [] }, '"cors.origins" must be \'*\' or a list of 1 to 1000 origins, not a list of 0'],
  [{}, '"cors.origins" must be \'*\' or a list of 1 to 1000 origins, not undefined'],
  [{ origins: PAGE }, '"cors.origins" must be'],
  [{ origins: [`${PAGE}/`] }, '"cors.origins[0]" must be an origin such as'],
  [{ origins: [PAGE, 'HTTPS://APP.example.com'] }, '"cors.origins[1]" must be an origin such as'],
  [{ origins: ['*'] }, '"cors.origins[0]" must be an origin such as'],
  [{ origins: ['null'] }, '"cors.origins[0]" must be an origin such as'],
  [{ origins: '*', headers: ['a b'] }, '"cors.headers[0]" must be a header name, not "a b"'],
  [{ origins: '*', headers: ['*'] }, '"cors.headers[0]" must be a header name'],
  [{ origins: '*', headers: 'x-a' }, '"cors.headers" must be a list of at most 100 header names'],
  [{ origins: '*', credentials: true }, '"credentials" is not an option of cors'],
  [true, 'cors takes an object of options, not a boolean'],
])('the option %j is refused', async (cors, message) => {
  await expect(open({ cors: cors as CorsOptions })).rejects.toMatchObject({
    code: 'OPTION_NOT_ALLOWED',
    message: expect.stringContaining(message),
  })
})
