// Finds where the rows of a source begin and end, from its bytes alone.
//
// Invariants:
// - A scanner only finds bounds; the server validates rows. It never cuts inside a row of a valid file, and a run of an
//   invalid file is invalid where the file is.
// - The bounds do not depend on the pieces in which the bytes come.
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

/** The place and the kind of a fault, as far as they are known. */
type FaultDetails = Readonly<{
  /** The byte of the source at which it shows; none if it is the whole source. */
  offset?: number
  /** The line on which the record begins; only of CSV and TSV. */
  line?: number
  /** The source begins with a JSON object where an array is expected, as NDJSON does. */
  isObject?: boolean
  /** The source has nothing but blanks. */
  isEmpty?: boolean
}>

/** A source that is not of its format, or breaks off. */
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
  /** Offsets at which records begin; one more than `ends` while a record is open. */
  readonly starts: number[]
  /** Offsets at which records end. Whoever takes records away takes them from both lists. */
  readonly ends: number[]
  /**
   * Starts of the JSON records that name a column as the first ones, once for each such column. Names are known
   * by their hashes, so one may be missing. Whoever takes records away takes them from here, too.
   */
  readonly namingStarts: number[]
  /** Bytes seen so far. */
  readonly scanned: number
  /** @throws {SourceFault} */
  scan(piece: Uint8Array): void
  /** Closes the last record. @throws {SourceFault} if the source breaks off. */
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
 * Records of CSV and TSV: a line break (CRLF, LF or CR) with an even number of quotes before it ends one.
 *
 * An empty line belongs to the record that follows it: within a body it is a row without cells, but
 * as the last line of one it is nothing, and no cut may turn the former into the latter.
 */
class LineScanner implements RecordScanner {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly namingStarts: number[] = []
  scanned = 0
  #isQuoted = false
  /** Whether the open record has more than empty lines. */
  #hasContent = false
  /** Whether the last byte was a CR that ended the record's last line, so that a LF may belong to it. */
  #afterReturn = false
  /** Line breaks so far. */
  #lineBreaks = 0
  /** The last byte was a CR: a LF after it is no other line break. */
  #isAfterReturn = false
  /** The line on which the last record began, empty lines before it included. */
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
 * Values of JSON: the elements of the array that is the whole source, each ended by a comma, or values
 * one after the other, each ended by a line break (NDJSON).
 */
class JsonScanner implements RecordScanner {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly namingStarts: number[] = []
  scanned = 0
  readonly #isArray: boolean
  readonly #separator: number
  #phase: 'before' | 'mayFollow' | 'mustFollow' | 'value' | 'done'
  /** Brackets and braces that are open in the value. */
  #depth = 0
  #inString = false
  #isEscaped = false
  /** A string here is a name, if it is of the record itself. */
  #nameComes = false
  #inName = false
  /** The hash of the bytes of the name so far. */
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

  /** Takes a byte between values; true when it is the first one of a value. */
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

  /** As #skipString, of a name. */
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

  /** Returns the index of the closing quote, or the last index when the string goes on. */
  #skipString(piece: Uint8Array, start: number): number {
    let i = this.#isEscaped ? start + 1 : start
    this.#isEscaped = false
    for (; i < piece.length; i++) {
      const byte = piece[i]
      if (byte === QUOTE) {
        this.#inString = false
        return i
      }
      if (byte === BACKSLASH) i++ // What follows is no end, whatever it is.
    }
    this.#isEscaped = i > piece.length
    return piece.length
  }
}

/** Digits, points, signs and colons: most of what is in no string, and nothing that a scanner looks for. */
function isPlainByte(byte: number): boolean {
  return byte > QUOTE && byte < OPEN_BRACKET && byte !== COMMA
}

function endOfPlain(piece: Uint8Array, start: number): number {
  let i = start
  while (i < piece.length && isPlainByte(piece[i] ?? 0)) i++
  return i
}

const HASH_FACTOR = 0x01000193

/** A table has fewer columns. */
const NAMES_MAX = 4_096

/** The names that were seen, by their hashes. Records mostly repeat the names of the one before, in order. */
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
 * CRLF, LF and CR are line breaks, in quotes too.
 * @param isAfterReturn - Whether a carriage return is in front, with which a line feed is one line break. Default: false.
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
