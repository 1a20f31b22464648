// The keys of the rows in linked segments. Together they form a run of the index.
import type { Bytes } from '../../base/bytes.js'
import { sameBytes } from '../../base/bytes.js'
import type { SegmentRef } from '../../format/extent-page.js'
import type { KeyHasher } from '../../format/key-hash.js'
import {
  BUCKET_ENTRY_BYTES,
  bitsOfRun,
  decodeKeyEntry,
  encodeKeyBucket,
  encodeKeyIndex,
  hashOfEntryKey,
  type IndexPlace,
  type KeyIndexRecord,
  type KeyRun,
  keyBucketKey,
  keyEntriesRange,
  keyIndexKey,
} from '../../format/key-index.js'
import { type Position, tableHeadKey } from '../../format/keys.js'
import { decodeTableHead, type TableHead } from '../../format/records.js'
import type { KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import type { Change } from '../commit/table-writer.js'
import type { StoreContext } from '../context/store-context.js'
import { WALK_AT_WILL } from '../segments/read-ahead.js'
import type { KeyIndex } from './key-index.js'
import { KeyedRows } from './keyed-rows.js'
import { KEYED_ROWS_MAX } from './keyed-rows-max.js'

/** The work of a hash. The unit is the work on a byte. */
export const HASH_WORK = 256

/** Maximum number of entries of a run that absorbs older runs, which bounds what a commit writes again. */
const JOINED_ENTRIES_MAX = KEYED_ROWS_MAX / 8

export type LinkedSegment = Readonly<{ extent: number; ref: SegmentRef }>

type LinkingContext = Pick<StoreContext, 'segments' | 'slices'>

/** The keys of all rows of some segments. */
export async function linkedKeys(
  { segments, slices: turns }: LinkingContext,
  hasher: KeyHasher,
  linked: readonly LinkedSegment[],
): Promise<KeyedRows> {
  const keys = new KeyedRows()
  const slices = turns.begin()
  for (const { extent, ref } of linked) {
    const run = { ref, start: 0, limit: ref.rowCount }
    const walk = segments.walk(() => [run], WALK_AT_WILL)
    try {
      for await (const pieces of walk.frames(run)) {
        for (const { frame, first, limit, slot } of pieces) {
          for (let row = first; row < limit; row++) {
            const hash = hasher.ofRow(frame.texts, frame.endOf(row - 1), frame.endOf(row))
            if (hash !== null) keys.add(hash, { extent, slot: slot + row - first })
            if (slices.spend(HASH_WORK)) await slices.pause()
          }
          if (slices.spend(frame.texts.length)) await slices.pause()
        }
      }
    } finally {
      await walk.close()
    }
  }
  return keys
}

/** The stored text of a linked row. */
export async function textAt(
  { segments }: Pick<LinkingContext, 'segments'>,
  linked: readonly LinkedSegment[],
  { extent, slot }: Position,
): Promise<string | null> {
  const segment = linked.find((one) => one.extent === extent)
  return segment === undefined ? null : segments.rowText(segment.ref, slot)
}

type Checked = Readonly<{
  partition: KvPartition
  before: TableHead
  index: KeyIndex
  run: KeyedRows
  /** Called for each row of the index whose hash the run has too: with the hash's place in the run and its position. */
  check(place: number, position: Position): Promise<void>
}>

/** Looks up the keys of a run in an index. */
export async function checkRunAgainstIndex(
  { slices: turns }: Pick<LinkingContext, 'slices'>,
  { partition, before, index, run, check }: Checked,
): Promise<void> {
  const slices = turns.begin()
  const look = async (hash: Bytes, position: Position): Promise<void> => {
    const place = run.find(hash)
    if (place >= 0) await check(place, position)
    if (slices.spend(hash.length)) await slices.pause()
  }
  for (const { run: number, bits } of index.record.runs) {
    for (const bucket of run.bucketsOf(bits)) {
      const { hashes, positions } = await index.bucket(number, bucket)
      for (const [at, hash] of hashes.entries()) {
        const [place, position] = [run.find(hash), positions[at]]
        if (place >= 0 && position !== undefined) await check(place, position)
      }
      if (slices.spend(BUCKET_ENTRY_BYTES * hashes.length)) await slices.pause()
    }
  }
  await partition.read(async (view) => {
    const { table } = index.place
    await checkSameHead(before, await view.get(tableHeadKey(table)))
    for await (const entries of scanBatches(view, keyEntriesRange(index.place))) {
      for (const [key, record] of entries) await look(hashOfEntryKey(key), decodeKeyEntry(record))
    }
  })
}

/**
 * Checks that a view does not lack commits on which a plan was made. Ranges are read from a view, and commits of this
 * process that are in flight are not in it. A later head is no failure here: the plan's commit is then refused anyway.
 * @throws {StoreError} STORAGE_UNAVAILABLE: if commits are in flight; the queue of the table plans again after these
 *   commits
 */
export function checkSameHead(planned: TableHead, bytes: Bytes | null): void {
  const head = bytes === null ? null : decodeTableHead(bytes)
  if (head === null || sameBytes(head.commitNonce, planned.commitNonce)) return
  if (head.version < planned.version) throw tooBusy('The rows of the table keep changing')
}

type Written = Readonly<{ puts: Change['puts']; deletes: readonly Bytes[] }>

/**
 * The records of a run, and of the index that has it. The run absorbs older runs that are not larger, so that an index
 * has few runs.
 * @param to - The index that gets the run.
 * @param from - The index from which the older runs are read.
 */
export async function planKeyRun(
  { slices: turns }: Pick<LinkingContext, 'slices'>,
  rows: KeyedRows,
  to: IndexPlace,
  record: KeyIndexRecord,
  from: KeyIndex | null,
): Promise<Written> {
  const kept: KeyRun[] = [...record.runs]
  const deletes: Bytes[] = []
  for (let last = kept[kept.length - 1]; last !== undefined; last = kept[kept.length - 1]) {
    const { run, bits, entries } = last
    if (from === null || entries > rows.count || rows.count + entries > JOINED_ENTRIES_MAX) break
    kept.pop()
    for (let bucket = 0; bucket < 2 ** bits; bucket++) {
      rows.addAll(await from.bucket(run, bucket))
      deletes.push(keyBucketKey(to, run, bucket))
    }
  }
  const { columns, nextRun: run } = record
  const puts: (readonly [Bytes, Bytes])[] = []
  if (rows.count > 0) {
    const slices = turns.begin()
    await slices.run(rows.sort())
    for (const { bucket, entries } of rows.buckets()) {
      puts.push([keyBucketKey(to, run, bucket), encodeKeyBucket(entries)])
      if (slices.spend(entries.length)) await slices.pause()
    }
    kept.push({ run, bits: bitsOfRun(rows.count), entries: rows.count })
  }
  puts.push([keyIndexKey(to), encodeKeyIndex({ columns, nextRun: run + 1, runs: kept })])
  return { puts, deletes }
}
