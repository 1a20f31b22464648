// Goal: of several processes on one store, one does the background work of a team, until it ends. Nothing that a
// process does under a lost lease takes effect, and another process finishes whatever it left half done.
import { describe, expect, test } from 'vitest'
import { decodeDutyLease, encodeDutyLease, NO_INCARNATION } from '../../src/format/duty-records.js'
import { dutyKey, incarnationOfKey, KEY_SPACE } from '../../src/format/keys.js'
import type { Store, Table } from '../../src/index.js'
import type { KvCommit } from '../../src/ports.js'
import { sampleOf } from '../support/what-runs.js'
import {
  type Engine,
  EngineWorld,
  LEASE_MS,
  MINUTE_MS,
  type PortCall,
  turns,
} from './engine-world.js'

const T = 't'
const DAY_MS = 24 * 60 * MINUTE_MS

const NO_WAIT = {
  orphanGraceMs: 0,
  overwrittenRowsTtlMs: 0,
  overwrittenRowSetsMax: 0,
  maintenance: { compactionRecordsMin: 1 },
}

const MAINTENANCE_MS = MINUTE_MS
const BACKGROUND = {
  ...NO_WAIT,
  maintenance: {
    ...NO_WAIT.maintenance,
    garbageCollectionIntervalMs: MAINTENANCE_MS,
    compactionIntervalMs: MAINTENANCE_MS / 2,
    fileCollectionIntervalMs: MAINTENANCE_MS,
  },
}

const TEAM_DUTIES = ['garbageCollection', 'compaction', 'files'] as const

/** Leaves work for every step of garbage collection. Time passes, so that all lifetimes are over. */
async function leaveWork(world: EngineWorld, { store }: Engine, rowCount = 3): Promise<Table> {
  const team = store.team(T)
  const rows = Array.from({ length: rowCount }, (_, n) => ({ n }))
  const made = await team.createTable({ name: 'x', rows, idempotencyKey: 'key' })
  const table = team.table(made.tableId)
  await team.stash('s').put('0', [{ n: 1 }])
  await team.startJob({ create: { name: 'y', rows: [{ n: 1 }] } }).then((job) => job.wait())
  await team.files.put('bytes', { fileName: 'a.txt', contentType: 'text/plain' })
  await team.files.createUpload({ fileName: 'b.txt', contentType: 'text/plain' })
  world.now += 60 * DAY_MS
  return table
}

/** Retires the table's rows and schema, and lays a record over its new rows. */
async function change(table: Table): Promise<void> {
  await table.overwrite({ rows: [{ n: 4 }, { n: 5, s: 'text' }], onSchemaError: 'updateSchema' })
  const [row] = (await table.page()).rows
  await table.updateRow(row?.$rowID ?? '', { n: 7 })
}

async function numbersOf(table: Table): Promise<unknown[]> {
  return (await table.page()).rows.map(({ n }) => n)
}

function spacesOf({ puts = [], deletes = [] }: KvCommit): number[] {
  return [...puts.map(([key]) => key[0] ?? 0), ...deletes.map((key) => key[0] ?? 0)]
}

function touches(space: number): (call: PortCall) => boolean {
  return ({ partition, commit }) =>
    partition === T && commit !== undefined && spacesOf(commit).includes(space)
}

function leaseOf({ checks = [] }: KvCommit): Uint8Array | null | undefined {
  return checks.find(({ key }) => key[0] === KEY_SPACE.duty)?.equals
}

/** The owners of a team's leases, in the order of `TEAM_DUTIES`; null: no lease. */
async function ownersOf(world: EngineWorld): Promise<(string | null)[]> {
  const leases = await world.kv
    .partition(T)
    .read((view) => view.getMany(TEAM_DUTIES.map((duty) => dutyKey(duty))))
  return leases.map((bytes) => bytes && decodeDutyLease(bytes).owner)
}

async function incarnationsOf(world: EngineWorld): Promise<string[]> {
  return (await world.keys('', KEY_SPACE.incarnation)).map((key) => incarnationOfKey(key))
}

