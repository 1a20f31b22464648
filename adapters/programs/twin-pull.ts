// Copies tables of a server of the contract into a twin.
//
// Invariants:
// - A pull commits a table only if its version upstream was the same before and after it was read.
// - Rows that were changed in the twin and not pushed are kept, unless the caller discards them.
// - A row that was pulled before keeps its ID in the twin.
import { randomUUID } from 'node:crypto'
import {
  type Client,
  ClientError,
  type ClientRow,
  type ClientTable,
} from '../../src/client/client.js'
import type { TableSchema, Team } from '../../src/index.js'
import { ProgramFailure } from './program-failure.js'
import { countChanges } from './twin-changes.js'
import { digestOf, type TwinState, type TwinTable } from './twin-state.js'

/** How often a table is read that others change meanwhile. */
const READS_MAX = 3

/** Row IDs that are put away at once. */
const KEPT_IDS = 1_000

/** The server that is copied. */
export type Upstream = Readonly<{ url: string; client: Client; signal: AbortSignal }>

/** The store of a twin: the team with its tables, and what it remembers. */
export type Twin = Readonly<{ team: Team; state: TwinState }>

export type PullReport = Readonly<{ name: string; tableId: string; rows: number; isNew: boolean }>

class Moved extends Error {}

/** Copies one table, if it has changed upstream. @returns null: it has not. @throws {ProgramFailure} */
export async function pullTable(
  upstream: Upstream,
  twin: Twin,
  { id, name }: Readonly<{ id: string; name: string }>,
  { discard }: Readonly<{ discard: boolean }>,
): Promise<PullReport | null> {
  const { team, state } = twin
  const remote = upstream.client.table(id)
  const known = await state.get(upstream.url, id)
  const version = await remote.version({ signal: upstream.signal })
  if (known !== undefined && !known.isPulling) {
    const counts = await countChanges(team.table(known.local), state.pairs(known))
    const count = counts.changed + counts.added + counts.deleted
    if (count > 0 && !discard) {
      const problem = `${count} rows of the table "${name}" were changed here and not pushed`
      throw new ProgramFailure('failed', `${problem}; push them, or pull with --discard`)
    }
    if (count === 0 && known.version === version && !known.isStale) return null
  }
  const begun = known ?? (await beginTable(upstream, twin, { id, name }))
  await state.put({ ...begun, name, isPulling: true })
  const rows = await copyRows(upstream, twin, begun)
  return { name, tableId: begun.local, rows, isNew: known === undefined }
}

/** An empty table of the twin, and a row of the state that says so: a pull that is killed goes on with it. */
async function beginTable(
  { url }: Upstream,
  { team, state }: Twin,
  { id, name }: Readonly<{ id: string; name: string }>,
): Promise<TwinTable> {
  const { tableId: local } = await team.createTable({ name, schema: { columns: [] }, rows: [] })
  const made = {
    url,
    upstream: id,
    name,
    local,
    pairs: '',
    version: '',
    isPulling: true,
    isStale: false,
    unsure: '',
  }
  await state.put(made)
  return made
}

async function copyRows(upstream: Upstream, twin: Twin, table: TwinTable): Promise<number> {
  for (let reads = 1; ; reads++) {
    try {
      return await copyOnce(upstream, twin, table)
    } catch (failure) {
      if (!(failure instanceof Moved)) throw failure
      if (reads < READS_MAX) continue
      const problem = `The table "${table.name}" changed during each read`
      throw new ProgramFailure('failed', `${problem}, ${READS_MAX} in all; try again`)
    }
  }
}

