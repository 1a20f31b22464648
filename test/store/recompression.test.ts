// Recompression: segments of some age are stored in a smaller form, and no read changes. The codec is deflate, which
// every runtime has.
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { decodeExtentPage } from '../../src/format/extent-page.js'
import { KEY_SPACE } from '../../src/format/keys.js'
import { SEGMENT_HEADER } from '../../src/format/segment-layout.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowWithId,
  type Stash,
  type Store,
  type StoreOptions,
  type Table,
} from '../../src/index.js'
import type { KvCommit, KvStore, ObjectStore } from '../../src/ports.js'
import { joinedMaintenance } from '../support/maintenance.js'
import { until } from '../support/until.js'

const MINUTE_MS = 60_000

const RECOMPRESSING = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
    jobIntervalMs: 0,
    recompressionIntervalMs: 0,
    recompressionAgeMs: 0,
  },
  compression: 'none',
  recompression: 'deflate',
  orphanGraceMs: 0,
  inlineRowsMax: 0,
} as const

const NONE = 0
const DEFLATE = 1

/** Called before a put of an object, or a commit, continues. */
type Hooks = {
  put: () => Promise<void> | void
  commit: (commit: KvCommit) => Promise<void> | void
  get: (id: string) => void
}

type Opened = Readonly<{
  store: Store
  hooks: Hooks
  objects: ObjectStore
  /** The time of the store. */
  clock: { time: number }
  reopen(options?: StoreOptions, versionBaseMin?: number): Promise<Store>
  /** The codecs of the first frames of all segments, from the oldest, and the segments' total bytes. */
  segments(): Promise<
    Readonly<{ codecs: readonly number[]; sizes: readonly number[]; bytes: number }>
  >
}>

async function open(options: StoreOptions = {}): Promise<Opened> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const objects = memoryObjects()
  const hooks: Hooks = { put: () => undefined, commit: () => undefined, get: () => undefined }
  const clock = { time: 1_000_000_000_000 }
  let last: Store | undefined
  const reopen = async (more: StoreOptions = {}, versionBaseMin = 0): Promise<Store> => {
    await last?.close()
    await database.open()
    const kv = hookedKv(await openLevelKv(database, { versionBaseMin }), hooks)
    const now = (): number => clock.time
    last = await openStore({
      ...{ ...RECOMPRESSING, clock: { now, monotonicMs: now }, ...options, ...more },
      ...{ kv, objects: hookedObjects(objects, hooks) },
      maintenance: joinedMaintenance(
        RECOMPRESSING.maintenance,
        options.maintenance,
        more.maintenance,
      ),
    })
    return last
  }
  const store = await reopen()
  onTestFinished(() => last?.close())
  return {
    ...{ store, hooks, objects, clock, reopen },
    async segments() {
      const found: Uint8Array[] = []
      for (const id of await objects.list(''))
        found.push(...segmentsIn((await objects.get(id)) ?? new Uint8Array()))
      return {
        codecs: found.map((bytes) => bytes[8] ?? -1),
        sizes: found.map(({ length }) => length),
        bytes: found.reduce((sum, { length }) => sum + length, 0),
      }
    },
  }
}

/** The segments of an object. It may be shared. */
function segmentsIn(object: Uint8Array): Uint8Array[] {
  const bytes = Buffer.from(object)
  const found: Uint8Array[] = []
  for (let start = 0; start < bytes.length; ) {
    const next = bytes.indexOf(SEGMENT_HEADER, start + 1)
    const end = next < 0 ? bytes.length : next
    found.push(bytes.subarray(start, end))
    start = end
  }
  return found
}

function hookedKv(kv: KvStore, hooks: Hooks): KvStore {
  const partition = kv.partition.bind(kv)
  return Object.assign(kv, {
    partition(name: string) {
      const inner = partition(name)
      return {
        ...{ read: inner.read.bind(inner), maintain: inner.deleteRange.bind(inner) },
        async commit(commit: KvCommit) {
          await hooks.commit(commit)
          return inner.commit(commit)
        },
      }
    },
  })
}

function hookedObjects(objects: ObjectStore, hooks: Hooks): ObjectStore {
  return {
    async put(id, content) {
      await hooks.put()
      return objects.put(id, content)
    },
    get(id, range, memory) {
      hooks.get(id)
      return objects.get(id, range, memory)
    },
    stream: (id, range) => objects.stream(id, range),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: async () => undefined,
  }
}

function rowsFrom(first: number, count: number): { n: number; text: string }[] {
  return Array.from({ length: count }, (_, i) => {
    const n = first + i
    return { n, text: `row ${n}: the quick brown fox jumps over the lazy dog. `.repeat(3) }
  })
}

async function listOf<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

function rowsOf(table: Table): Promise<RowWithId[]> {
  return listOf(table.scan())
}

async function stateOf(table: Table): Promise<unknown> {
  const rows = await rowsOf(table)
  const got = await Promise.all(rows.map(({ $rowID }) => table.get($rowID)))
  return { rows, got, version: await table.version() }
}

