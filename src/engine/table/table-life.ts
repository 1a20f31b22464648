// Changes of a table that touch no row: changes of its name and its columns, and its deletion.
//
// Invariants:
// - The commit that deletes a table deletes its head and its catalog entry, retires its rows, and writes the record of
//   the dead table, which leads garbage collection to its other records. All later commits of the table check the
//   missing head, and are refused.
// - Scans in progress have pinned the retired generation, and continue to read it by its nonce.
import type { Bytes } from '../../base/bytes.js'
import { shown } from '../../base/options.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { lackedColumn } from '../../base/unknown-column.js'
import { deadTableKey, encodeDeadTable } from '../../format/dead-table.js'
import { catalogKey, retirementKey, schemaKey } from '../../format/keys.js'
import {
  decodeCatalogEntry,
  encodeCatalogEntry,
  encodeRetirement,
  type TableHead,
} from '../../format/records.js'
import type { ColumnPast } from '../../format/schema-record.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { ColumnType, TableSchema } from '../../schema/column-kind.js'
import { isWidened } from '../../schema/widen.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { type IndexedSchema, indexSchema } from '../caches/schema-cache.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import type { Plan } from '../commit/table-writer.js'
import { hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { tooLongNames } from '../limits/team-limits.js'
import type { Where } from '../types/find-types.js'
import { type NewSchema, planNewSchema, putSchema, underSchema } from './schema-change.js'
import { alterKey, type KeyAlteration } from './table-key.js'

type IfMatch = number | bigint | undefined

/** A change of a table. */
export type Alteration = Readonly<{
  /** undefined: the table keeps its name. */
  name: string | undefined
  /** Makes the new columns of the table; undefined: it keeps its columns. */
  columns: ((before: IndexedSchema) => TableSchema) | undefined
  /** IDs of the columns to drop. */
  drop: readonly string[]
  /** Whether types may be widened, as with `updateSchema`. Default: false. */
  widens?: boolean
  /** Whether the message about columns that would be lost counts their cells. */
  countsCells: boolean
  ifMatch: IfMatch
  signal?: AbortSignal | undefined
}>

type Version = Readonly<{ version: number }>

/** Columns that the change would drop although the caller did not name them. Then nothing is changed. */
type Loss = Readonly<{ lost: readonly string[]; rows: number }>

/**
 * Changes the name and the columns of a table in one commit. Rows stay as they are stored; cells of dropped columns
 * are hidden from then on. A change of its key has its own commit.
 * @param count - Counts rows of the table, for the message about columns that would be lost.
 * @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED, REQUEST_VALIDATION_ERROR, LIMIT_EXCEEDED, ABORTED
 */
export async function alterTable(
  place: TablePlace,
  alteration: Alteration | KeyAlteration,
  count: (where: Where) => Promise<number>,
): Promise<Version> {
  if ('key' in alteration) return alterKey(place, alteration)
  const { name, columns, drop, widens = false, countsCells, ifMatch, signal } = alteration
  const { team, table } = place
  const plan: Plan<Version | Loss> = async (head, read) => {
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const { generation } = head
    const version = head.version + 1
    const puts: (readonly [Bytes, Bytes])[] = []
    if (name !== undefined) puts.push(...(await putName(place, read, head, name)))
    let next = generation
    if (columns !== undefined) {
      const before = await team.schemas.get(table, generation.schemaNumber, read)
      const schema = columns(before)
      const newSchema = alteredSchema(before, schema, widens)
      const lost = lostColumns(before, indexSchema(schema), drop)
      if (lost.length > 0) return { result: { lost, rows: generation.liveRows } }
      if (newSchema !== null) {
        next = underSchema(generation, newSchema, version)
        puts.push(putSchema(table, next, newSchema, version), ...hintOfTable(team, table, version))
      }
    }
    if (puts.length === 0) return { result: { version: head.version } }
    return { result: { version }, change: { next, puts, operation: 'alter' } }
  }
  const ahead: AheadOfTurn = {
    keys: (head) => {
      if (head === null) return []
      return [catalogKey(head.order), schemaKey(table, head.generation.schemaNumber)]
    },
  }
  const checkGoesOn = signal && ((): void => checkNotAborted('alter', signal))
  const altered = await team.writers.change(place, plan, ahead, undefined, checkGoesOn)
  if ('lost' in altered) throw await lossRefused(altered, countsCells ? count : null)
  return altered
}

/**
 * The columns that the new schema lacks and the caller did not name.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR for a named column that is not dropped
 */
function lostColumns(
  before: IndexedSchema,
  after: IndexedSchema,
  drop: readonly string[],
): readonly string[] {
  for (const id of drop) {
    const isKept = before.columns.has(id)
    if (isKept && !after.columns.has(id)) continue
    const problem = isKept
      ? `the schema keeps column ${shown(id)}`
      : lackedColumn(before.columns, id)
    const details = { column: id }
    throw new StoreError(
      'REQUEST_VALIDATION_ERROR',
      `drop names a column that is not dropped: ${problem}`,
      details,
    )
  }
  const named = new Set(drop)
  const ids = before.schema.columns.map(({ id }) => id)
  return ids.filter((id) => !after.columns.has(id) && !named.has(id))
}

/** Maximum number of lost columns that a message names, and of cells that are examined to count the lost cells. */
const LOST_SHOWN_MAX = 20
const CELLS_COUNTED_MAX = 1_000_000

async function lossRefused(
  { lost, rows }: Loss,
  count: ((where: Where) => Promise<number>) | null,
): Promise<StoreError> {
  const named = lost.slice(0, LOST_SHOWN_MAX)
  const isCounted = count !== null && rows * named.length <= CELLS_COUNTED_MAX
  const parts: string[] = []
  for (const id of named) {
    const cell = { [id.startsWith('$') ? `$${id}` : id]: { isEmpty: false } }
    const cells = isCounted ? ` (cells that are not empty: ${await count(cell)})` : ''
    parts.push(`${shown(id)}${cells}`)
  }
  if (lost.length > named.length) parts.push(`${lost.length - named.length} more`)
  const problem = `The schema leaves out columns of the table, which would lose their cells: ${parts.join(', ')}`
  const details = { column: lost[0] ?? '' }
  return new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `${problem}. Name them in drop, or keep them`,
    details,
  )
}

