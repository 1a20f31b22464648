// The record of a deleted table whose other records are not all deleted yet (FORMAT.md, sections 3 and 4).
import type { Bytes } from '../base/bytes.js'
import { prefixRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import { ByteWriter } from './byte-writer.js'
import { KEY_SPACE, type TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'

export const DEAD_TABLES_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.deadTable))

export function deadTableKey(table: TableKey): Bytes {
  return tableKeyIn(KEY_SPACE.deadTable, table)
}

/** @param deletedAt - In milliseconds since 1970 UTC. */
export function encodeDeadTable(deletedAt: number): Bytes {
  return newRecord(7).u48(deletedAt).finish()
}

/** @returns when the table was deleted. */
export function decodeDeadTable(bytes: Bytes): number {
  const reader = openRecord(bytes, 'dead table')
  const deletedAt = reader.u48()
  reader.end()
  return deletedAt
}

/** Key spaces with records that belong to a table's head. */
const SPACES_OF_TABLE = [
  KEY_SPACE.row,
  KEY_SPACE.extentPage,
  KEY_SPACE.schema,
  KEY_SPACE.receipt,
  KEY_SPACE.keyEntry,
  KEY_SPACE.keyIndex,
  KEY_SPACE.change,
  KEY_SPACE.rowBefore,
  KEY_SPACE.log,
] as const

/** The records of deleted tables for garbage collection, except their retirements: one list of ranges per key space. */
export function recordsOfTables(tables: readonly TableKey[]): readonly (readonly KeyRange[])[] {
  return SPACES_OF_TABLE.map((space) =>
    tables.map((table) => prefixRange(tableKeyIn(space, table))),
  )
}

function tableKeyIn(space: number, table: TableKey): Bytes {
  return new ByteWriter(17).u8(space).bytes(table).finish()
}
