// The port through which a store fetches files from client-supplied URLs.
import { checkNotAborted, unlessAborted, untilAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'

/** Limits of a response. */
export type SourceLimits = Readonly<{
  /** Maximum number of bytes of the body. */
  bytesMax: number
}>

/** A response whose headers have arrived. Read the body to its end, end its iterator, or call `close`. */
export type FetchedSource = Readonly<{
  /** The `Content-Type` as sent, unchecked. */
  contentType: string | undefined
  /** The name in `Content-Disposition`, `filename*` before `filename`; unchecked. */
  fileName: string | undefined
  /** The URL of the response, after all redirects, without a fragment. */
  url: string
  /**
   * The bytes, which can be read once. Throws as `UrlFetcher.fetch` does. Ends normally only if the announced length
   * has arrived. Ending the iterator closes the source.
   */
  body: AsyncIterable<Uint8Array>
  /** Closes the source. Repeated calls have no effect. */
  close(): void
}>

/** Fetches files from client-supplied URLs. */
export interface UrlFetcher {
  /**
   * Sends one GET. An implementation must refuse addresses that are not public unless its host allowed them,
   * and must bound the time and the size of a response.
   *
   * @param url - Untrusted text.
   * @throws {StoreError} SOURCE_URL_NOT_ALLOWED (one message for all reasons: different messages would reveal the hosts
   *   of the network), SOURCE_URL_FAILED, SOURCE_URL_TIMEOUT, FILE_TOO_LARGE, ABORTED (by the signal)
   */
  fetch(url: string, limits: SourceLimits, signal?: AbortSignal): Promise<FetchedSource>
}

const FETCH = 'fetch'

/**
 * Fetches with the fetcher of a store. The signal ends the wait for the response and for its pieces, even if the
 * fetcher ignores it.
 * @throws {StoreError} SOURCE_URL_NOT_ALLOWED, before anything is fetched: the store has no fetcher
 */
export function fetchOf({
  sources,
}: Readonly<{ sources?: UrlFetcher | undefined }>): (
  url: string,
  limits: SourceLimits,
  signal: AbortSignal,
) => Promise<FetchedSource> {
  if (sources === undefined) {
    throw new StoreError('SOURCE_URL_NOT_ALLOWED', 'This store does not fetch URLs')
  }
  return async (url, limits, signal) => {
    checkNotAborted(FETCH, signal)
    const coming = sources.fetch(url, limits, signal)
    const source = await unlessAborted(FETCH, signal, coming, (late) => late.close())
    const { contentType, fileName, url: at } = source
    const body = untilAborted(FETCH, source.body, signal)
    return { contentType, fileName, url: at, body, close: () => source.close() }
  }
}
