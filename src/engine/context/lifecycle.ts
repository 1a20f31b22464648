// Opening and closing: operations under way are counted, so that close can wait for them.
import { type Awaitable, isSync } from '../../base/awaitable.js'
import type { StoreErrorCode } from '../../base/store-error.js'
import { isStoreError, StoreError, withOutcome } from '../../base/store-error.js'

export class Lifecycle {
  #running = 0
  #closing: Promise<void> | undefined
  #idle: (() => void) | undefined

  /** Whether new operations are refused. */
  get isClosing(): boolean {
    return this.#closing !== undefined
  }

  /** For long operations, so that a close does not wait for their end. @throws {StoreError} STORE_CLOSED */
  checkOpen(): void {
    if (this.#closing === undefined) return
    throw new StoreError('STORE_CLOSED', 'The store is closed', { outcome: 'unchanged' })
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

  /** Refuses new operations, waits for those under way, then runs `end`; once, whoever calls how often. */
  close(end: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#drained().then(end)
    return this.#closing
  }

  #drained(): Promise<void> {
    if (this.#running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#idle = resolve
    })
  }
}

const STORAGE_CODES: ReadonlySet<StoreErrorCode> = new Set([
  'STORAGE_UNAVAILABLE',
  'INSUFFICIENT_STORAGE',
  'STORE_CLOSED',
])

/** A commit that failed says whether it may be there. What failed elsewhere, in a read or an object, changed nothing. */
export function outcomeKnown(failure: unknown): unknown {
  if (!isStoreError(failure) || failure.outcome !== undefined) return failure
  return STORAGE_CODES.has(failure.code) ? withOutcome(failure, 'unchanged') : failure
}
