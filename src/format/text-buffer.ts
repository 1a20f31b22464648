// A buffer for the texts of a segment's rows. Bytes are appended; appended bytes may be moved, removed and
// overwritten.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { grownBytes } from './byte-writer.js'

/** The maximum number of UTF-8 bytes per UTF-16 unit. */
const UTF8_BYTES_MAX = 3

/** A loop copies up to this many bytes faster than a call of the runtime does. */
const LOOP_BYTES_MAX = 32

const encoder = new TextEncoder()

/**
 * The number of bytes of a source that `part` copies at once: bytes not needed yet are placed after the length.
 * Moving bytes within a buffer takes two thirds of the time of copying each part from another, and makes no garbage.
 */
const AHEAD_BYTES = 16 * 1024

/**
 * Bytes `from` to `to` of a source, copied to `at`. The copied bytes are still intact, except those before the length
 * and those before `writtenTo`.
 */
type Ahead = Readonly<{ source: Bytes; from: number; to: number; at: number }> & {
  writtenTo: number
}

/**
 * Most JSON rows are copied from one source, in parts with gaps. So `part` copies ahead:
 *
 *     source   ▒▒▒ part 1 ▒▒ gap ▒▒▒ part 2 ▒▒▒ …
 *     buffer   … written │ part 1, gap, part 2, …    up to AHEAD_BYTES of the source behind the length
 *              … written, part 1 │ ← part 2 is moved here, within the buffer
 */
export class TextBuffer {
  #bytes: Uint8Array<ArrayBuffer>
  #view: DataView
  #length = 0
  #ahead: Ahead | null = null

  /** @param start - Initial number of bytes, or a buffer of the caller. */
  constructor(start: number | Uint8Array<ArrayBuffer> = 64) {
    this.#bytes = typeof start === 'number' ? new Uint8Array(start) : start
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength)
  }

  get length(): number {
    return this.#length
  }

  u8(value: number): this {
    invariant(Number.isInteger(value) && value >= 0 && value <= 0xff, 'a u8 has one byte')
    const at = this.#grow(1)
    this.#view.setUint8(at, value)
    return this
  }

  u32(value: number): this {
    invariant(Number.isInteger(value) && value >= 0 && value <= 0xffffffff, 'a u32 has four bytes')
    const at = this.#grow(4)
    this.#view.setUint32(at, value)
    return this
  }

  bytes(run: Bytes): this {
    const at = this.#grow(run.length)
    this.#bytes.set(run, at)
    return this
  }

  /** Appends a part of other bytes, which must not change. Fast for parts close to each other. */
  part(source: Bytes, from: number, to: number): this {
    const at = this.#grow(to - from)
    if (to - from <= LOOP_BYTES_MAX) {
      for (let i = from; i < to; i++) this.#bytes[at + i - from] = source[i] ?? 0
      return this
    }
    const place = this.#placeAhead(at, source, from, to)
    if (place >= 0) this.#bytes.copyWithin(at, place, place + to - from)
    else this.#copyAhead(at, source, from, to)
    return this
  }

  /** The place at or after `at` to which a part of a source was already copied; -1: none. */
  #placeAhead(at: number, source: Bytes, from: number, to: number): number {
    const ahead = this.#ahead
    if (ahead === null || ahead.source !== source || from < ahead.from || to > ahead.to) return -1
    const place = ahead.at + from - ahead.from
    return place >= at && place >= ahead.writtenTo ? place : -1
  }

  /** Copies a part of a source, and the bytes after it as far as there is room. */
  #copyAhead(at: number, source: Bytes, from: number, to: number): void {
    const room = this.#bytes.length - at
    const limit = Math.max(to, Math.min(source.length, from + Math.min(AHEAD_BYTES, room)))
    this.#bytes.set(source.subarray(from, limit), at)
    this.#ahead = { source, from, to: limit, at, writtenTo: 0 }
  }

  /**
   * Makes room for `count` bytes from `length` on. Until the next call, they may be written directly into the returned
   * view; `extend` then sets how many were.
   */
  room(count: number): DataView {
    this.#ahead = null // The caller may overwrite it.
    const length = this.#grow(count)
    this.#length = length
    return this.#view
  }

  /** Appends bytes that were written into the `room`. */
  extend(count: number): this {
    invariant(this.#length + count <= this.#bytes.length, 'there was room for what was written')
    this.#length += count
    return this
  }

  /** Leaves room for bytes that the caller will write through the `view`. */
  skip(count: number): this {
    this.#grow(count)
    return this
  }

  /** Moves all bytes from the offset `from` to the end of the text by `by` bytes: towards the end, if positive. */
  move(from: number, by: number): this {
    invariant(from + by >= 0 && from <= this.#length, 'what was written stays in the buffer')
    const end = this.#length
    if (by > 0) this.#grow(by)
    else this.truncate(end + by)
    this.#bytes.copyWithin(from + by, from, end)
    return this
  }

  /** The bytes written so far, to change in place. Valid until the next write. */
  view(): DataView {
    return this.#view
  }

  /** Removes the bytes from `length` on. */
  truncate(length: number): this {
    invariant(length <= this.#length, 'only what was written is taken back')
    const ahead = this.#ahead
    if (ahead !== null) ahead.writtenTo = Math.max(ahead.writtenTo, this.#length)
    this.#length = length
    return this
  }

  /** Appends a text as UTF-8, without a count. */
  utf8(text: string): this {
    this.#ahead = null // The encoder may overwrite it.
    const at = this.#grow(UTF8_BYTES_MAX * text.length)
    const { written } = encoder.encodeInto(text, this.#bytes.subarray(at, this.#length))
    this.#length = at + written
    return this
  }

  /** The bytes from `at` on. Valid until the next write. */
  written(at: number): Bytes {
    return this.#bytes.subarray(at, this.#length)
  }

  /** The bytes so far. The buffer must not be used afterwards. */
  finish(): Bytes {
    return this.#bytes.subarray(0, this.#length)
  }

  #grow(count: number): number {
    const at = this.#length
    const needed = at + count
    if (needed > this.#bytes.length) {
      this.#ahead = null
      this.#bytes = grownBytes(this.#bytes, needed)
      this.#view = new DataView(this.#bytes.buffer)
    }
    this.#length = needed
    return at
  }
}
