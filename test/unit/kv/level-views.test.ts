import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { describe, expect, test } from 'vitest'
import { isSync } from '../../../src/base/awaitable.js'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import type { KvPartition, KvView } from '../../../src/kv/kv.js'
import type { LevelDatabase, LevelOperation } from '../../../src/kv/level-database.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import { runOptions } from '../../support/fast-check-options.js'
import { type Seeded, seeded } from '../../support/seeded.js'

const KEYS = ['a', 'b', 'c', 'd', 'e']
const RUNS = 300

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A database whose batches become visible at any moment between their begin and their end. */
function slowDatabase(random: Seeded): LevelDatabase {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const batch = database.batch.bind(database) as (...given: unknown[]) => Promise<void>
  const slow = async (...given: unknown[]): Promise<void> => {
    await turns(random.below(3))
    await batch(...given)
    await turns(random.below(3))
  }
  return Object.assign(database, { batch: slow }) as unknown as LevelDatabase
}

/** All records have the same number, unless two commits are mixed up. */
async function writeAll(partition: KvPartition, number: number): Promise<void> {
  await partition.commit({ puts: KEYS.map((key) => [utf8(key), utf8(String(number))]) })
}

async function readNumber(view: KvView, key: string): Promise<number> {
  const value = await view.get(utf8(key))
  return value === null ? 0 : Number(fromUtf8(value))
}

async function readSome(view: KvView, random: Seeded): Promise<number[]> {
  const found: number[] = []
  for (let reads = 1 + random.below(6); reads > 0; reads--) {
    if (random.once(4)) await turns(random.below(3))
    if (random.once(6)) {
      const range = { start: utf8('a'), limit: utf8('z'), count: KEYS.length }
      found.push(...(await view.scan(range)).map(([, value]) => Number(fromUtf8(value))))
    } else if (random.once(4)) {
      const keys = [random.pick(KEYS), random.pick(KEYS)]
      const values = await view.getMany(keys.map(utf8))
      found.push(...values.map((value) => (value === null ? 0 : Number(fromUtf8(value)))))
    } else found.push(await readNumber(view, random.pick(KEYS)))
  }
  return found
}

/** All records in one turn, if that is possible. */
async function readAtOnce(partition: KvPartition): Promise<number[]> {
  const values = await partition.readAwaitable?.((view) => {
    const found = KEYS.map((key) => view.get(utf8(key)))
    return found.every(isSync) ? found : Promise.all(found)
  })
  return (values ?? []).map((value) => (value === null ? 0 : Number(fromUtf8(value))))
}

test('a record that has grown too large for the memory is not read in its old form', async () => {
  const partition = (await openLevelKv(slowDatabase(seeded(1)))).partition('p')
  for (const bytes of [10, 100_000, 20]) {
    await partition.commit({ puts: [[utf8('a'), new Uint8Array(bytes)]] })
    expect(await partition.read((view) => view.get(utf8('a')))).toHaveLength(bytes)
  }
})

