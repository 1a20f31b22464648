// The lifecycle of a store: counts the operations in progress, so that close can wait for them.
import { type Awaitable, isSync } from '../../base/awaitable.js'
import { untilAborted } from '../../base/signals.js'
import type { StoreErrorCode } from '../../base/store-error.js'
import { isStoreError, storeClosed, withOutcome } from '../../base/store-error.js'
import type { DiskSpace } from '../limits/disk-space.js'

export class Lifecycle {
  #running = 0
  #closing: Promise<void> | undefined
  #idle: (() => void) | undefined
  /** The controllers that a close uses to abort work. */
  readonly #ending = new Set<AbortController>()
  readonly #disk: Pick<DiskSpace, 'check'> | undefined

  /** @param disk - Checks disk space; undefined: disk space is not checked. */
  constructor(disk?: Pick<DiskSpace, 'check'>) {
    this.#disk = disk
  }

  /** Whether new operations are refused. */
  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /**
   * Long operations call this between steps, so that a close does not wait for them.
   * @throws {StoreError} STORE_CLOSED
   */
  checkOpen(): void {
    if (this.#closing !== undefined) throw storeClosed()
  }

  /**
   * Runs work that waits for others, such as the fetch of a source. A close aborts the signal, and the work fails
   * with STORE_CLOSED. During a close no work begins.
   * @throws {StoreError} STORE_CLOSED
   */
  async untilClosed<T>(work: (closing: AbortSignal) => Promise<T>): Promise<T> {
    this.checkOpen()
    const ending = new AbortController()
    this.#ending.add(ending)
    try {
      return await work(ending.signal)
    } catch (failure) {
      throw unlessClosed(ending, failure)
    } finally {
      this.#ending.delete(ending)
    }
  }

  /**
   * The pieces of a stream until a close. A close waits neither for the end of the stream nor for its next piece.
   * @throws {StoreError} STORE_CLOSED
   */
  async *whileOpen<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece, void> {
    this.checkOpen()
    const ending = new AbortController()
    this.#ending.add(ending)
    try {
      yield* untilAborted('operation', pieces, ending.signal)
    } catch (failure) {
      throw unlessClosed(ending, failure)
    } finally {
      this.#ending.delete(ending)
    }
  }

  /** Runs an operation, which keeps the store open until it settles. */
  async run<T>(operation: () => Awaitable<T>): Promise<T> {
    this.checkOpen()
    this.#running++
    try {
      const result = operation()
      return isSync(result) ? result : await result
    } catch (failure) {
      throw outcomeKnown(failure)
    } finally {
      this.#running--
      if (this.#running === 0) this.#idle?.()
    }
  }

  /** Runs an operation that needs disk space. @throws {StoreError} INSUFFICIENT_STORAGE, STORE_CLOSED */
  runWriting<T>(operation: () => Awaitable<T>): Promise<T> {
    return this.run(() => {
      const checked = this.#disk?.check()
      return checked === undefined ? operation() : checked.then(operation)
    })
  }

  /**
   * Refuses new operations, aborts fetches, waits for running operations, then runs `end`. Repeated calls share one
   * close.
   */
  close(end: () => Promise<void>): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = this.#drained().then(end)
      for (const ending of this.#ending) ending.abort(storeClosed())
    }
    return this.#closing
  }

  #drained(): Promise<void> {
    if (this.#running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#idle = resolve
    })
  }
}

/** The failure to report for work that a close may have ended. */
function unlessClosed({ signal }: AbortController, failure: unknown): unknown {
  const isAborted = isStoreError(failure) && failure.code === 'ABORTED'
  return signal.aborted && isAborted ? signal.reason : failure
}

const STORAGE_CODES: ReadonlySet<StoreErrorCode> = new Set([
  'STORAGE_UNAVAILABLE',
  'INSUFFICIENT_STORAGE',
  'STORE_CLOSED',
])

/** Adds the outcome `unchanged` to storage errors of reads and objects; a failed commit states its own outcome. */
export function outcomeKnown(failure: unknown): unknown {
  if (!isStoreError(failure) || failure.outcome !== undefined) return failure
  return STORAGE_CODES.has(failure.code) ? withOutcome(failure, 'unchanged') : failure
}
