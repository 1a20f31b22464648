// Long operations concurrent with background work, on two stores that share their ports, in the order that a scheduler
// gives their steps. Compactions, recompressions and garbage collections write neither a head nor a version, passing
// time ends a history, and a clock that is set ends nothing: no operation may see them. A reader sees the state before
// the race, and all or nothing of what a writer changes.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Scheduler } from 'fast-check'
import { MemoryLevel } from 'memory-level'
import type { Bytes } from '../../../src/base/bytes.js'
import {
  type ChangeEntry,
  isStoreError,
  memoryObjects,
  openLevelKv,
  openStore,
  restoreBackup,
  type Table,
} from '../../../src/index.js'
import type { KvStore } from '../../../src/ports.js'
import { type TestClock, testClock } from '../../conformance/test-clock.js'
import { damageOf } from '../../support/damage.js'
import { expectEqual, Mismatch, show } from '../model/operation.js'
import { type Begin, GRACE_MS, openPlaces } from './race.js'
import {
  bindWriter,
  byKey,
  cellsOf,
  type Group,
  type Past,
  type Row,
  STASH,
  STASHED,
  type Step,
  type Writer,
  type WriterPlace,
} from './race-writers.js'
import { type Turn, turnsOf } from './scheduled-ports.js'
import { TEAM } from './world.js'

export type Reader =
  | 'rows by id'
  | 'rows by key'
  | 'pages'
  | 'scan'
  | 'find'
  | 'sorted page'
  | 'search'
  | 'groups'
  | 'log'
  | 'count'
  | 'export'
  | 'past rows'
  | 'changes'
  | 'receipt'
  | 'preflight'
  | 'dry merge'
  | 'verify'
  | 'backup'

export const BACKGROUND = ['garbageCollection', 'time', 'clock jump'] as const

export type LongOperation = Readonly<{ at: 0 | 1; what: Reader | Writer; steps: readonly Step[] }>

export type BackgroundRace = Readonly<{
  operations: readonly LongOperation[]
  /** The background work of each store, one piece after the other, and the turns before each piece. */
  background: readonly Readonly<{ at: 0 | 1; what: (typeof BACKGROUND)[number]; after: number }>[]
  /** How many turns an operation waits for an object at most, while there is background work. */
  objectTurns: number
  cacheBytesMax: number
  hasKey: boolean
  /** Whether the last rows are in an open extent. */
  isOpen: boolean
  /** Whether everything old is deleted afterwards. */
  isMaintained: boolean
}>

const HISTORY_MS = 1_000

/** How far a clock is set forward, and later back. A clock that is right again ends nothing that it stamped meanwhile. */
const JUMP_MS = 5 * 3_600_000

/** Whether something belongs to an operation, not to the background. */
const operations = new AsyncLocalStorage<boolean>()

const READS_OF_OBJECTS: ReadonlySet<string> = new Set(['get object', 'stream'])

const OPTIONS = {
  inlineRowsMax: 3,
  segmentRowsMax: 4,
  maintenance: { compactionRecordsMin: 1 },
  historyRetentionMs: HISTORY_MS,
  overwrittenRowsTtlMs: HISTORY_MS,
}

/** Rows of group 0 do not change during the race. Each writer has its own group. */
const STILL = 0
export const WRITERS_MAX = STASHED - 1

