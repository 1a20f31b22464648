// Goal: caches and buffer pools never hold more than their shares of `cacheBytesMax` and `bufferBytesMax`.
import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store, StoreMemory, StoreOptions, Table } from '../../src/index.js'
import {
  createContract,
  memoryObjects,
  openLevelKv,
  openMemory,
  openStore,
} from '../../src/index.js'
import { runOptions } from '../support/fast-check-options.js'
import { type Seeded, seeded } from '../support/seeded.js'

const KIB = 1024
const MIB = 1024 * KIB
const RUNS = 3
const STEPS = 250
const TEAMS = 120
const TABLES = 60
const FILES = 8
const COLUMNS = 20
const ROWS = 200

/** No work in the background, and more segments and records than small caches can hold. */
const MANY_PIECES: StoreOptions = {
  maintenance: false,
  segmentRowsMax: 16,
  inlineRowsMax: 10,
}

function checkMemory(memory: StoreMemory): void {
  const { caches, buffers, cacheBytes, cacheBytesMax, bufferBytes, bufferBytesMax } = memory
  const sum = (numbers: readonly number[]) => numbers.reduce((before, each) => before + each, 0)
  for (const { name, bytes, bytesMax } of [...caches, ...buffers]) {
    expect(bytes, name).toBeGreaterThanOrEqual(0)
    expect(bytes, name).toBeLessThanOrEqual(bytesMax)
  }
  expect(sum(caches.map(({ bytesMax }) => bytesMax))).toBeLessThanOrEqual(cacheBytesMax)
  expect(sum(buffers.map(({ bytesMax }) => bytesMax))).toBeLessThanOrEqual(bufferBytesMax)
  expect(sum(caches.map(({ bytes }) => bytes))).toBe(cacheBytes)
  expect(sum(buffers.map(({ bytes }) => bytes))).toBe(bufferBytes)
}

type Place = Readonly<{ table: Table; ids: string[] }>

const columns = Array.from({ length: COLUMNS }, (_, i) => `column number ${i}`)

function rowOf(n: number): Record<string, unknown> {
  const column = columns[n % COLUMNS] ?? ''
  return { n, [column]: `${n} of ${column}` }
}

async function createTable(store: Store, team: string): Promise<Place> {
  const rows = Array.from({ length: ROWS }, (_, n) => rowOf(n))
  const { tableId, rowIds } = await store.team(team).createTable({ name: 'x', rows })
  return { table: store.team(team).table(tableId), ids: [...rowIds] }
}

/** Every row keeps its ID, each moved by another distance, so that no two rows belong to one run. */
async function overwrite({ table, ids }: Place): Promise<void> {
  const rows = ids.map((_, n) => {
    const from = (n * 7 + 1) % ids.length
    return { $rowID: ids[from] ?? '', ...rowOf(from) }
  })
  await table.overwrite({ rows })
}

/** One operation that uses a cache. @returns what must be true of its result */
async function step(store: Store, places: Place[], random: Seeded): Promise<void> {
  const team = `team ${random.below(TEAMS)}`
  const kind = random.below(10)
  if (places.length === 0 || (kind === 0 && places.length < TABLES)) {
    places.push(await createTable(store, team))
    return
  }
  const place = random.pick(places)
  const n = random.below(ROWS)
  if (kind === 1) {
    await overwrite(place)
    expect((await place.table.get(place.ids[n] ?? ''))?.row['n']).toBe(n)
  } else if (kind === 2)
    await place.table.updateRow(place.ids[n] ?? '', { [columns[0] ?? '']: 'x' })
  else if (kind === 3) {
    const about = { fileName: 'a', contentType: 'text/plain' }
    for (let file = 0; file < FILES; file++) {
      const { files } = store.team(`team ${random.below(TEAMS)}`)
      const { id } = await files.put(new Uint8Array([n]), about)
      expect((await files.stat(id))?.bytes).toBe(1)
    }
  } else if (kind === 4) expect((await place.table.schema()).columns.length).toBe(COLUMNS + 1)
  else if (kind === 5) {
    const orderBy = [{ column: 'n', descending: true }]
    const { rows } = await place.table.page({ orderBy })
    expect(rows.map((row) => row['n'])).toEqual(
      Array.from({ length: ROWS }, (_, at) => ROWS - 1 - at),
    )
  } else {
    for (const next of [n, (n + 1) % ROWS, n, n]) {
      expect((await place.table.get(place.ids[next] ?? ''))?.row['n']).toBe(next)
    }
  }
}

