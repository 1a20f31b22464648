// Replaces all rows of a table, and its schema if one is given. The same commit retires the old rows. It runs in the
// table's commit queue, on the current head.
import { isSync } from '../../base/awaitable.js'
import { type Deferred, deferred, isDataError } from '../../base/data-error.js'
import { jobLeaseKey, retirementKey, schemaKey } from '../../format/keys.js'
import { encodeRetirement, type Generation } from '../../format/records.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { nextGenerationStart } from '../caches/extents.js'
import { type IndexedSchema, indexSchema } from '../caches/schema-cache.js'
import { putMarkers } from '../commit/file-markers.js'
import { type JobGuard, readJobGuard } from '../commit/job-guard.js'
import type { AheadOfTurn, TableLook } from '../commit/table-looks.js'
import type { Plan } from '../commit/table-writer.js'
import { hintOfSegments, hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion, versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { rowIdsOf } from '../ids/row-ids.js'
import { RowsReader, recordsOfSource } from '../import/rows-reader.js'
import { emptyGeneration, readHead, readSchema } from '../read/generations.js'
import type { ChangeResult, OnSchemaError, RowsInput, Stash } from '../types/row-types.js'
import { appendRows, linkableBytes } from './append-rows.js'
import {
  baseOfLook,
  checksOf,
  checksOfObjects,
  linkUntilDone,
  type Moved,
  type ReadyRows,
  readLinkBase,
  readyRows,
  whatMoved,
} from './link-rows.js'
import { type PreservedIds, preserveIds, withPreservedIds } from './preserved-ids.js'
import { putSchema, withoutPast } from './schema-change.js'

/**
 * Maximum number of searches for preserved IDs concurrent with other changes of the table. Further ones run in the
 * operation's turn, where no delete interferes, so that a busy table cannot starve an overwrite.
 */
const KEPT_TRIES_MAX = 3

type OverwriteRequest = Readonly<{
  /** The job of the overwrite. */
  guard?: JobGuard | undefined
  rows: RowsInput | Stash
  ifMatch: number | bigint | undefined
  /** undefined: the table keeps its schema. */
  schema: TableSchema | undefined
  onSchemaError: OnSchemaError
  /** Whether to keep and return the receipt. */
  receipt?: boolean | undefined
  signal?: AbortSignal | undefined
}>

type GivenRequest = Omit<OverwriteRequest, 'schema'> &
  Readonly<{ readSchema: (() => TableSchema) | undefined }>

/** The row IDs that the operation preserves. */
type KeptIds = Readonly<{
  /** null: no row has a `$rowID`. */
  kept: PreservedIds | null
  /**
   * Finds the preserved IDs anew, in the operation's turn, if they no longer hold. null: the whole operation is
   * repeated instead.
   */
  keepAgain: (() => Promise<PreservedIds>) | null
}>

/** What a shared store reads before the turn. On other stores both members are undefined. */
type ReadAhead = Readonly<{ ahead: AheadOfTurn | undefined; look: TableLook | undefined }>

export async function overwriteRows(place: TablePlace, given: GivenRequest): Promise<ChangeResult> {
  const { team, table, tableId } = place
  const ahead = aheadOfOverwrite(place, given)
  let seen = ahead && (await team.writers.look(place, ahead)) // A missing table is refused first.
  if (seen === undefined) await team.partition.read((view) => readHead(team, view, table, tableId))
  if (given.guard !== undefined) seen = undefined // Its lease changes while the rows are read.
  const schema = given.readSchema && deferred(given.readSchema)
  const expected = {
    readSchema: () => (schema === undefined ? readSchema(place) : indexedOrNull(schema)),
    onSchemaError: given.onSchemaError,
  }
  const reader = new RowsReader(team, 'overwrite', given.rows, given.signal, expected)
  const prepareRequest = async (): Promise<OverwriteRequest> => ({
    ...given,
    schema: await prepare(place, given, schema, reader),
  })
  return linkUntilDone(reader, prepareRequest, async (request, { rows: timesMoved }) => {
    const look = seen ?? (ahead && (await team.writers.look(place, ahead)))
    seen = undefined // The next attempt looks again.
    return tryOverwrite(place, request, reader, timesMoved >= KEPT_TRIES_MAX, { ahead, look })
  })
}

/** The indexed schema; null: the schema has an error, which is reported after errors of the rows. */
export function indexedOrNull(schema: Deferred<TableSchema>): IndexedSchema | null {
  try {
    return indexSchema(schema())
  } catch (failure) {
    if (isDataError(failure)) return null
    throw failure
  }
}

/** @returns undefined: the store is not shared, so nothing is read ahead */
function aheadOfOverwrite(
  { team, table }: TablePlace,
  { rows, guard }: GivenRequest,
): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  const always = [...recordsOfSource(rows)]
  if (guard !== undefined) always.push(jobLeaseKey(guard.job))
  return { keys: (head) => [...always, schemaKey(table, head?.generation.schemaNumber ?? 0)] }
}

