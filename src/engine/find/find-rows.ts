// Pages of matching rows, and counts of matching rows.
//
// Invariants:
// - A page sees one commit: its rows are selected in one view, and then tested.
// - A page examines at most `WORK_ROWS_MAX` rows and makes at most `WORK_TESTS_MAX` tests, so its work is bounded,
//   however many rows match. A page with a continuation may have no rows.
import { COMMA } from '../../base/ascii.js'
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { dataError } from '../../base/data-error.js'
import { lackedColumn } from '../../base/unknown-column.js'
import type { Continuation } from '../../format/continuation-token.js'
import type { Position } from '../../format/keys.js'
import { RowCells } from '../../format/row-cells.js'
import type { KvView } from '../../kv/kv.js'
import { checkFindBounds } from '../arguments/find-arguments.js'
import type { GroupsBounds } from '../arguments/groups-arguments.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import {
  type ChosenPage,
  choosePage,
  type PageStart,
  parsePageToken,
  rowsOfPage,
} from '../read/open-page.js'
import type { PlannedPage, Run } from '../read/page-reader.js'
import { PAGE_START, PageWriter, type RowExtent } from '../read/page-writer.js'
import type { FrameRows } from '../segments/frame-runs.js'
import type { FindBounds } from '../types/find-types.js'
import type { PageBounds, PageBytes } from '../types/store-types.js'
import { valueCountOf } from './condition.js'
import {
  type FoundRows,
  frameOfRow,
  positionIn,
  type WalkEnd,
  type Wanted,
  walkPlan,
} from './find-walk.js'
import { RowGroups } from './group-rows.js'
import { type SegmentTest, segmentTest } from './may-match.js'
import { RowMatcher } from './row-matcher.js'
import { parseWhere } from './where.js'

/** Maximum number of rows that one page examines. */
export const WORK_ROWS_MAX = 262_144

/** Maximum size of the text of the rows of one page, in bytes. A page has at least one row, if one matches. */
export const PAGE_TEXT_BYTES_MAX = 1024 * 1024

export type FindRequest = PageBounds &
  FindBounds &
  Readonly<{
    signal?: AbortSignal | undefined
    reserve?: PageStart['reserve']
    pinned?: PageStart['pinned']
  }>

/** A page of matching rows. @param view - See `PageStart`. */
export async function findPage(
  place: TablePlace,
  request: FindRequest,
  view?: KvView,
): Promise<PageBytes> {
  const { team } = place
  const { signal, reserve, pinned, from = 0, continuation } = request
  checkFindBounds(request)
  const limit = rowsOfPage(team, request.limit)
  const token = parsePageToken(team, continuation)
  const start = from > 0 ? await startAtRow(place, undefined, from, view) : token
  const chosen = await chooseRows(place, { token: start, reserve, pinned, view })
  const { plan, limits, version, tokenAt } = chosen
  const query = compileQuery(team, plan.schema, request)
  const { forward, generation } = plan
  const kept = forward === null ? null : { forward, firstExtent: generation.firstExtent }
  const bounds = { rows: limit, bytes: Math.min(limits.bytes, PAGE_TEXT_BYTES_MAX) }
  const writer = new PageWriter(bounds, kept, PAGE_START, { bytes: Number.POSITIVE_INFINITY })
  const found = new PageRows(writer, query.projection, limit)
  const end = await walkPlan(team, plan, { ...query, found, signal })
  const after = end ?? (plan.isEnd ? null : endOfPlan(plan))
  team.activity.rowsOut += writer.rowCount
  const page = { json: writer.finish(true), rowCount: writer.rowCount, version }
  return after === null ? page : { ...page, continuation: tokenAt(after) }
}

/** The version of a page that `findPage` would read. Checks the request, and reads no row. */
export async function pageVersion(
  place: TablePlace,
  request: PageBounds & FindBounds,
): Promise<number> {
  const { team } = place
  checkFindBounds(request)
  rowsOfPage(team, request.limit)
  const token = parsePageToken(team, request.continuation)
  const chosen = await choosePage(place, { token, rows: NO_ROWS, wantsSchema: true })
  compileQuery(team, chosen.plan.schema, request)
  return chosen.version
}

