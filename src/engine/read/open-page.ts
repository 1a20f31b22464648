// A page of a table, from the request to the answer: whole, or in pieces.
import { type Bytes, NO_BYTES, sameBytes } from '../../base/bytes.js'
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import {
  type Continuation,
  parseContinuation,
  renderContinuation,
} from '../../format/continuation-token.js'
import { type Position, type TableKey, tableHeadKey } from '../../format/keys.js'
import type { Generation } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { NotedReads } from '../../kv/noted-reads.js'
import { type Ahead, readAhead } from '../../kv/read-ahead.js'
import { checkPiece, checkText } from '../arguments/arguments.js'
import { tableNotFound } from '../commit/table-writer.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { NeedsMemory } from '../segments/frame-parts.js'
import type { OpenPageRequest, PageBytes, PagePiece, PieceRequest } from '../types/store-types.js'
import { CompactedFooters } from './compacted-footers.js'
import { continuationInvalid, findGeneration, inUse, readHeadOrNull } from './generations.js'
import { type PagePlan, type PlannedPage, planPage, readPagePiece } from './page-reader.js'
import type { PageLimits } from './page-writer.js'
import { aheadOfPlan, type PageWanted } from './record-scan.js'

/** A page whose rows are selected. */
export type ChosenPage = Readonly<{
  team: TeamContext
  plan: PagePlan
  limits: PageLimits
  version: number
  /** The token of the page after a position. */
  tokenAt: (position: Position) => string
}>

/** Where a page begins, and its limits. */
export type PageStart = Readonly<{
  /** undefined: the page begins at the first row of the table as it is now. null: the caller's text is not a token. */
  token: Continuation | null | undefined
  /** Maximum number of rows of the page. */
  rows: number
  reserve?: PageWanted['reserve']
  /** Whether to read the schema even if nothing has to be converted. */
  wantsSchema?: boolean
  recordBytesMax?: PageWanted['recordBytesMax']
  /** The generation that a scan has pinned: it is readable even after its table was deleted. */
  pinned?: Bytes | undefined
  /** The view in which the page is selected. Default: a new one. */
  view?: KvView | undefined
}>

/** @param pinned - See `PageStart`. */
export function openPage(
  place: TablePlace,
  { limit, continuation, reserve }: OpenPageRequest,
  pinned?: Bytes,
): Promise<ChosenPage> {
  const { team } = place
  const rows = rowsOfPage(team, limit)
  return choosePage(place, { token: parsePageToken(team, continuation), rows, reserve, pinned })
}

/** The position that a continuation names; null: the text is not a token; undefined: no text is given. */
export function parsePageToken(
  team: TeamContext,
  continuation: string | undefined,
): PageStart['token'] {
  if (continuation === undefined) return undefined
  return parseContinuation(checkText('continuation', continuation), versionBase(team))
}

/** Selects the rows of a page, all of one commit. */
export async function choosePage(
  place: TablePlace,
  { token, rows, reserve, pinned, view: given, wantsSchema = false, recordBytesMax }: PageStart,
): Promise<ChosenPage> {
  const { team, table, tableId } = place
  let start = token?.position // The position at which the page begins, if it is known already.
  const planIn: PlanIn = async (view, footers) => {
    const head = await readHeadOrNull(team, view, table)
    if (head === null && pinned === undefined) throw tableNotFound(tableId)
    if (token !== undefined && (token === null || !sameBytes(token.table, table))) {
      throw continuationInvalid('it is not a token of this table')
    }
    const used =
      head !== null && token === undefined
        ? inUse(head)
        : await findGeneration(team, view, place, head, token?.generation ?? NO_BYTES)
    const from = resolvePageStart(token, used.generation)
    const isAhead = !team.kv.shared || start !== undefined
    const ahead = isAhead ? undefined : aheadOfPlan(table, used.generation, from)
    start = from
    const page = { from, limit: rows, reserve, wantsSchema, recordBytesMax }
    return readAhead(view, ahead, (known) => planPage(team, known, table, used, page, footers))
  }
  const planned = await (given === undefined
    ? planOpenPage(team, planIn, () =>
        start === undefined ? undefined : aheadOfStart(table, start),
      )
    : planIn(given))
  const forward = await team.forwards.of(planned.generation)
  return chosenPage(place, { ...planned, forward }, rows, planned.version)
}

