// Goal: a store counts exactly what it does, and reports it as events. A failure of the host's handler does no harm.
import { MemoryLevel } from 'memory-level'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  memoryObjects,
  openLevelKv,
  openMemory,
  openStore,
  type StoreEvent,
  type StoreOptions,
} from '../../src/index.js'
import { until } from '../support/until.js'

async function open(options: StoreOptions = {}) {
  const events: StoreEvent[] = []
  const onEvent = (event: StoreEvent): void => void events.push(event)
  const store = await openMemory({ maintenance: false, onEvent, ...options })
  onTestFinished(() => store.close())
  const named = <N extends StoreEvent['name']>(name: N) =>
    events.filter((event): event is Extract<StoreEvent, { name: N }> => event.name === name)
  return { store, team: store.team('team'), named }
}

async function* piecesOf(...texts: string[]): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (const text of texts) yield new TextEncoder().encode(text)
}

test('rows are counted when they arrive and when they are read, by every way', async () => {
  const { store, team } = await open({ pageRowsMax: 3 })
  const { tableId } = await team.createTable({ name: 'T', rows: [{ a: 1 }, { a: 2 }] })
  const table = team.table(tableId)
  await table.addRows({ csv: 'a\n3\n4\n' })
  const stash = team.stash('s')
  await stash.put('0', { json: new TextEncoder().encode('[{"a":5}]') })
  await table.addRows(stash)
  expect(store.activity()).toMatchObject({ rowsIn: 5, rowsOut: 0 })

  const first = await table.page()
  expect(store.activity().rowsOut).toBe(3)
  for await (const _ of table.scan());
  expect(store.activity().rowsOut).toBe(8)
  const opened = await table.openPage()
  await opened.piece({ bytes: 1_024, memoryBytes: 1024 * 1024 })
  expect(store.activity().rowsOut).toBe(11)

  const rowId = first.rows[0]?.$rowID ?? ''
  await table.get(rowId)
  await table.get('no-row')
  await table.updateRow(rowId, { a: 9 })
  expect(store.activity()).toMatchObject({ rowsIn: 6, rowsOut: 12 })
})

test('a page that is read in pieces counts each row once', async () => {
  const { store, team } = await open()
  const rows = Array.from({ length: 500 }, (_, a) => ({ a, text: 'x'.repeat(20) }))
  const { tableId } = await team.createTable({ name: 'T', rows })
  const page = await team.table(tableId).openPage()
  let pieces = 0
  for (let start: Parameters<typeof page.piece>[0]['start'], more = true; more; pieces++) {
    const piece = await page.piece({ start, bytes: 2_048, memoryBytes: 4 * 1024 * 1024 })
    if ('needs' in piece) throw new Error('the memory is enough')
    start = piece.next
    more = start !== undefined
  }

  expect(pieces).toBeGreaterThan(2)
  expect(store.activity().rowsOut).toBe(500)
})

test('commits are counted with their groups, and each group is an event', async () => {
  const events: Extract<StoreEvent, { name: 'commit' }>[] = []
  const onEvent = (event: StoreEvent): void => {
    if (event.name === 'commit') events.push(event)
  }
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const store = await openStore({ kv, objects: memoryObjects(), maintenance: false, onEvent })
  onTestFinished(() => store.close())
  await store.team('t').createTable({ name: 'T', rows: [{ a: 1 }] })
  for (const size of [1, 2, 3, 5, 16]) {
    const commits = Array.from({ length: size }, (_, n) => {
      const [key, value] = [Uint8Array.of(0xfe, n), Uint8Array.of(n)] as const
      return kv.partition('p').commit({ puts: [[key, value]], deletes: [Uint8Array.of(0xff, n)] })
    })
    await Promise.all(commits)
  }
  const { commits, groupSizes, bytesWritten } = store.activity()

  const sum = (of: (event: (typeof events)[number]) => number): number =>
    events.reduce((total, event) => total + of(event), 0)
  expect(commits).toBe(sum((event) => event.commits))
  expect(commits).toBeGreaterThanOrEqual(27)
  expect(bytesWritten.records).toBe(sum(({ bytes }) => bytes))
  expect(sum(({ records }) => records)).toBeGreaterThan(commits)
  expect(groupSizes.map(({ max }) => max)).toEqual([
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    128,
    256,
    Number.POSITIVE_INFINITY,
  ])
  for (const [index, { max, count }] of groupSizes.entries()) {
    const least = groupSizes[index - 1]?.max ?? 0
    const inClass = events.filter(({ commits: size }) => size > least && size <= max)
    expect(count, `groups of up to ${max}`).toBe(inClass.length)
  }
  expect(Math.max(...events.map((event) => event.commits))).toBe(16)
})

