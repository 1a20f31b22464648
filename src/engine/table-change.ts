// Adding rows to a table and replacing them: long work is prepared against a state of the table, and
// its last step runs in the table's commit queue on the head as it is then.
import { StoreError } from '../base/store-error.js'
import { retirementKey, schemaKey, type TableKey } from '../format/keys.js'
import {
  encodeRetirement,
  encodeSchema,
  type Generation,
  type TableHead,
} from '../format/records.js'
import type { TableSchema } from '../schema/column-kind.js'
import { appendRows, type LinkableRows, linkableCount } from './append-rows.js'
import type { Judge } from './conform.js'
import { nextGenerationStart } from './extents.js'
import { readHead } from './generations.js'
import { type RowSource, RowSources, sourceHolds } from './row-source.js'
import { type IndexedSchema, indexSchema } from './schema-cache.js'
import type { TeamContext } from './store-context.js'
import type { Changed, RowsInput, Stash } from './store-types.js'
import type { Plan, Planned } from './table-writer.js'

/** A table as its operations address it. */
export type TablePlace = Readonly<{ team: TeamContext; table: TableKey; tableId: string }>

/** A stash whose chunks are replaced while it is used, or a schema that moves, gets so many tries. */
const TRIES_MAX = 4

/** What an operation was prepared against. */
type Base = Readonly<{ head: TableHead; schema: IndexedSchema; source: RowSource }>

/** null: the base does not hold any more, prepare again. */
type Attempt = Changed | null

type Operation = Readonly<{
  rows: RowsInput | Stash
  ifMatch?: number | bigint | undefined
  /** Replaces all rows, and the schema if one is given; else rows are added. */
  overwrite: boolean
  schema?: TableSchema | undefined
}>

export async function changeRows(place: TablePlace, operation: Operation): Promise<Changed> {
  const { team } = place
  await team.partition.read((view) => readHead(view, place.table, place.tableId)) // 404 goes first.
  const sources = new RowSources(team, operation.rows)
  try {
    await prepareInOrder(place, operation, sources)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const done = await attempt(place, operation, sources)
      if (done !== null) return done
    }
  } finally {
    sources.settle()
  }
  throw new StoreError('STORAGE_UNAVAILABLE', 'The stash or the schema keeps changing; try again', {
    outcome: 'unchanged',
  })
}

/** Contract, section 1: a broken body comes before If-Match, and If-Match before what is wrong with data. */
async function prepareInOrder(
  place: TablePlace,
  { rows, ifMatch }: Operation,
  sources: RowSources,
): Promise<void> {
  try {
    await sources.prepare(rows)
  } catch (failure) {
    if (failure instanceof StoreError && failure.code.startsWith('COLUMN_')) {
      const { partition } = place.team
      const head = await partition.read((view) => readHead(view, place.table, place.tableId))
      checkIfMatch('table', ifMatch, head.version)
    }
    throw failure
  }
}

async function attempt(
  place: TablePlace,
  operation: Operation,
  sources: RowSources,
): Promise<Attempt> {
  const { team } = place
  const base = await readBase(place, operation, sources)
  checkIfMatch('table', operation.ifMatch, base.head.version)
  const judge: Judge = {
    schema: base.schema,
    formatChecks: team.options.formatChecks,
    inferred: false,
  }
  const rows = await sources.conform(base.source, judge)
  return team.writers.change(
    { teamId: team.teamId, partition: team.partition, table: place.table, tableId: place.tableId },
    operation.overwrite ? planOverwrite(place, operation, base, rows) : planAdd(place, base, rows),
  )
}

function readBase(place: TablePlace, { schema }: Operation, sources: RowSources): Promise<Base> {
  const { team, table, tableId } = place
  return team.partition.read(async (view) => {
    const head = await readHead(view, table, tableId)
    const { schemaNumber } = head.generation
    return {
      head,
      source: await sources.read(view),
      schema:
        schema === undefined
          ? await team.schemas.get(table, schemaNumber, (key) => view.get(key))
          : indexSchema(schema),
    }
  })
}

const BASE_MOVED: Planned<Attempt> = { result: null }

function planAdd({ team, table }: TablePlace, base: Base, rows: LinkableRows): Plan<Attempt> {
  return async (head, read) => {
    const { generation } = head
    if (generation.schemaNumber !== base.head.generation.schemaNumber) return BASE_MOVED
    if (!(await sourceHolds(base.source, read))) return BASE_MOVED
    const version = head.version + 1
    const { random } = team.options
    const added = await appendRows({ read, random, table, generation, version }, rows)
    if (linkableCount(rows) === 0) {
      return { result: { version: head.version, rowIds: added.rowIds } }
    }
    return {
      result: { version, rowIds: added.rowIds },
      change: { next: added.next, puts: added.puts, checks: checksOf(base.source) },
    }
  }
}

function planOverwrite(
  { team, table }: TablePlace,
  { ifMatch, schema }: Operation,
  base: Base,
  rows: LinkableRows,
): Plan<Attempt> {
  return async (head, read) => {
    checkIfMatch('table', ifMatch, head.version)
    const before = head.generation
    const keepsSchema = schema === undefined
    if (keepsSchema && before.schemaNumber !== base.head.generation.schemaNumber) return BASE_MOVED
    if (!(await sourceHolds(base.source, read))) return BASE_MOVED
    const { random, clock } = team.options
    const version = head.version + 1
    const empty = nextGeneration(before, random.bytes(8), keepsSchema)
    const added = await appendRows({ read, random, table, generation: empty, version }, rows)
    const retirement = encodeRetirement({
      dropping: false,
      lastVersion: head.version,
      retiredAt: clock.now(),
      generation: before,
    })
    const puts = [...added.puts, [retirementKey(table, before.firstExtent), retirement] as const]
    if (schema !== undefined) {
      const record = encodeSchema(JSON.stringify(schema))
      puts.push([schemaKey(table, empty.schemaNumber), record])
    }
    return {
      result: { version, rowIds: added.rowIds },
      change: { next: added.next, puts, checks: checksOf(base.source) },
    }
  }
}

/** An empty generation behind all extents of the one before, which it never touches. */
function nextGeneration(before: Generation, nonce: Uint8Array, keepsSchema: boolean): Generation {
  // One page on even when the one before has no extents: retirements are told apart by first extent.
  const firstExtent = nextGenerationStart(Math.max(before.nextExtent, before.firstExtent + 1))
  const schemaNumber = keepsSchema ? before.schemaNumber : before.schemaNumber + 1
  return { nonce, firstExtent, nextExtent: firstExtent, liveRows: 0, schemaNumber, open: null }
}

function checksOf({ check }: RowSource): readonly NonNullable<RowSource['check']>[] {
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
    `If-Match "${ifMatch}" does not hold: the ${what} is at version ${version}`,
  )
}
