// The requests of an import: sent over kept-alive connections, and repeated.
//
// Invariant: every request may be repeated if its outcome is unknown. Chunks, deletions and overwrites have the same
// effect again; creates and adds carry an Idempotency-Key.

import { randomUUID } from 'node:crypto'
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { AnswerReader, type TableAnswer } from './answer-reader.js'
import { type CheckAnswer, CheckReader } from './check-reader.js'
import type { RecordPlace } from './import-places.js'
import { bodyOf, contentTypeOf, halveRun, type RowRun } from './import-source.js'
import { ProgramFailure } from './program-failure.js'

const TRIES_DEFAULT = 8
const BACKOFF_MS_MIN = 250
const BACKOFF_MS_MAX = 15_000
const RETRY_AFTER_MS_MAX = 120_000

/** Silence on a connection, after which it counts as broken. A finalize may take a while to answer. */
const IDLE_MS_MAX = 300_000

/** How long the answer to a chunk is waited for once the import has ended. */
const LAST_ANSWER_MS_MAX = 5_000

const ERROR_BYTES_MAX = 64 * 1_024

export type ClientOptions = Readonly<{
  url: string
  key: string
  /** Requests at the same time. */
  parallel: number
  /**
   * Ends what is under way. Only the answer to a chunk that is sent in full is waited for, 5 s at most: a
   * stash that is deleted before the server has put the chunk would be there again.
   */
  signal: AbortSignal
  /** Attempts for each request, at most. Default: 8. */
  triesMax?: number
  /** Called before each pause between attempts, with the reason. */
  onRetry?: (reason: string, pauseMs: number) => void
  /** Replaces the pauses before further tries; for tests. */
  pause?: (ms: number) => Promise<void>
}>

type Request = Readonly<{
  method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  path: string
  contentType?: string
  /** The idempotency key, which is the same for all attempts, so that only one has an effect. */
  idempotencyKey?: string
  body?: readonly Uint8Array[]
  /** Whether the request puts a chunk of a stash. */
  isChunk?: boolean
  /** Takes the body of a good answer piece by piece; each try gets a new one. */
  onAnswer?: () => (piece: Uint8Array) => void
}>

/** The outcome of one attempt. `message` is the server's, or the system's for a failed connection. */
type Outcome = Readonly<{
  status: number
  /** Whether the response is not HTTP. */
  isForeign?: boolean
  /** The type of the server's error; empty if there is none. */
  type: string
  message: string
  retryAfterMs: number | undefined
}>

/** A request that did not succeed. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure'

  constructor(
    message: string,
    /** Whether the server refuses these rows, not all requests of this kind. */
    readonly isOfRows: boolean,
    /** The serial of the chunk that was sent; undefined for other requests. */
    readonly serial?: string,
  ) {
    super(message)
  }
}

const STATUSES_OF_ROWS: ReadonlySet<number> = new Set([400, 413, 422])

/** Statuses of an attempt without a response: no connection, or a broken one. */
const STATUS_UNCONNECTED = -1
const STATUS_BROKEN = 0

/** The serials of a chunk and of its halves: `width` numbers from `first` on. */
type SerialRange = Readonly<{ first: number; width: number }>

/** Serials of one chunk: more than its rows, so every half has a number. */
const SERIALS_PER_CHUNK = 2 ** 20

export class ImportClient {
  readonly #base: string
  readonly #isSecure: boolean
  readonly #options: ClientOptions
  readonly #agent: HttpAgent | HttpsAgent
  /** Whether any request got a response. */
  #isReached = false
  #mayHoldChunks = false
  /** The first record of each chunk that holds a later part of a run, by serial. */
  readonly #firstRecords = new Map<number, number>()

