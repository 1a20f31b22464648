// Checks the tables of a team: the catalog entries that name the tables, and the generations of the tables with all
// their rows.

import { type Bytes, sameBytes, toHex } from '../../base/bytes.js'
import { messageOf } from '../../base/shown-text.js'
import { DEAD_TABLES_RANGE, deadTableKey, decodeDeadTable } from '../../format/dead-table.js'
import {
  CATALOG_RANGE,
  catalogKey,
  EXTENTS_MAX,
  extentPagesRange,
  PAGE_EXTENTS,
  RETIREMENTS_RANGE,
  rowsRange,
  SLOTS_MAX,
  schemaKey,
  TABLE_HEADS_RANGE,
  type TableKey,
  TEAM_HEAD_KEY,
  tableHeadKey,
  tableOfKey,
} from '../../format/keys.js'
import {
  decodeCatalogEntry,
  decodeSchema,
  decodeTableHead,
  decodeTeamHead,
  type Generation,
  type TableHead,
} from '../../format/records.js'
import { parseSchemaText } from '../../format/schema-record.js'
import { renderTableId } from '../../format/table-id.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { parseStoredSchema } from '../../schema/table-schema.js'
import type { StoreContext } from '../context/store-context.js'
import { readRetirements } from '../read/generations.js'
import type { Problem, VerifyPlace } from '../types/verify-types.js'
import { type VerifyContext, verifyExtents } from './verify-extents.js'
import { type Findings, toReadProblem } from './verify-findings.js'
import { verifyKeys } from './verify-keys.js'
import { verifyRows } from './verify-rows.js'

/** Maximum number of tables that are listed in one view. */
const TABLES_AT_ONCE = 1_000
/** Maximum number of attempts to check a table that others change meanwhile. */
const TRIES_MAX = 3
const COLUMNS_MAX = 65_535

/** Checks all tables of a team. */
export async function verifyTables(verifying: VerifyContext): Promise<void> {
  const { findings, partition, teamId } = verifying
  await findings.step({ team: teamId }, () =>
    partition.read((view) => verifyCatalog(findings, view, teamId)),
  )
  await findings.step({ team: teamId }, () =>
    partition.read((view) => verifyDeadTables(findings, view, teamId)),
  )
  let start: Bytes | null = TABLE_HEADS_RANGE.start
  while (start !== null) {
    const from: Bytes = start
    const scan = { start: from, limit: TABLE_HEADS_RANGE.limit, count: TABLES_AT_ONCE }
    const found = await findings.step({ team: teamId }, () =>
      partition.read(async (view) => (await view.scan(scan)).map(([key]) => key.slice())),
    )
    for (const key of found ?? []) await verifyTable(verifying, tableOfKey(key))
    const last: Bytes | undefined = found?.[found.length - 1]
    start = last === undefined || (found?.length ?? 0) < TABLES_AT_ONCE ? null : keyAfter(last)
  }
}

/**
 * Checks that each catalog entry names a table, and that its order number is below that of the next table to be
 * created.
 */
async function verifyCatalog(findings: Findings, view: KvView, team: string): Promise<void> {
  const headBytes = await view.get(TEAM_HEAD_KEY)
  const nextOrder = headBytes === null ? 0 : decodeTeamHead(headBytes)
  for await (const entries of scanBatches(view, CATALOG_RANGE)) {
    findings.checkGoesOn()
    const listed = entries.map(([key, bytes]) => ({ key, ...decodeCatalogEntry(bytes) }))
    const heads = await view.getMany(listed.map(({ table }) => tableHeadKey(table)))
    for (const [i, { key, table, name }] of listed.entries()) {
      const where = { team, table: renderTableId(table) }
      const head = heads[i] ?? null
      if (head === null) {
        const message = `The catalog lists ${JSON.stringify(name)}, but the table has no head`
        findings.add({ kind: 'record-missing', message }, where)
      } else if (!sameBytes(catalogKey(decodeTableHead(head).order), key)) {
        findings.add(
          { kind: 'record-mismatch', message: 'The catalog lists the table at another place' },
          where,
        )
      }
    }
    const last = entries[entries.length - 1]?.[0]
    if (last !== undefined && !isBefore(last, catalogKey(nextOrder))) {
      const message = 'The catalog has entries beyond its next place'
      findings.add({ kind: 'record-mismatch', message }, { team })
    }
  }
}

