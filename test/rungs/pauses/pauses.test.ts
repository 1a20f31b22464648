// Goal: whatever stops for a while, is slow or has a wrong clock - a process at any step of an operation or a duty, all of
// them at once, a network, a disk - nothing acknowledged is lost or doubled, no object that is referred to is deleted,
// failures are typed, and everything goes on afterwards.
// Method: the clients and the journal of T18. Each server stops at steps that it has seldom stopped at, for 0.3 to 5
// leases, or longer than the grace; some steps take as long. Connections of clients and to PostgreSQL are slow, half-open
// or lose answers, and a client that gives up repeats its request at another server. The clock of one server at a time
// jumps by hours, those of all by some seconds; all stop at once, and minutes have passed when they go on. Some are killed.
// A server of a directory goes through the same alone.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { StoreOptions } from '../../../src/index.js'
import { type CutProxy, openCutProxy } from '../../support/cut-proxy.js'
import { report, reportSkip, sizeOf, suiteSeed } from '../../support/ladder.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { audit, auditStore } from '../crash/audit.js'
import { findLeaks } from '../crash/leaks.js'
import { type BuiltPrograms, buildPrograms } from '../crash/writer-process.js'
import { Clients, summaryOf } from '../fleet/clients.js'
import { Fleet } from '../fleet/fleet.js'
import {
  awaitNoOrphans,
  findLeaksOf,
  fleetOptions,
  objectsPlace,
  openAgain,
} from '../fleet/fleet-end.js'
import type { DirectoryPlace, FleetPlace } from '../fleet/fleet-job.js'
import { TroubleFile } from '../fleet/trouble.js'

const SUITE = 'T25 pauses'
const SERVERS = 3
const SECONDS = sizeOf({ push: 60, deep: 1_800 })
const TIMEOUT_MS = SECONDS * 1_000 + 600_000

const TIMES = { leaseMs: 500, graceMs: 8_000, maintainMs: 300, lanes: 8, pauseMsMax: 10 }
const READERS = 4
const READ_MS = 50
const ROWS_READ = 1_000
const KILL_MS = 9_000
const SUSPEND_MS = 7_000
const JUMP_MS = 1_500
const STEP_MS = 700
const CUT_MS = 15_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** How far a clock is set; less than `clockSkewMs` is not noticed. */
const JUMPS_MS = [0.01, 0.03, 0.08, 0.5, 25, 50, 24 * 400].flatMap((hours) => [
  -hours * HOUR_MS,
  hours * HOUR_MS,
])
/**
 * Where nothing tells the time but the clock that jumps, what it stamps lives from then on: a time ahead keeps all, and one
 * that is less ahead than a lifetime lets none end at an opening.
 */
const FORWARD_MS = [0.01, 0.5, 12].map((hours) => hours * HOUR_MS)
/** How far the clocks of all are set at once, that of the database, too: further than the grace. */
const STEPS_MS = [-15_000, 15_000, 15_000]
/** How long machines are suspended; in all less than any lifetime. */
const SUSPENDS_MS = [0, 60_000, HOUR_MS / 4]

/** A client waits no longer for an answer, if it may ask again. */
const PATIENCE_MS = 1_500
/** How soon a server that is right again answers. */
const RECOVERY_MS_MAX = 60_000

/** Lifetimes last longer than all suspends of a run; clocks that are set are further off. */
const OPTIONS: StoreOptions = {
  ...fleetOptions(TIMES),
  idempotencyTtlMs: DAY_MS,
  uploadUrlTtlMs: DAY_MS,
  uploadTtlMs: DAY_MS,
  uploadReceivedTtlMs: DAY_MS,
}

/** It stays until its time, and nothing waits for it: a scan each day looks at everything. */
const HINT_OF_WRONG_CLOCK = 'a record of the space workHint is left'

let postgres: PostgresServer | string = ''
let programs: BuiltPrograms
let folder = ''
let hasFailed = false

beforeAll(async () => {
  postgres = await startPostgres()
  programs = await buildPrograms(['fleet-server'], {
    smallBuffers: false,
    from: 'test/rungs/fleet',
  })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-pauses-'))
})

afterAll(async () => {
  if (typeof postgres !== 'string') await postgres.stop()
  await programs.remove()
  if (!hasFailed) await rm(folder, { recursive: true, force: true }) // A failed one stays to be looked at.
})

/** Does something again and again until the time is over. */
async function repeat(everyMs: number, random: Seeded, act: () => Promise<void> | void) {
  const endsAt = performance.now() + SECONDS * 1_000
  while (performance.now() < endsAt) {
    await pause(everyMs / 2 + random.below(everyMs))
    await act()
  }
}

/** Reads any table while others change it. It may be gone; nothing else keeps it from being read. */
async function read({ http, wrong }: Clients, random: Seeded): Promise<void> {
  const { data } = await http.ask({ method: 'GET', path: '/tables' })
  const tables = data as readonly Readonly<{ id: string }>[]
  if (tables.length === 0) return
  const path = `/tables/${random.pick(tables).id}/rows?limit=${ROWS_READ}`
  const { status, type, message } = await http.send({ method: 'GET', path })
  if (status >= 400 && status !== 404)
    wrong.push(`a read failed with ${status} ${type}: ${message}`)
}

/** After it every server answers. */
async function awaitAnswers(fleet: Fleet, { http }: Clients): Promise<string[]> {
  http.answeredBy.clear()
  const endsAt = performance.now() + RECOVERY_MS_MAX
  for (;;) {
    const silent = fleet.urls().filter((url) => !http.answeredBy.has(url))
    if (silent.length === 0) return []
    if (performance.now() > endsAt)
      return silent.map((url) => `the server at ${url} gives no answer`)
    await pause(100)
  }
}

