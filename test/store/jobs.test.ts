// Goal: a job has its effect once, whatever engines die or are considered dead meanwhile, and reports its progress.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDirectoryPorts } from '../../adapters/directory/directory.js'
import { openDirectory } from '../../adapters/node.js'
import type { JobsOptions } from '../../src/engine/types/job-types.js'
import { decodeLease, encodeLease } from '../../src/format/job-records.js'
import {
  CHUNKS_RANGE,
  JOB_PART,
  JOBS_RANGE,
  jobLeaseKey,
  KEY_SPACE,
  OPEN_JOBS_RANGE,
  STASH_HEADS_RANGE,
} from '../../src/format/keys.js'
import { parseTableId } from '../../src/format/table-id.js'
import {
  type Job,
  type JobRequest,
  type JobStatus,
  memoryObjects,
  openLevelKv,
  openMemory,
  openStore,
  type Store,
  StoreError,
  type StoreOptions,
  type Team,
} from '../../src/index.js'
import type { UrlFetcher } from '../../src/ports.js'
import { leftOpenJobs } from '../rungs/model/wiped-team.js'
import { damageOf } from '../support/damage.js'
import { plainDatabase } from '../support/plain-database.js'
import { randomTestSeed } from '../support/seed-record.js'
import { seeded } from '../support/seeded.js'
import { until } from '../support/until.js'
import { turns } from './engine-world.js'
import { Hooks, hookedKv } from './hooked-ports.js'
import { type Mortal, World } from './mortal-engine.js'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** A source of a few rows. `hold` delays the remaining ones until it resolves. */
function sourceOf(hold: () => Promise<void> = async () => undefined): UrlFetcher {
  return {
    async fetch(url) {
      async function* body(): AsyncGenerator<Uint8Array, void> {
        yield new TextEncoder().encode('n\n1\n2\n')
        await hold()
        yield new TextEncoder().encode('3\n')
      }
      return { contentType: 'text/csv', fileName: 'rows.csv', url, body: body(), close() {} }
    },
  }
}

const FROM_URL = { fromUrl: 'http://source.test/rows.csv' }

async function openTeam(
  options: StoreOptions = {},
): Promise<Readonly<{ store: Store; team: Team }>> {
  const store = await openMemory({ compression: 'none', sources: sourceOf(), ...options })
  onTestFinished(() => store.close())
  return { store, team: store.team('t') }
}

async function rowsOf(team: Team, tableId: string): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const { $rowID: _, ...cells } of team.table(tableId).scan()) rows.push(cells)
  return rows
}

type Succeeded = Extract<JobStatus, { status: 'succeeded' }>

async function succeeded(job: Job): Promise<Succeeded> {
  const status = await job.wait()
  if (status.status !== 'succeeded') throw new Error(`the job is ${JSON.stringify(status)}`)
  return status
}