describe('every commit of a duty', () => {
  /** The steps of a garbage collection in a team, by the key space that their commits change. */
  const STEPS = [
    ['a garbage collection of generations', KEY_SPACE.retirement],
    ['a garbage collection of schemas', KEY_SPACE.schema],
    ['a garbage collection of stashes', KEY_SPACE.stashHead],
    ['a garbage collection of uploads', KEY_SPACE.upload],
    ['a garbage collection of jobs', KEY_SPACE.job],
    ['a garbage collection of results', KEY_SPACE.idempotency],
    ['a compaction', KEY_SPACE.extentPage],
    ['a garbage collection of files', KEY_SPACE.file],
  ] as const

  test('checks its lease, and takes no other way', async () => {
    const world = await EngineWorld.create()
    const engine = await world.open(NO_WAIT)
    await change(await leaveWork(world, engine))
    const spaces = new Set<number>()
    const wrong: number[][] = []
    world.onCall = ({ partition, commit }): void => {
      if (partition !== T || commit === undefined) return
      const changed = spacesOf(commit)
      if (changed.every((space) => space === KEY_SPACE.duty || space === KEY_SPACE.writer)) return
      for (const space of changed) spaces.add(space)
      if (!leaseOf(commit)) wrong.push(changed)
    }
    for (let i = 0; i < 2; i++) await engine.store.maintain()

    expect(wrong).toEqual([])
    for (const [, space] of STEPS) expect(spaces).toContain(space)
    expect(spaces).toContain(KEY_SPACE.row)
    expect(spaces).toContain(KEY_SPACE.deadStash)
  })

  test.each(STEPS)('of %s is refused when the lease is lost', async (_, space) => {
    const world = await EngineWorld.create()
    const paused = await world.open(NO_WAIT)
    const table = await leaveWork(world, paused)
    await change(table)
    const fits = touches(space)
    const accepted: boolean[] = []
    const late: KvCommit[] = []
    world.onCommit = (commit): void => {
      if (fits({ port: 'commit', partition: T, commit }) && late.length === 0) late.push(commit)
    }
    world.onResult = (commit, ok): void => {
      if (commit === late[0]) accepted.push(ok)
    }
    const reached = paused.stopBefore(fits)
    const report = paused.store.maintain()
    await reached
    await takeLeases(world)
    paused.goOn()

    await report // Others do the work, and this is no failure.
    expect(accepted).toEqual([false])
    for (let i = 0; i < 3; i++) await paused.store.maintain()
    expect(await numbersOf(table)).toEqual([7, 5])
    expect((await paused.store.verify({ full: true })).findings).toEqual([])
  })

  /** Takes the leases, as another process does. */
  async function takeLeases(world: EngineWorld): Promise<void> {
    const partition = world.kv.partition(T)
    for (const duty of TEAM_DUTIES) {
      const key = dutyKey(duty)
      const bytes = await partition.read((view) => view.get(key))
      const epoch = bytes === null ? 1 : decodeDutyLease(bytes).epoch + 1
      await partition.commit({ puts: [[key, encodeDutyLease({ owner: 'f'.repeat(16), epoch })]] })
    }
  }
})

