// A value or a promise of it. A value in memory is passed on without a promise, which would cost more than finding a
// row (PERFORMANCE.md, P18).

/** A value, or a promise of it; `await` accepts both. */
export type Awaitable<T> = T | Promise<T>

/** Whether the value is available now. The value may also be a promise of another realm or class. */
export function isSync<T>(soon: Awaitable<T>): soon is T {
  if (typeof soon !== 'object' || soon === null) return true
  // Reading the property is faster than testing for it, on values of many shapes.
  return !(soon instanceof Promise) && (soon as { then?: unknown }).then === undefined
}

/**
 * Applies `use` to a value. If the value is available, this happens at once, and failures of `use` are thrown
 * synchronously.
 */
export function chain<T, U>(soon: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return isSync(soon) ? use(soon) : soon.then(use)
}

/** Runs `use`, and then `end`, whether `use` succeeds or fails. */
export function finallyDo<T>(use: () => Awaitable<T>, end: () => void): Awaitable<T> {
  let result: Awaitable<T>
  try {
    result = use()
  } catch (failure) {
    end()
    throw failure
  }
  if (!isSync(result)) return result.finally(end)
  end()
  return result
}

/** Runs `use`. Even a synchronous failure becomes a rejected promise. */
export function tryCall<T>(use: () => Awaitable<T>): Awaitable<T> {
  try {
    return use()
  } catch (failure) {
    return Promise.reject(failure)
  }
}