describe('a job', () => {
  test('does what the operation does: create, overwrite and import', async () => {
    const { team } = await openTeam()
    const create = { name: 'made', rows: [{ n: 1 }, { n: 2 }] }

    const made = await succeeded(await team.startJob({ create, note: 'mine' }))
    expect(made).toMatchObject({ kind: 'create', note: 'mine', tableId: made.result.tableId })
    const { tableId } = made.result
    expect(await rowsOf(team, tableId)).toEqual(create.rows)
    expect(await team.table(tableId).get(made.result.rowIds.get(1))).toMatchObject({
      row: { n: 2 },
    })

    const stash = team.stash('s')
    await stash.put('0', [{ n: 3 }])
    const overwrite = { tableId, rows: stash, ifMatch: made.result.version }
    const written = await succeeded(await team.startJob({ overwrite }))
    expect(written.result.version).toBe(await team.table(tableId).version())
    expect(await rowsOf(team, tableId)).toEqual([{ n: 3 }])

    const imported = await succeeded(await team.startJob({ import: FROM_URL }))
    expect(await rowsOf(team, imported.tableId)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect((await team.jobs()).map(({ kind, status }) => [kind, status])).toEqual([
      ['create', 'succeeded'],
      ['overwrite', 'succeeded'],
      ['import', 'succeeded'],
    ])
    const ids = async (options: JobsOptions) => (await team.jobs(options)).map(({ id }) => id)
    const all = await ids({})
    expect(await ids({ newest: 2 })).toEqual(all.slice(1))
    expect(await ids({ newest: 1, tables: new Set([tableId]) })).toEqual(all.slice(1, 2))
    expect((await team.jobs({ notes: false })).map(({ note }) => note)).toEqual(['', '', ''])
    for (const options of [{ newest: 0 }, { newest: '1' }, { limit: 1 }]) {
      await expect(team.jobs(options as JobsOptions)).rejects.toMatchObject({
        code: 'REQUEST_VALIDATION_ERROR',
      })
    }
  })

  test('keeps the IDs of rows that an overwrite preserves, also when they are out of order', async () => {
    const { team } = await openTeam({ inlineRowsMax: 0 })
    const made = await team.createTable({
      name: 't',
      rows: Array.from({ length: 40 }, (_, n) => ({ n })),
    })
    const rows = [...made.rowIds].reverse().map(($rowID, n) => ({ $rowID, n }))

    const job = await team.startJob({ overwrite: { tableId: made.tableId, rows } })

    const { result } = await succeeded(job)
    expect([...result.rowIds]).toEqual(rows.map(({ $rowID }) => $rowID))
  })

  test('that fails tells why, and has no effect', async () => {
    const { team } = await openTeam()
    const rows = [{ n: 1 }, { n: 'x' }]
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const

    const job = await team.startJob({ create: { name: 't', schema, rows } })

    expect(await job.wait()).toMatchObject({
      status: 'failed',
      error: {
        code: 'COLUMN_HAS_INVALID_VALUE',
        row: 1,
        column: 'n',
        message: /^Invalid value for column 'n' in row 1 \(counted from 0\): must be/,
      },
    })
    expect(await team.tables()).toEqual([])
  })

  test('that fails deletes the rows that came with it', async () => {
    const world = await World.create(false)
    const { store } = await world.open()
    onTestFinished(() => store.close())
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const
    const heads = { ...STASH_HEADS_RANGE, count: 10 }

    const job = await store
      .team('t')
      .startJob({ create: { name: 't', schema, rows: [{ n: 'x' }] } })

    expect((await job.wait()).status).toBe('failed')
    const left = () => world.kv.partition('t').read((view) => view.scan(heads))
    await expect.poll(left).toEqual([])
  })

  test('refuses at once what is wrong by itself', async () => {
    const { team } = await openTeam()
    const wrong: readonly (readonly [code: string, request: unknown])[] = [
      ['REQUEST_VALIDATION_ERROR', {}],
      ['REQUEST_VALIDATION_ERROR', { create: { name: 'x', rows: [] }, import: FROM_URL }],
      ['REQUEST_VALIDATION_ERROR', { create: { name: '', rows: [] } }],
      ['REQUEST_VALIDATION_ERROR', { create: { name: 'x', rows: { json: '[' } } }],
      ['REQUEST_VALIDATION_ERROR', { import: { fromUrl: 1 } }],
      ['REQUEST_VALIDATION_ERROR', { import: FROM_URL, note: '\ud800' }],
      ['REQUEST_VALIDATION_ERROR', { import: FROM_URL, unknown: 1 }],
      ['REQUEST_VALIDATION_ERROR', { import: { ...FROM_URL, onReport() {} } }],
      ['OPTION_NOT_ALLOWED', { import: { ...FROM_URL, delimiter: 'no' } }],
      ['TABLE_NOT_FOUND', { overwrite: { tableId: 'x', rows: [] } }],
    ]
    for (const [code, request] of wrong) {
      await expect(team.startJob(request as JobRequest)).rejects.toMatchObject({ code })
    }
    expect(await team.jobs()).toEqual([])
  })

  test('keeps the receipt that it was asked for, in its result and with the version', async () => {
    const { team } = await openTeam()
    const create = { name: 't', rows: [{ n: 1 }, { n: 2 }], receipt: true }
    const made = await succeeded(await team.startJob({ create }))
    const { tableId } = made
    const table = team.table(tableId)
    const stash = team.stash('s')
    await stash.put(7, [{ n: 3, m: 'x' }])
    const overwrite = { tableId, rows: stash, onSchemaError: 'dropColumns', receipt: true } as const
    const written = await succeeded(await team.startJob({ overwrite }))
    const imported = await succeeded(
      await team.startJob({ import: { ...FROM_URL, receipt: true } }),
    )

    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/)
    const chunks = [{ rows: 2, sha256 }]
    expect(made.result.receipt).toMatchObject({ operation: 'create', version: 1, rows: 2, chunks })
    expect(written.result.receipt).toMatchObject({
      operation: 'overwrite',
      versionBefore: 1,
      chunks: [{ serial: '7', rows: 1, sha256 }],
      dropped: { count: 1 },
    })
    expect(imported.result.receipt).toMatchObject({ operation: 'create', chunks: [{ rows: 3 }] })
    for (const { result } of [made, written]) {
      expect(await table.receipt(result.version)).toEqual(result.receipt)
    }
    const direct = await team.createTable({ name: 'u', rows: create.rows, receipt: true })
    expect(made.result.receipt?.chunks).toEqual(direct.receipt?.chunks)
  })

  test('that was asked for no receipt keeps none', async () => {
    const { team } = await openTeam()
    const { result } = await succeeded(
      await team.startJob({ create: { name: 't', rows: [{ n: 1 }] } }),
    )
    expect(result).not.toHaveProperty('receipt')
    expect(await team.table(result.tableId).receipt(result.version)).toBeNull()
  })

  test('of another team, and one that never was, is JOB_NOT_FOUND', async () => {
    const { store, team } = await openTeam()
    const { id } = await team.startJob({ import: FROM_URL })
    for (const job of [store.team('other').job(id), team.job('x'), team.job(crypto.randomUUID())]) {
      await expect(job.status()).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
    }
    await team.job(id).wait()
  })

  test('shows its progress while it runs', async () => {
    let go: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      go = resolve
    })
    const { team } = await openTeam({ sources: sourceOf(() => held) })
    const job = await team.startJob({ import: FROM_URL })

    expect(await job.wait(20)).toMatchObject({ status: 'running', progress: { rows: 0, bytes: 0 } })
    go()
    expect(await job.wait()).toMatchObject({ status: 'succeeded' })
  })

  test('with an idempotency key has the result of the first, and makes no second table', async () => {
    const { team } = await openTeam()
    const create = { name: 't', rows: [{ n: 1 }], idempotencyKey: 'k' }
    const first = await team.createTable(create)

    const { result, tableId } = await succeeded(await team.startJob({ create }))

    expect([...result.rowIds]).toEqual([...first.rowIds])
    expect([tableId, result.tableId]).toEqual([first.tableId, first.tableId])
    expect(await team.tables()).toHaveLength(1)
  })

  test('is kept for jobTtlMs after its end, and leaves nothing behind', async () => {
    let now = Date.now()
    const world = await World.create(false)
    const { store } = await world.open({ clock: { now: () => now }, sources: sourceOf() })
    onTestFinished(() => store.close())
    const team = store.team('t')
    const job = await team.startJob({ create: { name: 't', rows: [{ n: 1 }] } })
    await succeeded(job)

    now += 7 * DAY_MS - MINUTE_MS
    expect((await store.maintain()).jobs).toBe(0)
    await job.status()
    now += 2 * MINUTE_MS
    expect((await store.maintain()).jobs).toBe(1)
    await expect(job.status()).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })

    const jobs = { start: Uint8Array.of(0x0e), limit: Uint8Array.of(0x0f), count: 10 }
    const open = { start: Uint8Array.of(0x25), limit: Uint8Array.of(0x26), count: 10 }
    expect(await world.kv.partition('t').read((view) => view.scan(jobs))).toEqual([])
    expect(await world.kv.partition('').read((view) => view.scan(open))).toEqual([])
    expect((await store.verify({ full: true })).findings).toEqual([])
  })

  test.each([0, 1, 2, 3])(
    'leaves the list of open jobs at the next opening after a deletion of everything that dies after %i steps',
    async (steps) => {
      const world = await World.create(false)
      const first = await world.open({ sources: sourceOf(() => new Promise(() => undefined)) })
      await first.store.team('t').startJob({ import: FROM_URL })
      first.dieAfter(steps)
      void first.store.team('t').deleteAll()
      await expect.poll(() => first.isDead).toBe(true)
      const left = await leftOpenJobs(world.kv, 't')
      const { store } = await world.open({ sources: sourceOf() })
      onTestFinished(() => store.close())

      expect(left).toBe(steps < 2 ? 1 : 0)
      await expect.poll(() => leftOpenJobs(world.kv, 't')).toBe(0)
    },
  )

  test('that is deleted while a garbage collection puts it on the list of open jobs is not on it', async () => {
    const kv = await openLevelKv(plainDatabase())
    const hooks = new Hooks()
    const ports = { kv: hookedKv(kv, hooks, true), objects: memoryObjects() }
    const sources = sourceOf(() => new Promise(() => undefined))
    const store = await openStore({ ...ports, sources, maintenance: false })
    onTestFinished(() => store.close())
    const team = store.team('t')
    await team.startJob({ import: FROM_URL })
    await kv.partition('').deleteRange(OPEN_JOBS_RANGE, 10)
    hooks.beforePutInto(KEY_SPACE.openJob, () => team.deleteAll())
    await store.maintain()

    expect([hooks.ran, await leftOpenJobs(kv, 't')]).toEqual([1, 0])
  })

  test('that a close ended goes on at the next opening, at once', async () => {
    const world = await World.create(false)
    const hold = new Promise<void>((resolve) => setTimeout(resolve, 100))
    const first = await world.open({ sources: sourceOf(() => hold) })
    const { id } = await first.store.team('t').startJob({ import: FROM_URL })
    const said = { ...FROM_URL, header: ['m'], nulls: ['2'], dialect: 'plain' } as const
    const { id: saidId } = await first.store.team('t').startJob({ import: said })
    await first.store.close()

    const second = await world.open({ sources: sourceOf() })
    onTestFinished(() => second.store.close())
    const team = second.store.team('t')
    expect(await rowsOf(team, (await succeeded(team.job(id))).tableId)).toHaveLength(3)
    const cells = [{ m: 'n' }, { m: '1' }, {}, { m: '3' }]
    expect(await rowsOf(team, (await succeeded(team.job(saidId))).tableId)).toEqual(cells)
  })

  test('that waits for its turn does not keep a close waiting, and goes on at the next opening', async () => {
    const world = await World.create(false)
    const hold = new Promise<void>((resolve) => setTimeout(resolve, 100))
    const options = { jobsInFlightMax: 1 }
    const first = await world.open({ ...options, sources: sourceOf(() => hold) })
    const started = Array.from({ length: 4 }, () =>
      first.store.team('t').startJob({ import: FROM_URL }),
    )
    const ids = (await Promise.all(started)).map(({ id }) => id)
    await first.store.close()

    const second = await world.open({ ...options, sources: sourceOf() })
    onTestFinished(() => second.store.close())
    const team = second.store.team('t')
    const before = (await team.jobs()).map(({ status }) => status)
    expect(before).not.toContain('failed')
    for (const id of ids) await succeeded(team.job(id))
    expect(await team.tables()).toHaveLength(4)
  })

  test('that imports is refused at once without sources, and left to an opening that has some', async () => {
    const world = await World.create(false)
    const never = new Promise<void>(() => undefined)
    const first = await world.open({ sources: sourceOf(() => never), jobsInFlightMax: 1 })
    const { id } = await first.store.team('t').startJob({ import: FROM_URL })
    const rows = [{ n: 1 }]
    const made = await first.store.team('t').startJob({ create: { name: 'made', rows } })
    first.dieAfter(0)

    const { store } = await world.open({ maintenance: { jobIntervalMs: 1 } })
    const refused = store.team('t').startJob({ import: FROM_URL })
    await expect(refused).rejects.toMatchObject({ code: 'SOURCE_URL_NOT_ALLOWED' })
    await succeeded(store.team('t').job(made.id))
    expect(await store.team('t').job(id).wait(20)).toMatchObject({ status: 'running' })
    await store.close()

    const third = await world.open({ sources: sourceOf() })
    onTestFinished(() => third.store.close())
    await succeeded(third.store.team('t').job(id))
  })

  test('that the store could not do is tried again, and one that it cannot ever do fails', async () => {
    let failures = 2
    const sources: UrlFetcher = {
      async fetch(url, limits) {
        if (failures-- > 0) throw new StoreError('RATE_LIMITED', 'Too many')
        return sourceOf().fetch(url, limits)
      },
    }
    const { team } = await openTeam({ sources, maintenance: { jobIntervalMs: 10 } })
    const job = await team.startJob({ import: FROM_URL })

    expect((await job.wait()).status).toBe('succeeded') // It waits although this engine has left the job for a while.
    expect(failures).toBe(-1)
  })
})