test('compactions, garbage collections and what they delete are counted', async () => {
  const { store, team, named } = await open({
    maintenance: { compactionRecordsMin: 1 },
    inlineRowsMax: 0,
    orphanGraceMs: 0,
  })
  const { tableId } = await team.createTable({ name: 'T', rows: [{ a: 1 }, { a: 2 }] })
  const table = team.table(tableId)
  const rowId = (await table.page()).rows[0]?.$rowID ?? ''
  await table.updateRow(rowId, { a: 7 })
  const before = store.activity().bytesWritten.segments
  const reports = [await store.maintain(), await store.maintain(), await store.maintain()]
  const { compactions, collections, collected, bytesWritten } = store.activity()

  expect(compactions).toBe(1)
  expect(named('compaction')).toEqual([
    { name: 'compaction', compactions: 1, ms: expect.any(Number) },
  ])
  expect(bytesWritten.segments).toBeGreaterThan(before)
  expect(collections).toBe(6) // of tables and of files
  expect(collected.objects).toBe(reports.reduce((sum, { objects }) => sum + objects, 0))
  expect(collected.objects).toBe(1)
  expect(named('garbageCollection').filter((event) => event.collected.objects === 1).length).toBe(1)
})

test('bytes are counted by kind, and lookups by cache', async () => {
  const { store, team } = await open()
  const rows = Array.from({ length: 3_000 }, (_, a) => ({ a }))
  const { tableId } = await team.createTable({ name: 'T', rows })
  await team.files.put(piecesOf('a file', ' of 15 bytes'), {
    fileName: 'a.txt',
    contentType: 'text/plain',
  })
  const table = team.table(tableId)
  const rowId = (await table.page({ limit: 1 })).rows[0]?.$rowID ?? ''
  for (let count = 0; count < 5; count++) await table.get(rowId)
  const { bytesWritten, segmentBytesRead, caches } = store.activity()

  expect(bytesWritten.segments).toBeGreaterThan(1_000)
  expect(bytesWritten.files).toBeGreaterThanOrEqual(15)
  expect(segmentBytesRead).toBeGreaterThan(0)
  const names = store.memory().caches.map(({ name }) => name)
  expect(caches.map(({ name }) => name).sort()).toEqual(names.sort())
  const hot = caches.find(({ name }) => name === 'hotRows')
  expect(hot?.hits).toBe(3) // The second read caches the row.
})

test('each cache counts its lookups: those that found an entry, and those that did not', async () => {
  const { store, team } = await open()
  const rows = Array.from({ length: 3_000 }, (_, a) => ({ a }))
  const { tableId, rowIds } = await team.createTable({ name: 'T', rows })
  const table = team.table(tableId)
  const grown = async (work: () => Promise<unknown>): Promise<Record<string, number[]>> => {
    const before = store.activity().caches
    await work()
    const after = store.activity().caches.map(({ name, hits, misses }, index) => {
      const { hits: hitsBefore = 0, misses: missesBefore = 0 } = before[index] ?? {}
      return [name, [hits - hitsBefore, misses - missesBefore]]
    })
    return Object.fromEntries(after)
  }
  await table.get(rowIds.get(0)) // The head of a table read since the last commit is cached.
  const seen = await grown(async () => {
    for (let row = 1; row <= 5; row++) await table.get(rowIds.get(row))
  })
  expect(seen).toMatchObject({ pointReads: [5, 0], extents: [5, 0], heads: [0, 0] })

  const committed = await grown(async () => {
    await team.createTable({ name: 'U', rows: [] })
    await table.get(rowIds.get(6)) // Any commit invalidates what was cached.
    await table.version()
  })
  expect(committed).toMatchObject({ pointReads: [0, 1], heads: [2, 0] })

  const file = { fileName: 'a.txt', contentType: 'text/plain' }
  const first = await grown(() => team.files.put(piecesOf('a'), file))
  const second = await grown(() => team.files.put(piecesOf('b'), file))
  expect(first['aliases']?.[1]).toBeGreaterThan(0)
  expect(second['aliases']?.[0]).toBeGreaterThan(0)
  expect(second['aliases']?.[1]).toBe(0)
})

