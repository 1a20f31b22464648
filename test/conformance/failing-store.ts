// A store whose calls fail with a given failure.
import { type Store, StoreError } from '../../src/index.js'

/** Failures by code, each with the status of the contract's answer. */
export const FAILURES = [
  ['DATA_CORRUPT', 500],
  ['STORAGE_UNAVAILABLE', 503],
  ['INSUFFICIENT_STORAGE', 507],
  ['RATE_LIMITED', 429],
  ['a failure without a code', 500],
] as const

type Failure = (typeof FAILURES)[number][0]

/** Methods that return a part of the store synchronously. All others are calls. */
const PARTS: ReadonlySet<string> = new Set(['team', 'table', 'stash', 'job'])
const OBJECTS: ReadonlySet<string> = new Set(['files', 'keys'])
const UNTOUCHED: ReadonlySet<string> = new Set(['limits', 'close', 'garbageCollection'])

/** The store can still be closed, and reports its status. */
export function failingStore(store: Store, failure: Failure): Store {
  const status = () => ({ writable: false, code: failure, message: failure })
  const failed = failing(store, failure)
  return new Proxy(failed, {
    get: (target, name) => (name === 'status' ? status : Reflect.get(target, name)),
  })
}

function failing<T extends object>(part: T, failure: Failure): T {
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      const called = String(name)
      if (typeof value !== 'function') {
        return OBJECTS.has(called) ? failing(value as object, failure) : value
      }
      if (UNTOUCHED.has(called)) return value.bind(target)
      if (!PARTS.has(called)) return () => Promise.reject(failureOf(failure))
      return (...given: unknown[]) => failing(value.apply(target, given), failure)
    },
  })
}

function failureOf(failure: Failure): Error {
  if (failure === 'a failure without a code') return new Error(failure)
  return new StoreError(failure, 'as the test wants it', { outcome: 'unchanged' })
}
