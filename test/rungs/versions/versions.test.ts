// Goal: an earlier version and this one work on the same data, one after another in a directory, at once on one
// PostgreSQL: neither loses, duplicates or misreads anything acknowledged, and nothing is left for good. While one has
// a directory open, the other is refused, and changes nothing.
// Method: the writers of T6, of one version and then of the other, are killed at random moments. The servers of T18 are
// replaced one by one by the other version and back, with a stop or a kill, while clients work through all of them. The
// content is compared with the journals. Programs of the earlier version are built from a commit of this repository.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type EarlierTree, earlierTree } from '../../support/earlier-commit.js'
import { report, reportSkip, sizeOf, suiteSeed } from '../../support/ladder.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { audit, auditStore } from '../crash/audit.js'
import { findLeaks } from '../crash/leaks.js'
import { Ledger } from '../crash/ledger.js'
import type { LogLine } from '../crash/log-lines.js'
import { type BuiltPrograms, buildPrograms, startWriter } from '../crash/writer-process.js'
import { Clients, summaryOf } from '../fleet/clients.js'
import { Fleet } from '../fleet/fleet.js'
import {
  awaitNoOrphans,
  findLeaksOf,
  fleetOptions,
  objectsPlace,
  openAgain,
} from '../fleet/fleet-end.js'
import type { FleetPlace } from '../fleet/fleet-job.js'

const DIRECTORIES = 'T26 versions, directories'
const ROLLING = 'T26 versions, rolling'

const ROUNDS = sizeOf({ push: 40, deep: 400 })
const SECONDS = sizeOf({ push: 40, deep: 900 })
const TIMEOUT_MS = (SECONDS + ROUNDS) * 1_000 + 600_000
const OPERATIONS_OF_WRITER = 1_000_000
const SERVERS = 3
const ROLL_MS = 2_500

const TIMES = { leaseMs: 1_000, graceMs: 3_000, maintainMs: 700, lanes: 4, pauseMsMax: 20 }

/** Programs of a version, and the options of its servers. */
type Version = Readonly<{ programs: BuiltPrograms; options: object }>

let earlier: EarlierTree | string = ''
let versions: readonly Version[] = []
let postgres: PostgresServer | string = ''
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-versions-'))
  postgres = await startPostgres()
  earlier = earlierTree()
  if (typeof earlier === 'string') return
  const options = fleetOptions(TIMES)
  versions = [
    { programs: await build(earlier.root), options: earlierNames(options) },
    { programs: await build(), options },
  ]
})

afterAll(async () => {
  if (typeof postgres !== 'string') await postgres.stop()
  for (const { programs } of versions) await programs.remove()
  if (typeof earlier !== 'string') await earlier.remove()
})

async function build(root?: string): Promise<BuiltPrograms> {
  const tree = root === undefined ? {} : { root }
  const writer = await buildPrograms(['writer'], { smallBuffers: false, ...tree })
  const terms = { smallBuffers: false, from: 'test/rungs/fleet', ...tree }
  const server = await buildPrograms(['fleet-server'], terms)
  return {
    path: (name) => (name === 'writer' ? writer : server).path(name),
    async remove() {
      await writer.remove()
      await server.remove()
    },
  }
}

const EARLIER_NAMES: Readonly<Record<string, string>> = {
  compactionRecordsMin: 'foldRecordsMin',
  garbageCollectionIntervalMs: 'sweepIntervalMs',
  compactionIntervalMs: 'foldIntervalMs',
  fileCollectionIntervalMs: 'fileSweepIntervalMs',
  recompressionIntervalMs: 'settleIntervalMs',
  recompressionAgeMs: 'settleAfterMs',
  recompressionSavingMin: 'settleSavingMin',
  recompression: 'settledCompression',
}

/** The options by their earlier names. */
function earlierNames({ maintenance, ...options }: ReturnType<typeof fleetOptions>): object {
  const all = Object.entries({ ...options, ...maintenance })
  return Object.fromEntries(all.map(([name, value]) => [EARLIER_NAMES[name] ?? name, value]))
}

function versionOf(which: number): Version {
  const version = versions[which]
  if (version === undefined) throw new Error(`There is no version ${which}`)
  return version
}

type Life = { directory: string; ledger: Ledger; random: Seeded; refused: number }

/** The earlier version called a garbage collection a sweep. */
function inWordsOfThis(line: LogLine): LogLine {
  const isSweep = line.say === 'begin' && (line.change.do as string) === 'sweep'
  return isSweep ? { ...line, change: { do: 'garbageCollection' } } : line
}

