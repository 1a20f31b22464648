// Deletions of everything of the team, alone and concurrent with other operations. They are drawn after the commands of
// a run and inserted among them, so that runs without them do not change.
import fc from 'fast-check'
import { isStoreError } from '../../../src/index.js'
import { damageOf } from '../../support/damage.js'
import { type Model, type RunCommand, runAlone } from './model.js'
import {
  expectEqual,
  expectFailure,
  expectValue,
  Mismatch,
  type Operation,
  type Outcome,
  outcomeOf,
  show,
} from './operation.js'
import { currentOf, maintain, type State } from './oracle.js'
import { putChunk } from './row-operations.js'
import { anyFew, bind, type Spec } from './specs.js'
import { runMaintain } from './table-operations.js'
import { leftOpenJobs, leftRecords } from './wiped-team.js'
import { TEAM, type World } from './world.js'

type WipeSpec = Readonly<{
  /** Number of commands before it. */
  after: number
  instance: number
  /** Operations that run concurrently; null: none. */
  beside: readonly Spec[] | null
  seed: number
}>

const anyWipe: fc.Arbitrary<WipeSpec> = fc.record({
  after: fc.nat({ max: 20 }),
  instance: fc.nat({ max: 5 }),
  beside: fc.option(anyFew, { freq: 2 }),
  seed: fc.nat(),
})

/** In one run of five. */
export const anyWipes: fc.Arbitrary<readonly WipeSpec[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(anyWipe, { minLength: 1, maxLength: 2 }) },
)

/** The commands of a run, with the deletions among them. */
export function* withWipes(
  commands: Iterable<RunCommand>,
  wipes: readonly WipeSpec[],
): Iterable<RunCommand> {
  const due = wipes.toSorted((one, other) => one.after - other.after)
  let count = 0
  for (const command of commands) {
    while (due[0] !== undefined && due[0].after <= count) yield commandOf(due.shift())
    yield command
    count++
  }
  for (const wipe of due) yield commandOf(wipe)
}

function commandOf(wipe: WipeSpec | undefined): RunCommand {
  if (wipe === undefined) throw new Error('there is one')
  return wipe.beside === null ? new Wipe(wipe) : new WipeRace(wipe, wipe.beside)
}

const BESIDE_TEAM = 'beside'
const ROWS = [{ n: 1 }, { n: 2 }]
const ABOUT = { fileName: 'a.txt', contentType: 'text/plain' }

/** Deletes everything, after creating things that the oracle does not know: a file, an upload, a job, a result. */
class Wipe implements RunCommand {
  readonly #spec: WipeSpec

  constructor(spec: WipeSpec) {
    this.#spec = spec
  }

  check(): boolean {
    return true
  }

  async run(model: Model, world: World): Promise<void> {
    const { instance, seed } = this.#spec
    const team = world.team(instance)
    if (seed % 2 === 0) await letExpire(model, world, instance)
    const repeatable = { name: 'repeatable', rows: ROWS, idempotencyKey: 'of a wipe' }
    const other = await makeBeside(world, instance)
    const file = await team.files.put('content', ABOUT)
    const { uploadId } = await team.files.createUpload(ABOUT)
    await team.startJob({ create: { name: 'by a job', rows: ROWS } })
    const { tableId } = await team.createTable(repeatable)
    await team.deleteAll()

    const again = await team.createTable(repeatable)
    if (again.tableId === tableId) throw new Mismatch('a deleted table is the result of a repeat')
    await runAlone(deleteAll(instance), model, world)
    expectEqual('the file', await team.files.get(file.id), null)
    const completed = await outcomeOfCall(() => team.files.completeUpload(uploadId))
    expectFailure(completed, { code: 'UPLOAD_NOT_FOUND' })
    await other.check()
    await other.end()
  }

  toString(): string {
    return `delete everything ${this.#spec.instance}`
  }
}

/** Leaves the head of an expired stash, when every other stash has expired too. */
async function letExpire(model: Model, world: World, instance: number): Promise<void> {
  const rows = [[['a', { json: '"x"', field: 'x' }] as const]]
  const ref = { rows: { form: 'objects', rows, times: 1, claims: [] } } as const
  await runAlone(putChunk(instance, { stash: 'expiring', serial: '0', ref }), model, world)
  world.clock.pass(world.profile.options.stashTtlMs)
  await runAlone(runMaintain(instance), model, world)
}

