// Changes of a table that touch no row: its name, its columns, and its end.
//
// Invariants:
// - The commit that deletes a table deletes its head and its catalog entry, retires its rows, and puts the dead table,
//   which leads the sweep to the rest. Every later commit of the table checks a head that is gone.
// - Scans under way have pinned the generation that is retired, and read on by its nonce.
import type { Bytes } from '../../base/bytes.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { deadTableKey, encodeDeadTable } from '../../format/dead-table.js'
import { catalogKey, retirementKey, schemaKey, type TableKey } from '../../format/keys.js'
import {
  decodeCatalogEntry,
  encodeCatalogEntry,
  encodeRetirement,
  type TableHead,
} from '../../format/records.js'
import type { ColumnPast } from '../../format/schema-record.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import type { Plan } from '../commit/table-writer.js'
import { hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import { type IndexedSchema, indexSchema } from '../context/schema-cache.js'
import type { TablePlace } from '../context/store-context.js'
import { checkIfMatch } from './if-match.js'
import { type NewSchema, newSchemaOf, putSchema, underSchema } from './schema-change.js'
import { alterKey, type KeyAlteration } from './table-key.js'

type IfMatch = number | bigint | undefined

/** What changes of a table. */
export type Alteration = Readonly<{
  /** undefined: it keeps its name. */
  name: string | undefined
  /** undefined: it keeps its columns. */
  schema: TableSchema | undefined
  ifMatch: IfMatch
  signal?: AbortSignal | undefined
}>

/**
 * Changes the name and the columns of a table in one commit. Rows stay as they are stored; cells of columns that are
 * dropped are hidden from then on. Its key is changed by a commit of its own.
 * @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED, REQUEST_VALIDATION_ERROR, ABORTED
 */
export function alterTable(
  place: TablePlace,
  alteration: Alteration | KeyAlteration,
): Promise<Readonly<{ version: number }>> {
  if ('key' in alteration) return alterKey(place, alteration)
  const { name, schema, ifMatch, signal } = alteration
  const { team, table } = place
  const plan: Plan<Readonly<{ version: number }>> = async (head, read) => {
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const { generation } = head
    const version = head.version + 1
    const puts: (readonly [Bytes, Bytes])[] = []
    if (name !== undefined) puts.push(...(await putName(read, table, head, name)))
    let next = generation
    if (schema !== undefined) {
      const before = await team.schemas.get(table, generation.schemaNumber, read)
      const newSchema = alteredSchema(before, schema)
      if (newSchema !== null) {
        next = underSchema(generation, newSchema, version)
        puts.push(putSchema(table, next, newSchema, version), ...hintOfTable(team, table, version))
      }
    }
    if (puts.length === 0) return { result: { version: head.version } }
    return { result: { version }, change: { next, puts } }
  }
  const ahead: AheadOfTurn = {
    keys: (head) => {
      if (head === null) return []
      return [catalogKey(head.order), schemaKey(table, head.generation.schemaNumber)]
    },
  }
  const checkGoesOn = signal && ((): void => checkNotAborted('alter', signal))
  return team.writers.change(place, plan, ahead, undefined, checkGoesOn)
}

/** Nothing if the table has the name. */
async function putName(
  read: ReadRecord,
  table: TableKey,
  { order }: TableHead,
  name: string,
): Promise<readonly (readonly [Bytes, Bytes])[]> {
  const key = catalogKey(order)
  const entry = await read(key)
  if (entry !== null && decodeCatalogEntry(entry).name === name) return []
  return [[key, encodeCatalogEntry({ table, name })]]
}

/** Columns that were dropped, and whose IDs are remembered for the rows that have cells of them, at most. */
const DROPPED_MAX = 10_000

function alteredSchema(before: IndexedSchema, schema: TableSchema): NewSchema | null {
  for (const { id, type } of schema.columns) {
    const old = before.columns.get(id)?.type
    if (old === undefined || JSON.stringify(old) === JSON.stringify(type)) continue
    const remedy = 'overwrite the table with a schema, or add rows with updateSchema'
    const problem = `The type of column '${id}' cannot be changed without its rows: ${remedy}`
    throw new StoreError('REQUEST_VALIDATION_ERROR', problem, { column: id })
  }
  const newSchema = newSchemaOf(before, indexSchema(schema))
  const { dropped, since } = before.past ?? NO_PAST
  const gone = before.schema.columns.length + dropped.size + since.size
  if (newSchema?.retypes && gone > DROPPED_MAX) {
    const problem = `More than ${DROPPED_MAX} columns of the table would have been dropped`
    throw new StoreError('REQUEST_VALIDATION_ERROR', `${problem}; overwrite it, which forgets them`)
  }
  return newSchema
}

const NO_PAST: ColumnPast = { dropped: new Set(), since: new Map() }

/** @throws {StoreError} TABLE_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteTable(place: TablePlace, ifMatch: IfMatch): Promise<void> {
  const { team, table } = place
  await team.writers.change(place, (head) => {
    const { order, version, generation } = head
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const now = team.options.clock.stampMs()
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
    return { result: undefined, change: { next: null, puts, deletes: [catalogKey(order)] } }
  })
}
