// Keys in a partition. FORMAT.md section 3. Byte order of keys is the order of scans: the catalog by order of creation,
// extent pages and row records by position.
import { type Bytes, fromHex, fromUtf8, putUint32, toHex, utf8 } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { sliceText } from '../base/platform.js'
import { prefixRange, spaceRange } from '../kv/key-range.js'
import type { KeyRange } from '../kv/kv.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'

/** First byte of every key. Written to disk: never change or reuse a number. */
export const KEY_SPACE = Object.freeze({
  teamHead: 0x01,
  catalog: 0x02,
  tableHead: 0x03,
  schema: 0x04,
  extentPage: 0x05,
  row: 0x06,
  retirement: 0x07,
  stashHead: 0x08,
  chunk: 0x09,
  columnList: 0x0a,
  deadStash: 0x0b,
  upload: 0x0c,
  file: 0x0d,
  job: 0x0e,
  idempotency: 0x0f,
  fileMarker: 0x10,
  filesHead: 0x11,
  receipt: 0x12,
  writer: 0x13,
  duty: 0x14,
  workHint: 0x15,
  deadTable: 0x16,
  keyEntry: 0x18,
  keyIndex: 0x19,
  change: 0x1a,
  rowBefore: 0x1b,
  log: 0x1c,
  teamEntry: 0x20,
  alias: 0x21,
  teamAlias: 0x22,
  signingKeys: 0x23,
  codecs: 0x24,
  openJob: 0x25,
  apiKey: 0x26,
  incarnation: 0x27,
  dueTeam: 0x28,
})

/** The 16 bytes of a table's UUID. */
export type TableKey = Bytes

/** Number of extents per extent page. */
export const PAGE_EXTENTS = 256

/** Greater than every extent of a table: a key has six bytes for an extent. */
export const EXTENTS_MAX = 2 ** 48 - 1

/** The maximum number of slots of an extent: a slot has two bytes in a key. */
export const SLOTS_MAX = 65_536

export const TEAM_HEAD_KEY: Bytes = Uint8Array.of(KEY_SPACE.teamHead)
export const FILES_HEAD_KEY: Bytes = Uint8Array.of(KEY_SPACE.filesHead)
/** A key of the system partition. */
export const SIGNING_KEYS_KEY: Bytes = Uint8Array.of(KEY_SPACE.signingKeys)
export const CODECS_KEY: Bytes = Uint8Array.of(KEY_SPACE.codecs)

export function catalogKey(order: number): Bytes {
  return new ByteWriter(7).u8(KEY_SPACE.catalog).u48(order).finish()
}
export const CATALOG_RANGE: KeyRange = spaceRange(KEY_SPACE.catalog)
export const TABLE_HEADS_RANGE: KeyRange = spaceRange(KEY_SPACE.tableHead)
export const SCHEMAS_RANGE: KeyRange = spaceRange(KEY_SPACE.schema)
export const EXTENT_PAGES_RANGE: KeyRange = spaceRange(KEY_SPACE.extentPage)
export const ROWS_RANGE: KeyRange = spaceRange(KEY_SPACE.row)
export const RETIREMENTS_RANGE: KeyRange = spaceRange(KEY_SPACE.retirement)
export const STASH_HEADS_RANGE: KeyRange = spaceRange(KEY_SPACE.stashHead)
export const CHUNKS_RANGE: KeyRange = spaceRange(KEY_SPACE.chunk)
export const DEAD_STASHES_RANGE: KeyRange = spaceRange(KEY_SPACE.deadStash)
export const UPLOADS_RANGE: KeyRange = spaceRange(KEY_SPACE.upload)
export const FILES_RANGE: KeyRange = spaceRange(KEY_SPACE.file)
export const FILE_MARKERS_RANGE: KeyRange = spaceRange(KEY_SPACE.fileMarker)
export const JOBS_RANGE: KeyRange = spaceRange(KEY_SPACE.job)
export const IDEMPOTENCY_RANGE: KeyRange = spaceRange(KEY_SPACE.idempotency)
export const RECEIPTS_RANGE: KeyRange = spaceRange(KEY_SPACE.receipt)
export const TEAM_ENTRIES_RANGE: KeyRange = spaceRange(KEY_SPACE.teamEntry)
export const ALIASES_RANGE: KeyRange = spaceRange(KEY_SPACE.alias)
export const TEAM_ALIASES_RANGE: KeyRange = spaceRange(KEY_SPACE.teamAlias)
export const OPEN_JOBS_RANGE: KeyRange = spaceRange(KEY_SPACE.openJob)
export const API_KEYS_RANGE: KeyRange = spaceRange(KEY_SPACE.apiKey)
export const WRITERS_RANGE: KeyRange = spaceRange(KEY_SPACE.writer)
export const DUTIES_RANGE: KeyRange = spaceRange(KEY_SPACE.duty)
export const INCARNATIONS_RANGE: KeyRange = spaceRange(KEY_SPACE.incarnation)

