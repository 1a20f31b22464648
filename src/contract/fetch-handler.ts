// The contract as a function from a Request to a Response, for frameworks and runtimes with these classes: Hono,
// Next.js, Bun, Deno, Lambda, workers.
//
// Invariants:
// - Bodies are streamed both ways, at the pace of the slower side.
// - If an answer cannot be completed, its stream fails, so that the runtime cuts the connection: a client never
//   mistakes a part for the whole.

import { createTell } from '../base/hooks.js'
import {
  basePathOption,
  checkFunctionOption,
  checkOptionNames,
  pathBelow,
  typeName,
} from '../base/options.js'
import { StoreError } from '../base/store-error.js'
import { readWebStream } from '../base/web-stream.js'
import type { Store } from '../engine/types/store-types.js'
import type { ContractOptions } from './calls/contract-options.js'
import { createContract } from './contract.js'
import { errorResponse } from './http/error-response.js'
import type { ContractRequest, ContractResponse } from './http/message.js'

/** Statuses of answers without a body. */
const STATUSES_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304])

/** Options of `fetchHandler`. Unknown names are rejected. */
export interface FetchHandlerOptions extends ContractOptions {
  /**
   * Path under which the handler is mounted, such as `/api/v2`: it starts with a slash and ends without one. Leave the
   * option out if the framework removes this path from the request's URL. Default: none.
   */
  readonly basePath?: string | undefined
  /**
   * Returns a text that identifies the client of a request, such as its address, because a Request does not contain it:
   * `refusedKeysPerMinuteMax` counts by this text. If it returns undefined, the client is unknown and is not counted.
   * Default: every client is unknown.
   */
  readonly clientOf?: ((request: Request) => string | undefined) | undefined
}

/** Answers a request. Rejects only if the argument is not a Request. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * Serves a store to frameworks and runtimes whose handlers take a Request and return a Response. The runtime, or a
 * proxy, must limit the number of connections and the time of slow clients. On `node:http`, use `nodeHandler` and
 * `hardenServer` of `rowstash/node`, which limit both.
 *
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { fetchHandler, openMemory } from 'rowstash'
 *
 * const store = await openMemory()
 * const handle = fetchHandler(store, { keys: [{ key: 'a-long-random-text', teamId: 'acme' }], basePath: '/api' })
 * const answer = await handle(new Request('https://example.com/api/healthz'))
 * console.log(answer.status) // 200
 * await store.close()
 */
export function fetchHandler(store: Store, options: FetchHandlerOptions): FetchHandler {
  checkOptionNames('fetchHandler', options ?? {}, () => true) // The contract checks the names.
  const { basePath: path, clientOf = noClient, ...contractOptions } = options ?? {}
  const basePath = basePathOption(path)
  checkFunctionOption('clientOf', clientOf)
  const contract = createContract(store, contractOptions)
  const tell = createTell()
  return async (request) => {
    checkRequest(request)
    const answered = (answer: ContractResponse): Response =>
      makeResponse(request.method, answer, contract.countSent)
    let client: string | undefined
    try {
      client = clientIn(clientOf(request))
    } catch (failure) {
      const { onFailure } = contractOptions
      if (onFailure !== undefined) tell('onFailure', () => onFailure(failure))
      return answered(errorResponse(failure)) // A limit that cannot be checked still applies.
    }
    return answered(await contract.handle(makeFetchRequest(request, basePath, client)))
  }
}

/** @param given - The result of `clientOf`. @throws {TypeError} */
function clientIn(given: unknown): string | undefined {
  if (typeof given === 'string') return given
  if (given === undefined || given === null) return undefined
  // If `clientOf` returned a promise by mistake, the promise must not cause an unhandled rejection.
  Promise.resolve(given).catch(() => undefined)
  throw new TypeError(`clientOf must return a string or undefined, not ${typeName(given)}`)
}

function noClient(): undefined {
  return undefined
}

function checkRequest(given: Partial<Request> | undefined): void {
  if (typeof given?.url === 'string' && typeof given.headers?.get === 'function') return
  const message = `The handler takes a Request, not ${typeName(given)}; for node:http there is nodeHandler`
  throw new StoreError('REQUEST_VALIDATION_ERROR', message)
}

function makeFetchRequest(
  request: Request,
  basePath: string,
  client: string | undefined,
): ContractRequest {
  const { url, method, headers, body } = request
  const { origin, pathname, search } = new URL(url)
  return {
    method,
    path: pathBelow(pathname, basePath),
    query: search.slice(1),
    headers: [...headers],
    origin: origin + basePath,
    body: { [Symbol.asyncIterator]: () => requestPieces(body) },
    client,
    host: request,
  }
}

/**
 * The pieces of a request body. When their reader stops, the runtime handles the rest of the body, because it must
 * deliver the answer first.
 */
async function* requestPieces(body: Request['body']): AsyncGenerator<Uint8Array> {
  if (body !== null) yield* readWebStream(body, 'leave')
}

function makeResponse(
  method: string,
  { status, headers, body, signal, stop }: ContractResponse,
  onBytes: (bytes: number) => void,
): Response {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const sent = new Headers(headers)
  const isWhole = bytes === null || bytes instanceof Uint8Array
  const hasLength = isWhole && method !== 'HEAD' && !STATUSES_WITHOUT_BODY.has(status)
  if (hasLength) sent.set('content-length', String(bytes?.length ?? 0))
  if (isWhole) onBytes(bytes?.length ?? 0)
  return new Response(isWhole ? unsharedBytes(bytes) : makeBodyStream(bytes, signal, stop), {
    status,
    headers: sent,
  })
}

/**
 * The same bytes, with a type that a Response accepts: their memory must not be shared with other threads, which is
 * never so here.
 */
function unsharedBytes(bytes: Uint8Array | null): Uint8Array<ArrayBuffer> | null {
  return bytes as Uint8Array<ArrayBuffer> | null
}

function makeBodyStream(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  stop: (() => void) | undefined,
): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  let cut: (() => void) | undefined
  const end = (): void => {
    if (cut !== undefined) signal?.removeEventListener('abort', cut)
  }
  return new ReadableStream(
    {
      start(controller) {
        cut = () => controller.error(new Error('The rest of the answer cannot be read'))
        if (signal?.aborted) cut()
        else signal?.addEventListener('abort', cut, { once: true })
      },
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (signal?.aborted) return
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      },
      async cancel() {
        end()
        stop?.()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