/** Checks that a deleted table has no head, and that retired rows belong to a table or a deleted table. */
async function verifyDeadTables(findings: Findings, view: KvView, team: string): Promise<void> {
  for await (const entries of scanBatches(view, DEAD_TABLES_RANGE)) {
    findings.checkGoesOn()
    const heads = await view.getMany(entries.map(([key]) => tableHeadKey(tableOfKey(key))))
    for (const [i, [key, record]] of entries.entries()) {
      decodeDeadTable(record)
      if ((heads[i] ?? null) === null) continue
      const message = 'The table was deleted, but has a head'
      findings.add(
        { kind: 'record-mismatch', message },
        { team, table: renderTableId(tableOfKey(key)) },
      )
    }
  }
  for await (const entries of scanBatches(view, RETIREMENTS_RANGE)) {
    findings.checkGoesOn()
    for (const [key] of entries) {
      const table = tableOfKey(key)
      const [head, dead] = await view.getMany([tableHeadKey(table), deadTableKey(table)])
      if (head !== null || dead !== null) continue
      const message = 'Overwritten rows remain of a table that does not exist'
      findings.add({ kind: 'orphan-record', message }, { team, table: renderTableId(table) })
    }
  }
}

function isBefore(left: Bytes, right: Bytes): boolean {
  return toHex(left) < toHex(right)
}

async function verifyTable(verifying: VerifyContext, table: TableKey): Promise<void> {
  const { findings, partition, teamId, context } = verifying
  const where = { team: teamId, table: renderTableId(table) }
  const generations = await findings.step(where, async () => {
    for (let tries = 1; ; tries++) {
      const seen = await partition.read((view) =>
        verifyRecords(context, findings, view, table, where),
      )
      if (seen === null || seen.isCounted || tries === TRIES_MAX) return seen?.generations ?? []
    }
  })
  findings.counts.tables++
  for (const nonce of generations ?? []) await verifyExtents(verifying, table, nonce, where)
  await verifyKeys(verifying, table, where)
}

type SeenTable = Readonly<{
  /** Nonces of the generations that can be read. */
  generations: readonly Bytes[]
  /** Whether the rows of the table could be counted in spite of the reported problems. */
  isCounted: boolean
}>

/** Checks the records of a table in one view. null: the table does not exist. */
async function verifyRecords(
  context: StoreContext,
  findings: Findings,
  view: KvView,
  table: TableKey,
  where: VerifyPlace,
): Promise<SeenTable | null> {
  const headBytes = await view.get(tableHeadKey(table))
  if (headBytes === null) return null
  const head = decodeTableHead(headBytes)
  await verifyCatalogEntry(findings, view, head, table, where)
  const retirements = await readRetirements(view, table)
  const retired = retirements.filter(({ dropping }) => !dropping)
  const places = [
    { table, generation: head.generation, versionMax: head.version },
    ...retired.map(({ generation, lastVersion }) => {
      if (lastVersion >= head.version) {
        const message = `A retired generation has version ${lastVersion}; the table has ${head.version}`
        findings.add({ kind: 'record-mismatch', message }, where)
      }
      return { table, generation, versionMax: lastVersion }
    }),
  ]
  let isCounted = true
  let limit = EXTENTS_MAX
  for (const place of places) {
    const { generation } = place
    const problems = generationProblems(place, limit)
    limit = generation.firstExtent
    findings.addAll(problems, where)
    await verifySchema(findings, view, table, generation, where)
    if (problems.length > 0) continue
    const before = findings.damageCount
    const liveRows = await verifyRows(context, findings, view, place, where)
    if (place === places[0]) findings.counts.rows += liveRows ?? 0
    if (liveRows === null && findings.damageCount === before) isCounted = false
  }
  await verifyUnused(findings, view, table, head.generation, where)
  const kept = [head.generation, ...retirements.map(({ generation }) => generation)]
  await verifyForgotten(findings, view, table, kept, where)
  return { generations: places.map(({ generation }) => generation.nonce), isCounted }
}

