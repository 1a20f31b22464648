// A row ID is 16 bytes in 22 characters of base64url: the extent's nonce, the extent, the slot. The nonce makes it
// unguessable, and a read by ID needs no index.
import { BASE64URL_CODES, type Bytes, fromBase64Url, toBase64Url } from '../base/bytes.js'

export type RowId = Readonly<{ nonce: Bytes; extent: number; slot: number }>

const ROW_ID_BYTES = 16
export const ROW_ID_CHARS = 22

export function renderRowId(nonce: Bytes, extent: number, slot: number): string {
  const bytes = new Uint8Array(ROW_ID_BYTES)
  writeRowId(bytes, nonce, extent, slot)
  return toBase64Url(bytes)
}

/**
 * Turns a row ID in `text` at `at` into the ID of another slot of the same extent, by changing the last four
 * characters of the text. They have 4 bits of the extent, 16 bits of the slot, and 4 zero bits.
 */
export function renderRowIdTail(text: Bytes, at: number, extent: number, slot: number): void {
  const bits = ((extent & 0x0f) << 20) | (slot << 4)
  text[at + 18] = BASE64URL_CODES[bits >>> 18] ?? 0
  text[at + 19] = BASE64URL_CODES[(bits >>> 12) & 63] ?? 0
  text[at + 20] = BASE64URL_CODES[(bits >>> 6) & 63] ?? 0
  text[at + 21] = BASE64URL_CODES[bits & 63] ?? 0
}

/** The position and nonce in a row ID; null: not an ID, or not in canonical spelling. */
export function parseRowId(text: string): RowId | null {
  if (typeof text !== 'string' || text.length !== ROW_ID_CHARS) return null
  const bytes = fromBase64Url(text)
  if (bytes === null || bytes.length !== ROW_ID_BYTES) return null
  return {
    nonce: bytes.slice(0, 8), // A copy: for a view, V8 would move the bytes to a separate buffer.
    extent:
      readUint16(bytes, 8) * 2 ** 32 + readUint16(bytes, 10) * 2 ** 16 + readUint16(bytes, 12),
    slot: readUint16(bytes, 14),
  }
}

/** Reads two bytes. A DataView would cost as much as all other work on an ID. */
function readUint16(bytes: Bytes, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

function writeRowId(bytes: Bytes, nonce: Bytes, extent: number, slot: number): void {
  bytes.set(nonce, 0)
  const high = Math.floor(extent / 2 ** 32)
  bytes[8] = high >>> 8
  bytes[9] = high & 0xff
  bytes[10] = (extent / 2 ** 24) & 0xff
  bytes[11] = (extent >>> 16) & 0xff
  bytes[12] = (extent >>> 8) & 0xff
  bytes[13] = extent & 0xff
  bytes[14] = slot >>> 8
  bytes[15] = slot & 0xff
}
