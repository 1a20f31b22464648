// Encodes and decodes control records of teams, tables and rows. FORMAT.md section 4.
import { type Bytes, fromUtf8, putUint32, putUint64, toHex, utf8Behind } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { objectBytes } from './extent-page.js'
import { nameFiles } from './file-references.js'
import type { TableKey } from './keys.js'
import { newRecord, openRecord, RECORD_VERSION } from './record-frame.js'

/**
 * The `schemaNumber` of a row record of which only this is known: a column was widened after the row was written. The
 * number is written to disk; no schema gets it.
 */
export const EARLIER_SCHEMA = 0xffffffff

/** Offset of the text in a row record. Before it are record version, flags, version and schema number. */
const ROW_TEXT_START = 14

/** The extent in which small adds become row records. Only the last extent of a generation is open. */
export type OpenExtent = Readonly<{
  extent: number
  nonce: Bytes
  nextSlot: number
  textBytes: number
  /** The version base when the extent was opened. If it has grown, adds open another extent: slots may be lost. */
  base: number
}>

/** One complete set of a table's rows: the extents from `firstExtent` to `nextExtent` (exclusive). */
export type Generation = Readonly<{
  nonce: Bytes
  firstExtent: number
  nextExtent: number
  liveRows: number
  /** The number of rows deleted from this generation. If it has grown since a read, a row was deleted. */
  deletedRows: number
  schemaNumber: number
  /** The first extent added after a column was last widened: readers convert the rows of the extents before it. */
  convertBefore: number
  /** The table version that last widened a column, which changed every row; 0: none. */
  widenedAt: number
  open: OpenExtent | null
  /** Row IDs preserved from earlier generations. */
  forward: ForwardRef | null
  /** The name of the index of the table's key, 8 random bytes; null: the table has no key. */
  keyIndex: Bytes | null
}>

/** The object with the preserved row IDs of a generation. */
export type ForwardRef = Readonly<{ object: ObjectId; objectBytes: number }>

/** When a table was created, and last changed. 0: unknown. */
export type TableTimes = Readonly<{ createdAt: number; updatedAt: number }>

/** The record that every change of a table checks and rewrites. */
export type TableHead = Readonly<{
  version: number
  /** Random in every commit, so that a head's bytes never recur. */
  commitNonce: Bytes
  order: number
  generation: Generation
  /** The times of the table; absent in heads written by earlier versions. */
  times?: TableTimes | undefined
}>

/** A generation that an overwrite replaced, and that readers may still use. */
export type Retirement = Readonly<{
  dropping: boolean
  lastVersion: number
  retiredAt: number
  generation: Generation
}>

export type CatalogEntry = Readonly<{ table: TableKey; name: string }>

export type RowRecord = Readonly<{
  /** The table version in which the row last changed. */
  version: number
  schemaNumber: number
  /** The row's text, or null for a tombstone. */
  text: string | null
}>

export type StashHead = Readonly<{
  nonce: Bytes
  /** A number that grows when a chunk is replaced, so that a finalize based on the old chunk is rejected. */
  number: number
  /**
   * `expiring`: garbage collection has begun to expire the stash; a put reverts that. `expired`: its chunks are gone,
   * and it accepts no others until it is deleted or forgotten.
   */
  state: 'open' | 'expiring' | 'expired'
  /** When the stash was opened, or when it expired. */
  since: number
}>

/** The result of an operation with an idempotency key. */
export type IdempotencyRecord = Readonly<{
  operation: 'create' | 'add'
  /** When the operation was committed. */
  at: number
  table: TableKey
  version: number
  /** The digest of the request; null in records of version 1, which do not distinguish requests. */
  digest: Bytes | null
  /** The IDs of its rows, in input order. */
  runs: readonly Readonly<{ nonce: Bytes; extent: number; firstSlot: number; count: number }>[]
}>

export function encodeTeamHead(nextOrder: number): Bytes {
  return newRecord(7).u48(nextOrder).finish()
}

export function decodeTeamHead(bytes: Bytes): number {
  const reader = openRecord(bytes, 'team head')
  const nextOrder = reader.u48()
  reader.end()
  return nextOrder
}

/** @param codecs - One bit per codec, see `codecBit`. */
export function encodeCodecs(codecs: number): Bytes {
  return newRecord(2).u8(codecs).finish()
}

export function decodeCodecs(bytes: Bytes): number {
  const reader = openRecord(bytes, 'codecs')
  const codecs = reader.u8()
  reader.end()
  return codecs
}

export function encodeCatalogEntry({ table, name }: CatalogEntry): Bytes {
  return newRecord(64).bytes(table).text(name).finish()
}

export function decodeCatalogEntry(bytes: Bytes): CatalogEntry {
  const reader = openRecord(bytes, 'catalog entry')
  const entry = { table: reader.bytes(16), name: reader.text() }
  reader.end()
  return entry
}

