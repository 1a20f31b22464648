// Calls that their callers may abort, of the library and of `rowstash/client`.

/** A call that its caller may abort. */
export type Abortable = Readonly<{
  /**
   * Ends the call with ABORTED, and nothing is changed. It has no effect once the commit has begun. Reading an iterable
   * or a stream ends at once; a body in memory is read to its end first. A call of `rowstash/client` throws the reason of
   * the signal instead, and a request that was sent may have taken effect. Default: none.
   */
  signal?: AbortSignal | undefined
}>
