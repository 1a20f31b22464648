// Small chunks that arrive at the same time share an object: an operation on one leaves the others unchanged.
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toHex } from '../../src/base/bytes.js'
import { decodeChunkSegments } from '../../src/format/chunk-records.js'
import { decodeExtentPage, type SegmentRef } from '../../src/format/extent-page.js'
import { KEY_SPACE, stashHeadKey } from '../../src/format/keys.js'
import { storedIn } from '../../src/format/shared-objects.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  restoreBackup,
  type Store,
  StoreError,
  type StoreOptions,
  type Team,
} from '../../src/index.js'
import type { KvStore, ObjectStore } from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { all, replaceObject } from '../support/rich-database.js'

const ROWS = 3
const CHUNKS = 6

/** Objects whose puts wait while they are held, and can be made to fail. */
class HeldObjects {
  readonly inner = memoryObjects()
  failure: Error | undefined
  #open: (() => void) | undefined
  #gate: Promise<void> | undefined

  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  release(): void {
    this.#gate = undefined
    this.#open?.()
  }

  get port(): ObjectStore {
    const { inner } = this
    return {
      put: async (id, content) => {
        await this.#gate
        if (this.failure !== undefined) throw this.failure
        return inner.put(id, content)
      },
      get: (...of) => inner.get(...of),
      stream: (...of) => inner.stream(...of),
      delete: (ids) => inner.delete(ids),
      list: (...of) => inner.list(...of),
      close: async () => undefined,
    }
  }
}

/** Commits that wait, or fail. */
class HeldCommits {
  failure: StoreError | undefined
  #late: string | undefined
  #open: () => void = () => undefined
  #gate: Promise<void> | undefined

  /** Holds commits of the chunks of stashes whose names begin with `stash`. */
  holdFor(stash: string): void {
    this.#late = stash
    this.#gate = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  release(): void {
    this.#open()
  }

  over(kv: KvStore): KvStore {
    return {
      shared: false,
      partition: (name) => {
        const partition = kv.partition(name)
        return {
          read: (use) => partition.read(use),
          deleteRange: (range, count) => partition.deleteRange(range, count),
          commit: async (commit) => {
            const puts = commit.puts ?? []
            const isOfChunk = puts.some(([key]) => key[0] === KEY_SPACE.chunk)
            const late = this.#late === undefined ? null : toHex(stashHeadKey(this.#late))
            if (puts.some(([key]) => toHex(key) === late)) await this.#gate
            if (isOfChunk && this.failure !== undefined) throw this.failure
            return partition.commit(commit)
          },
        }
      },
      close: () => kv.close(),
    }
  }
}

type World = Readonly<{
  store: Store
  team: Team
  kv: KvStore
  held: HeldObjects
  clock: TestClock
  database: MemoryLevel<Uint8Array, Uint8Array>
}>

const OPTIONS: StoreOptions = {
  maintenance: false,
  inlineRowsMax: 0,
  orphanGraceMs: 0,
  overwrittenRowsTtlMs: 0,
  compression: 'none',
}

async function openWorld(options: StoreOptions = {}, commits?: HeldCommits): Promise<World> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const held = new HeldObjects()
  return openOn(database, held, options, commits)
}

async function openOn(
  database: World['database'],
  held: HeldObjects,
  options: StoreOptions = {},
  commits?: HeldCommits,
): Promise<World> {
  if (database.status === 'closed') await database.open()
  const level = await openLevelKv(database)
  const kv = commits?.over(level) ?? level
  const clock = testClock()
  const store = await openStore({ ...OPTIONS, clock, ...options, kv, objects: held.port })
  onTestFinished(() => store.close())
  return { store, team: store.team('t'), kv, held, clock, database }
}

function rowsOf(name: string, chunk: number): { name: string; chunk: number; n: number }[] {
  return Array.from({ length: ROWS }, (_, n) => ({ name, chunk, n }))
}

const NUMBERS = Array.from({ length: CHUNKS }, (_, chunk) => chunk)

