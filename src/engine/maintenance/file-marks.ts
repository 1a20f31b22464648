// Marks the files that rows still name.
//
// Invariants:
// - The mark covers all places where rows are: row records; the extents of all generations that have pages (the
//   current, retired and half deleted ones); and the chunks of stashes. One view lists these places.
// - A segment row under a row record is skipped: the record replaces the row, and no compaction reverts that. So a
//   value that an update or a deletion has removed from a table does not prevent the deletion of a file.
// - Segments are read after the view. A segment that cannot be read may name any file: then the mark has no result, and
//   the caller must keep all files. (The end of a stash or a compaction may have removed the segment's name meanwhile;
//   the next mark finds its rows in their new place.)
import { type Bytes, sameBytes, toHex, utf8 } from '../../base/bytes.js'
import { isStoreError } from '../../base/store-error.js'
import { decodeChunkSegments } from '../../format/chunk-records.js'
import { decodeExtentPage, type SegmentRef } from '../../format/extent-page.js'
import { filesIn, listedFiles } from '../../format/file-references.js'
import {
  CHUNKS_RANGE,
  decodeRowKey,
  EXTENT_PAGES_RANGE,
  type FileKey,
  firstExtentOfPageKey,
  ROWS_RANGE,
  rowKey,
  tableOfKey,
} from '../../format/keys.js'
import { textNamingFiles } from '../../format/records.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { StoreContext } from '../context/store-context.js'

/** A partition whose rows may name files. */
export type FilePlace = Readonly<{
  partition: KvPartition
  /** Called before each segment is read. */
  checkGoesOn: CheckGoesOn
}>

/**
 * Marks the files among `candidates` that rows name.
 * @returns the files that no row names, in the given order; null if a segment could not be read.
 */
export async function collectUnreferenced(
  { segments }: Pick<StoreContext, 'segments'>,
  { partition, checkGoesOn }: FilePlace,
  candidates: readonly FileKey[],
): Promise<FileKey[] | null> {
  const sought = new SoughtFiles(candidates)
  const places = await partition.read((view) => readPlaces(view, sought))
  try {
    for (const { segment, hidden } of places) {
      if (sought.isDone) break
      checkGoesOn()
      await markSegment(segments, sought, segment, hidden)
    }
  } catch (failure) {
    if (isStoreError(failure) && failure.code === 'DATA_CORRUPT') return null
    throw failure
  }
  return candidates.filter((file) => sought.has(file))
}

/** The candidates that no row has been found to name. */
class SoughtFiles {
  /** The files by their first six bytes as a number: a number is faster to look up than a text. */
  readonly #files = new Map<number, FileKey[]>()

  constructor(files: readonly FileKey[]) {
    for (const file of files) {
      const name = numberOfFile(file)
      this.#files.set(name, [...(this.#files.get(name) ?? []), file])
    }
  }

  get isDone(): boolean {
    return this.#files.size === 0
  }

  has(file: FileKey): boolean {
    return this.#files.get(numberOfFile(file))?.some((other) => sameBytes(other, file)) ?? false
  }

  found(file: FileKey): void {
    const name = numberOfFile(file)
    const left = this.#files.get(name)?.filter((other) => !sameBytes(other, file))
    if (left === undefined) return
    if (left.length === 0) this.#files.delete(name)
    else this.#files.set(name, left)
  }
}

function numberOfFile(file: FileKey): number {
  let number = 0
  for (let i = 0; i < 6; i++) number = 256 * number + (file[i] ?? 0)
  return number
}

/** A segment that may name files, and its slots that row records hide. */
type Place = Readonly<{ segment: SegmentRef; hidden: number[] }>

/**
 * Marks the files that row records name, and lists the segments to read: first the segments of stashes, which have no
 * hidden rows.
 */
async function readPlaces(view: KvView, sought: SoughtFiles): Promise<Place[]> {
  const places: Place[] = []
  for await (const entries of scanBatches(view, CHUNKS_RANGE)) {
    for (const [, reference] of entries) {
      const { namesFiles, segments } = decodeChunkSegments(reference)
      if (namesFiles) for (const segment of segments) places.push({ segment, hidden: [] })
    }
  }
  const extents = await readExtents(view)
  for await (const entries of scanBatches(view, ROWS_RANGE)) {
    for (const [key, record] of entries) {
      if (extents.size > 0) extents.get(extentName(key))?.hidden.push(decodeRowKey(key).slot)
      const text = textNamingFiles(record)
      if (text !== null) for (const file of filesIn(text)) sought.found(file)
    }
  }
  return [...places, ...extents.values()]
}

/** The sealed extents with segments that may name files, by `extentName`. */
async function readExtents(view: KvView): Promise<Map<string, Place>> {
  const extents = new Map<string, Place>()
  for await (const entries of scanBatches(view, EXTENT_PAGES_RANGE)) {
    for (const [key, page] of entries) {
      const table = tableOfKey(key)
      const first = firstExtentOfPageKey(key)
      decodeExtentPage(page).forEach(({ segment, namesFiles }, i) => {
        if (segment === null || !namesFiles) return
        const name = extentName(rowKey(table, { extent: first + i, slot: 0 }))
        extents.set(name, { segment, hidden: [] })
      })
    }
  }
  return extents
}

/** The table and extent in the key of a row record. */
function extentName(key: Bytes): string {
  return toHex(key.subarray(1, 23))
}

type Segments = StoreContext['segments']

async function markSegment(
  segments: Segments,
  sought: SoughtFiles,
  segment: SegmentRef,
  hidden: readonly number[],
): Promise<void> {
  const { files } = await segments.footerOnce(segment)
  if (files === null) return
  if (files.length === 0) return markRows(segments, sought, segment, hidden, () => sought.isDone)
  const named = [...listedFiles(files)].filter((file) => sought.has(file))
  if (named.length === 0) return
  const doubtful = await namedByHidden(segments, sought, segment, hidden)
  for (const file of named) if (!doubtful.has(file)) sought.found(file)
  // The files that hidden rows name are left: visible rows may name them, too. The search ends when all are found.
  const isDone = (): boolean => !named.some((file) => sought.has(file))
  if (!isDone()) await markRows(segments, sought, segment, hidden, isDone)
}

/** The sought files that hidden rows of a segment name. */
async function namedByHidden(
  segments: Segments,
  sought: SoughtFiles,
  segment: SegmentRef,
  hidden: readonly number[],
): Promise<SoughtFiles> {
  const named: FileKey[] = []
  for (const slot of hidden) {
    for await (const texts of segments.rowTexts(segment, slot, slot + 1)) {
      for (const text of texts) {
        for (const file of filesIn(utf8(text))) if (sought.has(file)) named.push(file)
      }
    }
  }
  return new SoughtFiles(named)
}

/** Marks the files that the visible rows of a segment name. */
async function markRows(
  segments: Segments,
  sought: SoughtFiles,
  segment: SegmentRef,
  hidden: readonly number[],
  isDone: () => boolean,
): Promise<void> {
  const isHidden = new Set(hidden)
  let slot = 0
  for await (const texts of segments.rowTexts(segment, 0, segment.rowCount)) {
    for (const text of texts) {
      if (isHidden.has(slot++)) continue
      for (const file of filesIn(utf8(text))) sought.found(file)
    }
    if (isDone()) return
  }
}