describe('after commits may have been lost', () => {
  const RAISED = { versionBaseMin: 2 ** 20 }

  /** Closes a store while two jobs wait: one for its rows, and one for a stash of two chunks. */
  async function closedWithJobs(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-jobs-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'store')
    const sources = sourceOf(() => new Promise(() => undefined))
    const store = await openDirectory(path, { maintenance: false, sources, jobsInFlightMax: 1 })
    const team = store.team('t')
    await team.startJob({ import: FROM_URL })
    const stash = team.stash('s')
    await stash.put(0, [{ n: 1 }])
    await stash.put(1, [{ n: 2 }])
    await team.startJob({ create: { name: 'own', rows: [{ n: 1 }] }, note: 'own' })
    await team.startJob({ create: { name: 'staged', rows: stash }, note: 'staged' })
    await store.close()
    return path
  }

  async function endsOf(path: string): Promise<unknown> {
    const { kv, objects, close } = await openDirectoryPorts(path, {})
    const store = await openStore({ kv, objects, afterClose: close })
    onTestFinished(() => store.close())
    const team = store.team('t')
    const jobs = (await team.jobs()).filter(({ kind }) => kind === 'create')
    const ends = await Promise.all(jobs.map(({ id }) => team.job(id).wait()))
    return Object.fromEntries(
      ends.map((end) => [end.note, end.status === 'failed' ? end.error.code : end.status]),
    )
  }

  test('a job continues with the input with which it began, and no operation begins with an old stash', async () => {
    const path = await closedWithJobs()
    const raised = await openDirectoryPorts(path, RAISED)
    const store = await openStore({ maintenance: false, kv: raised.kv, objects: raised.objects })
    const team = store.team('t')
    const later = await team.startJob({
      create: { name: 'later', rows: team.stash('s') },
      note: 'later',
    })
    expect(await later.wait()).toMatchObject({ error: { code: 'STASH_NOT_FOUND' } })
    await store.close()
    await raised.close()

    const ends = { own: 'succeeded', staged: 'succeeded', later: 'STASH_NOT_FOUND' }
    expect(await endsOf(path)).toEqual(ends)
  })

  test('a job whose stash lacks a chunk that it began with fails', async () => {
    const path = await closedWithJobs()
    const { kv, close } = await openDirectoryPorts(path, RAISED)
    const partition = kv.partition('t')
    const { start, limit } = CHUNKS_RANGE
    const found = await partition.read((view) => view.scan({ start, limit, count: 10 }))
    const ofTwo = found.filter(([key], _, all) => all.filter(([k]) => sameNonce(k, key)).length > 1)
    await partition.commit({ deletes: ofTwo.slice(0, 1).map(([key]) => key) })
    await close()

    expect(await endsOf(path)).toEqual({ own: 'succeeded', staged: 'STASH_NOT_FOUND' })
  })

  function sameNonce(left: Uint8Array, right: Uint8Array): boolean {
    return Buffer.compare(left.subarray(1, 9), right.subarray(1, 9)) === 0
  }
})

