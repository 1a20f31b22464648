// All rows of a version as lines of JSON, in pieces.
//
// Invariants:
// - The rows belong to one version: they are selected in one view. If a table has more changed rows than a plan holds,
//   the walk fails if the table changes before the last changed row was selected.
// - Nothing is read ahead of the piece that the caller asked for.
import type { Bytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import type { Position } from '../../format/keys.js'
import type { ChosenPage } from '../read/open-page.js'
import type { PagePlan } from '../read/page-reader.js'
import { PAGE_START, PageWriter } from '../read/page-writer.js'
import { READ_AT_WILL, READ_BYTES_MAX } from '../segments/frame-parts.js'
import { type compileQuery, endOfPlan, PageRows } from './find-rows.js'
import { walkPlan } from './find-walk.js'

/**
 * The memory of a piece, in bytes. A piece ends after the frame with which it reaches `PIECE_BYTES`, so that its memory
 * has room for the rows of this frame, too. One read of frames fills a piece.
 */
const MEMORY_BYTES = READ_BYTES_MAX
const PIECE_BYTES = MEMORY_BYTES - 64 * 1024

export type LinesRequest = Readonly<{
  query: ReturnType<typeof compileQuery>
  hasRowIds: boolean
  limit: number
  signal: AbortSignal | undefined
  /** Whether a piece is valid only until the next is requested. */
  isReused: boolean
}>

/**
 * @param chosen - The rows, with their schema.
 * @param choose - Selects the rows from a position on.
 * @param step - Runs the work for each piece as a separate operation.
 * @throws {StoreError} TRANSACTION_CONFLICT, ABORTED
 */
export async function* readLines(
  chosen: ChosenPage,
  choose: (from: Position) => Promise<ChosenPage>,
  { query: { projection, ...query }, hasRowIds, limit, signal, isReused }: LinesRequest,
  step: <T>(read: () => Promise<T>) => Promise<T>,
): AsyncGenerator<Bytes, void> {
  const { team, version } = chosen
  const form = hasRowIds ? 'linesWithIds' : 'lines'
  let { plan } = chosen
  let memory = new Uint8Array(MEMORY_BYTES)
  for (let left = limit; left > 0; ) {
    const { forward, generation } = plan
    const kept = forward === null ? null : { forward, firstExtent: generation.firstExtent }
    const target = { bytes: PIECE_BYTES, memory, form } as const
    const writer = new PageWriter({ rows: left, bytes: Infinity }, kept, PAGE_START, target)
    const bounds = {
      ...READ_AT_WILL,
      aheadBytes: MEMORY_BYTES,
      wanted: () => (query.matcher === null ? writer.bytesLeft : Infinity),
    }
    const found = new PageRows(writer, projection, left)
    const walked = plan
    const end = await step(() =>
      walkPlan(team, walked, { ...query, found, signal, what: 'export', bounds }),
    )
    if (writer.rowCount > 0) {
      yield writer.finish(true)
      if (!isReused) memory = new Uint8Array(MEMORY_BYTES)
    }
    left -= writer.rowCount
    if (end === null && plan.isEnd) return
    if (end === null) {
      const next = await step(() => choose(endOfPlan(walked)))
      if (next.version !== version) throw changedMeanwhile()
      plan = next.plan
    } else {
      plan = planFrom(plan, end)
    }
  }
}

/** The rest of a plan from a position on. */
function planFrom(plan: PagePlan, { extent, slot }: Position): PagePlan {
  const runs = plan.runs
    .filter((run) => run.extent.extent >= extent)
    .map((run) => (run.extent.extent === extent ? { ...run, first: slot } : run))
  return { ...plan, runs }
}

function changedMeanwhile(): StoreError {
  const why = 'more of its rows had changed since the last compaction than fit in memory'
  const problem = `The table changed while it was read, and ${why}`
  return new StoreError('TRANSACTION_CONFLICT', `${problem}; compact the store, or read it again`)
}
