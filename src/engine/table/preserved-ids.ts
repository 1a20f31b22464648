// Preserved row IDs of an overwrite: an input row with the `$rowID` of a row of the table keeps this ID. CONTRACT.md,
// section 5, PUT /tables/{tableID}.
//
// Invariants:
// - A claim is accepted only for a live row of the replaced generation, and only once: of two rows that claim one ID,
//   the first gets it.
// - An ID keeps its original coordinates through any number of overwrites.
import { sameBytes } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { addClaim, type ClaimRun, decodeClaims } from '../../format/claims.js'
import type { ExtentEntry } from '../../format/extent-page.js'
import { encodeForward, type ForwardMap, type ForwardRun } from '../../format/forward.js'
import {
  decodeRowKey,
  type Position,
  rowsRange,
  SLOTS_MAX,
  type TableKey,
} from '../../format/keys.js'
import { type ForwardRef, type Generation, isTombstone } from '../../format/records.js'
import type { RowId } from '../../format/row-id.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { ExtentWalk } from '../caches/extents.js'
import { compactedSegment, isLiveSlot, LAID } from '../caches/live-slot.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import type { RowIdRun } from '../ids/row-ids.js'
import type { LinkableRows, OperationRows } from '../import/rows-reader.js'
import { readHead } from '../read/generations.js'

/** The preserved IDs of the next generation. */
export type PreservedIds = Readonly<{
  runs: readonly ForwardRun[]
  /** null: no row preserves an ID. */
  forward: ForwardRef | null
  /** Whether the table still has the rows that the claims were checked against. */
  holds(generation: Generation): boolean
}>

/** Maximum number of runs. All are in memory during an overwrite. Rows that keep their order form only a few runs. */
const RUNS_MAX = 1_000_000
const YIELD_ROWS = 50_000

/** Judges the claims of the input, and writes the forward object of the next generation. */
export async function preserveIds(
  { team, table, tableId }: TablePlace,
  source: OperationRows,
  rows: LinkableRows,
): Promise<PreservedIds> {
  const { seen, live, compacted } = await team.partition.read(async (view) => {
    const { generation } = await readHead(team, view, table, tableId)
    return { seen: generation, ...(await readLiveIds(view, table, generation)) }
  })
  live.forward = await team.forwards.of(seen)
  if (seen.deletedRows > 0) await removeCompacted(team, live, compacted)
  const accepted: ClaimRun[] = []
  let judged = 0
  for await (const { row, count, first } of readClaims(team, source)) {
    for (let i = 0; i < count && first.slot + i < SLOTS_MAX; i++) {
      const id = { ...first, slot: first.slot + i }
      if (live.take(id)) addClaim(accepted, row + i, id)
      if (++judged % YIELD_ROWS === 0) await yieldToEventLoop()
    }
    if (accepted.length > RUNS_MAX) throw tooScattered()
  }
  const runs = forwardRuns(accepted, rows)
  return {
    runs,
    forward: runs.length === 0 ? null : await putForward(team, runs),
    holds: ({ nonce, deletedRows }) =>
      sameBytes(nonce, seen.nonce) && deletedRows === seen.deletedRows,
  }
}

/** The claims of all rows, in input order. Row numbers count over the whole input. */
async function* readClaims(team: TeamContext, source: OperationRows): AsyncGenerator<ClaimRun> {
  if (source.inline !== null) {
    yield* source.inline.claims
    return
  }
  let before = 0
  for (const { chunk } of source.chunks) {
    for (const segment of chunk.segments) {
      if (chunk.hasClaims) {
        const { claims } = await team.segments.footer(segment)
        for (const run of decodeClaims(claims)) yield { ...run, row: before + run.row }
      }
      before += segment.rowCount
    }
  }
}

/** The row IDs of the live rows of a generation, each of which may be taken once. */
class LiveIds {
  readonly #firstExtent: number
  readonly #extents: ReadonlyMap<number, Readonly<{ nonce: Uint8Array; rowCount: number }>>
  /** The IDs that the generation preserves; null: it preserves no IDs. */
  forward: ForwardMap | null = null
  /** Bits of slots by extent: deleted rows, and rows with taken IDs. */
  readonly #gone = new Map<number, Uint8Array>()

  constructor(
    firstExtent: number,
    extents: ReadonlyMap<number, Readonly<{ nonce: Uint8Array; rowCount: number }>>,
  ) {
    this.#firstExtent = firstExtent
    this.#extents = extents
  }

  /** Whether the row is live and its ID was not taken before. */
  take(id: RowId): boolean {
    const position = this.#positionOf(id)
    return position !== null && this.remove(position)
  }

  /** @returns false: the position was removed before, or does not exist */
  remove({ extent, slot }: Position): boolean {
    const { rowCount = 0 } = this.#extents.get(extent) ?? {}
    if (slot >= rowCount) return false
    let bits = this.#gone.get(extent)
    if (bits === undefined) {
      bits = new Uint8Array(Math.ceil(rowCount / 8))
      this.#gone.set(extent, bits)
    }
    const bit = 1 << (slot & 7)
    const byte = bits[slot >> 3] ?? 0
    bits[slot >> 3] = byte | bit
    return (byte & bit) === 0
  }