/** What is created during a deletion of everything is complete or gone; what existed before is gone. */
class WipeRace implements RunCommand {
  readonly #spec: WipeSpec
  readonly #beside: readonly Spec[]

  constructor(spec: WipeSpec, beside: readonly Spec[]) {
    this.#spec = spec
    this.#beside = beside
  }

  check(): boolean {
    return true
  }

  async run(model: Model, world: World): Promise<void> {
    const { seed, instance } = this.#spec
    for (const state of model.states) state.scans = []
    for (const scan of world.scans.splice(0)) await scan.return?.()
    const before = new Set((await world.team(0).tableNames()).map(({ id }) => id))
    const operations = this.#beside.map((spec) => {
      return bind(spec, model.state, { ...world.profile, isAlone: false })
    })
    world.pace.start(seed)
    const all = [outcomeOfCall(() => world.team(instance).deleteAll())]
    const [wiped, ...outcomes] = await Promise.all([
      ...all,
      ...operations.map((one) => outcomeOf(one, world)),
    ])
    world.pace.stop()
    world.noteEnd()
    if (wiped !== undefined) expectEqual('the result', expectValue(wiped), undefined)
    for (const outcome of outcomes) checkIsOfCaller(outcome)
    await checkWhole(world, before)
    await runAlone(deleteAll(instance + 1), model, world)
  }

  toString(): string {
    return `delete everything ${show(this.#spec)}`
  }
}

/** Checks that a failure is the caller's, not one of data or storage. */
function checkIsOfCaller(outcome: Outcome): void {
  if ('value' in outcome) return
  const { failure } = outcome
  if (isStoreError(failure) && !/^(?:DATA|STORAGE)_/.test(failure.code)) return
  throw new Mismatch(`beside a deletion of everything: ${show(failure)}`)
}

/** @param before - The tables that existed before, which are gone. */
async function checkWhole(world: World, before: ReadonlySet<string>): Promise<void> {
  const team = world.team(0)
  for (const { id, name, rowCount } of await team.tables()) {
    if (before.has(id)) throw new Mismatch(`the table "${name}" is there still`)
    let rows = 0
    for await (const _ of team.table(id).scan()) rows++
    expectEqual(`the number of rows of "${name}"`, rows, rowCount)
  }
  expectEqual('what is damaged', await damageOf(world.store(0)), [])
}

/** Deletes everything while nothing else runs. */
function deleteAll(instance: number): Operation {
  return {
    text: 'delete everything',
    async run(world) {
      const team = world.team(instance)
      await team.deleteAll()
      const listed = [await team.tables(), await team.stashes(), await team.jobs()]
      const open = await leftOpenJobs(world.ports.kv, TEAM)
      return { listed, open, left: await leftRecords(world.ports.kv, TEAM) }
    },
    check(state, outcome, place) {
      const { listed, left, open } = expectValue(outcome) as Record<string, unknown>
      expectEqual('tables, stashes and jobs', listed, [[], [], []])
      expectEqual('the jobs in the list of open ones', open, 0)
      // A running scan still has its rows.
      if (state.scans.length === 0) expectEqual('the records that are left', left, [])
      forgetAll(state, { ...place, instance })
    },
  }
}

function forgetAll(state: State, place: Parameters<typeof maintain>[1]): void {
  for (const table of state.tables) {
    currentOf(table).retired = { at: place.now, lastVersion: table.version }
    state.dead.push(table)
  }
  state.tables = []
  state.walks = []
  state.stashes.clear()
  state.repeats.clear()
  maintain(state, place)
}

/** Fills another team. @returns a check that nothing of it was changed, and its end */
async function makeBeside(world: World, instance: number) {
  const team = world.store(instance).team(BESIDE_TEAM)
  await team.stash('s').put('0', ROWS)
  const file = await team.files.put('content', ABOUT)
  const { tableId } = await team.createTable({ name: 'beside', rows: ROWS })
  const look = async () => {
    const [stash, open, rows] = [
      await team.stashes(),
      await team.files.get(file.id),
      [] as unknown[],
    ]
    for await (const row of team.table(tableId).scan()) rows.push(row)
    return { stash, file: open?.bytes, rows }
  }
  const before = await look()
  return {
    check: async () => expectEqual('another team', await look(), before),
    async end(): Promise<void> {
      await team.deleteAll()
      expectEqual('what is left of it', await leftRecords(world.ports.kv, BESIDE_TEAM), [])
    },
  }
}

async function outcomeOfCall(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await call() }
  } catch (failure) {
    return { failure }
  }
}
