// Deletions of everything, on one of two stores or on both, concurrent with operations on existing and new things, in
// the order that a scheduler gives their steps. Afterwards the existing things are gone, and new ones are complete or
// gone.
import type { Scheduler } from 'fast-check'
import { isStoreError, type StoredFile, type Team } from '../../../src/index.js'
import { type TestClock, testClock } from '../../conformance/test-clock.js'
import { damageOf } from '../../support/damage.js'
import { expectEqual, Mismatch, show } from '../model/operation.js'
import { leftOpenJobs, leftRecords } from '../model/wiped-team.js'
import {
  createTable,
  type OperationPlace,
  putChunk,
  receiveAndComplete,
  type SimOperation,
} from './operations.js'
import { type ModelTable, Oracle, type Outcome } from './oracle.js'
import {
  bind,
  GRACE_MS,
  IMPORTED,
  NO_DISK,
  openPlaces,
  outcomeOf,
  type Places,
  type Race,
  type RaceSpec,
  settle,
} from './race.js'
import { type Turn, turnsOf } from './scheduled-ports.js'
import { OTHER_TEAM, TEAM } from './world.js'

export type NewThing = Readonly<{
  at: 0 | 1
  /** Turns before it is made. */
  after: number
  makes: 'table' | 'chunk' | 'file' | 'upload' | 'job'
}>

export type DeletionRace = Readonly<{
  /** Operations on the existing table and stash. */
  specs: readonly RaceSpec[]
  things: readonly NewThing[]
  /** The stores on which everything is deleted. */
  deletes: readonly (0 | 1)[]
  /** Turns before the deletion. */
  deletesAfter: number
  /** Whether only a job that imports a file exists before: then there are no operations. */
  onlyImports: boolean
  options: Race['options']
}>

/** A stash that no operation uses, to which chunks are put. */
const FILLED = 'filled'
const ROWS = [{ n: 1 }, { n: 2 }]
const ABOUT = { fileName: 'a.txt', contentType: 'text/plain' }

/** @throws {Mismatch} if an old thing remains, a new thing is incomplete, or another team was affected */
export async function runDeletionRace(race: DeletionRace, scheduler: Scheduler): Promise<void> {
  const oracle = new Oracle()
  let turn: Turn = (_, step) => step()
  const clock = testClock()
  const puts = { next: () => undefined }
  const ports = { clock, puts, turn: ((text, step) => turn(text, step)) as Turn }
  const opened = await openPlaces({ ...race, checks: true }, ports)
  const placeAt = (at: number) => opened.places[at] as OperationPlace
  await makeBeside(placeAt(0).store.team(OTHER_TEAM))
  const old = await (race.onlyImports ? makeImport(opened) : makeOld(opened, oracle))
  const { table } = old
  const operations = table === null ? [] : race.specs.map((spec) => bind(spec, oracle, table))
  const deletions = race.deletes.map(() => deletionOf(table))
  const made = race.things.map((thing, i) => makeNew(thing, i))
  turn = turnsOf(scheduler)
  const running = [
    ...operations.map((one, i) => outcomeOf(one, placeAt(race.specs[i]?.at ?? 0))),
    ...deletions.map(async (one, i) => {
      for (let n = 0; n < race.deletesAfter; n++) await turn('wait', async () => undefined)
      return outcomeOf(one, placeAt(race.deletes[i] ?? 0))
    }),
  ]
  const making = made.map(async (one, i) => {
    const { at = 0, after = 0 } = race.things[i] ?? {}
    for (let waited = 0; waited < after; waited++) await turn('wait', async () => undefined)
    return valueUnlessGone(one.make(placeAt(at)))
  })
  const outcomes = await scheduler.waitFor(Promise.all(running))
  const values = await scheduler.waitFor(Promise.all(making))
  await scheduler.waitFor(endOfJobs(opened))
  turn = (_, step) => step()

  checkDone(outcomes.slice(operations.length))
  if (table !== null) settle(table, [...operations, ...deletions], outcomes)
  for (const { team } of opened.places) {
    await old.checkGone(team)
    for (const [i, one] of made.entries()) {
      if (values[i] !== null) await one.checkWhole(team, values[i])
    }
  }
  await checkUndamaged(opened)
  await checkEnd(opened, clock)
}

