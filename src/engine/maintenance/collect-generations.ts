// Garbage collection of overwritten rows, deleted tables, and unused schemas.
//
// Invariants:
// - A commit marks a retirement as being dropped before anything that it names is deleted.
// - The record of a deleted table is deleted last, so that the other records of the table can be found until then.
import { type Bytes, compareBytes, toHex } from '../../base/bytes.js'
import { decodeChange } from '../../format/change-records.js'
import { DEAD_TABLES_RANGE, deadTableKey, recordsOfTables } from '../../format/dead-table.js'
import { decodeExtentPage } from '../../format/extent-page.js'
import {
  extentPagesRange,
  RETIREMENTS_RANGE,
  retirementKey,
  retirementsRange,
  rowsRange,
  SCHEMAS_RANGE,
  schemaKey,
  schemasRange,
  TABLE_HEADS_RANGE,
  type TableKey,
  tableHeadKey,
  tableOfKey,
} from '../../format/keys.js'
import {
  decodeRetirement,
  decodeTableHead,
  encodeRetirement,
  type Generation,
  type Retirement,
} from '../../format/records.js'
import type { Hint } from '../../format/work-records.js'
import type { KvPartition, KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import {
  commitUnchanged,
  deleteKeys,
  deleteRanges,
  deleteUnchanged,
} from '../commit/delete-records.js'
import { generationsOf } from '../context/named-objects.js'
import { readInUse } from '../context/other-incarnations.js'
import type { StoreContext } from '../context/store-context.js'
import { isRetained } from '../read/generations.js'
import { firstChange, isLeftAlone } from './collect-history.js'
import { hintedNames, type Names, scanHintedRecords } from './hinted-records.js'
import type { Visit } from './team-visits.js'

type Retired = Readonly<{ table: TableKey; bytes: Bytes; retirement: Retirement }>

/**
 * Maximum number of tables that are examined one by one because hints name them. If hints name more tables, all tables
 * of the team are examined.
 */
const TABLES_MAX = 64

/** The tables that a visit examines; null: all. */
export function tablesOf(visit: Visit): Names {
  const names = hintedNames(visit, 'table')
  return names !== null && names.length > TABLES_MAX ? null : names
}

/** Drops the generations past retention. @returns the number of dropped generations */
export async function collectGenerations(context: StoreContext, visit: Visit): Promise<number> {
  const { partition } = visit
  const tables = tablesOf(visit)
  if (tables?.length === 0) return 0
  const over = await partition.read((view) => findOldGenerations(context, view, tables))
  if (over.length === 0) return 0
  const { isPinned } = await readInUse(context)
  const dropped = over.filter(({ retirement: { dropping, generation } }) => {
    return dropping || !isPinned(generation.nonce)
  })
  await dropGenerations(partition, dropped)
  return dropped.length
}

/** Retired generations that are past retention, or whose tables were deleted. */
async function findOldGenerations(
  context: StoreContext,
  view: KvView,
  tables: Names,
): Promise<Retired[]> {
  const { options } = context
  const over: Retired[] = []
  const newer = new Map<string, { count: number; bytes: number }>()
  const all = await readRetired(view, tables)
  const dead = await findDeadTables(view, all)
  const now = await options.clock.lifetimeMs()
  for (const retired of all.reverse()) {
    const { table, retirement } = retired
    const name = table.join('.')
    const { count, bytes } = newer.get(name) ?? { count: 0, bytes: 0 }
    const total = bytes + (await generationBytes(view, table, retirement.generation))
    newer.set(name, { count: count + 1, bytes: total })
    const isNeeded =
      isRetained(retirement, count, options, now) ||
      (options.historyRetentionMs > 0 &&
        now - retirement.retiredAt <= options.historyRetentionMs) ||
      (await isLeftAlone(context, view, table))
    const isWithin = isNeeded && total <= options.overwrittenBytesMax
    if (retirement.dropping || !isWithin || dead.has(toHex(table))) over.push(retired)
  }
  return over
}

/** Of the tables that have these generations, the deleted ones, in hex. */
async function findDeadTables(
  view: KvView,
  retired: readonly Retired[],
): Promise<ReadonlySet<string>> {
  const tables = new Map(retired.map(({ table }) => [toHex(table), table]))
  const dead = new Set<string>()
  const keys = [...tables.values()].map(deadTableKey)
  for await (const entries of scanHintedRecords(view, DEAD_TABLES_RANGE, keys)) {
    for (const [key] of entries) dead.add(toHex(tableOfKey(key)))
  }
  return dead
}

/** Deletes the remaining records of deleted tables, after their rows. */
export async function collectDeadTables(visit: Visit): Promise<void> {
  const { partition } = visit
  const tables = tablesOf(visit)
  if (tables?.length === 0) return
  const over = await partition.read(async (view) => {
    const retired = new Set((await readRetired(view, tables)).map(({ table }) => toHex(table)))
    const found: TableKey[] = []
    const keys = tables?.map(deadTableKey) ?? null
    for await (const entries of scanHintedRecords(view, DEAD_TABLES_RANGE, keys)) {
      found.push(...entries.map(([key]) => tableOfKey(key)))
    }
    return found.filter((table) => !retired.has(toHex(table)))
  })
  for (const ranges of recordsOfTables(over)) await deleteRanges(partition, ranges)
  await deleteKeys(partition, over.map(deadTableKey))
}

async function readRetired(view: KvView, tables: Names): Promise<Retired[]> {
  const all: Retired[] = []
  for (const range of tables?.map(retirementsRange) ?? [RETIREMENTS_RANGE]) {
    for await (const entries of scanBatches(view, range)) {
      for (const [key, bytes] of entries) {
        all.push({ table: tableOfKey(key), bytes, retirement: decodeRetirement(bytes) })
      }
    }
  }
  return all
}

/** Hints of examined tables that still have overwritten rows, and of deleted tables that still have records. */
export async function laterTables(
  { options }: StoreContext,
  { partition, about }: Visit,
): Promise<Hint[]> {
  const tables = about('table')
  if (tables.length === 0) return []
  const { left, dead } = await partition.read(async (view) => {
    const retired = await readRetired(view, tables)
    return { left: retired, dead: await findDeadTables(view, retired) }
  })
  const soonest = options.clock.now() + 1
  const ends = new Map<string, Hint>()
  for (const { table, retirement } of left) {
    const kept = dead.has(toHex(table)) ? 0 : options.overwrittenRowsTtlMs
    const end = retirement.retiredAt + kept + 1
    const due = Math.max(soonest, Math.min(end, ends.get(toHex(table))?.due ?? end))
    ends.set(toHex(table), { due, kind: 'table', about: table })
  }
  return [...ends.values()]
}

async function generationBytes(
  view: KvView,
  table: TableKey,
  { firstExtent, nextExtent }: Generation,
): Promise<number> {
  let bytes = 0
  const pages = extentPagesRange(table, firstExtent, nextExtent)
  for await (const entries of scanBatches(view, pages)) {
    for (const [, page] of entries) {
      for (const { segment } of decodeExtentPage(page)) bytes += segment?.objectBytes ?? 0
    }
  }
  return bytes
}

async function dropGenerations(partition: KvPartition, over: readonly Retired[]): Promise<void> {
  const marks = over.map(({ table, bytes, retirement }) => {
    const { firstExtent, nextExtent } = retirement.generation
    return {
      key: retirementKey(table, firstExtent),
      equals: bytes,
      marked: encodeRetirement({ ...retirement, dropping: true }),
      rows: rowsRange(table, { extent: firstExtent, slot: 0 }, nextExtent),
      pages: extentPagesRange(table, firstExtent, nextExtent),
    }
  })
  const dropping = await commitUnchanged(partition, marks, (left) => {
    return { puts: left.map(({ key, marked }) => [key, marked] as const) }
  }) // Another garbage collection drops the other generations.
  await deleteRanges(
    partition,
    dropping.map(({ rows }) => rows),
  )
  await deleteRanges(
    partition,
    dropping.map(({ pages }) => pages),
  )
  await deleteUnchanged(
    partition,
    dropping.map(({ key, marked }) => ({ key, equals: marked })),
  )
}

/**
 * Deletes the schemas that neither their table nor a retired generation uses. Their numbers are not reused: the next
 * schema of a table gets the next number.
 */
export async function collectSchemas(visit: Visit): Promise<void> {
  const { partition } = visit
  const tables = tablesOf(visit)
  if (tables?.length === 0) return
  const unused = await partition.read(async (view) => {
    const used = await usedSchemas(view, tables)
    const found: Bytes[] = []
    const history = new HistorySchemas(view)
    for (const range of tables?.map(schemasRange) ?? [SCHEMAS_RANGE]) {
      for await (const keys of scanKeys(view, range)) {
        for (const key of keys) {
          if (!used.has(toHex(key)) && !(await history.needs(key))) found.push(key)
        }
      }
    }
    return found
  })
  await deleteKeys(partition, unused)
}

/**
 * The schemas that the histories of tables need: the schemas of the first change of a history and of all later changes.
 */
class HistorySchemas {
  readonly #view: KvView
  /** The keys of the first needed schemas, by table; null: the table has no history. */
  readonly #first = new Map<string, Bytes | null>()

  constructor(view: KvView) {
    this.#view = view
  }

  async needs(key: Bytes): Promise<boolean> {
    const table = tableOfKey(key)
    const name = toHex(table)
    let first = this.#first.get(name)
    if (first === undefined) {
      const change = await firstChange(this.#view, table)
      first = change && schemaKey(table, decodeChange(change).before.schemaNumber)
      this.#first.set(name, first)
    }
    return first !== null && compareBytes(key, first) >= 0
  }
}

async function usedSchemas(view: KvView, tables: Names): Promise<Set<string>> {
  const generations =
    tables === null ? await generationsOf(view) : await generationsOfTables(view, tables)
  return new Set(
    generations.map(({ table, schemaNumber }) => toHex(schemaKey(table, schemaNumber))),
  )
}

async function generationsOfTables(
  view: KvView,
  tables: readonly TableKey[],
): Promise<(Pick<Generation, 'schemaNumber'> & Readonly<{ table: TableKey }>)[]> {
  const generations = (await readRetired(view, tables)).map(({ table, retirement }) => {
    return { table, schemaNumber: retirement.generation.schemaNumber }
  })
  for await (const entries of scanHintedRecords(
    view,
    TABLE_HEADS_RANGE,
    tables.map(tableHeadKey),
  )) {
    for (const [key, head] of entries) {
      const { schemaNumber } = decodeTableHead(head).generation
      generations.push({ table: tableOfKey(key), schemaNumber })
    }
  }
  return generations
}
