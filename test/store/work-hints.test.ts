// Goal: where several processes share a store, background work goes where commits hint at it. A run without work reads
// nothing of any team, every kind of work is found soon, and a lost hint costs only time.
import { describe, expect, test } from 'vitest'
import { decodeExtentPage } from '../../src/format/extent-page.js'
import { KEY_SPACE } from '../../src/format/keys.js'
import type { Store, StoreOptions, Table } from '../../src/index.js'
import type { KvCommit } from '../../src/ports.js'
import { joinedMaintenance } from '../support/maintenance.js'
import { all } from '../support/rich-database.js'
import { type Engine, EngineWorld, LEASE_MS, MINUTE_MS, turns } from './engine-world.js'

const T = 't'
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const BACKGROUND: StoreOptions = {
  orphanGraceMs: 0,
  overwrittenRowsTtlMs: 0,
  overwrittenRowSetsMax: 0,
  maintenance: {
    compactionRecordsMin: 1,
    garbageCollectionIntervalMs: MINUTE_MS,
    compactionIntervalMs: MINUTE_MS / 2,
    fileCollectionIntervalMs: MINUTE_MS,
  },
}

/**
 * Long enough that notes were written, and that all duties have run, also after an end that came slightly too early.
 */
const SOON_MS = 4 * MINUTE_MS

async function tableOf(store: Store, rows: object[] = [{ n: 1 }, { n: 2 }]): Promise<Table> {
  const { tableId } = await store.team(T).createTable({ name: 'x', rows })
  return store.team(T).table(tableId)
}

async function idOf(table: Table): Promise<string> {
  return (await table.page({ limit: 1 })).rows[0]?.$rowID ?? ''
}

function withBackground(options: StoreOptions): StoreOptions {
  const maintenance = joinedMaintenance(BACKGROUND.maintenance, options.maintenance)
  return { ...BACKGROUND, ...options, maintenance }
}

/** An engine that has looked at everything. */
async function openRecompressed(options: StoreOptions = {}): Promise<[EngineWorld, Engine]> {
  const world = await EngineWorld.create()
  const engine = await world.open(withBackground(options))
  await tableOf(engine.store)
  await world.pass(SOON_MS)
  expect(await world.keys(T, KEY_SPACE.workHint)).toHaveLength(3) // the last scans of the duties
  return [world, engine]
}

async function countOf(world: EngineWorld, space: number): Promise<number> {
  return (await world.keys(T, space)).length
}

/** Calls of the ports, by partition. */
function watchCalls(world: EngineWorld): Map<string, number> {
  const calls = new Map<string, number>()
  world.onCall = ({ port, partition = '-' }): void => {
    if (port !== 'read') calls.set(partition, (calls.get(partition) ?? 0) + 1)
  }
  return calls
}

describe('a run of duties without work', () => {
  test.each([1, 40])('reads no record of a team with %i tables more', async (tables) => {
    const [world, { store }] = await openRecompressed()
    for (let i = 0; i < tables; i++) await tableOf(store)
    await store.team('u').createTable({ name: 'x', rows: [{ n: 1 }] })
    await world.pass(SOON_MS)
    const calls = watchCalls(world)
    await world.pass(10 * MINUTE_MS)

    expect(calls.get(T)).toBe(undefined)
    expect(calls.get('u')).toBe(undefined)
    expect(calls.get('-')).toBe(undefined) // Objects are not listed.
    const [runs, compactions, fileRuns, renewals] = [10, 30, 10, 61]
    expect(calls.get('')).toBeLessThanOrEqual(4 * runs + 2 * compactions + 2 * fileRuns + renewals)
  })

  test('reads the leases of teams with work that another process does', async () => {
    const [world, { store }] = await openRecompressed()
    const second = await world.open(BACKGROUND)
    await world.pass(SOON_MS)
    const table = await tableOf(store)
    let scans = 0
    world.onCall = ({ port, partition }, engine): void => {
      if (engine === second && port === 'scan' && partition === T) scans++
    }
    await table.overwrite({ rows: [{ n: 3 }] })
    await world.pass(SOON_MS)

    expect(scans).toBe(0)
    expect(await countOf(world, KEY_SPACE.retirement)).toBe(0)
  })
})

type Work = Readonly<{
  options?: StoreOptions
  /** Creates work. */
  make: (store: Store, world: EngineWorld) => Promise<unknown>
  /** The key space of the records that need the work. */
  space: number
  /** When the work is due. */
  after?: number
  /** How late the work may be found. */
  late?: number
  /** How many of the records remain. */
  left?: number
}>

