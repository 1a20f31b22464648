// The port through which a store fetches files from client-supplied URLs.

/** Limits of a response. */
export type SourceLimits = Readonly<{
  /** Length of the body, in bytes, at most. */
  bytesMax: number
}>

/** A response whose headers have arrived. Read the body to its end, end its iterator, or call `close`. */
export type FetchedSource = Readonly<{
  /** The `Content-Type` as it was sent, unchecked. */
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
  /** Closes the source; may be called again. */
  close(): void
}>

/** Fetches files from client-supplied URLs. */
export interface UrlFetcher {
  /**
   * Sends one GET. An implementation must refuse addresses that are not public unless its host allowed them,
   * and must bound the time and the size of a response.
   *
   * @param url - Untrusted text.
   * @throws {StoreError} SOURCE_URL_NOT_ALLOWED (one message for all reasons, which would otherwise map the
   *   network), SOURCE_URL_FAILED, SOURCE_URL_TIMEOUT, FILE_TOO_LARGE, ABORTED (by the signal)
   */
  fetch(url: string, limits: SourceLimits, signal?: AbortSignal): Promise<FetchedSource>
}
