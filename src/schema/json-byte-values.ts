// Finds the end and the form of one JSON value in bytes. Decodes nothing.
//
// Invariant: only valid JSON is accepted. Negative zero, which loses its sign, and possible misfits in arrays go to the
// exact path.
import {
  BACKSLASH,
  CLOSE_BRACKET,
  COMMA,
  DOT,
  LOWER_E,
  LOWER_F,
  LOWER_N,
  LOWER_T,
  LOWER_U,
  MINUS,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  UPPER_E,
} from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'

/** The form of a value, as far as the scanner read it. */
export const FORM = /* @__PURE__ */ Object.freeze({
  null: 0,
  emptyText: 1,
  /** A text without escapes. */
  text: 2,
  /** A text without escapes that fits the kinds that its column may still have: see `ruledOf`. */
  ruledText: 3,
  /** A text with escapes, but without `\u` escapes. */
  escapedText: 4,
  /** A text with `\u` escapes, so that it may contain a lone surrogate. */
  unicodeText: 5,
  /** A finite number: it has no exponent, and at most NUMBER_BYTES_MAX bytes. */
  number: 6,
  exactNumber: 7,
  boolean: 8,
  /** An array of simple texts, numbers and booleans; `elements` says which. */
  array: 9,
  /** An array that `summarizeToken` must examine. */
  exactArray: 10,
})

/** Bits of `elements`. */
export const ELEMENT = /* @__PURE__ */ Object.freeze({ text: 1, number: 2, boolean: 4, space: 8 })

/** The maximum length of a number that is certainly finite as a double. */
const NUMBER_BYTES_MAX = 300

const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Whether a byte in a string stands for itself: no quote, no escape, no control character. */
export function isPlainTextByte(byte: number): boolean {
  return byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH
}

/** Repeats a byte four times, to compare four bytes at once. */
const ONES = 0x01010101
const WORD_BYTES = 4
const SPACES = 0x20 * ONES
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = (0x80 * ONES) | 0

/** @returns a word with the high bit of the first byte that is not plain; high bits of later bytes mean nothing. */
function unplainBytes(word: number): number {
  const below = (word - SPACES) | ((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES)
  return below & ~word & HIGH_BITS
}

/** Characters allowed after a backslash, except `u`. */
const ESCAPED: ReadonlySet<number> = /* @__PURE__ */ new Set(
  [...'"\\/bfnrt'].map((char) => char.charCodeAt(0)),
)

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9
}

/** Finds values; `form` and `elements` describe the last one. */
export class JsonByteValues {
  readonly bytes: Bytes
  form: number = FORM.null
  /** Bits of ELEMENT for an array. */
  elements = 0

  readonly #view: DataView

  constructor(bytes: Bytes) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** Reads a value and records its form. @returns its end, or -1: unsure. */
  read(at: number): number {
    this.elements = 0
    const first = this.bytes[at]
    if (first === QUOTE) return this.#readText(at)
    if (first === OPEN_BRACKET) return this.#readArray(at)
    return this.#readOther(at)
  }