/** Where a page begins. @throws {StoreError} CONTINUATION_INVALID */
export function resolvePageStart(
  token: Continuation | null | undefined,
  { firstExtent, nextExtent }: Generation,
): Position {
  const from = token?.position ?? { extent: firstExtent, slot: 0 }
  if (from.extent >= firstExtent && from.extent <= nextExtent) return from
  throw continuationInvalid('it points outside of the rows')
}

/** @param version - The version of the table, as stored. */
export function chosenPage(
  { team, table }: TablePlace,
  plan: PagePlan,
  rows: number,
  version: number,
): ChosenPage {
  const base = versionBase(team)
  const { nonce } = plan.generation
  return {
    team,
    plan,
    limits: { rows, bytes: team.options.pageBytesMax },
    version: version + base,
    tokenAt: (position) => renderContinuation({ table, generation: nonce, position }, base),
  }
}

/** Plans a page in a view. Without `footers` it reads footers within the view. */
type PlanIn = (view: KvView, footers?: CompactedFooters) => Promise<PlannedPage>

/**
 * Maximum number of views to plan a page in. Before each further view, the footers that the previous view lacked are
 * read.
 */
const VIEWS_MAX = 4

/**
 * Plans a page. On a shared store no object is read within a view, unless the table changes again and again.
 * @param aheadOf - Returns the records that the plan reads first.
 */
export async function planOpenPage(
  { segments, kv, partition }: TeamContext,
  planIn: PlanIn,
  aheadOf: () => Ahead | undefined = () => undefined,
): Promise<PlannedPage> {
  if (!kv.shared) return partition.read((view) => planIn(view))
  const footers = new CompactedFooters(segments)
  for (let views = 0; views < VIEWS_MAX; views++) {
    const notes = new NotedReads()
    let planned: PlannedPage | undefined = await partition.read((view) =>
      readAhead(notes.of(view), aheadOf(), (known) => planIn(known, footers)),
    )
    while (planned !== undefined) {
      if (!footers.isIncomplete) return planned
      await footers.read()
      planned = await notes.run((view) => planIn(view, footers))
    }
  }
  return partition.read((view) => planIn(view))
}

/** The records that the plan of a page reads first, if only the start of the page is known. */
function aheadOfStart(table: TableKey, from: Position): Ahead {
  const { keys, scans } = aheadOfPlan(table, null, from)
  return { keys: [tableHeadKey(table), ...keys], scans }
}

/** A whole page. @param memory - See `PageBytesRequest`. */
export async function readPage(
  { team, plan, limits, version, tokenAt }: ChosenPage,
  memory: Bytes | undefined,
): Promise<PageBytes> {
  const whole = { bytes: Number.POSITIVE_INFINITY, memory }
  const { json, rowCount, after } = await readPagePiece(team, plan, limits, null, whole)
  team.activity.rowsOut += rowCount
  const page = { json, rowCount, version }
  return after === null ? page : { ...page, continuation: tokenAt(after) }
}

export async function readPiece(
  { team, plan, limits, tokenAt }: ChosenPage,
  request: PieceRequest,
): Promise<PagePiece | Readonly<{ needs: number }>> {
  checkPiece(request)
  const { start, ...target } = request
  try {
    const piece = await readPagePiece(team, plan, limits, start ?? null, target)
    team.activity.rowsOut += piece.rowCount - (start?.rowCount ?? 0)
    const { json, next, after } = piece
    if (next !== null) return { json, next }
    return after === null ? { json } : { json, continuation: tokenAt(after) }
  } catch (failure) {
    if (failure instanceof NeedsMemory) return { needs: failure.bytes }
    throw failure
  }
}

/** Maximum number of rows of a page. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function rowsOfPage({ options }: TeamContext, limit: number | undefined): number {
  const { pageRowsMax } = options
  if (limit === undefined) return pageRowsMax
  if (Number.isInteger(limit) && limit > 0) return Math.min(limit, pageRowsMax)
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `limit must be a positive integer, not ${shown(limit)}`,
  )
}
