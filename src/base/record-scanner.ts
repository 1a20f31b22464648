// Finds the bounds of rows in the bytes of a source.
//
// Invariants:
// - A scanner only finds bounds; the server validates rows. It never cuts within a row of a valid file, and in an
//   invalid file, the run with the fault is invalid too.
// - The bounds do not depend on how the bytes are divided into pieces.
import {
  BACKSLASH,
  CARRIAGE_RETURN,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  LINE_FEED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from './ascii.js'
import type { SourceFormat } from './source-format.js'

/** The place and the kind of a fault, if known. */
type FaultDetails = Readonly<{
  /** The offset in the source at which the fault shows; absent if it concerns the whole source. */
  offset?: number
  /** The line on which the record begins; only for CSV and TSV. */
  line?: number
  /** Whether the source begins with a JSON object instead of an array, as NDJSON does. */
  isObject?: boolean
  /** Whether the source is blank. */
  isEmpty?: boolean
}>

/** A malformed or truncated source. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault'
  readonly offset: number | undefined
  readonly line: number | undefined
  readonly isObject: boolean
  readonly isEmpty: boolean

  constructor(message: string, { offset, line, isObject, isEmpty }: FaultDetails = {}) {
    super(message)
    this.offset = offset
    this.line = line
    this.isObject = isObject ?? false
    this.isEmpty = isEmpty ?? false
  }
}

export interface RecordScanner {
  /** Offsets of the beginnings of records; one more than `ends` while a record is open. */
  readonly starts: number[]
  /** Offsets of the ends of records. A caller that removes records must do so in both lists. */
  readonly ends: number[]
  /**
   * Starts of the JSON records that are the first to name a column, once per column. Names are identified by hashes,
   * so a start may be missing. A caller that removes records must remove them here too.
   */
  readonly namingStarts: number[]
  /** Number of bytes scanned. */
  readonly scanned: number
  /** Scans the next piece of the source. @throws {SourceFault} if it is malformed. */
  scan(piece: Uint8Array): void
  /** Ends the last record. @throws {SourceFault} if the source is truncated. */
  finish(): void
}

export function openRecordScanner(format: SourceFormat): RecordScanner {
  switch (format) {
    case 'csv':
    case 'tsv':
      return new LineScanner()
    case 'json':
      return new JsonScanner({ isArray: true })
    case 'ndjson':
      return new JsonScanner({ isArray: false })
  }
}

/**
 * Records of CSV and TSV. A line break (CRLF, LF or CR) ends a record if the record has an even number of quotes.
 *
 * An empty line belongs to the next record: within a body it is a row without cells, but at the end of a body it is
 * ignored, so no run may end with one.
 */
class LineScanner implements RecordScanner {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly namingStarts: number[] = []
  scanned = 0
  #isQuoted = false
  /** Whether the open record has more than empty lines. */
  #hasContent = false
  /** Whether the last byte was a CR that ended the record's last line: an LF may follow it. */
  #afterReturn = false
  /** Number of line breaks so far. */
  #lineBreaks = 0
  /** Whether the last byte was a CR: an LF after it is not a second line break. */
  #isAfterReturn = false
  /** The line on which the last record began, including empty lines before it. */
  #line = 1