async function overwriteOnce(store: Store): Promise<void> {
  await (await tableOf(store)).overwrite({ rows: [{ n: 3 }] })
}

const WORK: Readonly<Record<string, Work>> = {
  'overwritten rows': { make: overwriteOnce, space: KEY_SPACE.retirement },
  'overwritten rows that are kept for a while': {
    options: { overwrittenRowsTtlMs: HOUR_MS, overwrittenRowSetsMax: 2 },
    make: overwriteOnce,
    space: KEY_SPACE.retirement,
    after: HOUR_MS,
  },
  'a schema that an update has replaced': {
    make: async (store) => {
      const table = await tableOf(store)
      await table.updateRow(await idOf(table), { s: 'text' }, { onSchemaError: 'updateSchema' })
    },
    space: KEY_SPACE.schema,
    left: 2, // one for each table
  },
  'a schema that an add has replaced': {
    make: async (store) => {
      const table = await tableOf(store)
      await table.addRows([{ s: 'text' }], { onSchemaError: 'updateSchema' })
    },
    space: KEY_SPACE.schema,
    left: 2,
  },
  'a stash that was deleted': {
    make: async (store) => {
      await store
        .team(T)
        .stash('s')
        .put('0', [{ n: 1 }])
      await store.team(T).stash('s').delete()
    },
    space: KEY_SPACE.chunk,
  },
  'a stash that has expired': {
    options: { stashTtlMs: HOUR_MS },
    make: (store) =>
      store
        .team(T)
        .stash('s')
        .put('0', [{ n: 1 }]),
    space: KEY_SPACE.chunk,
    after: HOUR_MS,
  },
  'a stash that has expired after a later chunk': {
    options: { stashTtlMs: HOUR_MS },
    make: async (store, world) => {
      await store
        .team(T)
        .stash('s')
        .put('0', [{ n: 1 }])
      await world.pass(HOUR_MS / 2)
      await store
        .team(T)
        .stash('s')
        .put('1', [{ n: 1 }])
    },
    space: KEY_SPACE.chunk,
    after: HOUR_MS,
  },
  'an upload that nobody completed': {
    options: { uploadTtlMs: HOUR_MS },
    make: (store) => store.team(T).files.createUpload({ fileName: 'a', contentType: 'text/plain' }),
    space: KEY_SPACE.upload,
    after: HOUR_MS,
  },
  'a job that has ended': {
    options: { jobTtlMs: HOUR_MS },
    make: async (store) => {
      const job = await store.team(T).startJob({ create: { name: 'y', rows: [{ n: 1 }] } })
      await job.wait()
    },
    space: KEY_SPACE.job,
    after: HOUR_MS,
  },
  'results that are kept for repeats': {
    options: { idempotencyTtlMs: HOUR_MS },
    make: async (store) => {
      const table = await tableOf(store)
      for (let i = 0; i < 100; i++) await table.addRows([{ n: i }], { idempotencyKey: `key ${i}` })
    },
    space: KEY_SPACE.idempotency,
    after: HOUR_MS,
    late: HOUR_MS,
  },
  'row records over a segment': {
    make: async (store) => {
      const table = await tableOf(store)
      await table.updateRow(await idOf(table), { n: 7 })
    },
    space: KEY_SPACE.row,
  },
  'a deletion over a segment': {
    make: async (store) => {
      const table = await tableOf(store)
      await table.deleteRow(await idOf(table))
    },
    space: KEY_SPACE.row,
  },
  'an extent of row records that was closed': {
    options: { inlineRowsMax: 1_000 },
    make: async (store) => {
      const table = await tableOf(store)
      const rows = Array.from({ length: 600 }, (_, n) => ({ n }))
      for (let i = 0; i < 2; i++) await table.addRows(rows)
    },
    space: KEY_SPACE.row,
    left: 602, // the open extents
  },
}

