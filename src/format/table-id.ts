// A table ID is a random UUID; in keys it is 16 bytes.
import { type Bytes, fromHex, toHex } from '../base/bytes.js'
import type { TableKey } from './keys.js'

/** The table ID of a table's key. */
export function renderTableId(table: TableKey): string {
  const hex = toHex(table)
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ]
  return parts.join('-')
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The key of a table ID; null: not a UUID. */
export function parseTableId(text: string): TableKey | null {
  return UUID.test(text) ? fromHex(text.replaceAll('-', '')) : null
}

/** The bytes of a random UUID (version 4). @param random - 16 random bytes. */
export function newUuid(random: Bytes): Bytes {
  const uuid = Uint8Array.from(random)
  uuid[6] = ((uuid[6] ?? 0) & 0x0f) | 0x40
  uuid[8] = ((uuid[8] ?? 0) & 0x3f) | 0x80
  return uuid
}
