// A bounded pool of connections, each used by one view or commit at a time.
import { monotonicMs } from '../../../src/base/clock.js'
import { StoreError, storeClosed } from '../../../src/base/store-error.js'

/** Age after which a connection is closed after use, in milliseconds, so that servers and balancers can be changed. */
const LIFE_MS_MAX = 3_600_000

/** A pooled connection. */
export interface Pooled {
  readonly isUsable: boolean
  readonly openedAt: number
  close(): Promise<void>
}

export class ConnectionPool<T extends Pooled> {
  readonly #open: () => Promise<T>
  readonly #max: number
  readonly #waitMsMax: number
  readonly #what: string
  #idle: T[] = []
  /** Number of connections in use or being opened. */
  #used = 0
  /** Called when a connection is returned, in order of arrival. */
  readonly #waiting: (() => void)[] = []
  #isClosed = false

  /** @param what - The use of the connections, for messages. */
  constructor(open: () => Promise<T>, options: { max: number; waitMsMax: number; what: string }) {
    this.#open = open
    this.#max = options.max
    this.#waitMsMax = options.waitMsMax
    this.#what = options.what
  }

  /**
   * A connection, which the caller must return. Failures to open one are passed on.
   * @param beyond - How many more than the maximum may be in use.
   * @throws {StoreError} STORAGE_UNAVAILABLE: all connections were in use for too long; STORE_CLOSED
   */
  async acquire(beyond = 0): Promise<T> {
    const deadline = monotonicMs() + this.#waitMsMax
    while (this.#used >= this.#max + beyond && !this.#isClosed) await this.#turn(deadline)
    if (this.#isClosed) throw storeClosed()
    this.#used++
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable) return idle
    }
    try {
      return await this.#open()
    } catch (failure) {
      this.#free()
      throw failure
    }
  }

  release(connection: T): void {
    const isOld = monotonicMs() - connection.openedAt > LIFE_MS_MAX
    if (connection.isUsable && (isOld || this.#isClosed)) endQuietly(connection)
    else if (connection.isUsable) this.#idle.push(connection)
    this.#free()
  }

  /** Runs `use` with a connection. */
  async use<R>(use: (connection: T) => Promise<R>): Promise<R> {
    const connection = await this.acquire()
    try {
      return await use(connection)
    } finally {
      this.release(connection)
    }
  }

  /** Closes the pool. Connections in use are closed when they are returned. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const wake of this.#waiting.splice(0)) wake()
    const idle = this.#idle
    this.#idle = []
    await Promise.all(idle.map((connection) => connection.close().catch(() => undefined)))
  }

  #free(): void {
    this.#used--
    this.#waiting.shift()?.()
  }

  #turn(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const giveUp = (): void => {
        const at = this.#waiting.indexOf(wake)
        if (at >= 0) this.#waiting.splice(at, 1)
        const message = `All ${this.#max} connections for ${this.#what} are in use; raise their number or the wait`
        reject(new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' }))
      }
      const timer = setTimeout(giveUp, Math.max(0, deadline - monotonicMs()))
      this.#waiting.push(wake)
    })
  }
}

/** Ends a connection without waiting for it. */
function endQuietly(connection: Pooled): void {
  connection.close().catch(() => undefined)
}
