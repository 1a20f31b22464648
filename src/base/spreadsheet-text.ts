// Adapts csv and tsv for spreadsheets: adds the mark by which they recognize UTF-8, and escapes formulas.
import { CARRIAGE_RETURN, LINE_FEED, QUOTE, TAB } from './ascii.js'
import { type Bytes, fromUtf8, utf8 } from './bytes.js'
import { yieldToEventLoop } from './platform.js'

const APOSTROPHE = 0x27

/** The bytes that begin a formula: = + - @, tab and carriage return. */
const FORMULA_STARTS: ReadonlySet<number> = new Set([0x3d, 0x2b, 0x2d, 0x40, TAB, CARRIAGE_RETURN])

/** The bytes of numbers, which are not formulas. */
const NUMBER_BYTES: ReadonlySet<number> = new Set(utf8('0123456789.+-eE'))
const NUMBER = /^[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/

/** Number of bytes to escape before other work has a turn. */
const SLICE_BYTES = 64 * 1024

/** A text with a leading byte order mark. */
export async function* markText<Piece>(rows: AsyncIterable<Piece>): AsyncGenerator<Piece | Bytes> {
  yield utf8('\ufeff')
  yield* rows
}

/**
 * Puts an apostrophe before each field that a spreadsheet would take for a formula, except numbers.
 * @param rows - CSV as in RFC 4180, or the same with tabs.
 */
export async function* escapeFormulas(
  rows: AsyncIterable<string | Bytes>,
  delimiter: number,
): AsyncGenerator<Bytes> {
  const fields = new FieldBeginnings(delimiter)
  for await (const piece of rows) {
    const bytes = typeof piece === 'string' ? utf8(piece) : piece
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      yield fields.escape(bytes.subarray(at, at + SLICE_BYTES))
      if (at > 0) await yieldToEventLoop()
    }
  }
  yield fields.end()
}

class FieldBeginnings {
  readonly #delimiter: number
  #isAtStart = true
  #isQuoted = false
  /** The bytes of a field that may still be a number. */
  #held: number[] = []

  constructor(delimiter: number) {
    this.#delimiter = delimiter
  }

  escape(bytes: Bytes): Bytes {
    const written: number[] = []
    for (const byte of bytes) this.#take(byte, written)
    return Uint8Array.from(written)
  }

  end(): Bytes {
    const written: number[] = []
    this.#release(written)
    return Uint8Array.from(written)
  }

  #take(byte: number, written: number[]): void {
    const ends = byte === this.#delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN
    if (this.#held.length > 0) {
      if (!ends && NUMBER_BYTES.has(byte)) {
        this.#held.push(byte)
        return
      }
      if (ends) this.#release(written)
      else {
        written.push(APOSTROPHE)
        this.#pushHeld(written)
      }
    }
    if (this.#isAtStart && byte === QUOTE && !this.#isQuoted) {
      this.#isQuoted = true
      written.push(byte)
      return
    }
    const isFirst = this.#isAtStart
    this.#isAtStart = false
    if (isFirst && (this.#isQuoted || !ends) && FORMULA_STARTS.has(byte)) {
      if (!this.#isQuoted && NUMBER_BYTES.has(byte)) {
        this.#held.push(byte)
        return
      }
      written.push(APOSTROPHE)
    }
    written.push(byte)
    if (byte === QUOTE) this.#isQuoted = !this.#isQuoted
    if (ends && !this.#isQuoted) this.#isAtStart = true
  }

  #release(written: number[]): void {
    const text = fromUtf8(Uint8Array.from(this.#held))
    if (text !== '' && !NUMBER.test(text)) written.push(APOSTROPHE)
    this.#pushHeld(written)
  }

  #pushHeld(written: number[]): void {
    for (const byte of this.#held) written.push(byte)
    this.#held = []
  }
}
