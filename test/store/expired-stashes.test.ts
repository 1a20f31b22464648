// Goal: a stash is used whole or not at all, however long an import pauses.
// Method: stashes expire during puts and uses that are held at their commits; in stores that were closed, backed up and
// restored; and in greater number than a store remembers.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { backupToFile, openDirectory, restoreDirectory } from '../../adapters/node.js'
import { KEY_SPACE, STASH_HEADS_RANGE, stashHeadKey } from '../../src/format/keys.js'
import { encodeStashHead, type StashHead } from '../../src/format/records.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type Stash,
  type Store,
  type Team,
} from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { Hooks, hookedKv, hookedObjects } from './hooked-ports.js'

const DAY_MS = 24 * 3_600_000
const LIFETIME_MS = 2 * DAY_MS

const EXPIRED = {
  code: 'STASH_NOT_FOUND',
  message: "Stash with ID 's' has expired: it must be deleted, and its chunks put again",
}

const QUIET = {
  maintenance: false,
} as const

type World = Readonly<{
  kv: KvStore
  clock: TestClock
  hooks: Hooks
  store: Store
  team: Team
  stash: Stash
}>

/** A store with an expired stash of the numbers 0 to 4, one per chunk. */
async function newWorld(): Promise<World> {
  const [clock, hooks] = [testClock(), new Hooks()]
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  onTestFinished(() => kv.close())
  const ports = {
    kv: hookedKv(kv, hooks, false),
    objects: hookedObjects(memoryObjects(), hooks),
  }
  const store = await openStore({
    ...QUIET,
    ...ports,
    clock,
    orphanGraceMs: 0,
    overwrittenRowsTtlMs: 0,
  })
  onTestFinished(() => store.close())
  const team = store.team('t')
  await putAll(team.stash('s'))
  clock.pass(LIFETIME_MS)
  return { kv, clock, hooks, store, team, stash: team.stash('s') }
}

/** A chunk that is not stored as row records. */
function chunkOf(n: number) {
  return [{ n, text: 'x'.repeat(1_000) }]
}

async function putAll(stash: Stash): Promise<void> {
  for (let n = 0; n < 5; n++) await stash.put(String(n), chunkOf(n))
}

/** The numbers in a table made of the stash, after two garbage collections that delete whatever nothing names. */
async function numbersOf({ store, team }: Pick<World, 'store' | 'team'>): Promise<unknown[]> {
  const { tableId } = await team.createTable({ name: 'made', rows: team.stash('s') })
  for (let runs = 0; runs < 2; runs++) await store.maintain()
  const { rows } = await team.table(tableId).page()
  return rows.map(({ n }) => n)
}

/** A refused chunk may have left an object, which a garbage collection deletes. */
async function expectSound({ store }: Pick<World, 'store'>): Promise<void> {
  const { findings } = await store.verify({ full: true })
  expect(findings.filter(({ kind }) => kind !== 'orphan-object')).toEqual([])
}

async function maintainTwice({ store }: World): Promise<void> {
  for (let runs = 0; runs < 2; runs++) await store.maintain()
}

describe('a stash that expires', () => {
  test.each([
    ['another', '5'],
    ['an earlier', '2'],
  ])('just before %s chunk is committed refuses it', async (_, serial) => {
    const world = await newWorld()
    const { hooks, stash } = world
    hooks.beforePutInto(KEY_SPACE.chunk, () => maintainTwice(world))

    await expect(stash.put(serial, chunkOf(7))).rejects.toMatchObject(EXPIRED)

    expect(hooks.ran).toBe(1)
    await expect(numbersOf(world)).rejects.toMatchObject(EXPIRED)
    await expectSound(world)
  })

  test.each([
    ['it is marked', KEY_SPACE.stashHead],
    ['it ends', KEY_SPACE.deadStash],
  ])('is whole if a chunk comes just before %s', async (_, space) => {
    const world = await newWorld()
    const { hooks, stash, store } = world
    hooks.beforePutInto(space, async () => void (await stash.put('5', chunkOf(5))))

    expect(await store.maintain()).toMatchObject({ stashes: 0 })

    expect(hooks.ran).toBe(1)
    expect(await numbersOf(world)).toEqual([0, 1, 2, 3, 4, 5])
    await expectSound(world)
  })

  test('just before it is linked is not used', async () => {
    const world = await newWorld()
    world.hooks.beforePutInto(KEY_SPACE.tableHead, () => maintainTwice(world))

    await expect(numbersOf(world)).rejects.toMatchObject(EXPIRED)

    expect(world.hooks.ran).toBe(1)
    expect(await world.team.tables()).toEqual([])
    await expectSound(world)
  })

  test('just after it was linked leaves the table whole', async () => {
    const world = await newWorld()
    const { hooks, team, store } = world
    let made: unknown[] = []
    hooks.beforePutInto(KEY_SPACE.deadStash, async () => {
      const { tableId } = await team.createTable({ name: 'made', rows: team.stash('s') })
      made = (await team.table(tableId).page()).rows.map(({ n }) => n)
    })

    expect(await store.maintain()).toMatchObject({ stashes: 1 })

    expect(made).toEqual([0, 1, 2, 3, 4])
    await maintainTwice(world)
    const [{ id } = { id: '' }] = await team.tables()
    expect((await team.table(id).page()).rows.map(({ n }) => n)).toEqual(made)
    await expectSound(world)
  })

  test('while nobody collects garbage takes chunks and is used whole', async () => {
    const world = await newWorld()
    world.clock.pass(100 * DAY_MS)
    await world.stash.put('5', chunkOf(5))

    expect(await numbersOf(world)).toEqual([0, 1, 2, 3, 4, 5])
  })

  test('leaves nothing but its head, which a deletion takes away', async () => {
    const { kv, store, stash } = await newWorld()
    await store.maintain()
    const spacesLeft = (): Promise<number[]> =>
      kv.partition('t').read(async (view) => {
        const all = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100 }
        return (await view.scan(all)).map(([key]) => key[0] ?? 0)
      })
    expect(await spacesLeft()).toEqual([KEY_SPACE.stashHead])

    await stash.delete()
    await store.maintain()

    expect(await spacesLeft()).toEqual([])
  })
})