  #positionOf(id: RowId): Position | null {
    const extent = this.#extents.get(id.extent)
    if (extent !== undefined && sameBytes(extent.nonce, id.nonce)) {
      const place = { extent: id.extent - this.#firstExtent, slot: id.slot }
      if (this.forward?.idAt(place)) return null // The row there has a preserved ID.
      return { extent: id.extent, slot: id.slot }
    }
    const kept = this.forward?.positionOf(id)
    return kept ? { extent: kept.extent + this.#firstExtent, slot: kept.slot } : null
  }
}

type CompactedExtents = readonly (readonly [extent: number, entry: ExtentEntry])[]

/**
 * Reads the row IDs of a generation (without the IDs that it preserves), and its compacted extents. Deleted rows
 * without a tombstone, because a compaction has moved the deletion into a segment, still count as live here.
 */
async function readLiveIds(
  view: KvView,
  table: TableKey,
  generation: Generation,
): Promise<Readonly<{ live: LiveIds; compacted: CompactedExtents }>> {
  const { firstExtent, nextExtent } = generation
  const walk = new ExtentWalk((key) => view.get(key), table, generation)
  const extents = new Map<number, { nonce: Uint8Array; rowCount: number }>()
  const compacted: [extent: number, entry: ExtentEntry][] = []
  for (let number = firstExtent; number < nextExtent; number++) {
    const extent = await walk.at(number)
    if (extent === null) continue
    const { nonce, rowCount, entry } = extent
    extents.set(number, { nonce, rowCount })
    if (entry?.compacted) compacted.push([number, entry])
  }
  const live = new LiveIds(firstExtent, extents)
  if (generation.deletedRows === 0) return { live, compacted }
  const range = rowsRange(table, { extent: firstExtent, slot: 0 }, nextExtent)
  for await (const entries of scanBatches(view, range)) {
    for (const [key, record] of entries) if (isTombstone(record)) live.remove(decodeRowKey(key))
  }
  return { live, compacted }
}

/** Removes the rows that compacted segments have as deleted. No later row record can revive such a row. */
async function removeCompacted(
  team: TeamContext,
  live: LiveIds,
  compacted: CompactedExtents,
): Promise<void> {
  for (const [extent, entry] of compacted) {
    const segment = compactedSegment(entry)
    const isDeleted = segment === null ? null : (await team.segments.footer(segment)).isDeleted
    if (segment !== null && isDeleted === null) continue // All its rows are live.
    for (let slot = 0; slot < entry.rowCount; slot++) {
      if (!isLiveSlot(LAID.none, entry, isDeleted, slot)) live.remove({ extent, slot })
    }
  }
}

/** Turns claims by input row into runs by position, given the numbers of rows of the extents of the next generation. */
function forwardRuns(accepted: readonly ClaimRun[], rows: LinkableRows): ForwardRun[] {
  const counts =
    'texts' in rows ? [rows.texts.length] : rows.segments.map(({ ref }) => ref.rowCount)
  const runs: ForwardRun[] = []
  let extent = 0
  let extentStart = 0
  for (const { row, count, first } of accepted) {
    for (let done = 0; done < count; ) {
      while (row + done >= extentStart + (counts[extent] ?? 0)) extentStart += counts[extent++] ?? 0
      const slot = row + done - extentStart
      const piece = Math.min(count - done, (counts[extent] ?? 0) - slot)
      runs.push({
        at: { extent, slot },
        count: piece,
        first: { ...first, slot: first.slot + done },
      })
      done += piece
    }
  }
  return runs
}

async function putForward(team: TeamContext, runs: readonly ForwardRun[]): Promise<ForwardRef> {
  const object = team.ids.next()
  try {
    const objectBytes = await team.objects.put(object, encodeForward(object, runs))
    return { object, objectBytes }
  } catch (failure) {
    team.ids.release([object])
    throw failure
  }
}

/** The row IDs of a new generation in order. A row has the ID of its position, unless it has a preserved ID. */
export function withPreservedIds(
  positions: readonly RowIdRun[],
  firstExtent: number,
  kept: readonly ForwardRun[],
): RowIdRun[] {
  const runs: RowIdRun[] = []
  let next = 0
  for (const { nonce, extent, count } of positions) {
    let slot = 0
    const own = (limit: number): void => {
      if (limit > slot) runs.push({ nonce, extent, firstSlot: slot, count: limit - slot })
    }
    for (let run = kept[next]; run?.at.extent === extent - firstExtent; run = kept[++next]) {
      own(run.at.slot)
      const { first } = run
      runs.push({
        nonce: first.nonce,
        extent: first.extent,
        firstSlot: first.slot,
        count: run.count,
      })
      slot = run.at.slot + run.count
    }
    own(count)
  }
  return runs
}

function tooScattered(): StoreError {
  return new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `The $rowIDs make more than ${RUNS_MAX} runs; send the rows in the order in which they were read`,
  )
}
