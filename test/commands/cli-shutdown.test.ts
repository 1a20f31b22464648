// Goal: a server that is asked to end does so, whatever clients, sources and jobs do. How soon: see
// unit/adapters/connections.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type BuiltCli, buildCli, type Serving, serveCli } from '../support/built-cli.js'

const KEY = 'a-key-for-the-tests'
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

/**
 * On a busy machine the store may not be closed within its half second. What was acknowledged is durable all the same.
 */
const ENDED = [0, 143]

let cli: BuiltCli
let folder: string

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-shutdown-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function serve(name: string): Promise<Serving> {
  const args = ['--directory', join(folder, name), '--key', KEY, '--allow-private-sources']
  const serving = await serveCli(cli.path, args)
  serving.child.stdout?.resume()
  onTestFinished(() => void serving.child.kill('SIGKILL'))
  return serving
}

async function post(url: string, body: unknown, more: Record<string, string> = {}) {
  const headers = { ...HEADERS, ...more }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, data: ((await answer.json()) as { data: unknown }).data }
}

/** Sends SIGTERM, which alone must end what clients and sources hold. @returns the exit code */
async function end({ child }: Serving): Promise<number | null> {
  child.kill('SIGTERM')
  await expect.poll(() => child.exitCode, { interval: 20 }).not.toBeNull()
  return child.exitCode
}

/** A source that sends a part and then stalls. */
async function stalledSource(): Promise<Readonly<{ fromUrl: string; asked: Promise<unknown> }>> {
  const source = createServer()
  const asked = once(source, 'request')
  source.on('request', (_, response) => {
    response.setHeader('content-type', 'text/csv')
    response.write(`a,b\n${'1,2\n'.repeat(100_000)}`)
  })
  await new Promise<void>((listens) => source.listen(0, '127.0.0.1', listens))
  onTestFinished(() => {
    source.closeAllConnections()
    source.close()
  })
  const fromUrl = `http://127.0.0.1:${(source.address() as AddressInfo).port}/rows.csv`
  return { fromUrl, asked }
}

/** Requests all rows of a large table, and reads nothing. */
async function readSlowly(url: string): Promise<void> {
  const rows = Array.from({ length: 8_000 }, () => ({ text: 'x'.repeat(1_500) }))
  const { data } = await post(`${url}/tables`, { name: 'T', rows })
  const { tableID } = data as { tableID: string }
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').pause()
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  const lines = [`GET /tables/${tableID}/rows HTTP/1.1`, 'host: x', `authorization: Bearer ${KEY}`]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
}

/** Begins a request. When the second answer arrives, the server has accepted its connection and read its bytes. */
async function writeSlowly(url: string): Promise<void> {
  const held = request(`${url}/stashes/held/0`, { method: 'PUT', headers: HEADERS })
  held.on('error', () => undefined)
  await new Promise((sent) => held.write('[{"a":', sent))
  for (const _ of ['first', 'second']) await fetch(`${url}/tables`, { headers: HEADERS })
}

test('a server with a slow reader and a slow writer ends in time', async () => {
  const serving = await serve('slow')
  await readSlowly(serving.url)
  await writeSlowly(serving.url)

  expect(ENDED).toContain(await end(serving))
})

test('a server with an import whose source stalls ends in time', async () => {
  const serving = await serve('import')
  const { fromUrl, asked } = await stalledSource()
  post(`${serving.url}/tables/import`, { fromUrl }).catch(() => undefined)
  await asked

  expect(ENDED).toContain(await end(serving))
})

test('a server with a job whose source stalls ends in time, and the next start continues the job', async () => {
  const serving = await serve('job')
  const { fromUrl } = await stalledSource()
  const started = await post(
    `${serving.url}/tables/import`,
    { fromUrl },
    { 'x-glide-asynchronous': 'true' },
  )
  expect(started.status).toBe(202)
  const { jobID } = started.data as { jobID: string }

  expect(ENDED).toContain(await end(serving))
  const again = await serve('job')
  const answer = await fetch(`${again.url}/jobs/${jobID}`, { headers: HEADERS })
  expect(await answer.json()).toMatchObject({ data: { status: 'running' } })
  await end(again)
})
