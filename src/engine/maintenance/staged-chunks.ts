// Segments that both extents and chunks of stashes name. The commit that swaps a segment in its extent swaps it in the
// chunk, too: otherwise the old objects would stay as long as the stashes.
//
// Invariants:
// - A commit that rewrites the record of a chunk checks this record and the head of its stash, and increments the
//   number of the head. So a commit that read the chunk before, to link its rows or to replace it, is refused, and the
//   chunk is read again. No commit names an old object after the swap.
// - A stash that has ended or lost chunks stays as it is, because nobody uses it.
import { type Bytes, sameBytes, toHex } from '../../base/bytes.js'
import { decodeChunkSegments, withSegments } from '../../format/chunk-records.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { CHUNKS_RANGE, STASH_HEADS_RANGE, stashNonceOf } from '../../format/keys.js'
import { decodeStashHead, encodeStashHead } from '../../format/records.js'
import type { KvCheck, KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'
import { isWhole } from '../import/stash-records.js'

/** Where a segment is staged: the keys of the chunk and of the head of its stash. */
export type StagedIn = Readonly<{ chunk: Bytes; head: Bytes }>

/** A segment in a chunk, and its replacement. */
export type StagedSwap = Readonly<{ staged: StagedIn; before: SegmentRef; after: SegmentRef }>

/** The part of a commit that swaps segments in their chunks. */
export type ChunkSwaps = Readonly<{ checks: KvCheck[]; puts: (readonly [Bytes, Bytes])[] }>

/** The chunks that name some of a team's segments. Reads all chunks. */
export async function stagedAmong(
  partition: KvPartition,
  segments: ReadonlySet<ObjectId>,
): Promise<ReadonlyMap<ObjectId, StagedIn>> {
  const staged = new Map<ObjectId, StagedIn>()
  if (segments.size === 0) return staged
  await partition.read(async (view) => {
    const heads = await headKeys(view)
    for await (const chunks of scanBatches(view, CHUNKS_RANGE)) {
      for (const [key, record] of chunks) {
        const head = heads.get(toHex(stashNonceOf(key)))
        if (head === undefined) continue
        const chunk = key.slice()
        for (const { object } of decodeChunkSegments(record).segments) {
          if (segments.has(object)) staged.set(object, { chunk, head })
        }
      }
    }
  })
  return staged
}

/** The keys of the heads of stashes, by the nonces of the stashes. */
async function headKeys(view: KvView): Promise<ReadonlyMap<string, Bytes>> {
  const keys = new Map<string, Bytes>()
  for await (const heads of scanBatches(view, STASH_HEADS_RANGE)) {
    for (const [key, head] of heads) keys.set(toHex(decodeStashHead(head).nonce), key.slice())
  }
  return keys
}

/** @param base - The version base of the store. */
export async function planChunkSwaps(
  view: KvView,
  swaps: readonly StagedSwap[],
  base: number,
): Promise<ChunkSwaps> {
  const plan: ChunkSwaps = { checks: [], puts: [] }
  for (const [headKey, ofStash] of grouped(swaps, ({ staged }) => staged.head)) {
    const headBytes = await view.get(headKey)
    const head = headBytes === null ? null : decodeStashHead(headBytes)
    if (headBytes === null || head === null || !isWhole(head, base)) continue
    const chunks: ChunkSwaps = { checks: [], puts: [] }
    for (const [key, ofChunk] of grouped(ofStash, ({ staged }) => staged.chunk)) {
      const record = await view.get(key)
      if (record === null) continue
      const next = withSegments(record, (segment) => replaceSwapped(segment, ofChunk))
      if (sameBytes(next, record)) continue // The chunk was replaced.
      chunks.checks.push({ key, equals: record })
      chunks.puts.push([key, next])
    }
    if (chunks.puts.length === 0) continue
    const raised = encodeStashHead({ ...head, number: head.number + 1 })
    plan.checks.push({ key: headKey, equals: headBytes }, ...chunks.checks)
    plan.puts.push([headKey, raised], ...chunks.puts)
  }
  return plan
}

function replaceSwapped(segment: SegmentRef, swaps: readonly StagedSwap[]): SegmentRef {
  return swaps.find(({ before }) => before.object === segment.object)?.after ?? segment
}

function grouped(
  swaps: readonly StagedSwap[],
  keyOf: (swap: StagedSwap) => Bytes,
): Iterable<readonly [Bytes, readonly StagedSwap[]]> {
  const groups = new Map<string, readonly [Bytes, StagedSwap[]]>()
  for (const swap of swaps) {
    const key = keyOf(swap)
    const group = groups.get(toHex(key)) ?? ([key, []] as const)
    groups.set(toHex(key), group)
    group[1].push(swap)
  }
  return groups.values()
}
