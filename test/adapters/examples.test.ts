// Goal: the examples that HOSTING.md lists run unchanged in their frameworks, end when a supervisor asks them to, and
// have at most 20 lines.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/client.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { projectFiles, ROOT, readText } from '../support/project.js'
import { buildLibrary } from './built-library.js'
import {
  copyExample,
  filesOfExample,
  KEY,
  type Running,
  type Start,
  startExample,
} from './running-example.js'
import { BUN, DENO, NEXT } from './runtimes.js'

const LINES_MAX = 20
const ROWS = 3_000

let removeLibrary = async (): Promise<void> => {}

beforeAll(async () => {
  removeLibrary = await buildLibrary()
})

afterAll(() => removeLibrary())

/** The example, changed to print when its store is closed. */
function told(text: string): string {
  return `${text.replace("await openDirectory('./data')", '$&.then(told)')}
    function told(store) {
      const close = store.close.bind(store)
      store.close = () => close().then(() => console.log('the store is closed'))
      return store
    }`
}

async function running(start: Start): Promise<Running> {
  const { changed = (text) => text } = start
  const isProgram = start.name.endsWith('.mjs')
  const example = await startExample(
    isProgram ? { ...start, changed: (text) => told(changed(text)) } : start,
  )
  onTestFinished(() => example.stop())
  return example
}

/**
 * Imports rows in chunks, and a number with digits that JSON.parse would lose, and reads both. @returns the table's ID
 */
async function checkContract({ url }: Running): Promise<string> {
  const client = createClient({ url: `${url}/api`, key: KEY })
  const rows = async function* () {
    for (let id = 0; id < ROWS; id++) yield { id, name: `row ${id} of the import` }
  }
  const { tableId } = await client.importRows(rows(), { name: 'Many' })
  let [count, sum] = [0, 0]
  for await (const row of client.table(tableId).scan()) {
    count++
    sum += Number(row['id'])
  }
  expect([count, sum]).toEqual([ROWS, (ROWS * (ROWS - 1)) / 2])

  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'text/csv' }
  const body = 'a\n34.50\n7.10\n'
  const made = await fetch(`${url}/api/tables?name=x`, { method: 'POST', headers, body })
  expect(made.status).toBe(201)
  const { data } = (await made.json()) as { data: { tableID: string } }
  const page = await fetch(`${url}/api/tables/${data.tableID}/rows`, { headers })
  expect(await page.text()).toMatch(/"a":34\.50.*"a":7\.10/)
  return tableId
}

/** Ends the example, and expects that its store is closed then. */
async function checkClose({ output, terminate }: Running): Promise<void> {
  expect(await terminate()).toBe(0)
  expect(output()).toContain('the store is closed')
}

/** Ends the example during a request, which is answered before the store is closed. */
async function checkEnd(example: Running): Promise<void> {
  const { url, output } = example
  const authorization = `Bearer ${KEY}`
  const headers = { authorization, 'content-type': 'text/csv', connection: 'close' }
  const slow = request(`${url}/api/tables?name=slow`, { method: 'POST', headers })
  const answered = once(slow, 'response') as Promise<[IncomingMessage]>
  await new Promise((sent) => slow.write('a\n1\n', sent))
  // When the second answer arrives, the server has accepted the other connection and read its bytes.
  for (const _ of ['first', 'second']) {
    expect((await fetch(`${url}/api/healthz`)).status).toBe(200)
  }
  const ended = checkClose(example)
  await expect.poll(() => fetch(`${url}/api/healthz`).catch(() => 'refused')).toBe('refused')
  expect(output()).not.toContain('the store is closed')

  slow.end('2\n')

  const [response] = await answered
  expect([response.statusCode, await text(response)]).toEqual([
    201,
    expect.stringContaining('tableID'),
  ])
  await ended
}

async function checkPage({ url }: Running): Promise<void> {
  expect(await (await fetch(url)).text()).toContain('my page')
}

describe.each<Start & { label: string }>([
  { label: 'node:http', name: 'http.mjs' },
  { label: 'Express 5', name: 'express.mjs' },
  {
    label: 'Express 4',
    name: 'express.mjs',
    changed: (text) => text.replace("from 'express'", "from 'express-4'"),
  },
  { label: 'Fastify', name: 'fastify.mjs' },
  { label: 'Koa', name: 'koa.mjs' },
  { label: 'Hono', name: 'hono.mjs' },
])('in $label', (start) => {
  test('it serves the contract beside a page of the host', async () => {
    const example = await running(start)

    await checkContract(example)
    await checkPage(example)
    // The program for Koa has no line left to print it.
    const isShown = example.output().includes(`listening on ${example.url}/api`)
    expect(isShown).toBe(start.name !== 'koa.mjs')
    await checkEnd(example)
  })
})