/** The record of a team entry or a dead stash. All information is in its key. */
export const EMPTY_RECORD: Bytes = Uint8Array.of(RECORD_VERSION)

export function encodeTableHead(head: TableHead): Bytes {
  const { version, commitNonce, order, generation, times } = head
  invariant(commitNonce.length === 8, 'a commit nonce has 8 bytes')
  const writer = newRecord(160).u64(version).bytes(commitNonce).u48(order)
  writeGeneration(writer, generation)
  if (times !== undefined) writer.u48(times.createdAt).u48(times.updatedAt)
  return writer.finish()
}

export function decodeTableHead(bytes: Bytes): TableHead {
  const reader = openRecord(bytes, 'table head')
  const head = {
    version: reader.u64(),
    commitNonce: reader.bytes(8),
    order: reader.u48(),
    generation: readGeneration(reader),
    times: reader.left === 0 ? undefined : { createdAt: reader.u48(), updatedAt: reader.u48() },
  }
  reader.end()
  return head
}

const DROPPING = 0x01

export function encodeRetirement(retirement: Retirement): Bytes {
  const writer = newRecord(80).u8(retirement.dropping ? DROPPING : 0)
  writer.u64(retirement.lastVersion).u48(retirement.retiredAt)
  return writeGeneration(writer, retirement.generation).finish()
}

export function decodeRetirement(bytes: Bytes): Retirement {
  const reader = openRecord(bytes, 'retirement')
  const retirement = {
    dropping: (reader.u8() & DROPPING) !== 0,
    lastVersion: reader.u64(),
    retiredAt: reader.u48(),
    generation: readGeneration(reader),
  }
  reader.end()
  return retirement
}

/** @param json - The normalized schema. */
export function encodeSchema(json: string): Bytes {
  return newRecord(json.length + 8)
    .text(json)
    .finish()
}

export function decodeSchema(bytes: Bytes): string {
  const reader = openRecord(bytes, 'schema')
  const json = reader.text()
  reader.end()
  return json
}

const TOMBSTONE = 0x01
const NAMES_FILES = 0x02

export function encodeRowRecord({ version, schemaNumber, text }: RowRecord): Bytes {
  invariant(Number.isSafeInteger(version) && version >= 0, 'a version is a safe integer')
  invariant(schemaNumber >>> 0 === schemaNumber, 'a schema number has four bytes')
  const bytes = utf8Behind(ROW_TEXT_START, text ?? '')
  bytes[0] = RECORD_VERSION
  if (text === null) bytes[1] = TOMBSTONE
  else if (nameFiles(bytes.subarray(ROW_TEXT_START))) bytes[1] = NAMES_FILES
  putUint64(bytes, 2, version)
  putUint32(bytes, 10, schemaNumber)
  return bytes
}

/** Whether a row record is a tombstone. Does not decode its text. */
export function isTombstone(bytes: Bytes): boolean {
  return ((bytes[1] ?? 0) & TOMBSTONE) !== 0
}

/** The text of a row record if it names files; otherwise, or for a tombstone, null. */
export function textNamingFiles(bytes: Bytes): Bytes | null {
  return ((bytes[1] ?? 0) & NAMES_FILES) === 0 ? null : bytes.subarray(ROW_TEXT_START)
}

export function decodeRowRecord(bytes: Bytes): RowRecord {
  const reader = openRecord(bytes, 'row record')
  const tombstone = (reader.u8() & TOMBSTONE) !== 0
  const version = reader.u64()
  const schemaNumber = reader.u32()
  const run = reader.bytes(reader.left)
  try {
    return { version, schemaNumber, text: tombstone ? null : fromUtf8(run) }
  } catch (cause) {
    throw reader.corrupt('its text is not UTF-8', cause)
  }
}

/** The flags of a stash. Written to disk: never change or reuse a number. */
const STASH_FLAGS = Object.freeze({ open: 0, expiring: 0x01, expired: 0x02 })

export function encodeStashHead({ nonce, number, state, since }: StashHead): Bytes {
  return newRecord(24).bytes(nonce).u48(number).u8(STASH_FLAGS[state]).u48(since).finish()
}

export function decodeStashHead(bytes: Bytes): StashHead {
  const reader = openRecord(bytes, 'stash head')
  const [nonce, number] = [reader.bytes(8), reader.u48()]
  const flags = reader.u8()
  const state = STASH_STATES.find((one) => STASH_FLAGS[one] === flags)
  if (state === undefined) throw reader.corrupt(`its flags are ${flags}`)
  const since = reader.u48()
  reader.end()
  return { nonce, number, state, since }
}

const STASH_STATES = ['open', 'expiring', 'expired'] as const

/** The numbers of kinds of idempotency records. Written to disk: never change or reuse a number. */
const IDEMPOTENCY_KIND = Object.freeze({ create: 0x00, add: 0x01 })

const IDEMPOTENCY_RUN_BYTES = 20
const DIGEST_BYTES = 32

