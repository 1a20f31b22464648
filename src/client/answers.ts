// Reads the answer to a request. A proxy may cut off or stall a body, send an endless body, or answer with a page of
// its own.
import { concatBytes, utf8 } from '../base/bytes.js'
import { monotonicMs, systemClock } from '../base/clock.js'
import { isRecord } from '../base/options.js'
import { ClientError, type RowProblems } from './client-error.js'

/** The longest silence within a body, in milliseconds. */
const SILENCE_MS_MAX = 30_000

/** Maximum number of bytes that are read of an error's body, and maximum time for reading them, in milliseconds. */
const ERROR_BYTES_MAX = 256 * 1024
const ERROR_MS_MAX = 5_000

/** Maximum number of characters that are shown of an error message. */
const ERROR_CHARACTERS_MAX = 10_000

/** Maximum number of characters that are shown of a body that is not an answer of the contract. */
const SHOWN_CHARACTERS = 40

/** The longest pause that a server can ask for, in milliseconds. */
const RETRY_AFTER_MS_MAX = 120_000

/**
 * The whole message of the contract for an unknown key. The status of this error, 404, is also that of a missing table.
 */
const UNKNOWN_KEY = /^API key not found, or duplicate \S+$/

/** The error type of an answer that does not follow the contract. */
export const ANSWER_INVALID = 'answer_invalid'

/** An ETag. Compressing proxies make it weak, or append the name of the coding (Apache, Jetty). */
const ETAG = /^(?:W\/)?"(.*?)(?:--?(?:gzip|br|deflate|zstd))?"$/

/** The version in an ETag, without its quotes; empty if a proxy has removed the ETag. */
export function versionOf({ headers }: Response): string {
  return ETAG.exec(headers.get('etag') ?? '')?.[1] ?? ''
}

/** The conditional headers for versions. */
export function conditionHeaders(
  ifMatch: string | undefined,
  ifNoneMatch?: string | undefined,
): Readonly<Record<string, string>> {
  return {
    ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
    ...(ifNoneMatch !== undefined && { 'if-none-match': `"${ifNoneMatch}"` }),
  }
}

/** The version in the answer to a change. */
export async function changedVersion(answer: Response): Promise<Readonly<{ version: string }>> {
  await readAnswerJson(answer)
  return { version: versionOf(answer) }
}

/** The version in an answer that must have one. @throws {ClientError} answer_invalid if it has none */
export function neededVersionOf(answer: Response): string {
  const version = versionOf(answer)
  const isPage = /^text\/html\b/i.test(answer.headers.get('content-type') ?? '')
  if (version !== '' && !isPage) return version
  throw invalidAnswer(
    answer,
    'has no version: no proxy may remove its ETag, and CORS must expose it',
  )
}

/** The pieces of a body. @throws the error that cut off the body; an Error if the body stalls */
export async function* answerPieces(
  answer: Response,
  silenceMsMax = SILENCE_MS_MAX,
): AsyncGenerator<Uint8Array, void> {
  const { body } = answer
  if (typeof body?.getReader !== 'function') {
    yield utf8(await answer.text()) // React Native has no streams.
    return
  }
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await unlessSilent(reader.read(), silenceMsMax)
      if (done) return
      yield value
    }
  } finally {
    // Not awaited: the connection may be broken, so that the promise never settles.
    reader.cancel().catch(() => undefined)
  }
}

function unlessSilent<T>(reading: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => reject(new Error(`nothing came for ${ms / 1_000} seconds`))
    const timer = setTimeout(end, ms)
    reading.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

export async function textOf(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of answerPieces(answer)) pieces.push(piece)
  return decodePieces(pieces)
}

function decodePieces(pieces: readonly Uint8Array[]): string {
  return new TextDecoder().decode(concatBytes(pieces))
}

/** The JSON object of an answer; `{}` if the answer has no content. @throws {ClientError} answer_invalid */
export async function readAnswerJson(
  answer: Response,
  parse: (text: string) => unknown = JSON.parse,
): Promise<Readonly<Record<string, unknown>>> {
  const text = await textOf(answer)
  if (answer.status === 204) return {}
  const parsed = parsedBy(parse, text)
  if (isRecord(parsed) && !('error' in parsed)) return parsed
  throw invalidAnswer(
    answer,
    `does not come from the API: ${JSON.stringify(text.slice(0, SHOWN_CHARACTERS))}`,
  )
}

function parsedBy(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined // The syntax error would not help a user: the caller reports which body arrived.
  }
}

