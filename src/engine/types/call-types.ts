// Common arguments of many calls: a signal, an author, the values of a key.

/** A call that its caller may abort. */
export type Abortable = Readonly<{
  /**
   * Ends the call with ABORTED, and nothing is changed. Once the commit has begun, the signal has no effect. Reading an
   * iterable or a stream ends at once; a body in memory is read to its end first. A call of `rowstash/client` throws
   * the reason of the signal instead, and a request that was sent may have taken effect. Default: none.
   */
  signal?: AbortSignal | undefined
}>

/** The author and the reason of a change. The log of the table keeps both. */
export type Authored = Readonly<{
  /** Who makes the change: 1 to 256 UTF-16 units of well-formed text. Default: none. */
  author?: string | undefined
  /** The reason, for people: 1 to 1,000 UTF-16 units of well-formed text. Default: none. */
  note?: string | undefined
}>

/** The values of the key columns of a row, by column ID. */
export type KeyValues = Readonly<Record<string, string | number | bigint | boolean>>