  #readOther(at: number): number {
    switch (this.bytes[at]) {
      case LOWER_T:
        this.form = FORM.boolean
        return this.#readWord(at, 0x72, 0x75, 0x65, 0)
      case LOWER_F:
        this.form = FORM.boolean
        return this.#readWord(at, 0x61, 0x6c, 0x73, 0x65)
      case LOWER_N:
        this.form = FORM.null
        return this.#readWord(at, 0x75, 0x6c, 0x6c, 0)
      default:
        return this.#readNumber(at)
    }
  }

  /** Reads the letters after the first one; `fifth` is 0 if there are only three. @returns their end, or -1: unsure. */
  #readWord(at: number, second: number, third: number, fourth: number, fifth: number): number {
    const { bytes } = this
    if (bytes[at + 1] !== second || bytes[at + 2] !== third || bytes[at + 3] !== fourth) return -1
    if (fifth === 0) return at + 4
    return bytes[at + 4] === fifth ? at + 5 : -1
  }

  #readText(start: number): number {
    const at = this.#endOfPlain(start + 1)
    if (this.bytes[at] !== QUOTE) return this.#readEscaped(at)
    this.form = at === start + 1 ? FORM.emptyText : FORM.text
    return at + 1
  }

  /** Continues a text at its first escape. */
  #readEscaped(start: number): number {
    const { bytes } = this
    let at = start
    this.form = FORM.escapedText
    while (bytes[at] === BACKSLASH) {
      const escaped = bytes[at + 1] ?? 0
      if (escaped === LOWER_U) {
        if (!this.#isHex4(at + 2)) return -1
        this.form = FORM.unicodeText
        at = this.#endOfPlain(at + 6)
      } else {
        if (!ESCAPED.has(escaped)) return -1
        at = this.#endOfPlain(at + 2)
      }
    }
    return bytes[at] === QUOTE ? at + 1 : -1 // A control character, or the end of the body.
  }

  /** The first special byte from `start` on, or the end of the body. */
  #endOfPlain(start: number): number {
    const { bytes } = this
    const view = this.#view
    const last = bytes.length - WORD_BYTES
    let at = start
    for (; at <= last; at += WORD_BYTES) {
      const special = unplainBytes(view.getInt32(at, true))
      if (special !== 0) return at + ((31 - Math.clz32(special & -special)) >> 3)
    }
    while (isPlainTextByte(bytes[at] ?? 0)) at++
    return at
  }

  #isHex4(start: number): boolean {
    for (let at = start; at < start + 4; at++) {
      const byte = this.bytes[at] ?? 0
      const letter = byte | 0x20
      if (!isDigit(byte) && (letter < 0x61 || letter > LOWER_F)) return false
    }
    return true
  }

  #readNumber(start: number): number {
    const { bytes } = this
    const whole = bytes[start] === MINUS ? start + 1 : start
    let at = endOfDigits(bytes, whole)
    if (at === whole) return -1
    if (bytes[whole] === DIGIT_0) {
      if (at > whole + 1) return -1
      if (whole > start) return -1 // Perhaps a negative zero, which loses its sign.
    }
    if (bytes[at] === DOT) {
      const fraction = at + 1
      at = endOfDigits(bytes, fraction)
      if (at === fraction) return -1
    }
    this.form = FORM.number
    if (bytes[at] === LOWER_E || bytes[at] === UPPER_E) {
      const sign = bytes[at + 1]
      const exponent = sign === PLUS || sign === MINUS ? at + 2 : at + 1
      at = endOfDigits(bytes, exponent)
      if (at === exponent) return -1
      this.form = FORM.exactNumber
    }
    if (at - start > NUMBER_BYTES_MAX) this.form = FORM.exactNumber
    return at
  }

  /** An array of scalars. Other arrays go to the exact path. */
  #readArray(start: number): number {
    const { bytes } = this
    let elements = 0
    let isExact = false
    let at = start + 1
    if (isSpace(bytes[at])) {
      elements |= ELEMENT.space
      at = skipSpaceBytes(bytes, at)
    }
    while (bytes[at] !== CLOSE_BRACKET) {
      const byte = bytes[at]
      if (byte === OPEN_BRACKET || byte === LOWER_N) return -1 // A nested array, or null, which is a misfit here.
      at = byte === QUOTE ? this.#readText(at) : this.#readOther(at)
      if (at < 0) return -1
      if (byte === QUOTE) elements |= ELEMENT.text
      else elements |= this.form === FORM.boolean ? ELEMENT.boolean : ELEMENT.number
      if (this.form === FORM.unicodeText || this.form === FORM.exactNumber) isExact = true
      if (isSpace(bytes[at])) {
        elements |= ELEMENT.space
        at = skipSpaceBytes(bytes, at)
      }
      if (bytes[at] === CLOSE_BRACKET) break
      if (bytes[at] !== COMMA) return -1
      at++
      if (isSpace(bytes[at])) {
        elements |= ELEMENT.space
        at = skipSpaceBytes(bytes, at)
      }
      if (bytes[at] === CLOSE_BRACKET) return -1
    }
    this.elements = elements
    this.form = isExact ? FORM.exactArray : FORM.array
    return at + 1
  }
}

export function endOfDigits(bytes: Bytes, start: number): number {
  let at = start
  for (;;) {
    const byte = bytes[at] ?? 0
    if (byte < DIGIT_0 || byte > DIGIT_9) return at
    at++
  }
}

export function skipSpaceBytes(bytes: Bytes, start: number): number {
  let at = start
  while (isSpace(bytes[at])) at++
  return at
}
