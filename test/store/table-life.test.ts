// Goal: a table can be inspected, renamed and deleted. A deleted table is gone at once, except for scans under way,
// leaves nothing behind, and never returns.
import { describe, expect, onTestFinished, test } from 'vitest'
import { KEY_SPACE } from '../../src/format/keys.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowWithId,
  type Store,
  type StoreOptions,
  type Table,
} from '../../src/index.js'
import { joinedMaintenance } from '../support/maintenance.js'
import { plainDatabase } from '../support/plain-database.js'
import { all } from '../support/rich-database.js'
import { EngineWorld, MINUTE_MS } from './engine-world.js'
import { Hooks, hookedKv } from './hooked-ports.js'

const NOW = 1_800_000_000_000

async function openLife(options: StoreOptions = {}) {
  const clock = { now: () => at.now }
  const at = { now: NOW }
  const objects = memoryObjects()
  const kv = await openLevelKv(plainDatabase())
  const maintenance = joinedMaintenance(
    { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0, jobIntervalMs: 0 },
    options.maintenance,
  )
  const store = await openStore({ kv, objects, clock, orphanGraceMs: 0, ...options, maintenance })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const make = async (name: string, rows: object[] = [{ n: 1 }, { n: 2 }]): Promise<Table> => {
    return team.table((await team.createTable({ name, rows })).tableId)
  }
  return { store, team, make, at, objects, partition: kv.partition('t') }
}

async function rowsOf(rows: AsyncIterable<RowWithId>): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const { $rowID: _, ...cells } of rows) found.push(cells)
  return found
}

async function expectSound(store: Store): Promise<void> {
  const { findings } = await store.verify({ full: true })
  expect(findings.filter(({ kind }) => kind !== 'orphan-object')).toEqual([])
}

const NOT_FOUND = { code: 'TABLE_NOT_FOUND' }

describe('what a table is', () => {
  test('its name, schema, rows, version, times and bytes are told, and change with it', async () => {
    const { make, at } = await openLife()
    const table = await make('first')
    const before = await table.info()
    expect(before).toMatchObject({
      id: table.id,
      name: 'first',
      schema: await table.schema(),
      rowCount: 2,
      version: 1,
      createdAt: NOW,
      updatedAt: NOW,
    })
    expect(before.bytes).toBeGreaterThan(0)

    at.now += 1_000
    await table.addRows([{ n: 3 }])
    const added = await table.info()
    expect(added).toMatchObject({ rowCount: 3, version: 2, createdAt: NOW, updatedAt: NOW + 1_000 })
    expect(added.bytes).toBeGreaterThan(before.bytes)

    at.now -= 5_000 // A clock that was set back does not make a change older than the previous one.
    await table.overwrite({ rows: [] })
    expect(await table.info()).toMatchObject({ rowCount: 0, updatedAt: NOW + 1_000, bytes: 0 })
  })

  test('the bytes are those of its segments', async () => {
    const { make, objects } = await openLife({ inlineRowsMax: 0 })
    const rows = Array.from({ length: 5_000 }, (_, n) => ({ n, text: `row ${n}` }))
    const table = await make('large', rows)
    const [object = ''] = await objects.list('')

    expect((await table.info()).bytes).toBe((await objects.get(object))?.length)
  })

  test('all tables of a team are told as each one is, over several batches', async () => {
    const { team, make } = await openLife({ tablesMax: 2_000 })
    for (let i = 0; i < 1_203; i++) await make(`table ${i % 7}`, [{ n: i }])
    const tables = await team.tables()

    expect(tables).toHaveLength(1_203)
    expect(await team.tableNames()).toEqual(tables.map(({ id, name }) => ({ id, name })))
    for (const at of [0, 499, 500, 1_000, 1_202]) {
      const info = tables[at]
      expect(await team.table(info?.id ?? '').info()).toEqual(info)
    }
  })

  test('a name finds the oldest table that has it, or all of them, or none', async () => {
    const { team, make } = await openLife()
    const made = [await make('a'), await make('b'), await make('a')]

    expect((await team.tableByName('a'))?.id).toBe(made[0]?.id)
    expect((await team.tablesByName('a')).map(({ id }) => id)).toEqual([made[0]?.id, made[2]?.id])
    expect(await team.tableByName('c')).toBeNull()
    expect(await team.tablesByName('')).toEqual([])
  })

  test('the creation time of a table of an earlier version is unknown, and a missing table has no facts', async () => {
    const { team, make, partition } = await openLife()
    const table = await make('old')
    const [[key, head] = []] = await all(partition, KEY_SPACE.tableHead)
    if (key === undefined || head === undefined) throw new Error('The table has a head')
    await partition.commit({ puts: [[key, head.slice(0, -12)]] })

    expect(await table.info()).toMatchObject({ createdAt: null, updatedAt: null })
    await table.addRows([{ n: 3 }])
    expect(await table.info()).toMatchObject({ createdAt: null, updatedAt: NOW })
    await expect(team.table(table.id.replace(/^./, 'x')).info()).rejects.toMatchObject(NOT_FOUND)
  })
})