async function copyOnce(upstream: Upstream, twin: Twin, table: TwinTable): Promise<number> {
  const { team, state } = twin
  const remote = upstream.client.table(table.upstream)
  const version = await remote.version({ signal: upstream.signal })
  const schema = await schemaOf(upstream, remote)
  const stashId = randomUUID()
  const local = team.table(table.local)
  const rows = keepIds(
    withKnownIds(readRows(upstream, remote, version), twin, table),
    twin,
    stashId,
  )
  const how = schema === undefined ? { onSchemaError: 'updateSchema' as const } : { schema }
  await local.overwrite({ rows, ...how })
  const { rowCount } = await local.info()
  await state.replacePairs(
    { ...table, version },
    pairsOf(local.scan({ numbers: 'bigint' }), state.kept(stashId), version),
  )
  return rowCount
}

/** The columns, where the server tells them: rowstash does. undefined: they are inferred from the rows. */
async function schemaOf(
  { signal }: Upstream,
  remote: ClientTable,
): Promise<TableSchema | undefined> {
  try {
    return (await remote.info({ signal })).schema
  } catch (failure) {
    if (failure instanceof ClientError && failure.status > 0) return undefined
    throw failure
  }
}

/** All rows, if nobody changes one meanwhile. @throws {Moved} */
async function* readRows(
  { signal }: Upstream,
  remote: ClientTable,
  version: string,
): AsyncGenerator<ClientRow, void> {
  for await (const row of remote.rows({ signal })) {
    checkNumbers(row)
    yield row
  }
  if ((await remote.version({ signal })) !== version) throw new Moved()
}

/** Digits that JSON.parse may have lost would be pushed back as other ones. @throws {ProgramFailure} */
function checkNumbers({ $rowID, ...cells }: ClientRow): void {
  for (const [column, cell] of Object.entries(cells)) {
    for (const value of Array.isArray(cell) ? cell : [cell]) {
      if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) continue
      const place = `Row ${$rowID}, column ${column}`
      throw new ProgramFailure(
        'failed',
        `${place}: ${value} is too large for a twin; the maximum is 2^53 - 1`,
      )
    }
  }
}

/** Gives rows that were pulled before the IDs that they have in the twin. */
async function* withKnownIds(rows: AsyncIterable<ClientRow>, { state }: Twin, table: TwinTable) {
  const pairs = table.pairs === '' ? undefined : state.pairs(table)
  const walk = pairs?.scan()
  let next = await walk?.next()
  for await (const { $rowID: upstream, ...cells } of rows) {
    // Most rows come in the order in which they came before; others are looked up.
    const isNext = next?.done === false && next.value['upstream'] === upstream
    const pair = isNext ? next?.value : (await pairs?.get({ upstream }))?.row
    if (isNext || pair !== undefined) next = await walk?.next()
    yield { upstream, cells, ...(pair === undefined ? {} : { local: String(pair['local']) }) }
  }
  await walk?.return?.()
}

type PulledRow = Readonly<{ upstream: string; cells: Record<string, unknown>; local?: string }>

/** Puts the IDs of rows upstream away, in their order, and passes the rows on. */
async function* keepIds(rows: AsyncIterable<PulledRow>, { state }: Twin, stashId: string) {
  const stash = state.keep(stashId)
  let serial = 0
  let ids: { upstream: string }[] = []
  await stash.put(serial++, ids)
  for await (const { upstream, cells, local } of rows) {
    if (ids.push({ upstream }) === KEPT_IDS) {
      await stash.put(serial++, ids)
      ids = []
    }
    yield local === undefined ? cells : { ...cells, $rowID: local }
  }
  if (ids.length > 0) await stash.put(serial++, ids)
}

/** The rows of the twin beside the IDs that they have upstream, which are in the same order. */
async function* pairsOf(
  rows: AsyncIterable<{ $rowID: string }>,
  upstreamIds: AsyncGenerator<string, void>,
  version: string,
) {
  for await (const row of rows) {
    const next = await upstreamIds.next()
    if (next.done) throw new Error('the twin has more rows than were pulled')
    yield { upstream: next.value, local: row.$rowID, digest: digestOf(row), version }
  }
  await upstreamIds.return()
}