export function tableHeadKey(table: TableKey): Bytes {
  return tableBytes(KEY_SPACE.tableHead, table, 0)
}

export function schemaKey(table: TableKey, number: number): Bytes {
  invariant(number >>> 0 === number, 'a schema number has four bytes')
  const key = tableBytes(KEY_SPACE.schema, table, 4)
  putUint32(key, 17, number)
  return key
}

export function schemasRange(table: TableKey): KeyRange {
  return prefixRange(tableBytes(KEY_SPACE.schema, table, 0))
}

export function extentPageKey(table: TableKey, page: number): Bytes {
  const key = tableBytes(KEY_SPACE.extentPage, table, 6)
  putUint48(key, 17, page)
  return key
}

/** The extent of a page's first entry. */
export function firstExtentOfPageKey(key: Bytes): number {
  const reader = new ByteReader(key, 'extent page key')
  reader.bytes(17)
  const page = reader.u48()
  reader.end()
  return PAGE_EXTENTS * page
}

/** The extent pages of extents from `first` to `limit` (exclusive); both begin a page. */
export function extentPagesRange(table: TableKey, first: number, limit: number): KeyRange {
  return {
    start: extentPageKey(table, Math.floor(first / PAGE_EXTENTS)),
    limit: extentPageKey(table, Math.ceil(limit / PAGE_EXTENTS)),
  }
}

/** A position as (extent, slot), which is also the order of rows. */
export type Position = Readonly<{ extent: number; slot: number }>

export function rowKey(table: TableKey, { extent, slot }: Position): Bytes {
  const key = tableBytes(KEY_SPACE.row, table, 8)
  putUint48(key, 17, extent)
  invariant(slot >= 0 && slot < SLOTS_MAX, 'a slot has two bytes')
  key[23] = slot >>> 8
  key[24] = slot & 0xff
  return key
}

export function decodeRowKey(key: Bytes): Position {
  const reader = new ByteReader(key, 'row key')
  reader.pass(17)
  const position = { extent: reader.u48(), slot: reader.u16() }
  reader.end()
  return position
}

/** Row records from a position to the end of the extent before `limitExtent`. */
export function rowsRange(table: TableKey, from: Position, limitExtent: number): KeyRange {
  return { start: rowKey(table, from), limit: rowKey(table, { extent: limitExtent, slot: 0 }) }
}

export function retirementKey(table: TableKey, firstExtent: number): Bytes {
  return tableWriter(KEY_SPACE.retirement, table, 6).u48(firstExtent).finish()
}

export function retirementsRange(table: TableKey): KeyRange {
  return prefixRange(tableWriter(KEY_SPACE.retirement, table, 0).finish())
}

/** The key of the list of receipts that a table keeps. */
export function receiptListKey(table: TableKey): Bytes {
  return tableWriter(KEY_SPACE.receipt, table, 0).finish()
}

export function receiptKey(table: TableKey, version: number): Bytes {
  return tableWriter(KEY_SPACE.receipt, table, 8).u64(version).finish()
}

/** The table in a key of one of these spaces: those from tableHead to retirement, receipt, deadTable. */
export function tableOfKey(key: Bytes): TableKey {
  invariant(key.length >= 17, 'the key names a table')
  return key.slice(1, 17)
}

export function stashHeadKey(stashId: string): Bytes {
  return new ByteWriter(1 + stashId.length).u8(KEY_SPACE.stashHead).bytes(utf8(stashId)).finish()
}

export function chunkKey(stashNonce: Bytes, serial: string): Bytes {
  return nonceWriter(KEY_SPACE.chunk, stashNonce).bytes(utf8(serial)).finish()
}

export function serialOfChunkKey(key: Bytes): string {
  return sliceText(key, 9, key.length)
}