function checkDone(outcomes: readonly Outcome[]): void {
  const failed = outcomes.filter(({ kind }) => kind !== 'done')
  expectEqual('the deletions that have failed', failed, [])
}

/** The deletion, as an operation on the table. */
function deletionOf(table: ModelTable | null): SimOperation {
  return {
    text: 'delete everything',
    table,
    run: ({ team }) => team.deleteAll(),
    apply: (_, outcome) => (outcome.kind === 'done' ? [null] : []),
  }
}

type Old = Readonly<{ table: ModelTable | null; checkGone(team: Team): Promise<void> }>

/** A job whose rows are in no stash, because they are still being read. */
async function makeImport({ places }: Places): Promise<Old> {
  const job = await places[0]?.team.startJob({ import: { fromUrl: IMPORTED, name: 'old' } })
  return {
    table: null,
    async checkGone(team): Promise<void> {
      const tables = await team.tableNames()
      const left = tables.filter(({ name }) => name === 'old')
      expectEqual('the tables of before', left, [])
      const code = await codeOf(team.job(job?.id ?? '').status())
      expectEqual('the job of before', code, 'JOB_NOT_FOUND')
    },
  }
}

async function makeOld({ places }: Places, oracle: Oracle): Promise<Old> {
  const [place] = places
  if (place === undefined) throw new Error('There are two stores')
  const { team } = place
  const stash = oracle.stash('s')
  const rows = oracle.newRows(2, null)
  await putChunk(stash, '0', rows, 'json').run(place)
  stash.chunks.set('0', [rows, null])
  await team.stash(FILLED).put('0', ROWS)
  const create = createTable(NO_DISK, oracle, { rows: oracle.newRows(3, null), form: 'objects' })
  const { table } = create
  if (table === null) throw new Error('A table is created')
  settle(table, [create], [await outcomeOf(create, place)])
  const file = await team.files.put('content', ABOUT)
  const { uploadId } = await team.files.createUpload(ABOUT)
  const repeatable = { name: 'old', rows: ROWS, idempotencyKey: 'old' }
  await team.createTable(repeatable)
  // It works concurrently with the others.
  const job = await team.startJob({ create: { name: 'old, by a job', rows: ROWS } })
  return {
    table,
    async checkGone(now: Team): Promise<void> {
      const names = (await now.tableNames()).map(({ name }) => name)
      const left = names.filter((name) => name === table.name || name.startsWith('old'))
      expectEqual('the tables of before', left, [])
      expectEqual('the file of before', await now.files.get(file.id), null)
      expectEqual(
        'the upload of before',
        await codeOf(now.files.completeUpload(uploadId)),
        'UPLOAD_NOT_FOUND',
      )
      expectEqual('the job of before', await codeOf(now.job(job.id).status()), 'JOB_NOT_FOUND')
      const serials = (await valueUnlessGone(now.stash(FILLED).chunks())) as
        | readonly { serial: string }[]
        | null
      if (serials?.some(({ serial }) => serial === '0'))
        throw new Mismatch('A chunk is there still')
    },
  }
}

type New = Readonly<{
  make(place: OperationPlace): Promise<unknown>
  /** @param value - The answer to its creation. @throws {Mismatch} if only a part of it exists */
  checkWhole(team: Team, value: unknown): Promise<unknown>
}>

function makeNew({ makes }: NewThing, i: number): New {
  const name = `new ${i}`
  switch (makes) {
    case 'table':
      return newTable({ name, rows: ROWS, idempotencyKey: name })
    case 'chunk':
      return {
        make: ({ team }) => team.stash(FILLED).put(String(1 + i), ROWS),
        checkWhole: async () => undefined, // The verification checks its rows.
      }
    case 'file':
      return { make: ({ team }) => team.files.put(name, ABOUT), checkWhole: isWholeFile }
    case 'upload':
      return newUpload(name)
    case 'job':
      return {
        make: async ({ team }) => (await team.startJob({ create: { name, rows: ROWS } })).id,
        async checkWhole(team, value) {
          const found = await valueUnlessGone(team.job(value as string).status())
          if (found === null) return
          const { status, tableId } = found as { status: string; tableId: string }
          if (status === 'succeeded') expectEqual('its rows', await rowsOf(team, tableId), ROWS)
        },
      }
  }
}

