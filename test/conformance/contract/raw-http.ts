// Requests that no client library would send, as bytes on a socket.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { Api } from './api.js'

export type RawReply = Readonly<{
  status: number
  headers: ReadonlyMap<string, string>
  body: string
}>

/** Only a hang reaches this deadline. */
const REPLY_MS_MAX = 60_000

/** A connection to the server of the suite. */
export class RawConnection {
  #received = Buffer.alloc(0)
  #isEnded = false
  #wake: () => void = () => {}
  readonly socket: Socket

  constructor(api: Api) {
    const { hostname, port } = new URL(api.server.url)
    this.socket = connect(Number(port), hostname)
    this.socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes])
      this.#wake()
    })
    this.socket.on('close', () => {
      this.#isEnded = true
      this.#wake()
    })
    this.socket.on('error', () => {}) // A reset is seen as the end.
  }

  write(text: string | Uint8Array): boolean {
    return this.socket.write(text)
  }

  /** The next answer on this connection. @param method - The method of its request: the answer to HEAD has no body. */
  async reply(method = ''): Promise<RawReply> {
    const head = await this.#until((text) => text.indexOf('\r\n\r\n'))
    const [statusLine = '', ...lines] = head.split('\r\n')
    const headers = new Map(
      lines
        .map((line) => line.split(': ') as [string, string])
        .map(([name, value]) => [name.toLowerCase(), value]),
    )
    this.#drop(Buffer.byteLength(head, 'latin1') + 4)
    const isChunked = headers.get('transfer-encoding') === 'chunked'
    const length = Number(headers.get('content-length') ?? 0)
    const body = method === 'HEAD' ? [] : await (isChunked ? this.#chunks() : this.#take(length))
    return { status: Number(statusLine.split(' ')[1]), headers, body: String(body) }
  }

  async #take(length: number): Promise<Buffer> {
    await this.#until(() => (this.#received.length >= length ? length : -1))
    const taken = this.#received.subarray(0, length)
    this.#drop(length)
    return taken
  }

  async #chunks(): Promise<Buffer> {
    const chunks: Buffer[] = []
    for (let length = -1; length !== 0; ) {
      const line = await this.#until((text) => text.indexOf('\r\n'))
      length = Number.parseInt(line, 16)
      this.#drop(line.length + 2)
      chunks.push((await this.#take(length + 2)).subarray(0, length))
    }
    return Buffer.concat(chunks)
  }

  /** Resolves when the server has closed the connection. */
  async ended(): Promise<void> {
    await this.#until(() => (this.#isEnded ? 0 : -1), true)
  }

  close(): void {
    this.socket.destroy()
  }

  #drop(count: number): void {
    this.#received = this.#received.subarray(count)
  }

  async #until(find: (text: string) => number, endIsFine = false): Promise<string> {
    const deadline = Date.now() + REPLY_MS_MAX
    while (Date.now() < deadline) {
      const text = this.#received.toString('latin1')
      const found = find(text)
      if (found >= 0) return text.slice(0, found)
      assert.ok(endIsFine || !this.#isEnded, `the connection ended early: ${text.slice(0, 200)}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, 50)
      })
    }
    throw new Error('the server did not answer in time')
  }
}

/** Sends a request head with these lines and no body, and reads the answer. */
export async function sendRaw(api: Api, lines: readonly string[], body = ''): Promise<RawReply> {
  const connection = new RawConnection(api)
  try {
    connection.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
    const reply = await connection.reply()
    announce(api, lines, reply)
    return reply
  } finally {
    connection.close()
  }
}

/** Reports an exchange to the suite's server, if its request line is valid. */
export function announce(
  api: Api,
  lines: readonly string[],
  { status, headers, body }: RawReply,
): void {
  const [, method, path] = /^([A-Z]+) (\/\S*) HTTP\/1\.[01]$/.exec(lines[0] ?? '') ?? []
  const sent = lines.slice(1).map((line) => /^([\w-]+): (.*)$/.exec(line)?.slice(1))
  const pairs = sent.filter((pair) => pair !== undefined) as [string, string][]
  const base = basePath(api)
  if (method === undefined || path === undefined || !path.startsWith(base)) return
  api.server.onExchange?.({
    method,
    path: path.slice(base.length),
    status,
    headers: new Headers([...headers]),
    text: body,
    request: { headers: new Headers(pairs) },
  })
}

/** The lines of a request, with the headers that every request has. */
export function head(api: Api, requestLine: string, ...more: readonly string[]): readonly string[] {
  const { host } = new URL(api.server.url)
  return [
    `${requestLine} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${api.server.key}`,
    ...more,
  ]
}

/** The prefix of the server's URL, with which a request target must begin. */
export function basePath(api: Api): string {
  return new URL(api.server.url).pathname.replace(/\/$/, '')
}
