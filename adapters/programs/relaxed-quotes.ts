// CSV as spreadsheets write it: a quote inside a field that does not begin with one is text. The contract refuses it, so
// such fields are written anew before they are sent.
//
// Invariants:
// - A record is cut where the record that is sent ends: a quote opens a field only at its beginning.
// - What is written anew reads as the same fields. Text behind a closing quote stays as it is, and is refused.
import { CARRIAGE_RETURN, LINE_FEED, QUOTE } from '../base/ascii.js'
import { type RecordScanner, SourceFault } from '../base/records.js'

/** Where in a field the next byte is. */
type Place = 'start' | 'plain' | 'quoted' | 'afterQuote'

/** Cuts records as the scanner of well-formed CSV does, empty lines included, but for quotes inside of fields. */
export class RelaxedScanner implements RecordScanner {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly namingStarts: number[] = []
  scanned = 0
  readonly #delimiter: number
  #place: Place = 'start'
  /** Whether the open record has more than empty lines. */
  #hasContent = false
  /** The last byte was a CR that ended the record's last line, so that a LF may belong to it. */
  #afterReturn = false

  constructor(delimiter: number) {
    this.#delimiter = delimiter
  }

  scan(piece: Uint8Array): void {
    const base = this.scanned
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i] ?? 0
      if (this.#afterReturn) {
        this.#afterReturn = false
        this.#endRecord(base + i + (byte === LINE_FEED ? 1 : 0))
        if (byte === LINE_FEED) continue
      }
      if (this.starts.length === this.ends.length) this.starts.push(base + i)
      if (this.#place === 'quoted') {
        if (byte === QUOTE) this.#place = 'afterQuote'
      } else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        this.#place = 'start'
        if (!this.#hasContent) continue
        if (byte === CARRIAGE_RETURN) this.#afterReturn = true
        else this.#endRecord(base + i + 1)
      } else {
        this.#hasContent = true
        this.#place = this.#after(byte)
      }
    }
    this.scanned = base + piece.length
  }

  #after(byte: number): Place {
    if (byte === this.#delimiter) return 'start'
    const opens = byte === QUOTE && this.#place !== 'plain' // A quote after a closing one is a doubled one.
    return opens ? 'quoted' : 'plain'
  }

  finish(): void {
    if (this.#place === 'quoted') {
      throw new SourceFault('the file ends inside a quoted field of this record', {
        offset: this.starts.at(-1) ?? 0,
      })
    }
    if (this.starts.length > this.ends.length) this.#endRecord(this.scanned)
  }

  #endRecord(offset: number): void {
    this.ends.push(offset)
    this.#hasContent = false
    this.#place = 'start'
  }
}

/** What a fault of quotes is told with, where the option was not given. */
export const RELAXED_HINT =
  '; if quotes inside fields are text, as spreadsheets write them, use --quotes relaxed'

/** Whether a message is about quotes that `--quotes relaxed` would take as text. */
export function isQuoteProblem(message: string): boolean {
  return /A quote in a field that does not begin with one|quote (that )?is not closed|inside a quoted field/i.test(
    message,
  )
}
