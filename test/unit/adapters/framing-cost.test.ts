// Goal: a body in tiny pieces delays other requests no longer than one in large pieces.
// Method: bodies of equal size, in pieces of one byte and whole, and the pauses made for each.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { drainRequest } from '../../../adapters/http/drain-request.js'
import { pacedBody } from '../../../adapters/http/paced-body.js'

const pauses: number[] = []
vi.mock('node:timers/promises', () => ({
  setTimeout: async (ms: number): Promise<void> => void pauses.push(ms),
}))

const BYTES = 50_000

/** The total milliseconds of pauses while a body is read. */
async function pausesOf(
  lines: readonly string[],
  read: (request: IncomingMessage) => Promise<unknown>,
): Promise<number> {
  const server = createServer(async (request, response) => {
    await read(request)
    response.end('read')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  pauses.length = 0
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines.join('\r\n')}`)
  expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1.1 200 OK/)
  return pauses.reduce((sum, ms) => sum + ms, 0)
}

const chunked = (...chunks: readonly string[]): readonly string[] => {
  return ['Transfer-Encoding: chunked', '', ...chunks, '0', '', '']
}
const BODIES: Readonly<Record<'tiny' | 'large' | 'whole', readonly string[]>> = {
  tiny: chunked('1\r\nx\r\n'.repeat(BYTES).slice(0, -2)),
  large: chunked(BYTES.toString(16), 'x'.repeat(BYTES)),
  whole: [`Content-Length: ${BYTES}`, '', 'x'.repeat(BYTES)],
}

const READERS: Readonly<Record<string, (request: IncomingMessage) => Promise<unknown>>> = {
  read: async (request) => {
    const body = await buffer(pacedBody(request, () => undefined))
    expect(body).toHaveLength(BYTES)
  },
  dropped: drainRequest,
}

for (const [name, read] of Object.entries(READERS)) {
  test(`a body in pieces of a byte that is ${name} pauses for each of most of them`, async () => {
    expect(await pausesOf(BODIES.tiny, read)).toBeGreaterThan(0.004 * (BYTES / 2))
  })

  test.each(['large', 'whole'] as const)(`a %s body that is ${name} has no pause`, async (kind) => {
    expect(await pausesOf(BODIES[kind], read)).toBe(0)
  })
}
