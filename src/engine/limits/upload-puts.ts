import { type Bytes, toHex } from '../../base/bytes.js'
import { isStoreError, StoreError } from '../../base/store-error.js'

type Put = Readonly<{ ending: AbortController; ended: Promise<unknown> }>

/**
 * The PUTs in progress, at most one per upload: a newer PUT aborts the older one. So an upload location has only one
 * connection and one transfer, and a client whose PUT hangs can repeat it at once.
 */
export class UploadPuts {
  readonly #current = new Map<string, Put>()

  /** Aborts the PUT in progress of an upload, waits until it has ended, and runs the given PUT. */
  async run<T>(upload: Bytes, put: (ended: AbortSignal) => Promise<T>): Promise<T> {
    const key = toHex(upload)
    const older = this.#current.get(key)
    older?.ending.abort(superseded())
    const ending = new AbortController()
    const { signal } = ending
    const putting = (older?.ended ?? Promise.resolve()).then(() => {
      signal.throwIfAborted()
      return put(signal)
    })
    const mine = { ending, ended: putting.catch(() => undefined) } // The caller of this PUT gets its failure.
    this.#current.set(key, mine)
    try {
      return await putting
    } finally {
      if (this.#current.get(key) === mine) this.#current.delete(key)
    }
  }
}

function superseded(): StoreError {
  return new StoreError('UPLOAD_SUPERSEDED', 'A newer PUT to this location replaced this one')
}

/** The pieces of a body. Fails with ABORTED if the body breaks off, or with the signal's reason. */
export async function* untilEnded(
  body: AsyncIterable<Bytes>,
  ended: AbortSignal,
): AsyncGenerator<Bytes, void> {
  const pieces = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await nextPiece(pieces, ended)
      if (done) return
      yield value
    }
  } catch (cause) {
    if (isStoreError(cause)) throw cause
    throw new StoreError('ABORTED', 'The body ended too early', { cause })
  } finally {
    // This is not awaited: the iterator of a body that hangs may never settle. The owner of the body ends it.
    pieces.return?.().catch(() => undefined)
  }
}

function nextPiece(
  pieces: AsyncIterator<Bytes>,
  ended: AbortSignal,
): Promise<IteratorResult<Bytes, unknown>> {
  return new Promise((resolve, reject) => {
    if (ended.aborted) return reject(ended.reason)
    const onAbort = (): void => reject(ended.reason)
    ended.addEventListener('abort', onAbort, { once: true })
    pieces
      .next()
      .then(resolve, reject)
      .finally(() => ended.removeEventListener('abort', onAbort))
  })
}