/** @throws {Mismatch} if an operation saw background work, or if only a part of its changes is there */
export async function runBackgroundRace(
  race: BackgroundRace,
  scheduler: Scheduler,
  begin: Begin,
): Promise<void> {
  let turn: Turn = (_, step) => step()
  const time = testClock()
  let aheadMs = 0
  let left = 0
  const clock: TestClock = { ...time, now: () => time.now() + aheadMs }
  const wait = async (turns: number) => {
    for (let n = 0; n < turns; n++) await turn('wait', async () => undefined)
  }
  const ports = {
    clock,
    puts: { next: () => undefined },
    turn: (async (text, step) => {
      const isSlow = READS_OF_OBJECTS.has(text) && operations.getStore() === true
      for (let n = 0; isSlow && left > 0 && n < race.objectTurns; n++) await wait(1)
      return turn(text, step)
    }) as Turn,
  }
  const { cacheBytesMax } = race
  const { places } = await openPlaces(
    { options: { ...OPTIONS, cacheBytesMax }, checks: true },
    ports,
  )
  const placeAt = (at: number): WriterPlace => {
    const { store, team } = places[at] ?? places[0] ?? fail('There are two stores')
    return { store, team, table: team.table(past.tableId), past }
  }
  const past = await makePast(places[0]?.team ?? fail('There are two stores'), clock, race)
  const groups = groupsOf(past.rows)
  const baseline = new Map<string, unknown>()
  const running: Readonly<{ what: string; run: () => Promise<Ran> }>[] = []
  const writers = race.operations.filter(({ what }) => !(what in READERS))
  const overwrites = writers[0]?.what === 'overwrite' // Its rows are those of before: others would change them.
  for (const [i, { what, at, steps }] of race.operations.entries()) {
    const read = READERS[what as Reader] as Read | undefined
    if (read !== undefined) {
      baseline.set(what, await read(placeAt(at)))
      running.push({ what, run: async () => ({ what, seen: await unlessGone(read(placeAt(at))) }) })
      continue
    }
    const others = what === 'overwrite' ? 'update' : (what as Writer)
    const writer = overwrites ? 'overwrite' : others
    const bound = bindWriter(writer, i + 1, steps, groups)
    running.push({ what: bound.what, run: () => bound.run(placeAt(at)).then(() => ({ what })) })
  }
  turn = turnsOf(scheduler)
  const all = Promise.all(
    running.map(async ({ what, run }) => operations.run(true, run).finally(begin(what))),
  )
  left = race.background.length
  const background = places.map(async ({ store }, place) => {
    for (const { at, what, after } of race.background) {
      if (at !== place) continue
      await wait(after)
      const end = begin(what)
      if (what === 'time') clock.pass(HISTORY_MS)
      else if (what === 'clock jump') aheadMs = JUMP_MS - aheadMs
      else await store.maintain()
      end()
      left--
    }
  })
  const ran = await scheduler.waitFor(all)
  await scheduler.waitFor(Promise.all(background))
  await scheduler.waitFor(endOfJobs(places.map(({ store }) => store)))
  turn = (_, step) => step()
  for (const { what, seen } of ran) await checkSeen(what, seen, baseline.get(what), groups)
  await checkEnd(placeAt(1), groups)
  if (!race.isMaintained)
    return expectEqual('what is damaged', await damageOf(placeAt(0).store), [])
  for (let runs = 0; runs < 3; runs++) {
    clock.pass(GRACE_MS)
    for (const { store } of places) await store.maintain()
  }
  await checkEnd(placeAt(0), groups)
  const { findings } = await placeAt(0).store.verify({ full: true })
  expectEqual('the findings after garbage collections', findings, [])
}

type Ran = Readonly<{ what: Reader | Writer; seen?: unknown }>

/** Records over a segment, a closed extent of records, and perhaps an open one; keys 0 to 5 were removed. */
async function makePast(
  team: WriterPlace['team'],
  clock: TestClock,
  { hasKey, isOpen }: BackgroundRace,
): Promise<Past> {
  const still = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => ({ k, g: STILL, v: 'old' }))
  const others = [1, 2, 3, 4, 5, 6].flatMap((g) =>
    [0, 1].map((i) => ({ k: 100 * g + i, g, v: 'old' })),
  )
  const key = hasKey ? { key: ['k'] } : {}
  const made = await team.createTable({
    name: 'x',
    rows: [...still, ...others],
    receipt: true,
    ...key,
  })
  const table = team.table(made.tableId)
  const versions = [made.version]
  const note = ({ version }: Readonly<{ version: number }>) => versions.push(version)
  for (let k = 0; k < 5; k++)
    note(await table.updateRow(made.rowIds.get(k), { k: 50 + k, v: 'new' }))
  note(await table.deleteRow(made.rowIds.get(5)))
  clock.pass(HISTORY_MS / 2)
  note(await table.addRows([60, 61].map((k) => ({ k, g: STILL, v: 'record' }))))
  note(await table.addRows([70, 71, 72, 73, 74].map((k) => ({ k, g: STILL, v: 'segment' }))))
  if (isOpen) note(await table.addRows([{ k: 80, g: STILL, v: 'open' }]))
  await team.stash('s').put('0', STASH)
  const rows: Past['rows'][number][] = []
  for await (const row of table.scan()) rows.push(row as Past['rows'][number])
  return { tableId: made.tableId, hasKey, rows, versions }
}

function groupsOf(rows: Past['rows']): Map<number, Group> {
  const groups = new Map<number, Group>()
  for (let g = STILL; g <= STASHED; g++) {
    const before = rows.filter((row) => row.g === g).map(cellsOf)
    groups.set(g, {
      before,
      after: before,
      ids: rows.filter((row) => row.g === g).map(({ $rowID }) => $rowID),
    })
  }
  return groups
}

type Read = (place: WriterPlace) => Promise<unknown>

