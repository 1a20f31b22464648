// The records of receipts: what an operation did to a table, and which receipts a table keeps. FORMAT.md section 4.
import type { Bytes } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { newRecord, openRecord } from './record-frame.js'

export type ReceiptOperation = 'create' | 'add' | 'overwrite' | 'merge'

/** Rows that came as one, and the digest of their texts. */
export type ReceiptChunk = Readonly<{
  /** Of a chunk of a stash; null: rows that came with the request. */
  serial: string | null
  rows: number
  /** SHA-256 of the rows as lines of JSON. */
  digest: Bytes
}>

export type ReceiptRecord = Readonly<{
  operation: ReceiptOperation
  at: number
  /** The version that the operation changed; 0 for a create. */
  versionBefore: number
  rows: number
  /** Changed columns and dropped cells, as JSON. */
  about: string
  chunks: readonly ReceiptChunk[]
}>

/** A receipt that a table keeps. */
export type KeptReceipt = Readonly<{
  version: number
  /** The version base under which the receipt was made. */
  base: number
  /** The length of its record. */
  bytes: number
}>

/** Receipts that a table keeps, at most. */
export const RECEIPTS_MAX = 100

/** Bytes of the records of receipts that a table keeps, at most; the newest is always kept. */
export const RECEIPTS_BYTES_MAX = 16 * 1024 * 1024

/** Written to disk: never change or reuse a number. */
const OPERATION = Object.freeze({ create: 1, add: 2, overwrite: 3, merge: 4 })
const HAS_SERIAL = 0x01

const DIGEST_BYTES = 32
const KEPT_BYTES = 8 + 8 + 4

export function encodeReceipt(receipt: ReceiptRecord): Bytes {
  const { operation, at, versionBefore, rows, about, chunks } = receipt
  const writer = newRecord(64 + about.length + 48 * chunks.length).u8(OPERATION[operation])
  writer.u48(at).u64(versionBefore).u48(rows).text(about).u32(chunks.length)
  for (const { serial, rows: rowCount, digest } of chunks) {
    invariant(digest.length === DIGEST_BYTES, 'a sha256 has 32 bytes')
    writer.u8(serial === null ? 0 : HAS_SERIAL)
    if (serial !== null) writer.text(serial)
    writer.u48(rowCount).bytes(digest)
  }
  return writer.finish()
}

/** @throws {StoreError} DATA_CORRUPT */
export function decodeReceipt(bytes: Bytes): ReceiptRecord {
  const reader = openRecord(bytes, 'receipt')
  const number = reader.u8()
  const operation = (['create', 'add', 'overwrite', 'merge'] as const).find(
    (name) => OPERATION[name] === number,
  )
  if (operation === undefined) throw reader.corrupt(`operation ${number} is unknown`)
  const [at, versionBefore, rows] = [reader.u48(), reader.u64(), reader.u48()]
  const about = reader.text()
  const chunkCount = reader.u32()
  const chunks: ReceiptChunk[] = []
  for (let i = 0; i < chunkCount; i++) {
    const serial = (reader.u8() & HAS_SERIAL) === 0 ? null : reader.text()
    chunks.push({ serial, rows: reader.u48(), digest: reader.bytes(DIGEST_BYTES) })
  }
  reader.end()
  return { operation, at, versionBefore, rows, about, chunks }
}

/** @param kept - Oldest first. */
export function encodeReceiptList(kept: readonly KeptReceipt[]): Bytes {
  const writer = newRecord(1 + KEPT_BYTES * kept.length)
  for (const { version, base, bytes } of kept) writer.u64(version).u64(base).u32(bytes)
  return writer.finish()
}

/** @throws {StoreError} DATA_CORRUPT */
export function decodeReceiptList(bytes: Bytes): KeptReceipt[] {
  const reader = openRecord(bytes, 'list of receipts')
  const kept: KeptReceipt[] = []
  while (reader.left > 0) {
    kept.push({ version: reader.u64(), base: reader.u64(), bytes: reader.u32() })
  }
  return kept
}
