// SHA-256 and HMAC-SHA256 (FIPS 180-4, RFC 2104) for runtimes without `node:crypto`. Web Crypto can neither digest a
// stream, which large files need, nor answer synchronously.

const BLOCK_BYTES = 64
const LENGTH_BYTES = 8
const ROUNDS = 64

/** The first 32 bits of the fractional parts of roots of the first primes. */
function fractionsOfRoots(count: number, exponent: number): Uint32Array {
  const fractions = new Uint32Array(count)
  let found = 0
  for (let candidate = 2; found < count; candidate++) {
    if (!isPrime(candidate)) continue
    const root = candidate ** exponent
    fractions[found++] = (root - Math.floor(root)) * 2 ** 32
  }
  return fractions
}

function isPrime(candidate: number): boolean {
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) {
    if (candidate % divisor === 0) return false
  }
  return true
}

const ROUND_CONSTANTS = fractionsOfRoots(ROUNDS, 1 / 3)
const INITIAL_STATE = fractionsOfRoots(8, 1 / 2)

/** A digest computed incrementally. */
export class Sha256 {
  readonly #state = Uint32Array.from(INITIAL_STATE)
  readonly #block = new Uint8Array(BLOCK_BYTES)
  readonly #schedule = new Uint32Array(ROUNDS)
  #length = 0

  update(bytes: Uint8Array): this {
    let at = 0
    while (at < bytes.length) {
      const filled = this.#length % BLOCK_BYTES
      const part = bytes.subarray(at, at + BLOCK_BYTES - filled)
      this.#block.set(part, filled)
      this.#length += part.length
      at += part.length
      if (filled + part.length === BLOCK_BYTES) this.#compress()
    }
    return this
  }

  /** Ends the digest. Must be called once, after the last bytes. */
  digest(): Uint8Array {
    const bits = this.#length * 8
    const filled = this.#length % BLOCK_BYTES
    const padding = new Uint8Array(
      (filled < BLOCK_BYTES - LENGTH_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES) - filled,
    )
    padding[0] = 0x80
    const view = new DataView(padding.buffer)
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32))
    view.setUint32(padding.length - 4, bits >>> 0)
    this.update(padding)
    const digest = new DataView(new ArrayBuffer(32))
    this.#state.forEach((word, index) => {
      digest.setUint32(4 * index, word)
    })
    return new Uint8Array(digest.buffer)
  }

  #compress(): void {
    const words = this.#expand()
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = this.#state
    for (let round = 0; round < ROUNDS; round++) {
      const choice = (e & f) ^ (~e & g)
      const majority = (a & b) ^ (a & c) ^ (b & c)
      const mixedE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      const mixedA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      const first = (h + mixedE + choice + (ROUND_CONSTANTS[round] ?? 0) + (words[round] ?? 0)) | 0
      h = g
      g = f
      f = e
      e = (d + first) | 0
      d = c
      c = b
      b = a
      a = (first + mixedA + majority) | 0
    }
    ;[a, b, c, d, e, f, g, h].forEach((word, index) => {
      this.#state[index] = (this.#state[index] ?? 0) + word
    })
  }

  /** The block, expanded to the words of all rounds. */
  #expand(): Uint32Array {
    const words = this.#schedule
    const block = new DataView(this.#block.buffer)
    for (let index = 0; index < 16; index++) words[index] = block.getUint32(4 * index)
    for (let index = 16; index < ROUNDS; index++) {
      const early = words[index - 15] ?? 0
      const late = words[index - 2] ?? 0
      const small = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)
      const large = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10)
      words[index] = (words[index - 16] ?? 0) + small + (words[index - 7] ?? 0) + large
    }
    return words
  }
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

export function hmacOfSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(BLOCK_BYTES)
  padded.set(key.length > BLOCK_BYTES ? new Sha256().update(key).digest() : key)
  const inner = new Sha256().update(padded.map((byte) => byte ^ 0x36)).update(bytes)
  return new Sha256()
    .update(padded.map((byte) => byte ^ 0x5c))
    .update(inner.digest())
    .digest()
}
