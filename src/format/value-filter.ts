// A filter of values: says of a hash that it was surely not added, or perhaps. FORMAT.md, section 6.
//
// Blocks of 256 bits, of which a hash sets four in one. A filter has room for all hashes that were added, and is halved
// while it is sparse, as it is where many values are equal.
import { type Bytes, putUint32, readUint32 } from '../base/bytes.js'

const WORDS_OF_BLOCK = 8

/** Blocks of a filter, at most. */
export const FILTER_BLOCKS_MAX = 2_048

/** A filter is halved only if at most this share of its bits is set afterwards: then one of 40 misses is taken for a hit. */
const SET_SHARE_MAX = 0.4

/** A filter with more of its bits set is not worth its bytes. */
const SET_SHARE_DROPPED = 0.6

const BIT_FACTOR = 0x2c1b_3c6d

/** Hashes that are collected at the beginning, and at most: a column with more has no filter. */
const HASHES_FIRST = 256
const HASHES_MAX = 1_048_576

/** Bits of a filter for each hash, before it is halved. */
const BITS_OF_HASH = 10

export class ValueFilterBuilder {
  #hashes = new Uint32Array(HASHES_FIRST)
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(hash: number): void {
    if (this.#count === this.#hashes.length) {
      if (this.#count >= HASHES_MAX) return
      const more = new Uint32Array(2 * this.#count)
      more.set(this.#hashes)
      this.#hashes = more
    }
    this.#hashes[this.#count++] = hash
  }

  /** The bytes of the filter, as small as is good; null: it has too many values. */
  finish(): Bytes | null {
    if (this.#count >= HASHES_MAX) return null
    let words = this.#filled()
    let share = shareOfSet(words)
    if (share > SET_SHARE_DROPPED) return null
    while (words.length > WORDS_OF_BLOCK && 1 - (1 - share) ** 2 <= SET_SHARE_MAX) {
      const half = words.length / 2
      const folded = words.slice(0, half)
      for (let i = 0; i < half; i++) folded[i] = (folded[i] ?? 0) | (words[half + i] ?? 0)
      words = folded
      share = shareOfSet(words)
    }
    const bytes = new Uint8Array(4 * words.length)
    for (const [i, word] of words.entries()) putUint32(bytes, 4 * i, word)
    return bytes
  }

  /** The words of a filter with all hashes. */
  #filled(): Uint32Array {
    const blocksWanted = (BITS_OF_HASH * this.#count) / (32 * WORDS_OF_BLOCK)
    let blocks = 1
    while (blocks < blocksWanted && blocks < FILTER_BLOCKS_MAX) blocks *= 2
    const words = new Uint32Array(WORDS_OF_BLOCK * blocks)
    for (let i = 0; i < this.#count; i++) {
      const hash = this.#hashes[i] ?? 0
      const block = WORDS_OF_BLOCK * (hash & (blocks - 1))
      const bits = bitsOf(hash)
      for (let shift = 0; shift < 32; shift += 8) {
        const bit = bits >>> shift
        const word = block + ((bit >>> 5) & 7)
        words[word] = (words[word] ?? 0) | (1 << (bit & 31))
      }
    }
    return words
  }
}

/** Whether a hash may have been added to the filter with these bytes. */
export function mayContain(filter: Bytes, hash: number): boolean {
  const blocks = filter.length / (4 * WORDS_OF_BLOCK)
  const block = 4 * WORDS_OF_BLOCK * (hash & (blocks - 1))
  const bits = bitsOf(hash)
  for (let shift = 0; shift < 32; shift += 8) {
    const bit = bits >>> shift
    const word = readUint32(filter, block + 4 * ((bit >>> 5) & 7))
    if ((word & (1 << (bit & 31))) === 0) return false
  }
  return true
}

/** Whether bytes may be a filter: a number of blocks that is a power of two. */
export function isFilter({ length }: Bytes): boolean {
  const blocks = length / (4 * WORDS_OF_BLOCK)
  return Number.isInteger(Math.log2(blocks)) && blocks <= FILTER_BLOCKS_MAX
}

/** The four bits of a hash in its block: a byte for each. */
function bitsOf(hash: number): number {
  const bits = Math.imul(hash ^ (hash >>> 15), BIT_FACTOR)
  return (bits ^ (bits >>> 13)) >>> 0
}

function shareOfSet(words: Uint32Array): number {
  let count = 0
  for (const word of words) {
    let pairs = word - ((word >>> 1) & 0x5555_5555)
    pairs = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
    count += Math.imul((pairs + (pairs >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
  }
  return count / (32 * words.length)
}
