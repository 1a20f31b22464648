// A process of a history: it works on a store, or as a client of a server, and prints its calls and their
// outcomes:
//
//     node history-writer.js '{"place": …}'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { startServer } from '../../../adapters/http/start-server.js'
import { openDirectory } from '../../../adapters/open-directory.js'
import { openPostgresKv } from '../../../adapters/postgres/postgres-kv.js'
import { createClient } from '../../../src/client/client.js'
import { ClientError } from '../../../src/client/client-error.js'
import { isStoreError, openStore, type Store, type StoreOptions } from '../../../src/index.js'
import type { ObjectStore } from '../../../src/ports.js'
import { seeded } from '../../support/seeded.js'
import { say as sayLine } from '../crash/say.js'
import { type ObjectsPlace, openObjects } from '../fleet/fleet-job.js'
import { steppedObjects } from '../fleet/steps.js'
import { CLIENT_PLANS } from './client-operations.js'
import { followClient, followTable } from './follow.js'
import {
  BACKGROUND,
  type HistoryJob,
  type HistoryLine,
  nowMicros,
  type OperationName,
  type RoundTables,
  SERVER_KEY,
  TEAM,
} from './history-job.js'
import { GivenUp, NotKnown, PLANS, readEverything } from './library-operations.js'
import { restoreStore } from './restore-store.js'
import { allTables, createTables } from './round-tables.js'
import { Seen } from './seen.js'

const job = JSON.parse(process.argv[2] ?? '') as HistoryJob
const say = (line: HistoryLine): void => sayLine(line)
const random = seeded(job.seed)

let isEnding = false
process.once('SIGTERM', () => {
  isEnding = true
})

/**
 * Failures that an operation may have because of concurrent ones or of storage. Each either changes nothing or says
 * that the outcome is unknown.
 */
const EXPECTED: ReadonlySet<string> = new Set([
  ...['TRANSACTION_CONFLICT', 'PRECONDITION_FAILED', 'STORAGE_UNAVAILABLE', 'STORE_CLOSED'],
  ...['KEY_NOT_UNIQUE', 'RATE_LIMITED', 'HISTORY_GONE'],
])

const CLIENT_EXPECTED: ReadonlySet<number> = new Set([0, 412, 429, 503])

/** @returns the outcome of a failed operation */
function outcomeOf(failure: unknown, what: string): 'unchanged' | 'unknown' {
  if (failure instanceof GivenUp) return 'unchanged'
  if (failure instanceof NotKnown) {
    if (failure.cause !== undefined) outcomeOf(failure.cause, what)
    return 'unknown'
  }
  if (isStoreError(failure)) {
    const isClaim = what !== 'claim' && failure.code === 'KEY_NOT_UNIQUE'
    if (!EXPECTED.has(failure.code) || isClaim) tellWrong(what, failure)
    return failure.outcome ?? 'unchanged'
  }
  if (failure instanceof ClientError) {
    const isClaim = what === 'claim' && failure.type === 'key_not_unique'
    if (!CLIENT_EXPECTED.has(failure.status) && !isClaim && failure.status >= 300)
      tellWrong(what, failure)
    if (failure.status === 0) return isUnsent(failure) ? 'unchanged' : 'unknown'
    return failure.status < 300 || failure.message.includes('outcome unknown')
      ? 'unknown'
      : 'unchanged'
  }
  tellWrong(what, failure)
  return 'unknown'
}

function isUnsent(failure: ClientError): boolean {
  for (let cause: unknown = failure; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === 'ECONNREFUSED') return true
  }
  return false
}

function tellWrong(what: string, failure: unknown): void {
  const code = isStoreError(failure) ? failure.code : ''
  const text = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
  say({ say: 'wrong', text: `${what}: ${code} ${text}` })
}

let operations = 0

/** Operations that have not ended. */
const underWay = new Set<string>()

process.once('beforeExit', () => {
  tellWrong('the process', new Error(`Nothing will end ${[...underWay].join(', ')}`))
})

type Planned = (seen: Seen) => () => Promise<void>

