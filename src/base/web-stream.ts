/**
 * The pieces of a web stream, for runtimes whose web streams cannot be iterated.
 * @param atEnd - What happens to the rest if the reader stops early.
 */
export async function* readWebStream<Piece>(
  stream: ReadableStream<Piece>,
  atEnd: 'cancel' | 'leave' = 'cancel',
): AsyncGenerator<Piece, void> {
  const reader = stream.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isDone = done
      if (done) return
      yield value
    }
  } finally {
    if (!isDone && atEnd === 'cancel') await reader.cancel().catch(() => undefined) // The reader has stopped; how the stream ends does not matter.
    reader.releaseLock()
  }
}

/** The pieces of a stream; undefined: neither an async iterable nor a web stream. */
export function streamPieces(content: unknown): AsyncIterable<unknown> | undefined {
  const given = Object(content) as Partial<AsyncIterable<unknown> & ReadableStream<unknown>>
  if (typeof given[Symbol.asyncIterator] === 'function') return given as AsyncIterable<unknown>
  if (typeof given.getReader === 'function') return readWebStream(given as ReadableStream<unknown>)
  return undefined
}