async function prepare(
  place: TablePlace,
  { rows, ifMatch }: GivenRequest,
  schema: Deferred<TableSchema> | undefined,
  reader: RowsReader,
): Promise<TableSchema | undefined> {
  return readAfterIfMatch(place, ifMatch, async () => {
    await reader.prepare(rows)
    return schema?.()
  })
}

/**
 * Reads the input of an overwrite. Errors of its data are thrown only if the table has the expected version.
 * @throws {StoreError} PRECONDITION_FAILED, and the errors of `read`
 */
export async function readAfterIfMatch<T>(
  { team, table, tableId }: TablePlace,
  ifMatch: number | bigint | undefined,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (failure) {
    if (ifMatch !== undefined && isDataError(failure)) {
      const head = await team.partition.read((view) => readHead(team, view, table, tableId))
      checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    }
    throw failure
  }
}

async function tryOverwrite(
  place: TablePlace,
  request: OverwriteRequest,
  reader: RowsReader,
  keepsInTurn: boolean,
  { ahead, look }: ReadAhead,
): Promise<ChangeResult | Moved> {
  const { team } = place
  const base = await (look === undefined
    ? team.partition.read((view) => readLinkBase(place, reader, view))
    : baseOfLook(place, reader, look))
  checkIfMatch('table', request.ifMatch, toPublicVersion(team, base.head).version)
  const schema = request.schema === undefined ? base.schema : indexSchema(request.schema)
  const { onSchemaError, receipt } = request
  const ready = await readyRows(place, reader, base, schema, onSchemaError, receipt)
  const keep = async (): Promise<PreservedIds> => {
    const kept = await preserveIds(place, base.source, ready.rows)
    reader.add(kept.forward)
    return kept
  }
  const hasClaims = base.source.chunks.some(({ chunk }) => chunk.hasClaims)
  const kept = hasClaims ? await keep() : null
  const keptIds = { kept, keepAgain: keepsInTurn ? keep : null }
  const changed = await team.writers.change(
    place,
    planOverwrite(place, request, reader, ready, keptIds),
    ahead,
    look,
  )
  if (typeof changed !== 'string') team.limits.storeRows(team, linkableBytes(ready.rows))
  return changed
}

function planOverwrite(
  { team, table }: TablePlace,
  { ifMatch, guard }: OverwriteRequest,
  reader: RowsReader,
  { base, rows, newSchema: given, receipt }: ReadyRows,
  { kept: keptBefore, keepAgain }: KeptIds,
): Plan<ChangeResult | Moved> {
  const newSchema = given ?? withoutPast(base.schema)
  return async (head, read) => {
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const job = await readJobGuard(guard, read)
    const moved = await whatMoved(base, head, read)
    if (moved !== null) return { result: moved }
    const { random, clock } = team.options
    const before = head.generation
    const moves = keptBefore !== null && !keptBefore.holds(before)
    const kept = moves && keepAgain !== null ? await keepAgain() : keptBefore
    // The search in the turn sees only durable rows. If a delete is in flight, the overwrite is planned again after it.
    if (kept !== null && !kept.holds(before)) return { result: 'rows' }
    const version = head.version + 1
    const schemaNumber = before.schemaNumber + (newSchema === null ? 0 : 1)
    const firstExtent = startAfter(before)
    const empty = emptyGeneration(random.bytes(8), firstExtent, schemaNumber)
    const generation = { ...empty, forward: kept?.forward ?? null }
    const added = await appendRows(
      { read, random, table, generation, version, base: versionBase(team) },
      rows,
    )
    const retirement = encodeRetirement({
      dropping: false,
      lastVersion: head.version,
      retiredAt: await clock.stampMs(),
      generation: before,
    })
    const puts = [...added.puts, ...(await putMarkers(read, random, added.files))]
    puts.push([retirementKey(table, before.firstExtent), retirement])
    puts.push(...hintOfTable(team, table, version))
    if ('segments' in rows) puts.push(...hintOfSegments(team, table, version))
    if (newSchema !== null) puts.push(putSchema(table, generation, newSchema, null))
    const runs = kept === null ? added.runs : withPreservedIds(added.runs, firstExtent, kept.runs)
    const ended = job.succeed({ table, version, runs })
    const own = checksOfObjects({ team }, reader)
    const checks = [...added.checks, ...checksOf(base.source), ...job.checks]
    return {
      result: { version, rowIds: rowIdsOf(runs) },
      change: {
        next: added.next,
        operation: 'overwrite',
        receipt,
        puts: [...puts, ...ended.puts],
        deletes: ended.deletes,
        checks: [...checks, ...(isSync(own) ? own : await own)],
      },
    }
  }
}

/**
 * The first extent of the next generation, which shares no page with the previous one. It is at least one page further,
 * even if the previous generation has no extents: the first extent identifies a retirement.
 */
function startAfter({ firstExtent, nextExtent }: Generation): number {
  return nextGenerationStart(Math.max(nextExtent, firstExtent + 1))
}