async function verifyCatalogEntry(
  findings: Findings,
  view: KvView,
  { order }: TableHead,
  table: TableKey,
  where: VerifyPlace,
): Promise<void> {
  const entry = await view.get(catalogKey(order))
  if (entry !== null && sameBytes(decodeCatalogEntry(entry).table, table)) return
  const kind = entry === null ? 'record-missing' : 'record-mismatch'
  findings.add({ kind, message: 'The catalog does not list the table' }, where)
}

/** Problems of a generation record that prevent a check of its rows. */
function generationProblems(
  { generation, versionMax }: Readonly<{ generation: Generation; versionMax: number }>,
  limit: number,
): Problem[] {
  const { firstExtent, nextExtent, convertBefore, widenedAt, open } = generation
  const holds =
    versionMax >= 1 &&
    firstExtent % PAGE_EXTENTS === 0 &&
    firstExtent <= nextExtent &&
    nextExtent <= limit &&
    convertBefore <= nextExtent &&
    widenedAt <= versionMax &&
    (open === null || (open.extent === nextExtent - 1 && open.extent >= firstExtent)) &&
    (open === null || (open.nextSlot >= 1 && open.nextSlot <= SLOTS_MAX))
  if (holds) return []
  const message = `The numbers of generation ${toHex(generation.nonce)} contradict each other`
  return [{ kind: 'record-mismatch', message }]
}

async function verifySchema(
  findings: Findings,
  view: KvView,
  table: TableKey,
  { schemaNumber }: Generation,
  where: VerifyPlace,
): Promise<void> {
  const place = `schema ${schemaNumber}`
  try {
    const bytes = await view.get(schemaKey(table, schemaNumber))
    if (bytes === null) {
      findings.add({ kind: 'record-missing', message: 'The schema is missing', place }, where)
    } else {
      parseStoredSchema(parseSchemaText(decodeSchema(bytes)).schema, COLUMNS_MAX)
    }
  } catch (failure) {
    const isOfSchema = failure instanceof SyntaxError || !isStorage(failure)
    const message = messageOf(failure)
    const problem = isOfSchema
      ? { kind: 'record' as const, message }
      : toReadProblem(failure, 'record')
    findings.add({ ...problem, place }, where)
  }
}

function isStorage(failure: unknown): boolean {
  const { code } = failure as { code?: unknown }
  return code === 'STORAGE_UNAVAILABLE' || code === 'STORE_CLOSED' || code === 'ABORTED'
}

/**
 * Checks that no records lie between the positions of the generations: nothing would ever delete such records.
 * @param kept - The existing generations, newest first.
 */
async function verifyForgotten(
  findings: Findings,
  view: KvView,
  table: TableKey,
  kept: readonly Generation[],
  where: VerifyPlace,
): Promise<void> {
  for (const [i, { firstExtent: limit }] of kept.entries()) {
    const from = kept[i + 1]?.nextExtent ?? 0
    if (from >= limit) continue
    const firstPage = PAGE_EXTENTS * Math.ceil(from / PAGE_EXTENTS)
    const pages = extentPagesRange(table, firstPage, limit)
    for (const range of [rowsRange(table, { extent: from, slot: 0 }, limit), pages]) {
      const found = await view.scan({ ...range, count: 1 })
      if (found.length === 0) continue
      const message = `Records remain of extents ${from} to ${limit - 1}, which belong to no generation`
      findings.add({ kind: 'orphan-record', message }, where)
      break
    }
  }
}

/** Checks that there are no records at the positions of extents that the table will create. */
async function verifyUnused(
  findings: Findings,
  view: KvView,
  table: TableKey,
  { nextExtent }: Generation,
  where: VerifyPlace,
): Promise<void> {
  const nextPage = PAGE_EXTENTS * Math.ceil(nextExtent / PAGE_EXTENTS)
  const rows = rowsRange(table, { extent: nextExtent, slot: 0 }, EXTENTS_MAX)
  const pages = extentPagesRange(
    table,
    nextPage,
    PAGE_EXTENTS * Math.floor(EXTENTS_MAX / PAGE_EXTENTS),
  )
  for (const range of [rows, pages]) {
    const found = await view.scan({ ...range, count: 1 })
    if (found.length === 0) continue
    const message = `A record lies beyond extent ${nextExtent}, the next one to be used`
    findings.add({ kind: 'record-mismatch', message }, where)
  }
}