async function expectClean(store: Store): Promise<void> {
  expect(await store.verify({ full: true })).toMatchObject({ findings: [] })
}

/** A table of several segments, some of them compacted, with row records over their rows. */
async function makeTable(store: Store): Promise<Table> {
  const team = store.team('t')
  const { tableId } = await team.createTable({ name: 'x', rows: rowsFrom(0, 300) })
  const table = team.table(tableId)
  const { rowIds } = await table.addRows(rowsFrom(300, 200))
  for (const at of [1, 3, 5, 70]) await table.updateRow(rowIds.at(at) ?? '', { n: -at })
  for (const at of [2, 9]) await table.deleteRow(rowIds.at(at) ?? '')
  return table
}

describe('a recompression', () => {
  test('stores segments in less space, and changes nothing that can be read', async () => {
    const { store, segments } = await open({
      ...{ maintenance: { compactionRecordsMin: 3 }, segmentRowsMax: 100, valueFilters: true },
    })
    const table = await makeTable(store)
    const [first] = await rowsOf(table)
    await table.updateRow(first?.$rowID ?? '', { text: 'over the settled segment' })
    const before = [await stateOf(table), await segments()] as const

    expect(await store.maintain()).toMatchObject({ compactions: 1, recompressed: 5 })
    await store.maintain()

    const after = await segments()
    expect(await stateOf(table)).toEqual(before[0])
    expect([before[1].codecs, after.codecs]).toEqual([
      new Array(5).fill(NONE),
      new Array(5).fill(DEFLATE),
    ])
    expect(after.bytes).toBeLessThan(before[1].bytes / 2)
    expect((await listOf(table.find({ n: 250 }))).length).toBe(1)
    await expectClean(store)
    expect(await store.maintain()).toMatchObject({ compactions: 0, recompressed: 0, objects: 0 })
  })

  test('keeps the row IDs that an overwrite preserved', async () => {
    const { store } = await open({ segmentRowsMax: 50 })
    const table = await makeTable(store)
    const rows = (await rowsOf(table)).reverse()
    const stash = store.team('t').stash('s')
    await stash.put('0', rows)
    await store.maintain()
    await table.overwrite({ rows: stash })
    const before = await stateOf(table)

    expect(await store.maintain()).toMatchObject({ recompressed: 10 })

    expect(await stateOf(table)).toEqual(before)
    expect(((await rowsOf(table))[7] as RowWithId).$rowID).toBe(rows[7]?.$rowID)
    await store.maintain() // deletes the old objects
    await expectClean(store)
  })

  test('keeps the row IDs that staged rows claim, for the next overwrite with them', async () => {
    const { store } = await open({ segmentRowsMax: 50 })
    const table = await makeTable(store)
    const rows = (await rowsOf(table)).reverse()
    const stash = store.team('t').stash('s')
    await stash.put('0', rows)
    await store.maintain()
    await table.overwrite({ rows: stash })

    expect(await store.maintain()).toMatchObject({ recompressed: 10 })

    await table.overwrite({ rows: stash })
    expect(((await rowsOf(table))[7] as RowWithId).$rowID).toBe(rows[7]?.$rowID)
    await store.maintain() // deletes the old objects
    await expectClean(store)
  })

  test('swaps segments in the chunks of a stash too, which can be used and added to as before', async () => {
    const { store, segments, reopen } = await open({ segmentRowsMax: 100 })
    const team = store.team('t')
    const stash = team.stash('s')
    for (const at of [0, 1, 2]) await stash.put(String(at), rowsFrom(at * 300, 300))
    const { tableId } = await team.createTable({ name: 'staged', rows: stash })
    const table = team.table(tableId)
    const before = await stateOf(table)

    expect(await store.maintain()).toMatchObject({ recompressed: 9 })
    expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    expect((await segments()).codecs).toEqual(new Array(9).fill(DEFLATE))
    expect(await stateOf(table)).toEqual(before)
    await expectClean(store)

    await stash.put('3', rowsFrom(900, 10))
    await stash.put('1', rowsFrom(0, 1))
    const again = await reopen()
    const from = again.team('t').stash('s')
    const second = await again.team('t').createTable({ name: 'again', rows: from })
    expect(second.rowIds.length).toBe(611)
    const numbers = (await rowsOf(again.team('t').table(second.tableId))).map(({ n }) => n)
    const numbered = (start: number, count: number): number[] =>
      rowsFrom(start, count).map(({ n }) => n)
    expect(numbers).toEqual([
      ...[...numbered(0, 300), 0, ...numbered(600, 300), ...numbered(900, 10)],
    ])
    await from.delete()
    for (let i = 0; i < 4; i++) await again.maintain()
    await expectClean(again)
  })

  test('leaves the chunks of a stash that may have lost some', async () => {
    const { store, reopen } = await open()
    const stash = store.team('t').stash('s')
    await stash.put('0', rowsFrom(0, 300))
    await store.team('t').createTable({ name: 'staged', rows: stash })
    const again = await reopen({}, 2)

    expect(await again.maintain()).toMatchObject({ recompressed: 1 })
    const rows = again.team('t').stash('s')
    await expect(again.team('t').createTable({ name: 'lost', rows })).rejects.toMatchObject({
      code: 'STASH_NOT_FOUND',
    })
    await again.maintain()
    await expectClean(again)
  })

  test('keeps the files that rows name', async () => {
    const { store, clock, objects } = await open()
    const team = store.team('t')
    const about = { fileName: 'a.png', contentType: 'image/png' }
    const file = await team.files.put(new Uint8Array(10), about)
    const rows = rowsFrom(0, 100).map((row) => ({ ...row, file: `http://localhost/${file.id}` }))
    await team.createTable({ name: 'x', rows })
    expect(await store.maintain()).toMatchObject({ recompressed: 1 })
    await store.maintain()
    expect(await objects.list('')).toHaveLength(2)
    clock.time += 8 * 24 * 60 * MINUTE_MS // longer than a file without a row is kept

    for (let run = 0; run < 3; run++) expect(await store.maintain()).toMatchObject({ files: 0 })
    expect(await team.files.get(file.id)).not.toBeNull()
    await expectClean(store)
  })

  test('leaves rows of the past as they were', async () => {
    const { store } = await open({
      historyRetentionMs: 60 * MINUTE_MS,
      maintenance: { compactionRecordsMin: 2 },
    })
    const table = await makeTable(store)
    const version = await table.version()
    const past = await listOf((await table.at(3)).scan())
    await store.maintain()
    await table.merge({ rows: rowsFrom(290, 20), key: ['n'] })
    await store.maintain()

    expect(await listOf((await table.at(3)).scan())).toEqual(past)
    expect(await listOf((await table.at(version)).scan())).toHaveLength(498)
    await store.maintain()
    await expectClean(store)
  })

  test('waits until a segment has its age, and counts that of earlier openings from the present one', async () => {
    const { store, clock, reopen, segments } = await open({
      maintenance: { recompressionAgeMs: 10 * MINUTE_MS },
    })
    const table = await makeTable(store)
    expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    clock.time += 9 * MINUTE_MS
    await table.addRows(rowsFrom(900, 100))
    expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    clock.time += MINUTE_MS
    expect(await store.maintain()).toMatchObject({ recompressed: 2 })
    const again = await reopen()
    clock.time += 9 * MINUTE_MS
    expect(await again.maintain()).toMatchObject({ recompressed: 0 })
    clock.time += MINUTE_MS
    expect(await again.maintain()).toMatchObject({ recompressed: 1 })
    await again.maintain()
    expect((await segments()).codecs).not.toContain(NONE)
  })

  test('leaves what does not become smaller, and looks at no segment again', async () => {
    const { store, hooks, segments, reopen } = await open()
    const team = store.team('t')
    await team.createTable({ name: 'tiny', rows: [{ n: 1 }] })
    await team.createTable({ name: 'text', rows: rowsFrom(0, 100) })
    expect(await store.maintain()).toMatchObject({ recompressed: 1 })
    await store.maintain()
    expect((await segments()).codecs.toSorted()).toEqual([NONE, DEFLATE])

    const read = vi.fn()
    hooks.get = read
    expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    expect(await (await reopen()).maintain()).toMatchObject({ recompressed: 0 })
    expect(read).not.toHaveBeenCalled()
  })

  test('looks at the start of segments that are compressed, once', async () => {
    const { store, hooks, reopen } = await open({ compression: 'deflate' })
    await store.team('t').createTable({ name: 'x', rows: rowsFrom(0, 100) })
    const read = vi.fn()
    hooks.get = read
    for (let i = 0; i < 3; i++) expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    await (await reopen()).maintain()
    expect(read).toHaveBeenCalledTimes(1)
  })

  test.each([
    ['none', 'auto', NONE],
    ['none', 'none', NONE],
    ['auto', 'none', NONE],
  ] as const)(
    'does nothing with the options compression: %s and recompression: %s',
    async (compression, recompression, codec) => {
      const { store, segments } = await open({ compression, recompression })
      await store.team('t').createTable({ name: 'x', rows: rowsFrom(0, 100) })

      expect(await store.maintain()).toMatchObject({ recompressed: 0 })
      expect((await segments()).codecs).toEqual([codec])
    },
  )

  test('has nothing to do for short rows, which are compressed at once', async () => {
    const { store, segments } = await open({ compression: 'auto' })
    const team = store.team('t')
    const short = Array.from({ length: 2_000 }, (_, n) => ({ n, even: n % 2 === 0 }))
    await team.createTable({ name: 'short', rows: short })
    await team.createTable({ name: 'long', rows: rowsFrom(0, 200) })
    expect((await segments()).codecs).toEqual([DEFLATE, NONE])

    expect(await store.maintain()).toMatchObject({ recompressed: 1 })
  })

  test('leaves old objects to garbage collection, for readers that found them', async () => {
    const { store, clock, segments } = await open({ orphanGraceMs: MINUTE_MS, segmentRowsMax: 100 })
    const table = await makeTable(store)
    const before = await rowsOf(table)
    const scan = table.scan()[Symbol.asyncIterator]()
    const rows = [(await scan.next()).value as RowWithId]

    expect(await store.maintain()).toMatchObject({ recompressed: 5, objects: 0 })
    expect((await segments()).codecs).toHaveLength(10)
    for (let row = await scan.next(); !row.done; row = await scan.next()) rows.push(row.value)
    expect(rows).toEqual(before)
    clock.time += MINUTE_MS
    expect(await store.maintain()).toMatchObject({ recompressed: 0, objects: 5 })
  })
})

