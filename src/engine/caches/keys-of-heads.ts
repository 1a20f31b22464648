// The keys of tables by their heads, so that a read by key decodes neither the index record nor the schema.
//
// Invariant: every change of a key index or of the types of columns writes another head, and table-heads decodes
// equal bytes to one object. An entry disappears with its head.
import type { KeyColumn } from '../../format/key-hash.js'
import type { KeyIndexRecord } from '../../format/key-index.js'
import type { TableHead } from '../../format/records.js'

/** The key of a table under a head. */
export type KeyOfHead = Readonly<{
  record: KeyIndexRecord
  columns: readonly KeyColumn[]
  /** The prefix of the names of rows in the cache of rows. */
  prefix: string
}>

export class KeysOfHeads {
  readonly #keys = new WeakMap<TableHead, KeyOfHead>()

  get(head: TableHead): KeyOfHead | undefined {
    return this.#keys.get(head)
  }

  set(head: TableHead, key: KeyOfHead): KeyOfHead {
    this.#keys.set(head, key)
    return key
  }
}
