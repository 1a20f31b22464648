// One attempt of a request, over a bounded pool of connections.
//
// Invariants:
// - An answer is passed on only with its complete body: as long as its Content-Length, or ended according to its
//   framing.
// - Once an exchange has settled, nothing is written to the caller's memory.
// - Every wait has a limit: for a connection, for the next byte, and for the whole attempt. Waiting for a free
//   connection of the pool does not count, because these limits free each connection in time.
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Bytes } from '../../src/base/bytes.js'
import { concatBytes, plainView } from '../../src/base/bytes.js'
import { connectionFailure, S3Failure } from './s3-failure.js'
import type { S3Settings } from './s3-options.js'

export type Exchange = Readonly<{
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: Bytes | undefined
  /** May receive the body of a partial answer (206), if it is large enough. */
  memory?: Bytes | undefined
  /** The maximum number of bytes in the body of an answer. */
  bytesMax: number
}>

export type S3Answer = Readonly<{
  status: number
  headers: IncomingHttpHeaders
  body: Bytes
}>

type Timeouts = Pick<S3Settings, 'connectTimeoutMs' | 'idleTimeoutMs' | 'attemptTimeoutMs'>

export class S3Sockets {
  readonly #timeouts: Timeouts
  readonly #agent: HttpAgent
  readonly #isSecure: boolean

  constructor(settings: S3Settings) {
    const { bucketUrl, socketsMax, ca } = settings
    this.#timeouts = settings
    this.#isSecure = bucketUrl.protocol === 'https:'
    const pool = { keepAlive: true, maxSockets: socketsMax, maxFreeSockets: socketsMax }
    this.#agent = this.#isSecure
      ? new HttpsAgent({ ...pool, rejectUnauthorized: true, ...(ca !== undefined && { ca }) })
      : new HttpAgent(pool)
  }

  /** @throws {S3Failure} if there is no complete answer in time. */
  exchange(exchange: Exchange): Promise<S3Answer> {
    return new Promise((resolve, reject) => {
      const { method, url, headers, body } = exchange
      const begin = this.#isSecure ? requestHttps : requestHttp
      const timeout = this.#timeouts.idleTimeoutMs
      const request = begin(url, { method, headers, agent: this.#agent, timeout })
      const timers = limitTimes(request, this.#isSecure, this.#timeouts)
      const fail = (failure: Error): void => {
        clearTimers(timers)
        reject(connectionFailure(failure))
      }
      request.on('error', fail)
      request.once('response', (response) => {
        readS3Answer(response, exchange).then((answer) => {
          clearTimers(timers)
          resolve(answer)
        }, fail)
      })
      request.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

type Timers = { readonly running: Set<NodeJS.Timeout> }

function clearTimers({ running }: Timers): void {
  for (const timer of running) clearTimeout(timer)
}

/** Ends a request that takes too long. */
function limitTimes(
  request: ClientRequest,
  isSecure: boolean,
  { connectTimeoutMs, idleTimeoutMs, attemptTimeoutMs }: Timeouts,
): Timers {
  const running = new Set<NodeJS.Timeout>()
  let response: IncomingMessage | undefined
  const giveUp = (message: string, isAmbiguous = true): void => {
    const failure = new S3Failure(message, { isRetryable: true, isAmbiguous })
    request.destroy(failure)
    response?.destroy(failure)
  }
  const limit = (ms: number, message: string, isAmbiguous = true): NodeJS.Timeout => {
    const timer = setTimeout(() => giveUp(message, isAmbiguous), ms)
    running.add(timer)
    return timer
  }
  request.once('response', (begun) => {
    response = begun
  })
  request.once('timeout', () => giveUp(`no byte was sent or received for ${idleTimeoutMs} ms`))
  request.once('socket', (socket) => {
    limit(attemptTimeoutMs, `the S3 server took longer than ${attemptTimeoutMs} ms`)
    if (!socket.connecting) return
    const late = `no connection to the S3 server within ${connectTimeoutMs} ms`
    const timer = limit(connectTimeoutMs, late, false)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(timer))
  })
  return { running }
}

/** Reads the body of an answer. */
function readS3Answer(
  response: IncomingMessage,
  { method, memory, bytesMax }: Exchange,
): Promise<S3Answer> {
  return new Promise((resolve, reject) => {
    const { statusCode: status = 0, headers } = response
    const length = method === 'HEAD' ? 0 : lengthOf(headers)
    const body = new AnswerBody(length, length ?? bytesMax, status === 206 ? memory : undefined)
    const fail = (failure: Error): void => {
      response.off('data', take)
      reject(failure)
    }
    const take = (piece: Buffer): void => {
      if (!body.add(piece)) response.destroy(cutOffFailure('sent more bytes than it announced'))
    }
    const end = (): void => {
      if (response.complete && body.isWhole) resolve({ status, headers, body: body.finish() })
      else fail(cutOffFailure('ended its answer early'))
    }
    response.on('error', fail)
    response.once('end', end)
    response.once('close', () => fail(cutOffFailure('ended its answer early'))) // After `end`, this has no effect.
    if (length !== undefined && length > bytesMax)
      response.destroy(cutOffFailure('sent more bytes than were requested'))
    else response.on('data', take)
  })
}

function lengthOf(headers: IncomingHttpHeaders): number | undefined {
  const { 'content-length': length } = headers
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined
}

function cutOffFailure(problem: string): S3Failure {
  return new S3Failure(`the S3 server ${problem}`, { isRetryable: true, isAmbiguous: true })
}

/** The bytes of an answer: in one buffer if their number is known, otherwise in pieces. */
class AnswerBody {
  readonly #length: number | undefined
  readonly #bytesMax: number
  readonly #target: Bytes | undefined
  readonly #pieces: Bytes[] = []
  #bytes = 0

  constructor(length: number | undefined, bytesMax: number, memory: Bytes | undefined) {
    this.#length = length
    this.#bytesMax = bytesMax
    const hasRoom = memory !== undefined && length !== undefined && memory.length >= length
    if (hasRoom) this.#target = memory.subarray(0, length)
    else if (length !== undefined && length <= bytesMax) this.#target = new Uint8Array(length)
  }

  get isWhole(): boolean {
    return this.#length === undefined || this.#bytes === this.#length
  }

  /** Adds a piece. @returns whether there was room for it */
  add(piece: Bytes): boolean {
    if (this.#bytes + piece.length > this.#bytesMax) return false
    if (this.#target === undefined) this.#pieces.push(plainView(piece))
    else this.#target.set(piece, this.#bytes)
    this.#bytes += piece.length
    return true
  }

  finish(): Bytes {
    return this.#target ?? concatBytes(this.#pieces)
  }
}