/** The version of an idempotency record with a digest. */
const IDEMPOTENCY_VERSION = 2

export function encodeIdempotencyRecord(given: IdempotencyRecord): Bytes {
  const { operation, at, table, version, digest, runs } = given
  const writer = new ByteWriter(64 + IDEMPOTENCY_RUN_BYTES * runs.length)
  writer.u8(digest === null ? RECORD_VERSION : IDEMPOTENCY_VERSION).u8(IDEMPOTENCY_KIND[operation])
  writer.u48(at).bytes(table).u64(version)
  if (digest !== null) writer.bytes(digest)
  for (const { nonce, extent, firstSlot, count } of runs) {
    writer.bytes(nonce).u48(extent).u16(firstSlot).u32(count)
  }
  return writer.finish()
}

export function decodeIdempotencyRecord(bytes: Bytes): IdempotencyRecord {
  const reader = new ByteReader(bytes, 'idempotency record')
  const recordVersion = reader.recordVersion(IDEMPOTENCY_VERSION)
  const kind = reader.u8()
  if (kind !== IDEMPOTENCY_KIND.create && kind !== IDEMPOTENCY_KIND.add) {
    throw reader.corrupt(`its kind is ${kind}`)
  }
  const operation = kind === IDEMPOTENCY_KIND.create ? 'create' : 'add'
  const fields = {
    operation,
    at: reader.u48(),
    table: reader.bytes(16),
    version: reader.u64(),
    digest: recordVersion === IDEMPOTENCY_VERSION ? reader.bytes(DIGEST_BYTES) : null,
  } as const
  const runs: IdempotencyRecord['runs'][number][] = []
  while (reader.left > 0) {
    const [nonce, extent] = [reader.bytes(8), reader.u48()]
    runs.push({ nonce, extent, firstSlot: reader.u16(), count: reader.u32() })
  }
  return { ...fields, runs }
}

export function writeGeneration(writer: ByteWriter, generation: Generation): ByteWriter {
  writer.bytes(generation.nonce).u48(generation.firstExtent).u48(generation.nextExtent)
  writer.u48(generation.liveRows).u48(generation.deletedRows).u32(generation.schemaNumber)
  writer.u48(generation.convertBefore).u64(generation.widenedAt)
  const { open: extent, forward, keyIndex } = generation
  const hasBase = extent !== null && extent.base > 0
  writer.u8(
    (extent === null ? 0 : HAS_OPEN) |
      (forward === null ? 0 : HAS_FORWARD) |
      (hasBase ? HAS_BASE : 0) |
      (keyIndex === null ? 0 : HAS_KEY),
  )
  if (extent !== null) {
    writer.u48(extent.extent).bytes(extent.nonce).u32(extent.nextSlot).u32(extent.textBytes)
  }
  if (hasBase) writer.u64(extent.base)
  if (forward !== null) writer.bytes(objectBytes(forward.object)).u48(forward.objectBytes)
  if (keyIndex !== null) writer.bytes(keyIndex)
  return writer
}

const HAS_OPEN = 0x01
const HAS_FORWARD = 0x02
const HAS_BASE = 0x04
const HAS_KEY = 0x08
const KEY_INDEX_BYTES = 8

/** One object is built member by member, not by spreading (PERFORMANCE.md, P34). */
export function readGeneration(reader: ByteReader): Generation {
  const nonce = reader.bytes(8)
  const [firstExtent, nextExtent] = [reader.u48(), reader.u48()]
  const [liveRows, deletedRows] = [reader.u48(), reader.u48()]
  const schemaNumber = reader.u32()
  const convertBefore = reader.u48()
  const widenedAt = reader.u64()
  const flags = reader.u8()
  const isKnown = (flags & ~(HAS_OPEN | HAS_FORWARD | HAS_BASE | HAS_KEY)) === 0
  if (!isKnown || (flags & (HAS_OPEN | HAS_BASE)) === HAS_BASE)
    throw reader.corrupt(`its flags are ${flags}`)
  return {
    nonce,
    firstExtent,
    nextExtent,
    liveRows,
    deletedRows,
    schemaNumber,
    convertBefore,
    widenedAt,
    open: flags & HAS_OPEN ? readOpen(reader, (flags & HAS_BASE) !== 0) : null,
    forward:
      flags & HAS_FORWARD ? { object: toHex(reader.bytes(16)), objectBytes: reader.u48() } : null,
    keyIndex: flags & HAS_KEY ? reader.bytes(KEY_INDEX_BYTES) : null,
  }
}

function readOpen(reader: ByteReader, hasBase: boolean): OpenExtent {
  const extent = reader.u48()
  const nonce = reader.bytes(8)
  const [nextSlot, textBytes] = [reader.u32(), reader.u32()]
  return { extent, nonce, nextSlot, textBytes, base: hasBase ? reader.u64() : 0 }
}
