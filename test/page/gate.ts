// A proxy that can hold chunks back, so that an import stays in the middle.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Passes requests on. It keeps its port while the server ends and starts again. */
export class Gate {
  readonly #server = createServer((asked, answer) => void this.#take(asked, answer))
  readonly #port: number
  #open = Number.POSITIVE_INFINITY
  #held: (() => void)[] = []
  #onStored: () => void = () => undefined
  #onHeld: () => void = () => undefined
  #onFailed: () => void = () => undefined
  /** Number of chunks sent, and of chunks that the server has acknowledged. */
  sent = 0
  stored = 0

  /** @param port - The port of the server. */
  constructor(port: number) {
    this.#port = port
  }

  /** @returns the URL that leads to the server */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Lets this many more chunks pass, and holds the next ones. Resolves when the server has acknowledged them. */
  async holdAfter(count: number): Promise<void> {
    this.#open = count
    const all = this.stored + count
    while (this.stored < all) {
      await new Promise<void>((done) => {
        this.#onStored = done
      })
    }
  }

  /**
   * Passes the held chunks to a server that has ended. Repeated requests are held, so that no sender runs out of
   * attempts. Resolves when one chunk has failed.
   */
  async failHeld(): Promise<void> {
    this.#open = 0
    while (this.#held.length === 0) {
      await new Promise<void>((done) => {
        this.#onHeld = done
      })
    }
    const failed = new Promise<void>((done) => {
      this.#onFailed = done
    })
    for (const pass of this.#held.splice(0)) pass()
    await failed
  }

  letThrough(): void {
    this.#open = Number.POSITIVE_INFINITY
    for (const pass of this.#held.splice(0)) pass()
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #hold(): Promise<void> {
    return new Promise((pass) => {
      this.#held.push(pass)
      this.#onHeld()
    })
  }

  async #take(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method, url: path, headers } = asked
    const isChunk = method === 'PUT'
    if (isChunk) {
      this.sent++
      if (this.#open-- <= 0) await this.#hold()
      if (asked.destroyed) return // Its sender has gone.
    }
    const passed = request(
      { host: '127.0.0.1', port: this.#port, method, path, headers, agent: false },
      (got) => {
        if (isChunk && got.statusCode === 200) {
          this.stored++
          this.#onStored()
        }
        answer.writeHead(got.statusCode ?? 502, got.headers)
        got.pipe(answer)
      },
    )
    passed.on('error', () => {
      if (isChunk) this.#onFailed()
      answer.destroy()
    })
    answer.on('close', () => passed.destroy())
    asked.pipe(passed)
  }
}
