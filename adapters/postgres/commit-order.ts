// Orders the commits of one store: commits that touch the same keys take effect in call order.
//
// A commit waits for each commit in flight with which it shares a key that at least one of the two writes.
// It waits without a connection, so that other commits can get one.
import { StoreError } from '../../src/base/store-error.js'

/** The maximum number of commits in flight or waiting. */
const IN_FLIGHT_MAX = 10_000

type Key = { writer: Promise<void> | undefined; readers: Promise<void>[] }

export class CommitOrder {
  readonly #keys = new Map<string, Key>()
  #inFlight = 0

  /**
   * Runs a commit when it is its turn.
   * @param touched - The keys of the commit. The value of a key: whether the commit writes it.
   * @throws {StoreError} STORAGE_UNAVAILABLE: too many are in flight
   */
  run<T>(touched: ReadonlyMap<string, boolean>, work: () => Promise<T>): Promise<T> {
    if (this.#inFlight >= IN_FLIGHT_MAX) {
      const message = `${IN_FLIGHT_MAX} commits are in flight; wait for some of them`
      throw new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged' })
    }
    this.#inFlight++
    const before = this.#before(touched)
    const running = before.length === 0 ? work() : Promise.all(before).then(work)
    const settled: Promise<void> = running.then(
      () => this.#leave(touched, settled),
      () => this.#leave(touched, settled),
    )
    this.#enter(touched, settled)
    return running
  }

  #before(touched: ReadonlyMap<string, boolean>): Promise<void>[] {
    const before = new Set<Promise<void>>()
    for (const [text, writes] of touched) {
      const key = this.#keys.get(text)
      if (key?.writer !== undefined) before.add(key.writer)
      if (writes) for (const reader of key?.readers ?? []) before.add(reader)
    }
    return [...before]
  }

  #enter(touched: ReadonlyMap<string, boolean>, settled: Promise<void>): void {
    for (const [text, writes] of touched) {
      const key = this.#keys.get(text)
      if (writes) this.#keys.set(text, { writer: settled, readers: [] })
      else if (key === undefined) this.#keys.set(text, { writer: undefined, readers: [settled] })
      else key.readers.push(settled)
    }
  }

  #leave(touched: ReadonlyMap<string, boolean>, settled: Promise<void>): void {
    this.#inFlight--
    for (const text of touched.keys()) {
      const key = this.#keys.get(text)
      if (key === undefined) continue
      if (key.writer === settled) key.writer = undefined
      key.readers = key.readers.filter((reader) => reader !== settled)
      if (key.writer === undefined && key.readers.length === 0) this.#keys.delete(text)
    }
  }
}
