// The schema of an operation's rows, from the summaries of their columns alone: inferred, or the table's own schema,
// which is widened if `onSchemaError` demands it.
import { StoreError } from '../../base/store-error.js'
import { ITEM_WORK, type TimeSlices } from '../../base/time-slices.js'
import type { ChunkColumn } from '../../format/chunk-records.js'
import type { Column, ColumnType } from '../../schema/column-kind.js'
import { type ColumnSummary, mergeSummary, SEEN } from '../../schema/column-summary.js'
import { inferType } from '../../schema/infer.js'
import { newSummary } from '../../schema/summarize.js'
import { checkSchemaSize, isColumnId } from '../../schema/table-schema.js'
import { widenType } from '../../schema/widen.js'
import { type IndexedSchema, indexSchema } from '../caches/schema-cache.js'
import type { StoreContext } from '../context/store-context.js'
import type { OnSchemaError } from '../types/row-types.js'
import type { RowPolicy } from './stored-form.js'

/** The column summaries of an operation's rows. */
type ColumnsOfRows = Readonly<{
  chunks: readonly Readonly<{ chunk: Readonly<{ columns: readonly ChunkColumn[] }> }>[]
}>

/**
 * The schema that the rows of an operation must fit, and what happens to cells that do not fit, by `onSchemaError`:
 * `updateSchema` widens the existing columns and adds the others with their inferred types.
 * @param base - The schema of the table; null: the schema is inferred from the rows alone.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR for a column ID that no schema may have, for too many columns, and for
 *   a schema that is too large
 */
export async function planRowPolicy(
  { options, slices }: StoreContext,
  source: ColumnsOfRows,
  base: IndexedSchema | null,
  onSchemaError: OnSchemaError,
): Promise<RowPolicy> {
  const inferred = base === null || onSchemaError === 'updateSchema'
  const drops = onSchemaError === 'dropColumns'
  const { formatChecks, columnsMax } = options
  if (base !== null && !inferred) return { schema: base, formatChecks, inferred, drops }
  const known = base?.columns ?? new Map<string, Column>()
  const merged = await mergeColumns(source, { known, columnsMax, drops }, slices.begin())
  const columns = widenColumns(base, merged, formatChecks, drops)
  checkColumnCount(columns.length, columnsMax)
  checkSchemaSize({ columns }, base?.schema ?? null)
  return { schema: indexSchema({ columns }), formatChecks, inferred, drops }
}

type MergedColumns = Readonly<{
  known: ReadonlyMap<string, Column>
  columnsMax: number
  /** Whether columns whose IDs no schema may have are left out. */
  drops: boolean
}>

/**
 * The columns of all chunks in order of first appearance, with the summaries of all their values. Chunks may differ in
 * their columns, but no more columns are held than a table may have.
 */
async function mergeColumns(
  { chunks }: ColumnsOfRows,
  { known, columnsMax, drops }: MergedColumns,
  slices: TimeSlices,
): Promise<ReadonlyMap<string, ColumnSummary>> {
  const merged = new Map<string, ColumnSummary>()
  let count = known.size
  let last: readonly ChunkColumn[] | undefined
  for (const { chunk } of chunks) {
    if (chunk.columns === last) continue // This chunk has the same summaries as the previous one, so they add nothing.
    last = chunk.columns
    for (const { summary } of chunk.columns) {
      const { id } = summary
      let whole = merged.get(id)
      if (whole === undefined) {
        if (drops && !isColumnId(id)) continue
        if (!known.has(id)) checkColumnCount(++count, columnsMax)
        whole = newSummary(id)
        merged.set(id, whole)
      }
      mergeSummary(whole, summary)
    }
    if (slices.spend(ITEM_WORK * chunk.columns.length)) await slices.pause()
  }
  return merged
}

/** The existing columns, widened for the values, then the new ones, inferred from theirs: CONTRACT.md, section 3. */
export function widenColumns(
  base: IndexedSchema | null,
  merged: ReadonlyMap<string, ColumnSummary>,
  formatChecks: boolean,
  drops: boolean,
): Column[] {
  const columns = (base?.schema.columns ?? []).map((column): Column => {
    const summary = merged.get(column.id)
    if (summary === undefined) return column
    return { ...column, type: widenType(column.type, summary, formatChecks) }
  })
  for (const [id, summary] of merged) {
    if (base?.columns.has(id)) continue
    if (isColumnId(id)) columns.push({ id, displayName: id, type: inferredType(summary) })
    else if (!drops) throw invalidColumns(`${JSON.stringify(id)} cannot be a column ID`)
  }
  return columns
}

/** Values that fit no type do not affect a column's type. The check of the rows reports them. */
function inferredType(summary: ColumnSummary): ColumnType {
  const seen = summary.seen & ~(SEEN.object | SEEN.misfit)
  return inferType({ ...summary, seen }) ?? { kind: 'string' }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkColumnCount(count: number, columnsMax: number): void {
  if (count > columnsMax) throw invalidColumns(`More than ${columnsMax} columns`)
}

function invalidColumns(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', problem)
}
