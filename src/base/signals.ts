// Whether a caller has aborted a call.
import { StoreError } from './store-error.js'

/**
 * Throws if the caller has aborted the call. The signal's reason is the cause of the error.
 * @param what - The name of the call, for the message: `The ${what} was aborted`.
 * @throws {StoreError} ABORTED
 */
export function checkNotAborted(what: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(what, signal.reason)
}

/** The error of a call aborted by its caller. @param reason - The reason of the signal. */
export function aborted(what: string, reason: unknown): StoreError {
  return new StoreError('ABORTED', `The ${what} was aborted`, { cause: reason })
}

/**
 * Waits for a value until the caller aborts, even if the producer ignores the signal.
 * @param late - Called with a value that arrives after the abort.
 * @throws {StoreError} ABORTED
 */
export function unlessAborted<T>(
  what: string,
  signal: AbortSignal,
  coming: Promise<T>,
  late: (value: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(aborted(what, signal.reason))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const settled = coming.then((value) => (signal.aborted ? late(value) : resolve(value)))
    void settled.catch(reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/**
 * The items of an iterable until the caller aborts, also while the next item is awaited. After an abort, the iterator
 * is closed without waiting for it.
 * @throws {StoreError} ABORTED
 */
export async function* untilAborted<Item>(
  what: string,
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void> {
  checkNotAborted(what, signal)
  const iterator = items[Symbol.asyncIterator]()
  let wake = (): void => undefined
  const onAbort = (): void => wake()
  signal.addEventListener('abort', onAbort)
  let isDone = false
  try {
    for (;;) {
      // Not Promise.race: with one promise for the abort, it would retain memory for every item.
      const next = await new Promise<IteratorResult<Item> | null>((resolve, reject) => {
        wake = () => resolve(null)
        iterator.next().then(resolve, reject)
      })
      checkNotAborted(what, signal)
      isDone = next?.done === true
      if (next === null || next.done === true) return
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    if (!isDone) await leave(iterator, signal.aborted)
  }
}

async function leave(iterator: AsyncIterator<unknown>, atOnce: boolean): Promise<void> {
  const left = Promise.resolve(iterator.return?.())
  if (atOnce) left.catch(() => undefined)
  else await left
}
