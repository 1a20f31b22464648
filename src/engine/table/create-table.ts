// Creates a table: one commit writes catalog entry, head, schema and rows, so a failure leaves nothing.
import type { Bytes } from '../../base/bytes.js'
import {
  catalogKey,
  idempotencyRecordKey,
  jobLeaseKey,
  schemaKey,
  TEAM_HEAD_KEY,
  tableHeadKey,
} from '../../format/keys.js'
import type { ReceiptDetail } from '../../format/log-records.js'
import {
  decodeTeamHead,
  encodeCatalogEntry,
  encodeSchema,
  encodeTableHead,
  encodeTeamHead,
} from '../../format/records.js'
import { newUuid, renderTableId } from '../../format/table-id.js'
import type { KvView } from '../../kv/kv.js'
import { type Ahead, readAhead } from '../../kv/read-ahead.js'
import type { ObjectId } from '../../objects/objects.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { indexSchema } from '../caches/schema-cache.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import { newMarkedFiles, putMarkers, recordsOfMarkers } from '../commit/file-markers.js'
import type { RequestKey } from '../commit/idempotency.js'
import { type IdempotencyState, readIdempotency, saveResult } from '../commit/idempotency.js'
import { type JobGuard, readJobGuard } from '../commit/job-guard.js'
import { hintOfSegments } from '../commit/work-hints.js'
import { versionBase } from '../context/public-versions.js'
import type { TeamContext } from '../context/store-context.js'
import { rowIdsOf } from '../ids/row-ids.js'
import {
  type GivenRows,
  type LinkableRows,
  type OperationRows,
  RowsReader,
  recordsOfSource,
  sourceHolds,
} from '../import/rows-reader.js'
import { planRowPolicy } from '../import/schema-of-rows.js'
import { keyedStart } from '../keys/changed-keys.js'
import { tooLongNames, tooManyTables } from '../limits/team-limits.js'
import { emptyGeneration } from '../read/generations.js'
import { firstTableNamed } from '../read/table-infos.js'
import type { Authored } from '../types/call-types.js'
import type { CreateResult, OnSchemaError } from '../types/row-types.js'
import { type Appended, appendRows, linkableBytes } from './append-rows.js'
import { checksOf, linkUntilDone } from './link-rows.js'
import { draftReceipt } from './receipts.js'

type CreateRequest = Readonly<{
  name: string
  schema: TableSchema | undefined
  rows: GivenRows
  onSchemaError: OnSchemaError
  key: RequestKey | undefined
  /** Whether an existing table with that name becomes the result instead. */
  isOnlyOfName?: boolean | undefined
  /** IDs of the columns of the table's key. */
  keyColumns?: readonly string[] | undefined
  /** The job that runs the create. Its record has the ID of the new table. */
  guard?: JobGuard | undefined
  /** Whether to keep and return the receipt. */
  receipt?: boolean | undefined
  /** Who creates the table; undefined: unknown. */
  by?: Authored | undefined
  signal?: AbortSignal | undefined
}>

/** The result stored under a key; null: no result is stored, or no key was given. */
export async function findCreated(
  team: TeamContext,
  key: RequestKey | undefined,
): Promise<CreateResult | null> {
  if (key === undefined) return null
  return team.partition.read(async (view) => createdOf(await readCreateRepeat(team, key, view)))
}

function readCreateRepeat(
  { options }: TeamContext,
  key: RequestKey | undefined,
  view: KvView,
): Promise<IdempotencyState | null> {
  return readIdempotency(options, null, key, (record) => view.get(record))
}

function createdOf(repeat: IdempotencyState | null): CreateResult | null {
  if (repeat === null || repeat.first === null) return null
  const { table, version, runs } = repeat.first
  return { tableId: renderTableId(table), version, rowIds: rowIdsOf(runs) }
}

