// The schema of a table as its record has it: the columns, and what their IDs were before (FORMAT.md, section 4).
import type { TableSchema } from '../schema/column-kind.js'
import { readSpans } from './row-text.js'

/** Columns that a table had, and whose cells its rows may still have. */
export type ColumnPast = Readonly<{
  /** IDs of columns that were dropped: no cell of theirs is shown. */
  dropped: ReadonlySet<string>
  /** Columns that have the ID of a dropped one: cells of rows that were last written before this version are not theirs. */
  since: ReadonlyMap<string, number>
}>

/** @param past - null: no column was dropped. */
export function schemaText(schema: TableSchema, past: ColumnPast | null): string {
  if (past === null) return JSON.stringify(schema)
  return JSON.stringify({ ...schema, dropped: [...past.dropped], since: [...past.since] })
}

type StoredSchema = TableSchema &
  Readonly<{ dropped?: readonly string[]; since?: readonly (readonly [string, number])[] }>

export function parseSchemaText(
  text: string,
): Readonly<{ schema: TableSchema; past: ColumnPast | null }> {
  const stored = JSON.parse(text) as StoredSchema
  const { dropped, since, ...schema } = stored
  if (dropped === undefined && since === undefined) return { schema: stored, past: null }
  return { schema, past: { dropped: new Set(dropped), since: new Map(since) } }
}

/**
 * What is known of the past of columns after a change of the schema of rows that stay.
 * @param version - That the change makes.
 */
export function nextPast(
  past: ColumnPast | null,
  before: TableSchema,
  after: TableSchema,
  version: number,
): ColumnPast | null {
  const ids = new Set(after.columns.map(({ id }) => id))
  const dropped = new Set(past?.dropped)
  const since = new Map(past?.since)
  for (const { id } of before.columns) {
    if (ids.has(id)) continue
    dropped.add(id)
    since.delete(id)
  }
  for (const id of ids) if (dropped.delete(id)) since.set(id, version)
  return dropped.size + since.size === 0 ? null : { dropped, since }
}

/**
 * The text of a row without the cells of columns that were dropped after it was written. The same string if it has none.
 * @param version - When the row was last written.
 */
export function hideDropped(text: string, past: ColumnPast | null, version: number): string {
  if (past === null) return text
  const spans = readSpans(text)
  const shown = spans.filter(({ id }) => {
    return !past.dropped.has(id) && version >= (past.since.get(id) ?? 0)
  })
  if (shown.length === spans.length) return text
  return shown.map(({ start, end }) => text.slice(start, end)).join(',')
}
