// Caches parsed schemas. To read the record is fast; to parse and index it is slow.

import { type Awaitable, chain } from '../../base/awaitable.js'
import { ByteCache } from '../../base/byte-cache.js'
import type { Bytes } from '../../base/bytes.js'
import { toHex } from '../../base/bytes.js'
import { crc32 } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { WeakCache } from '../../base/weak-cache.js'
import { schemaKey, type TableKey } from '../../format/keys.js'
import { decodeSchema } from '../../format/records.js'
import { type ColumnPast, parseSchemaText } from '../../format/schema-record.js'
import type { Column, TableSchema } from '../../schema/column-kind.js'
import { columnIndex } from '../../schema/table-schema.js'

export type IndexedSchema = Readonly<{
  schema: TableSchema
  columns: ReadonlyMap<string, Column>
  /** The dropped columns; null: no column was dropped. */
  past: ColumnPast | null
}>

/** Estimated memory, in bytes: of a column without its names, and of the names, for each byte of the record. */
const COLUMN_BYTES = 400
const NAME_BYTES = 2

/** The share of the cache for the keys of records, and the estimated memory of a key, in bytes. */
const RECORDS_SHARE = 1 / 16
const RECORD_BYTES = 160

type Kept = Readonly<{ indexed: IndexedSchema; bytes: number }>

export class SchemaCache {
  readonly #schemas: ByteCache<Kept>
  /** Keys by record. While a record stays in memory, each read returns the same bytes object. */
  readonly #names: WeakCache<Bytes, string>

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(bytesMax: number) {
    this.#names = new WeakCache(bytesMax * RECORDS_SHARE, RECORD_BYTES)
    this.#schemas = new ByteCache(bytesMax * (1 - RECORDS_SHARE), (_, { bytes }) => bytes)
  }

  /** Estimated size, in bytes. */
  get bytes(): number {
    return this.#schemas.bytes + this.#names.bytes
  }

  /** Number of lookups that found an entry. `misses` is the number of all other lookups. */
  get hits(): number {
    return this.#schemas.hits
  }

  get misses(): number {
    return this.#schemas.misses
  }

  /**
   * @throws {StoreError} DATA_CORRUPT
   */
  get(
    table: TableKey,
    number: number,
    read: (key: Bytes) => Awaitable<Bytes | null>,
  ): Awaitable<IndexedSchema> {
    return chain(read(schemaKey(table, number)), (record) => {
      if (record === null) {
        throw new StoreError('DATA_CORRUPT', `Schema ${number} of table ${toHex(table)} is missing`)
      }
      const name = this.#nameOf(table, number, record)
      return this.#schemas.get(name)?.indexed ?? this.#parse(name, record)
    })
  }

  /** The cache key, with a checksum of the record: a plan may see the schema of a commit that fails later. */
  #nameOf(table: TableKey, number: number, record: Bytes): string {
    const known = this.#names.get(record)
    if (known !== undefined) return known
    const name = `${toHex(table)}:${number}:${record.length}:${crc32(record)}`
    this.#names.add(record, name)
    return name
  }

  #parse(name: string, record: Bytes): IndexedSchema {
    const { schema, past } = parseSchemaText(decodeSchema(record))
    const indexed = indexSchema(schema, past)
    const bytes = COLUMN_BYTES * indexed.columns.size + NAME_BYTES * record.length
    this.#schemas.set(name, { indexed, bytes })
    return indexed
  }
}

export function indexSchema(schema: TableSchema, past: ColumnPast | null = null): IndexedSchema {
  return { schema, columns: columnIndex(schema), past }
}
