/** The source of nonces and IDs. Tests can replace it to repeat a run from its seed. */
export interface Random {
  /** Fresh unpredictable bytes. `count` is at most 65,536. */
  bytes(count: number): Uint8Array
}

/** Number of bytes requested from the system at once: requesting a few bytes costs as much. */
const BLOCK_BYTES = 4_096

/** Random bytes of the system, each used once. */
export function openSystemRandom(): Random {
  let block = new Uint8Array(0)
  let used = 0
  return {
    bytes(count) {
      if (count > BLOCK_BYTES) return globalThis.crypto.getRandomValues(new Uint8Array(count))
      if (used + count > block.length) {
        block = globalThis.crypto.getRandomValues(new Uint8Array(BLOCK_BYTES))
        used = 0
      }
      used += count
      return block.slice(used - count, used)
    },
  }
}
