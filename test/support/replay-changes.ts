// Applies the changes of a table to rows, as a copy that follows the table does.
import type { ReadOptions, RowWithId, Table, TableChange, TableSchema } from '../../src/index.js'

/** The rows of a table at a version. */
export type SeenRows = Readonly<{ version: number; rows: readonly RowWithId[] }>

const AS_TEXT = { numbers: 'text' } as const satisfies ReadOptions

type Readable = Readonly<{
  version: number | (() => Promise<number>)
  scan(options?: ReadOptions): AsyncIterable<RowWithId>
  schema(): Promise<TableSchema>
}>

/** Reads a table, or a past version of it, while nothing else runs. */
export async function seenRows(table: Readable): Promise<SeenRows> {
  const version = typeof table.version === 'number' ? table.version : await table.version()
  return { version, rows: await allOf(table.scan(AS_TEXT)) }
}

export async function allOf(rows: AsyncIterable<RowWithId>): Promise<RowWithId[]> {
  const all: RowWithId[] = []
  for await (const row of rows) all.push(row)
  return all
}

/**
 * The rows after a change.
 * @param options - The options with which the rows before were read.
 * @throws {Error} if the change names rows that did not exist, or gives other rows than it names
 */
export async function changedRows(
  table: Pick<Table, 'at'>,
  change: TableChange,
  before: readonly RowWithId[],
  options: ReadOptions = AS_TEXT,
): Promise<readonly RowWithId[]> {
  const rows = await allOf(change.rows(options))
  const named = [...change.changed, ...change.added]
  if (rows.map(({ $rowID }) => $rowID).join() !== named.join()) {
    throw new Error(`The change names ${named.join()} and gives ${JSON.stringify(rows)}`)
  }
  // Any row may read differently now.
  if (change.retyped) return allOf(table.at(change.version).scan(options))
  const changed = new Map(rows.slice(0, change.changed.length).map((row) => [row.$rowID, row]))
  const added = rows.slice(change.changed.length)
  if (change.replaced) return added
  const removed = new Set(change.removed)
  const ids = new Set(before.map(({ $rowID }) => $rowID))
  const strange = [...removed, ...changed.keys()].filter((id) => !ids.has(id))
  if (strange.length > 0) throw new Error(`The change names rows of no table: ${strange.join()}`)
  const left = before.filter(({ $rowID }) => !removed.has($rowID))
  return [...left.map((row) => changed.get(row.$rowID) ?? row), ...added]
}