/** Puts that arrive while another is under way: that one has an object to itself, the others share the next. */
async function together(held: HeldObjects, puts: readonly (() => Promise<unknown>)[]) {
  held.hold()
  const running = puts.map((put) => put())
  await settle()
  held.release()
  return Promise.allSettled(running)
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function putAll({ team, held }: World, stash: string): Promise<void> {
  const puts = NUMBERS.map((chunk) => () => team.stash(stash).put(chunk, rowsOf(stash, chunk)))
  const results = await together(held, puts)
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
}

async function chunkSegments({ kv }: World, team = 't'): Promise<SegmentRef[]> {
  const records = await all(kv.partition(team), KEY_SPACE.chunk)
  return records.flatMap(([, bytes]) => [...decodeChunkSegments(bytes).segments])
}

async function extentSegments({ kv }: World): Promise<SegmentRef[]> {
  const pages = await all(kv.partition('t'), KEY_SPACE.extentPage)
  return pages
    .flatMap(([, page]) => decodeExtentPage(page))
    .flatMap(({ segment }) => (segment === null ? [] : [segment]))
}

async function backupOf(store: Store): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of store.backup()) pieces.push(piece)
  return pieces
}

async function firstRowId(team: Team, tableId: string): Promise<string> {
  const { rows } = await team.table(tableId).page({ limit: 1 })
  return String(rows[0]?.['$rowID'])
}

async function readTable(team: Team, tableId: string): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const { $rowID: _, ...row } of team.table(tableId).scan()) rows.push(row)
  return rows
}

function allRows(stash: string): unknown[] {
  return NUMBERS.flatMap((chunk) => rowsOf(stash, chunk))
}

async function maintainTwice({ store }: World): Promise<void> {
  await store.maintain()
  await store.maintain()
}

async function expectSound(world: World): Promise<void> {
  expect((await world.store.verify({ full: true })).findings).toEqual([])
}

describe('chunks that come at the same time', () => {
  test('share an object, and become the rows of tables', async () => {
    const world = await openWorld()
    const { team, held } = world
    await putAll(world, 'a')
    await putAll(world, 'b')
    await putAll(world, 'c')

    const refs = await chunkSegments(world)
    expect(refs).toHaveLength(3 * CHUNKS)
    expect(refs.filter(({ shared }) => shared !== undefined).length).toBeGreaterThanOrEqual(
      3 * (CHUNKS - 1),
    )
    expect((await held.inner.list('')).length).toBeLessThanOrEqual(6)
    expect(new Set(refs.map(({ object }) => object)).size).toBe(refs.length)
    const { tableId } = await team.createTable({ name: 'x', rows: team.stash('a') })
    await team.table(tableId).addRows(team.stash('b'))
    expect(await readTable(team, tableId)).toEqual([...allRows('a'), ...allRows('b')])
    await expectSound(world)
    await team.table(tableId).overwrite({ rows: team.stash('c') })
    expect(await readTable(team, tableId)).toEqual(allRows('c'))
    await maintainTwice(world)
    expect(await readTable(team, tableId)).toEqual(allRows('c'))
    await expectSound(world)
  })

  test('are read row by row, each from its own place, and from the cache', async () => {
    const world = await openWorld()
    const { team } = world
    await putAll(world, 'a')
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows: team.stash('a') })
    const table = team.table(tableId)

    for (let round = 0; round < 3; round++) {
      for (const [index, row] of allRows('a').entries()) {
        expect((await table.get(rowIds.get(index)))?.row).toMatchObject(row as object)
      }
    }
    const some = rowIds.get(7)
    await table.updateRow(some, { n: 100 })
    expect((await table.get(some))?.row).toMatchObject({ n: 100 })
    expect(await table.count({ n: { lt: 10 } })).toBe(CHUNKS * ROWS - 1)
  })

  test('have an object of their own if they are large, or alone', async () => {
    const world = await openWorld()
    const { team, held } = world
    const large = [{ text: 'x'.repeat(70_000) }]
    await together(held, [...NUMBERS.map((chunk) => () => team.stash('large').put(chunk, large))])
    await team.stash('alone').put(0, rowsOf('alone', 0))

    expect((await chunkSegments(world)).map(({ shared }) => shared)).toEqual(
      Array.from({ length: CHUNKS + 1 }, () => undefined),
    )
    expect(await held.inner.list('')).toHaveLength(CHUNKS + 1)
  })

  test('of two teams have two objects', async () => {
    const world = await openWorld()
    const { store, held } = world
    const puts = NUMBERS.flatMap((chunk) =>
      ['t', 'u'].map((team) => () => store.team(team).stash('s').put(chunk, rowsOf(team, chunk))),
    )
    await together(held, puts)

    const ofT = (await chunkSegments(world)).map(storedIn)
    const ofU = (await chunkSegments(world, 'u')).map(storedIn)
    expect(new Set(ofT).size).toBeLessThanOrEqual(2)
    expect(new Set(ofU).size).toBeLessThanOrEqual(2)
    expect(ofT.filter((object) => ofU.includes(object))).toEqual([])
  })
})

