// Values that may be here already. What is in memory is handed on at once: each promise on the way of a row
// that is there costs more than finding the row.

/** A value, or a promise of it. Whoever awaits it sees no difference. */
export type Soon<T> = T | Promise<T>

/** Whether the value is here. A promise may be of another realm, or a class of its own. */
export function isHere<T>(soon: Soon<T>): soon is T {
  if (typeof soon !== 'object' || soon === null) return true
  // Asking for the property is quicker than asking whether there is one, on values of many shapes.
  return !(soon instanceof Promise) && (soon as { then?: unknown }).then === undefined
}

/** What `use` makes of a value: at once if it is here, and then what `use` throws is thrown at once too. */
export function after<T, U>(soon: Soon<T>, use: (value: T) => Soon<U>): Soon<U> {
  return isHere(soon) ? use(soon) : soon.then(use)
}

/** Runs `use`, and `end` once it has settled, however it has. */
export function ending<T>(use: () => Soon<T>, end: () => void): Soon<T> {
  let result: Soon<T>
  try {
    result = use()
  } catch (failure) {
    end()
    throw failure
  }
  if (!isHere(result)) return result.finally(end)
  end()
  return result
}

/** Runs `use`; its failure is a rejected promise also when it comes at once. */
export function attempt<T>(use: () => Soon<T>): Soon<T> {
  try {
    return use()
  } catch (failure) {
    return Promise.reject(failure)
  }
}
