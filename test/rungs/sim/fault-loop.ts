// Fails one step of an operation after another, until the operation ends without the fault.
import { decodeChunkSegments } from '../../../src/format/chunk-records.js'
import { decodeFilesHead, decodeUpload } from '../../../src/format/file-records.js'
import { KEY_SPACE, serialOfChunkKey } from '../../../src/format/keys.js'
import type { Fault } from '../../conformance/faults/fault-plan.js'
import { nthStep } from '../../conformance/faults/fault-plan.js'
import { damageOf } from '../../support/damage.js'
import { expectEqual, Mismatch, show } from '../model/operation.js'
import { leftRecords } from '../model/wiped-team.js'
import type { Scenario } from './fault-scenarios.js'
import type { Outcome } from './oracle.js'
import { OTHER_TEAM, type SimOptions, SimWorld, TEAM } from './world.js'

export type Variant = Readonly<{
  name: string
  fault: Fault
  lasting: boolean
  /** Whether the store reopens its database by itself. */
  reopens: boolean
}>

/** The first two in every run of the tests, all of them in a deep one. */
export const VARIANTS: readonly Variant[] = [
  { name: 'fails once', fault: { kind: 'fail' }, lasting: false, reopens: true },
  { name: 'fails, and all after it', fault: { kind: 'fail' }, lasting: true, reopens: true },
  {
    name: 'fails once, in a store that stays refused',
    fault: { kind: 'fail' },
    lasting: false,
    reopens: false,
  },
  { name: 'finds the disk full', fault: { kind: 'full' }, lasting: false, reopens: true },
  { name: 'fails, and is there later', fault: { kind: 'zombie' }, lasting: false, reopens: true },
]

const STEPS_MAX = 2_000

/** The steps that fail: from the first one on, each `every`-th. */
export type Steps = Readonly<{ first: number; every: number }>

/** @returns how often it ran. @throws {Mismatch} */
export async function failEachStep(
  scenario: Scenario,
  variant: Variant,
  { first, every }: Steps,
): Promise<number> {
  const expected = await statesWithoutFault(scenario, variant)
  let runs = 0
  for (let n = first; n < STEPS_MAX; n += every) {
    runs++
    const world = new SimWorld(optionsOf(scenario, variant), 1)
    try {
      if (!(await failStep(world, scenario, variant, { n, ...expected }))) return runs
    } catch (failure) {
      if (!(failure instanceof Mismatch)) throw failure
      throw new Mismatch(`${scenario.name}: step ${n} ${variant.name}: ${failure.message}`)
    } finally {
      world.disk.crash('process')
    }
  }
  throw new Mismatch(`${scenario.name} has no end`)
}

/** Everything that exists before an operation and after it, and of another team. */
type States = Readonly<{ before: string; after: string; beside: string }>

type Expected = States & Readonly<{ n: number }>

/** @returns whether the fault occurred */
async function failStep(
  world: SimWorld,
  scenario: Scenario,
  { fault, lasting, reopens }: Variant,
  { n, ...states }: Expected,
): Promise<boolean> {
  await world.open()
  await scenario.prepare?.(world)
  const plan = nthStep(n, fault, { lasting })
  world.arm(plan)
  const outcome = await world.outcomeOf(() => scenario.act(world))
  world.disarm()
  checkTold(world, outcome)
  const allowed = allowedAfter(scenario, outcome, states)
  if (reopens) await checkLives(world, allowed)
  await world.end(n % 2 === 0)
  await world.open()
  const found = await dump(world)
  if (!allowed.fits(found)) {
    const told = outcome.kind === 'failed' ? show(outcome.failure) : outcome.kind
    throw new Mismatch(
      `it was ${told}, and after it there must be\n${allowed.text}\nbut there is\n${found}`,
    )
  }
  if (scenario.deletesAll) await checkWiped(world, scenario, states)
  await world.team.createTable({ name: 'later', rows: [{ n: 1 }] })
  return plan.met() > 0
}

/** The states, as `dump` shows them, that are allowed afterwards. */
type Allowed = Readonly<{ text: string; fits(found: string): boolean }>

function allowedAfter(
  { isMaintenance = false, deletesAll = false }: Scenario,
  { kind }: Outcome,
  { before, after }: States,
): Allowed {
  if (deletesAll && kind === 'unknown') {
    return { text: `some lines of\n${before}`, fits: (found) => isPartOf(found, before) }
  }
  const states = new Set<string>()
  if (kind !== 'done' || isMaintenance) states.add(before)
  if (kind !== 'failed' || isMaintenance) states.add(after)
  return { text: [...states].join('\nor\n'), fits: (found) => states.has(found) }
}