describe('a shared object', () => {
  test('stays until the last of its segments is gone', async () => {
    const world = await openWorld()
    const { team, held } = world
    const ids = ['a', 'b']
    await together(
      held,
      NUMBERS.map((chunk) => () => {
        const id = ids[chunk % 2] ?? ''
        return team.stash(id).put(chunk, rowsOf(id, chunk))
      }),
    )
    await team.stash('a').delete()
    await maintainTwice(world)

    const { tableId } = await team.createTable({ name: 'b', rows: team.stash('b') })
    const odd = NUMBERS.filter((chunk) => chunk % 2 === 1)
    expect(await readTable(team, tableId)).toEqual(odd.flatMap((chunk) => rowsOf('b', chunk)))
    await team.stash('b').delete()
    await team.table(tableId).updateRow(await firstRowId(team, tableId), { n: 7 })
    await maintainTwice(world)
    await expectSound(world)
    await team.table(tableId).delete()
    await maintainTwice(world)
    await maintainTwice(world)
    expect(await held.inner.list('')).toEqual([])
  })

  test('stays when a chunk in it is replaced', async () => {
    const world = await openWorld()
    const { team, held } = world
    await putAll(world, 'a')
    await team.stash('a').put(1, rowsOf('new', 1))
    await maintainTwice(world)

    const { tableId } = await team.createTable({ name: 'x', rows: team.stash('a') })
    const expected = NUMBERS.flatMap((chunk) => rowsOf(chunk === 1 ? 'new' : 'a', chunk))
    expect(await readTable(team, tableId)).toEqual(expected)
    await expectSound(world)
    expect((await held.inner.list('')).length).toBeLessThanOrEqual(3)
  })

  test('is pending until each of its chunks is committed', async () => {
    const commits = new HeldCommits()
    const world = await openWorld({}, commits)
    const { team, held } = world
    commits.holdFor('late')
    held.hold()
    const put = (stash: string) => team.stash(stash).put(0, rowsOf(stash, 0))
    const early = ['first', 'second'].map(put)
    const late = put('late')
    await settle()
    held.release()
    await Promise.all(early)
    for (const stash of ['first', 'second']) expect(await team.stash(stash).delete()).toBe(true)
    await maintainTwice(world)
    await maintainTwice(world)
    commits.release()
    await late

    const [ref] = await chunkSegments(world)
    expect(ref?.shared).toBeDefined()
    const { tableId } = await team.createTable({ name: 'x', rows: team.stash('late') })
    expect(await readTable(team, tableId)).toEqual(rowsOf('late', 0))
  })

  test('stays as long as the outcome of a commit is unknown, and goes after the next opening', async () => {
    const commits = new HeldCommits()
    const world = await openWorld({}, commits)
    const { team, held, store, database } = world
    await putAll(world, 'a')
    const before = await held.inner.list('')
    commits.failure = new StoreError('STORAGE_UNAVAILABLE', 'unplugged', { outcome: 'unknown' })
    const results = await together(
      held,
      NUMBERS.map((chunk) => () => team.stash('b').put(chunk, rowsOf('b', chunk))),
    )
    commits.failure = undefined
    expect(results.map(({ status }) => status)).toEqual(NUMBERS.map(() => 'rejected'))
    await maintainTwice(world)
    expect((await held.inner.list('')).length).toBeGreaterThan(before.length)
    await store.close()

    const next = await openOn(database, held)
    await maintainTwice(next)
    expect(await held.inner.list('')).toEqual(before)
    const { tableId } = await next.team.createTable({ name: 'x', rows: next.team.stash('a') })
    expect(await readTable(next.team, tableId)).toEqual(allRows('a'))
  })

  test('that is not stored fails the put of each of its chunks, and nothing else', async () => {
    const world = await openWorld()
    const { team, held } = world
    await putAll(world, 'a')
    held.failure = new StoreError('INSUFFICIENT_STORAGE', 'full', { outcome: 'unchanged' })
    const results = await together(
      held,
      NUMBERS.map((chunk) => () => team.stash('b').put(chunk, rowsOf('b', chunk))),
    )

    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'INSUFFICIENT_STORAGE' } })
    }
    held.failure = undefined
    await expect(team.createTable({ name: 'b', rows: team.stash('b') })).rejects.toMatchObject({
      code: 'STASH_NOT_FOUND',
    })
    await putAll(world, 'b')
    const { tableId } = await team.createTable({ name: 'x', rows: team.stash('b') })
    expect(await readTable(team, tableId)).toEqual(allRows('b'))
    await maintainTwice(world)
    await expectSound(world)
  })
})

