// Rows of `COPY (…) TO STDOUT (FORMAT binary)`, in which a bytea is sent as bytes instead of hexadecimal digits.
//
//     copy := signature:u8[11] flags:int32 extension:int32 u8[extension] row* end:int16 (-1)
//     row  := cells:int16 ( length:int32 (-1: null) u8[length] )*
import type { Bytes } from '../../src/base/bytes.js'

const EXTENSION_AT = 15

/** A cell in binary form, in the memory of its message. */
export type CopiedCell = Bytes | null

/** Decodes a COPY message by message. A message has whole rows, according to PostgreSQL's protocol documentation. */
export class CopyDecoder {
  #isBegun = false

  /**
   * @param message - Messages in order, each once.
   * @throws {RangeError} if a row is truncated
   */
  rowsOf(message: Bytes): CopiedCell[][] {
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength)
    const rows: CopiedCell[][] = []
    let at = this.#isBegun ? 0 : EXTENSION_AT + 4 + view.getInt32(EXTENSION_AT)
    this.#isBegun = true
    while (at < message.length) {
      const cells = view.getInt16(at)
      at += 2
      const row: CopiedCell[] = []
      while (row.length < cells) {
        const length = view.getInt32(at)
        at += 4
        const limit = at + Math.max(0, length)
        if (limit > message.length) throw new RangeError('A copied row is cut off')
        row.push(length < 0 ? null : message.subarray(at, limit))
        at = limit
      }
      if (cells >= 0) rows.push(row)
    }
    return rows
  }
}

/** The value of an `int8`. */
export function decodeInt8(cell: Bytes): number {
  return Number(new DataView(cell.buffer, cell.byteOffset, cell.length).getBigInt64(0))
}
