// Reads the cells of a row's text (FORMAT.md, section 5) from its bytes, in order, without decoding them.
//
// Keys are compared as bytes, because `renderKey` always writes them in the same way. Most rows repeat the keys of
// earlier rows in the same order, so each key is first compared with the keys expected next.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../base/ascii.js'
import { type Bytes, NO_BYTES, startsWith } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'

/** Number of expected keys compared before all keys are searched. */
const EXPECTED_KEYS = 4

/** The maximum number of cached keys. Tables have fewer columns, but rows may be stored under several schemas. */
const KNOWN_KEYS_MAX = 4_096

/** Repeats a byte four times, to compare four bytes at once. */
const ONES = 0x01010101
const WORD_BYTES = 4
const QUOTES = QUOTE * ONES
const BACKSLASHES = BACKSLASH * ONES
const HIGH_BITS = (0x80 * ONES) | 0

/** @returns a word with the high bit of the first quote or backslash; high bits of later bytes mean nothing. */
function specialBytes(word: number): number {
  return (((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES)) & ~word & HIGH_BITS
}

/** The bytes of a key in rows, with its colon, and the column of the key. */
type KnownKey<Column> = Readonly<{ bytes: Bytes; column: Column }>

/** Reads cells; the fields describe the last one. */
export class CellReader<Column> {
  /** The beginning of the cell and of its value, and the end of both. */
  start = 0
  from = 0
  to = 0
  /** Whether the value has a backslash. */
  isEscaped = false

  readonly #columnOf: (key: string) => Column
  #keys: KnownKey<Column>[] = []
  #indexOfKey = new Map<string, number>()
  #nextKey = 0
  #bytes: Bytes = NO_BYTES
  #view: DataView = new DataView(new ArrayBuffer(0))

  /** @param columnOf - Returns the column of a key, see `cellKey`. Called once per key, or again after many keys. */
  constructor(columnOf: (key: string) => Column) {
    this.#columnOf = columnOf
  }

  /** Begins a row. */
  begin(): void {
    this.#nextKey = 0
  }

  /**
   * Reads the cell at a place of a row that ends at `limit`. @returns the column of its key.
   * @throws {StoreError} DATA_CORRUPT if the text does not follow the grammar.
   */
  read(bytes: Bytes, at: number, limit: number): Column {
    const key = this.#passKey(bytes, at, limit)
    this.readValue(bytes, at, at + key.bytes.length, limit)
    return key.column
  }

  /** Reads the cell whose value begins at `from`, in a row that ends at `limit`. @throws as `read` */
  readValue(bytes: Bytes, start: number, from: number, limit: number): void {
    this.isEscaped = false
    const end = this.#endOfValue(bytes, from, limit)
    if (end <= from || end > limit || end === limit - 1) throw damagedRow()
    if (end < limit && bytes[end] !== COMMA) throw damagedRow()
    this.start = start
    this.from = from
    this.to = end
  }

  #passKey(bytes: Bytes, at: number, limit: number): KnownKey<Column> {
    const keys = this.#keys
    const last = Math.min(keys.length, this.#nextKey + EXPECTED_KEYS)
    for (let index = this.#nextKey; index < last; index++) {
      const key = keys[index]
      if (key === undefined || !startsWith(bytes, at, limit, key.bytes)) continue
      this.#nextKey = index + 1
      return key
    }
    return this.#searchKey(bytes, at, limit)
  }

  #searchKey(bytes: Bytes, at: number, limit: number): KnownKey<Column> {
    if (bytes[at] !== QUOTE) throw damagedRow()
    const end = this.#endOfString(bytes, at, limit)
    if (end >= limit || bytes[end] !== COLON) throw damagedRow()
    const text = byteText(bytes.subarray(at, end + 1))
    const index = this.#indexOfKey.get(text)
    const known = index === undefined ? undefined : this.#keys[index]
    if (known !== undefined && index !== undefined) {
      this.#nextKey = index + 1
      return known
    }
    if (this.#keys.length >= KNOWN_KEYS_MAX) {
      this.#keys = []
      this.#indexOfKey = new Map()
    }
    const key = { bytes: bytes.slice(at, end + 1), column: this.#columnOf(text) }
    this.#indexOfKey.set(text, this.#keys.length)
    this.#nextKey = this.#keys.push(key)
    return key
  }

  #endOfValue(bytes: Bytes, at: number, limit: number): number {
    const first = bytes[at]
    if (first === QUOTE) return this.#endOfString(bytes, at, limit)
    if (first === OPEN_BRACKET || first === OPEN_BRACE)
      return this.#endOfContainer(bytes, at, limit)
    let end = at
    while (end < limit && bytes[end] !== COMMA) end++
    return end
  }

  /** The end of a string; beyond `limit`, if the string has no end. */
  #endOfString(bytes: Bytes, start: number, limit: number): number {
    const view = this.#viewOf(bytes)
    const last = limit - WORD_BYTES
    let at = start + 1
    while (at < limit) {
      if (at <= last) {
        const special = specialBytes(view.getInt32(at, true))
        if (special === 0) {
          at += WORD_BYTES
          continue
        }
        at += (31 - Math.clz32(special & -special)) >> 3
      }
      const byte = bytes[at]
      if (byte === QUOTE) return at + 1
      if (byte === BACKSLASH) {
        this.isEscaped = true
        at++
      }
      at++
    }
    return limit + 1
  }

  #viewOf(bytes: Bytes): DataView {
    if (this.#bytes !== bytes) {
      this.#bytes = bytes
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    }
    return this.#view
  }

  #endOfContainer(bytes: Bytes, start: number, limit: number): number {
    let level = 0
    for (let at = start; at < limit; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) at = this.#endOfString(bytes, at, limit) - 1
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) level++
      else if ((byte === CLOSE_BRACKET || byte === CLOSE_BRACE) && --level === 0) return at + 1
    }
    return limit + 1
  }
}

/**
 * Calls a function for each element of an array's token, until the function returns true. The function gets the bounds
 * of the element, and whether the element has a backslash.
 * @returns whether the function returned true.
 */
export function someElement(
  bytes: Bytes,
  from: number,
  to: number,
  visit: (from: number, to: number, isEscaped: boolean) => boolean,
): boolean {
  const limit = to - 1
  for (let at = from + 1; at < limit; ) {
    let end = at
    let isEscaped = false
    if (bytes[at] === QUOTE) {
      for (end = at + 1; end < limit && bytes[end] !== QUOTE; end++) {
        if (bytes[end] !== BACKSLASH) continue
        isEscaped = true
        end++
      }
      end++
    } else {
      while (end < limit && bytes[end] !== COMMA) end++
    }
    if (visit(at, end, isEscaped)) return true
    at = end + 1
  }
  return false
}

function damagedRow(): StoreError {
  return new StoreError('DATA_CORRUPT', 'The text of a row is damaged')
}
