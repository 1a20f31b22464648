// Reads the answer of a table operation as it arrives: `{"data":{"tableID":…,"rowIDs":[…]}}`.
//
// The answer of an import of 8 million rows has 200 MB of row IDs. The IDs are counted, not kept.
import {
  BACKSLASH,
  COLON,
  COMMA,
  DIGIT_NINE,
  DIGIT_ZERO,
  OPEN_BRACE,
  QUOTE,
  SPACE,
} from '../base/ascii.js'
import { fromUtf8 } from '../base/bytes.js'

/** Maximum number of bytes that are kept of a string. A table ID is shorter; other strings are only counted. */
const TEXT_BYTES_MAX = 1_024

/** Maximum number of digits of a count. */
const DIGITS_MAX = 15

const OPENING: ReadonlySet<number | undefined> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number | undefined> = new Set([0x5d, 0x7d])

/** Nesting depth of the members of `data`; row IDs are one level deeper. */
const MEMBER_DEPTH = 2

export class AnswerReader {
  tableId: string | undefined
  rowCount = 0
  /** The numeric members of `data`, by name: the counts of a merge. */
  readonly counts = new Map<string, number>()
  #depth = 0
  /** The first byte that is not white space. */
  #first: number | undefined
  #hasMembers = false
  #hasRowIds = false
  #inString = false
  #isEscaped = false
  /** The JSON bytes, without quotes, of the last string at the depth of members. */
  #text: number[] = []
  #key = ''
  #digits = ''

  /** Whether a complete answer was read. An answer without data is `{}`. */
  get isWhole(): boolean {
    const isObject = this.#first === OPEN_BRACE && this.#depth === 0
    return isObject && (this.#hasRowIds || !this.#hasMembers)
  }

  read(piece: Uint8Array): void {
    this.#first ??= piece.find((byte) => byte > SPACE)
    for (const byte of piece) {
      if (this.#inString) this.#readString(byte)
      else if (byte === QUOTE) this.#beginString()
      else if (OPENING.has(byte)) this.#depth++
      else if (CLOSING.has(byte)) this.#close()
      else if (byte === COLON && this.#depth === MEMBER_DEPTH) this.#beginMember()
      else if (byte === COMMA && this.#depth === MEMBER_DEPTH) this.#endMember()
      else if (this.#depth === MEMBER_DEPTH) this.#readDigit(byte)
    }
  }

  #close(): void {
    if (this.#depth === MEMBER_DEPTH) this.#endMember()
    this.#depth--
  }

  #beginMember(): void {
    this.#key = this.#textSoFar()
    this.#hasRowIds ||= this.#key === 'rowIDs'
  }

  #endMember(): void {
    if (this.#digits !== '') this.counts.set(this.#key, Number(this.#digits))
    this.#digits = ''
    this.#key = ''
  }

  #readDigit(byte: number): void {
    const isDigit = byte >= DIGIT_ZERO && byte <= DIGIT_NINE
    if (isDigit && this.#digits.length < DIGITS_MAX) this.#digits += String.fromCharCode(byte)
  }

  #beginString(): void {
    this.#inString = true
    this.#hasMembers = true
    this.#text = []
  }

  #readString(byte: number): void {
    const isEnd = byte === QUOTE && !this.#isEscaped
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
    if (isEnd) this.#endString()
    else if (this.#depth === MEMBER_DEPTH && this.#text.length < TEXT_BYTES_MAX) {
      this.#text.push(byte)
    }
  }

  #endString(): void {
    this.#inString = false
    if (this.#depth === MEMBER_DEPTH && this.#key === 'tableID') this.tableId = this.#textSoFar()
    else if (this.#depth > MEMBER_DEPTH && this.#key === 'rowIDs') this.rowCount++
  }

  #textSoFar(): string {
    return fromUtf8(Uint8Array.from(this.#text))
  }
}
