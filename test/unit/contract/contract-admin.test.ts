// Goal: the operations of the server's operator, over a store in memory.
import { expect, onTestFinished, test, vi } from 'vitest'
import { type ContractOptions, createContract, openMemory, type Store } from '../../../src/index.js'
import { until } from '../../support/until.js'

const KEY = 'a-key-of-the-team'
const ADMIN_KEY = 'a-key-of-whoever-runs-the-server'

async function* noBody(): AsyncGenerator<Uint8Array> {}

async function open(options: Partial<ContractOptions> = {}) {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const keys = [{ key: KEY, teamId: 'team' }]
  const contract = createContract(store, { keys, adminKeys: [ADMIN_KEY], ...options })
  async function send(method: string, path: string, query = '', key = ADMIN_KEY) {
    const headers: [string, string][] = [['authorization', `Bearer ${key}`]]
    const answer = await contract.handle({ method, path, query, headers, body: noBody() })
    return { ...answer, body: await textOf(answer.body) }
  }
  return { store, send }
}

async function textOf(body: string | Uint8Array | AsyncIterable<Uint8Array> | null) {
  if (body === null || typeof body === 'string') return body ?? ''
  const pieces: Uint8Array[] = body instanceof Uint8Array ? [body] : []
  if (!(body instanceof Uint8Array)) for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString('latin1')
}

function linesOf(text: string): unknown[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
}

async function fill(store: Store): Promise<void> {
  await store.team('team').createTable({ name: 'T', rows: [{ a: 1 }, { a: 2 }] })
}

test('verify answers with a line for each finding, and a report as the last line', async () => {
  const { store, send } = await open()
  await fill(store)

  const { status, headers, body } = await send('POST', '/admin/verify', 'full=true')

  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  expect(linesOf(body)).toEqual([
    { report: expect.objectContaining({ ok: true, full: true, findings: [] }) },
  ])
})

test('each finding has its line', async () => {
  const { store, send } = await open()
  await fill(store)
  const finding = { kind: 'row', severity: 'damage', message: 'wrong' } as const
  const verify = store.verify.bind(store)
  store.verify = async (options = {}) => {
    for (let n = 0; n < 3; n++) options.onFinding?.(finding)
    return { ...(await verify(options)), ok: false, damageCount: 3, findings: [finding] }
  }

  const { body } = await send('POST', '/admin/verify')

  const report = { report: expect.objectContaining({ ok: false, damageCount: 3, findings: [] }) }
  expect(linesOf(body)).toEqual([{ finding }, { finding }, { finding }, report])
})

/** Resolves when the interval between two lines has passed once, in virtual time. */
async function endOfVerify(): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  await until(() => vi.getTimerCount() === 1)
  vi.advanceTimersByTime(1_000)
  await until(() => vi.getTimerCount() === 1)
}

test('while a verify goes on, it says how far it has come', async () => {
  const { store, send } = await open()
  const report = await store.verify()
  const checked = { ...report.checked, rows: 1 }
  store.verify = async ({ onProgress } = {}) => {
    onProgress?.(checked)
    await endOfVerify()
    return report
  }

  expect(linesOf((await send('POST', '/admin/verify')).body)).toEqual([{ checked }, { report }])
})

test('a verify whose first step takes long has empty lines until it says how far it has come', async () => {
  const { store, send } = await open()
  const report = await store.verify()
  store.verify = async () => {
    await endOfVerify()
    return report
  }

  const lines = (await send('POST', '/admin/verify')).body.split('\n')

  expect(lines.slice(0, 2)).toEqual(['', ''])
  expect(linesOf(lines.join('\n'))).toEqual([{ report }])
})

test('a verify that fails says so in its last line', async () => {
  const { store, send } = await open()
  store.verify = () => Promise.reject(new TypeError('A fault'))

  const { status, body } = await send('POST', '/admin/verify')

  expect(status).toBe(200)
  expect(linesOf(body)).toEqual([
    { error: { type: 'internal_error', message: expect.any(String) } },
  ])
})

test('a verify whose reader goes away is ended', async () => {
  const { store } = await open()
  let ended = false
  store.verify = ({ signal } = {}) =>
    new Promise((_, reject) => {
      signal?.addEventListener('abort', () => {
        ended = true
        reject(new Error('Ended'))
      })
    })
  const keys = [{ key: KEY, teamId: 'team' }]
  const contract = createContract(store, { keys, adminKeys: [ADMIN_KEY] })
  const headers: [string, string][] = [['authorization', `Bearer ${ADMIN_KEY}`]]
  const request = { method: 'POST', path: '/admin/verify', query: '', headers, body: noBody() }

  const { body } = await contract.handle(request)
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) throw new Error()
  const lines = body[Symbol.asyncIterator]()
  expect(await lines.next()).toMatchObject({ done: false }) // a sign of life
  await lines.return?.()

  expect(ended).toBe(true)
})

test('a backup over HTTP is the bytes that the store gives', async () => {
  const { store, send } = await open()
  await fill(store)

  const { status, headers, body } = await send('POST', '/admin/backup')

  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/octet-stream')
  expect(body.startsWith('RSBK')).toBe(true)
  expect(body.length).toBeGreaterThan(200)
})

test.each([
  ['no key', 'POST', '/admin/verify', '', '', 404, 'request_error'],
  ['a key of a team', 'POST', '/admin/backup', '', KEY, 404, 'request_error'],
  ['another method', 'GET', '/admin/verify', '', ADMIN_KEY, 405, 'method_not_allowed'],
  [
    'a wrong option',
    'POST',
    '/admin/verify',
    'full=yes',
    ADMIN_KEY,
    400,
    'request_validation_error',
  ],
  ['wrong files', 'POST', '/admin/backup', 'files=no', ADMIN_KEY, 400, 'request_validation_error'],
])('%s is refused', async (_, method, path, query, key, status, type) => {
  const { send } = await open()

  const answer = await send(method, path, query, key)

  expect(answer.status).toBe(status)
  expect(JSON.parse(answer.body)).toEqual({ error: { type, message: expect.any(String) } })
})

test('an admin key reaches no table, and without admin keys there is no such path', async () => {
  const { send } = await open()
  expect((await send('GET', '/tables')).status).toBe(404)

  const { send: sendWithout } = await open({ adminKeys: [] })
  expect((await sendWithout('POST', '/admin/verify', '', KEY)).status).toBe(404)
})

test.each([
  ['a text', 'x'],
  ['a key that is null', [null]],
  ['a short key', ['short']],
  ['a key of a team', [KEY]],
])('adminKeys is refused when it is %s', async (_, adminKeys) => {
  await expect(open({ adminKeys: adminKeys as string[] })).rejects.toMatchObject({
    code: 'OPTION_NOT_ALLOWED',
    message: expect.stringContaining('adminKeys'),
  })
})
