// Adding rows to a table and replacing them: long work is prepared against a state of the table, and
// its last step runs in the table's commit queue on the head as it is then.
import type { Bytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { retirementKey, schemaKey, type TableKey } from '../../format/keys.js'
import {
  encodeRetirement,
  encodeSchema,
  type Generation,
  type TableHead,
} from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import type { ChangeResult, OnSchemaError, RowsInput, Stash } from '../api/store-types.js'
import { putMarkers } from '../commit/file-markers.js'
import type { RequestKey } from '../commit/idempotency.js'
import { type IdempotencyState, readIdempotency, saveResult } from '../commit/idempotency.js'
import type { Plan } from '../commit/table-writer.js'
import { nextGenerationStart } from '../context/extents.js'
import { toPublicVersion, versionBase } from '../context/public-versions.js'
import { rowIdsOf } from '../context/row-ids.js'
import { type IndexedSchema, indexSchema } from '../context/schema-cache.js'
import type { TablePlace } from '../context/store-context.js'
import {
  type LinkableRows,
  type OperationRows,
  policyOf,
  RowsReader,
  sourceHolds,
} from '../ingest/rows-reader.js'
import { emptyGeneration, readHead } from '../read/generations.js'
import { appendRows, linkableCount } from './append-rows.js'
import { type PreservedIds, preserveIds, withPreservedIds } from './preserved-ids.js'

/** A stash whose chunks are replaced while it is used gets so many tries. */
const STASH_TRIES_MAX = 4

/** Preparing again for a schema or for kept rows that moved is quick, as no other chunk was touched. */
const TRIES_MAX = 100

/**
 * So often the kept IDs are found beside other changes of the table. Then they are found in the operation's
 * turn, where no delete can come between, so that a busy table cannot starve an overwrite.
 */
const KEPT_TRIES_MAX = 3

/** What an operation was prepared against. */
type Base = Readonly<{ head: TableHead; schema: IndexedSchema; source: OperationRows }>

/** Rows ready to be linked, and the schema that the table gets with them. */
type Prepared = Readonly<{
  base: Base
  rows: LinkableRows
  newSchema: NewSchema | null
  /** null: no row carries a `$rowID`, or rows are added. */
  kept: PreservedIds | null
  /** Finds the kept IDs once more, in the operation's turn; null: the whole operation is tried again. */
  keepAgain: (() => Promise<PreservedIds>) | null
}>

type NewSchema = Readonly<{
  schema: TableSchema
  /** A column that there was has another type now, so cells that there are may read differently. */
  retypes: boolean
}>

/** Or what has changed since it was prepared, so that it must be prepared again. */
type Attempt = ChangeResult | 'schema' | 'stash' | 'rows'

type Operation = Readonly<{
  rows: RowsInput | Stash
  ifMatch?: number | bigint | undefined
  /** Replaces all rows, and the schema if one is given; else rows are added. */
  overwrite: boolean
  schema?: TableSchema | undefined
  onSchemaError: OnSchemaError
  /** Of an add: a repeat of it has no effect. */
  key?: RequestKey | undefined
}>

/** With a schema, or what is wrong with its columns, which is told in its turn. */
type GivenOperation = Omit<Operation, 'schema'> &
  Readonly<{ schema?: TableSchema | StoreError | undefined }>

export async function changeRows(place: TablePlace, given: GivenOperation): Promise<ChangeResult> {
  const { team } = place
  const first = await team.partition.read(async (view) => {
    await readHead(team, view, place.table, place.tableId) // 404 goes first.
    return changedOf(await readAddRepeat(place, given, (key) => view.get(key)))
  })
  if (first !== null) return first
  const sources = new RowsReader(team, given.rows)
  try {
    const operation = { ...given, schema: await prepareInOrder(place, given, sources) }
    for (let tries = 0, stashTries = 0, keptTries = 0; tries < TRIES_MAX; tries++) {
      const done = await attempt(place, operation, sources, keptTries >= KEPT_TRIES_MAX)
      if (typeof done !== 'string') return sources.released(done)
      if (done === 'stash' && ++stashTries === STASH_TRIES_MAX) break
      if (done === 'rows') keptTries++
    }
  } catch (failure) {
    sources.releaseAfter(failure)
    throw failure
  }
  sources.released(null)
  throw new StoreError('STORAGE_UNAVAILABLE', 'The stash or the schema keeps changing; try again', {
    outcome: 'unchanged',
  })
}

/** CONTRACT.md, section 1: a broken body comes before If-Match, and If-Match before what is wrong with data. */
async function prepareInOrder(
  place: TablePlace,
  { rows, ifMatch, schema }: GivenOperation,
  sources: RowsReader,
): Promise<TableSchema | undefined> {
  try {
    await sources.prepare(rows)
    if (schema instanceof StoreError) throw schema
    return schema
  } catch (failure) {
    if (failure instanceof StoreError && failure.code.startsWith('COLUMN_')) {
      const { partition } = place.team
      const head = await partition.read((view) =>
        readHead(place.team, view, place.table, place.tableId),
      )
      checkIfMatch('table', ifMatch, toPublicVersion(place.team, head).version)
    }
    throw failure
  }
}

async function attempt(
  place: TablePlace,
  operation: Operation,
  sources: RowsReader,
  keepsInTurn: boolean,
): Promise<Attempt> {
  const { team } = place
  const base = await readBase(place, operation, sources)
  if ('rowIds' in base) return base
  checkIfMatch('table', operation.ifMatch, toPublicVersion(team, base.head).version)
  const given = operation.schema && indexSchema(operation.schema)
  const policy = policyOf(team, base.source, given ?? base.schema, operation.onSchemaError)
  const rows = await sources.toStoredForm(base.source, policy)
  const newSchema = newSchemaOf(base.schema, policy.schema)
  const claims = operation.overwrite && base.source.chunks.some(({ chunk }) => chunk.hasClaims)
  const keep = async (): Promise<PreservedIds> => {
    const kept = await preserveIds(place, base.source, rows)
    sources.add(kept.forward)
    return kept
  }
  const kept = claims ? await keep() : null
  const prepared = { base, rows, newSchema, kept, keepAgain: keepsInTurn ? keep : null }
  return team.writers.change(
    { teamId: team.teamId, partition: team.partition, table: place.table, tableId: place.tableId },
    operation.overwrite
      ? planOverwrite(place, operation, prepared)
      : planAdd(place, operation, prepared),
  )
}

function readAddRepeat(
  { team, table }: TablePlace,
  { key }: Pick<Operation, 'key'>,
  read: ReadRecord,
): Promise<IdempotencyState | null> {
  return readIdempotency(team.options, table, key, read)
}

/** The first result of a key; null: there is none, or no key was given. */
function changedOf(repeat: IdempotencyState | null): ChangeResult | null {
  if (repeat === null || repeat.first === null) return null
  return { version: repeat.first.version, rowIds: rowIdsOf(repeat.first.runs) }
}

/** What to prepare against, or the first result if the operation turns out to be a repeat. */
function readBase(
  place: TablePlace,
  operation: Operation,
  sources: RowsReader,
): Promise<Base | ChangeResult> {
  const { team, table, tableId } = place
  return team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    const first = changedOf(await readAddRepeat(place, operation, (key) => view.get(key)))
    if (first !== null) return first
    const { schemaNumber } = head.generation
    const source = await sources.read(view)
    const schema = await team.schemas.get(table, schemaNumber, (key) => view.get(key))
    return { head, source, schema }
  })
}