describe('the background work of a team', () => {
  /** Counts each engine's scans of the team's records. */
  function countScans(world: EngineWorld): Map<Engine, number> {
    const scans = new Map<Engine, number>()
    world.onCall = ({ port, partition }, engine): void => {
      if (port === 'scan' && partition === T) scans.set(engine, (scans.get(engine) ?? 0) + 1)
    }
    return scans
  }

  test('is done by one process, and the others do not even look', async () => {
    const world = await EngineWorld.create()
    const first = await world.open(BACKGROUND)
    const table = await leaveWork(world, first)
    await world.pass(2 * MAINTENANCE_MS)
    const owners = await ownersOf(world)
    expect(new Set(owners)).toEqual(new Set(await incarnationsOf(world)))
    await world.open(BACKGROUND)
    await turns()
    await change(table)
    const scans = countScans(world)
    const commits: KvCommit[] = []
    world.onCommit = (commit): void => void commits.push(commit)
    await world.pass(5 * MAINTENANCE_MS)

    expect(await ownersOf(world)).toEqual(owners)
    expect([...scans.keys()]).toEqual([first])
    expect(commits.filter(({ puts = [] }) => puts[0]?.[0][0] === KEY_SPACE.duty)).toEqual([])
    expect(await numbersOf(table)).toEqual([7, 5])
    expect(await world.keys(T, KEY_SPACE.retirement)).toEqual([])
    expect(await world.keys(T, KEY_SPACE.row)).toEqual([])
  })

  test('is taken by one process of two that find it free at once, after others know that this one lives', async () => {
    const world = await EngineWorld.create()
    const slow = await world.open(NO_WAIT)
    await leaveWork(world, await world.open(NO_WAIT))
    const known = new Set<string>()
    const owners: (readonly [owner: string, isKnown: boolean, accepted: boolean])[] = []
    world.onResult = ({ puts = [] }, ok): void => {
      for (const [key, value] of puts) {
        if (key[0] === KEY_SPACE.incarnation && ok) known.add(incarnationOfKey(key))
        if (key[0] !== KEY_SPACE.duty) continue
        const { owner } = decodeDutyLease(value)
        if (owner !== NO_INCARNATION) owners.push([owner, known.has(owner), ok])
      }
    }
    const reached = slow.stopBefore(touches(KEY_SPACE.duty))
    const report = slow.store.maintain()
    await reached
    await world.open(BACKGROUND) // It collects garbage at once.
    for (let i = 0; i < 3; i++) await turns()
    slow.goOn()
    await report

    expect(owners.filter(([, isKnown]) => !isKnown)).toEqual([])
    expect(owners.filter(([, , accepted]) => !accepted)).toHaveLength(1)
  })

  test('passes to another process when the one that did it has died', async () => {
    const world = await EngineWorld.create()
    const first = await world.open(BACKGROUND)
    const table = await leaveWork(world, first)
    await world.pass(2 * MAINTENANCE_MS)
    const [dead] = await ownersOf(world)
    const second = await world.open(BACKGROUND)
    const others = second.store.team(T).table(table.id)
    await world.pass(MAINTENANCE_MS)
    first.kill()
    await change(others)
    let passed = 0
    for (; passed < 10 * MINUTE_MS && (await ownersOf(world)).includes(dead ?? null); ) {
      await world.pass(LEASE_MS / 3)
      passed += LEASE_MS / 3
    }

    expect(passed).toBeGreaterThanOrEqual(LEASE_MS - LEASE_MS / 3)
    expect(passed).toBeLessThanOrEqual(LEASE_MS + 2 * MAINTENANCE_MS)
    await world.pass(2 * MAINTENANCE_MS)
    expect(await world.keys(T, KEY_SPACE.retirement)).toEqual([])
    expect(await numbersOf(others)).toEqual([7, 5])
  })

  test('passes to another process at once when the one that did it was closed', async () => {
    const world = await EngineWorld.create()
    const first = await world.open(BACKGROUND)
    await leaveWork(world, first)
    await world.pass(2 * MAINTENANCE_MS)
    const [closed] = await ownersOf(world)
    const second = await world.open(BACKGROUND)
    await first.store.close()
    await world.pass(2 * MAINTENANCE_MS)

    expect(await ownersOf(world)).not.toContain(closed)
    expect(await incarnationsOf(world)).toHaveLength(1)
    await second.store.close()
  })

  test('goes on in the process that does it after another one has collected when it was told to', async () => {
    const world = await EngineWorld.create()
    const first = await world.open(BACKGROUND)
    const table = await leaveWork(world, first)
    await world.pass(2 * MAINTENANCE_MS)
    const owners = await ownersOf(world)
    const told = await world.open(NO_WAIT) // without background work
    await change(table)

    expect(await told.store.maintain()).toMatchObject({ generations: 1, compactions: 1 })
    expect(await ownersOf(world)).toEqual(TEAM_DUTIES.map(() => NO_INCARNATION))
    await change(table)
    await told.store.team(T).files.put('c', { fileName: 'c.txt', contentType: 'text/plain' })
    await world.pass(2 * MAINTENANCE_MS)
    expect(await ownersOf(world)).toEqual(owners)
  })

  test('of others is done by a call of maintain, also while a background garbage collection is under way', async () => {
    const world = await EngineWorld.create()
    const first = await world.open(BACKGROUND)
    const table = await leaveWork(world, first)
    await world.pass(2 * MAINTENANCE_MS)
    const told = await world.open({
      ...NO_WAIT,
      maintenance: { ...NO_WAIT.maintenance, fileCollectionIntervalMs: LEASE_MS / 3 },
    })
    await turns()
    await change(table)
    await first.store.team(T).files.put('b', { fileName: 'b.txt', contentType: 'text/plain' })
    world.now += 60 * DAY_MS
    const reached = told.stopBefore(({ port, partition }) => port === 'get' && partition === T)
    await world.pass(LEASE_MS / 3)
    await reached
    const report = told.store.maintain()
    told.goOn()

    expect(await report).toMatchObject({ files: 1, generations: 1 })
  })
})

