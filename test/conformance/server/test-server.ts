// A server of the contract for the tests of programs that use one: in memory, on a free port, with a clock that the
// test sets, faults by rule, crashes, and a record of the requests.
//
// Invariants:
// - After a crash the next process opens the same disk. Connections of the old process are cut, and requests wait
//   until the new one has opened its store.
// - Nothing that an earlier process still does reaches the disk or a client.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkOptionNames, integerOption } from '../../../adapters/base/arguments.js'
import {
  hardenServer,
  type NodeHandler,
  type NodeHandlerOptions,
  nodeHandler,
  serverOptions,
} from '../../../adapters/node.js'
import { openLevelKv, openStore, type Store, type StoreOptions } from '../../../src/index.js'
import { CRASHES, checkWord } from '../argument-checks.js'
import { FaultDisk } from '../faults/fault-disk.js'
import { NO_FAULTS, nthStep } from '../faults/fault-plan.js'
import { type TestClock, testClock } from '../test-clock.js'
import { type FaultRule, type RequestFault, RequestFaults } from './request-faults.js'

/** Options of `createTestServer`. Unknown names are rejected. */
export type TestServerOptions = Readonly<{
  /** The team of the key. Default: `test`. */
  teamId?: string
  /**
   * The time at the start, in milliseconds since 1970 UTC. It does not advance until `clock.pass`. Default: now. Range:
   * 0 to 2^53 - 1.
   */
  now?: number
  /** Seed that decides what a power cut leaves. Default: 0. Range: 0 to 2^32 - 1. */
  seed?: number
  /** Options of the store. Default: the store's defaults. */
  store?: Omit<StoreOptions, 'clock'>
  /** Options of the handler. Default: the handler's defaults. */
  handler?: Omit<NodeHandlerOptions, 'keys'>
}>

/** A request that a test server has received. */
export type RecordedRequest = Readonly<{
  /** The method, in upper case. */
  method: string
  /** Path and query, as sent. */
  path: string
  /** The headers, with names in lower case. */
  headers: Readonly<Record<string, string>>
  /** Its fault, if it got one. */
  fault?: RequestFault
}>

/** A server of the contract for tests. */
export interface TestServer {
  /** The server's URL, without a slash at the end. */
  readonly url: string
  /** A key of the team. */
  readonly key: string
  /** The store behind the server. A crash replaces it. */
  readonly store: Store
  /** The clock of the store. Time limits of connections follow the system's clock. */
  readonly clock: TestClock
  /** The disk under the store, for faults of single steps. */
  readonly disk: FaultDisk
  /** The last 1,000 requests, the oldest first. */
  readonly requests: readonly RecordedRequest[]
  /**
   * Gives requests a fault. The first rule that fits a request decides.
   * @returns removes the rule
   * @throws {StoreError} REQUEST_VALIDATION_ERROR for an invalid name or value
   */
  fail(rule: FaultRule): () => void
  /**
   * Ends the server like `kill -9` or like a power cut, and starts it again. Resolves when it serves.
   * @throws {StoreError} REQUEST_VALIDATION_ERROR; DATA_LOSS, DATA_CORRUPT: data that `disk` has damaged cannot be
   * opened again
   */
  crash(of?: 'process' | 'machine'): Promise<void>
  /**
   * Cuts all connections, and closes the store.
   * @throws {StoreError} as `Store.close`
   */
  close(): Promise<void>
  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void>
}

const REQUESTS_MAX = 1_000

const KEY = 'a-key-of-the-test-server'

const OPTIONS: readonly string[] = [
  'teamId',
  'now',
  'seed',
  'store',
  'handler',
] satisfies (keyof TestServerOptions)[]

/** Options that the server sets for its store and its handler, which check all other names. */
const OF_THE_SERVER = { store: ['clock', 'kv', 'objects'], handler: ['keys'] }

/**
 * Starts a server of the contract on a free port of this machine, on a store in memory.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { createClient } from 'rowstash/client'
 * import { createTestServer } from 'rowstash/testing'
 *
 * const server = await createTestServer()
 * server.fail({ method: 'POST', path: '/tables', fault: { status: 503 } })
 * const client = createClient({ url: server.url, key: server.key, triesMax: 1 })
 * const failure = await client.importRows([{ id: 1 }], { name: 'Orders' }).catch((reason) => reason)
 * console.log(failure.status) // 503
 * await server.close()
 */
export async function createTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  checkOptionNames('createTestServer', options, (name) => OPTIONS.includes(name), OPTIONS)
  const { store = {}, handler = {} } = options
  checkOptionNames('store', store, (name) => !OF_THE_SERVER.store.includes(name))
  checkOptionNames('handler', handler, (name) => !OF_THE_SERVER.handler.includes(name))
  const server = new MemoryServer(options)
  await server.start()
  return server
}