async function open(options: StoreOptions): Promise<Store> {
  const store = await openMemory({ ...MANY_PIECES, ...options })
  onTestFinished(() => store.close())
  return store
}

describe('under random operations', () => {
  test.each([
    ['nothing', 0, 0],
    ['little', 300 * KIB, 100 * KIB],
    ['more than is needed', 96 * MIB, 28 * MIB],
  ])(
    'with %s to hold, no cache and no pool goes over its share',
    async (_, cacheBytesMax, bufferBytesMax) => {
      const property = fc.asyncProperty(fc.integer(), async (seed) => {
        const random = seeded(seed)
        const store = await open({ cacheBytesMax, bufferBytesMax })
        const places: Place[] = []
        for (let done = 0; done < STEPS; done++) {
          await step(store, places, random)
          checkMemory(store.memory())
        }
        const memory = store.memory()
        expect(memory).toMatchObject({ cacheBytesMax, bufferBytesMax })
        if (cacheBytesMax === 0) expect(memory).toMatchObject({ cacheBytes: 0, bufferBytes: 0 })
        await store.close()
      })
      await fc.assert(property, runOptions(RUNS))
    },
  )

  test('by default every cache holds something', async () => {
    const random = seeded(1)
    const store = await open({})
    const places: Place[] = []
    for (let done = 0; done < STEPS; done++) await step(store, places, random)

    const { caches, buffers } = store.memory()
    const unused = [...caches, ...buffers].filter(({ bytes }) => bytes === 0)
    expect(unused.map(({ name }) => name)).toEqual(['lent']) // Nobody serves the store.
  })
})

test('a host that sets the cache of the key-value store has it instead of the share of the store', async () => {
  const database = () => new MemoryLevel<Uint8Array, Uint8Array>()
  const shareOf = async (recordCacheBytes: number | undefined): Promise<StoreMemory> => {
    const options = recordCacheBytes === undefined ? {} : { recordCacheBytes }
    const kv = await openLevelKv(database(), options)
    const store = await openStore({ kv, objects: memoryObjects(), cacheBytesMax: 96 * MIB })
    onTestFinished(() => store.close())
    checkMemory(store.memory())
    return store.memory()
  }
  const recordsOf = ({ caches }: StoreMemory) =>
    caches.find(({ name }) => name === 'records')?.bytesMax

  const shared = await shareOf(undefined)
  expect([recordsOf(shared), shared.cacheBytesMax]).toEqual([5 * MIB, 96 * MIB])
  const own = await shareOf(3 * MIB)
  expect([recordsOf(own), own.cacheBytesMax]).toEqual([3 * MIB, 94 * MIB])
  const none = await shareOf(0)
  expect([recordsOf(none), none.cacheBytesMax]).toEqual([0, 91 * MIB])
})

test('all who serve a store share the buffers that it lends', async () => {
  const store = await open({ bufferBytesMax: 28 * MIB })
  const lent = () => store.memory().buffers.find(({ name }) => name === 'lent')?.bytes ?? 0
  const servers = [1, 2].map(() => createContract(store, { keys: [{ key: 'k', teamId: 't' }] }))
  const rows = JSON.stringify(
    Array.from({ length: 1_000 }, (_, n) => ({ n, text: 'x'.repeat(100) })),
  )
  for (const { handle } of servers) {
    const { status } = await handle({
      method: 'PUT',
      path: '/stashes/s/1',
      query: '',
      headers: [
        ['authorization', 'Bearer k'],
        ['content-type', 'application/json'],
      ],
      origin: 'http://localhost',
      body: bodyOf(rows),
    })
    expect(status).toBe(200)
    checkMemory(store.memory())
  }
  expect(lent()).toBeGreaterThan(0)
  expect(lent()).toBeLessThanOrEqual(MIB) // The second used the buffers that the first gave back.
})

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