/** @returns whether it succeeded */
async function runOne(what: OperationName | 'end', plan: Planned): Promise<boolean> {
  const seen = new Seen(`${job.name}-${operations++}`)
  const run = plan(seen)
  underWay.add(`${seen.id} ${what}`)
  say({ say: 'call', id: seen.id, what, at: nowMicros(), writes: seen.planned() })
  let outcome: 'done' | 'unchanged' | 'unknown' = 'done'
  try {
    await run()
  } catch (failure) {
    outcome = outcomeOf(failure, what)
  }
  const at = nowMicros()
  underWay.delete(`${seen.id} ${what}`)
  const { id, reads, pages, doubles, sum } = seen
  const told =
    outcome === 'done'
      ? { reads, pages, doubles, ...(sum !== undefined && { sum }) }
      : { reads: [] }
  say({ say: 'end', id, at, outcome, writes: seen.writes(), ...told })
  return outcome === 'done'
}

/** After a failure, callers leave the processor to what has to start again. */
const FAILED_MS = 50

/** Callers begin one after another, and all work until the process is told to end. */
async function workWith(planOf: (what: OperationName) => Planned | undefined): Promise<void> {
  const names = job.swarm.operations.filter((what) => planOf(what) !== undefined)
  const usable = names.length > 0 ? names : (['read row', 'update'] as const)
  const callers = Array.from({ length: job.callers }, async () => {
    while (!isEnding) {
      const what = random.pick(usable)
      const plan = planOf(what)
      const isDone = plan === undefined || (await runOne(what, plan))
      if (!isDone) await pause(random.below(FAILED_MS))
      else if (random.once(20)) await pause(random.below(5))
    }
  })
  await Promise.all(callers)
}

const HOUR_MS = 3_600_000
/** On a shared store, the shortest are not noticed (`clockSkewMs`). */
const JUMPS_MS = [0, 1 / 30, 1 / 3, 5].flatMap((hours) => [-hours * HOUR_MS, hours * HOUR_MS])
const JUMP_EVERY_MS = 400

let aheadMs = 0
const clock = { now: () => Date.now() + aheadMs, monotonicMs: () => performance.now() }

async function jumpOften(): Promise<void> {
  while (!isEnding) {
    await pause(random.below(JUMP_EVERY_MS))
    const from = nowMicros()
    aheadMs = random.pick(JUMPS_MS)
    await pause(random.below(JUMP_EVERY_MS))
    if (aheadMs !== 0) say({ say: 'span', name: 'clock jump', from, to: nowMicros() })
  }
}

function storeOptions(): StoreOptions {
  return {
    ...job.swarm.options,
    clock,
    onBackgroundFailure: (failure, task) => {
      const code = isStoreError(failure) ? failure.code : ''
      if (EXPECTED.has(code)) say({ say: 'note', text: `${task}: ${code}` })
      else tellWrong(task, failure)
    },
    onEvent(event) {
      if (!(BACKGROUND as readonly string[]).includes(event.name)) return
      const to = nowMicros()
      say({ say: 'span', name: event.name, from: Math.round(to - event.ms * 1_000), to })
    },
  }
}

const READS: ReadonlySet<string> = new Set(['before a get', 'before a stream'])
const SLOW_EVERY = 60
const SLOW_MS_MAX = 1_500

async function readSlowly(): Promise<void> {
  const from = nowMicros()
  await pause(random.below(SLOW_MS_MAX))
  say({ say: 'span', name: 'slow read', from, to: nowMicros() })
}

async function openObjectsOf(place: ObjectsPlace): Promise<ObjectStore> {
  const objects = await openObjects(place)
  if (!job.swarm.faults.includes('slow read')) return objects
  const wait = (at: string) => (READS.has(at) && random.once(SLOW_EVERY) ? readSlowly() : undefined)
  return steppedObjects(objects, { pass: () => undefined, wait })
}

const openIn = (directory: string): Promise<Store> => {
  return openDirectory(directory, { ...storeOptions(), waitMs: 60_000 })
}

