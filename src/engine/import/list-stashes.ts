// Lists the chunks of a stash, and the stashes of a team.
import { fromUtf8 } from '../../base/bytes.js'
import { decodeChunkSegments } from '../../format/chunk-records.js'
import { chunksRange, STASH_HEADS_RANGE } from '../../format/keys.js'
import { decodeStashHead, type StashHead } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { versionBase } from '../context/public-versions.js'
import type { TeamContext } from '../context/store-context.js'
import { OWN_STASH } from '../limits/team-limits.js'
import type { StashChunk, StashEntry } from '../types/row-types.js'
import { firstNumber, readStash } from './stash-records.js'

/**
 * The chunks of a stash in order.
 * @throws {StoreError} STASH_NOT_FOUND in the cases in which an operation that uses the stash throws it
 */
export async function listChunks(
  team: TeamContext,
  stashId: string,
): Promise<readonly StashChunk[]> {
  const { partition } = team
  const { chunks } = await partition.read((view) => {
    return readStash(view, stashId, versionBase(team))
  })
  return chunks.map(({ serial, chunk }) => ({ serial, rows: chunk.rowCount }))
}

/** The stashes of callers that operations can use, ordered by ID. */
export async function listStashes(team: TeamContext): Promise<readonly StashEntry[]> {
  const first = firstNumber(versionBase(team))
  return team.partition.read(async (view) => {
    const found: StashEntry[] = []
    for await (const entries of scanBatches(view, STASH_HEADS_RANGE)) {
      for (const [key, value] of entries) {
        const id = fromUtf8(key.subarray(1))
        const head = decodeStashHead(value)
        const isUsable = head.state !== 'expired' && head.number >= first
        if (!isUsable || id.startsWith(OWN_STASH)) continue
        found.push({ id, ...(await countChunks(view, head, team.options.stashTtlMs)) })
      }
    }
    return found
  })
}

async function countChunks(
  view: KvView,
  { nonce, since }: StashHead,
  ttlMs: number,
): Promise<Omit<StashEntry, 'id'>> {
  let chunks = 0
  let rows = 0
  let bytes = 0
  let lastPutAt = since
  for await (const entries of scanBatches(view, chunksRange(nonce))) {
    for (const [, value] of entries) {
      const { putAt, segments } = decodeChunkSegments(value)
      chunks++
      for (const { rowCount, objectBytes } of segments) {
        rows += rowCount
        bytes += objectBytes
      }
      lastPutAt = Math.max(lastPutAt, putAt)
    }
  }
  return { chunks, rows, bytes, createdAt: since, expiresAt: lastPutAt + ttlMs }
}
