// The record of an API key. FORMAT.md section 4.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'

export const DIGEST_BYTES = 32

const FLAG = Object.freeze({ limited: 0x01 })

export type ApiKeyRecord = Readonly<{
  /** The SHA-256 of the key. */
  digest: Bytes
  /** The scopes of the key, one bit per scope. */
  scopes: number
  createdAt: number
  /** When the key expires; 0: never. */
  expiresAt: number
  team: string
  label: string
  /** The last four characters of the key, by which people recognize it. */
  tail: string
  /** The tables that the key may use; null: all tables of the team. */
  tables: readonly TableKey[] | null
}>

export function encodeApiKey(record: ApiKeyRecord): Bytes {
  const { digest, scopes, createdAt, expiresAt, team, label, tail, tables } = record
  invariant(digest.length === DIGEST_BYTES, 'the digest of a key has 32 bytes')
  const writer = newRecord(128).bytes(digest).u8(scopes)
  writer
    .u8(tables === null ? 0 : FLAG.limited)
    .u48(createdAt)
    .u48(expiresAt)
  writer.text(team).text(label).text(tail)
  if (tables === null) return writer.finish()
  writer.u16(tables.length)
  for (const table of tables) {
    invariant(table.length === 16, 'a table key has 16 bytes')
    writer.bytes(table)
  }
  return writer.finish()
}

/** Decodes the record of an API key. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeApiKey(bytes: Bytes): ApiKeyRecord {
  const reader = openRecord(bytes, 'API key')
  const digest = reader.bytes(DIGEST_BYTES)
  const [scopes, flags, createdAt, expiresAt] = [
    reader.u8(),
    reader.u8(),
    reader.u48(),
    reader.u48(),
  ]
  const [team, label, tail] = [reader.text(), reader.text(), reader.text()]
  if ((flags & ~FLAG.limited) !== 0) throw reader.corrupt(`flags ${flags} are unknown`)
  let tables: TableKey[] | null = null
  if (flags & FLAG.limited) {
    const count = reader.u16()
    tables = []
    for (let i = 0; i < count; i++) tables.push(reader.bytes(16))
  }
  reader.end()
  return { digest, scopes, createdAt, expiresAt, team, label, tail, tables }
}
