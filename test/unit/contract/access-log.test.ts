// Goal: each answer has one entry in the log, and no entry contains anything that grants access.
import { createHash } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Logger } from '../../../src/index.js'
import { createContract, openMemory } from '../../../src/index.js'
import type { AnsweredRequest } from '../../../src/ports.js'

const KEY = 'a-key-of-the-first-team'
const NAMED_KEY = 'a-key-that-has-a-name'
const ADMIN_KEY = 'a-key-of-whoever-runs-the-server'
/** A part of a digest, which identifies a key without a name. */
const keyId = expect.stringMatching(/^[0-9a-f]{32}$/)

type Line = Readonly<{ level: keyof Logger; fields: AnsweredRequest; message: string }>

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text)
}

async function open() {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const lines: Line[] = []
  const at = (level: keyof Logger) => (fields: AnsweredRequest, message: string) => {
    lines.push({ level, fields, message })
  }
  const logger = { info: at('info'), warn: at('warn'), error: at('error') }
  const keys = [
    { key: KEY, teamId: 'acme' },
    { key: NAMED_KEY, teamId: 'acme', keyId: 'reports' },
  ]
  const baseUrl = 'https://api.example.com'
  const options = { keys, storedKeys: true, adminKeys: [ADMIN_KEY], baseUrl, logger }
  const contract = createContract(store, options)
  async function send(method: string, target: string, body = '', key: string | null = KEY) {
    const [path = '', query = ''] = target.split('?')
    const headers: [string, string][] = [['content-type', body ? 'application/json' : 'image/png']]
    if (key !== null) headers.push(['authorization', `Bearer ${key}`])
    const answer = await contract.handle({ method, path, query, headers, body: bytesOf(body) })
    const { body: sent } = answer
    const isJson = typeof sent === 'string' && sent.startsWith('{')
    return isJson ? (JSON.parse(sent) as unknown) : undefined
  }
  return { store, lines, send }
}

test('an answer is an entry, whose level follows from its status', async () => {
  const { store, lines, send } = await open()
  await send('GET', '/tables')
  await send('GET', '/tables/none/rows')
  await send('GET', '/healthz', '', null)
  await send('GET', '/tables', '', 'a-key-that-nobody-has')
  await store.close()
  await send('GET', '/tables')

  const ms = expect.any(Number)
  expect(lines.map(({ level, fields }) => [level, fields])).toEqual([
    ['info', { operation: 'GET /tables', team: 'acme', keyId, status: 200, ms }],
    [
      'warn',
      {
        operation: 'GET /tables/{tableID}/rows',
        team: 'acme',
        keyId,
        status: 404,
        error: 'table_not_found',
        ms,
      },
    ],
    ['info', { operation: 'GET /healthz', status: 200, ms }],
    ['warn', { operation: 'none', status: 404, error: 'request_error', ms }],
    [
      'error',
      {
        operation: 'GET /tables',
        team: 'acme',
        keyId,
        status: 503,
        error: 'storage_unavailable',
        ms,
      },
    ],
  ])
})

test('an entry names the key: as its identity does, as the store does, or by a part of a digest', async () => {
  const { store, lines, send } = await open()
  const { key, id } = await store.keys.add({ teamId: 'acme' })
  for (const known of [NAMED_KEY, key, KEY, ADMIN_KEY]) {
    await send('GET', known === ADMIN_KEY ? '/admin/keys' : '/tables', '', known)
  }
  await send('GET', '/tables', '', `${key}x`)
  await send('GET', '/healthz', '', key)

  expect(lines.map(({ fields }) => fields.keyId)).toEqual([
    'reports',
    id,
    keyId,
    keyId,
    undefined,
    undefined,
  ])
  const text = JSON.stringify(lines)
  for (const secret of [KEY, NAMED_KEY, ADMIN_KEY, key]) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(secret.slice(-12)) // nor a part that helps to guess the rest
    const digest = createHash('sha256').update(secret).digest('hex')
    expect(text).not.toContain(digest.slice(0, 16))
  }
})