export function chunksRange(stashNonce: Bytes): KeyRange {
  return prefixRange(nonceWriter(KEY_SPACE.chunk, stashNonce).finish())
}

export function columnListKey(stashNonce: Bytes, crc: number, probe: number): Bytes {
  return nonceWriter(KEY_SPACE.columnList, stashNonce).u32(crc).u32(probe).finish()
}

export function columnListsRange(stashNonce: Bytes): KeyRange {
  return prefixRange(nonceWriter(KEY_SPACE.columnList, stashNonce).finish())
}

export function deadStashKey(stashNonce: Bytes): Bytes {
  return nonceWriter(KEY_SPACE.deadStash, stashNonce).finish()
}

export function stashNonceOf(key: Bytes): Bytes {
  return key.slice(1, 9)
}

/** The scope of an idempotency key: the first byte of its record's key. On disk: never reuse a number. */
const IDEMPOTENCY_SCOPE = Object.freeze({ team: 0x00, table: 0x01 })

/**
 * The key of an idempotency record, which holds the result of an operation.
 * @param table - null; or the table of an add that an earlier version stored, whose idempotency keys were per table.
 * @param text - The caller's idempotency key: ASCII.
 */
export function idempotencyRecordKey(table: TableKey | null, text: string): Bytes {
  const writer = new ByteWriter(18 + text.length).u8(KEY_SPACE.idempotency)
  if (table === null) return writer.u8(IDEMPOTENCY_SCOPE.team).bytes(utf8(text)).finish()
  invariant(table.length === 16, 'a table key has 16 bytes')
  return writer.u8(IDEMPOTENCY_SCOPE.table).bytes(table).bytes(utf8(text)).finish()
}

/** The caller's key in the key of an idempotency record; empty for an earlier version's record of a table. */
export function textOfIdempotencyKey(key: Bytes): string {
  return key[1] === IDEMPOTENCY_SCOPE.team ? fromUtf8(key.subarray(2)) : ''
}

/** The 16 random bytes of a file or an upload. */
export type FileKey = Bytes

export function uploadKey(upload: FileKey): Bytes {
  return fileWriter(KEY_SPACE.upload, upload).finish()
}

export function fileKey(file: FileKey): Bytes {
  return fileWriter(KEY_SPACE.file, file).finish()
}

export function fileMarkerKey(file: FileKey): Bytes {
  return fileWriter(KEY_SPACE.fileMarker, file).finish()
}

/** The key of the marker for many files of the team. It sorts before the keys of markers for single files. */
export const MANY_FILES_MARKER_KEY: Bytes = Uint8Array.of(KEY_SPACE.fileMarker)

/** The ID in the key of an upload, a file or a marker. */
export function fileOfKey(key: Bytes): FileKey {
  invariant(key.length === 17, 'the key names a file or an upload')
  return key.slice(1)
}

/** The 16 random bytes of a job. */
export type JobKey = Bytes

/** The kinds of a job's records. Written to disk: never change or reuse a number. */
export const JOB_PART = Object.freeze({ record: 0x00, lease: 0x01, result: 0x02 })

export function jobKey(job: JobKey): Bytes {
  return fileWriter(KEY_SPACE.job, job, 1).u8(JOB_PART.record).finish()
}

export function jobLeaseKey(job: JobKey): Bytes {
  return fileWriter(KEY_SPACE.job, job, 1).u8(JOB_PART.lease).finish()
}

/** @param number - The index of the part of the result. */
export function jobResultKey(job: JobKey, number: number): Bytes {
  return fileWriter(KEY_SPACE.job, job, 5).u8(JOB_PART.result).u32(number).finish()
}

export function jobResultsRange(job: JobKey): KeyRange {
  return prefixRange(fileWriter(KEY_SPACE.job, job, 1).u8(JOB_PART.result).finish())
}

/** The job of a record's key; null: another kind of key. */
export function jobOfKey(key: Bytes): JobKey | null {
  return key.length === 18 && key[17] === JOB_PART.record ? key.slice(1, 17) : null
}

/** The job of the key of a part of a result; null: another kind of key. */
export function jobOfResultKey(key: Bytes): JobKey | null {
  return key.length === 22 && key[17] === JOB_PART.result ? key.slice(1, 17) : null
}

/** A key of the system partition, for a job that has not ended. */
export function openJobKey(job: JobKey, teamId: string): Bytes {
  const name = utf8(teamId)
  return fileWriter(KEY_SPACE.openJob, job, name.length).bytes(name).finish()
}

