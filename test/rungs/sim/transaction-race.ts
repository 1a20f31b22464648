// Concurrent transactions and single changes on two stores that share their ports, in the order that a scheduler gives
// their steps, perhaps up to a crash. Then one order of whole transactions must explain what each saw, and the final
// content. What a repeated call saw must fit one state of that order.
import type { Scheduler } from 'fast-check'
import { isStoreError, openLevelKv, openStore, type Team } from '../../../src/index.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { testClock } from '../../conformance/test-clock.js'
import { Mismatch, show } from '../model/operation.js'
import { seededRandom } from '../model/seeded.js'
import { scheduledKv, scheduledObjects, type Turn, turnsOf } from './scheduled-ports.js'
import { TEAM } from './world.js'

type Step = Readonly<{
  what: 'get' | 'page' | 'version' | 'update' | 'update both' | 'add' | 'delete'
  table: number
  row: number
}>

export type TransactionSpec = Readonly<{
  /** Which of the two stores. */
  at: number
  steps: readonly Step[]
  /** `single`: only the first step, without a transaction. `fails`: the function finally throws. */
  form: 'whole' | 'single' | 'fails'
}>

export type TransactionRace = Readonly<{
  specs: readonly TransactionSpec[]
  inlineRowsMax: number
  /** The power is cut after this many steps on the ports; null: never. */
  crashAfter: number | null
  /** false: commits lose their checks, to prove that the race detects it. */
  checks: boolean
}>

const TABLES = 2
const ROWS = 2

/** A table of the oracle: its version, the values of its rows in order, and which of them the first rows are. */
type Rows = readonly Readonly<{ name: string; n: number }>[]
type State = readonly Readonly<{ version: number; rows: Rows }>[]

type Access = Pick<Team, 'table'> | Readonly<{ table: (id: string) => ReturnType<Team['table']> }>
type World = Readonly<{ tableIds: readonly string[]; rowIds: readonly (readonly string[])[] }>

/** What one call of a function saw, step by step. `undefined`: the step did not end. */
type Seen = unknown[]

type Ran = Readonly<{
  spec: TransactionSpec
  id: number
  calls: readonly Seen[]
  outcome: 'done' | 'refused' | 'thrown' | 'unknown'
}>

class Thrown extends Error {}

/** @throws {Mismatch} if no order of the transactions explains what they saw */
export async function runTransactionRace(
  race: TransactionRace,
  scheduler: Scheduler,
): Promise<void> {
  const disk = new FaultDisk({ seed: 1 })
  let turn: Turn = (_, step) => step()
  let left = Number.POSITIVE_INFINITY
  const open = await openTeams(race, disk, (text, step) =>
    turn(text, () => {
      if (left-- === 0) disk.crash('machine')
      return step()
    }),
  )
  const [first] = open
  if (first === undefined) throw new Error('There are two stores')
  const { world, state } = await prepare(first)
  turn = turnsOf(scheduler)
  left = race.crashAfter ?? Number.POSITIVE_INFINITY
  const running = race.specs.map((spec, id) =>
    runSpec(open[spec.at] ?? first, world, spec, id, disk),
  )
  const ran = await scheduler.waitFor(Promise.all(running))
  turn = (_, step) => step()
  left = Number.POSITIVE_INFINITY
  if (!disk.isDown) disk.crash('process')
  const [after] = await openTeams(race, disk, turn)
  if (after === undefined) throw new Error('It is open again')
  const found = await readAll(after, world)
  if (explains(state, ran, found, [])) return
  const told = ran.map(({ spec, calls, outcome }) => `${show(spec)}: ${outcome} ${show(calls)}`)
  throw new Mismatch(
    `In no order from ${show(state)} to ${show(found)} this fits:\n${told.join('\n')}`,
  )
}

/** Opens two stores on the same ports. */
export async function openTeams(
  race: Pick<TransactionRace, 'inlineRowsMax' | 'checks'>,
  disk: FaultDisk,
  turn: Turn,
): Promise<Team[]> {
  const kv = await openLevelKv(disk.level())
  const objects = disk.objects()
  const opening = [0, 1].map(async (process) => {
    const store = await openStore({
      inlineRowsMax: race.inlineRowsMax,
      maintenance: false,
      clock: testClock(),
      onBackgroundFailure: () => undefined,
      random: seededRandom(1 + process),
      kv: scheduledKv(kv, turn, race.checks),
      objects: scheduledObjects(objects, turn),
    })
    return store.team(TEAM)
  })
  return Promise.all(opening)
}

async function prepare(team: Team): Promise<{ world: World; state: State }> {
  const tableIds: string[] = []
  const rowIds: string[][] = []
  const state: State[number][] = []
  for (let table = 0; table < TABLES; table++) {
    const rows = Array.from({ length: ROWS }, (_, row) => ({ n: 10 * table + row }))
    const made = await team.createTable({ name: `t${table}`, rows })
    tableIds.push(made.tableId)
    rowIds.push([...made.rowIds])
    state.push({ version: 1, rows: rows.map(({ n }, row) => ({ name: `${row}`, n })) })
  }
  return { world: { tableIds, rowIds }, state }
}

async function readAll(team: Team, { tableIds }: World): Promise<unknown> {
  const tables: unknown[] = []
  for (const id of tableIds) {
    const { version, rows } = await team.table(id).page()
    tables.push({ version, rows: rows.map(({ n }) => n) })
  }
  return tables
}

