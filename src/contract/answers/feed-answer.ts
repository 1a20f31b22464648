// The changes of a table as Server-Sent Events, one event per commit.
//
// Invariants:
// - Nothing is read ahead for a slow client: the state of a feed is a version, from which the log continues.
// - A client may reopen a feed that ended without the event `end`, at the place where it ended.
import { utf8 } from '../../base/bytes.js'
import { isStoreError } from '../../base/store-error.js'
import type { ChangeEntry } from '../../engine/types/history-types.js'
import type { Table } from '../../engine/types/store-types.js'
import { errorResponse } from '../http/error-response.js'
import type { ContractResponse } from '../http/message.js'
import type { OpenFeed } from '../memory/open-feeds.js'

/** Time after which a client should reconnect, in milliseconds. */
const RETRY_MS = 1_000

const COMMENT = ':\n\n'

/** `no-transform` and `x-accel-buffering` keep proxies from holding events back. */
export const FEED_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

/**
 * @param checkKey - Fails if the key may no longer read the table. It is called each time a comment is sent.
 */
export function feedAnswer(
  table: Table,
  since: number,
  feed: OpenFeed,
  checkKey: () => Promise<void>,
): ContractResponse {
  const stopping = new AbortController()
  const { signal } = stopping
  const stop = (): void => {
    feed.close()
    stopping.abort()
  }
  const pieces = feedPieces(table.watchLog({ since, signal }), since, feed, checkKey)
  return { status: 200, headers: FEED_HEADERS, body: untilStopped(pieces, signal, stop), stop }
}

/** An error that a new request would also get becomes the event `end`; any other failure breaks the feed off. */
async function* untilStopped(
  pieces: AsyncIterable<string>,
  signal: AbortSignal,
  stop: () => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of pieces) yield utf8(piece)
  } catch (failure) {
    if (signal.aborted || (isStoreError(failure) && failure.code === 'STORE_CLOSED')) return
    const { status, body } = errorResponse(failure)
    if (status >= 500) throw failure
    yield utf8(`event: end\ndata: ${body}\n\n`)
  } finally {
    stop()
  }
}

async function* feedPieces(
  entries: AsyncIterator<ChangeEntry>,
  since: number,
  feed: OpenFeed,
  checkKey: () => Promise<void>,
): AsyncGenerator<string, void> {
  // An ID without data is not an event, but a client that reconnects continues from this ID.
  yield `retry: ${RETRY_MS}\nid: ${since}\n\n`
  let entry: (() => IteratorResult<ChangeEntry>) | undefined
  const ask = (): void => {
    const take = (found: typeof entry) => {
      entry = found
      feed.wake()
    }
    entry = undefined
    entries.next().then(
      (result) => take(() => result),
      (failure: unknown) =>
        take(() => {
          throw failure
        }),
    )
  }
  ask()
  try {
    for (;;) {
      if (entry === undefined && !feed.isDue) {
        await new Promise<void>((resolve) => {
          feed.wake = resolve
        })
      }
      if (feed.isDue) {
        feed.isDue = false
        await checkKey()
        yield COMMENT
      }
      if (entry === undefined) continue
      const { done, value } = entry()
      if (done === true) return
      ask()
      yield `id: ${value.version}\ndata: ${JSON.stringify(value)}\n\n`
    }
  } finally {
    entries.return?.().catch(() => undefined) // Not awaited: the signal ends the wait of `return`.
  }
}