/** Number of engines that die. */
const KILLS = 50

/** Approximate number of port calls of a job, within which deaths come. */
const STEPS_MAX = 24

describe('killed and continued', () => {
  const ROWS = [{ n: 1 }, { n: 2 }, { n: 3 }]
  const requests: readonly (readonly [name: string, request: (tableId: string) => JobRequest])[] = [
    ['create', () => ({ create: { name: 'job', rows: ROWS, receipt: true } })],
    ['overwrite', (tableId) => ({ overwrite: { tableId, rows: ROWS, receipt: true } })],
    ['import', () => ({ import: { ...FROM_URL, name: 'job', receipt: true } })],
  ]

  /** Starts one job, and lets engines die until one of them finishes it. @returns the number of deaths */
  async function killed(
    random: (max: number) => number,
    [kind, request]: (typeof requests)[number],
  ): Promise<number> {
    const world = await World.create(false)
    const options = { sources: sourceOf(), maintenance: { jobIntervalMs: 5 } }
    const setup = await world.open(options)
    const { tableId } = await setup.store.team('t').createTable({ name: 'was', rows: [{ n: 0 }] })
    await setup.store.close()
    let deaths = 0
    let jobId: string | undefined
    for (;;) {
      const engine = await world.open(options)
      const team = engine.store.team('t')
      jobId ??= (await team.jobs())[0]?.id
      if (deaths < KILLS) engine.dieAfter(random(STEPS_MAX))
      let isOver = false
      const ended = (async () => {
        jobId ??= (await team.startJob(request(tableId))).id
        return team.job(jobId).wait(60_000)
      })()
      const status = await Promise.race([ended, died(engine, () => isOver)])
      isOver = true
      engine.dieAfter(Number.POSITIVE_INFINITY)
      if (status === undefined || engine.isDead) {
        deaths++
        continue
      }
      expect(status).toMatchObject({ status: 'succeeded', kind })
      const made = (status as Succeeded).result
      expect(await rowsOf(team, made.tableId)).toEqual(ROWS)
      expect([...made.rowIds]).toHaveLength(3)
      expect(made.receipt).toMatchObject({ version: made.version, rows: 3 })
      expect(await team.tables()).toHaveLength(kind === 'overwrite' ? 1 : 2)
      expect(await damageOf(engine.store)).toEqual([])
      await engine.store.close()
      return deaths
    }
  }

  async function died(engine: Mortal, over: () => boolean): Promise<undefined> {
    while (!engine.isDead && !over()) await new Promise((resolve) => setTimeout(resolve, 2))
  }

  test(`a job has its effect once over ${KILLS} random deaths`, async () => {
    const random = seeded(randomTestSeed()).below
    let deaths = 0
    for (let run = 0; deaths < KILLS; run++) {
      deaths += await killed(random, requests[run % requests.length] ?? never())
    }
    expect(deaths).toBeGreaterThanOrEqual(KILLS)
  })
})