export function decodeOpenJobKey(key: Bytes): Readonly<{ job: JobKey; teamId: string }> {
  invariant(key.length > 17, 'the key names a job and a team')
  return { job: key.slice(1, 17), teamId: fromUtf8(key.subarray(17)) }
}

/** A key of the system partition. @param id - The 8 random bytes of an API key's ID. */
export function apiKeyKey(id: Bytes): Bytes {
  return nonceWriter(KEY_SPACE.apiKey, id).finish()
}

/** The ID in the key of an API key. */
export function idOfApiKeyKey(key: Bytes): Bytes {
  invariant(key.length === 9, 'the key names an API key')
  return key.slice(1)
}

/** A key of the system partition. @param incarnation - The first 16 hex digits of its object IDs. */
export function incarnationKey(incarnation: string): Bytes {
  return nonceWriter(KEY_SPACE.incarnation, bytesOfIncarnation(incarnation)).finish()
}

export function writerKey(incarnation: string): Bytes {
  return nonceWriter(KEY_SPACE.writer, bytesOfIncarnation(incarnation)).finish()
}

/** The incarnation in the key of its record, or of its writer record. */
export function incarnationOfKey(key: Bytes): string {
  invariant(key.length === 9, 'the key names an incarnation')
  return toHex(key.subarray(1))
}

/** Maintenance that one process of a shared store does. Written to disk: never change or reuse a number. */
export const DUTY = Object.freeze({
  garbageCollection: 1,
  compaction: 2,
  files: 3,
  objects: 4,
  recompression: 5,
})

export type Duty = keyof typeof DUTY

/** The key of a duty's lease. */
export function dutyKey(duty: Duty): Bytes {
  return Uint8Array.of(KEY_SPACE.duty, DUTY[duty])
}

function bytesOfIncarnation(incarnation: string): Bytes {
  const bytes = fromHex(incarnation)
  invariant(bytes?.length === 8, 'an incarnation has 16 hex digits')
  return bytes
}

/** A key of the system partition. */
export function teamEntryKey(teamId: string): Bytes {
  return teamWriter(KEY_SPACE.teamEntry, teamId)
}

/** A key of the system partition. Its record maps the 8 bytes in file IDs to the team. */
export function aliasKey(alias: Bytes): Bytes {
  return nonceWriter(KEY_SPACE.alias, alias).finish()
}

/** A key of the system partition. Its record maps a team to the 8 bytes in its file IDs. */
export function teamAliasKey(teamId: string): Bytes {
  return teamWriter(KEY_SPACE.teamAlias, teamId)
}

/** A key with its space, its table and `more` zero bytes to fill. Called per row read, so it avoids `tableWriter`. */
function tableBytes(space: number, table: TableKey, more: number): Uint8Array {
  invariant(table.length === 16, 'a table key has 16 bytes')
  const key = new Uint8Array(17 + more)
  key[0] = space
  for (let i = 0; i < 16; i++) key[1 + i] = table[i] ?? 0
  return key
}

function putUint48(key: Uint8Array, at: number, value: number): void {
  invariant(Number.isInteger(value) && value >= 0 && value < 2 ** 48, 'a u48 has six bytes')
  const high = Math.floor(value / 2 ** 32)
  key[at] = high >>> 8
  key[at + 1] = high & 0xff
  key[at + 2] = (value >>> 24) & 0xff
  key[at + 3] = (value >>> 16) & 0xff
  key[at + 4] = (value >>> 8) & 0xff
  key[at + 5] = value & 0xff
}

function tableWriter(space: number, table: TableKey, more: number): ByteWriter {
  invariant(table.length === 16, 'a table key has 16 bytes')
  return new ByteWriter(17 + more).u8(space).bytes(table)
}

function teamWriter(space: number, teamId: string): Bytes {
  const name = utf8(teamId)
  return new ByteWriter(1 + name.length).u8(space).bytes(name).finish()
}

function fileWriter(space: number, file: FileKey | JobKey, more = 0): ByteWriter {
  invariant(file.length === 16, 'the key of a file or a job has 16 bytes')
  return new ByteWriter(17 + more).u8(space).bytes(file)
}

function nonceWriter(space: number, nonce: Bytes): ByteWriter {
  invariant(nonce.length === 8, 'a nonce has 8 bytes')
  return new ByteWriter(32).u8(space).bytes(nonce)
}
