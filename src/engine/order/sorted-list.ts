// Makes the sorted list of the rows of one version, in passes over their stored bytes.
//
// Invariants:
// - All passes read one view, so the order is that of one version, whatever is committed meanwhile.
// - Apart from the list, memory does not grow with the table: a pass holds the rows that `BestRows` holds, and the next
//   pass finds the rows after these.
import { dataError } from '../../base/data-error.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import type { SortedList } from '../caches/sorted-lists.js'
import type { Past } from '../changes/past-generation.js'
import type { TablePlace } from '../context/store-context.js'
import { compileQuery, endOfPlan, RowCount, WORK_ROWS_MAX } from '../find/find-rows.js'
import { type FoundRows, walkPlan } from '../find/find-walk.js'
import { planPage } from '../read/page-reader.js'
import type { FindBounds } from '../types/find-types.js'
import { BestRows } from './best-rows.js'
import { parseOrderBy, type SortColumn } from './order-by.js'

/** Maximum number of passes for one list, which is enough for half a gigabyte of keys. */
const PASSES_MAX = 64

/** The work on a row beside that on its bytes, in units of the work on a byte. */
const ROW_WORK = 32

/** The rows to sort, and their order. */
export type Sorted = Readonly<{
  where?: FindBounds['where']
  search?: FindBounds['search']
  orderBy?: FindBounds['orderBy']
  signal?: AbortSignal | undefined
}>

/**
 * @param rows - The wanted number of first rows of the order. Infinity: all rows. The list has all rows if they fit
 *   into memory, and fewer rows than wanted if their keys are long.
 * @param rowsMax - Maximum number of rows. If more rows match, they are not sorted.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export async function makeList(
  place: TablePlace,
  source: Past,
  sorted: Sorted,
  rows: number,
  rowsMax: number,
): Promise<SortedList> {
  const { table, team } = place
  const { generation, view } = source
  const read = (key: Uint8Array) => view.get(key)
  const schema = await team.schemas.get(table, generation.schemaNumber, read)
  if (sorted.orderBy === undefined) {
    const count = new RowCount()
    await walkAll(place, source, sorted, schema, count)
    return { places: new Float64Array(0), total: count.count }
  }
  const columns = parseOrderBy(sorted.orderBy, schema.columns)
  const first = await bestRows(place, source, sorted, schema, new BestRows(columns, rows))
  const total = first.offered
  if (!first.isCut || Number.isFinite(rows)) return { places: first.positions(), total }
  if (total > rowsMax) throw tooMany(columns, `has more than ${rowsMax} rows`)
  const places = new Float64Array(total)
  let length = 0
  let best = first
  for (let passes = 1; ; passes++) {
    places.set(best.positions(), length)
    length += best.count
    if (!best.isCut) return { places: places.subarray(0, length), total }
    if (passes === PASSES_MAX) throw tooMany(columns, 'has too many long values')
    best = await bestRows(place, source, sorted, schema, new BestRows(columns, rows, best))
  }
}

/** Makes one pass. */
async function bestRows(
  place: TablePlace,
  source: Past,
  sorted: Sorted,
  schema: IndexedSchema,
  best: BestRows,
): Promise<BestRows> {
  const slices = place.team.slices.begin()
  await walkAll(place, source, sorted, schema, best, () => slices.run(best.sort()))
  await slices.run(best.sort())
  return best
}

/** @param empty - Called to make room when `found` is full. */
async function walkAll(
  { team, table }: TablePlace,
  source: Past,
  { where, search, signal }: Sorted,
  schema: IndexedSchema,
  found: FoundRows,
  empty: () => void | Promise<void> = () => undefined,
): Promise<void> {
  const { projection: _, ...query } = compileQuery(team, schema, { where, search })
  const wanted = { ...query, found, signal, what: 'sort', rowWork: ROW_WORK }
  let from = { extent: source.generation.firstExtent, slot: 0 }
  for (;;) {
    const page = { from, limit: WORK_ROWS_MAX, wantsSchema: true }
    const planned = await planPage(team, source.view, table, source, page, undefined)
    const end = await walkPlan(team, { ...planned, forward: null }, wanted)
    if (found.isFull) await empty()
    const next = end ?? (planned.isEnd ? null : endOfPlan(planned))
    if (next === null) return
    from = next
  }
}

function tooMany(columns: readonly SortColumn[], what: string): Error {
  const ids = columns.map(({ id }) => id)
  const remedy = 'choose fewer by where, or sort by fewer or shorter columns'
  const problem = `orderBy: the table ${what}, too many to be sorted by ${ids.join(', ')}: ${remedy}`
  return dataError('REQUEST_VALIDATION_ERROR', problem, { column: ids[0] ?? '' })
}