/** Whether each thing is unchanged or gone. The verification checks the counts of files. */
function isPartOf(found: string, before: string): boolean {
  const lines = new Set(before.split('\n'))
  return found.split('\n').every((line) => lines.has(line) || /^(?:files .*)?$/.test(line))
}

/** Repeating the deletion finishes it, and other teams are not affected. */
async function checkWiped(
  world: SimWorld,
  { act }: Scenario,
  { after, beside }: States,
): Promise<void> {
  await checkUndamaged(world)
  await act(world)
  expectEqual('what is there when all was deleted again', await dump(world), after)
  expectEqual('the records of the team', await leftRecords(world.kv, TEAM), [])
  await checkUndamaged(world)
  expectEqual('another team', await dump(world, OTHER_TEAM), beside)
}

async function checkUndamaged(world: SimWorld): Promise<void> {
  expectEqual('the damage that a verification finds', await damageOf(world.store), [])
}

/** A failure without effect says so. */
function checkTold(world: SimWorld, outcome: Outcome): void {
  if (outcome.kind !== 'failed' || !world.isOfIo(outcome.failure)) return
  if (outcome.failure.outcome === 'unchanged') return
  throw new Mismatch(`it does not say that nothing was changed: ${show(outcome.failure)}`)
}

const TRIES_MAX = 5

/** Writes records that no store reads. */
const ANY_COMMIT = { puts: [[Uint8Array.of(0xfd), new Uint8Array(0)]] } as const

/** The disk works again: the store accepts reads and writes, without being reopened. */
async function checkLives(world: SimWorld, allowed: Allowed): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const outcome = await world.outcomeOf(() => dump(world))
    if (outcome.kind === 'done' && allowed.fits(String(outcome.value))) {
      const written = await world.outcomeOf(() => world.kv.partition('').commit(ANY_COMMIT))
      if (written.kind === 'done') return
    }
    await new Promise<void>((done) => setTimeout(done, 2_000))
  }
  throw new Mismatch('the disk works again, and the store does not')
}

async function statesWithoutFault(scenario: Scenario, variant: Variant): Promise<States> {
  const world = new SimWorld(optionsOf(scenario, variant), 1)
  await world.open()
  await scenario.prepare?.(world)
  const before = await dump(world)
  const beside = await dump(world, OTHER_TEAM)
  await scenario.act(world)
  const after = await dump(world)
  await world.end(false)
  await world.open()
  expectEqual('the state after a reopen', await dump(world), after)
  world.disk.crash('process')
  return { before, after, beside }
}

function optionsOf({ options = {} }: Scenario, { reopens }: Variant): SimOptions {
  return {
    store: { cacheBytesMax: 0, ...options },
    disk: { seed: 1, logBytesMax: 1_000 },
    kv: { commitRecordsMin: 8, checkpointBatches: 4, recordCacheBytes: 0, durability: 'commit' },
    reopens,
  }
}

const EVERYTHING = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100_000 }

/** Everything that a client could see of a team, as text. */
export async function dump({ store, kv }: SimWorld, teamId = TEAM): Promise<string> {
  const team = store.team(teamId)
  const lines: string[] = []
  for (const { id, name } of await team.tables()) {
    const table = team.table(id)
    const { columns } = await table.schema()
    const types = columns.map((column) => `${column.id}:${column.type.kind}`).join()
    const { key = [] } = await table.info()
    const rows: string[] = key.length === 0 ? [] : [`by ${key.join()}`]
    for await (const { $rowID, ...cells } of table.scan()) {
      rows.push(JSON.stringify(cells))
      if (key.length === 0) continue
      const values = key.map((id) => [id, cells[id] as string | number] as const)
      const found = await table.get(Object.fromEntries(values))
      if (found?.row.$rowID !== $rowID) throw new Mismatch(`no row ${JSON.stringify(cells)} by key`)
    }
    lines.push(`table ${name} ${await table.version()} ${types} ${rows.join(' ')}`)
  }
  const records: string[] = [] // sorted, because the keys of stashes and uploads are random
  const entries = await kv.partition(teamId).read((view) => view.scan(EVERYTHING))
  for (const [key, value] of entries) {
    const space = key[0]
    if (space === KEY_SPACE.chunk) {
      records.push(`chunk ${serialOfChunkKey(key)} ${rowCount(value)}`)
    }
    if (space === KEY_SPACE.upload) records.push(`upload ${showUpload(value)}`)
    if (space === KEY_SPACE.filesHead) records.push(`files ${show(decodeFilesHead(value))}`)
  }
  return [...lines, ...records.sort()].join('\n')
}

function rowCount(reference: Uint8Array): number {
  return decodeChunkSegments(reference).segments.reduce((sum, one) => sum + one.rowCount, 0)
}

function showUpload(record: Uint8Array): string {
  const upload = decodeUpload(record)
  return upload.state === 'received' ? `received ${upload.received.bytes}` : upload.state
}
