// The commands of fast-check: one operation, a race of several, time, a restart, and the remaining ones.
import fc from 'fast-check'
import { parseRendered } from '../../../src/schema/parse-rendered.js'
import { FollowChanges } from './history-check.js'
import { type Model, type RunCommand, runAlone, TABLES_MAX } from './model.js'
import {
  expectEqual,
  expectFailure,
  expectValue,
  Mismatch,
  type Operation,
  type Outcome,
  show,
} from './operation.js'
import { EXPIRED_KEPT_MS, isReadable, pageOf, rowJsonOf } from './oracle.js'
import { CompactionRace, MaintenanceRace, Race, StashRace } from './races.js'
import {
  anyChangeOfMaintenance,
  anyChangesOfCompaction,
  anyRacers,
  anySpecs,
  bind,
  type Spec,
} from './specs.js'
import { readVersion } from './table-operations.js'
import { OTHER_TEAM, type World } from './world.js'

class One implements RunCommand {
  readonly #spec: Spec

  constructor(spec: Spec) {
    this.#spec = spec
  }

  check({ state }: Readonly<Model>): boolean {
    return !/^(?:create|ensure)$/.test(this.#spec.kind) || state.tables.length < TABLES_MAX
  }

  async run(model: Model, world: World): Promise<void> {
    await runAlone(bind(this.#spec, model.state, { ...world.profile, isAlone: true }), model, world)
    const { tables } = model.state
    const table = tables[this.#spec.table % Math.max(1, tables.length)]
    if (table === undefined) return
    // A failed operation changes nothing: the version shows this now, and the end of the run shows the rest.
    await runAlone(readVersion({ instance: 1, tableId: table.id }), model, world)
  }

  toString(): string {
    return show(this.#spec)
  }
}

const SPANS = [
  'orphanGraceMs',
  'overwrittenRowsTtlMs',
  'historyRetentionMs',
  'stashTtlMs',
  'idempotencyTtlMs',
  'expiredKeptMs',
] as const
type Span = (typeof SPANS)[number]

class PassTime implements RunCommand {
  readonly #what: Span
  readonly #more: number

  constructor(what: Span, more: number) {
    this.#what = what
    this.#more = more
  }

  check(): boolean {
    return true
  }

  async run(_: Model, world: World): Promise<void> {
    const spans = { ...world.profile.options, expiredKeptMs: EXPIRED_KEPT_MS }
    world.clock.pass(Math.max(0, (spans[this.#what] ?? 0) + this.#more))
  }

  toString(): string {
    return `pass ${this.#what} ${this.#more < 0 ? '' : '+'}${this.#more}`
  }
}

class Reopen implements RunCommand {
  check(): boolean {
    return true
  }

  async run(model: Model, world: World): Promise<void> {
    for (const state of model.states) state.scans = []
    await world.reopen()
  }

  toString(): string {
    return 'close and reopen'
  }
}

/** Another team sees nothing of this team's tables and stashes. */
class LookFromOutside implements RunCommand {
  check(): boolean {
    return true
  }

  async run({ state }: Model, world: World): Promise<void> {
    const other = world.store(0).team(OTHER_TEAM)
    expectEqual('the tables of another team', await other.tables(), [])
    for (const { id, generations } of state.tables) {
      const table = other.table(id)
      const rowId = generations.at(-1)?.rows[0]?.id ?? ''
      for (const call of [
        () => table.version(),
        () => table.page(),
        () => table.get(rowId),
        () => table.deleteRow(rowId),
        () => table.overwrite({ rows: [] }),
      ]) {
        expectFailure(await settled(call), { code: 'TABLE_NOT_FOUND' })
      }
    }
    for (const stash of state.stashes.keys()) {
      const call = () => other.createTable({ name: 'x', rows: other.stash(stash) })
      expectFailure(await settled(call), { code: 'STASH_NOT_FOUND' })
    }
  }

  toString(): string {
    return 'look from another team'
  }
}

async function settled(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await call() }
  } catch (failure) {
    return { failure }
  }
}

/** Begins a scan, or continues one for some rows: it reads the rows with which it began, whatever happens. */
class StepScan implements RunCommand {
  readonly #table: number
  readonly #steps: number

  constructor(table: number, steps: number) {
    this.#table = table
    this.#steps = steps
  }

  check({ state }: Readonly<Model>): boolean {
    return state.tables.length > 0
  }

  async run(model: Model, world: World): Promise<void> {
    if (world.scans.length === 0) this.#begin(model, world)
    for (let step = 0; step < this.#steps && world.scans.length > 0; step++) {
      await runAlone(nextOfScan, model, world)
    }
  }

  #begin(model: Model, world: World): void {
    const table = model.state.tables[this.#table % model.state.tables.length]
    if (table === undefined) return
    const { id: tableId } = table
    world.scans = [world.team(0).table(tableId).scan()]
    for (const state of model.states) {
      const generations = state.tables.find(({ id }) => id === tableId)?.generations ?? []
      const generation = generations.length - 1
      state.scans = [{ instance: 0, tableId, generation, at: 0, ahead: [] }]
    }
  }

  toString(): string {
    return `scan on for ${this.#steps} rows`
  }
}

const nextOfScan: Operation = {
  text: 'the next row of a scan',
  async run(world) {
    const [scan] = world.scans
    try {
      const next = await scan?.next()
      if (next?.done === true) world.scans = []
      return next
    } catch (failure) {
      world.scans = []
      throw failure
    }
  },
  check(state, outcome, { now, limits }) {
    const [scan] = state.scans
    const table = [...state.tables, ...state.dead].find(({ id }) => id === scan?.tableId)
    const generation = scan && table?.generations[scan.generation]
    if (scan === undefined || table === undefined || generation === undefined) {
      throw new Mismatch('a scan under way has a generation')
    }
    let { at, ahead } = scan
    if (ahead.length === 0 && at !== null) {
      if (!isReadable(state, table, scan.generation, { instance: 0, now, limits })) {
        state.scans = []
        return expectFailure(outcome, { code: 'CONTINUATION_INVALID' })
      }
      const max = { rows: limits.pageRowsMax, bytes: limits.pageBytesMax }
      const page = pageOf(generation, at, max)
      at = page.next
      ahead = page.rows.map((row) => rowJsonOf(row, generation))
    }
    const [row] = ahead
    const next =
      row === undefined
        ? { done: true, value: undefined }
        : { done: false, value: parseRendered(row) }
    expectEqual('what comes', expectValue(outcome), next)
    state.scans = row === undefined ? [] : [{ ...scan, at, ahead: ahead.slice(1) }]
  },
}

const anySeed = fc.nat()

/** Commands by weight. fast-check draws evenly from a list, so a command appears in it as often as its weight. */
export function anyCommands(): fc.Arbitrary<RunCommand>[] {
  const race = fc.tuple(anyRacers, anySeed).map(([specs, seed]) => new Race(specs, seed))
  const stashRace = fc
    .tuple(anySeed, fc.boolean(), fc.boolean())
    .map(([seed, deletes, holds]) => new StashRace(seed, deletes, holds))
  const maintainRace = fc
    .tuple(anySeed, anyChangeOfMaintenance)
    .map(([seed, change]) => new MaintenanceRace(seed, change))
  const compactRace = fc
    .tuple(anySeed, anyChangesOfCompaction)
    .map(([seed, changes]) => new CompactionRace(seed, changes))
  const time = fc
    .tuple(fc.constantFrom(...SPANS), fc.constantFrom(-1, 0, 1))
    .map(([what, more]) => new PassTime(what, more))
  const scan = fc
    .tuple(fc.nat({ max: 3 }), fc.integer({ min: 1, max: 7 }))
    .map(([table, steps]) => new StepScan(table, steps))
  const others: { weight: number; arbitrary: fc.Arbitrary<RunCommand> }[] = [
    { weight: 18, arbitrary: race },
    { weight: 4, arbitrary: stashRace },
    { weight: 2, arbitrary: maintainRace },
    { weight: 3, arbitrary: compactRace },
    { weight: 4, arbitrary: time },
    { weight: 3, arbitrary: fc.constant(null).map(() => new Reopen()) },
    { weight: 1, arbitrary: fc.constant(null).map(() => new LookFromOutside()) },
    { weight: 4, arbitrary: scan },
    { weight: 4, arbitrary: fc.constant(null).map(() => new FollowChanges()) },
  ]
  const ones = anySpecs().map(({ weight, arbitrary }) => {
    return { weight, arbitrary: arbitrary.map((spec): RunCommand => new One(spec)) }
  })
  return [fc.oneof(...ones, ...others)]
}
