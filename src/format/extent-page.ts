// Extent pages: up to 256 extent entries in one record. FORMAT.md section 4.
//
// Invariants:
// - Entry i of page p is extent 256 * p + i; entries are appended in order and never removed.
// - A generation starts at a page's first entry, so no page belongs to two generations.
import { type Bytes, fromHex, toHex } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { PAGE_EXTENTS } from './keys.js'
import {
  type PlacedInShared,
  readShared,
  SHARED_BYTES,
  type SharedPlace,
  someShare,
  storedIn,
  writeShared,
} from './shared-objects.js'

/** The place of a segment, and what a reader must know before opening it. */
export type SegmentRef = Readonly<{
  /** The ID of the segment, which its checksums cover. It is also the ID of the object, unless the object is shared. */
  object: ObjectId
  rowCount: number
  /** The length of the segment. It is also the length of the object, unless the object is shared. */
  objectBytes: number
  footerBytes: number
  /** The place of the segment, if its object is shared: see `storedIn`. */
  shared?: SharedPlace
}>

/**
 * Makes a reference, member by member: see PERFORMANCE.md, P34.
 * @param place - null: the segment fills the object of the record.
 */
export function segmentRef(
  place: PlacedInShared | null,
  object: Bytes,
  rowCount: number,
  objectBytes: number,
  footerBytes: number,
): SegmentRef {
  if (place === null) return { object: toHex(object), rowCount, objectBytes, footerBytes }
  return { object: place.object, rowCount, objectBytes, footerBytes, shared: place.shared }
}

export type ExtentEntry = Readonly<{
  nonce: Bytes
  /** The segment with rows of the extent; null: all rows of the extent are row records. */
  segment: SegmentRef | null
  rowCount: number
  /** The version that the table got when the extent was added to it. */
  version: number
  /** Whether some stored cells are not tokens of their column's type, such as `12` for text: readers convert them. */
  convert: boolean
  /** Whether a compaction made the segment, so that its footer may list row versions and deleted rows. */
  compacted: boolean
  /** Whether rows of the segment may name files, which its footer then lists. */
  namesFiles: boolean
  /** Whether recompression ignores the segment, which is already as small as possible or not worth the effort. */
  recompressed: boolean
}>

/**
 * The entry of an extent after its rows and row records were rewritten into a segment.
 * @param segment - null: no rows remain.
 */
export function rewrittenEntry(
  entry: ExtentEntry,
  segment: SegmentRef | null,
  namesFiles: boolean,
): ExtentEntry {
  return { ...entry, segment, compacted: true, namesFiles, recompressed: false }
}

const ENTRY_BYTES = 48
/** Offset of the flags within an entry. */
const FLAGS_OFFSET = 36
const VERSION = 1
/** The record version of a page with a segment in a shared object. */
const SHARED_VERSION = 2
const HAS_OBJECT = 0x0001
const CONVERT = 0x0002
const COMPACTED = 0x0004
const NAMES_FILES = 0x0008
const RECOMPRESSED = 0x0020
const NO_OBJECT: Bytes = new Uint8Array(16)

export function encodeExtentPage(entries: readonly ExtentEntry[]): Bytes {
  invariant(entries.length <= PAGE_EXTENTS, 'an extent page has at most 256 entries')
  const version = someShare(entries.map(({ segment }) => segment)) ? SHARED_VERSION : VERSION
  const writer = new ByteWriter(1 + entryBytes(version) * entries.length).u8(version)
  for (const entry of entries) {
    const { segment } = entry
    const form = (entry.convert ? CONVERT : 0) | (entry.compacted ? COMPACTED : 0)
    const content = (segment === null ? 0 : HAS_OBJECT) | (entry.namesFiles ? NAMES_FILES : 0)
    const recompressed = entry.recompressed ? RECOMPRESSED : 0
    writer.bytes(entry.nonce).bytes(segment === null ? NO_OBJECT : objectBytes(storedIn(segment)))
    writer
      .u32(entry.rowCount)
      .u64(entry.version)
      .u16(form | content | recompressed)
    writer.u48(segment?.objectBytes ?? 0).u32(segment?.footerBytes ?? 0)
    if (version === SHARED_VERSION) writeShared(writer, segment)
  }
  return writer.finish()
}

export function decodeExtentPage(bytes: Bytes): ExtentEntry[] {
  const reader = new ByteReader(bytes, 'extent page')
  const version = reader.recordVersion(SHARED_VERSION)
  if (reader.left % entryBytes(version) !== 0) throw reader.corrupt('it ends within an entry')
  const entries: ExtentEntry[] = []
  while (reader.left > 0) entries.push(readEntry(reader, version))
  return entries
}

/** Decodes one entry of a page, or null when the page has no such entry. */
export function decodeExtentEntry(bytes: Bytes, index: number): ExtentEntry | null {
  const version = bytes[0] ?? 0
  const length = entryBytes(version)
  const start = 1 + length * index
  if (version < VERSION || version > SHARED_VERSION || start + length > bytes.length) return null
  return readEntry(new ByteReader(bytes.subarray(start, start + length), 'extent entry'), version)
}

function entryBytes(version: number): number {
  return version === SHARED_VERSION ? ENTRY_BYTES + SHARED_BYTES : ENTRY_BYTES
}

/** Whether a page has a segment that recompression has not examined. Decodes no entry. */
export function hasUnrecompressed(bytes: Bytes): boolean {
  const step = entryBytes(bytes[0] ?? 0)
  for (let at = 1 + FLAGS_OFFSET; at < bytes.length; at += step) {
    const flags = bytes[at + 1] ?? 0 // The flags examined here are all in the lower byte.
    if ((flags & (HAS_OBJECT | RECOMPRESSED)) === HAS_OBJECT) return true
  }
  return false
}

/** The 16 bytes of an object ID. */
export function objectBytes(id: ObjectId): Bytes {
  const bytes = fromHex(id)
  invariant(bytes !== null && bytes.length === 16, 'an object id is 32 hex digits')
  return bytes
}

function readEntry(reader: ByteReader, recordVersion: number): ExtentEntry {
  const nonce = reader.bytes(8)
  const object = reader.bytes(16)
  const rowCount = reader.u32()
  const version = reader.u64()
  const flags = reader.u16()
  const objectBytes = reader.u48()
  const footerBytes = reader.u32()
  const place = recordVersion === SHARED_VERSION ? readShared(reader, object) : null
  return {
    nonce,
    segment:
      (flags & HAS_OBJECT) !== 0
        ? segmentRef(place, object, rowCount, objectBytes, footerBytes)
        : null,
    rowCount,
    version,
    convert: (flags & CONVERT) !== 0,
    compacted: (flags & COMPACTED) !== 0,
    namesFiles: (flags & NAMES_FILES) !== 0,
    recompressed: (flags & RECOMPRESSED) !== 0,
  }
}