/** Whether a commit belongs to a recompression. A compaction swaps entries too. */
function isSwap({ checks = [], puts = [] }: KvCommit): boolean {
  const [put] = puts
  if (put?.[0][0] !== KEY_SPACE.extentPage || puts.length !== checks.length) return false
  return decodeExtentPage(put[1]).some(({ recompressed: settled }) => settled)
}

describe('a recompression, while others change the table,', () => {
  /** Changes between the put of a recompressed segment and the commit that swaps it. */
  const changes: Readonly<Record<string, (store: Store, table: Table) => Promise<unknown>>> = {
    'add rows': (_, table) => table.addRows(rowsFrom(2_000, 10)),
    'update rows': async (_, table) => {
      for (const { $rowID } of (await rowsOf(table)).slice(0, 5)) {
        await table.updateRow($rowID, { n: 7 })
      }
    },
    'delete rows': async (_, table) => {
      for (const { $rowID } of (await rowsOf(table)).slice(0, 90)) await table.deleteRow($rowID)
    },
    'overwrite it': (_, table) => table.overwrite({ rows: rowsFrom(5_000, 30) }),
    'delete it': (_, table) => table.delete(),
    'merge into it': (_, table) => {
      const rows = rowsFrom(0, 400).map((row) => ({ ...row, text: `merged ${row.n}`.repeat(9) }))
      return table.merge({ rows, key: ['n'] })
    },
    'add a column': (_, table) => {
      return table.addRows([{ n: 1, more: 'x' }], { onSchemaError: 'updateSchema' })
    },
    'change two tables in a transaction': (store, table) => {
      return store.team('t').transaction(async (t) => {
        const same = t.table(table.id)
        await same.addRows(rowsFrom(3_000, 3))
        await same.deleteRow((await rowsOf(table))[0]?.$rowID ?? '')
      })
    },
  }

  test.each(Object.entries(changes))('who %s, loses nothing', async (_, change) => {
    const options = {
      segmentRowsMax: 60,
      maintenance: { compactionRecordsMin: 2 },
      overwrittenRowsTtlMs: 0,
    }
    const [recompressed, other] = [await open(options), await open(options)]
    const table = await makeTable(recompressed.store)
    const twin = await makeTable(other.store)
    let isChanged = false
    recompressed.hooks.commit = async (commit) => {
      if (isChanged || !isSwap(commit)) return
      isChanged = true
      await change(recompressed.store, table)
    }
    await recompressed.store.maintain()
    expect(isChanged).toBe(true)
    for (let i = 0; i < 4; i++) {
      recompressed.clock.time += MINUTE_MS
      await recompressed.store.maintain()
    }
    await change(other.store, twin)

    const read = async (one: Table): Promise<unknown> => {
      return (await rowsOf(one)).map(({ $rowID: _, ...row }) => row)
    }
    const outcome = await read(table).catch((failure: { code: string }) => failure.code)
    expect(outcome).toEqual(await read(twin).catch((failure: { code: string }) => failure.code))
    const { codecs, sizes } = await recompressed.segments()
    expect(codecs.filter((codec, at) => codec !== DEFLATE && (sizes[at] ?? 0) > 1_000)).toEqual([])
    await expectClean(recompressed.store)
  })

  test('who keep it busy, comes to its end', async () => {
    const { store, hooks, segments } = await open({ segmentRowsMax: 60 })
    const table = await makeTable(store)
    let adds = 0
    hooks.commit = async (commit) => {
      if (!isSwap(commit)) return
      if (adds++ < 20) await table.addRows(rowsFrom(1_000 + adds, 1))
    }
    let runs = 0
    do await store.maintain()
    while ((await segments()).codecs.includes(NONE) && ++runs < 10)

    expect(adds).toBeGreaterThan(20)
    expect((await rowsOf(table)).length).toBe(498 + 20)
    await expectClean(store)
  })
})