function never(): never {
  throw new Error('there is a request for each run')
}

describe('a lease that is taken over in the last moment', () => {
  test.each(['create', 'overwrite'] as const)('refuses the commit of a job: %s', async (kind) => {
    const world = await World.create(false)
    const engine = await world.open({ maintenance: { jobIntervalMs: 0 } })
    onTestFinished(() => engine.store.close())
    const team = engine.store.team('t')
    const { tableId } = await team.createTable({ name: 'was', rows: [{ n: 0 }] })
    // The commit of a create or an overwrite contains the table's head, after the job has seen its lease.
    let isTaken = false
    engine.beforePutInto(KEY_SPACE.tableHead, async () => {
      await takeLeases(world)
      isTaken = true
    })
    const rows = [{ n: 1 }]

    const job = await team.startJob(
      kind === 'create' ? { create: { name: 'job', rows } } : { overwrite: { tableId, rows } },
    )

    await until(() => isTaken)
    await turns()
    expect((await job.wait(0)).status).toBe('running')
    expect(await team.tables()).toHaveLength(1)
    expect(await rowsOf(team, tableId)).toEqual([{ n: 0 }])
  })

  /** Takes the leases as another engine does: writes itself and the next epoch. */
  async function takeLeases(world: World): Promise<void> {
    const partition = world.kv.partition('t')
    const records = await partition.read((view) => view.scan({ ...JOBS_RANGE, count: 10 }))
    for (const [key, bytes] of records) {
      if (key[17] !== JOB_PART.lease) continue
      const lease = decodeLease(bytes)
      const taken = { ...lease, owner: new Uint8Array(16).fill(7), epoch: lease.epoch + 1 }
      await partition.commit({ puts: [[key, encodeLease(taken)]] })
    }
  }
})