async function isWholeFile(team: Team, value: unknown): Promise<boolean> {
  const { id, bytes } = value as StoredFile
  const file = await team.files.get(id)
  if (file !== null) expectEqual('the length of a new file', file.bytes, bytes)
  return file !== null
}

/** While its file exists, so does the upload, and its completion can be repeated. */
function newUpload(text: string): New {
  let uploadId = ''
  return {
    async make({ team, store }) {
      const ticket = await team.files.createUpload(ABOUT)
      uploadId = ticket.uploadId
      return receiveAndComplete(store, team, ticket, text)
    },
    async checkWhole(team, value) {
      if (!(await isWholeFile(team, value))) return
      const { id } = await team.files.completeUpload(uploadId)
      expectEqual('the file of a repeated completion', id, (value as StoredFile).id)
    },
  }
}

/** A table with an idempotency key: while it exists, a repeat returns it. */
function newTable(
  request: Readonly<{ name: string; rows: typeof ROWS; idempotencyKey: string }>,
): New {
  return {
    make: ({ team }) => team.createTable(request),
    async checkWhole(team, value) {
      const { tableId } = value as { tableId: string }
      const isThere = (await team.tableNames()).some(({ id }) => id === tableId)
      if (!isThere) return
      expectEqual('the rows of a new table', await rowsOf(team, tableId), ROWS)
      const repeated = await team.createTable(request)
      expectEqual('the table of a repeat', repeated.tableId, tableId)
    },
  }
}

async function rowsOf(team: Team, tableId: string): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const { $rowID: _, ...cells } of team.table(tableId).scan()) rows.push(cells)
  return rows
}

/** Failures of operations that a deletion may cause. */
const REFUSALS: ReadonlySet<string> = new Set([
  'TABLE_NOT_FOUND',
  'STASH_NOT_FOUND',
  'UPLOAD_NOT_FOUND',
  ...['UPLOAD_EXPIRED', 'UPLOAD_SIGNATURE_INVALID'], // Nothing is left of the location's upload.
  'JOB_NOT_FOUND',
])

/** null: it was deleted meanwhile. */
async function valueUnlessGone(running: Promise<unknown>): Promise<unknown> {
  try {
    return await running
  } catch (failure) {
    if (isStoreError(failure) && REFUSALS.has(failure.code)) return null
    throw new Mismatch(`beside a deletion of everything: ${show(failure)}`)
  }
}

async function codeOf(running: Promise<unknown>): Promise<unknown> {
  try {
    return await running
  } catch (failure) {
    if (isStoreError(failure)) return failure.code
    throw failure
  }
}

async function endOfJobs({ places }: Places): Promise<void> {
  while (places.some(({ store }) => store.activity().jobsRunning > 0)) {
    await new Promise<void>((done) => setImmediate(done))
  }
}

async function checkUndamaged({ places }: Places): Promise<void> {
  const [place] = places
  if (place !== undefined) expectEqual('what is damaged', await damageOf(place.store), [])
}

async function makeBeside(team: Team): Promise<void> {
  await team.createTable({ name: 'beside', rows: ROWS })
  await team.stash('s').put('0', ROWS)
  await team.files.put('content', ABOUT)
}

/**
 * After another deletion, everything of this team is gone, and nothing of another; after deleting that too, no object
 * is left.
 */
async function checkEnd({ places, kv, objects }: Places, clock: TestClock): Promise<void> {
  const [place] = places
  if (place === undefined) return
  const { store, team } = place
  await team.deleteAll()
  expectEqual('what is left', await leftRecords(kv, TEAM), [])
  expectEqual('the jobs in the list of open ones', await leftOpenJobs(kv, TEAM), 0)
  const other = store.team(OTHER_TEAM)
  const [beside] = await other.tables()
  expectEqual('the rows of another team', await rowsOf(other, beside?.id ?? ''), ROWS)
  expectEqual('its stash', (await other.stashes()).length, 1)
  expectEqual('its files', (await other.files.list()).files.length, 1)
  await checkUndamaged({ places, kv, objects })
  await other.deleteAll()
  expectEqual('what is left of it', await leftRecords(kv, OTHER_TEAM), [])
  // Each store reports which objects it no longer uses.
  for (let runs = 0; runs < 3; runs++) {
    clock.pass(GRACE_MS)
    for (const one of places) await one.store.maintain()
  }
  expectEqual('the objects', await objects.list(''), [])
}
