// What an adapter hands to the contract and gets back: HTTP without a server.

/** Header lines as they came in, duplicates included. Names may have any letter case. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

export type ContractRequest = Readonly<{
  method: string
  /** Path of the request target, still percent-encoded, the base path removed. */
  path: string
  /** Query of the request target without the question mark; empty when there is none. */
  query: string
  headers: HeaderList
  /**
   * Where the client found us, as the adapter saw it: scheme, host and the base path that was removed from
   * `path`, like `https://example.com/api`. Unchecked, and not needed where the option `baseUrl` is set.
   */
  origin?: string | undefined
  /**
   * The body, read at most once. The contract may stop before its end; whoever serves the request
   * then drains or cuts what is left, but not before the response was delivered.
   */
  body: AsyncIterable<Uint8Array>
  /** Called when the key of the request was found to be known; never for what needs no key. */
  onKey?: () => void
}>

export type ContractResponse = Readonly<{
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  /**
   * Text is sent as UTF-8. null: no body, also for every answer to HEAD. Pieces are asked for one by one as the client
   * takes them; whoever does not read them to their end ends their iterator.
   */
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null
  /** The connection must not be used again: a part of the request may be unread, or the key is unknown. */
  close?: boolean
  /** Aborted when the rest of the body will not be there: the connection must be cut. Only with a body in pieces. */
  signal?: AbortSignal
}>

/** All values of a header, in order. `name` is in lower case. */
export function headerValues(headers: HeaderList, name: string): readonly string[] {
  const values: string[] = []
  for (const [given, value] of headers) {
    if (given.length === name.length && given.toLowerCase() === name) values.push(value.trim())
  }
  return values
}
