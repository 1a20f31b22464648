// The log of a table: one entry per commit that changed it; and receipts of earlier versions of this package, which had
// separate records. FORMAT.md sections 3 and 4.
import { type Bytes, putUint64 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { prefixRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import { KEY_SPACE, type TableKey } from './keys.js'
import { newRecord, openRecord } from './record-frame.js'

/** The numbers of operations. Written to disk: never change or reuse a number. */
const OPERATION = Object.freeze({
  create: 1,
  add: 2,
  overwrite: 3,
  merge: 4,
  update: 5,
  delete: 6,
  alter: 7,
  transaction: 8,
})
const OPERATIONS = Object.keys(OPERATION) as LogOperation[]

/** The operation of a commit on a table. */
export type LogOperation = keyof typeof OPERATION

/** Rows that a commit added, changed and removed. */
export type RowCounts = Readonly<{ added: number; changed: number; removed: number }>

/** Rows that arrived together, and the digest of their texts. */
export type ReceiptChunk = Readonly<{
  /** The serial of a stash's chunk; null: rows in the request. */
  serial: string | null
  rows: number
  /** SHA-256 of the rows as lines of JSON. */
  digest: Bytes
}>

/** The parts of a receipt that the entry itself does not have. */
export type ReceiptDetail = Readonly<{
  rows: number
  /** Changed columns and dropped cells, as JSON. */
  about: string
  chunks: readonly ReceiptChunk[]
}>

export type LogEntry = Readonly<{
  operation: LogOperation
  /** When the operation was committed. */
  at: number
  /** The version base at that time. */
  base: number
  counts: RowCounts
  /** The author; null: none was given. */
  author: string | null
  note: string | null
  /** The rest of the receipt; null: no receipt was requested. */
  detail: ReceiptDetail | null
}>

/**
 * The maximum number of entries, and of their bytes, that a table without a history keeps; the newest entry is always
 * kept.
 */
export const LOG_ENTRIES_MAX = 10_000
export const LOG_BYTES_MAX = 1024 * 1024

/** How long a table without a history keeps entries, in milliseconds. */
export const LOG_RETENTION_MS = 24 * 3_600_000

const HAS_AUTHOR = 0x01
const HAS_NOTE = 0x02
const HAS_DETAIL = 0x04
const HAS_BASE = 0x08
const HAS_SERIAL = 0x01

const DIGEST_BYTES = 32

export const LOG_RANGE: KeyRange = prefixRange(Uint8Array.of(KEY_SPACE.log))

/** @param version - The version that the commit made. */
export function logKey(table: TableKey, version: number): Bytes {
  const key = new Uint8Array(1 + table.length + 8)
  key[0] = KEY_SPACE.log
  key.set(table, 1)
  putUint64(key, 1 + table.length, version)
  return key
}

export function versionOfLogKey(key: Bytes): number {
  const reader = new ByteReader(key.subarray(17), 'key of a log entry')
  const version = reader.u64()
  reader.end()
  return version
}

/** The entries of a table for versions from `from` on. */
export function logRange(table: TableKey, from: number): KeyRange {
  const { limit } = prefixRange(logKey(table, 0).subarray(0, 17))
  return { start: logKey(table, from), limit }
}

export function encodeLogEntry(entry: LogEntry): Bytes {
  const { operation, at, base, counts, author, note, detail } = entry
  const flags =
    (author === null ? 0 : HAS_AUTHOR) |
    (note === null ? 0 : HAS_NOTE) |
    (detail === null ? 0 : HAS_DETAIL) |
    (base === 0 ? 0 : HAS_BASE)
  const writer = newRecord(27).u8(OPERATION[operation]).u8(flags).u48(at)
  writer.u48(counts.added).u48(counts.changed).u48(counts.removed)
  if (base !== 0) writer.u64(base)
  if (author !== null) writer.text(author)
  if (note !== null) writer.text(note)
  if (detail !== null) writeDetail(writer, detail)
  return writer.finish()
}

/** Decodes an entry of a log. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeLogEntry(bytes: Bytes): LogEntry {
  const reader = openRecord(bytes, 'log entry')
  const operation = readOperation(reader)
  const flags = reader.u8()
  const at = reader.u48()
  const counts = { added: reader.u48(), changed: reader.u48(), removed: reader.u48() }
  const base = (flags & HAS_BASE) === 0 ? 0 : reader.u64()
  const author = (flags & HAS_AUTHOR) === 0 ? null : reader.text()
  const note = (flags & HAS_NOTE) === 0 ? null : reader.text()
  const detail = (flags & HAS_DETAIL) === 0 ? null : readDetail(reader)
  reader.end()
  return { operation, at, base, counts, author, note, detail }
}

/** The time of an entry. @throws {StoreError} DATA_CORRUPT */
export function timeOfLogEntry(bytes: Bytes): number {
  const reader = openRecord(bytes, 'log entry')
  reader.u16()
  return reader.u48()
}

function readOperation(reader: ByteReader): LogOperation {
  const number = reader.u8()
  const operation = OPERATIONS.find((name) => OPERATION[name] === number)
  if (operation === undefined) throw reader.corrupt(`operation ${number} is unknown`)
  return operation
}

function writeDetail(writer: ByteWriter, { rows, about, chunks }: ReceiptDetail): void {
  writer.u48(rows).text(about).u32(chunks.length)
  for (const { serial, rows: rowCount, digest } of chunks) {
    invariant(digest.length === DIGEST_BYTES, 'a sha256 has 32 bytes')
    writer.u8(serial === null ? 0 : HAS_SERIAL)
    if (serial !== null) writer.text(serial)
    writer.u48(rowCount).bytes(digest)
  }
}

function readDetail(reader: ByteReader): ReceiptDetail {
  const rows = reader.u48()
  const about = reader.text()
  const chunks: ReceiptChunk[] = []
  for (let left = reader.u32(); left > 0; left--) {
    const serial = (reader.u8() & HAS_SERIAL) === 0 ? null : reader.text()
    chunks.push({ serial, rows: reader.u48(), digest: reader.bytes(DIGEST_BYTES) })
  }
  return { rows, about, chunks }
}

/** A receipt stored by an earlier version of this package. */
export type OldReceipt = Pick<LogEntry, 'operation' | 'at'> & Readonly<{ detail: ReceiptDetail }>

/** Decodes an old receipt. @throws {StoreError} DATA_CORRUPT if the bytes are no such record. */
export function decodeOldReceipt(bytes: Bytes): OldReceipt {
  const reader = openRecord(bytes, 'receipt')
  const operation = readOperation(reader)
  const at = reader.u48()
  reader.u64() // The previous version.
  const detail = readDetail(reader)
  reader.end()
  return { operation, at, detail }
}

/**
 * The list of a table's receipts, stored by an earlier version of this package.
 * @throws {StoreError} DATA_CORRUPT if the bytes are no such list
 */
export function decodeReceiptList(
  bytes: Bytes,
): readonly Readonly<{ version: number; base: number }>[] {
  const reader = openRecord(bytes, 'list of receipts')
  const kept: { version: number; base: number }[] = []
  while (reader.left > 0) {
    kept.push({ version: reader.u64(), base: reader.u64() })
    reader.u32() // The length of its record.
  }
  return kept
}
