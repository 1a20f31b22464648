// A store of which every call fails as it is told.
import { type Store, StoreError } from '../../src/index.js'

/** Failures by their code, with the status that the contract answers. */
export const FAILURES = [
  ['DATA_CORRUPT', 500],
  ['STORAGE_UNAVAILABLE', 503],
  ['INSUFFICIENT_STORAGE', 507],
  ['RATE_LIMITED', 429],
  ['a failure without a code', 500],
] as const

type Failure = (typeof FAILURES)[number][0]

/** The methods of a store that return a part of it at once. The others are calls. */
const PARTS: ReadonlySet<string> = new Set(['team', 'table', 'stash', 'job'])
const OBJECTS: ReadonlySet<string> = new Set(['files', 'keys'])
const UNTOUCHED: ReadonlySet<string> = new Set(['limits', 'close', 'garbageCollection'])

/** The store still closes, and tells its status. */
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