describe('a recompression of staged segments', () => {
  const ROWS = rowsFrom(0, 400)

  async function openStaged(): Promise<Opened & Readonly<{ table: Table }>> {
    const opened = await open({ segmentRowsMax: 100 })
    const team = opened.store.team('t')
    await team.stash('s').put('0', ROWS)
    await team.stash('s').put('1', [{ n: -1, text: 'the last one' }])
    const { tableId } = await team.createTable({ name: 'first', rows: team.stash('s') })
    return { ...opened, table: team.table(tableId) }
  }

  /**
   * Changes of the stash between the put of a recompressed segment and the commit that swaps it, and its content
   * afterwards.
   */
  const changes: Readonly<Record<string, readonly [(stash: Stash) => Promise<unknown>, number[]]>> =
    {
      'is used': [async () => undefined, [...ROWS.map(({ n }) => n), -1]],
      'gets a chunk': [(stash) => stash.put('2', [{ n: 7 }]), [...ROWS.map(({ n }) => n), -1, 7]],
      'has its chunk replaced': [(stash) => stash.put('0', [{ n: 8 }]), [8, -1]],
      ends: [(stash) => stash.delete(), []],
      'ends and begins anew': [
        async (stash) => {
          await stash.delete()
          await stash.put('0', [{ n: 9 }])
        },
        [9],
      ],
    }

  test.each(Object.entries(changes))('loses nothing when the stash %s', async (_, change) => {
    const { store, hooks, table, segments } = await openStaged()
    const team = store.team('t')
    const [act, numbers] = change
    const before = await stateOf(table)
    let isChanged = false
    hooks.commit = async (commit) => {
      if (isChanged || !isSwap(commit)) return
      isChanged = true
      await act(team.stash('s'))
      if (numbers.length > 0) await team.createTable({ name: 'meanwhile', rows: team.stash('s') })
    }
    for (let i = 0; i < 4; i++) await store.maintain()

    expect(isChanged).toBe(true)
    expect(await stateOf(table)).toEqual(before)
    for (const { id, name } of (await team.tables()).slice(1)) {
      expect([name, (await rowsOf(team.table(id))).map(({ n }) => n)]).toEqual([name, numbers])
    }
    const { codecs, sizes } = await segments()
    expect(codecs.filter((codec, at) => codec !== DEFLATE && (sizes[at] ?? 0) > 1_000)).toEqual([])
    await expectClean(store)
  })

  test.each(['createTable', 'addRows', 'overwrite', 'put'] as const)(
    'refuses a %s that has read the stash before, which reads it again',
    async (call) => {
      const { store, hooks, table } = await openStaged()
      const team = store.team('t')
      const stash = team.stash('s')
      const use = {
        createTable: () => team.createTable({ name: 'second', rows: stash }),
        addRows: () => table.addRows(stash),
        overwrite: () => table.overwrite({ rows: stash }),
        put: () => stash.put('0', ROWS.slice(0, 5)),
      }
      let recompressed = 0
      hooks.commit = async () => {
        if (recompressed > 0) return
        hooks.commit = () => undefined
        recompressed = (await store.maintain()).recompressed
        await store.maintain() // deletes what no record names
      }
      await use[call]()
      for (let i = 0; i < 3; i++) await store.maintain()

      expect(recompressed).toBe(5)
      const { tableId } = await team.createTable({ name: 'third', rows: stash })
      const expected = {
        createTable: [401, 401, 401],
        addRows: [802, 401],
        overwrite: [401, 401],
        put: [401, 6],
      }
      const counts: number[] = []
      for (const { id } of await team.tables()) counts.push((await rowsOf(team.table(id))).length)
      expect([tableId, counts]).toEqual([expect.any(String), expected[call]])
      await expectClean(store)
    },
  )

  test('ends whole or not at all', async () => {
    const { store, hooks, reopen, table, segments } = await openStaged()
    const before = await stateOf(table)
    hooks.commit = (commit) => {
      if (isSwap(commit)) throw new Error('the power is off')
    }
    await expect(store.maintain()).rejects.toThrow('the power is off')
    hooks.commit = () => undefined

    const again = await reopen()
    expect(await stateOf(again.team('t').table(table.id))).toEqual(before)
    for (let i = 0; i < 3; i++) await again.maintain()
    expect((await segments()).codecs.filter((codec) => codec === NONE)).toHaveLength(1) // the short chunk
    await expectClean(again)
  })
})

