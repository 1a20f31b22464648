// Reads LevelDB's log format, the format of its logs and its manifest, with the same result as LevelDB 1.20.
//
//     file  := block*                                    // 32 KiB each, the last one may be shorter
//     block := part* rest:u8[0..6]
//     part  := crc:u32 length:u16 type:u8 bytes          // little-endian; crc32c, masked, over type and bytes
//
// A record is one part of the type `full`, or `first`, any number of `middle`, and `last`. After a damaged
// part LevelDB continues with the next block.
import type { FileHandle } from 'node:fs/promises'
import { crc32c, Malformed, maskCrc } from './leveldb-codec.js'

const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7

/** Bytes read at a time: a whole number of blocks. */
const WINDOW_BYTES = 16 * BLOCK_BYTES

/** The maximum size of a record, in bytes: far more than a batch of a store. It bounds the memory for foreign files. */
const RECORD_BYTES_MAX = 512 * 1_048_576

const PART = { zero: 0, full: 1, first: 2, middle: 3, last: 4 } as const

export interface LogVisitor {
  /** Receives a complete record. Its bytes are valid only during the call. */
  record(bytes: Buffer): void
  /**
   * Receives the place of a part that is damaged or outside a record.
   * @param isTold - Whether LevelDB also reports the damage; it silently skips zeros.
   */
  damage(at: number, isTold: boolean): void
}

/** Reads a file from its beginning. An incomplete record at the end of the file is ignored. */
export async function readLog(handle: FileHandle, visitor: LogVisitor): Promise<void> {
  const parser = new LogParser(visitor)
  const window = Buffer.allocUnsafe(WINDOW_BYTES)
  for (let start = 0; ; start += window.length) {
    const length = await fillWindow(handle, window, start)
    for (let at = 0; at < length; at += BLOCK_BYTES) {
      parser.block(window.subarray(at, Math.min(at + BLOCK_BYTES, length)), start + at)
    }
    if (length < window.length) return
  }
}

/** @returns the number of bytes read; less than the window only at the end of the file. */
async function fillWindow(handle: FileHandle, window: Buffer, start: number): Promise<number> {
  let length = 0
  while (length < window.length) {
    const left = window.length - length
    const { bytesRead } = await handle.read(window, length, left, start + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length
}

class LogParser {
  readonly #visitor: LogVisitor
  /** The parts of the current record. */
  #parts: Buffer[] | null = null
  #bytes = 0

  constructor(visitor: LogVisitor) {
    this.#visitor = visitor
  }

  block(block: Buffer, start: number): void {
    const isLast = block.length < BLOCK_BYTES
    for (let at = 0; at + HEADER_BYTES <= block.length; ) {
      const end = at + HEADER_BYTES + block.readUInt16LE(at + 4)
      const type = block[at + 6] ?? 0
      if (end > block.length && isLast) return // The writer of the part was interrupted.
      const isZero = type === PART.zero && end === at + HEADER_BYTES
      if (end > block.length || isZero || !isIntact(block.subarray(at, end))) {
        this.#parts = null
        this.#visitor.damage(start + at, !isZero)
        return
      }
      this.#part(type, block.subarray(at + HEADER_BYTES, end), start + at)
      at = end
    }
  }

  #part(type: number, bytes: Buffer, at: number): void {
    const begins = type === PART.full || type === PART.first
    const isKnown = begins || type === PART.middle || type === PART.last
    // LevelDB itself once left an empty first part at the end of a block.
    const isStray = begins ? this.#parts !== null && this.#bytes > 0 : this.#parts === null
    if (isStray || !isKnown) this.#visitor.damage(at, true)
    if (begins || !isKnown) this.#parts = null
    if (type === PART.full) this.#visitor.record(bytes)
    if (type === PART.first) this.#begin()
    if (this.#parts === null) return
    this.#bytes += bytes.length
    if (this.#bytes > RECORD_BYTES_MAX) throw new Malformed('a record is too long')
    this.#parts.push(Buffer.from(bytes))
    if (type !== PART.last) return
    const record = Buffer.concat(this.#parts)
    this.#parts = null
    this.#visitor.record(record)
  }

  #begin(): void {
    this.#parts = []
    this.#bytes = 0
  }
}

function isIntact(part: Buffer): boolean {
  return part.readUInt32LE(0) === maskCrc(crc32c(part.subarray(6)))
}
