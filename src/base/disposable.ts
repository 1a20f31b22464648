/** What `await using` ends. */
export interface Disposing {
  /** Ends it, at the end of a block with `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** An async iterator that `await using` ends early, as leaving a `for await` loop does. */
export type DisposableIterator<T> = AsyncIterableIterator<T> & Disposing

/** Lets `await using` end an iterator, in runtimes whose iterators cannot. */
export function disposable<T>(iterator: AsyncGenerator<T, void>): DisposableIterator<T> {
  if (Symbol.asyncDispose in iterator) return iterator as typeof iterator & Disposing
  return Object.assign(iterator, {
    async [Symbol.asyncDispose](): Promise<void> {
      await iterator.return()
    },
  })
}
