// Requests and responses between an adapter and the contract: HTTP without a server.

/** Header lines as they were received, with duplicates. Names may have any letter case. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** The facts about an answered request that a log may contain. */
export type AnsweredRequest = Readonly<{
  /**
   * Method and route, such as `GET /tables/{tableID}/rows`; `none`: the request was refused before its route was known.
   */
  operation: string
  /** The team of the key; absent for routes without a key, and for refused requests. */
  team?: string
  /**
   * The name of the key, which does not reveal it: `keyId` of its identity, the ID of a key in the store, or a part of
   * a digest. Absent for routes without a key, and for refused requests.
   */
  keyId?: string
  /** The HTTP status. */
  status: number
  /** The type of the error; absent if there was none. */
  error?: string
  /** Milliseconds from the request to its answer, before its body is sent. */
  ms: number
}>

/** A request from an adapter to the contract. */
export type ContractRequest = Readonly<{
  /** The HTTP method in upper case, such as `GET`. */
  method: string
  /** Path of the request target, still percent-encoded, without the base path. */
  path: string
  /** Query of the request target without the question mark; may be empty. */
  query: string
  /** All header lines, in the order received. */
  headers: HeaderList
  /**
   * The scheme and the host of the URL that the client used, then the base path that was removed from `path`, such as
   * `https://example.com/api`. It need not have been checked. Default: none; then the option `baseUrl` must be set.
   */
  origin?: string | undefined
  /**
   * The body, read at most once. The contract may stop reading before its end; the adapter then drains or cuts off the
   * rest, but only after the response was delivered.
   */
  body: AsyncIterable<Uint8Array>
  /**
   * The client, such as its address, for the limit of refused keys (`refusedKeysPerMinuteMax`). Leave it out for a
   * trusted client, such as one that has sent a known key on the same connection. Default: none; there is then no
   * limit.
   */
  client?: string | undefined
  /** The framework's request, for `authenticate`. Default: none. */
  host?: unknown
  /**
   * Called if the key of the request is known, with the name and the team of the key; a key of the operator has no
   * team. It is never called for routes without a key. Default: none.
   */
  onKey?: (sender: Readonly<{ keyId: string; teamId?: string }>) => void
  /**
   * Called after `onKey`. It returns whether the key may use this connection, since it may already have too many. If
   * false, the answer has the status 503, and nothing is changed. Default: every key may.
   */
  admits?: ((sender: Readonly<{ keyId: string; teamId?: string }>) => boolean) | undefined
  /**
   * Whether the adapter no longer uses a piece of a response body when it requests the next piece, so that the memory
   * can be reused. Default: false.
   */
  releasesPieces?: boolean | undefined
  /** Called when the answer is ready, with the facts that a log may contain. Default: none. */
  onAnswered?: ((answered: AnsweredRequest) => void) | undefined
}>

/** An answer for the adapter to send. */
export type ContractResponse = Readonly<{
  /** The HTTP status, 200 or above. */
  status: number
  /** Header values by names in lower case. */
  headers: Readonly<Record<string, string>>
  /**
   * The body. Text is sent as UTF-8. null: there is no body, as in every response to HEAD. Pieces are read at the
   * client's pace; an adapter that stops early must end the iterator.
   */
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null
  /**
   * Whether to close the connection after the answer, because a part of the request may be unread or the key is
   * unknown.
   */
  close?: boolean
  /**
   * A signal that is aborted if the body cannot be completed: the connection must then be cut. Only for a body in
   * pieces.
   */
  signal?: AbortSignal
  /**
   * Ends an endless body, even while a piece is awaited. An adapter calls it when the client has gone, and when the
   * server closes. Only for a feed of changes.
   */
  stop?: () => void
}>

/** All values of a header, in order. `name` is in lower case. */
export function headerValues(headers: HeaderList, name: string): readonly string[] {
  const values: string[] = []
  for (const [given, value] of headers) {
    if (given.length === name.length && given.toLowerCase() === name) values.push(value.trim())
  }
  return values
}