  constructor(options: ClientOptions) {
    this.#options = options
    this.#base = parseServerUrl(options.url)
    this.#isSecure = this.#base.startsWith('https:')
    this.#agent = new (this.#isSecure ? HttpsAgent : HttpAgent)({
      keepAlive: true,
      maxSockets: options.parallel,
    })
  }

  /** Whether the server has taken a chunk, as far as anyone knows. */
  get mayHoldChunks(): boolean {
    return this.#mayHoldChunks
  }

  /** Where in the runs a chunk begins; undefined if it is none of this client's. */
  startOf(serial: string): RecordPlace | undefined {
    if (!/^[0-9]{1,15}$/.test(serial)) return undefined
    const number = Number(serial)
    const record = this.#firstRecords.get(number) ?? 0
    return { run: Math.floor(number / SERIALS_PER_CHUNK), record }
  }

  /**
   * Puts a run as one chunk of a stash, or as more where the server finds it too large.
   * @param index - Of the run; it decides the serials.
   * @throws {RequestFailure}
   */
  putRun(stashId: string, index: number, run: RowRun): Promise<void> {
    const serials = { first: index * SERIALS_PER_CHUNK, width: SERIALS_PER_CHUNK }
    return this.#putPart(stashId, serials, run, 0)
  }

  async #putPart(
    stashId: string,
    serials: SerialRange,
    run: RowRun,
    firstRecord: number,
  ): Promise<void> {
    if (firstRecord > 0) this.#firstRecords.set(serials.first, firstRecord)
    const serial = String(serials.first)
    const outcome = await this.#sendRepeatedly({
      method: 'PUT',
      path: `/stashes/${stashId}/${serial}`,
      contentType: contentTypeOf(run),
      body: bodyOf(run),
      isChunk: true,
    })
    const halves = outcome.status === 413 ? halveRun(run) : null
    if (halves === null) return expectSuccess(outcome, serial)
    const [left, right] = halves
    const width = Math.floor(serials.width / 2)
    await this.#putPart(stashId, { first: serials.first, width }, left, firstRecord)
    const middle = firstRecord + left.starts.length
    await this.#putPart(stashId, { first: serials.first + width, width }, right, middle)
  }

  async deleteStash(stashId: string): Promise<void> {
    expectSuccess(await this.#sendRepeatedly({ method: 'DELETE', path: `/stashes/${stashId}` }))
  }

  /**
   * Sends a table operation. Its row IDs are counted as they arrive, for there may be millions.
   * @param idempotencyKey - Of a POST, which without it would have an effect for each try.
   */
  changeTable(
    request: Readonly<{ method: 'PUT' } | { method: 'POST'; idempotencyKey: string }>,
    path: string,
    body: unknown,
  ): Promise<TableAnswer> {
    return this.#sendJson({ ...request, path }, body, () => new AnswerReader())
  }

  /** Sends a table operation to be checked only. */
  async checkTable(method: 'POST' | 'PUT', path: string, body: unknown): Promise<CheckAnswer> {
    const request = { method, path: `${path}?validate=only` }
    return (await this.#sendJson(request, body, () => new CheckReader())).answer()
  }

  /** @param openReader - A reader of the answer, for each try. @throws {RequestFailure} */
  async #sendJson<R extends Readonly<{ read(piece: Uint8Array): void }>>(
    request: Pick<Request, 'method' | 'path' | 'idempotencyKey'>,
    body: unknown,
    openReader: () => R,
  ): Promise<R> {
    let reader = openReader()
    const onAnswer = () => {
      reader = openReader()
      return (piece: Uint8Array): void => reader.read(piece)
    }
    const sent = { contentType: 'application/json', body: [Buffer.from(JSON.stringify(body))] }
    expectSuccess(await this.#sendRepeatedly({ ...request, ...sent, onAnswer }))
    return reader
  }

  /**
   * Whether cells fit their columns, without a change: they go to the table as a row to add, in front of one
   * with an unknown column. Rows are judged in order, and all are refused.
   * @throws {RequestFailure}
   */
  async rowFits(tableId: string, cells: Readonly<Record<string, unknown>>): Promise<boolean> {
    const outcome = await this.#sendRepeatedly({
      method: 'POST',
      path: `/tables/${encodeURIComponent(tableId)}/rows?onSchemaError=abort`,
      contentType: 'application/json',
      body: [Buffer.from(JSON.stringify([cells, { [randomUUID()]: true }]))],
    })
    if (outcome.type === 'column_id_not_found') return true
    if (outcome.type === 'column_has_invalid_value') return false
    throw new RequestFailure(outcome.message, false)
  }

  close(): void {
    this.#agent.destroy()
  }

  async #sendRepeatedly(request: Request): Promise<Outcome> {
    const { signal, onRetry, triesMax = TRIES_DEFAULT, pause = sleepUnless(signal) } = this.#options
    for (let tries = 1; ; tries++) {
      const outcome = await this.#send(request)
      const isFutile = outcome.status === STATUS_UNCONNECTED || outcome.isForeign === true
      if (request.isChunk === true && !isRefusal(outcome) && (this.#isReached || !isFutile)) {
        this.#mayHoldChunks = true
      }
      signal.throwIfAborted()
      // Nothing has ever answered there, so this is not a server that is starting again.
      if (isFutile && !this.#isReached) {
        throw new ProgramFailure('failed', `No server answers at ${this.#base}: ${outcome.message}`)
      }
      if (isUnknownPath(outcome)) {
        const hint = `is ${this.#base} the URL of the server, with its base path?`
        return { ...outcome, message: `${outcome.message}; ${hint}` }
      }
      if (!mayRepeat(outcome) || tries >= triesMax) return outcome
      const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (tries - 1))
      // Clients that were refused together should not come back together.
      const pauseMs = outcome.retryAfterMs ?? backoffMs * (0.5 + Math.random() / 2)
      onRetry?.(outcome.message, pauseMs)
      await pause(pauseMs)
    }
  }

  /** Sends a request once. Never rejects: a broken connection is an outcome too. */
  #send(request: Request): Promise<Outcome> {
    const { method, path, contentType, idempotencyKey, body = [], isChunk, onAnswer } = request
    const { signal, key } = this.#options
    const headers: Record<string, string | number> = { authorization: `Bearer ${key}` }
    if (contentType !== undefined) {
      headers['content-type'] = contentType
      headers['content-length'] = body.reduce((length, part) => length + part.length, 0)
    }
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
    return new Promise((resolve) => {
      const options = { method, headers, agent: this.#agent, timeout: IDLE_MS_MAX }
      const send = this.#isSecure ? httpsRequest : httpRequest
      let isConnected = false
      let isAnswered = false
      const sent = send(this.#base + path, options, (response) => {
        isAnswered = true
        this.#isReached = true
        readAnswer(response, onAnswer?.(), resolve)
      })
      const connected = this.#isSecure ? 'secureConnect' : 'connect'
      sent.on('socket', (socket) => {
        if (sent.reusedSocket) isConnected = true
        else socket.once(connected, () => (isConnected = true))
      })
      // Once an answer has begun, it decides: a server that refuses a body stops reading it.
      sent.on('error', (failure) => isAnswered || resolve(brokenOutcome(failure, isConnected)))
      sent.on('timeout', () => sent.destroy(new Error('the server is silent')))
      destroyOnAbort(sent, signal, isChunk === true)
      for (const part of body) sent.write(part)
      sent.end()
    })
  }
}

