// A table ID is a random UUID; in keys it is 16 bytes.
import { toHex } from '../base/bytes.js'
import type { TableKey } from './keys.js'

/** The UUID text of a table's key. */
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
