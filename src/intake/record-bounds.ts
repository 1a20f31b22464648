// Finds the records of CSV in a dialect whose quotes or comments differ from RFC 4180.
import { BACKSLASH, CARRIAGE_RETURN, LINE_FEED, SPACE, TAB } from '../base/ascii.js'
import { openRecordScanner, type RecordScanner, SourceFault } from '../base/record-scanner.js'
import { areStandard, type Marks } from './fields.js'

/** Opens a scanner of records; for standard marks, the scanner of plain CSV. */
export function openDialectScanner(marks: Marks, comment: string | undefined): RecordScanner {
  const isStandard = areStandard(marks) && comment === undefined
  return isStandard ? openRecordScanner('csv') : new DialectScanner(marks, comment)
}

/** The state before the next byte. */
type Place = 'start' | 'plain' | 'quoted' | 'afterQuote' | 'comment'

/** Divides records like the scanner of plain CSV: an empty line belongs to the next record. A comment is a record. */
class DialectScanner implements RecordScanner {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly namingStarts: number[] = []
  scanned = 0
  readonly #delimiter: number
  readonly #quote: number
  readonly #comment: number | undefined
  readonly #marks: Marks
  #place: Place = 'start'
  #isEscaped = false
  /** Whether the open record has more than empty lines. */
  #hasContent = false
  /** Whether the last byte was a CR that ended the record's last line: an LF may follow it. */
  #afterReturn = false

  constructor(marks: Marks, comment: string | undefined) {
    this.#marks = marks
    this.#delimiter = marks.delimiter.charCodeAt(0)
    this.#quote = marks.quote.charCodeAt(0)
    this.#comment = comment?.charCodeAt(0)
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
      const isBreak = byte === LINE_FEED || byte === CARRIAGE_RETURN
      if (isBreak && this.#place !== 'quoted' && !this.#isEscaped) {
        this.#place = 'start'
        if (!this.#hasContent) continue
        if (byte === CARRIAGE_RETURN) this.#afterReturn = true
        else this.#endRecord(base + i + 1)
      } else {
        this.#place = this.#after(byte)
        this.#hasContent = true
      }
    }
    this.scanned = base + piece.length
  }

  #after(byte: number): Place {
    const place = this.#place
    if (place === 'comment') return place
    if (!this.#hasContent && byte === this.#comment) return 'comment'
    if (this.#isEscaped) {
      this.#isEscaped = false
      return place === 'start' ? 'plain' : place
    }
    if (byte === BACKSLASH && this.#marks.hasBackslashes) this.#isEscaped = true
    else if (place === 'quoted') return byte === this.#quote ? 'afterQuote' : place
    if (place === 'quoted') return place
    if (byte === this.#delimiter) return 'start'
    if (byte === this.#quote && (place !== 'plain' || !this.#marks.isRelaxed)) {
      return place === 'plain' && this.#marks.isTrimmed ? place : 'quoted'
    }
    const isBlank = this.#marks.isTrimmed && (byte === SPACE || byte === TAB)
    return isBlank && place === 'start' ? place : 'plain'
  }

  finish(): void {
    if (this.#place === 'quoted') {
      const offset = this.starts.at(-1) ?? 0
      throw new SourceFault('the file ends inside a quoted field of this record', { offset })
    }
    if (this.starts.length > this.ends.length) this.#endRecord(this.scanned)
  }

  #endRecord(offset: number): void {
    this.ends.push(offset)
    this.#hasContent = false
    this.#place = 'start'
  }
}
