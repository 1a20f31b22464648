// The stored schema of a table: its columns, and the past of their IDs (FORMAT.md, section 4).
import type { TableSchema } from '../schema/column-kind.js'
import { readSpans } from './row-text.js'

/** The dropped columns of a table. Rows may still have cells of these columns, which readers hide. */
export type ColumnPast = Readonly<{
  /** IDs of dropped columns: their cells are hidden. */
  dropped: ReadonlySet<string>
  /**
   * Columns that reuse the ID of a dropped column, each with a version: in rows last written before that version,
   * cells of the column are hidden.
   */
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
 * The past of the columns after a change of the schema that keeps the rows.
 * @param version - The version that the change makes.
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
 * A row text without the cells of columns that were dropped after the row was written. If there are none, returns the
 * same string.
 * @param version - The version in which the row was last written.
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
