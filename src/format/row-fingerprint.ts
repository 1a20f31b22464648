// Fingerprints of row texts: 128 bits of the key values, and 64 bits of the whole text. They are keyed with random
// numbers, so nobody can construct collisions. Fingerprints are never stored.
//
// Rows with equal keys have equal key fingerprints, whatever the notation of the values. Rows with equal content may
// have different text fingerprints.
import { DIGIT_NINE, DIGIT_ZERO, MINUS, OPEN_BRACKET, QUOTE } from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { RowCells } from './row-cells.js'
import { canonicalToken } from './row-values.js'

/** The maximum number of fingerprints kept. */
export const FINGERPRINTS_MAX = 64

/** A fingerprint is six unsigned 32-bit numbers: four of the key, whose last one selects a pass; two of the text. */
export const FINGERPRINT = Object.freeze({ words: 6, pass: 3, text: 4 })

/** Number of bytes of the random key of the fingerprints. */
export const FINGERPRINT_SEED_BYTES = 24

/** Initial room for the canonical tokens of a key. */
const KEY_BYTES_FIRST = 256

/** The multiplier and the shift of a lane. */
type Lane = Readonly<{ factor: number; shift: number }>

/**
 * Each lane processes all bytes. All shifts differ: a difference that cancels in one lane remains in another, whatever
 * the seeds. The factors are odd, so each step is reversible.
 */
const LANES: readonly [Lane, Lane, Lane, Lane] = [
  { factor: 0x9e3779b1, shift: 15 },
  { factor: 0x85ebca77, shift: 13 },
  { factor: 0xc2b2ae3d, shift: 17 },
  { factor: 0x27d4eb2f, shift: 12 },
]

export class RowFingerprints {
  /** The fingerprints, by the `place` given to `read`. */
  readonly words = new Uint32Array(FINGERPRINT.words * FINGERPRINTS_MAX)
  readonly #cells: RowCells
  readonly #seeds: Uint32Array
  #scratch = new Uint8Array(KEY_BYTES_FIRST)
  #scratchView = new DataView(this.#scratch.buffer)
  #bytes: Bytes = this.#scratch
  #view: DataView = this.#scratchView
  #hashA = 0
  #hashB = 0

  /** @param seed - `FINGERPRINT_SEED_BYTES` random bytes. */
  constructor(keyColumns: readonly string[], seed: Bytes) {
    this.#cells = new RowCells(keyColumns)
    const view = new DataView(seed.buffer, seed.byteOffset, seed.length)
    this.#seeds = Uint32Array.from({ length: FINGERPRINT_SEED_BYTES / 4 }, (_, i) =>
      view.getUint32(4 * i),
    )
  }

  /** Sets the bytes to read rows from. */
  use(bytes: Bytes): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /**
   * Reads the row text between two offsets.
   * @param place - The place for its fingerprint, below `FINGERPRINTS_MAX`.
   * @returns the index of the first key column with an empty cell; -1: none.
   * @throws {StoreError} DATA_CORRUPT: the text is not a row's
   */
  read(from: number, to: number, place: number): number {
    const cells = this.#cells
    cells.read(this.#bytes, from, to)
    if (cells.count < cells.to.length) return cells.to.indexOf(0)
    const length = this.#writeKey()
    const { words } = this
    const at = FINGERPRINT.words * place
    const [first, second, third, fourth] = LANES
    this.#hash(this.#scratch, this.#scratchView, 0, length, 0, first, second)
    words[at] = this.#hashA
    words[at + 1] = this.#hashB
    this.#hash(this.#scratch, this.#scratchView, 0, length, 2, third, fourth)
    words[at + 2] = this.#hashA
    words[at + FINGERPRINT.pass] = this.#hashB
    this.#hash(this.#bytes, this.#view, from, to, 4, first, second)
    words[at + FINGERPRINT.text] = this.#hashA
    words[at + FINGERPRINT.text + 1] = this.#hashB
    return -1
  }

  /** Writes the canonical tokens of the key, concatenated. @returns their length. */
  #writeKey(): number {
    const { from, to, isEscaped } = this.#cells
    let length = 0
    for (let key = 0; key < from.length; key++) {
      const start = from[key] ?? 0
      const end = to[key] ?? 0
      if (isEscaped[key] === 0 && isCanonical(this.#bytes, start, end)) {
        this.#reserve(length + end - start + 1)
        for (let at = start; at < end; at++) this.#scratch[length++] = this.#bytes[at] ?? 0
      } else {
        const canonical = utf8(canonicalToken(sliceText(this.#bytes, start, end)))
        this.#reserve(length + canonical.length + 1)
        this.#scratch.set(canonical, length)
        length += canonical.length
      }
      this.#scratch[length++] = 0 // A separator that occurs in no token.
    }
    return length
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#scratch.length) return
    const grown = new Uint8Array(2 * bytes)
    grown.set(this.#scratch)
    this.#scratch = grown
    this.#scratchView = new DataView(grown.buffer)
  }

  /** @param seed - The first of two seeds. */
  #hash(
    bytes: Bytes,
    view: DataView,
    from: number,
    to: number,
    seed: number,
    { factor: factorA, shift: shiftA }: Lane,
    { factor: factorB, shift: shiftB }: Lane,
  ): void {
    let a = (this.#seeds[seed] ?? 0) | 0
    let b = ((this.#seeds[seed + 1] ?? 0) ^ (to - from)) | 0
    let at = from
    for (; at + 4 <= to; at += 4) {
      const word = view.getInt32(at, true)
      a = Math.imul(a ^ word, factorA)
      a ^= a >>> shiftA
      b = Math.imul(b ^ word, factorB)
      b ^= b >>> shiftB
    }
    for (; at < to; at++) {
      const byte = bytes[at] ?? 0
      a = Math.imul(a ^ byte, factorA)
      a ^= a >>> shiftA
      b = Math.imul(b ^ byte, factorB)
      b ^= b >>> shiftB
    }
    this.#hashA = finishHash(a) >>> 0
    this.#hashB = finishHash(b) >>> 0
  }
}

function finishHash(state: number): number {
  let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** Whether a token without escapes is certainly canonical: a text, a plain integer, a boolean. */
function isCanonical(bytes: Bytes, start: number, end: number): boolean {
  const first = bytes[start] ?? 0
  if (first === QUOTE) return true
  if (first !== MINUS && (first < DIGIT_ZERO || first > DIGIT_NINE)) return first !== OPEN_BRACKET
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte < DIGIT_ZERO || byte > DIGIT_NINE) return false
  }
  return first !== MINUS && first !== DIGIT_ZERO && bytes[end - 1] !== DIGIT_ZERO
}