describe('a recompression of small segments', () => {
  const CHUNKS = 12

  /** A table of chunks. If they came at once, some of them share objects. */
  async function openSmall(isAtOnce: boolean): Promise<Opened & Readonly<{ table: Table }>> {
    const opened = await open()
    const team = opened.store.team('t')
    const putting: Promise<unknown>[] = []
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      const put = team.stash('s').put(String(chunk), rowsFrom(chunk * 50, 50))
      if (isAtOnce) putting.push(put)
      else await put
    }
    await Promise.all(putting)
    const { tableId } = await team.createTable({ name: 'small', rows: team.stash('s') })
    return { ...opened, table: team.table(tableId) }
  }

  test.each([
    ['that share objects', true],
    ['that have objects of their own', false],
  ])('%s become one object', async (_, isAtOnce) => {
    const { store, objects, segments, table } = await openSmall(isAtOnce)
    const [before, count] = [await stateOf(table), (await objects.list('')).length]
    expect(count < CHUNKS).toBe(isAtOnce)

    expect(await store.maintain()).toMatchObject({ recompressed: CHUNKS })
    expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    expect(await objects.list('')).toHaveLength(1)
    expect((await segments()).codecs).toEqual(new Array(CHUNKS).fill(DEFLATE))
    expect(await stateOf(table)).toEqual(before)
    const rows = store.team('t').stash('s')
    const { rowIds } = await store.team('t').createTable({ name: 'again', rows })
    expect(rowIds.length).toBe(CHUNKS * 50)
    await expectClean(store)
  })

  const deflateThere = promisify(deflateRaw)

  /** Waits until other threads, which take work in order, have compressed the previous segments. */
  async function handedIn(): Promise<void> {
    for (let turn = 0; turn < 200; turn++) await deflateThere(new Uint8Array(50_000))
  }

  type Rows = readonly Readonly<{ n: number; text: string }>[]

  /** Rows that are compressed as they are written. */
  function shortRows(text: number): Rows {
    return Array.from({ length: 40 }, (_, n) => ({ n, text: `${text}` }))
  }

  /** Rows that compression shrinks by at most half, for chunks of about 40 KB. */
  function denseRows(chunk: number): Rows {
    return Array.from({ length: 30 }, (_, at) => {
      const hash = createHash('sha512').update(`${chunk} ${at}`)
      const bytes = Array.from({ length: 10 }, (_, part) =>
        hash.copy().update(`${part}`).digest('hex'),
      )
      return { n: at, text: bytes.join('') }
    })
  }

  /** Stages chunks at once, while the put of another one waits: they share an object, and the other has its own. */
  async function stageTogether(
    { store, hooks }: Opened,
    chunks: readonly Readonly<{ stash: string; serial: number; rows: Rows }>[],
  ): Promise<void> {
    const team = store.team('t')
    const isPutting = new Promise<void>((resolve) => {
      hooks.put = async () => {
        hooks.put = () => undefined
        resolve()
        await handedIn()
      }
    })
    const first = team.stash('waits').put('0', [{ n: 0 }])
    await isPutting
    await Promise.all(chunks.map(({ stash, serial, rows }) => team.stash(stash).put(serial, rows)))
    await first
    await team.stash('waits').delete()
    for (let run = 0; run < 2; run++) await store.maintain() // marks the first one, and deletes it
  }

  test('moves those that are compressed too, as their objects would stay because of them', async () => {
    const opened = await open({
      compression: 'auto',
      maintenance: { recompressionAgeMs: MINUTE_MS },
    })
    const { store, objects, segments, clock } = opened
    const team = store.team('t')
    const rows = [rowsFrom(0, 50), shortRows(1), rowsFrom(50, 50), shortRows(3)]
    await stageTogether(
      opened,
      rows.map((rows, serial) => ({ stash: 's', serial, rows })),
    )
    expect(await objects.list('')).toHaveLength(1)
    const { tableId } = await team.createTable({ name: 'mixed', rows: team.stash('s') })
    const before = await stateOf(team.table(tableId))
    const { codecs, bytes } = await segments()
    expect(codecs.toSorted()).toEqual([NONE, NONE, DEFLATE, DEFLATE])

    clock.time += MINUTE_MS
    expect(await store.maintain()).toMatchObject({ recompressed: 4 })
    await store.maintain()
    expect(await objects.list('')).toHaveLength(1)
    expect((await segments()).bytes).toBeLessThan(bytes / 2)
    expect(await stateOf(team.table(tableId))).toEqual(before)
    await expectClean(store)
  })

  test('that two tables have in one object moves those of both', async () => {
    const opened = await open({ compression: 'auto' })
    const { store, objects, segments } = opened
    const team = store.team('t')
    const chunks = [0, 1, 2, 3].map((at) => {
      return at % 2 === 0
        ? { stash: 'raw', serial: at, rows: rowsFrom(50 * at, 50) }
        : { stash: 'packed', serial: at, rows: shortRows(at) }
    })
    await stageTogether(opened, chunks)
    const made = ['packed', 'raw'].map((name) => team.createTable({ name, rows: team.stash(name) }))
    const tables = (await Promise.all(made)).map(({ tableId }) => team.table(tableId))
    const before = await Promise.all(tables.map(stateOf))
    const { bytes } = await segments()

    expect(await store.maintain()).toMatchObject({ recompressed: 4 })
    await store.maintain()
    expect(await objects.list('')).toHaveLength(1)
    expect((await segments()).bytes).toBeLessThan(bytes / 2)
    expect(await Promise.all(tables.map(stateOf))).toEqual(before)
    await expectClean(store)
  })

  test('leaves those of an object that has others too, which would stay beside their copies', async () => {
    const opened = await open()
    const { store, objects, segments } = opened
    const team = store.team('t')
    const chunks = ['used', 'staged'].map((stash, at) => ({
      stash,
      serial: 0,
      rows: rowsFrom(at, 50),
    }))
    await stageTogether(opened, chunks)
    await team.createTable({ name: 'used', rows: team.stash('used') })
    const before = [await segments(), await objects.list('')]

    for (let run = 0; run < 3; run++)
      expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    expect([await segments(), await objects.list('')]).toEqual(before)
  })

  test('of very many tables in one object stay one object', async () => {
    const opened = await open()
    const { store, objects, segments } = opened
    const team = store.team('t')
    const names = Array.from({ length: 150 }, (_, at) => `table-${at}`)
    await stageTogether(
      opened,
      names.map((stash, at) => ({ stash, serial: 0, rows: rowsFrom(at, 12) })),
    )
    for (const name of names) await team.createTable({ name, rows: team.stash(name) })
    const before = [await segments(), await objects.list('')]
    expect(await objects.list('')).toHaveLength(1)

    for (let run = 0; run < 3; run++)
      expect(await store.maintain()).toMatchObject({ recompressed: 0 })
    expect([await segments(), await objects.list('')]).toEqual(before)
    await expectClean(store)
  })

  test('of more bytes than are stored at once leave none of their objects behind', async () => {
    const opened = await open({ compression: 'auto' })
    const { store, objects, segments } = opened
    const team = store.team('t')
    for (let burst = 0; burst < 3; burst++) {
      const chunks = Array.from({ length: 20 }, (_, at) => {
        const serial = 20 * burst + at
        return { stash: 's', serial, rows: at < 5 ? shortRows(serial) : denseRows(serial) }
      })
      await stageTogether(opened, chunks)
    }
    const { tableId } = await team.createTable({ name: 'large', rows: team.stash('s') })
    const [before, ids] = [await segments(), await objects.list('')]
    expect([before.bytes > 3 * 512 * 1024, before.codecs.includes(NONE)]).toEqual([true, true])
    const state = await stateOf(team.table(tableId))

    expect(await store.maintain()).toMatchObject({ recompressed: 60 })
    await store.maintain()
    const [after, now] = [await segments(), await objects.list('')]
    expect(after.codecs).toEqual(new Array(60).fill(DEFLATE))
    expect(after.bytes).toBeLessThan(before.bytes * 0.7)
    expect(now.filter((id) => ids.includes(id))).toEqual([])
    expect(now.length).toBeLessThanOrEqual(ids.length)
    expect(await stateOf(team.table(tableId))).toEqual(state)
    await expectClean(store)
  })

  test('that two tables name is rewritten once, and both name the new one', async () => {
    const { store, segments } = await open()
    const team = store.team('t')
    const stash = team.stash('s')
    await stash.put(0, denseRows(0))
    for (const name of ['a', 'b']) await team.createTable({ name, rows: stash })
    const { bytes } = await segments()

    expect(await store.maintain()).toMatchObject({ recompressed: 1 })
    await store.maintain()
    expect((await segments()).codecs).toEqual([DEFLATE])
    expect((await segments()).bytes).toBeLessThan(bytes)
    await expectClean(store)
  })

  test('keep no more memory than they need', async () => {
    const { store } = await open()
    const team = store.team('t')
    for (let at = 0; at < 200; at++) await team.stash('s').put(at, rowsFrom(at, 8))
    await team.createTable({ name: 'many', rows: team.stash('s') })
    const before = store.memory().bufferBytes

    expect(await store.maintain()).toMatchObject({ recompressed: 200 })
    // As many as a recompression uses at a time, not one per segment.
    expect(store.memory().bufferBytes - before).toBeLessThan(1024 * 1024)
  })

  /** Changes one byte of the segment with some codec in the only object, and opens the store again. */
  async function damageOne({ store, objects, reopen }: Opened, codec: number) {
    const failures: unknown[] = []
    await store.close()
    const [id = '', ...others] = await objects.list('')
    expect(others).toEqual([])
    const bytes = ((await objects.get(id)) ?? new Uint8Array()).slice()
    const found = segmentsIn(bytes)
    const damaged = found.findIndex((segment) => segment[8] === codec)
    expect(damaged).toBeGreaterThanOrEqual(0)
    const at = found.slice(0, damaged).reduce((sum, { length }) => sum + length, 20)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    await objects.delete([id])
    await objects.put(id, bytes)
    const again = await reopen({ onBackgroundFailure: (...failure) => failures.push(failure) })
    return { again, failures }
  }

  test.each([
    ['not compressed', NONE],
    ['compressed, and would only be moved', DEFLATE],
  ])('one of which is damaged, %s, reports it once, and leaves their object', async (_, codec) => {
    const opened = await open({ compression: 'auto' })
    const { objects, segments } = opened
    const rows = [rowsFrom(0, 50), shortRows(1), rowsFrom(50, 50)]
    await stageTogether(
      opened,
      rows.map((rows, serial) => ({ stash: 's', serial, rows })),
    )
    const { again, failures } = await damageOne(opened, codec)
    const team = again.team('t')
    const { tableId } = await team.createTable({ name: 'damaged', rows: team.stash('s') })
    const before = await objects.list('')
    await team.createTable({ name: 'sound', rows: rowsFrom(0, 100) })
    const { bytes } = await segments()

    expect(await again.maintain()).toMatchObject({ recompressed: 1 })
    for (let run = 0; run < 2; run++)
      expect(await again.maintain()).toMatchObject({ recompressed: 0 })
    expect(failures).toEqual([[expect.objectContaining({ code: 'DATA_CORRUPT' }), 'recompression']])
    expect(await objects.list('')).toHaveLength(2)
    expect(await objects.list('')).toEqual(expect.arrayContaining(before))
    expect((await segments()).bytes).toBeLessThan(bytes)
    await expect(rowsOf(team.table(tableId))).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    expect((await again.verify({ full: true })).findings).toHaveLength(2) // in the table and in the stash
  })

  test('leaves nothing pending when their put fails', async () => {
    const { store, hooks, objects, table } = await openSmall(true)
    const before = [await stateOf(table), await objects.list('')]
    hooks.put = () => Promise.reject(new Error('the disk is full'))
    await expect(store.maintain()).rejects.toThrow('the disk is full')
    hooks.put = () => undefined

    expect([await stateOf(table), await objects.list('')]).toEqual(before)
    expect(await store.maintain()).toMatchObject({ recompressed: CHUNKS })
    await store.maintain()
    expect(await objects.list('')).toHaveLength(1)
    await expectClean(store)
  })
})

