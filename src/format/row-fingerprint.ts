// Fingerprints of rows, from the bytes of their texts: 128 bits of the values of their key cells, and 64 bits of the
// whole text. They are keyed with random numbers, so nobody knows rows with equal ones; they are never stored.
//
// Two rows with one key have the same fingerprint of the key, in whatever form its values were written. Two rows with
// one content may have different fingerprints of their texts.
import { DIGIT_NINE, DIGIT_ZERO, MINUS, OPEN_BRACKET, QUOTE } from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { RowCells } from './row-cells.js'
import { canonicalToken } from './row-values.js'

/** Fingerprints that are kept, at most. */
export const FINGERPRINTS_MAX = 64

/** A fingerprint in unsigned numbers of 32 bits: four of the key of a row, then two of its text. */
export const FINGERPRINT = Object.freeze({ words: 6, pass: 3, text: 4 })

/** Random bytes that key the fingerprints. */
export const FINGERPRINT_SEED_BYTES = 24

/** Room for the canonical tokens of a key; it grows with longer ones. */
const KEY_BYTES_FIRST = 256

/** What a lane multiplies by, and how far it shifts. */
type Lane = Readonly<{ factor: number; shift: number }>

/**
 * Each lane takes all bytes. No two shift alike: a difference that one lane would lose with the next bytes stays in the
 * other, whatever the seeds are. The factors are odd, so each step is reversible.
 */
const LANES: readonly [Lane, Lane, Lane, Lane] = [
  { factor: 0x9e3779b1, shift: 15 },
  { factor: 0x85ebca77, shift: 13 },
  { factor: 0xc2b2ae3d, shift: 17 },
  { factor: 0x27d4eb2f, shift: 12 },
]

export class RowFingerprints {
  /** The fingerprints by the places that `read` was told. */
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

  /** The bytes that rows are read from. */
  use(bytes: Bytes): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /**
   * Reads the row whose text stands between two offsets.
   * @param place - Of its fingerprint, below `FINGERPRINTS_MAX`.
   * @returns the number of the first key column whose cell is empty; -1: none is.
   * @throws {StoreError} DATA_CORRUPT: the text is not that of a row
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

  /** Writes the canonical tokens of the key, one after the other. @returns their length. */
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
      this.#scratch[length++] = 0 // In no token.
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

/** Whether a token without escapes surely is its own canonical text: a text, a plain integer, a boolean. */
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
