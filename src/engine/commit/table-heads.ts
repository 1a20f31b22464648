// Heads of tables that were decoded. While a record stays in memory, its bytes are the same object each
// time it is read; what they say cannot change.
import type { Bytes } from '../../base/bytes.js'
import { decodeTableHead, type TableHead } from '../../format/records.js'

export class TableHeads {
  readonly #heads = new WeakMap<Bytes, TableHead>()

  /** @throws {StoreError} DATA_CORRUPT */
  decode(bytes: Bytes): TableHead {
    const known = this.#heads.get(bytes)
    if (known !== undefined) return known
    const head = decodeTableHead(bytes)
    this.#heads.set(bytes, head)
    return head
  }
}
