// A page of a table, from what a caller asks for to what it gets: whole, or in pieces.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import { parseContinuation, renderContinuation } from '../../format/continuation-token.js'
import type { Position } from '../../format/keys.js'
import { checkPiece, checkText } from '../api/arguments.js'
import type { OpenPageRequest, PageBytes, PagePiece, PieceRequest } from '../api/store-types.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { NeedsMemory } from '../segments/frame-parts.js'
import { continuationInvalid, findGeneration, inUse, readHead } from './generations.js'
import { type PagePlan, planPage, readPagePiece } from './page-reader.js'
import type { PageLimits } from './page-writer.js'

/** A page whose rows are chosen. */
export type ChosenPage = Readonly<{
  team: TeamContext
  plan: PagePlan
  limits: PageLimits
  version: number
  /** The token with which the page after this one begins. */
  tokenAt: (position: Position) => string
}>

export async function openPage(
  { team, table, tableId }: TablePlace,
  { limit, continuation, reserve }: OpenPageRequest,
): Promise<ChosenPage> {
  const { pageRowsMax, pageBytesMax } = team.options
  const rows = Math.min(checkLimit(limit) ?? pageRowsMax, pageRowsMax)
  const token =
    continuation === undefined
      ? null
      : parseContinuation(checkText('continuation', continuation), versionBase(team))
  const plan = await team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    if (continuation !== undefined && (token === null || !sameBytes(token.table, table))) {
      throw continuationInvalid('it is not a token of this table')
    }
    const used =
      token === null ? inUse(head) : await findGeneration(team, view, table, head, token.generation)
    const { firstExtent, nextExtent } = used.generation
    const from = token?.position ?? { extent: firstExtent, slot: 0 }
    if (from.extent < firstExtent || from.extent > nextExtent) {
      throw continuationInvalid('it points outside of the rows')
    }
    return planPage(team, view, table, used, { from, limit: rows, reserve })
  })
  const base = versionBase(team)
  const generation = plan.generation.nonce
  return {
    team,
    plan,
    limits: { rows, bytes: pageBytesMax },
    version: plan.version + base,
    tokenAt: (position) => renderContinuation({ table, generation, position }, base),
  }
}

/** All of a page. @param memory - As in `PageBytesRequest`. */
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

function checkLimit(limit: number | undefined): number | undefined {
  if (limit === undefined || (Number.isInteger(limit) && limit > 0)) return limit
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `limit must be a positive integer, not ${shown(limit)}`,
  )
}