describe('views that read from memory', () => {
  test('each sees one commit, and none older than the last that was acknowledged before', async () => {
    const history = fc.record({ seed: fc.integer(), cacheBytes: fc.constantFrom(0, 700, 100_000) })
    const property = fc.asyncProperty(history, async ({ seed, cacheBytes }) => {
      const random = seeded(seed)
      const kv = await openLevelKv(slowDatabase(random), { recordCacheBytes: cacheBytes })
      const partition = kv.partition('p')
      await writeAll(partition, 0)
      let acknowledged = 0
      const write = async (): Promise<void> => {
        for (let number = 1; number <= 12; number++) {
          await writeAll(partition, number)
          acknowledged = number
          await turns(random.below(2))
        }
      }
      const read = async (): Promise<void> => {
        while (acknowledged < 12) {
          await turns(random.below(3))
          const least = acknowledged
          const found = random.once(3)
            ? await readAtOnce(partition)
            : await partition.read((view) => readSome(view, random))
          expect(new Set(found).size, `one commit, not ${found}`).toBe(1)
          expect(found[0]).toBeGreaterThanOrEqual(least)
        }
      }
      await Promise.all([write(), read(), read(), read()])
      await kv.close()
    })
    await fc.assert(property, runOptions(RUNS))
  })

  test('a range without records is one until a record comes into it, and again when it is gone', async () => {
    const history = fc.record({ seed: fc.integer(), cacheBytes: fc.constantFrom(0, 100_000) })
    const property = fc.asyncProperty(history, async ({ seed, cacheBytes }) => {
      const random = seeded(seed)
      const kv = await openLevelKv(slowDatabase(random), { recordCacheBytes: cacheBytes })
      const partition = kv.partition('p')
      const present = new Set<string>()
      /** Each record is written and deleted with its partner, so every view has both or neither. */
      const write = async (): Promise<void> => {
        for (let step = 0; step < 20; step++) {
          const key = random.pick(KEYS)
          const pair = [utf8(`x${key}`), utf8(`y${key}`)]
          if (present.has(key)) await partition.commit({ deletes: pair })
          else await partition.commit({ puts: pair.map((each) => [each, each]) })
          if (!present.delete(key)) present.add(key)
          await turns(random.below(2))
        }
        isDone = true
      }
      let isDone = false
      const keysIn = async (
        view: KvView,
        space: string,
        [from = '', to = '']: readonly string[],
      ) => {
        const range = { start: utf8(`${space}${from}`), limit: utf8(`${space}${to}`) }
        if (view.isEmpty?.(range)) return ''
        if (random.once(2)) {
          const found = await view.scan({ ...range, count: KEYS.length })
          return found.map(([key]) => fromUtf8(key).slice(1)).join('')
        }
        let found = ''
        for (const key of KEYS.filter((each) => from <= each && each < to)) {
          if ((await view.get(utf8(space + key))) !== null) found += key
          if (random.once(6)) await turns(1)
        }
        return found
      }
      const read = async (): Promise<void> => {
        while (!isDone) {
          await turns(random.below(3))
          const range = [random.pick(KEYS), random.pick([...KEYS, 'z'])].sort()
          const [left, right] = await partition.read(async (view) => {
            const first = await keysIn(view, 'x', range)
            if (random.once(2)) await turns(random.below(3))
            return [first, await keysIn(view, 'y', range)]
          })
          expect(right).toBe(left)
        }
      }
      await Promise.all([write(), read(), read(), read()])
      const all = await partition.read((view) => keysIn(view, 'x', ['a', 'z']))
      expect(all).toBe([...present].sort().join(''))
      await kv.close()
    })
    await fc.assert(property, runOptions(RUNS))
  })

  test('while the moment is the same nothing has changed, and it comes back after each commit', async () => {
    let same = 0
    const property = fc.asyncProperty(fc.integer(), async (seed) => {
      const random = seeded(seed)
      const kv = await openLevelKv(slowDatabase(random))
      const partition = kv.partition('p')
      await writeAll(partition, 0)
      let isDone = false
      const write = async (): Promise<void> => {
        for (let number = 1; number <= 12; number++) {
          await writeAll(partition, number)
          if (random.once(2)) await turns(random.below(4))
        }
        isDone = true
      }
      const read = async (): Promise<void> => {
        let before: object | undefined
        let numberBefore = -1
        while (!isDone) {
          const moment = partition.commitStamp?.()
          const number = await partition.read((view) => readNumber(view, 'a'))
          if (moment !== undefined && moment === before) {
            expect(await partition.read((view) => readNumber(view, 'b'))).toBeGreaterThanOrEqual(
              numberBefore,
            )
            if (partition.commitStamp?.() === moment) {
              same++
              expect(number).toBe(numberBefore)
            }
          }
          if (partition.commitStamp?.() === moment) [before, numberBefore] = [moment, number]
          await turns(random.below(2))
        }
      }
      await Promise.all([write(), read(), read()])
      const last = partition.commitStamp?.()
      expect(last).toBeDefined()
      expect(partition.commitStamp?.()).toBe(last)
      await kv.close()
      expect(partition.commitStamp?.()).toBeUndefined()
    })
    await fc.assert(property, runOptions(RUNS))
    expect(same).toBeGreaterThan(RUNS / 10)
  })

  test('there is no moment while a batch is under way', async () => {
    const database = new MemoryLevel<Uint8Array, Uint8Array>()
    const batch = database.batch.bind(database) as (...given: unknown[]) => Promise<void>
    let partition: KvPartition | undefined
    const seen: unknown[] = []
    const watched = async (...given: unknown[]): Promise<void> => {
      seen.push(partition?.commitStamp?.())
      await batch(...given)
      seen.push(partition?.commitStamp?.())
    }
    Object.assign(database, { batch: watched })
    const kv = await openLevelKv(database as unknown as LevelDatabase)
    partition = kv.partition('p')
    seen.length = 0

    await writeAll(partition, 1)

    expect(seen).toEqual([undefined, undefined])
    await kv.close()
  })

  test('a record in a range found empty needs no database, nor do records beside a new one', async () => {
    const database = new MemoryLevel<Uint8Array, Uint8Array>()
    let reads = 0
    const getSync = database.getSync.bind(database)
    const counted = (...given: Parameters<typeof getSync>) => {
      reads++
      return getSync(...given)
    }
    Object.assign(database, { getSync: counted })
    // Room for no record, only for facts about ranges.
    const kv = await openLevelKv(database as unknown as LevelDatabase, { recordCacheBytes: 1 })
    const partition = kv.partition('p')
    const get = (key: string) => partition.read((view) => view.get(utf8(key)))
    const isEmpty = (start: string, limit: string) =>
      partition.read((view) => view.isEmpty?.({ start: utf8(start), limit: utf8(limit) }))
    expect(await isEmpty('b', 'y')).toBe(false)
    const range = { start: utf8('b'), limit: utf8('y'), count: 1 }
    await partition.read((view) => view.scan(range))
    reads = 0

    expect([await get('b'), await get('m'), await get('x')]).toEqual([null, null, null])
    expect([await isEmpty('b', 'y'), await isEmpty('c', 'y'), await isEmpty('a', 'y')]).toEqual([
      true,
      true,
      false,
    ])
    expect(reads).toBe(0)
    await get('y')
    await get('a')
    expect(reads).toBe(2)

    await partition.commit({ puts: [[utf8('m'), utf8('1')]] })
    reads = 0
    expect([await get('b'), await get('l'), await get('n')]).toEqual([null, null, null])
    expect(await isEmpty('b', 'y')).toBe(false)
    expect(reads).toBe(0)
    expect(await get('m')).toEqual(utf8('1'))
    await partition.commit({ deletes: [utf8('m')] })
    expect(await get('m')).toBe(null)
    await kv.close()
  })

  test('a commit that checks records partly in memory is refused by their current values', async () => {
    const kv = await openLevelKv(new MemoryLevel() as unknown as LevelDatabase)
    const partition = kv.partition('p')
    const [key, old, young] = [utf8('k'), utf8('old'), utf8('young')]
    await partition.commit({ puts: [[key, old]] })
    expect(await partition.read((view) => view.get(key))).toEqual(old)
    await partition.commit({ checks: [{ key, equals: old }], puts: [[key, young]] })

    const late = await partition.commit({ checks: [{ key, equals: old }], deletes: [key] })

    expect(late).toEqual({ ok: false, failed: [{ key, value: young }] })
    expect(await partition.commit({ checks: [{ key, equals: young }], deletes: [key] })).toEqual({
      ok: true,
    })
    expect(await partition.read((view) => view.get(key))).toBe(null)
    await kv.close()
  })

  test('the cached part of a batch stays when later batches reuse its memory', async () => {
    const database = new MemoryLevel<Uint8Array, Uint8Array>()
    const options = { keyEncoding: 'view', valueEncoding: 'view' } as const
    const writeSmall = (operations: readonly LevelOperation[]): Promise<void> => {
      const copies = operations.map((operation) =>
        operation.type === 'del'
          ? { type: 'del' as const, key: operation.key.slice() }
          : { ...operation, key: operation.key.slice(), value: operation.value.slice() },
      )
      return database.batch<Uint8Array, Uint8Array>(copies, options)
    }
    Object.assign(database, { writeSmall })
    const kv = await openLevelKv(database as unknown as LevelDatabase)
    const partition = kv.partition('p')
    const random = seeded(3)
    const last = new Map<string, Uint8Array | null>()
    for (let commit = 1; commit < 400; commit++) {
      const puts: [Uint8Array, Uint8Array][] = []
      const deletes: Uint8Array[] = []
      for (const key of KEYS) {
        if (random.once(2)) continue
        const value = random.once(5)
          ? null
          : new Uint8Array(random.below(random.once(50) ? 50_000 : 300)).fill(commit)
        last.set(key, value)
        if (value === null) deletes.push(utf8(key))
        else puts.push([utf8(key), value.slice()])
      }
      await partition.commit({ puts, deletes })
      for (const [, value] of puts) value.fill(0) // They belong to the caller again.
      for (const key of KEYS) {
        const found = await partition.read((view) => view.get(utf8(key)))
        expect(found).toEqual(last.get(key) ?? null)
      }
    }
    await kv.close()
  })

  test('a written record that nobody has read takes no memory', async () => {
    const kv = await openLevelKv(new MemoryLevel() as unknown as LevelDatabase)
    const partition = kv.partition('p')
    await partition.commit({ puts: [[utf8('a'), utf8('1')]] })
    await partition.read((view) => view.get(utf8('a')))
    const bytes = kv.cache?.bytes

    for (let n = 0; n < 50; n++) {
      await partition.commit({
        puts: [
          [utf8('a'), utf8('2')],
          [utf8(`log${n}`), utf8('entry')],
        ],
      })
    }

    expect(bytes).toBeGreaterThan(0)
    expect(kv.cache?.bytes).toBe(bytes)
    await kv.close()
  })

  test('a record that was read lately needs the database no more, one that was changed does', async () => {
    const database = new MemoryLevel<Uint8Array, Uint8Array>()
    let snapshots = 0
    const snapshot = database.snapshot.bind(database)
    Object.assign(database, { snapshot: () => [snapshot(), snapshots++][0] })
    const kv = await openLevelKv(database as unknown as LevelDatabase)
    const partition = kv.partition('p')
    const get = (key: string) => partition.read((view) => view.get(utf8(key)))
    await partition.commit({ puts: [[utf8('a'), utf8('1')]] })
    await Promise.all([get('a'), get('b')])
    const before = snapshots

    expect([await get('a'), await get('b')]).toEqual([utf8('1'), null])

    expect(snapshots).toBe(before)
    await kv.close()
  })
})
