/** The source of nonces and IDs, so that tests can repeat a run from its seed. */
export interface Random {
  /** Fresh bytes that nobody can guess. `count` is at most 65,536. */
  bytes(count: number): Uint8Array
}

export const systemRandom: Random = {
  bytes: (count) => globalThis.crypto.getRandomValues(new Uint8Array(count)),
}
