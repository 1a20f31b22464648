// Goal: the history of a table is exact: its rows at each version, and the changes from one version to the next; across
// compactions, garbage collections, overwrites, transactions, reopenings and crashes.
// Method: after each operation the table is read. Later its history is compared with what was read.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowWithId,
  restoreBackup,
  type Store,
  type StoreOptions,
  type Table,
} from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'
import { FaultDisk } from '../conformance/faults/fault-disk.js'
import { testClock } from '../conformance/test-clock.js'
import { seededNumbers, seededRandom } from '../rungs/model/seeded.js'
import { runOptions } from '../support/fast-check-options.js'
import { QUIET } from '../support/maintenance.js'
import { allOf, changedRows } from '../support/replay-changes.js'

const WIDENS = { onSchemaError: 'updateSchema' } as const
const HOUR_MS = 3_600_000

/** `at`: when the version was first seen. */
type Snapshot = Readonly<{ version: number; rows: readonly RowWithId[]; at: number }>

class World {
  readonly clock = testClock()
  readonly next: () => number
  readonly snapshots = new Map<number, Snapshot>()
  readonly #disk = new FaultDisk({ seed: 1 })
  readonly #options: StoreOptions
  #store: Store | undefined
  #tableId = ''

  constructor(seed: number) {
    this.next = seededNumbers(seed)
    this.#options = {
      historyRetentionMs: HOUR_MS,
      overwrittenRowsTtlMs: 0,
      overwrittenRowSetsMax: 0,
      orphanGraceMs: 0,
      maintenance: { ...QUIET, compactionRecordsMin: 1 + this.below(4) },
      inlineRowsMax: this.below(2) === 0 ? 1_000 : 2,
      segmentRowsMax: 1 + this.below(5),
      cacheBytesMax: this.below(2) * 1_000_000,
      pageRowsMax: 1 + this.below(7),
      clock: this.clock,
      random: seededRandom(seed),
      onBackgroundFailure: () => undefined,
    }
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  async open(isShared = false): Promise<void> {
    const kv: KvStore = await openLevelKv(this.#disk.level())
    const shared = {
      shared: true,
      partition: (name: string) => kv.partition(name),
      close: () => kv.close(),
    }
    const ports = { kv: isShared ? shared : kv, objects: this.#disk.objects() }
    this.#store = await openStore({ ...this.#options, ...ports })
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('It is open')
    return this.#store
  }

  get table(): Table {
    return this.store.team('t').table(this.#tableId)
  }

  async create(): Promise<void> {
    const made = await this.store
      .team('t')
      .createTable({ name: 't', rows: [{ n: 1 }, { n: 2 }, { n: 3 }] })
    this.#tableId = made.tableId
    await this.look()
  }

  async reopen(crashes: boolean): Promise<void> {
    if (crashes) this.#disk.crash(this.below(2) === 0 ? 'process' : 'machine')
    await this.store.close().catch(() => undefined)
    await this.open()
  }

  async close(): Promise<void> {
    await this.store.close()
  }

  async look(): Promise<void> {
    const rows: RowWithId[] = []
    const version = await this.table.version()
    for await (const row of this.table.scan()) rows.push(row)
    const at = this.snapshots.get(version)?.at ?? this.clock.now()
    this.snapshots.set(version, { version, rows, at })
  }

  /** An operation that the seed chooses. */
  async act(): Promise<void> {
    const { table } = this
    const version = await table.version()
    const rows = this.snapshots.get(version)?.rows ?? []
    const some = rows.filter(() => this.below(3) === 0).map(({ $rowID }) => $rowID)
    const one = rows[this.below(Math.max(1, rows.length))]?.$rowID
    const fresh = () => Array.from({ length: 1 + this.below(6) }, () => ({ n: this.below(1_000) }))
    switch (this.below(12)) {
      case 0:
      case 1:
        await table.addRows(fresh(), WIDENS)
        break
      case 2:
      case 3:
        if (one !== undefined) await table.updateRow(one, { n: this.below(1_000) }, WIDENS)
        break
      case 4:
        await table.updateRows(
          some.map((rowId) => ({ rowId, cells: { n: this.below(1_000) } })),
          WIDENS,
        )
        break
      case 5:
        if (one !== undefined) await table.deleteRow(one)
        break
      case 6:
        await table.deleteRows(some.slice(0, 3))
        break
      case 7: {
        const kept = rows.filter(({ $rowID }) => some.includes($rowID))
        await table.overwrite({ rows: [...fresh(), ...kept], ...WIDENS })
        break
      }
      case 8: {
        const cells = this.below(2) === 0 ? { n: 'text' } : { [`c${this.below(3)}`]: this.below(9) }
        await table.addRows([cells], WIDENS)
        break
      }
      case 9:
        await this.store.team('t').transaction(async (t) => {
          const staged = t.table(table.id)
          const { rowIds } = await staged.addRows(fresh(), WIDENS)
          await staged.updateRows(
            some.map((rowId) => ({ rowId, cells: { n: 7 } })),
            WIDENS,
          )
          if (one !== undefined) await staged.deleteRow(one)
          await staged.deleteRow(rowIds.get(this.below(rowIds.length)))
        })
        break
      case 10:
        this.clock.pass(this.below(2) === 0 ? 1_000 : HOUR_MS / 2)
        await this.store.maintain()
        break
      case 11:
        await this.reopen(this.below(2) === 0)
        break
    }
    await this.look()
  }
}

/** @returns the earliest version kept */
async function firstKept(world: World): Promise<number> {
  const versions = [...world.snapshots.keys()].sort((left, right) => left - right)
  for (const version of versions) {
    try {
      await world.table.at(version).page({ limit: 1 })
      return version
    } catch (failure) {
      expect(failure).toMatchObject({ code: 'HISTORY_GONE' })
      const changedAt = world.snapshots.get(version + 1)?.at ?? world.clock.now()
      expect(world.clock.now() - changedAt).toBeGreaterThan(HOUR_MS)
    }
  }
  throw new Error('The current version is kept')
}

async function checkHistory(world: World): Promise<void> {
  const { table, snapshots } = world
  const first = await firstKept(world)
  const last = await table.version()
  for (let version = first; version <= last; version++) {
    const { rows } = snapshots.get(version) ?? { rows: [] }
    const past = table.at(version)
    expect(await allOf(past.scan())).toEqual(rows)
    for (const row of rows) expect((await past.get(row.$rowID))?.row).toEqual(row)
    const later = snapshots.get(last)?.rows ?? []
    const gone = later.find((row) => rows.every(({ $rowID }) => $rowID !== row.$rowID))
    if (gone !== undefined) expect(await past.get(gone.$rowID)).toBe(null)
  }
  const since = first + world.below(last - first + 1)
  let rows: readonly RowWithId[] = snapshots.get(since)?.rows ?? []
  let version = since
  for await (const change of table.changes({ since })) {
    expect(change.version).toBe(++version)
    rows = await changedRows(table, change, rows, {})
    expect(rows).toEqual(snapshots.get(version)?.rows)
  }
  expect(version).toBe(last)
  if (first > 1) {
    await expect(allOf(table.at(first - 1).scan())).rejects.toMatchObject({ code: 'HISTORY_GONE' })
  }
}

test('the history of a table is what its versions were', { timeout: 600_000 }, async () => {
  const property = fc.asyncProperty(
    fc.nat(),
    fc.integer({ min: 1, max: 25 }),
    async (seed, steps) => {
      const world = new World(seed)
      await world.open(seed % 3 === 0)
      await world.create()
      for (let step = 0; step < steps; step++) await world.act()
      await checkHistory(world)
      const report = await world.store.verify({ full: true })
      expect(report.findings.filter(({ severity }) => severity !== 'information')).toEqual([])
      await world.close()
    },
  )
  await fc.assert(property, runOptions(100))
})

test('row records that a merge removes all at once are in the versions before', async () => {
  const kv = await openLevelKv(new FaultDisk({ seed: 1 }).level())
  const sizes = { inlineRowsMax: 2, segmentRowsMax: 2, historyRetentionMs: HOUR_MS }
  const store = await openStore({ kv, objects: memoryObjects(), maintenance: false, ...sizes })
  const made = await store.team('t').createTable({ name: 't', rows: [{ n: 1 }] })
  const table = store.team('t').table(made.tableId)
  await table.updateRow(made.rowIds.get(0), { n: 2 })
  await table.addRows([{ n: 3 }, { n: 4 }, { n: 5 }]) // Their segments close the extent of records.
  const before = await allOf(table.scan())
  await table.merge({ rows: [], key: ['n'], missing: 'delete' })

  expect(await allOf(table.at(3).scan())).toEqual(before)
  let rows: readonly RowWithId[] = await allOf(table.at(1).scan())
  for await (const change of table.changes({ since: 1 })) {
    rows = await changedRows(table, change, rows, {})
    if (change.version === 3) expect(rows).toEqual(before)
  }
  expect(rows).toEqual([])
  await store.close()
})

test('a watch that continues after a crash misses nothing and repeats nothing', async () => {
  const world = new World(5)
  await world.open()
  await world.create()
  const seen: number[] = []
  for (let round = 0; round < 4; round++) {
    const ended = new AbortController()
    const since = seen[seen.length - 1] ?? 1
    const watching = (async () => {
      for await (const { version } of world.table.watch({ since, signal: ended.signal })) {
        seen.push(version)
      }
    })().catch((failure: unknown) => failure)
    for (let step = 0; step < 4; step++) await world.table.addRows([{ n: step }])
    if (round % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    ended.abort()
    expect(await watching).toMatchObject({ code: 'ABORTED' })
    await world.reopen(true)
  }
  for await (const { version } of world.table.changes({ since: seen[seen.length - 1] ?? 1 })) {
    seen.push(version)
  }

  expect(seen).toEqual(Array.from({ length: 16 }, (_, at) => at + 2))
  await world.close()
})

test('a watch sees the changes of another process of a shared store, and ends with its own', async () => {
  const kv = await openLevelKv(new FaultDisk({ seed: 1 }).level())
  const objects = memoryObjects()
  const shared = {
    shared: true,
    partition: (name: string) => kv.partition(name),
    close: async () => undefined,
  }
  const open = () =>
    openStore({
      kv: shared,
      objects,
      historyRetentionMs: HOUR_MS,
      maintenance: false,
    })
  const [one, other] = [await open(), await open()]
  const { tableId } = await one.team('t').createTable({ name: 't', rows: [{ n: 1 }] })
  const watch = one.team('t').table(tableId).watch({ since: 1 })
  const waiting = watch.next()
  await other
    .team('t')
    .table(tableId)
    .addRows([{ n: 2 }])

  expect((await waiting).value).toMatchObject({ version: 2 })
  const ends = watch.next()
  const outcome = ends.catch((failure: unknown) => failure)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await one.close()
  expect(await outcome).toMatchObject({ code: 'STORE_CLOSED' })
  await other.close()
  await kv.close()
})

test('a restored store continues its history, without the versions from before', async () => {
  const world = new World(3)
  await world.open()
  await world.create()
  await world.table.addRows([{ n: 4 }])
  const disk = new FaultDisk({ seed: 2 })
  const open = async (versionBaseMin: number) => ({
    kv: await openLevelKv(disk.level(), { versionBaseMin }),
    objects: disk.objects(),
  })
  const restored: Awaited<ReturnType<typeof open>>[] = []
  await restoreBackup(world.store.backup(), {
    open: async (versionBaseMin) => {
      const ports = await open(versionBaseMin)
      restored.push(ports)
      return ports
    },
  })
  for (const { kv, objects } of restored) await Promise.all([kv.close(), objects.close()])
  const old = world.table.id
  await world.close()
  const store = await openStore({
    ...(await open(0)),
    historyRetentionMs: HOUR_MS,
    maintenance: false,
  })
  const table = store.team('t').table(old)
  const now = await table.version()

  expect(now).toBeGreaterThan(2)
  await expect(allOf(table.at(1).scan())).rejects.toMatchObject({ code: 'HISTORY_GONE' })
  await expect(table.changes({ since: 1 }).next()).rejects.toMatchObject({ code: 'HISTORY_GONE' })
  expect((await allOf(table.at(now - 1).scan())).map(({ n }) => n)).toEqual([1, 2, 3])
  await table.addRows([{ n: 5 }])
  const versions: number[] = []
  for await (const { version } of table.changes({ since: now - 1 })) versions.push(version)
  expect(versions).toEqual([now, now + 1])
  await store.close()
})

test.each([
  ['without a retention leaves a history alone until its table changes', {}, 2],
  ['with a retention of 0 deletes it', { historyRetentionMs: 0 }, 0],
])('a store that is opened %s', async (_what, options, kept) => {
  const disk = new FaultDisk({ seed: 1 })
  const limits = {
    maintenance: false as const,
    overwrittenRowsTtlMs: 0,
    overwrittenRowSetsMax: 0,
    orphanGraceMs: 0,
  }
  const open = async (more: StoreOptions): Promise<Store> => {
    const kv = await openLevelKv(disk.level())
    return openStore({ kv, objects: disk.objects(), ...limits, ...more })
  }
  const first = await open({ historyRetentionMs: HOUR_MS })
  const { tableId } = await first.team('t').createTable({ name: 't', rows: [{ n: 1 }] })
  await first
    .team('t')
    .table(tableId)
    .overwrite({ rows: [{ n: 2 }] })
  await first
    .team('t')
    .table(tableId)
    .addRows([{ n: 3 }])
  await first.close()

  const other = await open(options)
  const table = other.team('t').table(tableId)
  const countChanges = async (): Promise<number> => {
    let count = 0
    for await (const _ of table.changes({ since: 1 })) count++
    const rows = await allOf(table.at(1).scan())
    expect(rows.map(({ n }) => n)).toEqual([1])
    return count
  }
  const past = (): Promise<number> => countChanges().catch(() => 0)
  await other.maintain()
  await other.maintain()
  expect(await past()).toBe(kept)
  expect((await other.verify({ full: true })).ok).toBe(true)

  await table.addRows([{ n: 4 }])
  await other.maintain()
  await other.maintain()
  expect(await past()).toBe(0)
  expect((await other.verify({ full: true })).ok).toBe(true)
  await other.close()
})