test.each(['start-server.mjs', 'nest.mjs'])('%s serves the contract', async (name) => {
  const example = await running({ name })

  await checkContract(example)
  await checkEnd(example)
})

describe('in runtimes', () => {
  test.skipIf(BUN === undefined)('Bun serves the contract beside a page of the host', async () => {
    const example = await running({ name: 'bun.mjs', program: BUN ?? '' })

    await checkContract(example)
    await checkPage(example)
    await checkEnd(example)
  })

  test.skipIf(DENO === undefined)('Deno does', async () => {
    const args = ['run', '--allow-all', '--node-modules-dir=manual', 'deno.mjs']
    const example = await running({ name: 'deno.mjs', program: DENO ?? '', args })

    await checkContract(example)
    await checkPage(example)
    await checkClose(example) // bodies that are still arriving are cut
  })
})

describe.skipIf(NEXT === undefined)('in Next.js', () => {
  test.each([
    ['next-app', 'app/api/[...path]/route.js'],
    ['next-pages', 'pages/api/[...path].js'],
  ])('%s serves the contract, also after a reload', async (name, route) => {
    const args = [NEXT ?? '', 'dev', '--hostname', '127.0.0.1']
    const env = { NEXT_TELEMETRY_DISABLED: '1', HOME: process.env['HOME'] ?? '' }
    const example = await running({ name, args, env })
    const tableId = await checkContract(example)
    await checkPage(example)

    const path = join(example.folder, route)
    await writeFile(path, `${await readFile(path, 'utf8')}\nconsole.log('loaded again')\n`)
    const client = createClient({ url: `${example.url}/api`, key: KEY })
    await expect
      .poll(async () => {
        const { rowCount } = await client.table(tableId).info()
        return [rowCount, example.output().includes('loaded again')]
      })
      .toEqual([ROWS, true])
  })
})

/** Asks a route while another process has the directory open, and after that process has ended. Prints both answers. */
const ASKED_TWICE = {
  'next-app': `
    import { GET } from './app/api/[...path]/route.js'
    const ask = async () => (await GET(new Request('http://localhost/api/healthz'))).status`,
  'next-pages': `
    import { createServer } from 'node:http'
    import answer from './pages/api/[...path].js'
    const ask = () => new Promise((resolve, reject) => {
      const server = createServer((request, response) => answer(request, response).catch(reject))
      server.listen(0, '127.0.0.1', async () => {
        const url = 'http://127.0.0.1:' + server.address().port + '/api/healthz'
        await fetch(url, { signal: AbortSignal.timeout(60_000) }).then(({ status }) => resolve(status), reject)
        server.close()
        server.closeAllConnections()
      })
    })`,
} as const

test.each(Object.entries(ASKED_TWICE))(
  'a route of %s opens the directory as soon as it can be opened',
  async (name, asking) => {
    const folder = await copyExample(name)
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const program = `${asking}
      import { openDirectory } from 'rowstash/node'
      const store = await openDirectory('./data')
      const locked = await ask().catch(({ code }) => code)
      await store.close()
      console.log(locked, await ask())
      process.exit()`
    await writeFile(join(folder, 'ask-twice.mjs'), program)

    const { stdout } = await promisify(execFile)(process.execPath, ['ask-twice.mjs'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], API_KEY: KEY, NODE_NO_WARNINGS: '1' },
    })

    expect(stdout.trim()).toBe('STORE_LOCKED 200')
  },
)

describe('in AWS Lambda, of which the test plays the part', () => {
  let server: PostgresServer | string = 'not started'
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(async () => {
    if (typeof server !== 'string') await server.stop()
  })

  test('it serves the contract from PostgreSQL', async (context) => {
    if (typeof server === 'string') return context.skip(server)
    const env = { ROWSTASH_POSTGRES: server.url, NODE_NO_WARNINGS: '1' }
    const args = [join(ROOT, 'test/adapters/lambda-double.mjs'), 'lambda.mjs']
    const example = await running({ name: 'lambda.mjs', args, env })

    await checkContract(example)
    await checkPage(example)
  })
})

test('each example has at most 20 lines, and HOSTING.md lists it', async () => {
  const hosting = readText('src/guides/HOSTING.md')
  const below = 'test/adapters/examples/'
  const names = projectFiles()
    .filter((path) => path.startsWith(below))
    .map((path) => path.slice(below.length).split('/')[0] ?? '')
  for (const name of new Set(names)) {
    expect(hosting).toContain(`(../../${below}${name})`)
    for (const path of await filesOfExample(name)) {
      const lines = (await readFile(path, 'utf8')).trimEnd().split('\n').length
      expect(lines, path).toBeLessThanOrEqual(LINES_MAX)
    }
  }
})