/** null: the table keeps its schema. */
export function newSchemaOf(before: IndexedSchema, after: IndexedSchema): NewSchema | null {
  const { schema } = after
  if (after === before || JSON.stringify(schema) === JSON.stringify(before.schema)) return null
  const retypes = before.schema.columns.some(({ id, type }) => {
    return JSON.stringify(after.columns.get(id)?.type) !== JSON.stringify(type)
  })
  return { schema, retypes }
}

/** The generation under a new schema: its rows stay, and are converted when they are read. */
export function underSchema(
  generation: Generation,
  { retypes }: NewSchema,
  version: number,
): Generation {
  const schemaNumber = generation.schemaNumber + 1
  if (!retypes) return { ...generation, schemaNumber }
  const { nextExtent: convertBefore } = generation
  return { ...generation, schemaNumber, convertBefore, widenedAt: version }
}

export function putSchema(
  table: TableKey,
  { schemaNumber }: Generation,
  { schema }: NewSchema,
): readonly [Bytes, Bytes] {
  return [schemaKey(table, schemaNumber), encodeSchema(JSON.stringify(schema))]
}

function planAdd(
  place: TablePlace,
  operation: Operation,
  { base, rows, newSchema }: Prepared,
): Plan<Attempt> {
  const { team, table } = place
  return async (head, read) => {
    const repeat = await readAddRepeat(place, operation, read)
    const first = changedOf(repeat)
    if (first !== null) return { result: first }
    const moved = await whatMoved(base, head, read)
    if (moved !== null) return { result: moved }
    if (linkableCount(rows) === 0) {
      return { result: { version: head.version, rowIds: rowIdsOf([]) } }
    }
    const version = head.version + 1
    const { random } = team.options
    const before = head.generation
    const generation = newSchema === null ? before : underSchema(before, newSchema, version)
    const added = await appendRows(
      { read, random, table, generation, version, base: versionBase(team) },
      rows,
    )
    const { runs } = added
    const kept = saveResult(team.options, repeat, { operation: 'add', table, version, runs })
    const puts = [...added.puts, ...kept.puts, ...(await putMarkers(read, random, added.files))]
    if (newSchema !== null) puts.push(putSchema(table, generation, newSchema))
    const checks = [...added.checks, ...checksOf(base.source), ...kept.checks]
    return {
      result: { version, rowIds: rowIdsOf(runs) },
      change: { next: added.next, puts, checks },
    }
  }
}

