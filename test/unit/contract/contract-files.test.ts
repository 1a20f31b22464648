// Goal: rules of the contract for uploads and files that a default server does not show: time, known apps, limits, base
// URLs, damaged data.
import { describe, expect, onTestFinished, test } from 'vitest'
import { matchOpenRoute } from '../../../src/contract/http/router.js'
import {
  type ContractOptions,
  createContract,
  openMemory,
  type Store,
  StoreError,
  type StoreOptions,
} from '../../../src/index.js'

const KEY = 'a-key-of-the-team'
const DIRECT = { contentType: 'image/png', fileName: 'a.png' }
const ORIGIN = 'http://example.test'

type Sent = Readonly<{
  body?: unknown
  headers?: readonly (readonly [string, string])[]
  origin?: string | undefined
}>

type Answer = Readonly<{
  status: number
  headers: Readonly<Record<string, string>>
  json: { data?: Record<string, string>; error?: { type: string; message: string } }
}>

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** A contract over a store in memory, whose clock stands still until it is moved. */
async function open(
  options: Partial<ContractOptions> = {},
  storeOptions: StoreOptions = {},
  wrap: (store: Store) => Store = (store) => store,
) {
  const time = { now: 1_700_000_000_000 }
  const store = await openMemory({ ...storeOptions, clock: { now: () => time.now } })
  onTestFinished(() => store.close())
  const failures: unknown[] = []
  const contract = createContract(wrap(store), {
    keys: [{ key: KEY, teamId: 'team' }],
    onFailure: (failure) => failures.push(failure),
    ...options,
  })

  async function send(method: string, target: string, sent: Sent = {}): Promise<Answer> {
    const { body, headers = [] } = sent
    const [path = '', query = ''] = target.split('?')
    const bytes = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body) ?? '')
    const isJson = body !== undefined && !(body instanceof Uint8Array)
    const answer = await contract.handle({
      method,
      path,
      query,
      headers: [
        ['authorization', `Bearer ${KEY}`],
        ...(isJson ? [['content-type', 'application/json'] as const] : []),
        ...headers,
      ],
      origin: 'origin' in sent ? sent.origin : ORIGIN,
      body: piecesOf(bytes),
    })
    const text = typeof answer.body === 'string' ? answer.body : '{}'
    return { status: answer.status, headers: answer.headers, json: JSON.parse(text) }
  }

  /** The first step. @returns the target of the PUT */
  async function createUpload(
    about: object = {},
  ): Promise<Readonly<{ id: string; target: string }>> {
    const { json } = await send('POST', '/apps/a/uploads', { body: { ...DIRECT, ...about } })
    const { uploadID = '', uploadLocation = '' } = json.data ?? {}
    return {
      id: uploadID,
      target: new URL(uploadLocation).pathname + new URL(uploadLocation).search,
    }
  }

  const put = (target: string, bytes: string) =>
    send('PUT', target, { body: Buffer.from(bytes), headers: [['content-type', 'image/png']] })
  const complete = (id: string) => send('POST', `/apps/a/uploads/${id}/complete`)
  return { store, send, createUpload, put, complete, time, failures, contract }
}

const MINUTE_MS = 60_000

describe('time', () => {
  test('the location of an upload expires after 15 minutes, and the upload goes on', async () => {
    const { createUpload, put, complete, time } = await open()
    const { id, target } = await createUpload()
    time.now += 15 * MINUTE_MS - 1
    expect((await put(target, 'in time')).status).toBe(200)

    time.now += 1
    const late = await put(target, 'late')

    expect([late.status, late.json.error?.type]).toEqual([403, 'upload_expired'])
    expect(late.headers['access-control-allow-origin']).toBe('*')
    const forged = await put(target.replace(/expires=(.)/, 'expires=9$1'), 'forged')
    expect(forged.json.error?.type).toBe('upload_signature_invalid')
    expect((await complete(id)).status).toBe(200)
  })

  test('an upload that is not completed within 24 hours is gone', async () => {
    const { createUpload, put, complete, time } = await open()
    const { id, target } = await createUpload()
    await put(target, 'x')
    time.now += 24 * 60 * MINUTE_MS

    const { status, json } = await complete(id)

    expect([status, json.error?.type]).toEqual([404, 'upload_not_found'])
  })
})

describe('apps', () => {
  test('an app that is not in the list is 403, whatever the body', async () => {
    const { send, createUpload } = await open({ apps: ['a'] })
    const { id } = await createUpload()
    for (const body of [DIRECT, {}, { sourceURL: 'x' }, undefined]) {
      const { status, json } = await send('POST', '/apps/b/uploads', { body })
      expect([status, json.error?.type]).toEqual([403, 'app_not_allowed'])
    }
    const { status, json } = await send('POST', `/apps/b/uploads/${id}/complete`)
    expect([status, json.error?.type]).toEqual([403, 'app_not_allowed'])
  })
})

