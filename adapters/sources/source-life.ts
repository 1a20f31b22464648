// The resources of one fetch, its time limits, and the reason for its end.
//
// Invariant: the first reason wins. All waits of the fetch end with that reason, and no socket outlives it.
import type { Socket } from 'node:net'
import { StoreError } from '../../src/index.js'
import { asSourceFailure, sourceTimeout } from './source-failure.js'

export class SourceLife {
  #over: StoreError | undefined
  #endWait: ((reason: StoreError) => void) | undefined
  readonly #sockets = new Set<Socket>()
  readonly #total: NodeJS.Timeout
  readonly #signal: AbortSignal | undefined
  readonly #ending = new AbortController()

  constructor(totalTimeoutMs: number, signal: AbortSignal | undefined) {
    this.#signal = signal
    this.#total = setTimeout(() => this.end(sourceTimeout()), totalTimeoutMs)
    if (signal?.aborted === true) this.#onAbort()
    else signal?.addEventListener('abort', this.#onAbort)
  }

  /** Whether the fetch has ended, so that no new resource may be opened. */
  get isOver(): boolean {
    return this.#over !== undefined
  }

  /** Aborted when the fetch ends. */
  get endSignal(): AbortSignal {
    return this.#ending.signal
  }

  /** Destroys a socket when the fetch ends. */
  hold(socket: Socket): void {
    this.#sockets.add(socket)
    const forget = (): unknown => this.#sockets.delete(socket)
    socket.once('close', forget)
    // Waiting callers listen too, but an error without any listener would end the process.
    socket.on('error', forget)
    if (this.#over !== undefined) socket.destroy()
  }

  /**
   * Waits for one step, and ends the fetch if it exceeds its limit.
   * @throws {StoreError} the reason for the end of the fetch, or the failure of the step
   */
  within<T>(limitMs: number, step: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#over !== undefined) return reject(this.#over)
      const timer = setTimeout(() => this.end(sourceTimeout()), limitMs)
      this.#endWait = (reason) => {
        clearTimeout(timer)
        reject(reason)
      }
      const settle = (): void => {
        clearTimeout(timer)
        this.#endWait = undefined
      }
      step().then(
        (value) => {
          settle()
          resolve(value)
        },
        (failure) => {
          settle()
          reject(this.#over ?? asSourceFailure(failure))
        },
      )
    })
  }

  /** Ends the fetch and releases its resources. */
  end(reason = new StoreError('ABORTED', 'The source was closed')): void {
    if (this.#over !== undefined) return
    this.#over = reason
    clearTimeout(this.#total)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#endWait?.(reason)
    for (const socket of this.#sockets) socket.destroy()
    this.#ending.abort(reason)
  }

  readonly #onAbort = (): void => {
    const cause: unknown = this.#signal?.reason
    this.end(new StoreError('ABORTED', 'The fetch was aborted', { cause }))
  }
}