function planOverwrite(
  { team, table }: TablePlace,
  { ifMatch }: Operation,
  { base, rows, newSchema, kept: keptBefore, keepAgain }: Prepared,
): Plan<Attempt> {
  return async (head, read) => {
    checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
    const moved = await whatMoved(base, head, read)
    if (moved !== null) return { result: moved }
    const { random, clock } = team.options
    const before = head.generation
    const moves = keptBefore !== null && !keptBefore.holds(before)
    const kept = moves && keepAgain !== null ? await keepAgain() : keptBefore
    // In its turn it sees durable rows alone: with a delete in flight, it is planned again after that.
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
      retiredAt: clock.now(),
      generation: before,
    })
    const puts = [...added.puts, ...(await putMarkers(read, random, added.files))]
    puts.push([retirementKey(table, before.firstExtent), retirement])
    if (newSchema !== null) puts.push(putSchema(table, generation, newSchema))
    const runs = kept === null ? added.runs : withPreservedIds(added.runs, firstExtent, kept.runs)
    return {
      result: { version, rowIds: rowIdsOf(runs) },
      change: { next: added.next, puts, checks: [...added.checks, ...checksOf(base.source)] },
    }
  }
}

/** null: what was prepared may still be linked, on the schema and the stash that it was prepared on. */
async function whatMoved(
  base: Base,
  head: TableHead,
  read: ReadRecord,
): Promise<'schema' | 'stash' | null> {
  if (head.generation.schemaNumber !== base.head.generation.schemaNumber) return 'schema'
  return (await sourceHolds(base.source, read)) ? null : 'stash'
}

/**
 * The first extent of the next generation, which touches no page of the one before. One page on even when
 * that has no extents: retirements are told apart by first extent.
 */
function startAfter({ firstExtent, nextExtent }: Generation): number {
  return nextGenerationStart(Math.max(nextExtent, firstExtent + 1))
}

function checksOf({ check }: OperationRows): readonly NonNullable<OperationRows['check']>[] {
  return check === null ? [] : [check]
}

/** @throws {StoreError} PRECONDITION_FAILED if the version now is greater than the one given. */
export function checkIfMatch(
  what: 'table' | 'row',
  ifMatch: number | bigint | undefined,
  version: number,
): void {
  if (ifMatch === undefined || BigInt(version) <= BigInt(ifMatch)) return
  throw new StoreError(
    'PRECONDITION_FAILED',
    `The ${what} changed after version ${ifMatch}: it is at version ${version}`,
  )
}