describe('a recompression that does not come to its end', () => {
  test('leaves the segments as they were, and objects that garbage collection deletes', async () => {
    const { store, hooks, reopen, segments } = await open({ segmentRowsMax: 100 })
    const table = await makeTable(store)
    const before = await stateOf(table)
    hooks.commit = ({ puts = [] }) => {
      if (puts[0]?.[0][0] === 5) throw new Error('the power is off')
    }
    await expect(store.maintain()).rejects.toThrow('the power is off')
    expect((await segments()).codecs.toSorted()).toEqual([
      ...new Array(5).fill(NONE),
      ...new Array(5).fill(DEFLATE),
    ])
    hooks.commit = () => undefined

    const again = await reopen()
    expect(await stateOf(again.team('t').table(table.id))).toEqual(before)
    await again.maintain()
    await again.maintain()
    expect((await segments()).codecs).toEqual(new Array(5).fill(DEFLATE))
    await expectClean(again)
  })

  test('because a segment is damaged, reports it once and goes on with the others', async () => {
    const failures: unknown[] = []
    const { store, objects, segments } = await open({
      ...{ segmentRowsMax: 100, onBackgroundFailure: (...failure) => failures.push(failure) },
    })
    await makeTable(store)
    const [id = ''] = await objects.list('')
    const bytes = ((await objects.get(id)) ?? new Uint8Array()).slice()
    bytes[500] = (bytes[500] ?? 0) ^ 1
    await objects.delete([id])
    await objects.put(id, bytes)

    expect(await store.maintain()).toMatchObject({ recompressed: 4 })
    await store.maintain()

    expect(failures).toEqual([[expect.objectContaining({ code: 'DATA_CORRUPT' }), 'recompression']])
    expect((await segments()).codecs).toEqual([NONE, ...new Array(4).fill(DEFLATE)])
    expect(await objects.get(id)).toEqual(bytes)
  })
})

