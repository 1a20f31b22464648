// Fingerprints of rows, from the bytes of their texts: 128 bits of the values of their key cells, and 64 bits of the
// whole text. They are keyed with random numbers, so that nobody can choose rows with equal ones; they are never stored.
//
// Two rows with one key have the same fingerprint of the key, in whatever form its values were written. Two rows with
// one content may have different fingerprints of their texts.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DIGIT_NINE,
  DIGIT_ZERO,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sliceText } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'
import { renderKey } from './row-text.js'
import { canonicalToken } from './row-values.js'

/** Random bytes that key the fingerprints. */
export const FINGERPRINT_SEED_BYTES = 24

/** Room for the canonical tokens of a key; it grows with longer ones. */
const KEY_BYTES_FIRST = 256

/** Odd factors, as of xxHash. */
const FACTOR_A = 0x9e3779b1
const FACTOR_B = 0x85ebca77

export class RowFingerprints {
  /** Of the key of the row that was read last, as four unsigned numbers of 32 bits. */
  readonly key = new Uint32Array(4)
  /** Of its text, as two. */
  readonly text = new Uint32Array(2)
  readonly #names: readonly Bytes[]
  readonly #seeds: Uint32Array
  /** Where the tokens of the key cells begin and end; a beginning of -1: the cell is empty. */
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  #scratch = new Uint8Array(KEY_BYTES_FIRST)
  #scratchView = new DataView(this.#scratch.buffer)
  #bytes: Bytes = this.#scratch
  #view: DataView = this.#scratchView
  #hashA = 0
  #hashB = 0

  /** @param seed - `FINGERPRINT_SEED_BYTES` random bytes. */
  constructor(keyColumns: readonly string[], seed: Bytes) {
    this.#names = keyColumns.map((id) => utf8(`${renderKey(id)}:`))
    const view = new DataView(seed.buffer, seed.byteOffset, seed.length)
    this.#seeds = Uint32Array.from({ length: FINGERPRINT_SEED_BYTES / 4 }, (_, i) =>
      view.getUint32(4 * i),
    )
    this.#starts = new Int32Array(keyColumns.length)
    this.#ends = new Int32Array(keyColumns.length)
  }

  /** The bytes that rows are read from. */
  use(bytes: Bytes): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /**
   * Reads the row whose text stands between two offsets.
   * @returns the number of the first key column whose cell is empty; -1: none is.
   * @throws {StoreError} DATA_CORRUPT: the text is not that of a row
   */
  read(from: number, to: number): number {
    const missing = this.#findKey(from, to)
    if (missing >= 0) return missing
    const length = this.#writeKey()
    this.#hash(this.#scratch, this.#scratchView, 0, length, 0)
    this.key[0] = this.#hashA
    this.key[1] = this.#hashB
    this.#hash(this.#scratch, this.#scratchView, 0, length, 2)
    this.key[2] = this.#hashA
    this.key[3] = this.#hashB
    this.#hash(this.#bytes, this.#view, from, to, 4)
    this.text[0] = this.#hashA
    this.text[1] = this.#hashB
    return -1
  }

  /** Finds the cells of the key; those behind the last of them are not looked at. */
  #findKey(from: number, to: number): number {
    const bytes = this.#bytes
    this.#starts.fill(-1)
    let left = this.#names.length
    for (let at = from; at < to && left > 0; ) {
      const key = this.#keyAt(at, to)
      const token = key < 0 ? endOfString(bytes, at, to) + 1 : at + (this.#names[key]?.length ?? 0)
      if (bytes[token - 1] !== COLON) throw damaged(at)
      const end = endOfToken(bytes, token, to)
      if (key >= 0) {
        this.#starts[key] = token
        this.#ends[key] = end
        left--
      }
      at = end + 1
    }
    return left === 0 ? -1 : this.#starts.indexOf(-1)
  }

  /** The key column whose cell begins here; -1: none does. */
  #keyAt(at: number, to: number): number {
    const bytes = this.#bytes
    for (let key = 0; key < this.#names.length; key++) {
      const name = this.#names[key]
      if (name === undefined || at + name.length > to) continue
      let same = 0
      while (same < name.length && bytes[at + same] === name[same]) same++
      if (same === name.length) return key
    }
    return -1
  }

  /** Writes the canonical tokens of the key, one after the other. @returns their length. */
  #writeKey(): number {
    let length = 0
    for (let key = 0; key < this.#names.length; key++) {
      const start = this.#starts[key] ?? 0
      const end = this.#ends[key] ?? 0
      if (isCanonical(this.#bytes, start, end)) {
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
  #hash(bytes: Bytes, view: DataView, from: number, to: number, seed: number): void {
    let a = (this.#seeds[seed] ?? 0) | 0
    let b = ((this.#seeds[seed + 1] ?? 0) ^ (to - from)) | 0
    let at = from
    // Each step is reversible, so texts that differ once differ on; each half takes up the other.
    for (; at + 8 <= to; at += 8) {
      a = Math.imul(a ^ view.getInt32(at, true), FACTOR_A)
      a = (((a << 13) | (a >>> 19)) + b) | 0
      b = Math.imul(b ^ view.getInt32(at + 4, true), FACTOR_B)
      b = ((b << 17) | (b >>> 15)) ^ a
    }
    for (; at < to; at++) {
      a = Math.imul(a ^ (bytes[at] ?? 0), FACTOR_A)
      a = (((a << 13) | (a >>> 19)) + b) | 0
      b = Math.imul(b, FACTOR_B)
      b = ((b << 17) | (b >>> 15)) ^ a
    }
    this.#hashA = finish(a) >>> 0
    this.#hashB = finish(b) >>> 0
  }
}

function finish(state: number): number {
  let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** Whether a token surely is its own canonical text: a text without escapes, a plain integer, a boolean. */
function isCanonical(bytes: Bytes, start: number, end: number): boolean {
  const first = bytes[start] ?? 0
  if (first === QUOTE) {
    for (let at = start + 1; at < end; at++) if (bytes[at] === BACKSLASH) return false
    return true
  }
  if (first !== MINUS && (first < DIGIT_ZERO || first > DIGIT_NINE)) return first !== OPEN_BRACKET
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte < DIGIT_ZERO || byte > DIGIT_NINE) return false
  }
  return first !== MINUS && first !== DIGIT_ZERO && bytes[end - 1] !== DIGIT_ZERO
}

/** Where the string that begins at `at` ends: behind its closing quote. */
function endOfString(bytes: Bytes, at: number, to: number): number {
  if (bytes[at] !== QUOTE) throw damaged(at)
  for (let i = at + 1; i < to; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) i++
  }
  throw damaged(at)
}

function endOfToken(bytes: Bytes, at: number, to: number): number {
  const first = bytes[at]
  if (first === QUOTE) return endOfString(bytes, at, to)
  let level = 0
  for (let i = at; i < to; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) i = endOfString(bytes, i, to) - 1
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) level++
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) level--
    else if (byte === COMMA && level === 0) return i
  }
  return to
}

function damaged(at: number): StoreError {
  return new StoreError('DATA_CORRUPT', `The text of a row is damaged at byte ${at}`)
}