export async function createTable(
  team: TeamContext,
  request: CreateRequest,
): Promise<CreateResult> {
  const { key, onSchemaError } = request
  await team.ensureTeam()
  const base = request.schema === undefined ? null : indexSchema(request.schema)
  const expected = { readSchema: () => base, onSchemaError }
  const reader = new RowsReader(team, 'create', request.rows, request.signal, expected)
  const prepare = () => reader.prepare(request.rows)
  return linkUntilDone(reader, prepare, async () => {
    const source = await team.partition.read((snapshot) =>
      readAhead(snapshot, aheadOfCreate(team, request), async (view) => {
        const first = createdOf(await readCreateRepeat(team, key, view))
        if (first === null) checkTableRoom(team, await readCatalogPlace(team, request, view))
        return first ?? reader.read(view)
      }),
    )
    if ('tableId' in source) return source
    if (key !== undefined) await team.limits.checkKeys(team, key.text)
    const policy = await planRowPolicy(team, source, base, onSchemaError)
    const rows = await reader.toStoredForm(source, policy)
    const bytes = linkableBytes(rows)
    await team.limits.checkRows(team, bytes)
    const { schema } = policy.schema
    const about = { source, rows, policy, before: null }
    const receipt = request.receipt ? await draftReceipt(team, about) : null
    // Creates of this process take turns. Conflicts with other processes are retried.
    const created = await team.turns.run(`create ${team.teamId}`, () =>
      commitTable(team, request, { schema, source, rows, receipt, objects: reader.objects }),
    )
    if (created === null) return 'stash'
    team.limits.storeRows(team, bytes)
    team.tableCounts.noteName(request.name, team.teamId)
    return created
  })
}

/** The records that the views of a create read. @returns undefined: the store is not shared, so nothing is read ahead */
function aheadOfCreate(
  { kv }: TeamContext,
  { rows, key, guard }: CreateRequest,
  files = newMarkedFiles(),
): Ahead | undefined {
  if (!kv.shared) return undefined
  const keys = [TEAM_HEAD_KEY, ...recordsOfSource(rows), ...recordsOfMarkers(files)]
  if (key !== undefined) keys.push(idempotencyRecordKey(null, key.text))
  if (guard !== undefined) keys.push(jobLeaseKey(guard.job))
  return { keys }
}

/** A table that is ready to be created. */
type ReadyTable = Readonly<{
  schema: TableSchema
  source: OperationRows
  rows: LinkableRows
  /** null: no receipt was requested. */
  receipt: ReceiptDetail | null
  /** Objects of the rows that no record names yet. */
  objects: readonly ObjectId[]
}>

/**
 * Commits the table.
 * @returns the result, or the first result of the request's key; null: the stash has changed since it was read
 */