describe('a table that gets another name', () => {
  test('has it everywhere, in a new version, and keeps its place and its rows', async () => {
    const { store, team, make } = await openLife()
    const [first, second] = [await make('a'), await make('b')]

    expect(await first.rename('ä new one')).toEqual({ version: 2 })
    expect(await team.tableNames()).toEqual([
      { id: first.id, name: 'ä new one' },
      { id: second.id, name: 'b' },
    ])
    expect(await first.info()).toMatchObject({ name: 'ä new one', version: 2, rowCount: 2 })
    expect(await rowsOf(first.scan())).toEqual([{ n: 1 }, { n: 2 }])
    await expectSound(store)
  })

  test('has no new version if it had the name already', async () => {
    const { make } = await openLife()
    const table = await make('a')

    expect(await table.rename('a')).toEqual({ version: 1 })
  })

  test('is refused a wrong name, and any name if it has changed', async () => {
    const { make } = await openLife()
    const table = await make('a')
    await table.addRows([{ n: 3 }])

    for (const name of ['', 'x'.repeat(1_001), '\ud800']) {
      await expect(table.rename(name)).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    }
    await expect(table.rename('b', { ifMatch: 1 })).rejects.toMatchObject({
      code: 'PRECONDITION_FAILED',
    })
    expect(await table.rename('b', { ifMatch: 2 })).toEqual({ version: 3 })
  })

  test.each([false, true])('gets the last of many (shared: %s)', async (shared) => {
    const world = await EngineWorld.create()
    const { store } = await world.open({}, shared)
    const team = store.team('t')
    const { tableId } = await team.createTable({ name: 'a', rows: [] })
    const table = team.table(tableId)
    const names = Array.from({ length: 20 }, (_, i) => `name ${i}`)
    const versions = await Promise.all(names.map((name) => table.rename(name)))

    expect(new Set(versions.map(({ version }) => version)).size).toBe(20)
    const last = versions.findIndex(({ version }) => version === 21)
    expect(await table.info()).toMatchObject({ name: names[last], version: 21 })
  })
})