async function runSpec(
  team: Team,
  world: World,
  spec: TransactionSpec,
  id: number,
  disk: FaultDisk,
): Promise<Ran> {
  const calls: Seen[] = []
  const run = async (access: Access, steps: readonly Step[]): Promise<void> => {
    const seen: Seen = []
    calls.push(seen)
    for (const [at, step] of steps.entries()) seen.push(await runStep(access, world, step, id, at))
  }
  const { steps, form } = spec
  try {
    if (form === 'single') await run(team, steps.slice(0, 1))
    else {
      await team.transaction(async (t) => {
        await run(t as unknown as Access, steps)
        if (form === 'fails') throw new Thrown()
      })
    }
    return { spec, id, calls, outcome: 'done' }
  } catch (failure) {
    if (failure instanceof Thrown) return { spec, id, calls, outcome: 'thrown' }
    if (disk.isDown) return { spec, id, calls, outcome: 'unknown' }
    if (isStoreError(failure) && failure.code === 'TRANSACTION_CONFLICT') {
      return { spec, id, calls, outcome: 'refused' }
    }
    throw failure
  }
}

/** The value that a step writes, different for each step. */
function writtenBy(id: number, at: number): number {
  return 1_000 * (id + 1) + at
}

async function runStep(
  access: Access,
  { tableIds, rowIds }: World,
  { what, table: index, row }: Step,
  id: number,
  at: number,
): Promise<unknown> {
  const table = access.table(tableIds[index] ?? '')
  const ids = rowIds[index] ?? []
  const rowId = ids[row] ?? ''
  const n = writtenBy(id, at)
  try {
    switch (what) {
      case 'get':
        return (await table.get(rowId))?.row['n'] ?? null
      case 'page':
        return (await table.page()).rows.map((found) => found['n'])
      case 'version':
        return await table.version()
      case 'update':
        return (await table.updateRow(rowId, { n })).version
      case 'update both':
        return (await table.updateRows(ids.map((each) => ({ rowId: each, cells: { n } })))).version
      case 'add':
        return (await table.addRows([{ n }])).version
      case 'delete':
        return (await table.deleteRow(rowId)).deleted
    }
  } catch (failure) {
    if (isStoreError(failure) && failure.code === 'ROW_NOT_FOUND') return 'missing'
    throw failure
  }
}

/** The state after some steps, if they would see what was seen; null: they would not. */
function replay(state: State, { spec, id }: Ran, seen: Seen): State | null {
  const next = state.map((table) => ({ ...table, rows: [...table.rows] }))
  const changed = new Set<number>()
  for (const [at, saw] of seen.entries()) {
    const step = spec.steps[at]
    const table = step && next[step.table]
    const before = step && state[step.table]
    if (step === undefined || table === undefined || before === undefined) return null
    const n = writtenBy(id, at)
    const target = table.rows.findIndex(({ name }) => name === `${step.row}`)
    const version = before.version + 1
    const write = (): number => {
      changed.add(step.table)
      table.version = version
      return version
    }
    const expected = ((): unknown => {
      switch (step.what) {
        case 'get':
          return table.rows[target]?.n ?? null
        case 'page':
          return table.rows.map((row) => row.n)
        case 'version':
          return table.version
        case 'update':
          if (target < 0) return 'missing'
          table.rows[target] = { name: `${step.row}`, n }
          return write()
        case 'update both':
          if (table.rows.filter(({ name }) => /^\d$/.test(name)).length < ROWS) return 'missing'
          table.rows = table.rows.map((row) => (/^\d$/.test(row.name) ? { ...row, n } : row))
          return write()
        case 'add':
          table.rows.push({ name: `added ${id} ${at}`, n })
          return write()
        case 'delete':
          if (target < 0) return false
          table.rows.splice(target, 1)
          write()
          return true
      }
    })()
    if (saw !== ANYTHING && JSON.stringify(expected) !== JSON.stringify(saw)) return null
  }
  return next
}

/** Whether some order of the remaining transactions leads from the last state to the final content. */
function explains(
  state: State,
  rest: readonly Ran[],
  found: unknown,
  before: readonly State[],
  all: readonly Ran[] = rest,
): boolean {
  const states = [...before, state]
  const decided = rest.filter(({ outcome }) => outcome === 'done' || outcome === 'unknown')
  if (decided.every(({ outcome }) => outcome === 'unknown')) {
    const shown = state.map(({ version, rows }) => ({ version, rows: rows.map(({ n }) => n) }))
    if (JSON.stringify(shown) === JSON.stringify(found) && fitsSomewhere(states, all)) return true
  }
  return decided.some((ran) => {
    const seen = ran.calls[ran.calls.length - 1] ?? []
    const next = replay(state, ran, wholeOf(ran, seen))
    const others = rest.filter((other) => other !== ran)
    return next !== null && explains(next, others, found, states, all)
  })
}

/**
 * What a call without an answer may have seen: a single change may have taken effect, and a function may have ended.
 */
function wholeOf({ outcome, spec }: Ran, seen: Seen): Seen {
  if (outcome !== 'unknown') return seen
  if (spec.form === 'single') return seen.length === 0 ? [ANYTHING] : seen
  return seen.length < spec.steps.length ? [NOTHING] : seen
}

const ANYTHING = 'anything'
const NOTHING = 'nothing'

/** Whether each call without an effect saw one of the states. */
function fitsSomewhere(states: readonly State[], all: readonly Ran[]): boolean {
  return all.every((ran) => {
    const { calls, outcome } = ran
    const without = outcome === 'done' || outcome === 'unknown' ? calls.slice(0, -1) : calls
    return without.every((seen) => states.some((state) => replay(state, ran, seen) !== null))
  })
}
