// An S3 server for tests: one bucket in memory behind HTTP. It verifies signatures, and fails on command.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { S3Options } from '../../adapters/s3/s3-options.js'
import { refusal, S3Bucket, type S3Given } from './s3-bucket.js'
import { checkSignature } from './s3-signature.js'
import type { Seeded } from './seeded.js'

/**
 * A fault of one request: an error answer (`error`, `slowDown`), a broken connection (`reset`), no answer (`hang`),
 * half of the body (`cut`), a shorter body that claims to be complete (`short`), or, for a POST, an error after a
 * status of 200 (`late`). With `effect`, the request takes effect first.
 */
export type S3Fault = Readonly<{
  kind: 'cut' | 'error' | 'hang' | 'late' | 'reset' | 'short' | 'slowDown'
  effect?: boolean
  /** The header Retry-After of `error` and `slowDown`. */
  retryAfter?: string
}>

const FAULT_KINDS: readonly S3Fault['kind'][] = [
  'error',
  'slowDown',
  'reset',
  'hang',
  'cut',
  'short',
  'late',
]

export type S3Asked = Readonly<{
  method: string
  key: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  bytes: number
}>

const BUCKET = 'rows'
const ACCOUNT = {
  accessKeyId: 'AKIDOUBLE',
  secretAccessKey: 'a secret/with+odd=characters',
  region: 'eu-test-1',
}

/** Quick retries. Tests of servers that do not answer set shorter timeouts, which a busy machine may exceed. */
const QUICK = {
  attemptsMax: 30,
  backoffBaseMs: 1,
  backoffMaxMs: 5,
  connectTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  attemptTimeoutMs: 30_000,
} satisfies Partial<S3Options>

export class S3Double {
  readonly bucket = new S3Bucket()
  readonly asked: S3Asked[] = []
  /** Called for each request. @returns its fault, if it is to fail */
  faultOf: (asked: S3Asked) => S3Fault | undefined = () => undefined
  /** Most connections open at the same time. */
  connectionsPeak = 0
  /** Number of requests that got a fault. */
  faults = 0
  #connections = 0
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
    this.#server.on('connection', (socket) => {
      this.connectionsPeak = Math.max(this.connectionsPeak, ++this.#connections)
      socket.on('close', () => this.#connections--)
    })
  }

  static async start(): Promise<S3Double> {
    const double = new S3Double()
    await new Promise<void>((listening) => double.#server.listen(0, '127.0.0.1', listening))
    return double
  }

  /** Options for this server, with short waits. */
  options(others: Partial<S3Options> = {}): S3Options {
    const { accessKeyId, secretAccessKey, region } = ACCOUNT
    const { port } = this.#server.address() as AddressInfo
    return {
      endpoint: `http://127.0.0.1:${port}`,
      bucket: BUCKET,
      credentials: { accessKeyId, secretAccessKey },
      region,
      ...QUICK,
      ...others,
    }
  }

  /** From now on a third of the requests fail, in any way. */
  failOften(random: Seeded): void {
    this.faultOf = () =>
      random.once(3) ? { kind: random.pick(FAULT_KINDS), effect: random.once(2) } : undefined
  }

  /** From now on none fails. */
  recover(): void {
    this.faultOf = () => undefined
  }

  /** Ends connections kept open without a request. */
  closeIdle(): void {
    this.#server.closeIdleConnections()
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((closed) => this.#server.close(closed))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Uint8Array[] = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
    const [, bucket = '', ...rest] = url.pathname.split('/')
    const { method = '', headers } = request
    const key = decodeURIComponent(rest.join('/'))
    const question = { method, key, query: url.searchParams, headers, body }
    const asked = { method, key, query: url.searchParams, headers, bytes: body.length }
    this.asked.push(asked)
    const refused = checkSignature(request, url, body, ACCOUNT)
    const answer = (): S3Given => {
      if (refused !== null) return refusal(refused.status, refused.code)
      return bucket === BUCKET ? this.bucket.answer(question) : refusal(404, 'NoSuchBucket')
    }
    const fault = this.faultOf(asked)
    if (fault === undefined) {
      send(response, answer(), method)
    } else {
      this.faults++
      fail(response, fault, answer, method)
    }
  }
}

function send(
  response: ServerResponse,
  { status, headers, body = '' }: S3Given,
  method: string,
): void {
  const length = method === 'HEAD' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  response.writeHead(status, { ...headers, ...length }).end(method === 'HEAD' ? '' : body)
}

function fail(
  response: ServerResponse,
  { kind, effect = false, retryAfter }: S3Fault,
  answer: () => S3Given,
  method: string,
): void {
  const given = effect || kind === 'cut' || kind === 'short' ? answer() : { status: 200 }
  if (kind === 'hang') return
  if (kind === 'reset') {
    response.destroy()
  } else if (kind === 'late' && method === 'POST') {
    send(response, { ...refusal(200, 'InternalError') }, method)
  } else if (kind === 'error' || kind === 'slowDown' || kind === 'late') {
    const isSlow = kind === 'slowDown'
    const refused = refusal(isSlow ? 503 : 500, isSlow ? 'SlowDown' : 'InternalError')
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
    send(response, { ...refused, headers }, method)
  } else {
    const { status, headers, body = '' } = given
    const whole = Buffer.from(body)
    const half = whole.subarray(0, Math.floor(whole.length / 2))
    if (kind === 'short') {
      send(response, { ...given, body: half }, method)
    } else {
      response.writeHead(status, { ...headers, 'content-length': String(whole.length + 1) })
      response.write(half, () => response.destroy())
    }
  }
}
