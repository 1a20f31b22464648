// Reads one JSON value from bytes: where it ends, and what it is. Nothing is decoded.
//
// Invariant: a value is taken only if it is JSON; a minus zero, which loses its sign, and what may be a
// misfit in an array are left to the exact path.
import type { Bytes } from '../base/bytes.js'

/** What a value is, as far as the scanner looked. */
export const FORM = Object.freeze({
  null: 0,
  emptyText: 1,
  /** ASCII without escapes. */
  text: 2,
  /** Some of it is not ASCII, or stands as an escape that is not `\u`. */
  wideText: 3,
  escapedText: 4,
  /** With `\u` escapes, so perhaps with a lone surrogate. */
  unicodeText: 5,
  /** Without an exponent, of at most NUMBER_BYTES_MAX: finite. */
  number: 6,
  exactNumber: 7,
  boolean: 8,
  /** An array of texts, numbers and booleans that need no closer look; `elements` says which. */
  array: 9,
  /** An array that `judgeToken` has to look at. */
  exactArray: 10,
})

/** Bits of `elements`. */
export const ELEMENT = Object.freeze({ text: 1, number: 2, boolean: 4, space: 8 })

/** Longer numbers may be beyond a double. */
const NUMBER_BYTES_MAX = 300

const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const UPPER_E = 0x45
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const LOWER_E = 0x65
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74
const LETTER_U = 0x75

/** Of a byte inside a string: nothing to do, not ASCII, or something to look at. */
const PLAIN = 0
const WIDE = 1
export const SPECIAL = 2
export const STRING_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return SPECIAL
  return byte < 0x80 ? PLAIN : WIDE
})

/** What may follow a backslash, other than `u`. */
const ESCAPED: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9
}

/** Reads values; `form` and `elements` tell of the last one. */
export class JsonByteValues {
  readonly bytes: Bytes
  form: number = FORM.null
  /** Of an array: bits of ELEMENT. */
  elements = 0

  constructor(bytes: Bytes) {
    this.bytes = bytes
  }

  /** Reads a value and notes its form. @returns where it ends, or -1: unsure. */
  read(at: number): number {
    this.elements = 0
    switch (this.bytes[at]) {
      case QUOTE:
        return this.#readText(at)
      case OPEN_BRACKET:
        return this.#readArray(at)
      case LETTER_T:
        this.form = FORM.boolean
        return this.#readWord(at, 0x72, 0x75, 0x65, 0)
      case LETTER_F:
        this.form = FORM.boolean
        return this.#readWord(at, 0x61, 0x6c, 0x73, 0x65)
      case LETTER_N:
        this.form = FORM.null
        return this.#readWord(at, 0x75, 0x6c, 0x6c, 0)
      default:
        return this.#readNumber(at)
    }
  }

  /** The letters after the first; the last one is 0 when there are three. */
  #readWord(at: number, second: number, third: number, fourth: number, fifth: number): number {
    const { bytes } = this
    if (bytes[at + 1] !== second || bytes[at + 2] !== third || bytes[at + 3] !== fourth) return -1
    if (fifth === 0) return at + 4
    return bytes[at + 4] === fifth ? at + 5 : -1
  }

  #readText(start: number): number {
    const { bytes } = this
    let form: number = FORM.text
    let at = start + 1
    for (;;) {
      const byte = bytes[at] ?? 0
      const what = STRING_BYTE[byte] ?? SPECIAL
      if (what === SPECIAL) {
        if (byte === QUOTE) break
        if (byte !== BACKSLASH) return -1
        const escaped = bytes[at + 1] ?? 0
        if (escaped === LETTER_U) {
          if (!this.#isHex4(at + 2)) return -1
          form = FORM.unicodeText
          at += 6
        } else {
          if (!ESCAPED.has(escaped)) return -1
          if (form < FORM.escapedText) form = FORM.escapedText
          at += 2
        }
      } else {
        if (what === WIDE && form === FORM.text) form = FORM.wideText
        at++
      }
    }
    this.form = at === start + 1 ? FORM.emptyText : form
    return at + 1
  }

  #isHex4(start: number): boolean {
    for (let at = start; at < start + 4; at++) {
      const byte = this.bytes[at] ?? 0
      const letter = byte | 0x20
      if (!isDigit(byte) && (letter < 0x61 || letter > LETTER_F)) return false
    }
    return true
  }

  #readNumber(start: number): number {
    const { bytes } = this
    let at = start
    if (bytes[at] === MINUS) at++
    const whole = at
    while (isDigit(bytes[at])) at++
    if (at === whole) return -1
    const isZero = bytes[whole] === DIGIT_0
    if (isZero && at > whole + 1) return -1
    if (isZero && whole > start) return -1 // Perhaps a minus zero, which loses its sign.
    this.form = FORM.number
    if (bytes[at] === DOT) {
      const fraction = ++at
      while (isDigit(bytes[at])) at++
      if (at === fraction) return -1
    }
    if (bytes[at] === LOWER_E || bytes[at] === UPPER_E) {
      at++
      if (bytes[at] === PLUS || bytes[at] === MINUS) at++
      const exponent = at
      while (isDigit(bytes[at])) at++
      if (at === exponent) return -1
      this.form = FORM.exactNumber
    }
    if (at - start > NUMBER_BYTES_MAX) this.form = FORM.exactNumber
    return at
  }

  /** An array of scalars. Anything else in it is for the exact path. */
  #readArray(start: number): number {
    const { bytes } = this
    let elements = 0
    let isExact = false
    let at = start + 1
    const passSpace = (): void => {
      if (!isSpace(bytes[at])) return
      elements |= ELEMENT.space
      at = skipSpace(bytes, at)
    }
    passSpace()
    if (bytes[at] !== CLOSE_BRACKET) {
      for (;;) {
        const byte = bytes[at]
        if (byte === OPEN_BRACKET || byte === LETTER_N) return -1 // A misfit, or deeper.
        const end = this.read(at)
        if (end < 0) return -1
        if (byte === QUOTE) elements |= ELEMENT.text
        else elements |= this.form === FORM.boolean ? ELEMENT.boolean : ELEMENT.number
        if (this.form === FORM.unicodeText || this.form === FORM.exactNumber) isExact = true
        at = end
        passSpace()
        if (bytes[at] === CLOSE_BRACKET) break
        if (bytes[at] !== COMMA) return -1
        at++
        passSpace()
      }
    }
    this.elements = elements
    this.form = isExact ? FORM.exactArray : FORM.array
    return at + 1
  }
}

export function skipSpace(bytes: Bytes, start: number): number {
  let at = start
  while (isSpace(bytes[at])) at++
  return at
}