test('a garbage collection reports the bytes held, counting each object once', async () => {
  const { store, team } = await open({ orphanGraceMs: 0 })
  expect(store.activity().bytesHeld).toBeUndefined()
  const rows = Array.from({ length: 3_000 }, (_, a) => ({ a }))
  const stash = team.stash('s')
  await stash.put(0, rows)
  await store.maintain()
  const staged = store.activity().bytesHeld
  expect(staged).toEqual({ rows: 0, stashes: expect.any(Number), files: 0, uploads: 0 })
  expect(staged?.stashes).toBe(store.activity().bytesWritten.segments)

  await team.createTable({ name: 'T', rows: stash })
  await team.files.put(piecesOf('a file', ' of 17 bytes'), {
    fileName: 'a.txt',
    contentType: 'text/plain',
  })
  await store.maintain()
  const held = { rows: staged?.stashes, stashes: 0, files: 18, uploads: 0 }
  expect(store.activity().bytesHeld).toEqual(held)
  await stash.delete()
  await store.maintain()
  expect(store.activity().bytesHeld).toEqual(held)
})

test('a job is running until its end, which is an event', async () => {
  const { store, team, named } = await open()
  const job = await team.startJob({ create: { name: 'T', rows: [{ a: 1 }] } })
  expect(store.activity().jobsRunning).toBe(1)
  await job.wait(60_000)
  const missing = await team.startJob({ create: { name: 'U', rows: team.stash('none') } })
  await missing.wait(60_000)
  await until(() => store.activity().jobsRunning === 0)

  expect(named('job')).toEqual([
    { name: 'job', teamId: 'team', jobId: job.id, outcome: 'succeeded', ms: expect.any(Number) },
    { name: 'job', teamId: 'team', jobId: missing.id, outcome: 'failed', ms: expect.any(Number) },
  ])
})

test.each([
  ['throws', () => never()],
  ['rejects', async () => never()],
])('an onEvent that %s fails no commit, and is a warning once', async (_, onEvent) => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => warn.mockRestore())
  const { store, team } = await open({ onEvent })
  const { tableId } = await team.createTable({ name: 'T', rows: [{ a: 1 }] })
  await team.table(tableId).addRows([{ a: 2 }])
  await new Promise((turned) => setImmediate(turned))

  expect((await team.table(tableId).page()).rows.length).toBe(2)
  expect(store.status()).toEqual({ writable: true })
  expect(warn.mock.calls.map(([message]) => message)).toEqual([
    'onEvent failed: of the host (further failures are not reported)',
  ])
})

test('an onBackgroundFailure that throws leaves no job behind', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  onTestFinished(() => warn.mockRestore())
  const sources = { fetch: async () => never() }
  const { store, team } = await open({ sources, onBackgroundFailure: () => never() })

  const job = await team.startJob({ import: { fromUrl: 'http://source.test/rows.csv' } })

  expect(await job.wait()).toMatchObject({ status: 'failed' })
  await vi.waitFor(() => expect(store.activity().jobsRunning).toBe(0))
  expect(warn).toHaveBeenCalledTimes(1)
})

function never(): never {
  throw new Error('of the host')
}

test('a key-value store that reports no groups counts no commits', async () => {
  const level = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const { shared } = level
  const kv = {
    shared,
    partition: (name: string) => level.partition(name),
    close: () => level.close(),
  }
  const store = await openStore({ kv, objects: memoryObjects(), maintenance: false })
  onTestFinished(() => store.close())
  await store.team('t').createTable({ name: 'T', rows: [{ a: 1 }] })
  const { commits, caches } = store.activity()

  expect(commits).toBe(0)
  expect(caches.some(({ name }) => name === 'records')).toBe(false)
})

test('it is known when maintenance and backups last ended, and only those that ended', async () => {
  let now = 1_000
  const { store, team } = await open({ clock: { now: () => now } })
  await team.createTable({ name: 'T', rows: [{ a: 1 }] })
  expect(store.activity().endedAt).toEqual({})
  for await (const _ of store.backup()) break
  expect(store.activity().endedAt).toEqual({})

  for await (const _ of store.backup());
  expect(store.activity().endedAt).toEqual({ backup: 1_000 })
  now = 2_000
  await store.maintain()
  expect(store.activity().endedAt).toMatchObject({
    backup: 1_000,
    garbageCollection: 2_000,
    compaction: 2_000,
  })
})
