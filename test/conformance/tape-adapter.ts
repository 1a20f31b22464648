// The part of tape that abstract-level's suite uses, on vitest. A test ends when its promise settles, when it has made
// its planned assertions, or when it calls `end`.
import assert from 'node:assert/strict'
import { test } from 'vitest'

const TEST_MS_MAX = 60_000

/** The argument of a tape test. */
class TapeTest {
  readonly #ended: () => void
  readonly #failed: (failure: unknown) => void
  #count = 0
  #planned: number | undefined

  constructor(ended: () => void, failed: (failure: unknown) => void) {
    this.#ended = ended
    this.#failed = failed
  }

  get count(): number {
    return this.#count
  }

  plan(count: number): void {
    this.#planned = count
    this.#endIfComplete()
  }

  end(failure?: unknown): void {
    if (failure === undefined || failure === null) this.#ended()
    else this.#failed(failure)
  }

  /** Throws unless the planned assertions were made. */
  assertComplete(): void {
    if (this.#planned !== undefined) assert.equal(this.#count, this.#planned, 'assertions planned')
  }

  ok(value: unknown, message?: string): void {
    this.#check(() => assert.ok(value, message))
  }

  is(actual: unknown, expected: unknown, message?: string): void {
    this.#check(() => assert.strictEqual(actual, expected, message))
  }

  isNot(actual: unknown, other: unknown, message?: string): void {
    this.#check(() => assert.notStrictEqual(actual, other, message))
  }

  same(actual: unknown, expected: unknown, message?: string): void {
    this.#check(() => assert.deepStrictEqual(actual, expected, message))
  }

  pass(): void {
    this.#check(() => undefined)
  }

  fail(reason?: unknown): void {
    this.#check(() => assert.fail(reason instanceof Error ? reason : String(reason)))
  }

  throws(action: () => unknown, expected?: RegExp): void {
    this.#check(() => (expected ? assert.throws(action, expected) : assert.throws(action)))
  }

  doesNotThrow(action: () => unknown): void {
    this.#check(() => assert.doesNotThrow(action))
  }

  /** Nobody awaits a failure in a callback, so it ends the test itself. */
  #check(assertion: () => void): void {
    this.#count++
    try {
      assertion()
    } catch (failure) {
      this.#failed(failure)
      throw failure
    }
    this.#endIfComplete()
  }

  #endIfComplete(): void {
    if (this.#count === this.#planned) this.end()
  }
}

export type TapeFunction = (name: string, body: (t: TapeTest) => unknown) => void

export type TapeListener = Readonly<{
  /** A test passed, with this number of assertions. */
  onPass(assertions: number): void
  onFail(): void
}>

export function tapeOnVitest(listener: TapeListener): TapeFunction {
  return (name, body) => {
    test(name, { timeout: TEST_MS_MAX }, async () => {
      try {
        listener.onPass(await runTapeTest(body))
      } catch (failure) {
        listener.onFail()
        throw failure
      }
    })
  }
}

/** @returns the number of assertions made */
async function runTapeTest(body: (t: TapeTest) => unknown): Promise<number> {
  const { promise, resolve, reject } = newPromise()
  const t = new TapeTest(resolve, reject)
  promise.catch(() => undefined) // It may fail before the wait below, which reports it.
  const returned = body(t)
  if (returned instanceof Promise) {
    await returned
    resolve()
  }
  await promise
  t.assertComplete()
  return t.count
}

function newPromise(): {
  promise: Promise<void>
  resolve: () => void
  reject: (failure: unknown) => void
} {
  let resolve: () => void = () => undefined
  let reject: (failure: unknown) => void = () => undefined
  const promise = new Promise<void>((settle, fail) => {
    resolve = settle
    reject = fail
  })
  return { promise, resolve, reject }
}