describe('a deleted table', () => {
  test('is gone at once, for every call', async () => {
    const { store, team, make } = await openLife()
    const [table, other] = [await make('a'), await make('b')]
    const { rows, continuation } = await table.page({ limit: 1 })
    const rowId = rows[0]?.$rowID ?? ''
    await table.delete()

    const calls: (() => Promise<unknown>)[] = [
      () => table.info(),
      () => table.version(),
      () => table.schema(),
      () => table.page(),
      () => table.page({ continuation: continuation ?? '' }),
      () => table.get(rowId),
      () => table.addRows([]),
      () => table.addRows([{ n: 1 }]),
      () => table.overwrite({ rows: [] }),
      () => table.updateRow(rowId, { n: 2 }),
      () => table.deleteRow(rowId),
      () => table.rename('c'),
      () => table.receipt(1),
      () => table.delete(),
      () => rowsOf(table.scan()),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject(NOT_FOUND)
    expect(await team.tableNames()).toEqual([{ id: other.id, name: 'b' }])
    expect(await team.tableByName('a')).toBeNull()
    await expectSound(store)
  })

  test('leaves no record and no object after two garbage collections', async () => {
    const { store, team, make, objects, partition } = await openLife({ inlineRowsMax: 1 })
    const rows = Array.from({ length: 3_000 }, (_, n) => ({ n }))
    const { tableId } = await team.createTable({ name: 'a', rows, receipt: true })
    const table = team.table(tableId)
    const texts = rows.map(({ n }) => ({ n: `row ${n}` }))
    await table.overwrite({
      rows: texts,
      schema: { columns: [{ id: 'n', type: 'string' }] },
      receipt: true,
    })
    await table.addRows([{ n: 'one' }])
    await table.deleteRow((await table.page({ limit: 1 })).rows[0]?.$rowID ?? '')
    await table.delete()
    expect((await all(partition, KEY_SPACE.deadTable)).length).toBe(1)
    const { generations } = await store.maintain()
    await store.maintain()

    expect(generations).toBe(2)
    for (const space of Object.values(KEY_SPACE)) {
      const left = await all(partition, space)
      expect([space, space === KEY_SPACE.teamHead ? 1 : 0]).toEqual([space, left.length])
    }
    expect(await objects.list('')).toEqual([])
    await expectSound(store)
    expect((await make('next')).id).not.toBe(tableId)
  })

  test('keeps its rows for a scan until that ends, over any garbage collection', async () => {
    const { store, make, partition } = await openLife({ inlineRowsMax: 0 })
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ n }))
    const table = await make('a', rows)
    const scan = table.scan()
    const first = await scan.next()
    await table.delete()
    for (let i = 0; i < 3; i++) expect((await store.maintain()).generations).toBe(0)

    const { $rowID: _, ...cells } = first.value as RowWithId
    expect([cells, ...(await rowsOf(scan))]).toEqual(rows)
    expect((await store.maintain()).generations).toBe(1)
    expect(await all(partition, KEY_SPACE.deadTable)).toEqual([])
  })

  test('is not deleted if it has changed after the version given', async () => {
    const { make } = await openLife()
    const table = await make('a')
    await table.addRows([{ n: 3 }])

    await expect(table.delete({ ifMatch: 1 })).rejects.toMatchObject({
      code: 'PRECONDITION_FAILED',
    })
    expect((await table.info()).rowCount).toBe(3)
    await table.delete({ ifMatch: 2 })
    await expect(table.info()).rejects.toMatchObject(NOT_FOUND)
  })

  test('makes room for another one', async () => {
    const { make } = await openLife({ tablesMax: 2 })
    const [first, second] = [await make('a'), await make('b')]
    await expect(make('c')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    await first.delete()
    const third = await make('c')
    await expect(make('d')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    await second.delete()
    await third.delete()
    await make('d')
    await make('e')
    await expect(make('f')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })

  test('is not made anew by a repeat of its create, and takes no repeat of an add', async () => {
    const { store, team, make } = await openLife()
    const create = { name: 'a', rows: [{ n: 1 }], idempotencyKey: 'one' }
    const { tableId } = await team.createTable(create)
    const add = (): Promise<unknown> =>
      team.table(tableId).addRows([{ n: 2 }], { idempotencyKey: 'two' })
    await add()
    await team.table(tableId).delete()
    await store.maintain()

    expect((await team.createTable(create)).tableId).toBe(tableId)
    await expect(add()).rejects.toMatchObject(NOT_FOUND)
    expect(await team.tableNames()).toEqual([])
    await make('b')
    await expectSound(store)
  })

  test('fails the jobs that are under way on it', async () => {
    const { team, make } = await openLife()
    const table = await make('a')
    await team.stash('s').put(0, [{ n: 3 }])
    const job = await team.startJob({ overwrite: { tableId: table.id, rows: team.stash('s') } })
    await table.delete()
    const status = await job.wait(60_000)

    if (status.status === 'succeeded') return // It came before.
    expect(status).toMatchObject({ status: 'failed', error: NOT_FOUND })
  })

  test.each([false, true])('ends beside changes in some order (shared: %s)', async (shared) => {
    const world = await EngineWorld.create()
    const [one, two] = [await world.open({}, shared), await world.open({}, shared)]
    const { tableId } = await one.store.team('t').createTable({ name: 'a', rows: [] })
    const tables = [one, shared ? two : one].map(({ store }) => store.team('t').table(tableId))
    const adds = tables.flatMap((table) =>
      Array.from(
        { length: 8 },
        (_, n) => () => table.addRows([{ n }], { onSchemaError: 'updateSchema' }),
      ),
    )
    const begun = adds.slice(0, 8).map((add) => add())
    const ended = tables[0]?.delete()
    const later = adds.slice(8).map((add) => add())
    const settled = await Promise.allSettled([...begun, ...later])
    await ended

    for (const add of settled) {
      if (add.status === 'rejected') expect(add.reason).toMatchObject(NOT_FOUND)
    }
    for (const table of tables) await expect(table.info()).rejects.toMatchObject(NOT_FOUND)
    await world.pass(5 * MINUTE_MS)
    await one.store.maintain()
    expect(await world.keys('t', KEY_SPACE.row)).toEqual([])
    expect(await world.keys('t', KEY_SPACE.deadTable)).toEqual([])
  })

  test('on a shared store is collected where a hint says so, but not while another process scans it', async () => {
    const world = await EngineWorld.create()
    const background = { maintenance: { garbageCollectionIntervalMs: MINUTE_MS }, orphanGraceMs: 0 }
    const [one, two] = [await world.open(background), await world.open(background)]
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ n }))
    const { tableId } = await one.store.team('t').createTable({ name: 'a', rows })
    await world.pass(5 * MINUTE_MS)
    const scan = two.store.team('t').table(tableId).scan()
    const first = await scan.next()
    await one.store.team('t').table(tableId).delete()
    await world.pass(10 * MINUTE_MS)
    expect(await world.keys('t', KEY_SPACE.deadTable)).toHaveLength(1)

    const { $rowID: _, ...cells } = first.value as RowWithId
    expect([cells, ...(await rowsOf(scan))]).toEqual(rows)
    await world.pass(10 * MINUTE_MS)
    for (const space of [KEY_SPACE.deadTable, KEY_SPACE.retirement, KEY_SPACE.extentPage]) {
      expect(await world.keys('t', space)).toEqual([])
    }
    await world.pass(20 * MINUTE_MS)
    expect(await world.listed()).toEqual([])
  })
})

