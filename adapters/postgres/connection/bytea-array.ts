// Values of type bytea on the wire. `pg` sends a Buffer as a binary parameter, so an array in PostgreSQL's binary form
// allows one prepared statement for any number of keys. Results are hexadecimal text.
//
//     array := dimensions: int32 (1, or 0 if empty), has_null: int32 (0), element_type: oid,
//              [ size: int32, lower_bound: int32 (1), element* ]
//     element := length: int32, bytes
import { Buffer } from 'node:buffer'
import type { Bytes } from '../../../src/base/bytes.js'

const BYTEA_OID = 17
const EMPTY_HEAD_BYTES = 12
const HEAD_BYTES = 20
const LENGTH_BYTES = 4

/** The binary form of a `bytea[]`. */
export function encodeByteaArray(items: readonly Bytes[]): Buffer {
  const isEmpty = items.length === 0
  let size = isEmpty ? EMPTY_HEAD_BYTES : HEAD_BYTES
  for (const item of items) size += LENGTH_BYTES + item.length
  const array = Buffer.allocUnsafe(size)
  array.writeInt32BE(isEmpty ? 0 : 1, 0)
  array.writeInt32BE(0, 4)
  array.writeInt32BE(BYTEA_OID, 8)
  if (isEmpty) return array
  array.writeInt32BE(items.length, 12)
  array.writeInt32BE(1, 16)
  let at = HEAD_BYTES
  for (const item of items) {
    at = array.writeInt32BE(item.length, at)
    array.set(item, at)
    at += item.length
  }
  return array
}

/** Decodes `\x` and hexadecimal digits, PostgreSQL's text form of a bytea. */
export function decodeBytea(text: string): Bytes {
  const { buffer, byteOffset, length } = Buffer.from(text.slice(2), 'hex')
  return new Uint8Array(buffer, byteOffset, length)
}