/** A process: a store, and its handler. */
type Process = Readonly<{ store: Store; handler: NodeHandler }>

class MemoryServer implements TestServer {
  readonly key = KEY
  readonly clock: TestClock
  readonly disk: FaultDisk
  readonly requests: RecordedRequest[] = []
  readonly #options: TestServerOptions
  readonly #faults = new RequestFaults()
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #process: Process | undefined
  /** Resolves when the process that is being started is ready. */
  #starting: Promise<Process> | undefined
  #url = ''

  constructor(options: TestServerOptions) {
    this.#options = options
    const range = { default: Date.now(), min: 0, max: Number.MAX_SAFE_INTEGER }
    this.clock = testClock(integerOption('now', options.now, range))
    this.disk = new FaultDisk(options.seed === undefined ? {} : { seed: options.seed })
    this.disk.onCrash = () => this.#restart()
    this.#server = hardenServer(
      createServer(serverOptions, (request, response) => {
        this.#serve(request, response).catch(() => request.socket.destroy())
      }),
    )
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  get url(): string {
    return this.#url
  }

  get store(): Store {
    if (this.#process === undefined) throw new Error('The test server starts again: await crash()')
    return this.#process.store
  }

  async start(): Promise<void> {
    await this.#begin()
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    this.#url = `http://127.0.0.1:${port}${this.#options.handler?.basePath ?? ''}`
  }

  fail(rule: FaultRule): () => void {
    return this.#faults.add(rule)
  }

  async crash(of: 'process' | 'machine' = 'process'): Promise<void> {
    checkWord('of', of, CRASHES)
    this.disk.crash(of)
    await this.#starting
  }

  async close(): Promise<void> {
    const { store } = await (this.#starting ?? this.#begin())
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#cutAll()
    await closed
    await store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Starts a process, unless one runs or is being started. */
  #begin(): Promise<Process> {
    if (this.#process !== undefined) return Promise.resolve(this.#process)
    this.#starting ??= this.#open().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #open(): Promise<Process> {
    const {
      teamId = 'test',
      store: storeOptions = {},
      handler: handlerOptions = {},
    } = this.#options
    this.disk.faults = NO_FAULTS
    const kv = await openLevelKv(() => this.disk.level())
    const store = await openStore({
      onBackgroundFailure: () => undefined, // After a crash each task of the old process fails.
      ...storeOptions,
      clock: this.clock,
      kv,
      objects: this.disk.objects(),
    })
    const keys = [{ key: KEY, teamId }]
    this.#process = { store, handler: nodeHandler(store, { ...handlerOptions, keys }) }
    return this.#process
  }

  /** Replaces a process that has ended. */
  #restart(): void {
    const ended = this.#process
    this.#process = undefined
    this.#cutAll()
    ended?.store.close().catch(() => undefined) // It only stops timers; its disk is gone.
    this.#begin().catch(() => undefined) // The next request reports it.
  }

  #cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const [path = ''] = url.split('?')
    const fault = this.#faults.of(method, path)
    this.#record({ method, path: url, headers: headersOf(request), ...(fault && { fault }) })
    const { handler } = await this.#begin()
    if (fault === undefined) handler(request, response)
    else await this.#serveFaulty(fault, request, response, handler)
  }

  async #serveFaulty(
    fault: RequestFault,
    request: IncomingMessage,
    response: ServerResponse,
    handler: NodeHandler,
  ): Promise<void> {
    if ('status' in fault) {
      request.resume()
      return answer(response, fault)
    }
    if ('delayMs' in fault) {
      await sleep(fault.delayMs)
      const { handler: present } = await this.#begin()
      return present(request, response)
    }
    if ('cut' in fault && fault.cut === 'request') return void request.socket.destroy()
    if ('cut' in fault) cutBeforeAnswer(request, response)
    else this.#crashAtCommit(fault)
    handler(request, response)
  }

  #crashAtCommit({ crash, of = 'process' }: Extract<RequestFault, { crash: string }>): void {
    const side = crash === 'before commit' ? 'before' : 'after'
    const fits: Parameters<typeof nthStep>[2] = {
      fits: ({ port, operation }) => port === 'level' && operation === 'write',
    }
    this.disk.faults = nthStep(0, { kind: 'crash', side, of }, fits)
  }

  #record(request: RecordedRequest): void {
    this.requests.push(request)
    if (this.requests.length > REQUESTS_MAX) this.requests.shift()
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

function answer(
  response: ServerResponse,
  { status, type = 'injected', headers = {} }: Extract<RequestFault, { status: number }>,
): void {
  const message = 'The test server was told to answer so'
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify({ error: { type, message } }))
}

/** The handler writes the head of its answer when all changes of the request are durable. */
function cutBeforeAnswer(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead = () => {
    request.socket.destroy()
    return response
  }
}