describe('verify of a store with deleted tables', () => {
  test('names a dead table that has a head, and retired rows of no table', async () => {
    const { store, make, partition } = await openLife()
    const [table, other] = [await make('a'), await make('b')]
    const heads = await all(partition, KEY_SPACE.tableHead)
    await table.delete()
    const [[deadKey] = []] = await all(partition, KEY_SPACE.deadTable)
    if (deadKey === undefined) throw new Error('A deleted table is dead')
    const kindsOf = async (): Promise<unknown[]> => {
      return (await store.verify()).findings.map(({ kind, table: id }) => [kind, id])
    }
    expect(await kindsOf()).toEqual([])

    const [[, dead] = []] = await all(partition, KEY_SPACE.deadTable)
    await partition.commit({ deletes: [deadKey] })
    expect(await kindsOf()).toEqual([['orphan-record', table.id]])

    const deadKeys = heads.map(([key]) => key.with(0, KEY_SPACE.deadTable))
    await partition.commit({ puts: deadKeys.map((key) => [key, dead ?? new Uint8Array()]) })
    expect(await kindsOf()).toEqual([['record-mismatch', other.id]])
  })
})

describe('a team of which all is deleted', () => {
  test.each([false, true])('is empty, and can be used anew (shared: %s)', async (shared) => {
    const world = await EngineWorld.create()
    const { store } = await world.open({ orphanGraceMs: 0 }, shared)
    const [team, other] = [store.team('t'), store.team('other')]
    const rows = [{ n: 1 }, { n: 2 }]
    const kept = await other.createTable({ name: 'kept', rows })
    for (let i = 0; i < 60; i++) await team.createTable({ name: `${i}`, rows, receipt: true })
    await team.createTable({ name: 'keyed', rows, idempotencyKey: 'k' })
    for (const id of ['a', 'b']) await team.stash(id).put(0, rows)
    await team.startJob({ create: { name: 'by a job', rows } })
    const about = { fileName: 'x.txt', contentType: 'text/plain' }
    for (let i = 0; i < 3; i++) await team.files.put('bytes', about)
    await team.files.createUpload({ ...about, appId: 'a', owner: 'o' })
    await team.deleteAll()

    expect(await team.tables()).toEqual([])
    expect(await team.jobs()).toEqual([])
    await expect(team.createTable({ name: 'x', rows: team.stash('a') })).rejects.toMatchObject({
      code: 'STASH_NOT_FOUND',
    })
    const ofProcesses = [KEY_SPACE.writer, KEY_SPACE.duty, KEY_SPACE.workHint]
    for (const [name, space] of Object.entries(KEY_SPACE)) {
      if (ofProcesses.includes(space as never)) continue
      const isCount = space === KEY_SPACE.teamHead || space === KEY_SPACE.filesHead
      expect([name, (await world.keys('t', space)).length]).toEqual([name, isCount ? 1 : 0])
    }
    await world.pass(5 * MINUTE_MS)
    await store.maintain()
    await store.maintain()
    expect((await other.table(kept.tableId).info()).rowCount).toBe(2)
    await expectSound(store)
    const { tableId } = await team.createTable({ name: 'keyed', rows, idempotencyKey: 'k' })
    expect(await team.tableNames()).toEqual([{ id: tableId, name: 'keyed' }])
    await team.deleteAll()
    await team.deleteAll()
    expect(await team.tables()).toEqual([])
  })

  test.each([
    [1, 1],
    [1_000, 2],
  ])('takes a pass for as many results as it holds: %i take %i', async (count, wanted) => {
    const hooks = new Hooks()
    const kv = hookedKv(await openLevelKv(plainDatabase()), hooks, false)
    const sizes = { inlineRowsMax: 0, segmentRowsMax: 1 } // The result has the IDs of each segment.
    const store = await openStore({
      kv,
      objects: memoryObjects(),
      maintenance: { garbageCollectionIntervalMs: 0 },
      ...sizes,
    })
    onTestFinished(() => store.close())
    const [team, partition] = [store.team('t'), kv.partition('t')]
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ n }))
    const { tableId } = await team.createTable({ name: 'k', rows, idempotencyKey: 'k' })
    await team.table(tableId).delete()
    const [[key, value] = []] = await all(partition, KEY_SPACE.idempotency)
    if (key === undefined || value === undefined) throw new Error('The result is kept')
    const copies = Array.from({ length: count }, (_, i): [Uint8Array, Uint8Array] => {
      return [Uint8Array.of(...key, ...new TextEncoder().encode(String(i))), value]
    })
    await partition.commit({ puts: copies })
    expect(value.length).toBeGreaterThan(18_000)
    let passes = 0
    // A pass begins with the jobs, and ends with garbage collection, which reads them last.
    const scanned = async (): Promise<void> => {
      passes += 0.5
      hooks.beforeScanOf(KEY_SPACE.job, scanned)
    }
    hooks.beforeScanOf(KEY_SPACE.job, scanned)
    await team.deleteAll()

    expect(passes).toBe(wanted)
    expect(await all(partition, KEY_SPACE.idempotency)).toEqual([])
  })
})