describe('in the background, a recompression', () => {
  const SLOW = {
    maintenance: { recompressionIntervalMs: 1, recompressionBytesPerSecond: 64 * 1024 },
    segmentRowsMax: 100,
  }

  test('keeps to its pace, and ends when the store closes', async () => {
    const { store, hooks, segments, reopen } = await open({ ...SLOW, segmentRowsMax: 65_536 })
    const put = new Promise<void>((resolve) => {
      hooks.put = () => void (settling && resolve())
    })
    let settling = false
    const team = store.team('t')
    // The second of them waits for some seconds.
    for (const name of ['a', 'b']) await team.createTable({ name, rows: rowsFrom(0, 4_000) })
    settling = true
    await put
    await reopen({ maintenance: { recompressionIntervalMs: 0 } })

    expect((await segments()).codecs.toSorted()).toEqual([NONE, NONE, DEFLATE])
  })

  test('waits no longer when a caller asks for a garbage collection', async () => {
    const { store, segments } = await open({ ...SLOW, segmentRowsMax: 1_000 })
    await store.team('t').createTable({ name: 'a', rows: rowsFrom(0, 4_000) })
    await until(async () => (await segments()).codecs.includes(DEFLATE))
    await store.maintain()
    await store.maintain()

    expect((await segments()).codecs).not.toContain(NONE)
  })

  test('is counted and reported', async () => {
    const events: unknown[] = []
    const { store } = await open({ onEvent: (event) => events.push(event) })
    await makeTable(store)
    await store.maintain()

    const [event] = events.filter((one) => (one as { name: string }).name === 'recompression')
    const number = expect.any(Number)
    expect(event).toEqual({
      ...{
        name: 'recompression',
        segments: 2,
        bytesBefore: number,
        bytesAfter: number,
        ms: number,
      },
    })
    const { bytesBefore, bytesAfter } = event as { bytesBefore: number; bytesAfter: number }
    expect(bytesAfter).toBeLessThan(bytesBefore / 2)
    expect(store.activity().recompressed).toBe(2)
  })
})