  scan(piece: Uint8Array): void {
    const base = this.scanned
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i]
      if (this.#afterReturn) {
        this.#afterReturn = false
        this.#endRecord(base + i + (byte === LINE_FEED ? 1 : 0))
        if (byte === LINE_FEED) {
          this.#isAfterReturn = false
          continue
        }
      }
      if (this.starts.length === this.ends.length) this.#beginRecord(base + i)
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.#countLine(byte)
      else this.#isAfterReturn = false
      if (byte === QUOTE) {
        this.#isQuoted = !this.#isQuoted
        this.#hasContent = true
      } else if (this.#isQuoted || (byte !== LINE_FEED && byte !== CARRIAGE_RETURN)) {
        this.#hasContent = true
      } else if (this.#hasContent) {
        if (byte === CARRIAGE_RETURN) this.#afterReturn = true
        else this.#endRecord(base + i + 1)
      }
    }
    this.scanned = base + piece.length
  }

  finish(): void {
    if (this.#isQuoted) {
      const place = { offset: this.starts.at(-1) ?? 0, line: this.#line }
      throw new SourceFault('the file ends inside a quoted field of this record', place)
    }
    if (this.starts.length > this.ends.length) this.#endRecord(this.scanned)
  }

  #beginRecord(offset: number): void {
    this.starts.push(offset)
    this.#line = this.#lineBreaks + 1
  }

  #endRecord(offset: number): void {
    this.ends.push(offset)
    this.#hasContent = false
  }

  #countLine(byte: number): void {
    if (byte === CARRIAGE_RETURN || !this.#isAfterReturn) this.#lineBreaks++
    this.#isAfterReturn = byte === CARRIAGE_RETURN
  }
}

/**
 * JSON values: the elements of an array that is the whole source, each ended by a comma, or consecutive values, each
 * ended by a line break (NDJSON).
 */
class JsonScanner implements RecordScanner {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly namingStarts: number[] = []
  scanned = 0
  readonly #isArray: boolean
  readonly #separator: number
  #phase: 'before' | 'mayFollow' | 'mustFollow' | 'value' | 'done'
  /** Number of open brackets and braces in the value. */
  #depth = 0
  #inString = false
  #isEscaped = false
  /** Whether a string that begins here, at depth 1, is the name of a member of the record. */
  #nameComes = false
  #inName = false
  /** The hash of the name's bytes so far. */
  #hash = 0
  readonly #names = new NameTable()

  constructor({ isArray }: { readonly isArray: boolean }) {
    this.#isArray = isArray
    this.#separator = isArray ? COMMA : LINE_FEED
    this.#phase = isArray ? 'before' : 'mayFollow'
  }

  scan(piece: Uint8Array): void {
    const base = this.scanned
    for (let i = 0; i < piece.length; i++) {
      if (this.#inString) {
        i = this.#inName ? this.#readName(piece, i) : this.#skipString(piece, i)
        continue
      }
      const byte = piece[i] ?? 0
      if (this.#phase === 'value') {
        if (isPlainByte(byte)) {
          i = endOfPlain(piece, i + 1) - 1
          continue
        }
      } else if (!this.#beginValue(byte, base + i)) continue
      if (byte === QUOTE) this.#beginString()
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#depth++
        this.#nameComes = byte === OPEN_BRACE
      } else if (this.#depth > 0) {
        if (byte === COMMA) this.#nameComes = true
        else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--
      } else if (byte === this.#separator) {
        this.#endValue(base + i, this.#isArray ? 'mustFollow' : 'mayFollow')
      } else if (byte === CLOSE_BRACKET && this.#isArray) this.#endValue(base + i, 'done')
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === COMMA) {
        throw unexpected(byte, base + i)
      }
    }
    this.scanned = base + piece.length
  }

  finish(): void {
    if (this.#isArray) {
      if (this.#phase !== 'done') {
        throw new SourceFault('the file ends inside its JSON array', { offset: this.scanned })
      }
    } else if (this.#phase === 'value') {
      if (this.#depth > 0 || this.#inString) {
        throw new SourceFault('the file ends inside this JSON value', {
          offset: this.starts.at(-1) ?? 0,
        })
      }
      this.#endValue(this.scanned, 'mayFollow')
    }
  }

  /** Reads a byte between values; returns true if it begins a value. */
  #beginValue(byte: number, offset: number): boolean {
    if (byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB)
      return false
    if (this.#phase === 'before') {
      if (byte !== OPEN_BRACKET) throw notAnArray(byte, offset)
      this.#phase = 'mayFollow'
      return false
    }
    if (this.#phase === 'mayFollow' && this.#isArray && byte === CLOSE_BRACKET) {
      this.#phase = 'done'
      return false
    }
    const isMark = byte === COMMA || byte === CLOSE_BRACKET || byte === CLOSE_BRACE
    if (isMark || this.#phase === 'done') throw unexpected(byte, offset)
    this.#phase = 'value'
    this.starts.push(offset)
    this.#names.beginRecord()
    return true
  }

