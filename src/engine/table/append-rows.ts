// Plans how rows are appended to a generation: segments are linked as sealed extents; if the rows are few, they go to
// the open extent as row records. Reads only the last extent page.
//
// Invariants:
// - Positions are assigned in input order, after all positions of the generation.
// - An extent that was opened before commits may have been lost takes no more rows, so that no row gets the ID of a
//   lost row.
// - Only the last extent of a generation is open. It is closed (with an entry) before another follows.
import { type Awaitable, chain } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import type { Random } from '../../base/random.js'
import type { ExtentEntry } from '../../format/extent-page.js'
import type { FileIds } from '../../format/file-references.js'
import { extentPageKey, PAGE_EXTENTS, rowKey, type TableKey } from '../../format/keys.js'
import { encodeRowRecord, type Generation, type OpenExtent } from '../../format/records.js'
import type { KvCheck, ReadRecord } from '../../kv/kv.js'
import { appendEntries, closedEntry, NO_PAGES, type PagePuts } from '../caches/extents.js'
import { filesOfRecords, newMarkedFiles } from '../commit/file-markers.js'
import type { RowIdRun } from '../ids/row-ids.js'
import type { LinkableRows } from '../import/rows-reader.js'

export type Appended = Readonly<{
  next: Generation
  puts: readonly (readonly [key: Bytes, value: Bytes])[]
  checks: readonly KvCheck[]
  /** The positions of the rows, in input order. */
  runs: readonly RowIdRun[]
  /** Files to mark in the same commit; see `file-markers.ts`. */
  files: FileIds
}>

/** An open extent is full when it has this many rows, or row records of this many bytes. */
const OPEN_ROWS_MAX = 1_024
const OPEN_BYTES_MAX = 1024 * 1024

const NONCE_BYTES = 8
const NONCES_AT_ONCE = 128

export type AppendPlace = Readonly<{
  read: ReadRecord
  random: Random
  table: TableKey
  generation: Generation
  /** The table version that the commit makes. */
  version: number
  /** The current version base of the store, for an extent opened now. */
  base: number
}>

export function linkableCount(rows: LinkableRows): number {
  if ('texts' in rows) return rows.texts.length
  return rows.segments.reduce((count, { ref }) => count + ref.rowCount, 0)
}

/** Size of the rows as they are stored, in bytes. */
export function linkableBytes(rows: LinkableRows): number {
  if ('texts' in rows) return rows.texts.reduce((bytes, text) => bytes + text.length, 0)
  return rows.segments.reduce((bytes, { ref }) => bytes + ref.objectBytes, 0)
}

export function appendRows(place: AppendPlace, rows: LinkableRows): Awaitable<Appended> {
  if (linkableCount(rows) === 0) {
    return { next: place.generation, ...NO_PAGES, runs: [], files: newMarkedFiles() }
  }
  return 'texts' in rows ? appendTexts(place, rows.texts) : appendSegments(place, rows)
}

async function appendSegments(
  place: AppendPlace,
  { segments, files }: Extract<LinkableRows, { segments: unknown }>,
): Promise<Appended> {
  const { generation, version } = place
  const nonces = freshNonces(place.random)
  const entries = segments.map(({ ref, needsQuoting: convert, namesFiles }): ExtentEntry => {
    const { rowCount } = ref
    const form = { convert, compacted: false, namesFiles, recompressed: false }
    return { nonce: nonces(), segment: ref, rowCount, version, ...form }
  })
  const first = generation.nextExtent
  const runs = entries.map(({ nonce, rowCount }, i): RowIdRun => {
    return { nonce, extent: first + i, firstSlot: 0, count: rowCount }
  })
  const pages = await closeOpenAndAppend(place, entries)
  const nextExtent = first + segments.length
  const liveRows = generation.liveRows + linkableCount({ segments, files })
  return { next: { ...generation, nextExtent, liveRows, open: null }, ...pages, runs, files }
}

function appendTexts(place: AppendPlace, texts: readonly string[]): Awaitable<Appended> {
  const { generation, version, table, base } = place
  const { schemaNumber } = generation
  const records = texts.map((text) => encodeRowRecord({ version, schemaNumber, text }))
  const bytes = records.reduce((sum, record) => sum + record.length, 0)
  const kept = generation.open
  const fits =
    kept !== null &&
    kept.base === base &&
    kept.nextSlot + texts.length <= OPEN_ROWS_MAX &&
    kept.textBytes + bytes <= OPEN_BYTES_MAX
  const open: OpenExtent = fits
    ? kept
    : {
        extent: generation.nextExtent,
        nonce: place.random.bytes(NONCE_BYTES),
        nextSlot: 0,
        textBytes: 0,
        base,
      }
  const { extent, nonce, nextSlot: firstSlot } = open
  const puts = records.map((record, i) => {
    return [rowKey(table, { extent, slot: firstSlot + i }), record] as const
  })
  const next: Generation = {
    ...generation,
    nextExtent: open.extent + 1,
    liveRows: generation.liveRows + texts.length,
    open: { ...open, nextSlot: firstSlot + texts.length, textBytes: open.textBytes + bytes },
  }
  const runs = [{ nonce, extent, firstSlot, count: texts.length }]
  const files = filesOfRecords(records)
  return chain(fits ? NO_PAGES : closeOpenAndAppend(place, []), (pages) => {
    return { next, puts: [...pages.puts, ...puts], checks: pages.checks, runs, files }
  })
}

/** The key of the page that segments are appended to. */
export function lastPageKey(table: TableKey, { open, nextExtent }: Generation): Bytes {
  return extentPageKey(table, Math.floor((open?.extent ?? nextExtent) / PAGE_EXTENTS))
}

/** The pages that close the open extent, if there is one, and append entries after it. */
async function closeOpenAndAppend(
  { read, table, generation, version }: AppendPlace,
  entries: readonly ExtentEntry[],
): Promise<PagePuts> {
  const { open, nextExtent } = generation
  if (open === null) return appendEntries(read, table, nextExtent, entries)
  return appendEntries(read, table, open.extent, [closedEntry(open, version), ...entries])
}

/** A source of nonces that calls the random source only every few nonces. */
function freshNonces(random: Random): () => Bytes {
  let bytes = new Uint8Array(0)
  let at = 0
  return () => {
    if (at === bytes.length) {
      bytes = Uint8Array.from(random.bytes(NONCES_AT_ONCE * NONCE_BYTES))
      at = 0
    }
    at += NONCE_BYTES
    return bytes.slice(at - NONCE_BYTES, at)
  }
}
