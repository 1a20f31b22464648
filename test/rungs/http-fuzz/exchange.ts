// Writes conversations to sockets and reads the answers strictly: an answer is a complete HTTP/1.1 message, and nothing
// else is sent.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exchange } from '../../support/openapi-proof.js'
import type { Conversation, Sent } from './wire.js'

/** The longest time without an answer while the connection stays open. */
const ANSWER_MS_MAX = 120_000
/** How long the client waits before it closes a connection on which the server may expect more bytes. */
const PATIENCE_MS = 150
const PIECES_MAX = 5
const ONE_IN_PATIENT = 200

/** The outcome of a request: its answer, or the end of its connection. */
export type Outcome = Readonly<{
  sent: Sent
  /** Whether an end without an answer is allowed: the request, or the one sent right after it, was broken or cut. */
  mayEnd: boolean
  exchange: Exchange | undefined
}>

export type Heard = Readonly<{ outcomes: readonly Outcome[]; problems: readonly string[] }>

/** Holds a conversation. When the server closes the connection, the rest goes to a new one. */
export async function converse(
  { isPipelined, requests }: Conversation,
  address: Readonly<{ port: number; host: string }>,
  patient: number,
): Promise<Heard> {
  const outcomes: Outcome[] = []
  const problems: string[] = []
  const isBroken = requests.at(-1)?.form !== 'whole'
  let at = 0
  while (at < requests.length) {
    const wire = new Wire(connect(address.port, address.host))
    const isFirst = at
    try {
      if (isPipelined) for (const sent of requests.slice(at)) wire.write(sent.bytes)
      while (at < requests.length && !(wire.isEnded && at > isFirst)) {
        const sent = requests[at++]
        if (sent === undefined) break
        const isPatient = patient % ONE_IN_PATIENT === 0
        const exchange = await ask(wire, sent, { isWritten: isPipelined, isPatient })
        outcomes.push({
          sent,
          mayEnd: isPipelined ? isBroken : sent.form !== 'whole',
          exchange,
        })
        if (exchange === undefined || exchange.headers.get('connection') === 'close') break
      }
    } catch (failure) {
      const { line = '' } = requests[at - 1] ?? {}
      problems.push(`${line}: ${failure instanceof Error ? failure.message : String(failure)}`)
    } finally {
      wire.close()
    }
  }
  return { outcomes, problems }
}

type How = Readonly<{ isWritten: boolean; isPatient: boolean }>

async function ask(
  wire: Wire,
  sent: Sent,
  { isWritten, isPatient }: How,
): Promise<Exchange | undefined> {
  if (!isWritten) await writeSlowly(wire, sent)
  // The server may wait for the rest until its own time limit, and then refuses. The client rarely waits so long.
  if (sent.form === 'cut' && !isPatient) wire.endAfter(PATIENCE_MS)
  if (sent.form === 'broken' && !isPatient) wire.endAfter(PATIENCE_MS)
  // Node's parser accepts a request without a version as HTTP/0.9, and ends a target only at a space.
  const [, method = 'GET', target = ''] =
    /^([A-Z]+) +([^ ]+)(?: +HTTP\/\d\.\d)?$/.exec(sent.line) ?? []
  const reply = await wire.reply(method)
  if (reply === undefined) return undefined
  return { ...reply, method, path: target.startsWith('/') ? target : '/unparsed' }
}

async function writeSlowly(wire: Wire, { bytes, pauseMs }: Sent): Promise<void> {
  if (pauseMs === 0) return wire.write(bytes)
  const step = Math.max(1, Math.ceil(bytes.length / PIECES_MAX))
  for (let at = 0; at < bytes.length && !wire.isEnded; at += step) {
    wire.write(bytes.subarray(at, at + step))
    await sleep(pauseMs)
  }
}

type Reply = Pick<Exchange, 'status' | 'headers' | 'text'>

class Wire {
  readonly #socket: Socket
  readonly #pieces: Buffer[] = []
  #held = 0
  #wake: () => void = () => {}
  #timer: NodeJS.Timeout | undefined
  isEnded = false

