// Brings the changes of a twin back to the server that it was pulled from.
//
// Invariants:
// - Nothing is pushed to a table that has changed upstream since, unless the caller forces it. What others change while
//   it is pushed is met by the version of each row, and read by the next pull.
// - Each change is noted before it is sent, and again when it was answered: one of unknown effect is never repeated by
//   itself.
// - Rows that were pushed are not pushed again when a push ends early.
import { ClientError, type ClientTable } from '../../src/client/client.js'
import type { RowWithId } from '../../src/index.js'
import { ProgramFailure } from './program-failure.js'
import { type ChangeCounts, changesOf, countChanges, type TwinChange } from './twin-changes.js'
import type { Twin, Upstream } from './twin-pull.js'
import { type Cells, digestOf, type Pair, type PushedChange, type TwinTable } from './twin-state.js'

/** Rows of one request that adds some. */
const ADDED_AT_ONCE = 500

/** `force`: changes of others are changed over. */
export type PushPlan = Readonly<{
  table: TwinTable
  counts: ChangeCounts
  rows: number
  force: boolean
}>

/**
 * What there is to push of a table.
 * @param force - Push also if others have changed the table upstream: rows that both have changed get the cells of the twin.
 * @throws {ProgramFailure} if the last pull has not ended, or the table has changed upstream
 */
export async function planPush(
  { client, signal }: Upstream,
  { team, state }: Twin,
  table: TwinTable,
  { force }: Readonly<{ force: boolean }>,
): Promise<PushPlan> {
  const { name } = table
  if (table.isPulling) {
    throw new ProgramFailure(
      'failed',
      `The last pull of the table "${name}" was not completed; pull it again`,
    )
  }
  const counts = await countChanges(team.table(table.local), state.pairs(table))
  const rows = counts.changed + counts.added + counts.deleted
  if (rows === 0) return { table, counts, rows, force }
  const version = await client.table(table.upstream).version({ signal })
  if (version !== table.version && !force) {
    const unsure =
      table.unsure === ''
        ? ''
        : ` (maybe by this twin: the last push ended while it ${table.unsure})`
    const problem = `The table "${name}" has changed upstream since it was pulled: version ${version}, not ${table.version}`
    const advice =
      'pull with --discard to drop the changes here, or push with --force to change these rows anyway'
    throw new ProgramFailure('failed', `${problem}${unsure}; ${advice}`)
  }
  return { table: { ...table, version, isStale: table.isStale || force }, counts, rows, force }
}

/** Pushes the changes of a table. @param onPushed - Called with the rows of each request. @throws {ProgramFailure} */
export async function pushTable(
  upstream: Upstream,
  twin: Twin,
  plan: PushPlan,
  onPushed: (rows: number) => void,
): Promise<void> {
  let { table } = plan
  const local = twin.team.table(table.local)
  const { schema } = await local.info()
  const columns = schema.columns.map(({ id }) => id)
  for await (const change of changesOf(local, twin.state.pairs(table))) {
    for (const part of partsOf(change)) {
      const doing = describe(part)
      await twin.state.put({ ...table, unsure: doing })
      const { version, pushed } = await send(upstream, { ...plan, table }, part, columns).catch(
        (failure) => {
          throw explained(failure, table, doing)
        },
      )
      table = await twin.state.pushed(table, version, pushed)
      onPushed(part.kind === 'added' ? part.rows.length : 1)
    }
  }
}

function* partsOf(change: TwinChange): Generator<TwinChange, void> {
  if (change.kind !== 'added') return yield change
  for (let at = 0; at < change.rows.length; at += ADDED_AT_ONCE) {
    yield { kind: 'added', rows: change.rows.slice(at, at + ADDED_AT_ONCE) }
  }
}

function describe(change: TwinChange): string {
  if (change.kind === 'added') return `added ${change.rows.length} rows`
  return `${change.kind} row ${change.pair.upstream}`
}

type Sent = Readonly<{ version: string; pushed: PushedChange }>

async function send(
  { client, signal }: Upstream,
  { table, force }: PushPlan,
  change: TwinChange,
  columns: readonly string[],
): Promise<Sent> {
  const remote = client.table(table.upstream)
  if (change.kind === 'changed') {
    const { pair, row, digest } = change
    const condition = force ? {} : { ifMatch: pair.version }
    const cells = cellsOf(row, columns)
    const { version } = await remote.updateRow(pair.upstream, cells, { ...condition, signal })
    return { version, pushed: { kind: 'changed', pair: pair.$rowID, digest } }
  }
  if (change.kind === 'deleted') {
    if (!force) await checkRow(remote, change.pair, signal)
    const { version } = await remote.deleteRow(change.pair.upstream, { signal })
    return { version, pushed: { kind: 'deleted', pair: change.pair.$rowID } }
  }
  const rows = change.rows.map((row) => cellsOf(row, []))
  const { rowIds, version } = await remote.addRows(rows, { signal })
  return { version, pushed: { kind: 'added', pairs: pairsOf(change.rows, rowIds, version) } }
}

/** The contract has no condition for a delete, so this looks just before it. @throws {ClientError} */
async function checkRow(remote: ClientTable, pair: Pair, signal: AbortSignal): Promise<void> {
  const found = await remote.get(pair.upstream, { signal })
  if (found === null || BigInt(found.version) <= BigInt(pair.version)) return
  const problem = `The version of row ${pair.upstream} is ${found.version}, not ${pair.version}`
  throw new ClientError(problem, 412)
}

/** The cells as JSON has them; of a changed row, null for each column that it does not have. */
function cellsOf({ $rowID, ...cells }: Cells, columns: readonly string[]): Cells {
  for (const [column, cell] of Object.entries(cells)) {
    const values: readonly unknown[] = Array.isArray(cell) ? cell : [cell]
    if (!values.some((value) => typeof value === 'bigint')) continue
    const problem = `Row ${$rowID}, column ${column}: JSON would lose digits of this number`
    throw new ProgramFailure('failed', `${problem}; the maximum is 2^53 - 1`)
  }
  return { ...Object.fromEntries(columns.map((column) => [column, null])), ...cells }
}

function pairsOf(rows: readonly RowWithId[], rowIds: readonly string[], version: string) {
  return rows.map((row, at) => {
    return { upstream: rowIds[at] ?? '', local: row.$rowID, digest: digestOf(row), version }
  })
}

function explained(failure: unknown, { name }: TwinTable, doing: string): unknown {
  if (!(failure instanceof ClientError)) return failure
  if (failure.status === 412) {
    const problem = `The table "${name}" was changed upstream during the push, which stopped: ${failure.message}`
    return new ProgramFailure('failed', `${problem}; what was pushed is noted`, { cause: failure })
  }
  const isSure = failure.status >= 400 && failure.status < 500
  const outcome = isSure ? 'nothing was changed by it' : 'whether it took effect is unknown'
  const problem = `The push of the table "${name}" stopped while it ${doing}: ${failure.message}`
  return new ProgramFailure('failed', `${problem} (${outcome}); what was pushed before is noted`, {
    cause: failure,
  })
}
