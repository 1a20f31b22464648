// Adds the CSV and TSV cells found by the byte scanner to a column summary.
//
// Invariant: the summary equals that of `summarizeText` for the same text. The caller passes all other cells to
// `summarizeText`.
import {
  CLOSE_BRACKET,
  COMMA,
  DOT,
  LOWER_E,
  LOWER_F,
  LOWER_T,
  MINUS,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from '../base/ascii.js'
import type { Bytes } from '../base/bytes.js'
import { ByteRules } from './byte-rules.js'
import { KIND_BIT } from './column-kind.js'
import { type ColumnSummary, SEEN } from './column-summary.js'
import { ELEMENT, endOfDigits, FORM, JsonByteValues } from './json-byte-values.js'
import { MARK } from './scan-csv-bytes.js'
import { narrowByElements } from './summarize-bytes.js'
import { PLAIN_TEXT_KINDS, RULED_TEXT_KINDS } from './value-rules.js'

/** The result for a cell. */
export const CELL_OUTCOME = Object.freeze({
  /** Nothing was added: `summarizeText` needs the text. */
  unsure: 0,
  /** The cell was added; its column must be stored as text. */
  text: 1,
  /** The cell was added; it may be stored as its own token. */
  token: 2,
})

/** The kinds that a number token may fit. The rules of all other kinds reject it. */
const NUMBER_FIELD_KINDS =
  PLAIN_TEXT_KINDS | KIND_BIT.number | KIND_BIT.duration | KIND_BIT.phoneNumber

const BOOLEAN_FIELD_KINDS = PLAIN_TEXT_KINDS | KIND_BIT.boolean

/** The maximum length of a number that is certainly finite as a double. */
const NUMBER_BYTES_MAX = 300

/** The maximum length of an array that is read here; longer arrays take the exact path. */
const ARRAY_BYTES_MAX = 4096

const LONGEST_EXACT_DIGITS = 15
const PHONE_DIGITS_MIN = 3
const PHONE_DIGITS_MAX = 20

const DIGIT_0 = 0x30

/** Judges the cells of one body. */
export class FieldSummarizer {
  readonly #bytes: Bytes
  readonly #rules: ByteRules
  /** The unquoted bytes of a cell that spells an array. */
  readonly #array = new Uint8Array(ARRAY_BYTES_MAX)
  readonly #arrayValues = new JsonByteValues(this.#array)

  constructor(bytes: Bytes) {
    this.#bytes = bytes
    this.#rules = new ByteRules(bytes)
  }

  /** Adds a nonempty cell to a summary. @returns a CELL_OUTCOME */
  summarize(summary: ColumnSummary, from: number, to: number, mark: number): number {
    if ((mark & MARK.text) === 0) {
      if (mark & MARK.exponent) return CELL_OUTCOME.unsure
      const judged = this.#summarizeNumber(summary, from, to)
      if (judged !== NOT_A_NUMBER) return judged
    } else if (to - from === 4 || to - from === 5) {
      const spelled = booleanAt(this.#bytes, from, to)
      if (spelled !== NOT_A_BOOLEAN) return judgeBoolean(summary, spelled)
    }
    return this.#summarizeText(summary, from, to, mark)
  }

  #summarizeNumber(summary: ColumnSummary, from: number, to: number): number {
    const bytes = this.#bytes
    const isNegative = bytes[from] === MINUS
    const whole = isNegative ? from + 1 : from
    let at = endOfDigits(bytes, whole)
    if (at === whole || (bytes[whole] === DIGIT_0 && at > whole + 1)) return NOT_A_NUMBER
    let digits = at - whole
    let isLongInteger = digits > LONGEST_EXACT_DIGITS
    if (at < to && bytes[at] === DOT) {
      isLongInteger = false
      const fraction = at + 1
      at = endOfDigits(bytes, fraction)
      if (at === fraction) return NOT_A_NUMBER
      digits += at - fraction
    }
    if (at !== to) return NOT_A_NUMBER
    const mask = summary.scalarMask
    if (to - from > NUMBER_BYTES_MAX || mask & ~NUMBER_FIELD_KINDS) return CELL_OUTCOME.unsure
    if (digits < PHONE_DIGITS_MIN || digits > PHONE_DIGITS_MAX) {
      summary.scalarMask = mask & ~KIND_BIT.phoneNumber
    }
    summary.seen |= SEEN.fromText | SEEN.number
    summary.elementMask = 0
    if (isLongInteger) summary.seen |= SEEN.longInteger
    const isMinusZero = isNegative && bytes[whole] === DIGIT_0 && isZero(bytes, whole, to)
    return isMinusZero ? CELL_OUTCOME.text : CELL_OUTCOME.token // A negative zero would lose its sign.
  }

  /** Judges text that is neither a number token nor a boolean. */
  #summarizeText(summary: ColumnSummary, from: number, to: number, mark: number): number {
    const bytes = this.#bytes
    const kinds = summary.scalarMask
    const first = bytes[from] ?? 0
    if (kinds & KIND_BIT.number && (first === SPACE || bytes[to - 1] === SPACE)) {
      return CELL_OUTCOME.unsure // Spaces may surround a number.
    }
    let elementMask = 0
    if (summary.elementMask !== 0) {
      if (first <= SPACE) return CELL_OUTCOME.unsure // White space may precede an array.
      if (first === OPEN_BRACKET) {
        const areTexts = (mark & MARK.escape) === 0 && isTextArray(bytes, from, to)
        const mask = areTexts
          ? narrowByElements(summary.elementMask, ELEMENT.text)
          : this.#elementMaskOf(summary.elementMask, from, to)
        if (mask === undefined) return CELL_OUTCOME.unsure
        elementMask = mask
      }
    }
    const ruled = kinds & RULED_TEXT_KINDS
    if (ruled !== 0) {
      if (mark & (MARK.wide | MARK.escape | MARK.quote)) return CELL_OUTCOME.unsure
      if (this.#rules.endOf(from, to, ruled) !== to) return CELL_OUTCOME.unsure
    }
    summary.scalarMask = kinds & (PLAIN_TEXT_KINDS | ruled)
    summary.elementMask = elementMask
    summary.seen |= SEEN.fromText | SEEN.text
    return CELL_OUTCOME.text
  }

  /** The kinds among `candidates` that fit the array spelled by a cell; undefined: unsure. */
  #elementMaskOf(candidates: number, from: number, to: number): number | undefined {
    if (to - from > ARRAY_BYTES_MAX) return undefined
    const bytes = this.#bytes
    let length = 0
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0
      this.#array[length++] = byte
      if (byte === QUOTE) at++ // A doubled quote.
    }
    // Bytes after this cell belong to other cells, so a value that ends there is not this cell's array.
    if (this.#arrayValues.read(0) !== length) return undefined
    if (this.#arrayValues.form !== FORM.array) return undefined
    return narrowByElements(candidates, this.#arrayValues.elements)
  }
}

/** Whether a cell without escapes, with all quotes doubled, spells an array of texts only. */
function isTextArray(bytes: Bytes, from: number, to: number): boolean {
  for (let at = from + 1; bytes[at] === QUOTE; at++) {
    at += 2
    while (at < to && bytes[at] !== QUOTE) at++
    at += 2
    if (at >= to || bytes[at] !== COMMA) return at === to - 1 && bytes[at] === CLOSE_BRACKET
  }
  return false
}

const NOT_A_NUMBER = -1

/** Whether a number token without an exponent has only zeros. */
function isZero(bytes: Bytes, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((bytes[at] ?? 0) > DIGIT_0) return false
  return true
}

const NOT_A_BOOLEAN = 0
const ANY_CASE = 1
const LOWER_CASE = 2

/** Whether a text of 4 or 5 bytes is true or false, and its spelling. */
function booleanAt(bytes: Bytes, from: number, to: number): number {
  const first = (bytes[from] ?? 0) | SPACE
  if (first !== LOWER_T && first !== LOWER_F) return NOT_A_BOOLEAN
  const word = first === LOWER_T ? TRUE : FALSE
  if (to - from !== word.length) return NOT_A_BOOLEAN
  let isLower = true
  for (let i = 0; i < word.length; i++) {
    const byte = bytes[from + i] ?? 0
    if (byte === word[i]) continue
    if ((byte | SPACE) !== word[i]) return NOT_A_BOOLEAN
    isLower = false
  }
  return isLower ? LOWER_CASE : ANY_CASE
}

const TRUE = Uint8Array.of(LOWER_T, 0x72, 0x75, LOWER_E)
const FALSE = Uint8Array.of(LOWER_F, 0x61, 0x6c, 0x73, LOWER_E)

function judgeBoolean(summary: ColumnSummary, spelled: number): number {
  if (summary.scalarMask & ~BOOLEAN_FIELD_KINDS) return CELL_OUTCOME.unsure
  summary.seen |= SEEN.fromText | SEEN.boolean
  summary.elementMask = 0
  return spelled === LOWER_CASE ? CELL_OUTCOME.token : CELL_OUTCOME.text
}