test('no entry has a key, a signature, a path, a query or a value', async () => {
  const { lines, send } = await open()
  const upload = { contentType: 'image/png', fileName: 'secret-name.png' }
  const made = await send('POST', '/apps/secret-app/uploads', JSON.stringify(upload))
  const { uploadID, uploadLocation } = (made as { data: Record<string, string> }).data
  const location = new URL(String(uploadLocation))
  await send('PUT', `${location.pathname}${location.search}`, '', null)
  const done = await send('POST', `/apps/secret-app/uploads/${uploadID}/complete`)
  const { url } = (done as { data: { url: string } }).data
  await send('GET', new URL(url).pathname, '', null)
  await send('PUT', `/uploads/${uploadID}?secret-signature`, '', null)
  await send('POST', '/tables', '{"name":"T","rows":[{"a":{"secret-value":1}}]}')
  await send('GET', '/tables/secret-table/rows?continuation=secret-token')
  await send('GET', '/secret-path')
  await send('secret-METHOD', '/tables')
  await send('GET', '/tables', '', 'a-secret-key-of-nobody')
  await send('GET', '/metrics', '', ADMIN_KEY)

  expect(lines.length).toBe(11)
  const text = JSON.stringify(lines)
  const secrets = [KEY, ADMIN_KEY, 'secret', String(uploadID), new URL(url).pathname]
  for (const secret of [...secrets, location.search.slice(1), 'Bearer']) {
    expect(text).not.toContain(secret)
  }
  const names = new Set(lines.flatMap(({ fields }) => Object.keys(fields)))
  expect([...names].sort()).toEqual(['error', 'keyId', 'ms', 'operation', 'status', 'team'])
})

test('no text of a client makes a line longer, breaks it, or controls a terminal', async () => {
  const { lines, send } = await open()
  const long = 'x'.repeat(1024 * 1024)
  const nasty = '%0d%0a\u001b[31m{"level":"error"}'
  for (const text of [long, nasty, '\r\ninjected', '\u2028']) {
    await send('GET', `/tables/${text}/rows`)
    await send('PUT', `/stashes/${text}/${text}`, '[]')
    await send('GET', `/jobs/${text}`)
    await send('GET', `/files/${text}/${text}`, '', null)
    await send('PUT', `/uploads/${encodeURIComponent(text)}?${text.trim()}`, '', null)
    await send(text, '/tables')
    await send('GET', '/tables', '', text)
  }

  expect(lines.length).toBe(28)
  for (const line of lines) {
    const text = JSON.stringify(line)
    expect(text.length).toBeLessThan(300)
    expect(text).toMatch(/^[\x20-\x7e]+$/)
    expect(text).not.toContain('31m')
  }
})

test('the ID of a team, which the host chooses, is escaped in a line', async () => {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const printed: string[] = []
  const log = (fields: AnsweredRequest): void => void printed.push(JSON.stringify(fields))
  const teamId = 'a\r\n\u001b[31mb'
  const authenticate = async () => ({ teamId })
  const logger = { info: log, warn: log, error: log }
  const contract = createContract(store, { authenticate, logger })
  const headers = [['authorization', `Bearer ${KEY}`]] as const
  await contract.handle({ method: 'GET', path: '/tables', query: '', headers, body: bytesOf('') })

  expect(printed.length).toBe(1)
  expect(printed[0]).toMatch(/^[\x20-\x7e]+$/)
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ team: teamId, status: 200 })
})

test('console is a logger; an object without its methods is refused', async () => {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const keys = [{ key: KEY, teamId: 'acme' }]
  const info = vi.spyOn(console, 'info').mockImplementation(() => {})
  const contract = createContract(store, { keys, logger: console })
  await contract.handle({
    method: 'GET',
    path: '/healthz',
    query: '',
    headers: [],
    body: bytesOf(''),
  })

  expect(info).toHaveBeenCalledOnce()
  info.mockRestore()
  const logger = { info: () => {} } as unknown as Logger
  expect(() => createContract(store, { keys, logger })).toThrow(
    'Option "logger" must have the methods info, warn and error, not be an object',
  )
})
