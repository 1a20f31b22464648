// Goal: a client that has not opened the printed address can read and change nothing of a store that `rowstash open`
// shows.
// Method: requests as other programs, and pages of other origins, would send them.
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeDirectory, type OpenedStore, openDirectoryPage } from './opened-store.js'

let directory: Awaited<ReturnType<typeof makeDirectory>>
let tableId: string

beforeAll(async () => {
  directory = await makeDirectory(async (store) => {
    const made = await store.team('default').createTable({ name: 'A', rows: [{ n: 1 }] })
    tableId = made.tableId
  })
})

afterAll(() => directory.remove())

type Answer = Readonly<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>

/** Sends a request with exactly these headers: fetch does not permit `Host` and `Origin`. */
function ask(
  { origin }: OpenedStore,
  path: string,
  { method = 'GET', ...headers }: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(origin + path, { method, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        body += piece
      })
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      })
    })
    sent.on('error', reject)
    sent.end(method === 'POST' ? '[{"n":2}]' : undefined)
  })
}

/** Exchanges a token as the page does. */
function exchange(opened: OpenedStore, token: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, origin: opened.origin }
  return ask(opened, '/page/session', { method: 'POST', ...headers })
}

/** Opens the printed address. @returns the header of its session */
async function enter(opened: OpenedStore): Promise<string> {
  const { status, headers, body } = await exchange(opened, opened.token)
  expect([status, headers['set-cookie']]).toEqual([200, undefined])
  const { key } = JSON.parse(body)
  expect(key).toMatch(/^[\w-]{43}$/)
  return `Bearer ${key}`
}

async function withOpened(
  args: readonly string[],
  use: (opened: OpenedStore, authorization: string) => Promise<void>,
): Promise<void> {
  const opened = await openDirectoryPage(directory.path, ...args)
  try {
    await use(opened, await enter(opened))
  } finally {
    await opened.close()
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

describe('rowstash open', () => {
  test('takes its token once, and only the right one', async () => {
    const opened = await openDirectoryPage(directory.path)
    try {
      expect((await exchange(opened, 'wrong')).status).toBe(403)
      for (const headers of [{}, { origin: 'https://evil.example' }]) {
        const given = { method: 'POST', authorization: `Bearer ${opened.token}`, ...headers }
        expect((await ask(opened, '/page/session', given)).status).toBe(403)
      }
      const authorization = await enter(opened)
      const again = await exchange(opened, opened.token)
      expect([again.status, again.body.includes(authorization.slice(7))]).toEqual([403, false])
      expect((await ask(opened, '/tables', { authorization })).status).toBe(200)
    } finally {
      await opened.close()
    }
  })

  test('gives browsers nothing that they send by themselves, to another port too', async () => {
    await withOpened(['--write'], async (opened, authorization) => {
      for (const path of ['/', '/page/app.js', '/page/session', '/tables']) {
        const { status, headers } = await ask(opened, path, { authorization })
        expect([path, status, headers['set-cookie']]).toEqual([path, 200, undefined])
      }
      const secret = authorization.slice(7)
      const port = new URL(opened.origin).port
      for (const cookie of [secret, `rowstash-${port}=${secret}`, `rowstash-session=${secret}`]) {
        const change = { method: 'DELETE', cookie, origin: opened.origin }
        expect((await ask(opened, `/tables/${tableId}`, change)).status).toBe(403)
      }
      expect(new URL(opened.address).search).toBe('') // The token follows #, which is not sent either.
    })
  })

  test('answers nothing without the key of the session, whatever other is sent', async () => {
    await withOpened(['--write'], async (opened, authorization) => {
      for (const path of ['/tables', '/metrics', '/page/session', `/tables/${tableId}/rows`]) {
        expect((await ask(opened, path)).status, path).toBe(403)
        for (const given of [
          'Bearer x',
          'Bearer ',
          `${authorization}x`,
          `Bearer ${opened.token}`,
        ]) {
          expect((await ask(opened, path, { authorization: given })).status, path).toBe(403)
        }
        expect((await ask(opened, path, { authorization })).status, path).toBe(200)
      }
    })
  })

  test('refuses names that were made to lead here', async () => {
    await withOpened([], async (opened, authorization) => {
      const port = new URL(opened.origin).port
      for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', `[::1]:${port}`]) {
        for (const path of ['/', '/tables', '/page/app.js', '/page/session']) {
          expect((await ask(opened, path, { authorization, host })).status, host + path).toBe(421)
        }
      }
      const local = { authorization, host: `localhost:${port}` }
      expect((await ask(opened, '/tables', local)).status).toBe(200)
    })
  })

  test('refuses pages of other origins, on the same machine too', async () => {
    await withOpened(['--write'], async (opened, authorization) => {
      const path = `/tables/${tableId}/rows`
      const change = { method: 'POST', authorization, ...JSON_TYPE }
      const foreign: readonly Readonly<Record<string, string>>[] = [
        {}, // A browser always sends the origin of a change.
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: opened.origin.replace(/\d+$/, '1') },
        { origin: opened.origin, 'sec-fetch-site': 'cross-site' },
        { origin: opened.origin, 'sec-fetch-site': 'same-site' },
      ]
      for (const headers of foreign) {
        const { status } = await ask(opened, path, { ...change, ...headers })
        expect(status, JSON.stringify(headers)).toBe(403)
      }
      const read = { authorization, 'sec-fetch-site': 'same-site' }
      expect((await ask(opened, '/tables', read)).status).toBe(403)
      const own = { ...change, origin: opened.origin, 'sec-fetch-site': 'same-origin' }
      expect((await ask(opened, path, own)).status).toBe(201)
    })
  })

  test('changes nothing without --write, and gives no backup and no keys with it', async () => {
    await withOpened([], async (opened, authorization) => {
      const change = { method: 'POST', authorization, origin: opened.origin, ...JSON_TYPE }
      for (const path of [`/tables/${tableId}/rows`, '/stashes', '/stashes/x', '/stashes/x/0']) {
        for (const method of ['POST', 'PUT', 'DELETE']) {
          const { body } = await ask(opened, path, { ...change, method })
          expect([method, path, body]).toEqual([
            method,
            path,
            expect.stringMatching(/_missing|_allowed|not found/),
          ])
        }
      }
      expect((await ask(opened, `/tables/${tableId}/rows`, change)).body).toContain('scope_missing')
      // Staged rows can be read, and not changed.
      expect((await ask(opened, '/stashes', { authorization })).body).toBe('{"data":[]}')
      expect((await ask(opened, '/admin/verify', change)).body).toContain('"ok":true')
    })
    await withOpened(['--write'], async (opened, authorization) => {
      const change = { method: 'POST', authorization, origin: opened.origin, ...JSON_TYPE }
      for (const path of ['/admin/backup', '/admin/keys']) {
        expect((await ask(opened, path, change)).body, path).toContain('API key not found')
      }
    })
  })

  test('serves the page so that nothing else can run in it', async () => {
    await withOpened([], async (opened, authorization) => {
      for (const path of ['/', '/page/app.js', '/page/style.css', '/page/session']) {
        const { headers } = await ask(opened, path, { authorization })
        expect(headers['content-security-policy'], path).toMatch(
          /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
        )
        expect(headers['x-content-type-options'], path).toBe('nosniff')
      }
      const { body } = await ask(opened, '/', { authorization })
      expect(body).not.toMatch(/<script(?! type="module" src="page\/app\.js">)|\son\w+=|style=/)
    })
  })
})