describe('what is remembered of expired stashes', () => {
  /** Adds stashes that expire one after another, from now on. */
  async function addExpired({ kv, clock }: World, first: number, count: number): Promise<void> {
    const puts = Array.from({ length: count }, (_, i) => {
      clock.pass(1)
      const head = { nonce: new Uint8Array(8), number: 1, state: 'expired', since: clock.now() }
      return [stashHeadKey(`s${first + i}`), encodeStashHead(head as StashHead)] as const
    })
    await kv.partition('t').commit({ puts })
  }

  test('is bounded: the oldest of more than 10,000 is forgotten, and begins anew', async () => {
    const world = await newWorld()
    const { kv, store, team } = world
    await store.maintain()
    await addExpired(world, 0, 9_999)
    await store.maintain()
    await expect(team.stash('s').put('5', [])).rejects.toMatchObject(EXPIRED)

    await addExpired(world, 9_999, 1)
    await store.maintain()

    const heads = await kv.partition('t').read(async (view) => {
      return (await view.scan({ ...STASH_HEADS_RANGE, count: 20_000 })).length
    })
    expect(heads).toBe(10_000)
    await team.stash('s').put('5', chunkOf(5))
    expect(await numbersOf({ store, team })).toEqual([5])
    for (const n of [0, 9_998, 9_999]) {
      const put = team.stash(`s${n}`).put('5', [])
      await expect(put).rejects.toMatchObject({ code: 'STASH_NOT_FOUND' })
    }
  })
})

describe('a store in a directory', () => {
  async function newParent(): Promise<string> {
    const parent = await mkdtemp(join(tmpdir(), 'rowstash-expired-'))
    onTestFinished(() => rm(parent, { recursive: true, force: true }))
    return parent
  }

  async function onePiece(path: string): Promise<AsyncIterable<Uint8Array>> {
    const bytes = await readFile(path)
    return (async function* () {
      yield bytes
    })()
  }

  test('that is closed while the time passes has the stash whole, or says that it expired', async () => {
    const path = join(await newParent(), 'store')
    const clock = testClock()
    let store = await openDirectory(path, { ...QUIET, clock })
    await putAll(store.team('t').stash('s'))
    await store.close()
    clock.pass(3 * DAY_MS)

    store = await openDirectory(path, { ...QUIET, clock })
    await store.team('t').stash('s').put('5', chunkOf(5))
    expect(await numbersOf({ store, team: store.team('t') })).toEqual([0, 1, 2, 3, 4, 5])
    await store.close()
    clock.pass(3 * DAY_MS)

    store = await openDirectory(path, { ...QUIET, clock })
    await store.maintain()
    await store.close()
    store = await openDirectory(path, { ...QUIET, clock })
    await expect(store.team('t').stash('s').put('6', chunkOf(6))).rejects.toMatchObject(EXPIRED)
    await store.close()
  })

  test('that is restored from a backup still knows it', async () => {
    const parent = await newParent()
    const [path, copy, restored] = ['store', 'copy', 'restored'].map((name) => join(parent, name))
    const clock = testClock()
    let store = await openDirectory(path ?? '', { ...QUIET, clock })
    await putAll(store.team('t').stash('s'))
    clock.pass(LIFETIME_MS)
    await store.maintain()
    await backupToFile(store, copy ?? '')
    await store.close()
    await restoreDirectory(restored ?? '', await onePiece(copy ?? ''))

    store = await openDirectory(restored ?? '', { ...QUIET, clock })
    await expect(store.team('t').stash('s').put('5', [])).rejects.toMatchObject(EXPIRED)
    await expectSound({ store })
    await store.team('t').stash('s').delete()
    await store.team('t').stash('s').put('5', chunkOf(5))
    expect(await numbersOf({ store, team: store.team('t') })).toEqual([5])
    await store.close()
  })
})