/** Row records of an open extent remain: those of `openSettled` and of `make`. */
describe('work is found by its hint', () => {
  test.each(Object.entries(WORK))(
    '%s',
    async (_, { options, make, space, after = 0, late = 0, left = 0 }) => {
      const [world, { store }] = await openRecompressed(options)
      await make(store, world)
      if (after > 0) {
        const before = await countOf(world, space)
        expect(before).toBeGreaterThan(left)
        await world.pass(after - SOON_MS)
        expect(await countOf(world, space)).toBe(before)
        await world.pass(SOON_MS)
      }
      await world.pass(late + SOON_MS)

      expect(await countOf(world, space)).toBe(left)
      expect((await store.verify({ full: true })).findings).toEqual([])
    },
    60_000,
  )

  test('and the objects that it leaves without a name are deleted', async () => {
    const [world, { store }] = await openRecompressed()
    const table = await tableOf(store)
    for (let i = 0; i < 3; i++) await table.overwrite({ rows: [{ n: i }] })
    await table.updateRow(await idOf(table), { n: 7 })
    await world.pass(2 * SOON_MS)

    expect(await world.listed()).toHaveLength(2) // a segment of each table
    expect(await world.keys('', KEY_SPACE.dueTeam)).toEqual([])
  })

  test('of a file, in each garbage collection of files', async () => {
    const [world, { store }] = await openRecompressed({ fileRetentionMs: DAY_MS })
    await store.team(T).files.put('bytes', { fileName: 'a.txt', contentType: 'text/plain' })
    world.now += DAY_MS + 1
    await world.pass(2 * SOON_MS)

    expect(await countOf(world, KEY_SPACE.file)).toBe(0)
    expect(await world.listed()).toHaveLength(1)
  })
})

describe('of records over a segment', () => {
  test('few have hints, but the segment is compacted', async () => {
    const [world, { store }] = await openRecompressed({
      maintenance: { compactionRecordsMin: 800 },
    })
    const rows = Array.from({ length: 2_000 }, (_, n) => ({ n }))
    const table = await tableOf(store, rows)
    const { rows: found } = await table.page({ limit: 2_000 })
    let hints = 0
    world.onCommit = ({ puts = [] }): void => {
      hints += puts.filter(([key]) => key[0] === KEY_SPACE.workHint && key.length === 31).length
    }
    const seen: number[] = []
    for (const [i, { $rowID }] of found.entries()) {
      await table.updateRow($rowID, { n: -i })
      if (i === 700) {
        await world.pass(SOON_MS)
        seen.push(await countOf(world, KEY_SPACE.row))
      }
    }
    await world.pass(SOON_MS)

    expect(seen).toEqual([701]) // fewer than `compactionRecordsMin`
    expect(await countOf(world, KEY_SPACE.row)).toBe(0)
    expect(hints).toBeGreaterThan(0)
    expect(hints).toBeLessThan(100)
  })
})

describe('a hint', () => {
  test('about a segment that is too young and that two tables name is kept for both', async () => {
    const settling = {
      ...BACKGROUND,
      recompression: 'deflate',
      maintenance: joinedMaintenance(BACKGROUND.maintenance, {
        recompressionAgeMs: 10 * MINUTE_MS,
        recompressionIntervalMs: MINUTE_MS,
      }),
    } as const
    const world = await EngineWorld.create()
    const { store } = await world.open(settling)
    const stash = store.team(T).stash('s')
    await stash.put(0, [{ text: 'many times the same '.repeat(500) }])
    for (const name of ['a', 'b']) await store.team(T).createTable({ name, rows: stash })
    await stash.delete()
    await world.pass(SOON_MS)
    await store.close()
    await world.open(settling) // For it, the segment is as old as this opening.
    await world.pass(30 * MINUTE_MS)

    const pages = await all(world.kv.partition(T), KEY_SPACE.extentPage)
    const entries = pages.flatMap(([, page]) => decodeExtentPage(page))
    expect(entries.map(({ recompressed: settled }) => settled)).toEqual([true, true])
    expect(new Set(entries.map(({ segment }) => segment?.object)).size).toBe(1)
  })

  const deletesHints = (commit: KvCommit | undefined): boolean =>
    commit?.deletes?.some(([space]) => space === KEY_SPACE.workHint) ?? false

  test('that is put again while its visit is under way stays for the next one', async () => {
    const [world, engine] = await openRecompressed()
    const other = await world.open()
    const table = await tableOf(other.store)
    await table.overwrite({ rows: [{ n: 3 }] })
    await other.store.close() // It writes its notes.
    const last = await world.open()
    const reached = engine.stopBefore(
      ({ partition, commit }) => partition === T && deletesHints(commit),
    )
    await world.pass(MINUTE_MS)
    await reached
    await last.store
      .team(T)
      .table(table.id)
      .overwrite({ rows: [{ n: 4 }] })
    await world.pass(LEASE_MS / 2)
    engine.goOn()
    await turns()
    expect(await countOf(world, KEY_SPACE.retirement)).toBe(1)
    await world.pass(SOON_MS)

    expect(await countOf(world, KEY_SPACE.retirement)).toBe(0)
  })

  test('whose process died before it noted the team is found when the process is taken for ended', async () => {
    const [world] = await openRecompressed()
    const dying = await world.open()
    const table = await tableOf(dying.store)
    await table.overwrite({ rows: [{ n: 3 }] })
    dying.kill()
    await turns()
    expect(await world.keys('', KEY_SPACE.dueTeam)).toEqual([])
    await world.pass(LEASE_MS + SOON_MS)

    expect(await countOf(world, KEY_SPACE.retirement)).toBe(0)
  })

  test('that is lost delays its work by a day at most', async () => {
    const [world, { store }] = await openRecompressed({
      maintenance: { garbageCollectionIntervalMs: HOUR_MS },
    })
    await overwriteOnce(store)
    await turns()
    await clear(world, T, KEY_SPACE.workHint, (key) => key.length > 2)
    await world.pass(2 * HOUR_MS)
    expect(await countOf(world, KEY_SPACE.retirement)).toBe(1)
    await clear(world, '', KEY_SPACE.dueTeam, () => true)
    world.now += DAY_MS - 3 * HOUR_MS
    await world.pass(2 * HOUR_MS)
    const second = await world.open(
      withBackground({ maintenance: { garbageCollectionIntervalMs: HOUR_MS } }),
    )
    await store.close()
    await world.pass(2 * HOUR_MS)

    expect(await countOf(world, KEY_SPACE.retirement)).toBe(0)
    await second.store.close()
  })

  test('of a kind that only a later version knows is deleted', async () => {
    const [world, { store }] = await openRecompressed()
    const key = Uint8Array.of(KEY_SPACE.workHint, 1, 0, 0, 0, 0, 0, 0, 0x77, 1)
    await world.kv.partition(T).commit({ puts: [[key, new Uint8Array(9).fill(1, 0, 1)]] })
    await overwriteOnce(store)
    await world.pass(SOON_MS)

    expect(await countOf(world, KEY_SPACE.workHint)).toBe(3)
  })
})

