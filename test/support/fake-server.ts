// A server that gives the answers of a test, and records its requests.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export type Asked = Readonly<{
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
}>

export type FakeServer = Readonly<{ url: string; asked: Asked[] }>

/** The answer; undefined: breaks the connection. */
export type Answer = Readonly<{
  status: number
  headers?: Readonly<Record<string, string>>
  body?: unknown
}>

export async function fakeServer(
  answerTo: (asked: Asked, turn: number) => Answer | undefined | Promise<Answer | undefined>,
): Promise<FakeServer> {
  const asked: Asked[] = []

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Uint8Array[] = []
    for await (const piece of request) pieces.push(piece)
    const { method = '', url: path = '', headers } = request
    const question = { method, path, headers, body: Buffer.concat(pieces).toString('utf8') }
    asked.push(question)
    const given = await answerTo(question, asked.length - 1)
    if (given === undefined) {
      request.socket.destroy()
      return
    }
    response.writeHead(given.status, given.headers).end(JSON.stringify(given.body ?? {}))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked }
}