/** What a reader has seen of all rows. */
class Rows {
  readonly rows: readonly Row[]
  /** Whether all rows belong to one moment; otherwise only each row does. */
  readonly isOfOneMoment: boolean

  constructor(rows: readonly Row[], isOfOneMoment: boolean) {
    this.rows = rows
    this.isOfOneMoment = isOfOneMoment
  }
}

const stillIds = ({ past }: WriterPlace): string[] => {
  return past.rows.filter(({ g }) => g === STILL).map(({ $rowID }) => $rowID)
}

const READERS: Readonly<Record<Reader, Read>> = {
  'rows by id': async (place) => {
    const found = await place.table.getMany(stillIds(place))
    return found.map((one) => one?.row)
  },
  async 'rows by key'({ table, past: { hasKey, rows } }) {
    if (!hasKey) return null
    const keys = [0, 4, ...rows.filter(({ g }) => g === STILL).map(({ k }) => k)]
    return Promise.all(keys.map(async (k) => (await table.get({ k }))?.row))
  },
  async pages({ table }) {
    const rows: Row[] = []
    for (let continuation: string | undefined; ; ) {
      const page = await table.page({ limit: 5, ...(continuation && { continuation }) })
      rows.push(...page.rows.map(cellsOf))
      continuation = page.continuation
      if (continuation === undefined) return new Rows(rows, false)
    }
  },
  scan: async ({ table }) => new Rows(await rowsOf(table), false),
  async find({ table }) {
    const rows: Row[] = []
    for await (const row of table.find({ v: { ne: 'none' } })) rows.push(cellsOf(row))
    return new Rows(rows, false)
  },
  async 'sorted page'({ table }) {
    const orderBy = [{ column: 'k', descending: true }]
    const { rows } = await table.page({ orderBy, total: true })
    const found = rows.map(cellsOf)
    expectEqual('the order of a page', found, found.toSorted(byKey).reverse())
    return new Rows(found, true)
  },
  async search({ table }) {
    const rows: Row[] = []
    for await (const row of table.scan({ search: 'E' })) rows.push(cellsOf(row))
    return rows.filter(({ g }) => g === STILL)
  },
  groups: ({ table }) =>
    table.groups({ by: ['v'], sum: ['k'], least: ['k'], greatest: ['k'], where: { g: STILL } }),
  async log({ table, past: { versions } }) {
    const [since = 0] = versions
    return logOf(table, since, versions[versions.length - 1])
  },
  count: ({ table }) => table.count({ g: STILL, v: { ne: 'none' } }),
  async export({ table }) {
    const bytes: Bytes[] = []
    for await (const piece of table.toNDJSON()) bytes.push(piece)
    const lines = Buffer.concat(bytes).toString().split('\n').filter(Boolean)
    return new Rows(
      lines.map((line) => cellsOf(JSON.parse(line))),
      false,
    )
  },
  async 'past rows'({ table, past: { versions, rows } }) {
    const seen: unknown[] = []
    for (const version of versions) {
      const then = table.at(version)
      const found: Row[] = []
      for await (const row of then.scan()) found.push(cellsOf(row))
      seen.push(found, await then.get(rows[1]?.$rowID ?? ''))
    }
    return seen
  },
  async changes({ table, past: { versions } }) {
    const seen: unknown[] = []
    const [since = 0] = versions
    for await (const change of table.changes({ since })) {
      const rows: Row[] = []
      for await (const row of change.rows()) rows.push(cellsOf(row))
      seen.push([change.version, [...change.changed], [...change.removed], rows])
      if (change.version === versions[versions.length - 1]) break // The others belong to the race.
    }
    return seen
  },
  receipt: async ({ table, past }) => (await table.receipt(past.versions[0] ?? 0)) ?? GONE,
  async preflight({ table }) {
    const rows = [{ k: 9_000, g: 9, v: 'x' }]
    const { version: _, ...found } = await table.preflight({ rows, operation: 'add' })
    return found
  },
  async 'dry merge'({ table, past }) {
    const rows = past.rows.filter(({ g }) => g === STILL).map(cellsOf)
    const merged = await table.merge({ rows, key: ['k'], dryRun: true })
    return [merged.added, merged.changed, merged.unchanged]
  },
  verify: ({ store }) => damageOf(store),
  async backup({ store, past }) {
    const pieces: Bytes[] = []
    for await (const piece of store.backup()) pieces.push(piece)
    return async () => new Rows(await rowsOfBackup(pieces, past.tableId), true)
  },
}