async function commitTable(
  team: TeamContext,
  request: CreateRequest,
  { schema, source, rows, receipt, objects }: ReadyTable,
): Promise<CreateResult | null> {
  const { name, guard, by } = request
  const { random } = team.options
  const table = guard?.record.table ?? newUuid(random.bytes(16))
  const empty = emptyGeneration(random.bytes(8), 0, 0)
  const read = async (): Promise<null> => null // A new table has no extent pages.
  const start = { read, random, table, generation: empty, version: 1, base: versionBase(team) }
  const { runs, files, ...appended } = await appendRows(start, rows)
  const made = await withTableKey(team, table, appended, request.keyColumns, schema)
  const { next } = made
  const { puts } = team.logged({ table, by }, null, { ...made, operation: 'create', receipt })
  const records = [
    ...puts,
    ...('segments' in rows ? hintOfSegments(team, table, 1) : []),
    [schemaKey(table, 0), encodeSchema(JSON.stringify(schema))] as const,
  ]
  return commitUntilAccepted('Too many tables are being created', random, async () => {
    const ahead = aheadOfCreate(team, request, files)
    const { repeat, first, place, holds, markers, job } = await team.partition.read((snapshot) =>
      readAhead(snapshot, ahead, async (view) => ({
        ...(await readFirst(team, request, view)),
        place: await readCatalogPlace(team, request, view),
        holds: await sourceHolds(source, (key) => view.get(key)),
        markers: await putMarkers((key) => view.get(key), random, files),
        job: await readJobGuard(guard, (key) => view.get(key)),
      })),
    )
    if (first !== null) return first
    if (!holds) return null
    checkTableRoom(team, place)
    const { order, teamHead } = place
    const now = team.options.clock.now()
    const times = { createdAt: now, updatedAt: now }
    const head = { version: 1, commitNonce: random.bytes(8), order, generation: next, times }
    const kept = await saveResult(team, repeat, { operation: 'create', table, version: 1, runs })
    const ended = job.succeed({ table, version: 1, runs })
    const checks = [...checksOf(source), ...kept.checks, ...job.checks]
    const { ok } = await team.incarnation.commit(team, objects, {
      checks: [{ key: TEAM_HEAD_KEY, equals: teamHead }, ...checks],
      deletes: ended.deletes,
      puts: [
        ...records,
        ...kept.puts,
        ...ended.puts,
        ...markers,
        [TEAM_HEAD_KEY, encodeTeamHead(order + 1)],
        [catalogKey(order), encodeCatalogEntry({ table, name })],
        [tableHeadKey(table), encodeTableHead(head)],
      ],
    })
    if (!ok) return REFUSED
    if (request.key !== undefined) team.limits.keepKey(team, request.key.text)
    return { tableId: renderTableId(table), version: 1, rowIds: rowIdsOf(runs) }
  })
}

/** What exists before a create. `repeat`: the record of its key. `first`: the result to return instead of creating. */
async function readFirst(
  team: TeamContext,
  { key, name, isOnlyOfName }: CreateRequest,
  view: KvView,
): Promise<Readonly<{ repeat: IdempotencyState | null; first: CreateResult | null }>> {
  const repeat = await readCreateRepeat(team, key, view)
  const named = isOnlyOfName ? await firstTableNamed(view, name) : null
  if (named === null) return { repeat, first: createdOf(repeat) }
  return { repeat, first: { tableId: named, version: 1, rowIds: rowIdsOf([]) } }
}

/**
 * The records of the rows of a new table, and of its key.
 * @throws {StoreError} KEY_NOT_UNIQUE, REQUEST_VALIDATION_ERROR
 */
async function withTableKey(
  team: TeamContext,
  table: Bytes,
  { next, puts }: Pick<Appended, 'next' | 'puts'>,
  columns: readonly string[] | undefined,
  schema: TableSchema,
): Promise<Pick<Appended, 'next' | 'puts'>> {
  if (columns === undefined) return { next, puts }
  const place = { team, table, tableId: renderTableId(table) }
  return keyedStart(team, place, { columns, schema, next, puts })
}

/** The place of the next table in the catalog. */
type CatalogPlace = Readonly<{
  teamHead: Bytes | null
  order: number
  /** Whether the team has as many tables as allowed. */
  isFull: boolean
  /** Whether the team has room for the name of the new table. */
  hasNameRoom: boolean
}>

async function readCatalogPlace(
  { teamId, tableCounts }: TeamContext,
  { name }: CreateRequest,
  view: KvView,
): Promise<CatalogPlace> {
  const teamHead = await view.get(TEAM_HEAD_KEY)
  const order = teamHead === null ? 0 : decodeTeamHead(teamHead)
  const isFull = await tableCounts.isFull(teamId, view, order)
  return { teamHead, order, isFull, hasNameRoom: await tableCounts.hasRoomFor(name, teamId, view) }
}

/** @throws {StoreError} LIMIT_EXCEEDED */
function checkTableRoom({ options }: TeamContext, { isFull, hasNameRoom }: CatalogPlace): void {
  if (isFull) throw tooManyTables(options.tablesMax)
  if (!hasNameRoom) throw tooLongNames(options.tableNamesBytesMax)
}
