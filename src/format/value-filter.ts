// A Bloom filter of values: it tells whether a hash was certainly not added, or was perhaps added. FORMAT.md, section
// 6.
//
// A filter has blocks of 256 bits; a hash sets four bits of one block. A filter is sized for all added hashes, and
// halved while it is sparse, as with many equal values.
import { type Bytes, putUint32, readUint32 } from '../base/bytes.js'

const WORDS_OF_BLOCK = 8

/** The maximum number of blocks of a filter. */
export const FILTER_BLOCKS_MAX = 2_048

/**
 * A filter is halved only if at most this share of bits is set afterwards: then about 1 of 40 hashes that were not
 * added seems added.
 */
const SET_SHARE_MAX = 0.4

/** A filter with a greater share of bits set is not worth its size. */
const SET_SHARE_DROPPED = 0.6

const BIT_FACTOR = 0x2c1b_3c6d

/** Hashes are collected in a list that grows from the first size to the second, then in a filter of the largest. */
const HASHES_FIRST = 256
const HASHES_COLLECTED_MAX = 4_096

/** A column with this many hashes or more has no filter. */
const HASHES_MAX = 1_048_576

/** Number of bits of a filter per hash, before the filter is halved. */
const BITS_OF_HASH = 10

/** Number of recent hashes kept, one per value of the lowest bits: columns with few values often add the same hash. */
const RECENT_HASHES = 256

export class ValueFilterBuilder {
  readonly #recent = new Int32Array(RECENT_HASHES)
  #hashes = new Int32Array(HASHES_FIRST)
  #count = 0
  /** A filter of the largest size, used once there are too many hashes to collect. */
  #words: Uint32Array | null = null

  constructor() {
    // The lowest bits of a used place are its index. Those of an unused place are not: 1 at place 0, and 0 elsewhere.
    this.#recent[0] = 1
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** @param hash - Signed or unsigned. */
  add(hash: number): void {
    const bits = hash | 0
    const place = bits & (RECENT_HASHES - 1)
    if (this.#recent[place] === bits) return
    this.#recent[place] = bits
    const count = this.#count++
    if (this.#words !== null) setBits(this.#words, FILTER_BLOCKS_MAX, bits)
    else if (count < this.#hashes.length) this.#hashes[count] = bits
    else this.#addToMore(bits, count)
  }

  #addToMore(hash: number, count: number): void {
    if (count < HASHES_COLLECTED_MAX) {
      const more = new Int32Array(2 * count)
      more.set(this.#hashes)
      more[count] = hash
      this.#hashes = more
      return
    }
    this.#words = filled(this.#hashes, count, FILTER_BLOCKS_MAX)
    this.#hashes = new Int32Array(0)
    setBits(this.#words, FILTER_BLOCKS_MAX, hash)
  }

  /** The bytes of the filter, as small as sensible; null: the column has too many values. */
  finish(): Bytes | null {
    if (this.#count >= HASHES_MAX) return null
    const blocks = blocksFor(this.#count)
    let words = this.#words ?? filled(this.#hashes, this.#count, blocks)
    while (words.length > WORDS_OF_BLOCK * blocks) words = halved(words)
    let share = shareOfSet(words)
    if (share > SET_SHARE_DROPPED) return null
    while (words.length > WORDS_OF_BLOCK && 1 - (1 - share) ** 2 <= SET_SHARE_MAX) {
      words = halved(words)
      share = shareOfSet(words)
    }
    const bytes = new Uint8Array(4 * words.length)
    for (let i = 0; i < words.length; i++) putUint32(bytes, 4 * i, words[i] ?? 0)
    return bytes
  }
}

/** The number of blocks of a filter for this many hashes, before the filter is halved. */
function blocksFor(count: number): number {
  const wanted = (BITS_OF_HASH * count) / (32 * WORDS_OF_BLOCK)
  let blocks = 1
  while (blocks < wanted && blocks < FILTER_BLOCKS_MAX) blocks *= 2
  return blocks
}

/** A filter with the given hashes. */
function filled(hashes: Int32Array, count: number, blocks: number): Uint32Array {
  const words = new Uint32Array(WORDS_OF_BLOCK * blocks)
  for (let i = 0; i < count; i++) setBits(words, blocks, hashes[i] ?? 0)
  return words
}

function setBits(words: Uint32Array, blocks: number, hash: number): void {
  const block = WORDS_OF_BLOCK * (hash & (blocks - 1))
  const bits = bitsOfHash(hash)
  // A shift uses only the lowest five bits of its operand.
  const word0 = block + ((bits >>> 5) & 7)
  const word1 = block + ((bits >>> 13) & 7)
  const word2 = block + ((bits >>> 21) & 7)
  const word3 = block + (bits >>> 29)
  words[word0] = (words[word0] ?? 0) | (1 << bits)
  words[word1] = (words[word1] ?? 0) | (1 << (bits >>> 8))
  words[word2] = (words[word2] ?? 0) | (1 << (bits >>> 16))
  words[word3] = (words[word3] ?? 0) | (1 << (bits >>> 24))
}

function halved(words: Uint32Array): Uint32Array {
  const half = words.length / 2
  const folded = words.slice(0, half)
  for (let i = 0; i < half; i++) folded[i] = (folded[i] ?? 0) | (words[half + i] ?? 0)
  return folded
}

/** Whether a hash may have been added to the filter. */
export function mayContain(filter: Bytes, hash: number): boolean {
  const blocks = filter.length / (4 * WORDS_OF_BLOCK)
  const block = 4 * WORDS_OF_BLOCK * (hash & (blocks - 1))
  const bits = bitsOfHash(hash)
  for (let shift = 0; shift < 32; shift += 8) {
    const bit = bits >>> shift
    const word = readUint32(filter, block + 4 * ((bit >>> 5) & 7))
    if ((word & (1 << (bit & 31))) === 0) return false
  }
  return true
}

/** Whether bytes can be a filter: their number of blocks is a power of two. */
export function isFilter({ length }: Bytes): boolean {
  const blocks = length / (4 * WORDS_OF_BLOCK)
  return Number.isInteger(Math.log2(blocks)) && blocks <= FILTER_BLOCKS_MAX
}

/** The four bits of a hash in its block, one byte per bit. */
function bitsOfHash(hash: number): number {
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