async function clear(
  world: EngineWorld,
  partition: string,
  space: number,
  fits: (key: Uint8Array) => boolean,
): Promise<void> {
  const deletes = (await world.keys(partition, space)).filter(fits)
  await world.kv.partition(partition).commit({ deletes })
}

describe('a store', () => {
  test('without a last scan, as an earlier version left it, is looked at whole', async () => {
    const world = await EngineWorld.create()
    const { store } = await world.open()
    await overwriteOnce(store)
    await store.close()
    await clear(world, T, KEY_SPACE.workHint, () => true)
    await clear(world, '', KEY_SPACE.dueTeam, () => true)
    await world.open(BACKGROUND)
    await world.pass(SOON_MS)

    expect(await countOf(world, KEY_SPACE.retirement)).toBe(0)
    expect(await countOf(world, KEY_SPACE.workHint)).toBe(3)
  })

  test('that a call of maintain has collected has no hints that are due', async () => {
    const world = await EngineWorld.create()
    const { store } = await world.open(
      withBackground({ maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 } }),
    )
    await overwriteOnce(store)
    await store
      .team(T)
      .stash('s')
      .put('0', [{ n: 1 }])
    await store.team(T).stash('s').delete()
    for (let i = 0; i < 2; i++) await store.maintain()

    expect(await countOf(world, KEY_SPACE.workHint)).toBe(4) // The stash had a lifetime.
    expect(await countOf(world, KEY_SPACE.chunk)).toBe(0)
  })

  test('that is not shared has no hints, and deletes those that it finds', async () => {
    const world = await EngineWorld.create()
    const alone = await world.open({}, false)
    await overwriteOnce(alone.store)
    await alone.store
      .team(T)
      .stash('s')
      .put('0', [{ n: 1 }])
    await alone.store.maintain()
    expect(await countOf(world, KEY_SPACE.workHint)).toBe(0)
    const { store } = await world.open()
    await overwriteOnce(store)
    await store.close()
    expect(await countOf(world, KEY_SPACE.workHint)).toBe(1)
    expect(await world.keys('', KEY_SPACE.dueTeam)).toHaveLength(2) // one for the team, one for objects
    await clear(world, '', KEY_SPACE.incarnation, () => true) // as if another process had ended it
    const again = await world.open({}, false)
    await again.store.maintain()

    expect(await countOf(world, KEY_SPACE.workHint)).toBe(0)
    expect(await world.keys('', KEY_SPACE.dueTeam)).toEqual([])
  })
})