describe('limits', () => {
  test('a body over bodyBytesMax is 413, and one below it is taken', async () => {
    const { send } = await open({ bodyBytesMax: 1_024 })
    const create = (bytes: number) =>
      send('POST', '/tables', { body: { name: 't', rows: [{ a: 'x'.repeat(bytes) }] } })

    const refused = await create(1_024)

    expect([refused.status, refused.json.error?.type]).toEqual([413, 'request_too_large'])
    expect((await create(900)).status).toBe(201)
  })

  test.each(['bodyBytesMax', 'bodyBytesInFlightMax', 'answerBytesInFlightMax'])(
    '%s is checked when the contract is created',
    async (name) => {
      for (const bad of [0, 1_023, 1.5, 17_179_869_185, '1024']) {
        await expect(open({ [name]: bad })).rejects.toMatchObject({
          code: 'OPTION_NOT_ALLOWED',
          message: expect.stringContaining(`"${name}"`),
        })
      }
    },
  )

  test('a file over the limit is 413, announced or counted', async () => {
    const { send, createUpload, put } = await open({}, { fileBytesMax: 10 })
    const body = { ...DIRECT, contentLength: 11 }
    const announced = await send('POST', '/apps/a/uploads', { body })
    expect([announced.status, announced.json.error?.type]).toEqual([413, 'file_too_large'])

    const { target } = await createUpload()
    const counted = await put(target, 'eleven more')
    expect([counted.status, counted.json.error?.type]).toEqual([413, 'file_too_large'])
    expect((await put(target, 'ten of it.')).status).toBe(200)
  })

  test('a quota that says no is 402, and the file is gone', async () => {
    const asked: unknown[] = []
    const quota = (request: unknown) => {
      asked.push(request)
      return asked.length > 1
    }
    const { createUpload, put, complete } = await open({}, { quota })
    const first = await createUpload()
    await put(first.target, 'abc')

    const refused = await complete(first.id)

    expect([refused.status, refused.json.error?.type]).toEqual([402, 'payment_required'])
    expect(asked).toEqual([{ teamId: 'team', bytes: 3, teamBytes: 0 }])
    expect((await complete(first.id)).status).toBeGreaterThanOrEqual(400)
    const second = await createUpload()
    await put(second.target, 'abc')
    expect((await complete(second.id)).status).toBe(200)
  })

  test('the uploads of two keys of one team are counted apart, and neither key is stored', async () => {
    const keys = ['first-key', 'second-key'].map((key) => ({ key, teamId: 'team' }))
    const owners: (string | undefined)[] = []
    const spy = (store: Store): Store => ({
      ...store,
      limits: store.limits,
      files: store.files,
      team: (teamId) => {
        const team = store.team(teamId)
        const createUpload = (about: Parameters<typeof team.files.createUpload>[0]) => {
          owners.push(about.owner)
          return team.files.createUpload(about)
        }
        return { ...team, files: { createUpload } } as unknown as typeof team
      },
    })
    const { contract } = await open({ keys }, { uploadsOpenMax: 1 }, spy)
    const statusFor = async (key: string) => {
      const { status } = await contract.handle({
        method: 'POST',
        path: '/apps/a/uploads',
        query: '',
        headers: [
          ['authorization', `Bearer ${key}`],
          ['content-type', 'application/json'],
        ],
        origin: ORIGIN,
        body: piecesOf(Buffer.from(JSON.stringify(DIRECT))),
      })
      return status
    }

    const keysUsed = ['first-key', 'first-key', 'second-key', 'second-key']
    const statuses: number[] = []
    for (const key of keysUsed) statuses.push(await statusFor(key))

    expect(statuses).toEqual([200, 429, 200, 429])
    expect(new Set(owners).size).toBe(2)
    for (const owner of owners) expect(owner).toMatch(/^[0-9a-f]{32}$/)
  })
})