type Scene = Readonly<{
  place: FleetPlace | DirectoryPlace
  servers: number
  jumpsMs: readonly number[]
  /** Between the servers and PostgreSQL. */
  network?: CutProxy
}>

async function live({ place, servers, jumpsMs, network }: Scene, seed: number) {
  const random = seeded(seed)
  const trouble = new TroubleFile(join(folder, 'trouble'), servers)
  const program = programs.path('fleet-server')
  let started = 0
  let fleet: Fleet | undefined
  fleet = await Fleet.start(
    {
      programOf: () => program,
      jobOf: (at) => ({
        ...place,
        // Without caches they read objects, which may be gone.
        options: { ...OPTIONS, ...(at === servers - 1 && { cacheBytesMax: 0 }) },
        trouble: {
          ...TIMES,
          seed: seed * 31 + started++,
          file: join(folder, 'trouble'),
          place: at,
          stops: Object.fromEntries(fleet?.stops ?? []),
        },
      }),
      async openDoor(port) {
        const door = await openCutProxy(port)
        door.disturb(seeded(seed * 17 + port))
        return door
      },
    },
    servers,
  )
  onTestFinished(() => fleet.killAll())
  const clients = new Clients(fleet, { seed, ...TIMES, patienceMs: PATIENCE_MS })
  const counts = { jumps: 0, suspends: 0 }
  network?.disturb(seeded(seed + 1))
  const working = clients.run()
  await Promise.all([
    ...Array.from({ length: READERS }, () => repeat(READ_MS, random, () => read(clients, random))),
    repeat(KILL_MS, random, () => fleet.killOne(random, random.below(1_000))),
    repeat(CUT_MS, random, () => network?.cut()),
    repeat(SUSPEND_MS, random, () => {
      counts.suspends++
      return fleet.suspend(TIMES.leaseMs * (0.3 + random.below(5)), () =>
        trouble.turnAll(random.pick(SUSPENDS_MS)),
      )
    }),
    repeat(STEP_MS, random, () => trouble.turnAll(random.pick(STEPS_MS))),
    repeat(JUMP_MS, random, async () => {
      counts.jumps++
      const which = random.below(servers)
      trouble.turn(which, random.pick(jumpsMs))
      await pause(random.below(JUMP_MS))
      trouble.turn(which, 0)
    }),
  ])
  trouble.end()
  network?.disturb(null)
  fleet.calm()
  clients.wrong.push(...(await awaitAnswers(fleet, clients)))
  clients.stop()
  await working
  const swept = await awaitNoOrphans(fleet, random, clients.wrong, TIMES)
  await fleet.stop()
  await network?.close()
  trouble.close()
  return { fleet, clients, swept, counts }
}

test('what stops, is slow or has a wrong clock loses nothing, and goes on', {
  timeout: TIMEOUT_MS,
}, async (context) => {
  if (typeof postgres === 'string') {
    reportSkip(SUITE, postgres)
    return context.skip(postgres)
  }
  const seed = suiteSeed()
  const startedAt = performance.now()
  const objects = await objectsPlace(folder, seed)
  const place: FleetPlace = {
    postgres: postgres.url,
    schema: 'pauses',
    objects,
    statementTimeoutMs: 3_000,
  }
  const network = await openCutProxy(postgres.socket)
  const url = new URL(place.postgres)
  const postgresUrl = `postgres://${url.username}@127.0.0.1:${network.port}${url.pathname}`
  const scene = { servers: SERVERS, jumpsMs: JUMPS_MS, network }

  const lived = await live({ ...scene, place: { ...place, postgres: postgresUrl } }, seed)
  const { ledger, wrong } = lived.clients
  wrong.push(...(await auditStore(() => openAgain(place), ledger)))
  const leaks = await findLeaksOf(place, ledger)
  wrong.push(...leaks.filter((leak) => leak !== HINT_OF_WRONG_CLOCK))
  finish(SUITE, lived, { seed, startedAt })
})

test('what stops, is slow or has a wrong clock loses nothing in a directory', {
  timeout: TIMEOUT_MS,
}, async () => {
  const seed = suiteSeed()
  const startedAt = performance.now()
  const directory = join(folder, 'store')

  const lived = await live({ place: { directory }, servers: 1, jumpsMs: FORWARD_MS }, seed)
  const { ledger, wrong } = lived.clients
  wrong.push(...(await audit(directory, ledger)), ...(await findLeaks(directory, ledger)))
  finish(`${SUITE} of a server`, lived, { seed, startedAt })
})

type Lived = Awaited<ReturnType<typeof live>>

/** Reports what was done, and asserts that nothing was wrong. */
function finish(
  name: string,
  { fleet, clients, swept, counts }: Lived,
  { seed, startedAt }: Readonly<{ seed: number; startedAt: number }>,
): void {
  const { ledger, wrong } = clients
  wrong.push(...fleet.wrong)
  const seconds = (performance.now() - startedAt) / 1_000
  const stops = [...fleet.stops.values()].reduce((sum, count) => sum + count, 0)
  const suite = `${name}, ${ledger.acknowledged} acknowledged, ${fleet.kills} kills`
  report({ suite, seed, runs: stops, seconds, violations: wrong.length })
  const never = [...fleet.stops].filter(([, count]) => count === 0).map(([at]) => at)
  for (const line of [
    { clients: summaryOf(clients), swept, ...counts },
    { steps: fleet.stops.size, never },
    { notes: [...fleet.notes].map(([text, count]) => [text.slice(0, 200), count]) },
  ]) {
    console.log(JSON.stringify(line))
  }
  hasFailed ||= wrong.length > 0
  expect(wrong).toEqual([])
  expect(stops).toBeGreaterThan(0)
  expect(ledger.acknowledged).toBeGreaterThan(SECONDS)
}