/** Puts nothing if the table already has the name. @throws {StoreError} LIMIT_EXCEEDED */
async function putName(
  { team, table }: TablePlace,
  read: ReadRecord,
  { order }: TableHead,
  name: string,
): Promise<readonly (readonly [Bytes, Bytes])[]> {
  const key = catalogKey(order)
  const entry = await read(key)
  const before = entry === null ? '' : decodeCatalogEntry(entry).name
  if (before === name) return []
  const { teamId, tableCounts, partition, options } = team
  if (!tableCounts.isShort(name)) {
    const hasRoom = await partition.read((view) =>
      tableCounts.hasRoomFor(name, teamId, view, before),
    )
    if (!hasRoom) throw tooLongNames(options.tableNamesBytesMax)
    tableCounts.noteName(name, teamId)
  }
  return [[key, encodeCatalogEntry({ table, name })]]
}

/** Maximum number of dropped columns whose IDs are remembered, because rows may still have cells of these columns. */
const DROPPED_MAX = 10_000

function alteredSchema(
  before: IndexedSchema,
  schema: TableSchema,
  widens: boolean,
): NewSchema | null {
  const mayBe = (old: ColumnType, type: ColumnType): boolean =>
    widens ? isWidened(old, type) : JSON.stringify(old) === JSON.stringify(type)
  for (const { id, type } of schema.columns) {
    const old = before.columns.get(id)?.type
    if (old === undefined || mayBe(old, type)) continue
    const remedy = 'overwrite the table with a schema, or add rows with updateSchema'
    const problem = `The type of column '${id}' cannot be changed without its rows: ${remedy}`
    throw new StoreError('REQUEST_VALIDATION_ERROR', problem, { column: id })
  }
  const newSchema = planNewSchema(before, indexSchema(schema))
  const { dropped, since } = before.past ?? NO_PAST
  const gone = before.schema.columns.length + dropped.size + since.size
  if (newSchema?.retypes && gone > DROPPED_MAX) {
    const problem = `The table has more than ${DROPPED_MAX} columns, counting dropped ones`
    const remedy = 'overwrite it, which forgets the dropped ones'
    const effect = 'so no column can be dropped or get another type'
    throw new StoreError('REQUEST_VALIDATION_ERROR', `${problem}, ${effect}; ${remedy}`)
  }
  return newSchema
}

const NO_PAST: ColumnPast = { dropped: new Set(), since: new Map() }

/** @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteTable(place: TablePlace, ifMatch: IfMatch): Promise<void> {
  const { team, table } = place
  await team.writers.change(place, async (head) => {
    const { order, version, generation } = head
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const now = await team.options.clock.stampMs()
    const retirement = encodeRetirement({
      dropping: false,
      lastVersion: version,
      retiredAt: now,
      generation,
    })
    const puts = [
      [retirementKey(table, generation.firstExtent), retirement] as const,
      [deadTableKey(table), encodeDeadTable(now)] as const,
      ...hintOfTable(team, table, version + 1),
    ]
    const change = { next: null, puts, deletes: [catalogKey(order)], operation: 'delete' } as const
    return { result: undefined, change }
  })
}
