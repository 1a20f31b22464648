// Rows of `COPY (…) TO STDOUT (FORMAT binary)`: a bytea comes as its bytes, and not as hexadecimal digits.
//
//     copy := signature:u8[11] flags:int32 extension:int32 u8[extension] row* end:int16 (-1)
//     row  := cells:int16 ( length:int32 (-1: null) u8[length] )*
import { type Bytes, concatBytes } from '../../src/base/bytes.js'

const EXTENSION_AT = 15

/** A cell in its binary form. Cells lie in the memory of the parts. */
export type CopiedCell = Bytes | null

/** @param parts - All that PostgreSQL sent, in order. @throws {RangeError} if it is cut off */
export function decodeCopy(parts: readonly Bytes[]): CopiedCell[][] {
  const copy = concatBytes(parts)
  const view = new DataView(copy.buffer)
  const rows: CopiedCell[][] = []
  let at = EXTENSION_AT + 4 + view.getInt32(EXTENSION_AT)
  for (let cells = view.getInt16(at); cells >= 0; cells = view.getInt16(at)) {
    at += 2
    const row: CopiedCell[] = []
    while (row.length < cells) {
      const length = view.getInt32(at)
      at += 4
      row.push(length < 0 ? null : copy.subarray(at, at + length))
      at += Math.max(0, length)
    }
    rows.push(row)
  }
  return rows
}

/** The value of an `int8`. */
export function decodeInt8(cell: Bytes): number {
  return Number(new DataView(cell.buffer, cell.byteOffset, cell.length).getBigInt64(0))
}