const N = { id: 'n', type: { kind: 'number' } } as const
const S = { id: 's', type: { kind: 'string' } } as const
const X = { id: 'x', displayName: 'An X', type: { kind: 'boolean' } } as const

describe('a table whose columns change', () => {
  const rows = Array.from({ length: 12 }, (_, n) => ({ n, s: `row ${n}` }))

  test.each([0, 1_000])(
    'shows and hides cells in every read (inlineRowsMax: %i)',
    async (inlineRowsMax) => {
      const { store, make } = await openLife({
        inlineRowsMax,
        maintenance: { compactionRecordsMin: 1 },
      })
      const table = await make('a', rows)
      const ids = (await table.page()).rows.map(({ $rowID }) => $rowID)
      const shown = async (): Promise<unknown[]> => {
        const scanned = await rowsOf(table.scan())
        const single = await Promise.all(ids.map(async (id) => (await table.get(id))?.row))
        const found = single.slice(0, scanned.length).map((row) => {
          const { $rowID: _, ...cells } = row ?? { $rowID: '' }
          return cells
        })
        expect(scanned.slice(0, ids.length)).toEqual(found)
        return scanned
      }
      expect(await table.alter({ schema: { columns: [N, S, X] } })).toEqual({ version: 2 })
      expect(await table.schema()).toEqual({ columns: [N, S, X] })
      expect(await shown()).toEqual(rows)
      expect((await table.get(ids[0] ?? ''))?.version).toBe(1)
      await table.updateRow(ids[1] ?? '', { x: true })

      expect(await table.alter({ schema: { columns: [X, N] }, drop: ['s'] })).toEqual({
        version: 4,
      })
      const plain = rows.map(({ n }) => (n === 1 ? { n, x: true } : { n }))
      expect(await shown()).toEqual(plain)
      expect((await table.get(ids[0] ?? ''))?.version).toBe(4)
      await expect(table.addRows([{ s: 'x' }])).rejects.toMatchObject({
        code: 'COLUMN_ID_NOT_FOUND',
      })
      await table.updateRow(ids[2] ?? '', { n: 22 })
      await store.maintain() // compactions, too

      await table.alter({ schema: { columns: [X, N, S] } })
      const after = plain.map((row) => (row.n === 2 ? { n: 22 } : row))
      expect(await shown()).toEqual(after)
      await table.updateRow(ids[3] ?? '', { s: 'new' })
      await table.updateRow(ids[4] ?? '', { n: 44 })
      await table.addRows([{ n: 100, s: 'added' }])
      const last = after.map((row, i) =>
        i === 3 ? { ...row, s: 'new' } : i === 4 ? { n: 44 } : row,
      )
      for (let i = 0; i < 3; i++) {
        expect(await shown()).toEqual([...last, { n: 100, s: 'added' }])
        await store.maintain()
      }
      await table.alter({ schema: { columns: [N] }, drop: ['s', 'x'] })
      await table.addRows([{ n: 101, s: 'again' }], { onSchemaError: 'updateSchema' })
      const [numbers, hidden] = [last.map(({ n }) => ({ n })), { n: 100 }]
      expect(await shown()).toEqual([...numbers, hidden, { n: 101, s: 'again' }])
      expect(await table.count({ s: { isEmpty: false } })).toBe(1)
      expect(await table.count({ s: 'row 5' })).toBe(0)
      await expectSound(store)
      await table.overwrite({ rows: [{ n: 1, s: 'over' }] })
      expect(await rowsOf(table.scan())).toEqual([{ n: 1, s: 'over' }])
      await expectSound(store)
    },
  )

  test('keeps its types, and its version if nothing changes', async () => {
    const { make } = await openLife()
    const table = await make('a', rows)
    const schema = await table.schema()
    expect(await table.alter({ name: 'a', schema })).toEqual({ version: 1 })
    const wrong = { columns: [{ id: 'n', type: 'string' }] } as const
    await expect(table.alter({ schema: wrong })).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      column: 'n',
    })
    for (const request of [{}, { name: '' }, { schema: { columns: [N, N] } }, { rows: [] }]) {
      await expect(table.alter(request as never)).rejects.toThrow()
    }
    await expect(table.alter({ name: 'b', ifMatch: 0 })).rejects.toMatchObject({
      code: 'PRECONDITION_FAILED',
    })
    const change = { name: 'b', schema: { columns: [S] }, drop: ['n'], ifMatch: 1 }
    expect(await table.alter(change)).toEqual({ version: 2 })
    expect(await table.info()).toMatchObject({ name: 'b', schema: { columns: [S] }, version: 2 })
  })

  test('drops what is named, and lists what would be lost otherwise', async () => {
    const { make } = await openLife()
    const odd = { id: '$odd', type: { kind: 'string' } } as const
    const table = await make('a', [{ n: 1, s: 'x' }, { n: 2 }, { n: 3, s: 'y' }])
    await table.alter({ schema: { columns: [N, S, odd] } })
    const refused = [
      [
        [N],
        undefined,
        '"s" (cells that are not empty: 2), "$odd" (cells that are not empty: 0). Name',
      ],
      [[N], ['s'], 'would lose their cells: "$odd" (cells'],
      [
        [N, S],
        ['s', '$odd'],
        'drop names a column that is not dropped: the schema keeps column "s"',
      ],
      [
        [N, S],
        ['$odd', 'z'],
        'drop names a column that is not dropped: the table has no column "z"',
      ],
      [undefined, ['z'], 'the table has no column "z"'],
      [[N, S], 's', 'drop must be a list of column IDs, not "s"'],
      [[N, S], new Array(1), 'drop must be a list of column IDs, not '],
    ] as const
    for (const [columns, drop, message] of refused) {
      const request = { ...(columns && { schema: { columns } }), drop, name: 'b' } as never
      await expect(table.alter(request)).rejects.toMatchObject({
        code: 'REQUEST_VALIDATION_ERROR',
        message: expect.stringContaining(message),
      })
    }
    expect(await table.info()).toMatchObject({ name: 'a', version: 2 })
    expect(await rowsOf(table.scan())).toEqual([{ n: 1, s: 'x' }, { n: 2 }, { n: 3, s: 'y' }])
    await table.alter({ schema: { columns: [N] }, drop: ['$odd', 's'] })
    expect(await rowsOf(table.scan())).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  test('takes changes beside it in some order', async () => {
    const { store, make } = await openLife({ inlineRowsMax: 0 })
    const table = await make('a', rows)
    const ids = (await table.page()).rows.map(({ $rowID }) => $rowID)
    const settled = await Promise.allSettled([
      table.updateRow(ids[0] ?? '', { s: 'before or not at all' }),
      table.alter({ schema: { columns: [N] }, drop: ['s'] }),
      table.updateRow(ids[1] ?? '', { s: 'after: refused' }),
      table.addRows([{ n: 1, s: 'x' }]),
    ])
    expect(settled[1]?.status).toBe('fulfilled')
    for (const row of await rowsOf(table.scan())) expect(Object.keys(row as object)).toEqual(['n'])
    await expectSound(store)
  })
})