describe('damage in a shared object', () => {
  test('of one segment is reported there, and others are read', async () => {
    const world = await openWorld()
    const { team, held, store } = world
    await putAll(world, 'a')
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows: team.stash('a') })
    await team.stash('a').delete()
    await maintainTwice(world) // so that only the table names them
    const extents = await extentSegments(world)
    const damaged = extents.findIndex(({ shared }) => (shared?.offset ?? 0) > 0)
    const { shared } = extents[damaged] ?? {}
    if (shared === undefined) throw new Error('a segment shares its object')
    await replaceObject(held.inner, shared.object, (bytes) => {
      const at = shared.offset + 30
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes
    })

    const { findings } = await store.verify({ full: true })
    expect(findings).toHaveLength(1)
    expect(findings[0]).toMatchObject({
      kind: 'segment',
      extent: damaged,
      object: shared.object,
    })
    const table = team.table(tableId)
    for (const [index, row] of allRows('a').entries()) {
      const read = table.get(rowIds.get(index))
      if (Math.floor(index / ROWS) === damaged) {
        await expect(read).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
      } else expect((await read)?.row).toMatchObject(row as object)
    }
    await expect(readTable(team, tableId)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    await expect(backupOf(store)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
  })

  test('by segments that changed places is found in both', async () => {
    const world = await openWorld()
    const { held, store, team } = world
    await putAll(world, 'a')
    await team.createTable({ name: 'x', rows: team.stash('a') })
    await team.stash('a').delete()
    await maintainTwice(world)
    const refs = (await extentSegments(world)).filter(({ shared }) => shared !== undefined)
    const [one, other] = refs
    if (one?.shared === undefined || other?.shared === undefined) throw new Error('two share')
    expect([one.objectBytes, one.shared.object]).toEqual([other.objectBytes, other.shared.object])
    const [first, second] = [one.shared.offset, other.shared.offset]
    await replaceObject(held.inner, one.shared.object, (bytes) => {
      const left = bytes.slice(first, first + one.objectBytes)
      bytes.copyWithin(first, second, second + one.objectBytes)
      bytes.set(left, second)
      return bytes
    })

    const { findings } = await store.verify()
    const changed = (await extentSegments(world)).flatMap(({ object }, extent) =>
      object === one.object || object === other.object ? [extent] : [],
    )
    expect(findings.map(({ kind, extent }) => ({ kind, extent }))).toEqual(
      changed.map((extent) => ({ kind: 'segment', extent })),
    )
  })

  test('that is cut off is found', async () => {
    const world = await openWorld()
    const { held, store } = world
    await putAll(world, 'a')
    const shared = (await chunkSegments(world)).find((ref) => ref.shared !== undefined)?.shared
    if (shared === undefined) throw new Error('a segment shares its object')
    await replaceObject(held.inner, shared.object, (bytes) => bytes.subarray(0, -1))

    const { findings } = await store.verify()
    expect(findings).toMatchObject([{ kind: 'object-length', object: shared.object }])
    await expect(backupOf(store)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
  })
})

test('a backup has each shared object once, and is restored', async () => {
  const world = await openWorld()
  const { team, held, store } = world
  await putAll(world, 'a')
  const { tableId } = await team.createTable({ name: 'x', rows: team.stash('a') })
  const pieces = await backupOf(store)
  const target = new HeldObjects()
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const restoring = openLevelKv(database, { versionBaseMin: 2 ** 33 })
  const ports = { kv: await restoring, objects: target.port }
  await restoreBackup(inTurn(pieces), { open: async () => ports })
  await ports.kv.close()
  const restored = await openOn(database, target)

  expect(await target.inner.list('')).toEqual(await held.inner.list(''))
  expect(await readTable(restored.team, tableId)).toEqual(allRows('a'))
  await expectSound(restored)
})

async function* inTurn(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}