/** Ends a request with the import. One that `awaitsAnswer` has a moment more, once all of it is sent. */
function destroyOnAbort(sent: ClientRequest, signal: AbortSignal, awaitsAnswer: boolean): void {
  let timer: NodeJS.Timeout | undefined
  const destroy = (): void => {
    sent.destroy(new Error('the import has ended'))
  }
  const stop = (): void => {
    if (awaitsAnswer && sent.writableFinished) timer = setTimeout(destroy, LAST_ANSWER_MS_MAX)
    else destroy()
  }
  sent.once('close', () => {
    signal.removeEventListener('abort', stop)
    clearTimeout(timer)
  })
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
}

function sleepUnless(signal: AbortSignal): (ms: number) => Promise<void> {
  return (ms) => sleep(ms, undefined, { signal })
}

function readAnswer(
  response: IncomingMessage,
  take: ((piece: Uint8Array) => void) | undefined,
  resolve: (outcome: Outcome) => void,
): void {
  const status = response.statusCode ?? STATUS_BROKEN
  const isGood = status >= 200 && status < 300
  const errorPieces: Uint8Array[] = []
  let errorBytes = 0
  response.on('error', (failure) => resolve(brokenOutcome(failure, true)))
  response.on('data', (piece: Uint8Array) => {
    if (isGood) return take?.(piece)
    errorBytes += piece.length
    if (errorBytes <= ERROR_BYTES_MAX) errorPieces.push(piece)
  })
  response.on('end', () => {
    const body = Buffer.concat(errorPieces).toString('utf8')
    const error = isGood ? { type: '', message: '' } : parseError(status, body)
    resolve({ status, ...error, retryAfterMs: retryAfterMs(response.headers['retry-after']) })
  })
}

/** The server's own words where its answer has them. */
function parseError(status: number, body: string): Pick<Outcome, 'type' | 'message'> {
  try {
    const { error } = JSON.parse(body) as { error?: { type?: unknown; message?: unknown } }
    if (typeof error?.message === 'string') {
      return { type: typeof error.type === 'string' ? error.type : '', message: error.message }
    }
  } catch (failure) {
    if (!(failure instanceof SyntaxError || failure instanceof TypeError)) throw failure
  }
  return { type: '', message: `The server answered with status ${status}` }
}

/** Seconds or an HTTP date, RFC 9110 section 10.2.3. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const ms = /^[0-9]{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms))
}

function brokenOutcome(failure: Error, isConnected: boolean): Outcome {
  const status = isConnected ? STATUS_BROKEN : STATUS_UNCONNECTED
  // A host of several addresses has a failure for each, and no message of its own.
  const failures: readonly Error[] = failure instanceof AggregateError ? failure.errors : [failure]
  const message = failures.map((each) => firstLine(each.message)).join(', ')
  const isForeign = /^HPE_/.test((failure as NodeJS.ErrnoException).code ?? '')
  return { status, isForeign, type: '', message, retryAfterMs: undefined }
}

/** Messages of TLS go on with lines about the program. */
function firstLine(text: string): string {
  return /^.*/.exec(text.trim())?.[0] ?? ''
}

/** Whether the response is that of a foreign server, or of one with another base path. */
function isUnknownPath({ status, type, message }: Outcome): boolean {
  return status === 404 && (type === '' || /^Unknown path/.test(message))
}

/** Whether it is known that a request had no effect. */
function isRefusal({ status }: Outcome): boolean {
  return status === STATUS_UNCONNECTED || (status >= 400 && status < 500)
}

/** Whether to repeat a request. One with an unknown outcome is repeated too, because a repeat has no second effect. */
function mayRepeat({ status }: Outcome): boolean {
  return (
    status === 429 || status >= 500 || status === STATUS_BROKEN || status === STATUS_UNCONNECTED
  )
}

function expectSuccess({ status, message }: Outcome, serial?: string): void {
  if (status >= 200 && status < 300) return
  const shown = message === '' ? 'The connection broke' : message
  throw new RequestFailure(shown, STATUSES_OF_ROWS.has(status), serial)
}

/** The URL in front of the contract's paths: without a slash at its end. */
function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ProgramFailure('usage', `--url must be an http or https URL, not "${text}"`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}
