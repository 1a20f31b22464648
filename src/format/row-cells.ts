// Finds cells of a row's text (FORMAT.md, section 5) in its bytes, without decoding them: the bounds of the values of
// some columns, in one pass that ends with the last of them.
//
// Keys are compared as bytes, because a key is always written as `renderKey` writes it. Rows mostly have the keys of the
// rows before, in the same order, so each key is first compared to the ones that are expected next.
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
import { type Bytes, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'
import { renderKey } from './row-text.js'

/** A key that rows have, with its colon. */
type KnownKey = Readonly<{ bytes: Bytes; column: number }>

const OTHER_COLUMN = -1

/** Keys that follow the last one and are compared before all keys are searched. */
const EXPECTED_KEYS = 4

/** Keys that are remembered. Tables have fewer columns, but rows may have been stored under several schemas. */
const KNOWN_KEYS_MAX = 4_096

/** Reads rows; the fields are those of the last one. */
export class RowCells {
  /** By column: where its cell begins, its value begins, and both end. An end of 0: the cell is empty. */
  readonly start: Int32Array
  readonly from: Int32Array
  readonly to: Int32Array
  /** By column: whether its value has a backslash. */
  readonly isEscaped: Uint8Array
  /** The columns in the order of the row. */
  readonly order: Int32Array
  /** How many of the columns the row has. */
  count = 0

  readonly #columnCount: number
  readonly #columnOfKey = new Map<string, number>()
  #keys: KnownKey[] = []
  #indexOfKey = new Map<string, number>()
  #nextKey = 0
  #hasEscape = false

  /** @param ids - The columns, none twice. The fields are by their indexes here. */
  constructor(ids: readonly string[]) {
    const count = ids.length
    this.#columnCount = count
    this.start = new Int32Array(count)
    this.from = new Int32Array(count)
    this.to = new Int32Array(count)
    this.isEscaped = new Uint8Array(count)
    this.order = new Int32Array(count)
    for (const [column, id] of ids.entries()) {
      this.#columnOfKey.set(byteText(utf8(`${renderKey(id)}:`)), column)
    }
  }

  /**
   * Reads the row whose text is from `from` to `to` (not included).
   * @throws {StoreError} DATA_CORRUPT if the text does not follow the grammar, as far as it is read.
   */
  read(bytes: Bytes, from: number, to: number): void {
    this.to.fill(0)
    this.count = 0
    this.#nextKey = 0
    for (let at = from; at < to && this.count < this.#columnCount; ) {
      const key = this.#passKey(bytes, at, to)
      const valueFrom = at + key.bytes.length
      this.#hasEscape = false
      const end = this.#endOfValue(bytes, valueFrom, to)
      if (end <= valueFrom || end > to || end === to - 1) throw damaged()
      if (end < to && bytes[end] !== COMMA) throw damaged()
      const { column } = key
      if (column !== OTHER_COLUMN) {
        this.start[column] = at
        this.from[column] = valueFrom
        this.to[column] = end
        this.isEscaped[column] = this.#hasEscape ? 1 : 0
        this.order[this.count++] = column
      }
      at = end + 1
    }
  }

  #passKey(bytes: Bytes, at: number, to: number): KnownKey {
    const keys = this.#keys
    const limit = Math.min(keys.length, this.#nextKey + EXPECTED_KEYS)
    for (let index = this.#nextKey; index < limit; index++) {
      const key = keys[index]
      if (key === undefined || !startsWith(bytes, at, to, key.bytes)) continue
      this.#nextKey = index + 1
      return key
    }
    return this.#searchKey(bytes, at, to)
  }

  #searchKey(bytes: Bytes, at: number, to: number): KnownKey {
    if (bytes[at] !== QUOTE) throw damaged()
    const end = this.#endOfString(bytes, at, to)
    if (end >= to || bytes[end] !== COLON) throw damaged()
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
    const column = this.#columnOfKey.get(text) ?? OTHER_COLUMN
    const key = { bytes: bytes.slice(at, end + 1), column }
    this.#indexOfKey.set(text, this.#keys.length)
    this.#nextKey = this.#keys.push(key)
    return key
  }

  #endOfValue(bytes: Bytes, at: number, to: number): number {
    const first = bytes[at]
    if (first === QUOTE) return this.#endOfString(bytes, at, to)
    if (first === OPEN_BRACKET || first === OPEN_BRACE) return this.#endOfContainer(bytes, at, to)
    let end = at
    while (end < to && bytes[end] !== COMMA) end++
    return end
  }

  /** Beyond `to` if the string has no end. */
  #endOfString(bytes: Bytes, start: number, to: number): number {
    for (let at = start + 1; at < to; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) return at + 1
      if (byte !== BACKSLASH) continue
      this.#hasEscape = true
      at++
    }
    return to + 1
  }

  #endOfContainer(bytes: Bytes, start: number, to: number): number {
    let level = 0
    for (let at = start; at < to; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) at = this.#endOfString(bytes, at, to) - 1
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) level++
      else if ((byte === CLOSE_BRACKET || byte === CLOSE_BRACE) && --level === 0) return at + 1
    }
    return to + 1
  }
}

/**
 * Calls back with the bounds of each element of an array's token.
 * @returns whether `visit` did for one.
 */
export function someElement(
  bytes: Bytes,
  from: number,
  to: number,
  visit: (from: number, to: number) => boolean,
): boolean {
  const limit = to - 1
  for (let at = from + 1; at < limit; ) {
    let end = at
    if (bytes[at] === QUOTE) {
      for (end = at + 1; end < limit && bytes[end] !== QUOTE; end++) {
        if (bytes[end] === BACKSLASH) end++
      }
      end++
    } else {
      while (end < limit && bytes[end] !== COMMA) end++
    }
    if (visit(at, end)) return true
    at = end + 1
  }
  return false
}

function startsWith(bytes: Bytes, at: number, to: number, key: Bytes): boolean {
  const { length } = key
  if (at + length > to) return false
  for (let i = 0; i < length; i++) if (bytes[at + i] !== key[i]) return false
  return true
}

function damaged(): StoreError {
  return new StoreError('DATA_CORRUPT', 'The text of a row is damaged')
}