describe('base URLs', () => {
  const locationOf = async (options: Partial<ContractOptions>, origin?: string) => {
    const { send } = await open(options)
    const answer = await send('POST', '/apps/a/uploads', {
      body: DIRECT,
      origin,
    })
    return answer.json.data?.['uploadLocation'] ?? `${answer.status} ${answer.json.error?.message}`
  }

  test.each([
    ['http://example.test', 'http://example.test'],
    ['https://example.test:8443/api/v2', 'https://example.test:8443/api/v2'],
    ['http://127.0.0.1:80', 'http://127.0.0.1:80'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['http://EXAMPLE.Test/Api', 'http://example.test/Api'],
    ['http://xn--bcher-kva.example', 'http://xn--bcher-kva.example'],
    ['http://under_score.test', 'http://under_score.test'],
  ])('by default it is that of the request: %s', async (origin, base) => {
    const location = await locationOf({}, origin)

    expect(location.slice(0, location.indexOf('/uploads/rsu-'))).toBe(base)
  })

  test.each([
    undefined,
    '',
    'http://',
    'http:///api',
    'http://user@example.test',
    'http://user:pass@example.test',
    'http://example.test:99999',
    'http://example.test:',
    'http://example.test:80:80',
    'http://example.test/..;/\\',
    'http://example.test/../x',
    'http://example.test/./x',
    'http://example.test/a/..',
    'http://example.test/.%2E/x',
    'http://example.test?x',
    'http://example.test#x',
    'http://example.test\\@evil.test',
    'http://exa mple.test',
    'http://example.test\r\nx: y',
    'http://example.test"',
    'http://example.test,evil.test',
    'http://ex%61mple.test',
    'http://bücher.test',
    'http://[::1',
    'http://[x]',
    'http://.test',
    'http://-a.test',
    'ftp://example.test',
    'javascript://example.test',
    `http://${'a'.repeat(300)}.test`,
  ])(
    'a request that came by %j names no base URL: 400, before its body is read',
    async (origin) => {
      expect(await locationOf({}, origin)).toMatch(/^400 Invalid request headers: Host must be/)
      const { send } = await open()
      const { json } = await send('POST', '/apps/a/uploads', { body: {}, origin })
      expect(json.error?.message).toContain('Host')
    },
  )

  test('options win over the request, and files may have one of their own', async () => {
    const { send, createUpload, put, complete } = await open({
      baseUrl: 'https://API.example.test/v2/',
      publicBaseUrl: 'https://files.example.test',
    })
    const { json } = await send('POST', '/apps/a/uploads', { body: DIRECT, origin: undefined })
    expect(json.data?.['uploadLocation']).toMatch(
      /^https:\/\/api\.example\.test\/v2\/uploads\/rsu-/,
    )

    const { id, target } = await createUpload()
    await put(target.slice('/v2'.length), 'x')
    const { url = '' } = (await complete(id)).json.data ?? {}
    expect(url).toMatch(/^https:\/\/files\.example\.test\/files\/rsf-[^/]{32}\/a\.png$/)
    expect((await send('GET', new URL(url).pathname)).status).toBe(200)
  })

  test.each(['baseUrl', 'publicBaseUrl'])('%s must be an http or https URL', async (name) => {
    const wrong = [
      '',
      'example.test',
      '/api',
      'ftp://x',
      'http://a:b@x',
      'http://x?y',
      'http://x#y',
      'http://x/a b',
      1,
    ]
    for (const value of wrong) {
      const options = {
        keys: [{ key: 'a-key-for-the-tests', teamId: 't' }],
        [name]: value,
      } as ContractOptions
      const { store } = await open()
      expect(() => createContract(store, options)).toThrow(
        expect.objectContaining({ code: 'OPTION_NOT_ALLOWED' }),
      )
    }
  })
})

describe('paths without a key', () => {
  test.each([
    ['/uploads/x', { name: 'upload', uploadId: 'x' }],
    ['/uploads/x/', { name: 'upload', uploadId: 'x/' }],
    ['/uploads/%2e%2e/tables', { name: 'upload', uploadId: '%2e%2e/tables' }],
    ['/files/x', { name: 'file', fileId: 'x' }],
    ['/files/x/', { name: 'file', fileId: 'x' }],
    ['/files/x/a.png', { name: 'file', fileId: 'x' }],
    ['/files/x/a.png/', { name: 'file', fileId: 'x' }],
    ['/files/%78', { name: 'file', fileId: '%78' }],
    ['/uploads', undefined],
    ['/uploads/', undefined],
    ['/Uploads/x', undefined],
    ['/files', undefined],
    ['/files/', undefined],
    ['/files//x', undefined],
    ['/files/x//', undefined],
    ['/files/x/a/b', undefined],
    ['//files/x', undefined],
    ['/filesx', undefined],
    ['files/x', undefined],
    ['/tables', undefined],
    ['', undefined],
  ])('%s', (path, route) => {
    expect(matchOpenRoute(path)).toEqual(route)
  })
})

describe('a file that went bad', () => {
  test('ends the answer, and its host is told', async () => {
    const corrupt = new StoreError('DATA_CORRUPT', 'bad bytes')
    const spoil = (store: Store): Store => ({
      ...store,
      limits: store.limits,
      team: (teamId) => store.team(teamId),
      files: {
        receive: (request) => store.files.receive(request),
        async open(fileId) {
          const file = await store.files.open(fileId)
          async function* stream() {
            yield Buffer.from('x')
            throw corrupt
          }
          return file && { ...file, stream, readable: file.readable }
        },
      },
    })
    const { store, contract, failures } = await open({}, {}, spoil)
    const { path } = await store.team('team').files.put('xyz', DIRECT)
    const answer = await contract.handle({
      method: 'GET',
      path: `/${path}`,
      query: '',
      headers: [],
      body: piecesOf(Buffer.alloc(0)),
    })
    const read = async () => {
      for await (const _ of answer.body as AsyncIterable<Uint8Array>);
    }

    await expect(read()).rejects.toBe(corrupt)
    expect(failures).toEqual([corrupt])
  })
})