/** The content of the store, by kind. */
async function censusOf(world: EngineWorld): Promise<Record<string, number>> {
  const counts: Record<string, number> = { objects: (await world.listed()).length }
  for (const [name, space] of Object.entries(KEY_SPACE)) {
    const passing: readonly number[] = [KEY_SPACE.duty, KEY_SPACE.writer, KEY_SPACE.dueTeam]
    if (passing.includes(space)) continue
    counts[name] = (await world.keys(T, space)).length
  }
  return counts
}

const SCANNED = 2_500

type Ended = Readonly<{ steps: number; census: Record<string, number> }>

/**
 * A process collects garbage until it dies in a step, which takes effect. Another one finishes, and a third one reads
 * meanwhile.
 */
async function maintainAndDie(deadlyStep: number): Promise<Ended> {
  const world = await EngineWorld.create()
  const [dying, other, reader] = [
    await world.open(NO_WAIT),
    await world.open(NO_WAIT),
    await world.open(NO_WAIT),
  ]
  const table = await leaveWork(world, dying, SCANNED)
  const scan = reader.store.team(T).table(table.id).scan()
  const found = [(await scan.next()).value]
  await change(table)
  await change(await createSecond(dying.store)) // Nobody reads its first rows.
  let steps = 0
  world.onCall = ({ port, commit }, engine): void => {
    const writes =
      port === 'commit'
        ? commit !== undefined
        : ['put', 'garbageCollection', 'delete'].includes(port)
    if (engine === dying && writes && steps++ === deadlyStep) dying.kill()
  }
  const report = dying.store.maintain().then(() => dying.store.maintain())
  await Promise.race([report, diesOf(dying)])
  world.onCall = () => undefined
  dying.kill()
  await finish(other.store, world)
  for await (const row of scan) found.push(row)
  expect(found.map(({ n }) => n)).toEqual(Array.from({ length: SCANNED }, (_, n) => n))
  await finish(other.store, world)
  const there = other.store.team(T).table(table.id)
  expect(await numbersOf(there)).toEqual([7, 5])
  expect((await other.store.verify({ full: true })).findings).toEqual([])
  return { steps, census: await censusOf(world) }
}

/** A table with a segment and a record over it. */
async function createSecond(store: Store): Promise<Table> {
  const team = store.team(T)
  const { tableId, rowIds } = await team.createTable({ name: 'z', rows: [{ n: 1 }] })
  await team.table(tableId).updateRow(rowIds.get(0), { n: 2 })
  return team.table(tableId)
}

async function finish(store: Store, world: EngineWorld): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await store.maintain()
    await world.pass(LEASE_MS)
  }
}

/** Resolves some time after an engine has died. */
async function diesOf(engine: Engine): Promise<void> {
  while (!engine.isDead) await turns()
}

test('a garbage collection that dies in any of its steps is finished by another process, and no reader loses what it reads', async () => {
  const intact = await maintainAndDie(Number.POSITIVE_INFINITY)
  expect(intact.steps).toBeGreaterThan(20)
  for (const step of sampleOf([...Array(intact.steps).keys()], 3)) {
    expect([step, (await maintainAndDie(step)).census]).toEqual([step, intact.census])
  }
}, 120_000)