async function rowsOfBackup(pieces: readonly Bytes[], tableId: string): Promise<Row[]> {
  const level = new MemoryLevel<Bytes, Bytes>({ keyEncoding: 'view', valueEncoding: 'view' })
  const source = (async function* () {
    yield* pieces
  })()
  const objects = memoryObjects()
  let kv: KvStore | undefined
  await restoreBackup(source, {
    async open(versionBaseMin) {
      kv = await openLevelKv(level, { versionBaseMin })
      return { kv, objects }
    },
  })
  const quiet = {
    maintenance: {
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: 0,
      recompressionIntervalMs: 0,
      jobIntervalMs: 100,
    },
  }
  const clock = testClock()
  const store = await openStore({ ...quiet, clock, kv: kv ?? fail('It is open'), objects })
  try {
    expectEqual('the damage of a backup', await damageOf(store), [])
    const team = store.team(TEAM)
    await store.maintain() // These ports have no `readAll`: the list of open jobs may lack the latest.
    for (const { id } of await team.jobs()) {
      const { status } = await team.job(id).wait()
      expectEqual('the end of a job that a backup has', status, 'succeeded')
    }
    return await rowsOf(store.team(TEAM).table(tableId))
  } finally {
    await store.close()
  }
}

/** The entries of the log after a version, each once, up to another one: later ones belong to the race. */
async function logOf(table: Table, since: number, end = Infinity): Promise<readonly ChangeEntry[]> {
  const found: ChangeEntry[] = []
  for (let last = since; ; ) {
    const { version, entries } = await table.log({ since: last, limit: 3 })
    for (const entry of entries) {
      expectEqual('the next version of the log', entry.version, ++last)
      if (last <= end) found.push(entry)
    }
    if (last >= Math.min(version, end)) return found
  }
}

async function rowsOf(table: Pick<Table, 'scan'>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const row of table.scan()) rows.push(cellsOf(row))
  return rows
}

const GONE = 'it is not kept any more'

async function unlessGone(reading: Promise<unknown>): Promise<unknown> {
  try {
    return await reading
  } catch (failure) {
    // Overwritten rows are kept for a while too.
    const isGone =
      isStoreError(failure) && /^(HISTORY_GONE|CONTINUATION_INVALID)$/.test(failure.code)
    if (isGone) return GONE
    throw failure
  }
}

type Groups = ReadonlyMap<number, Group>

async function checkSeen(
  what: string,
  seen: unknown,
  before: unknown,
  groups: Groups,
): Promise<void> {
  if (seen === GONE || before === undefined) return
  const found = typeof seen === 'function' ? await seen() : seen
  if (!(found instanceof Rows)) return expectEqual(what, found, before)
  for (const [g, { before, after }] of groups) {
    const rows = found.rows.filter((row) => row.g === g)
    const states = [before, after].map((state) => show(state.toSorted(byKey)))
    const fits = found.isOfOneMoment
      ? states.includes(show(rows.toSorted(byKey)))
      : areEachOfOne(rows, before, after)
    if (!fits) throw new Mismatch(`${what} saw ${show(rows)}, not ${states.join(' or ')}`)
  }
}

function areEachOfOne(
  rows: readonly Row[],
  before: readonly Row[],
  after: readonly Row[],
): boolean {
  const [was, is] = [before, after].map((state) => new Set(state.map(show)))
  const isKnown = rows.every((row) => was?.has(show(row)) || is?.has(show(row)))
  const isOnce = new Set(rows.map(({ k }) => k)).size === rows.length
  const seen = new Set(rows.map(show))
  const lacks = before.some((row) => is?.has(show(row)) && !seen.has(show(row)))
  return isKnown && isOnce && !lacks
}

async function checkEnd({ table, past }: WriterPlace, groups: Groups): Promise<void> {
  const rows = await rowsOf(table)
  const log = await unlessGone(logOf(table, 0))
  if (log !== GONE) {
    const counts = (log as readonly ChangeEntry[]).map((entry) => entry.counts)
    const kept = counts.reduce((sum, { added, removed }) => sum + added - removed, 0)
    expectEqual('the rows that the log counts', kept, rows.length)
  }
  for (const [g, { after }] of groups) {
    const found = rows.filter((row) => row.g === g)
    expectEqual(`the rows ${g} in the end`, found.toSorted(byKey), after.toSorted(byKey))
  }
  if (!past.hasKey) return
  for (const row of rows) {
    expectEqual(
      `the row ${row.k} by its key`,
      cellsOf((await table.get({ k: row.k }))?.row ?? {}),
      row,
    )
  }
}

async function endOfJobs(stores: readonly WriterPlace['store'][]): Promise<void> {
  while (stores.some((store) => store.activity().jobsRunning > 0)) {
    await new Promise<void>((done) => setImmediate(done))
  }
}

function fail(problem: string): never {
  throw new Error(problem)
}