describe('two engines on one key-value store, their clocks 10 minutes apart', () => {
  const LEASE_MS = 600
  const STEP_MS = 20
  const TIMERS = ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const
  /** The longest wait for a job that nobody takes over. */
  const END_MS = 10_000
  const ahead = { clock: { now: () => Date.now() + 10 * MINUTE_MS } }
  const lease = { jobLeaseMs: LEASE_MS, maintenance: { jobIntervalMs: 20 } }

  async function openTwo(
    hold: () => Promise<void>,
    skewed: 'first' | 'second',
  ): Promise<Readonly<{ world: World; first: Mortal; second: Mortal; fetches: () => number }>> {
    vi.useFakeTimers({ toFake: ['performance', ...TIMERS] })
    onTestFinished(() => void vi.useRealTimers())
    const world = await World.create(true)
    let fetches = 0
    const counted: UrlFetcher = {
      async fetch(url, limits) {
        fetches++
        return sourceOf(fetches === 1 ? hold : undefined).fetch(url, limits)
      },
    }
    const clockOf = (which: string) => (skewed === which ? ahead : {})
    const options = { ...lease, sources: counted }
    const first = await world.open({ ...options, ...clockOf('first') })
    const second = await world.open({ ...options, ...clockOf('second') })
    onTestFinished(async () => {
      if (!first.isDead) await first.store.close()
      await second.store.close()
    })
    return { world, first, second, fetches: () => fetches }
  }

  /** Lets virtual time pass. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      vi.advanceTimersByTime(STEP_MS)
      await turns()
    }
  }

  /** Lets virtual time pass until a job ends. */
  async function endOf(job: Job): Promise<JobStatus> {
    let isOver = false
    const ended = job.wait(END_MS).finally(() => {
      isOver = true
    })
    ended.catch(() => undefined)
    while (!isOver) await pass(STEP_MS)
    return ended
  }

  test.each(['first', 'second'] as const)(
    'a job that is worked on is left alone, however long it takes (%s is ahead)',
    async (skewed) => {
      const held = () => new Promise<void>((resolve) => setTimeout(resolve, 4 * LEASE_MS))
      const { first, second, fetches } = await openTwo(held, skewed)
      const { id } = await first.store.team('t').startJob({ import: FROM_URL })

      const status = await endOf(second.store.team('t').job(id))

      expect(status.status).toBe('succeeded')
      expect(fetches()).toBe(1)
      expect(await second.store.team('t').tables()).toHaveLength(1)
    },
  )

  test.each(['first', 'second'] as const)(
    'a job whose engine died is taken over after jobLeaseMs, not before (%s is ahead)',
    async (skewed) => {
      const never = new Promise<void>(() => undefined)
      const { first, second, fetches } = await openTwo(() => never, skewed)
      const { id } = await first.store.team('t').startJob({ import: FROM_URL })
      await expect.poll(fetches).toBe(1)
      first.dieAfter(0)
      const start = performance.now()

      const status = await endOf(second.store.team('t').job(id))

      expect(status.status).toBe('succeeded')
      expect(performance.now() - start).toBeGreaterThan(LEASE_MS / 2)
      expect(fetches()).toBe(2)
      expect(await second.store.team('t').tables()).toHaveLength(1)
    },
  )

  test('an engine that was taken for dead changes nothing when it wakes up', async () => {
    let wake: () => void = () => undefined
    const asleep = new Promise<void>((resolve) => {
      wake = resolve
    })
    const { world, first, second, fetches } = await openTwo(() => asleep, 'second')
    const team = first.store.team('t')
    const { id } = await team.startJob({ import: FROM_URL })
    await expect.poll(fetches).toBe(1)

    // Takes its lease as another engine does: by a commit with the next epoch.
    const key = jobLeaseKey(parseTableId(id) ?? new Uint8Array(16))
    const partition = world.kv.partition('t')
    const bytes = await partition.read((view) => view.get(key))
    const other = Uint8Array.from(bytes ?? [])
    other.fill(7, 1, 17)
    await partition.commit({ puts: [[key, other]] })
    wake()
    await turns()
    expect((await team.job(id).wait(0)).status).toBe('running')
    await pass(LEASE_MS / 2)
    expect(await team.tables()).toEqual([])

    expect((await endOf(second.store.team('t').job(id))).status).toBe('succeeded')
    expect(await team.tables()).toHaveLength(1)
    expect(fetches()).toBeGreaterThanOrEqual(2)
  })
})
