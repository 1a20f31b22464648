// The port through which a store fetches files from URLs that its clients name.

/** What a source may send at most. */
export type SourceLimits = Readonly<{
  /** Bytes of its body. */
  bytesMax: number
}>

/** A source that has begun to answer. Read its body to the end, stop reading it, or close it. */
export type FetchedSource = Readonly<{
  /** The `Content-Type` as it was sent, unchecked. */
  contentType: string | undefined
  /** The name that `Content-Disposition` gives, `filename*` before `filename`; as it was sent, so clean it. */
  fileName: string | undefined
  /** Where the answer came from, after all redirects; without a fragment. */
  url: string
  /**
   * The bytes, to be read once. Throws like `Sources.fetch`; whoever stops reading lets go of the source.
   * Ends normally only if the source has sent all that it announced.
   */
  body: AsyncIterable<Uint8Array>
  /** Lets go of the source; once more is harmless. */
  close(): void
}>

export interface UrlFetcher {
  /**
   * Asks a URL for its bytes, with a GET and nothing else. An implementation must keep to public
   * addresses unless its host allowed others, and must bound the time and the size of an answer.
   *
   * @param url - Untrusted text.
   * @throws {StoreError} SOURCE_URL_NOT_ALLOWED (one message for all reasons, so that nobody can map a
   *   network by it), SOURCE_URL_FAILED, SOURCE_URL_TIMEOUT, FILE_TOO_LARGE, ABORTED (by the signal)
   */
  fetch(url: string, limits: SourceLimits, signal?: AbortSignal): Promise<FetchedSource>
}
