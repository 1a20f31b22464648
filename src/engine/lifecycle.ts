// Opening and closing: operations under way are counted, so that close can wait for them.
import { StoreError } from '../base/store-error.js'

export class Lifecycle {
  #running = 0
  #closing = false
  #idle: (() => void) | undefined

  /** Runs an operation, which keeps the store open until it settles. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new StoreError('STORE_CLOSED', 'The store is closed')
    this.#running++
    try {
      return await operation()
    } finally {
      this.#running--
      if (this.#running === 0) this.#idle?.()
    }
  }

  get isClosing(): boolean {
    return this.#closing
  }

  /** Refuses new operations and waits for those under way. False: somebody closed it before. */
  async close(): Promise<boolean> {
    if (this.#closing) return false
    this.#closing = true
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    return true
  }
}
