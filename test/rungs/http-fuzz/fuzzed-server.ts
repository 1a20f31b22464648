// The server under test, and a healthy client, each in a separate process.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../../support/project.js'
import { HEALTHY_TEAM, keyOf } from './team-keys.js'

export type Seen = Readonly<{
  /** Numbers of answered requests by operation and status, such as `GET /tables 200`, without the healthy client's. */
  answered: Readonly<Record<string, number>>
  /** Failures with a status of 500 or above, except refusals under load. */
  failures: readonly string[]
  /** Numbers of refusals under load, by the message, which names the limit. */
  refusals: Readonly<Record<string, number>>
  /** Resident memory without files. */
  memoryBytes: number
}>

/** Measurements of the healthy client, in milliseconds. */
export type Latencies = Readonly<{
  count: number
  failed: number
  p50: number
  p99: number
  max: number
  waiting: number
}>

const ANSWER_MS_MAX = 120_000
const HEALTHY_CLIENT = join(ROOT, 'test/attacks/healthy-client.mjs')

/** A child process that answers each message with one. */
class Answering {
  readonly #child: ChildProcess
  #said = ''
  #ended: string | undefined

  constructor(child: ChildProcess) {
    this.#child = child
    child.stderr?.on('data', (piece: Buffer) => {
      this.#said = `${this.#said}${piece.toString()}`.slice(-4_000)
    })
    child.once('exit', (code, signal) => {
      this.#ended = `ended by ${code ?? signal}: ${this.#said.trim()}`
    })
  }

  /** How the process ended; undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended
  }

  async next<T>(question?: string): Promise<T> {
    if (this.#ended !== undefined) throw new Error(this.#ended)
    return await new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer')), ANSWER_MS_MAX)
      const onExit = (): void => reject(new Error(this.#ended ?? 'ended'))
      this.#child.once('exit', onExit)
      this.#child.once('message', (message) => {
        clearTimeout(timer)
        this.#child.off('exit', onExit)
        resolve(message as T)
      })
      if (question !== undefined) this.#child.send(question)
    })
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}

export class FuzzedServer {
  readonly #server: Answering
  readonly #client: Answering
  readonly url: string

  private constructor(server: Answering, client: Answering, url: string) {
    this.#server = server
    this.#client = client
    this.url = url
  }

  /** @param program - The built `fuzz-server`. */
  static async start(program: string, directory: string): Promise<FuzzedServer> {
    const execArgv = ['--expose-gc']
    const server = new Answering(fork(program, [directory], { execArgv, silent: true }))
    const url = await server.next<string>()
    const args = [url, keyOf(HEALTHY_TEAM)]
    const client = new Answering(fork(HEALTHY_CLIENT, args, { execArgv: [], silent: true }))
    await client.next()
    return new FuzzedServer(server, client, url)
  }

  /** How the server ended; undefined while it runs. */
  get ended(): string | undefined {
    return this.#server.ended
  }

  /** What the server has seen since it began, measured after a garbage collection of V8. */
  async seen(): Promise<Seen> {
    return await this.#server.next<Seen>('report')
  }

  /** Measurements of the healthy client since the last call. */
  async latencies(): Promise<Latencies> {
    return await this.#client.next<Latencies>('report')
  }

  end(): void {
    this.#client.end()
    this.#server.end()
  }
}