/** The shape that `data` must have: a list, or an object with members of these types. */
type Shape = 'list' | Readonly<Record<string, 'list' | 'object' | 'string' | 'number'>>

/** The `data` of an answer. @throws {ClientError} answer_invalid */
export async function readAnswerData<T>(
  answer: Response,
  shape: Shape,
  parse?: (text: string) => unknown,
): Promise<T> {
  return dataIn<T>(answer, await readAnswerJson(answer, parse), shape)
}

/** The `data` of an answer that has been parsed. @throws {ClientError} answer_invalid */
export function dataIn<T>(
  answer: Response,
  { data }: Readonly<Record<string, unknown>>,
  shape: Shape,
): T {
  if (isOfShape(data, shape)) return data as T
  throw invalidAnswer(answer, 'lacks the requested data')
}

function isOfShape(data: unknown, shape: Shape): boolean {
  if (shape === 'list') return Array.isArray(data)
  if (!isRecord(data)) return false
  return Object.entries(shape).every(([name, type]) => {
    return type === 'list' ? Array.isArray(data[name]) : typeof data[name] === type
  })
}

/** The failure for an answer that did not come from a server of the contract. */
export function invalidAnswer(answer: Response, problem: string): ClientError {
  const { status, redirected, url } = answer
  const [place] = redirected ? url.split('?', 1) : ['']
  const origin = place === '' ? 'the server' : `${place}, to which the server redirects,`
  return new ClientError(
    `The answer of ${origin} (status ${status}) ${problem}`,
    status,
    ANSWER_INVALID,
  )
}

/** The failure of one attempt. */
export type Failed = Readonly<{ failure: ClientError; retryAfterMs: number | undefined }>

/** The failure that an answer reports. */
export async function failedAnswer(
  answer: Response,
  target: string | URL,
  url: string,
): Promise<Failed> {
  const { status, headers } = answer
  if (status === 304) return { failure: notModified(), retryAfterMs: undefined }
  const { type, message, problems } = errorIn(await errorText(answer))
  const isUnknownKey = status === 404 && message !== undefined && UNKNOWN_KEY.test(message)
  const hint = isUnknownKey ? `: the server at ${url} does not know this key` : ''
  const whole = (message ?? statusMessage(status, target)) + hint
  const failure = new ClientError(whole, status, type, undefined, [], problems)
  return { failure, retryAfterMs: retryAfterMs(headers.get('retry-after')) }
}

function notModified(): ClientError {
  return new ClientError(
    'Nothing has changed since the version of ifNoneMatch',
    304,
    'not_modified',
  )
}

/** The beginning of the body of an error. */
async function errorText(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  const endMs = monotonicMs() + ERROR_MS_MAX
  let bytes = 0
  try {
    for await (const piece of answerPieces(answer, ERROR_MS_MAX)) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > ERROR_BYTES_MAX || monotonicMs() > endMs) break
    }
  } catch {
    // If the body breaks off, the part that arrived is shown: the status already says that the request failed.
  }
  return decodePieces(pieces)
}

/** The message for an error that does not follow the contract. */
function statusMessage(status: number, target: string | URL): string {
  if (status !== 404 || target instanceof URL) return `The server answered with status ${status}`
  const { origin, pathname } = new URL(target)
  const place = `There is no rowstash API at ${origin}${pathname} (status 404)`
  return `${place}: is the base path, such as /api, missing from the url?`
}

type Told = Readonly<{
  type: string
  message: string | undefined
  problems?: RowProblems | undefined
}>

function errorIn(text: string): Told {
  try {
    const { error } = JSON.parse(text) as { error?: Readonly<Record<string, unknown>> }
    if (typeof error?.['message'] === 'string') {
      const { type, message, problems, problemCount } = error
      return {
        type: typeof type === 'string' ? type : '',
        message: message.slice(0, ERROR_CHARACTERS_MAX),
        problems: Array.isArray(problems)
          ? { problems, problemCount: Number(problemCount) }
          : undefined,
      }
    }
  } catch {
    // The body is not an error of the contract; perhaps a proxy answered.
  }
  return { type: '', message: undefined }
}

/** The pause in a `Retry-After` header: seconds, or an HTTP date (RFC 9110, section 10.2.3). */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^[0-9]{1,9}$/.test(header)
    ? Number(header) * 1_000
    : Date.parse(header) - systemClock.now()
  return Number.isNaN(ms) ? undefined : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms))
}
