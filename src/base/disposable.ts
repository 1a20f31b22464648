/** An object that `await using` disposes of. */
export interface Disposing {
  /** Disposes of the object, at the end of a block with `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** An async iterator that `await using` ends early, like leaving a `for await` loop. */
export type DisposableIterator<T> = AsyncIterableIterator<T> & Disposing

/** Adds `await using` to an iterator, for runtimes whose iterators lack it. */
export function disposable<T>(iterator: AsyncGenerator<T, void>): DisposableIterator<T> {
  if (Symbol.asyncDispose in iterator) return iterator as typeof iterator & Disposing
  return Object.assign(iterator, {
    async [Symbol.asyncDispose](): Promise<void> {
      await iterator.return()
    },
  })
}
