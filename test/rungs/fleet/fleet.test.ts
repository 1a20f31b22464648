// Goal: servers in several processes on one PostgreSQL and one object store are one store. Whichever of them is killed,
// nothing acknowledged is lost, duplicated or out of order, and the others delete its leftovers.
// Method: clients work through four servers, a random one of which is killed repeatedly. A request without an answer is
// repeated at another server, by the contract's rules. The content is compared with the journal of the lanes of T6
// while the clients work, in a backup taken meanwhile, and at the end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { StoreOptions } from '../../../src/index.js'
import { openStore } from '../../../src/index.js'
import { fixedSizeOf, report, reportSkip, suiteSeed, tier } from '../../support/ladder.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { auditStore } from '../crash/audit.js'
import { TEAM } from '../crash/lane.js'
import { SMALL_SIZES } from '../crash/writer-job.js'
import { type BuiltPrograms, buildPrograms } from '../crash/writer-process.js'
import { Clients, summaryOf } from './clients.js'
import { Fleet } from './fleet.js'
import { FleetBackup } from './fleet-backup.js'
import { awaitNoOrphans, findLeaksOf, fleetOptions, objectsPlace, openAgain } from './fleet-end.js'
import { type FleetPlace, openFleetPorts } from './fleet-job.js'
import { LeaseWatch } from './leases.js'

const SERVERS = 4

/** The sizes of a run. `ROWSTASH_RUNS` sets its length in seconds. */
const TIMES = {
  push: {
    lanes: 4,
    pauseMsMax: 10,
    killMs: 5_000,
    leaseMs: 1_000,
    graceMs: 2_000,
    maintainMs: 700,
  },
  deep: {
    lanes: 6,
    pauseMsMax: 60,
    killMs: 10_000,
    leaseMs: 3_000,
    graceMs: 5_000,
    maintainMs: 3_000,
  },
}[tier]

const SECONDS = fixedSizeOf({ push: 12, deep: 1_800 })

const MINUTE_MS = 60_000

const OPTIONS: StoreOptions = { ...fleetOptions(TIMES), idempotencyTtlMs: 5 * MINUTE_MS }

let postgres: PostgresServer | string = ''
let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  postgres = await startPostgres()
  programs = await buildPrograms(['fleet-server'], {
    smallBuffers: false,
    from: 'test/rungs/fleet',
  })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-fleet-'))
})

afterAll(async () => {
  if (typeof postgres !== 'string') await postgres.stop()
  await programs.remove()
})

/** Kills servers until the time is over. */
async function killServers(fleet: Fleet, random: Seeded): Promise<void> {
  const endsAt = performance.now() + SECONDS * 1_000
  while (performance.now() < endsAt) {
    await pause(TIMES.killMs - TIMES.killMs / 5 + random.below((2 * TIMES.killMs) / 5))
    await fleet.killOne(random, random.below(1_500))
  }
}

/** The bytes of all objects, of those that records name, and of the rows and files that clients would read. */
async function measureObjects(place: FleetPlace) {
  const { kv, objects } = await openFleetPorts(place)
  const store = await openStore({ ...SMALL_SIZES, kv, objects, orphanGraceMs: MINUTE_MS })
  await store.maintain()
  const { rows = 0, stashes = 0, files = 0, uploads = 0 } = store.activity().bytesHeld ?? {}
  let rowText = 0
  for (const { id } of await store.team(TEAM).tables()) {
    for await (const { $rowID, ...cells } of store.team(TEAM).table(id).scan()) {
      rowText += JSON.stringify(cells).length
    }
  }
  let [count, bytes] = [0, 0]
  for (let ids = await objects.list(''); ids.length > 0; ids = await objects.list('', ids.at(-1))) {
    count += ids.length
    for (const id of ids) bytes += (await objects.get(id))?.length ?? 0
  }
  await store.close()
  const live = rows + stashes + files + uploads
  const named = { rows, stashes, files, uploads }
  return { objects: count, bytes, named, rowText, ratio: bytes / Math.max(1, live) }
}

type Finished = Readonly<{
  fleet: Fleet
  clients: Clients
  watch: LeaseWatch
  backup: FleetBackup
  report: object
}>

/** Runs the clients while servers are killed and a backup is taken, and waits until no leftovers remain. */
async function live(place: FleetPlace, seed: number): Promise<Finished> {
  const random = seeded(seed)
  const program = programs.path('fleet-server')
  const job = { ...place, options: OPTIONS }
  const fleet = await Fleet.start({ programOf: () => program, jobOf: () => job }, SERVERS)
  onTestFinished(() => fleet.killAll())
  const clients = new Clients(fleet, { seed, ...TIMES })
  const ports = await openFleetPorts(place)
  const watch = new LeaseWatch(ports.kv)
  const backup = new FleetBackup(join(folder, 'backup'))

  const watching = watch.run()
  const working = clients.run()
  const backingUp = pause(SECONDS * 400).then(() => backup.take(fleet, clients, random))
  const killing = Promise.all([killServers(fleet, random), backingUp])
  await Promise.all([working, killing.finally(() => clients.stop())])
  const report = await awaitNoOrphans(fleet, random, clients.wrong, TIMES)
  watch.end()
  await watching
  await fleet.stop()
  await ports.close()
  return { fleet, clients, watch, backup, report }
}

/** Compares the content with the journal. @returns the size of the objects */
async function examine(place: FleetPlace, { fleet, clients, backup }: Finished) {
  const { ledger, wrong } = clients
  const disk = await measureObjects(place)
  wrong.push(...fleet.wrong, ...(await auditStore(() => openAgain(place), ledger)))
  wrong.push(...(await backup.check(join(folder, 'restored'), ledger.settledShares)))
  wrong.push(...(await findLeaksOf(place, ledger)))
  return disk
}

const TIMEOUT_MS = SECONDS * 1_000 + 900_000

test('servers that are killed lose nothing and leave nothing', {
  timeout: TIMEOUT_MS,
}, async (context) => {
  if (typeof postgres === 'string') {
    reportSkip('T18 fleet', postgres)
    return context.skip(postgres)
  }
  const seed = suiteSeed()
  const startedAt = performance.now()
  const objects = await objectsPlace(folder, seed)
  const place: FleetPlace = { postgres: postgres.url, schema: 'fleet', objects }

  const finished = await live(place, seed)
  const disk = await examine(place, finished)

  const { fleet, clients, watch, backup, report: swept } = finished
  const { ledger, wrong } = clients
  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `T18 fleet, ${fleet.kills} kills, ${ledger.acknowledged} acknowledged`
  report({ suite, seed, runs: fleet.kills, seconds, violations: wrong.length })
  const { ms, tries } = backup
  for (const line of [
    { clients: summaryOf(clients) },
    {
      report: { ...swept, objects: fleet.report, settled: fleet.settled },
      disk,
      backup: { ms: Math.round(ms), tries },
    },
    { endedAfterMs: watch.endedAfterMs.map(Math.round).sort((left, right) => left - right) },
    { passedAfterMs: watch.passedAfterMs.map(Math.round).sort((left, right) => left - right) },
    { notes: [...fleet.notes] },
  ]) {
    console.log(JSON.stringify(line))
  }
  expect(wrong).toEqual([])
  expect(disk.ratio).toBeLessThan(1.2)
  expect(fleet.kills).toBeGreaterThan(1)
  expect(fleet.settled).toBeGreaterThan(SECONDS)
  expect(ledger.acknowledged).toBeGreaterThan(SECONDS)
  await rm(folder, { recursive: true }) // A failed one is kept for inspection.
})