  #endValue(offset: number, next: 'mayFollow' | 'mustFollow' | 'done'): void {
    this.ends.push(offset)
    this.#phase = next
  }

  #beginString(): void {
    this.#inString = true
    this.#inName = this.#nameComes && this.#depth === 1
    this.#nameComes = false
  }

  /** Skips a string like #skipString, and hashes it as a name. */
  #readName(piece: Uint8Array, start: number): number {
    const end = this.#skipString(piece, start)
    let hash = this.#hash
    for (let i = start; i < end; i++) hash = (Math.imul(hash, HASH_FACTOR) + (piece[i] ?? 0)) | 0
    this.#hash = hash
    if (!this.#inString) {
      this.#hash = 0
      if (this.#names.isNew(hash)) this.namingStarts.push(this.starts.at(-1) ?? 0)
    }
    return end
  }

  /** Returns the index of the closing quote, or the last index if the string continues. */
  #skipString(piece: Uint8Array, start: number): number {
    let i = this.#isEscaped ? start + 1 : start
    this.#isEscaped = false
    for (; i < piece.length; i++) {
      const byte = piece[i]
      if (byte === QUOTE) {
        this.#inString = false
        return i
      }
      if (byte === BACKSLASH) i++ // An escaped character cannot end the string.
    }
    this.#isEscaped = i > piece.length
    return piece.length
  }
}

/** Whether a byte outside strings never matters to the scan: digits, points, signs and colons, which are most bytes. */
function isPlainByte(byte: number): boolean {
  return byte > QUOTE && byte < OPEN_BRACKET && byte !== COMMA
}

function endOfPlain(piece: Uint8Array, start: number): number {
  let i = start
  while (i < piece.length && isPlainByte(piece[i] ?? 0)) i++
  return i
}

const HASH_FACTOR = 0x01000193

/** The maximum number of names: a table has fewer columns. */
const NAMES_MAX = 4_096

/** The names seen so far, by hash. Most records repeat the names of the previous record in the same order. */
class NameTable {
  readonly #hashes: number[] = []
  readonly #places = new Map<number, number>()
  #next = 0

  beginRecord(): void {
    this.#next = 0
  }

  isNew(hash: number): boolean {
    if (this.#hashes[this.#next] === hash) {
      this.#next++
      return false
    }
    const place = this.#places.get(hash)
    if (place !== undefined) this.#next = place + 1
    else if (this.#hashes.length < NAMES_MAX) {
      this.#places.set(hash, this.#hashes.length)
      this.#hashes.push(hash)
      this.#next = this.#hashes.length
      return true
    }
    return false
  }
}

function unexpected(byte: number, offset: number): SourceFault {
  const shown = JSON.stringify(String.fromCharCode(byte))
  return new SourceFault(`not JSON: unexpected ${shown} at byte ${offset + 1}`, { offset })
}

function notAnArray(byte: number, offset: number): SourceFault {
  return new SourceFault('the file is not a JSON array', { offset, isObject: byte === OPEN_BRACE })
}

/**
 * Counts the line breaks (CRLF, LF and CR), also in quotes.
 * @param isAfterReturn - Whether the byte before is a carriage return: a line feed at the beginning belongs to the same
 *   line break. Default: false.
 */
export function countLineBreaks(bytes: Uint8Array, isAfterReturn = false): number {
  let count = 0
  let before = isAfterReturn
  for (const byte of bytes) {
    if (byte === CARRIAGE_RETURN || (byte === LINE_FEED && !before)) count++
    before = byte === CARRIAGE_RETURN
  }
  return count
}