/** With this number of rows of a page, its plan has none: a plan has one row more than its page. */
const NO_ROWS = -1

/** The number of matching rows in a part of a table. */
export type CountedRows = Readonly<{
  count: number
  /** Where the remaining rows begin; null: there are no more rows. */
  rest: Continuation | null
}>

/** Counts the matching rows among the rows that one page examines. */
export async function countRows(
  place: TablePlace,
  start: Continuation,
  wanted: Pick<FindBounds, 'where' | 'search'>,
  signal: AbortSignal | undefined,
): Promise<CountedRows> {
  const found = new RowCount()
  const chosen = await chooseRows(place, { token: start, pinned: start.generation })
  const { plan } = chosen
  const { projection: _, ...query } = compileQuery(place.team, plan.schema, wanted)
  const end = await walkPlan(place.team, plan, { ...query, found, signal })
  return { count: found.count, rest: restOf(start, plan, end) }
}

/** The groups of a part of a table. `rest`: see `CountedRows`. */
export type FoundGroups = Readonly<{ groups: RowGroups; rest: Continuation | null }>

/**
 * Adds to groups the matching rows among the rows that one page examines.
 * @param groups - The groups so far; null: there are none yet.
 * @returns null: the columns have changed since the groups were begun.
 */
export async function groupFound(
  place: TablePlace,
  start: Continuation,
  groups: RowGroups | null,
  bounds: GroupsBounds & Pick<FindBounds, 'where' | 'search'>,
  signal: AbortSignal | undefined,
): Promise<FoundGroups | null> {
  const chosen = await chooseRows(place, { token: start, pinned: start.generation })
  const { plan } = chosen
  const columns: IndexedSchema['columns'] = plan.schema?.columns ?? new Map()
  const found = groups ?? new RowGroups(bounds, columns)
  if (!found.isOf(columns)) return null
  const { where, search } = bounds
  const { projection: _, ...query } = compileQuery(place.team, plan.schema, { where, search })
  const end = await walkPlan(place.team, plan, { ...query, found, signal, rowWork: found.rowWork })
  return { groups: found, rest: restOf(start, plan, end) }
}

/** Where the unexamined rows begin; null: all rows were examined. */
function restOf(start: Continuation, plan: ChosenPage['plan'], end: WalkEnd): Continuation | null {
  const after = end ?? (plan.isEnd ? null : endOfPlan(plan))
  return after === null ? null : { ...start, position: after }
}

/**
 * The position of the row with a number in the table. If the table has fewer rows, the position after its last row.
 * @param start - Where the rows of a pinned generation begin; undefined: the current rows of the table.
 * @param view - See `PageStart`.
 */
export async function startAtRow(
  place: TablePlace,
  start: Continuation | undefined,
  number: number,
  view?: KvView,
): Promise<Continuation | undefined> {
  let token = start
  for (let left = number; left > 0; ) {
    const rows = Math.min(left, SKIPPED_ROWS_MAX) - 1 // A plan has one more row.
    const { plan } = await choosePage(place, { token, rows, pinned: start?.generation, view })
    left -= plan.runs.reduce((count, { liveRows }) => count + liveRows, 0)
    token = { table: place.table, generation: plan.generation.nonce, position: endOfPlan(plan) }
    if (plan.isEnd) break
  }
  return token
}

/** Maximum number of rows skipped in one view. */
const SKIPPED_ROWS_MAX = 4_194_304

function chooseRows(place: TablePlace, start: Omit<PageStart, 'rows'>): Promise<ChosenPage> {
  return choosePage(place, { ...start, rows: WORK_ROWS_MAX, wantsSchema: true })
}

type Query = Pick<Wanted, 'matcher' | 'mayMatch' | 'segmentTests'> &
  Readonly<{ projection: Projection | null }>

