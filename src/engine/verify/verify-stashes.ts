// Checks the stashes of a team: heads, chunks with their column lists, and the segments of the chunks.
import { type Bytes, fromUtf8, sameBytes, toHex } from '../../base/bytes.js'
import {
  ChunkDecoder,
  columnListCrc,
  decodeColumnList,
  decodeListName,
  type StoredChunk,
} from '../../format/chunk-records.js'
import {
  CHUNKS_RANGE,
  chunksRange,
  columnListKey,
  deadStashKey,
  STASH_HEADS_RANGE,
  serialOfChunkKey,
  stashHeadKey,
} from '../../format/keys.js'
import { decodeStashHead } from '../../format/records.js'
import { storedIn } from '../../format/shared-objects.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { Problem, VerifyPlace } from '../types/verify-types.js'
import type { VerifyContext } from './verify-extents.js'
import { lookForProblems } from './verify-findings.js'
import { verifySegment } from './verify-segment.js'

const STASHES_AT_ONCE = 1_000
const CHUNKS_AT_ONCE = 200

type SeenStash = Readonly<{ key: Bytes; nonce: Bytes; isExpired: boolean }>

export async function verifyStashes(verifying: VerifyContext): Promise<void> {
  const { findings, partition, teamId } = verifying
  for (let { start } = STASH_HEADS_RANGE; ; ) {
    const from = start
    const found = await findings.step({ team: teamId }, () =>
      partition.read((view) => readHeads(view, from)),
    )
    for (const { key, nonce, isExpired } of found ?? []) {
      if (!isExpired) await verifyStash(verifying, fromUtf8(key.subarray(1)), nonce)
    }
    const last = found?.[found.length - 1]
    if (last === undefined || (found?.length ?? 0) < STASHES_AT_ONCE) break
    start = keyAfter(last.key)
  }
  await findings.step({ team: teamId }, () => findLostChunks(verifying))
}

async function readHeads(view: KvView, start: Bytes): Promise<SeenStash[]> {
  const { limit } = STASH_HEADS_RANGE
  const entries = await view.scan({ start, limit, count: STASHES_AT_ONCE })
  return entries.map(([key, bytes]) => {
    const { nonce, state } = decodeStashHead(bytes)
    return { key: key.slice(), nonce: nonce.slice(), isExpired: state === 'expired' }
  })
}

/** `chunk`: without segments if it cannot be decoded. */
type SeenChunk = Readonly<{ key: Bytes; bytes: Bytes; chunk: StoredChunk }>

async function verifyStash(verifying: VerifyContext, stash: string, nonce: Bytes): Promise<void> {
  const { findings, partition, teamId } = verifying
  const where = { team: teamId, stash }
  findings.counts.stashes++
  let { start } = chunksRange(nonce)
  let isFirst = true
  for (;;) {
    const from = start
    const chunks = await findings.step(where, () =>
      partition.read((view) => readSeenChunks(verifying, view, { stash, nonce, from }, where)),
    )
    for (const chunk of chunks ?? []) await verifyChunk(verifying, chunk, where)
    const last = chunks?.[chunks.length - 1]
    if (chunks?.length === 0 && isFirst) await checkIsGone(verifying, stash, nonce)
    isFirst = false
    if (last === undefined || (chunks?.length ?? 0) < CHUNKS_AT_ONCE) return
    start = keyAfter(last.key)
  }
}

/**
 * Checks that a stash without chunks has ended. A stash begins with its first chunk, so an open stash without chunks
 * has lost them.
 */
async function checkIsGone(
  { findings, partition, teamId }: VerifyContext,
  stash: string,
  nonce: Bytes,
): Promise<void> {
  const isThere = await partition.read(async (view) => {
    if (!(await isOpen(view, stash, nonce))) return false
    return (await view.scan({ ...chunksRange(nonce), count: 1 })).length === 0
  })
  if (!isThere) return
  findings.add(
    { kind: 'record-missing', message: 'Its chunks are missing' },
    { team: teamId, stash },
  )
}

/** Whether a stash that was seen open is still open. */
async function isOpen(view: KvView, stash: string, nonce: Bytes): Promise<boolean> {
  const bytes = await view.get(stashHeadKey(stash))
  if (bytes === null) return false
  const head = decodeStashHead(bytes)
  return head.state !== 'expired' && sameBytes(head.nonce, nonce)
}

