// Schemas that were parsed. The record is read each time, which is quick; parsing and indexing it is not.
import type { Bytes } from '../base/bytes.js'
import { toHex } from '../base/bytes.js'
import { crc32 } from '../base/platform.js'
import { after, type Soon } from '../base/soon.js'
import { StoreError } from '../base/store-error.js'
import { schemaKey, type TableKey } from '../format/keys.js'
import { decodeSchema } from '../format/records.js'
import type { Column, TableSchema } from '../schema/column-kind.js'
import { columnIndex } from '../schema/table-schema.js'

export type IndexedSchema = Readonly<{
  schema: TableSchema
  columns: ReadonlyMap<string, Column>
}>

const SCHEMAS_MAX = 256

export class SchemaCache {
  readonly #schemas = new Map<string, IndexedSchema>()
  /** While a record stays in memory, its bytes are the same object each time. */
  readonly #ofRecord = new WeakMap<Bytes, IndexedSchema>()

  /**
   * @throws {StoreError} DATA_CORRUPT
   */
  get(
    table: TableKey,
    number: number,
    read: (key: Bytes) => Soon<Bytes | null>,
  ): Soon<IndexedSchema> {
    return after(read(schemaKey(table, number)), (record) => {
      if (record === null) {
        throw new StoreError('DATA_CORRUPT', `Schema ${number} of table ${toHex(table)} is missing`)
      }
      const known = this.#ofRecord.get(record)
      if (known !== undefined) return known
      const schema = this.#find(table, number, record)
      this.#ofRecord.set(record, schema)
      return schema
    })
  }

  #find(table: TableKey, number: number, record: Bytes): IndexedSchema {
    // By content, as a plan may see the schema of a commit that is refused in the end.
    const name = `${toHex(table)}:${number}:${record.length}:${crc32(record)}`
    const known = this.#schemas.get(name)
    if (known !== undefined) return known
    const indexed = indexSchema(JSON.parse(decodeSchema(record)) as TableSchema)
    if (this.#schemas.size >= SCHEMAS_MAX) this.#schemas.clear()
    this.#schemas.set(name, indexed)
    return indexed
  }
}

export function indexSchema(schema: TableSchema): IndexedSchema {
  return { schema, columns: columnIndex(schema) }
}
