// A value or a promise of it. Values in memory are passed on without a promise, which would cost more than finding a row
// (PERFORMANCE.md, P18).

/** A value, or a promise of it; `await` takes both. */
export type Awaitable<T> = T | Promise<T>

/** Whether the value is here. A promise may be of another realm, or a class of its own. */
export function isSync<T>(soon: Awaitable<T>): soon is T {
  if (typeof soon !== 'object' || soon === null) return true
  // Asking for the property is quicker than asking whether there is one, on values of many shapes.
  return !(soon instanceof Promise) && (soon as { then?: unknown }).then === undefined
}

/** Applies `use` to a value: at once if it is there, and then failures of `use` are thrown at once too. */
export function chain<T, U>(soon: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return isSync(soon) ? use(soon) : soon.then(use)
}

/** Runs `use`, and `end` once it has settled, however it has. */
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

/** Runs `use`; its failure is a rejected promise also when it comes at once. */
export function tryCall<T>(use: () => Awaitable<T>): Awaitable<T> {
  try {
    return use()
  } catch (failure) {
    return Promise.reject(failure)
  }
}