  constructor(socket: Socket) {
    this.#socket = socket
    const end = (): void => {
      this.isEnded = true
      this.#wake()
    }
    socket.setNoDelay(true)
    socket.on('data', (piece) => {
      this.#pieces.push(piece)
      this.#held += piece.length
      this.#wake()
    })
    socket.on('end', end).on('close', end)
    socket.on('error', () => {}) // A reset is seen as the end.
  }

  write(bytes: Uint8Array): void {
    if (!this.isEnded) this.#socket.write(bytes)
  }

  endAfter(ms: number): void {
    this.#timer ??= setTimeout(() => this.#socket.end(), ms)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#socket.destroy()
  }

  /** The next final answer; undefined: the connection was closed without one. */
  async reply(method: string): Promise<Reply | undefined> {
    const deadline = performance.now() + ANSWER_MS_MAX
    for (;;) {
      const head = await this.#head(deadline)
      if (head === undefined) return undefined
      if (head.status >= 200) return { ...head, text: await this.#body(method, head, deadline) }
    }
  }

  async #head(deadline: number): Promise<Omit<Reply, 'text'> | undefined> {
    let end = -1
    const isThere = (): boolean => {
      end = this.#all().indexOf('\r\n\r\n')
      return end >= 0
    }
    if (!(await this.#until(isThere, deadline))) {
      if (this.#held === 0) return undefined
      throw new Error(`half an answer: ${this.#all().toString('latin1').slice(0, 200)}`)
    }
    const [statusLine = '', ...lines] = this.#take(end + 4)
      .toString('latin1')
      .trimEnd()
      .split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    if (Number.isNaN(status)) throw new Error(`no status line: ${statusLine.slice(0, 200)}`)
    return { status, headers: new Map(lines.map(headerOf)) }
  }

  async #body(method: string, { status, headers }: Omit<Reply, 'text'>, deadline: number) {
    if (method === 'HEAD' || status === 204 || status === 304) return ''
    if (headers.get('transfer-encoding') === 'chunked') return await this.#chunks(deadline)
    const length = headers.get('content-length')
    if (length === undefined || !/^\d+$/.test(length)) throw new Error('an answer without a length')
    return (await this.#bytes(Number(length), deadline)).toString()
  }

  async #chunks(deadline: number): Promise<string> {
    const pieces: Buffer[] = []
    for (;;) {
      let end = -1
      const isThere = (): boolean => {
        end = this.#all().indexOf('\r\n')
        return end >= 0
      }
      if (!(await this.#until(isThere, deadline))) throw new Error('half a chunk')
      const size = Number.parseInt(this.#take(end + 2).toString('latin1'), 16)
      if (Number.isNaN(size)) throw new Error('a chunk without a size')
      const bytes = await this.#bytes(size + 2, deadline)
      if (size === 0) return Buffer.concat(pieces).toString()
      pieces.push(bytes.subarray(0, size))
    }
  }

  async #bytes(count: number, deadline: number): Promise<Buffer> {
    if (!(await this.#until(() => this.#held >= count, deadline))) throw new Error('half a body')
    return this.#take(count)
  }

  /** @returns false if the connection ended first. @throws {Error} if nothing happens before the deadline */
  async #until(isThere: () => boolean, deadline: number): Promise<boolean> {
    for (;;) {
      if (isThere()) return true
      if (this.isEnded) return false
      const left = deadline - performance.now()
      if (left <= 0) throw new Error(`neither an answer nor an end within ${ANSWER_MS_MAX} ms`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  #all(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.#pieces
    if (others.length === 0) return first
    const all = Buffer.concat(this.#pieces)
    this.#pieces.splice(0, this.#pieces.length, all)
    return all
  }

  #take(count: number): Buffer {
    const all = this.#all()
    this.#pieces.splice(0, this.#pieces.length, all.subarray(count))
    this.#held = all.length - count
    return all.subarray(0, count)
  }
}

function headerOf(line: string): readonly [string, string] {
  const [, name, value] = /^([\w-]+): ?(.*)$/.exec(line) ?? []
  if (name === undefined || value === undefined) throw new Error(`no header: ${line.slice(0, 200)}`)
  return [name.toLowerCase(), value]
}
