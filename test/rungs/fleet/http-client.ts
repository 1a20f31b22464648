// Requests to any server of a fleet, repeated until their outcome is known.
//
// A repeat goes to another server, while the first one may be dead with its commit on the way to the database. So every
// request that changes something can be repeated safely: it has an Idempotency-Key or an If-Match, or repeating it has
// no further effect.
import { setTimeout as pause } from 'node:timers/promises'
import { StoreError, type StoreErrorCode } from '../../../src/index.js'
import type { Seeded } from '../../support/seeded.js'
import type { Fleet } from './fleet.js'
import { KEY } from './fleet-job.js'

export type FleetRequest = Readonly<{
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. */
  path: string
  headers?: Readonly<Record<string, string>>
  /** Texts are sent unchanged, anything else as JSON. */
  body?: unknown
}>

export type FleetAnswer = Readonly<{
  status: number
  /** From the ETag; NaN if there is none. */
  version: number
  /** The member `data`. */
  data: unknown
  type: string
  message: string
  continuation: string | undefined
  /** Whether a previous attempt had an unknown outcome. */
  wasUnsure: boolean
}>

/** One attempt: an answer, or whether the request may nevertheless have had an effect. */
type Attempt = Omit<FleetAnswer, 'wasUnsure'> | 'refused' | 'unsure'

const REPEAT_MS_MAX = 120_000
const PAUSE_MS = 50

/** With one of these a change takes effect at most once, however late an abandoned attempt takes effect. */
const SAFE_HEADERS = ['idempotency-key', 'if-match']

/** Requests take less time, unless the server is stuck. */
const REQUEST_MS_MAX = 60_000

export class HttpClient {
  readonly #fleet: Fleet
  readonly #random: Seeded
  readonly #patienceMs: number
  /** Attempts by their outcome. */
  readonly attempts = { answered: 0, refused: 0, unsure: 0 }
  /** Servers that have given any answer. */
  readonly answeredBy = new Set<string>()

  /** @param patienceMs - The longest wait for an attempt, if repeating it is safe while it may still take effect. */
  constructor(fleet: Fleet, random: Seeded, patienceMs = REQUEST_MS_MAX) {
    this.#fleet = fleet
    this.#random = random
    this.#patienceMs = patienceMs
  }

  /** @throws {StoreError} if no server answers for a long time; the outcome may be unknown then */
  async send(request: FleetRequest): Promise<FleetAnswer> {
    const endsAt = performance.now() + REPEAT_MS_MAX
    let wasUnsure = false
    for (;;) {
      const attempt = await this.#attempt(request)
      if (typeof attempt === 'object') return { ...attempt, wasUnsure }
      wasUnsure ||= attempt === 'unsure'
      if (performance.now() > endsAt) {
        const outcome = wasUnsure ? 'unknown' : 'unchanged'
        throw new StoreError('STORAGE_UNAVAILABLE', 'No server answers', { outcome })
      }
      await pause(PAUSE_MS + this.#random.below(PAUSE_MS))
    }
  }

  /** Sends a request that must succeed. @throws {StoreError} the failure in the answer */
  async ask(request: FleetRequest): Promise<FleetAnswer> {
    const answer = await this.send(request)
    if (answer.status < 300) return answer
    throw failureOf(answer)
  }

  async #attempt({ method, path, headers, body }: FleetRequest): Promise<Attempt> {
    const isRead = method === 'GET' || method === 'HEAD'
    const isSafe = isRead || SAFE_HEADERS.some((name) => Object.hasOwn(headers ?? {}, name))
    const { url, door } = await this.#fleet.server(this.#random)
    const base = isSafe && door ? `http://127.0.0.1:${door.port}` : url
    const msMax = isSafe ? this.#patienceMs : REQUEST_MS_MAX
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          authorization: `Bearer ${KEY}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: text }),
        signal: AbortSignal.timeout(msMax),
      })
      const taken = this.#taken(response, await response.text())
      if (typeof taken === 'object') this.answeredBy.add(url)
      return taken
    } catch (failure) {
      return this.#count(isUnsent(failure) ? 'refused' : 'unsure')
    }
  }

  #taken({ status, headers }: Response, text: string): Attempt {
    const { data, error, continuation } = (text === '' ? {} : JSON.parse(text)) as Body
    const { type = '', message = '' } = error ?? {}
    if (status === 503 || status === 507 || status === 429) {
      return this.#count(message.includes('outcome unknown') ? 'unsure' : 'refused')
    }
    this.attempts.answered++
    const version = Number(/^"(\d+)"$/.exec(headers.get('etag') ?? '')?.[1])
    return { status, version, data, type, message, continuation }
  }

  #count<T extends 'refused' | 'unsure'>(attempt: T): T {
    this.attempts[attempt]++
    return attempt
  }
}

type Body = Readonly<{
  data?: unknown
  error?: Readonly<{ type: string; message: string }>
  continuation?: string
}>

/** Whether no server received the request. */
function isUnsent(failure: unknown): boolean {
  const cause = failure instanceof Error ? failure.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}

export function failureOf({ type, status, message, wasUnsure }: FleetAnswer): StoreError {
  const code = (type === '' ? `HTTP_${status}` : type.toUpperCase()) as StoreErrorCode
  return new StoreError(code, message, { outcome: wasUnsure ? 'unknown' : 'unchanged' })
}