/** A writer of one version, killed at a random moment. Meanwhile the other version may try to open the directory. */
async function writeOnce(which: number, life: Life, round: number): Promise<void> {
  const { directory, ledger, random } = life
  const firstOperation = 1 + round * OPERATIONS_OF_WRITER
  const start = ({ programs }: Version) =>
    startWriter(programs.path('writer'), { directory, seed: random.below(2 ** 31), firstOperation })
  const writer = start(versionOf(which))
  await writer.said(1 + random.below(120))
  if (random.once(3)) {
    const other = await start(versionOf(1 - which)).ended
    const [first] = other.lines
    if (first?.say === 'note' && first.text.startsWith('STORE_LOCKED')) life.refused++
    else ledger.violations.push(`the other version was not refused: ${other.stdout.slice(0, 500)}`)
  }
  writer.child.kill('SIGKILL')
  const { lines, stderr } = await writer.ended
  for (const line of lines) {
    if (line.say === 'note') ledger.violations.push(`the writer failed: ${line.text} ${stderr}`)
  }
  ledger.read(lines.map(inWordsOfThis))
  ledger.end()
}

test('two versions open a directory in turn', { timeout: TIMEOUT_MS }, async (context) => {
  if (typeof earlier === 'string') {
    reportSkip(DIRECTORIES, earlier)
    return context.skip(earlier)
  }
  const seed = suiteSeed()
  const startedAt = performance.now()
  const [random, ledger, directory] = [seeded(seed), new Ledger(), join(folder, 'store')]
  const life: Life = { directory, ledger, random, refused: 0 }
  const wrong: string[] = []
  for (let round = 0; round < ROUNDS && wrong.length === 0; round++) {
    await writeOnce(random.below(2), life, round)
    // Otherwise the next version opens what the previous one left.
    if (random.once(3)) wrong.push(...(await audit(directory, ledger)))
  }
  wrong.push(...(await audit(directory, ledger)), ...(await findLeaks(directory, ledger)))

  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `${DIRECTORIES}, ${ledger.acknowledged} acknowledged, ${life.refused} refused`
  report({ suite, seed, runs: ROUNDS, seconds, violations: wrong.length })
  expect(wrong).toEqual([])
  expect(life.refused).toBeGreaterThan(0)
})

/**
 * Replaces the servers one by one by the other version, and back, until the time is over. At the end all have this
 * version.
 */
async function roll(fleet: Fleet, versionAt: number[], random: Seeded): Promise<number> {
  const endsAt = performance.now() + SECONDS * 1_000
  let replaced = 0
  for (let to = 1; performance.now() < endsAt || to === 1; to = 1 - to) {
    for (let place = 0; place < SERVERS; place++) {
      versionAt[place] = to
      await fleet.replace(place, random.once(2) ? 'SIGKILL' : 'SIGTERM')
      replaced++
      await pause(random.below(ROLL_MS))
    }
  }
  return replaced
}

test('two versions serve one PostgreSQL', { timeout: TIMEOUT_MS }, async (context) => {
  const missing = [earlier, postgres].find((one) => typeof one === 'string')
  if (typeof missing === 'string' || typeof postgres === 'string') {
    reportSkip(ROLLING, String(missing))
    return context.skip(String(missing))
  }
  const seed = suiteSeed()
  const startedAt = performance.now()
  const objects = await objectsPlace(folder, seed)
  const place: FleetPlace = { postgres: postgres.url, schema: 'versions', objects }
  const random = seeded(seed)
  const versionAt = Array.from({ length: SERVERS }, () => 0)
  const versionOfServer = (at: number): Version => versionOf(versionAt[at] ?? 0)
  const fleet = await Fleet.start(
    {
      programOf: (at) => versionOfServer(at).programs.path('fleet-server'),
      jobOf: (at) => ({ ...place, options: versionOfServer(at).options }),
    },
    SERVERS,
  )
  onTestFinished(() => fleet.killAll())
  const clients = new Clients(fleet, { seed, ...TIMES })
  const { ledger, wrong } = clients

  const working = clients.run()
  const replaced = await roll(fleet, versionAt, random)
  clients.stop()
  await working
  await awaitNoOrphans(fleet, random, wrong, TIMES)
  await fleet.stop()
  wrong.push(...fleet.wrong, ...(await auditStore(() => openAgain(place), ledger)))
  wrong.push(...(await findLeaksOf(place, ledger)))

  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `${ROLLING}, ${ledger.acknowledged} acknowledged`
  report({ suite, seed, runs: replaced, seconds, violations: wrong.length })
  console.log(JSON.stringify({ clients: summaryOf(clients), notes: [...fleet.notes] }))
  expect(wrong).toEqual([])
  expect(ledger.acknowledged).toBeGreaterThan(SECONDS)
  await rm(folder, { recursive: true }) // A failed one is kept for inspection.
})