/** The chunks of a stash from a key on; no chunks if the stash has ended meanwhile. */
async function readSeenChunks(
  { findings }: VerifyContext,
  view: KvView,
  { stash, nonce, from }: Readonly<{ stash: string; nonce: Bytes; from: Bytes }>,
  where: VerifyPlace,
): Promise<SeenChunk[]> {
  if (!(await isOpen(view, stash, nonce))) return []
  const { limit } = chunksRange(nonce)
  const entries = await view.scan({ start: from, limit, count: CHUNKS_AT_ONCE })
  const seen: SeenChunk[] = []
  for (const [key, bytes] of entries) {
    const place = `chunk ${serialOfChunkKey(key)}`
    const found: Problem[] = []
    let chunk = NO_CHUNK
    const problems = await lookForProblems('record', async () => {
      chunk = await decodeChunk(view, nonce, bytes, found)
      return found
    })
    seen.push({ key, bytes, chunk })
    for (const problem of problems) findings.add({ ...problem, place }, where)
  }
  return seen
}

async function decodeChunk(
  view: KvView,
  nonce: Bytes,
  bytes: Bytes,
  problems: Problem[],
): Promise<StoredChunk> {
  const list = decodeListName(bytes)
  const record = await view.get(columnListKey(nonce, list.crc, list.probe))
  if (record === null) {
    problems.push({ kind: 'record-missing', message: 'The column list is missing' })
  } else if (columnListCrc(record) !== list.crc) {
    problems.push({
      kind: 'record-mismatch',
      message: 'The column list does not match its checksum',
    })
  }
  const ids = record === null ? [] : decodeColumnList(record)
  if (problems.length > 0) return NO_CHUNK
  const { chunk } = new ChunkDecoder(() => ids).decode(bytes)
  const rows = chunk.segments.reduce((sum, { rowCount }) => sum + rowCount, 0)
  if (rows !== chunk.rowCount) {
    const message = `Its segments have ${rows} rows instead of ${chunk.rowCount}`
    problems.push({ kind: 'row-count', message })
  }
  return chunk
}

const NO_CHUNK: StoredChunk = {
  rowCount: 0,
  firstLine: 0,
  hasClaims: false,
  namesFiles: false,
  columns: [],
  segments: [],
}

/** Checks the segments of a chunk. A put may replace the chunk meanwhile; see verify-extents. */
async function verifyChunk(
  { context, findings, partition }: VerifyContext,
  { key, bytes, chunk }: SeenChunk,
  where: VerifyPlace,
): Promise<void> {
  for (const ref of chunk.segments) {
    findings.checkGoesOn()
    if (findings.isFine(ref.object)) continue
    const expected = { compacted: false, versionMax: 0 }
    const problems = await lookForProblems('segment', () =>
      verifySegment(context.objects, ref, expected, findings),
    )
    if (problems.length === 0) {
      findings.noteFine(ref.object)
      continue
    }
    const now = await partition.read((view) => view.get(key))
    if (now === null || !sameBytes(now, bytes)) return
    const at = { ...where, object: storedIn(ref) }
    for (const problem of problems) {
      const inside = problem.place === undefined ? '' : `, ${problem.place}`
      const place = `chunk ${serialOfChunkKey(key)}${inside}`
      findings.add({ ...problem, place }, at)
    }
  }
}

/** Finds chunks whose stash neither exists nor has ended. Nothing would ever delete these chunks. */
async function findLostChunks({ findings, partition, teamId }: VerifyContext): Promise<void> {
  await partition.read(async (view) => {
    const heads = new Set<string>()
    for await (const entries of scanBatches(view, STASH_HEADS_RANGE)) {
      for (const [, head] of entries) {
        const { nonce, state } = decodeStashHead(head)
        if (state !== 'expired') heads.add(toHex(nonce))
      }
    }
    let { start } = CHUNKS_RANGE
    for (;;) {
      const [found] = await view.scan({ start, limit: CHUNKS_RANGE.limit, count: 1 })
      if (found === undefined) return
      const nonce = found[0].slice(1, 9)
      const name = toHex(nonce)
      if (!heads.has(name) && (await view.get(deadStashKey(nonce))) === null) {
        const message = 'Chunks remain of a stash that does not exist'
        findings.add({ kind: 'orphan-record', message }, { team: teamId, stash: name })
      }
      start = chunksRange(nonce).limit
    }
  })
}