/** Compiles a condition and columns. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function compileQuery(
  team: TeamContext,
  schema: IndexedSchema | null,
  { where, search, columns }: Pick<FindBounds, 'where' | 'search' | 'columns'>,
): Query {
  const known: IndexedSchema['columns'] = schema?.columns ?? new Map()
  const condition = parseWhere(where, known, search)
  let test: SegmentTest | undefined // The test is compiled at the first segment with values.
  const mayHaveMatch: SegmentTest = (values) => {
    if (condition === null) return true
    test ??= segmentTest(condition)
    return test(values)
  }
  return {
    matcher: condition === null ? null : new RowMatcher(condition),
    mayMatch: (run) => condition === null || segmentMayMatch(team, mayHaveMatch, run),
    segmentTests: condition === null ? 0 : valueCountOf(condition),
    projection: columns === undefined ? null : new Projection(checkFindColumns(columns, known)),
  }
}

/** Whether a segment may have a matching row. The values of a segment do not apply to rows that are converted. */
function segmentMayMatch(
  { segments, options }: TeamContext,
  test: SegmentTest,
  { extent, converts }: Run,
): Awaitable<boolean> {
  const ref = extent.entry?.segment ?? null
  // Where requests for objects are expensive, value filters are read only if the store writes them.
  if (ref === null || converts || (segments.isDear && !options.valueFilters)) return true
  return chain(segments.values(ref), (values) => values === null || test(values))
}

function checkFindColumns(
  columns: readonly string[],
  known: IndexedSchema['columns'],
): readonly string[] {
  for (const id of columns) {
    if (known.has(id)) continue
    const problem = `columns: ${lackedColumn(known, id)}`
    throw dataError('REQUEST_VALIDATION_ERROR', problem, { column: id })
  }
  return [...new Set(columns)]
}

/** The position at which the rows after a plan begin. */
export function endOfPlan({ runs, generation }: PlannedPage): Position {
  const last = runs[runs.length - 1]
  if (last === undefined) return { extent: generation.nextExtent, slot: 0 }
  return positionIn(last, last.limit)
}

export class RowCount implements FoundRows {
  count = 0
  readonly isFull = false

  take(_: Run['extent'], { first, limit }: FrameRows): number {
    this.count += limit - first
    return limit - first
  }
}

/** Writes the rows of a page. */
export class PageRows implements FoundRows {
  readonly #writer: PageWriter
  readonly #projection: Projection | null
  readonly #rowsMax: number

  constructor(writer: PageWriter, projection: Projection | null, rowsMax: number) {
    this.#writer = writer
    this.#projection = projection
    this.#rowsMax = rowsMax
  }

  get isFull(): boolean {
    return this.#writer.rowCount >= this.#rowsMax || this.#writer.isPieceFull
  }

  take(extent: RowExtent, rows: FrameRows): number {
    const projection = this.#projection
    const { frame, first, limit, slot } = rows
    if (projection === null) {
      this.#writer.expect([rows])
      return this.#writer.takeStored(extent, rows)
    }
    for (let row = first; row < limit; row++) {
      const cut = projection.row({ frame, first, limit, slot: slot + row - first }, row)
      if (this.#writer.takeStored(extent, cut) === 0) return row - first
    }
    return limit - first
  }
}

/**
 * Makes rows of some cells of given rows, in the requested order. The cells are cut out of the bytes of the rows'
 * texts.
 */
class Projection {
  readonly #cells: RowCells
  #memory = NO_BYTES

  /** @param columns - IDs of columns, all different. */
  constructor(columns: readonly string[]) {
    this.#cells = new RowCells(columns)
  }

  /** One row of a frame with the wanted cells. Valid until the next call. */
  row({ frame, slot }: FrameRows, row: number): FrameRows {
    const text = this.#cut(frame.texts, frame.endOf(row - 1), frame.endOf(row))
    return { frame: frameOfRow(text), first: 0, limit: 1, slot }
  }

  #cut(bytes: Bytes, from: number, to: number): Bytes {
    const cells = this.#cells
    cells.read(bytes, from, to)
    if (this.#memory.length < to - from) this.#memory = new Uint8Array(2 * (to - from))
    let length = 0
    for (let column = 0; column < cells.to.length; column++) {
      if (cells.to[column] === 0) continue // The cell is empty.
      const cell = bytes.subarray(cells.start[column], cells.to[column])
      if (length > 0) this.#memory[length++] = COMMA
      this.#memory.set(cell, length)
      length += cell.length
    }
    return this.#memory.subarray(0, length)
  }
}