async function open(): Promise<Store> {
  const { place } = job
  if ('directory' in place) return openIn(place.directory)
  if ('url' in place) throw new Error('A client opens no store')
  const kv = await openPostgresKv({
    urls: [...place.urls],
    schema: place.schema,
    viewConnectionsMax: 6,
    commitConnectionsMax: 3,
    onWarning: () => undefined,
  })
  return openStore({ ...storeOptions(), kv, objects: await openObjectsOf(place.objects) })
}

async function workOnStore(): Promise<void> {
  let store = await open()
  const { tables, does, restoreTo } = job
  if (tables === null) {
    say({ say: 'tables', tables: await createTables(store.team(TEAM), job.swarm.keyed) })
  } else if (does === 'work') await workOnTables(store, tables)
  else {
    await endWith(store, tables)
    if (restoreTo !== null)
      store = await restoreStore(store, restoreTo, { tables, open: openIn, tellWrong })
    for (const [, id] of allTables(tables)) await store.team(TEAM).table(id).delete()
  }
  await store.close()
}

/** Reads everything, and the feeds from their beginnings. */
async function endWith(store: Store, tables: RoundTables): Promise<void> {
  const team = store.team(TEAM)
  for (const { id } of (await team.jobs()).filter(({ status }) => status === 'running')) {
    const { status } = await team.job(id).wait()
    if (status === 'running') tellWrong('a job', new Error(`${id} does not end`))
  }
  await runOne('end', (seen) =>
    readEverything({ team, tables, keyed: job.swarm.keyed }, seen, random),
  )
  const versions: Record<string, number> = {}
  for (const [name, id] of allTables(tables)) {
    const table = team.table(id)
    versions[name] = await table.version()
    const since = tables.first[name]?.version ?? 1
    await followTable(table, { name, since, signal: undefined, say, tellWrong })
  }
  say({ say: 'last', versions })
}

async function workOnTables(store: Store, tables: RoundTables): Promise<void> {
  const team = store.team(TEAM)
  const place = { team, tables, keyed: job.swarm.keyed }
  const { port, since } = job
  const keys = [{ key: SERVER_KEY, teamId: TEAM }]
  const server = port === null ? undefined : await startServer(store, { keys, port })
  say({ say: 'open' })
  const ending = new AbortController()
  const following = Object.entries(since ?? {}).map(async ([name, version]) => {
    const [, id = ''] = allTables(tables).find(([known]) => known === name) ?? []
    await followTable(team.table(id), {
      name,
      since: version,
      signal: ending.signal,
      say,
      tellWrong,
    })
  })
  const jumping = job.swarm.faults.includes('clock jump') ? jumpOften() : undefined
  await workWith((what) => (seen) => PLANS[what](place, seen, random))
  ending.abort()
  await Promise.all([jumping, ...following])
  await server?.close()
}

async function workAsClient(url: string, tables: RoundTables): Promise<void> {
  const client = createClient({ url, key: SERVER_KEY, triesMax: 1 })
  const place = { client, tables, keyed: job.swarm.keyed }
  say({ say: 'open' })
  const ending = new AbortController()
  const following = Object.entries(job.since ?? {}).map(([name, version]) => {
    const [, id = ''] = allTables(tables).find(([known]) => known === name) ?? []
    const form = random.once(3) ? 'changes' : 'watch'
    return followClient(client.table(id), {
      form,
      name,
      since: version,
      signal: ending.signal,
      say,
      tellWrong,
    })
  })
  await workWith((what) => {
    const plan = (CLIENT_PLANS as Partial<Record<OperationName, (typeof CLIENT_PLANS)['add']>>)[
      what
    ]
    return plan && ((seen) => plan(place, seen, random))
  })
  ending.abort()
  await Promise.all(following)
}

try {
  if ('url' in job.place && job.tables !== null) await workAsClient(job.place.url, job.tables)
  else await workOnStore()
  process.exit(0)
} catch (failure) {
  tellWrong('the process', failure)
  process.exit(1)
}
