import { randomBytes } from 'node:crypto'
import { copyFile, cp, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import { StoreError } from '../../../src/base/store-error.js'
import { decodeHighWater, encodeHighWater } from '../../../src/kv/high-water.js'
import type { KvStore } from '../../../src/kv/kv.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import type { LevelKvOptions } from '../../../src/kv/level-options.js'
import { MemoryHighWater, STORE } from '../../support/memory-high-water.js'

type Memory = MemoryLevel<Uint8Array, Uint8Array>

function commitKey(sequence: number): Uint8Array {
  const key = new Uint8Array(9)
  key[0] = 0x01
  new DataView(key.buffer).setBigUint64(1, BigInt(sequence))
  return key
}

async function put(kv: KvStore, key: string): Promise<void> {
  await kv.partition('p').commit({ puts: [[utf8(key), utf8(key)]] })
}

async function storedText(kv: KvStore, key: string): Promise<string | null> {
  const value = await kv.partition('p').read((view) => view.get(utf8(key)))
  return value === null ? null : fromUtf8(value)
}

/** A database in memory with its mark. Both outlive a store on them. */
function newWorld() {
  const database: Memory = new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view' })
  const file = new MemoryHighWater()
  return {
    database,
    file,
    async open(options: LevelKvOptions = {}): Promise<KvStore> {
      if (database.status === 'closed') await database.open()
      return await openLevelKv(database, {
        highWater: file.place,
        written: file.bytes !== null,
        ...options,
      })
    },
    mark: () => decodeHighWater(STORE, file.bytes ?? utf8('')),
    async numbers(): Promise<number[]> {
      const keys = await database.keys({ gte: commitKey(0), lt: Uint8Array.of(0x02) }).all()
      return keys.map((key) => Number(new DataView(key.buffer, key.byteOffset).getBigUint64(1)))
    },
  }
}

describe('the bytes of the mark', () => {
  const state = { commit: 2 ** 40 + 9, closed: true, relaxed: true, versionBase: 2 ** 20 }

  test('what is written is read back', () => {
    for (const closed of [true, false]) {
      for (const relaxed of [true, false]) {
        const one = { ...state, closed, relaxed }
        expect(decodeHighWater(STORE, encodeHighWater(STORE, one))).toEqual(one)
      }
    }
  })

  test('every flipped bit of the mark is noticed, or lowers nothing', () => {
    const bytes = encodeHighWater(STORE, state)
    const runningAt = bytes.length - 12
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = bytes.slice()
      flipped[bit >>> 3] = (flipped[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
      if (bit >>> 3 >= runningAt) expect(decodeHighWater(STORE, flipped)).toEqual(state)
      else expect(() => decodeHighWater(STORE, flipped)).toThrow('The high-water mark')
    }
  })

  test('a mark that is cut, too long or of another store is refused', () => {
    const bytes = encodeHighWater(STORE, state)
    const other = encodeHighWater(utf8('another-16-bytes'), state)
    const longer = Uint8Array.of(...bytes, 0)
    for (const wrong of [utf8(''), bytes.subarray(0, -1), longer, other]) {
      expect(() => decodeHighWater(STORE, wrong)).toThrow('The high-water mark')
    }
  })
})

describe('keeping the mark', () => {
  afterEach(() => void vi.useRealTimers())

  test('the mark is written at open, and records that the store is open', async () => {
    const world = newWorld()
    const kv = await world.open()
    onTestFinished(() => kv.close())

    expect(world.file.replacements).toBe(1)
    expect(world.mark()).toEqual({ commit: 0, closed: false, relaxed: false, versionBase: 0 })
  })

  test('every commit is noted before it is answered, without a flush of its own', async () => {
    const world = newWorld()
    const kv = await world.open()
    onTestFinished(() => kv.close())

    for (let commit = 1; commit <= 20; commit++) {
      await put(kv, 'key')
      expect(world.mark().commit).toBe(commit)
    }

    expect(world.file.replacements).toBe(1)
  })

  test('it reaches the disk within 10 seconds of a commit, and only if there was one', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const world = newWorld()
    const kv = await world.open()
    onTestFinished(() => kv.close())
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    vi.advanceTimersByTime(60_000)
    await turns()
    expect(world.file.replacements).toBe(1)

    await put(kv, 'key')
    vi.advanceTimersByTime(10_000)
    await turns()

    expect(world.file.replacements).toBe(2)
    vi.advanceTimersByTime(60_000)
    await turns()
    expect(world.file.replacements).toBe(2)
  })

  test('a close says so, with the last commit', async () => {
    const world = newWorld()
    const kv = await world.open()
    await put(kv, 'a')
    await put(kv, 'b')
    await kv.close()

    expect(world.mark()).toEqual({ commit: 2, closed: true, relaxed: false, versionBase: 0 })
  })

  test('a number that cannot be written over the last one ends writing', async () => {
    const world = newWorld()
    const kv = await world.open()
    world.file.failure = new Error('no')

    await expect(put(kv, 'a')).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unknown',
    })
    await expect(put(kv, 'b')).rejects.toMatchObject({ outcome: 'unchanged' })
    expect(world.mark().commit).toBe(0)
    await kv.close()
  })

  test('a mark that cannot be replaced ends writing, but not for want of a descriptor', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    for (const [code, goesOn] of [
      ['EIO', false],
      ['EMFILE', true],
    ] as const) {
      const world = newWorld()
      const kv = await world.open()
      await put(kv, 'a')
      const cause = Object.assign(new Error('no'), { code })
      world.file.failure = new StoreError('STORAGE_UNAVAILABLE', 'no', { cause })
      await vi.advanceTimersByTimeAsync(10_000)
      world.file.failure = undefined

      if (goesOn) await put(kv, 'b')
      else await expect(put(kv, 'b')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
      await kv.close()
    }
  })

  test("the state of the mark's place is checked before each answer, every 10 seconds, and at close", async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const loss = { code: 'DATA_LOSS', message: 'somebody else' }
    const moments: Record<string, (kv: KvStore) => Promise<unknown>> = {
      commit: (kv) => put(kv, 'b'),
      later: async (kv) => {
        await vi.advanceTimersByTimeAsync(10_000)
        await storedText(kv, 'a')
      },
      close: (kv) => kv.close(),
    }
    for (const [moment, act] of Object.entries(moments)) {
      for (const durability of ['commit', 'none'] as const) {
        const world = newWorld()
        const kv = await world.open({ durability })
        await put(kv, 'a')
        world.file.trouble = new StoreError('DATA_LOSS', 'somebody else')

        await expect(act(kv), `${moment}, ${durability}`).rejects.toMatchObject(loss)
        await expect(kv.close()).rejects.toMatchObject(loss)
        expect(world.database.status).toBe('closed')
      }
    }
  })

  test('a store that cannot write its first mark does not open', async () => {
    const world = newWorld()
    world.file.failure = new Error('no')

    await expect(world.open()).rejects.toThrow('no')
  })
})

describe('a loss that the mark shows', () => {
  async function written(commits: number) {
    const world = newWorld()
    const kv = await world.open({ commitRecordsMin: 10, checkpointBatches: 4 })
    for (let commit = 1; commit <= commits; commit++) await put(kv, `k${commit}`)
    return { ...world, kv }
  }

  test.each([
    { lost: [7], says: 'Commit 7 is missing from the database (1 in all)' },
    { lost: [5, 6, 7], says: 'Commits 5 to 7 are missing from the database (3 in all)' },
    { lost: [2, 6, 7], says: 'Commits 2, 6 to 7 are missing from the database (3 in all)' },
    { lost: [1, 2, 3, 4, 5, 6, 7], says: 'Commits 1 to 7 are missing' },
  ])('$lost of 7 lost commits are named, also after a crash', async ({ lost, says }) => {
    for (const crash of [true, false]) {
      const { kv, database, open } = await written(7)
      if (!crash) {
        await kv.close()
        await database.open()
      }
      for (const number of lost) await database.del(commitKey(number))

      const opening = open()

      await expect(opening).rejects.toMatchObject({
        code: 'DATA_LOSS',
        message: expect.stringContaining(says),
      })
      await expect(open()).rejects.toThrow('restore the store from a backup, or open it with')
    }
  })

  test('some of many holes are named, and all are counted', async () => {
    const { database, open } = await written(40)
    const opened = await open({ commitRecordsMin: 1_000 })
    for (let commit = 0; commit < 100; commit++) await put(opened, 'more')
    for (let number = 50; number < 90; number += 2) await database.del(commitKey(number))

    await expect(open()).rejects.toThrow(
      '62, 64 are missing from the database (20 in all, these among them)',
    )
  })

  test('a database that has more than its mark records opens', async () => {
    const { kv, file, open } = await written(5)
    const before = file.bytes?.slice() ?? null
    for (let commit = 0; commit < 5; commit++) await put(kv, 'later')
    file.bytes = before

    const again = await open()

    expect(await storedText(again, 'later')).toBe('later')
  })

  test('a store without its mark, or with a damaged one, is refused', async () => {
    const { file, open } = await written(3)
    file.bytes?.fill(0xee, 10, 12)
    await expect(open()).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    file.bytes = null

    await expect(open({ written: true })).rejects.toMatchObject({ code: 'DATA_LOSS' })
  })

  test('after an accepted loss the store opens with the rest, and the loss is not reported again', async () => {
    const { database, open, numbers } = await written(13)
    for (const number of [6, 12, 13]) await database.del(commitKey(number))
    await database.del(Uint8Array.of(0x02, 0x00, 0x01, 0x70, ...utf8('k12')))

    const kv = await open({ acceptLoss: true })
    await put(kv, 'later')
    expect(await storedText(kv, 'k11')).toBe('k11')
    expect(await storedText(kv, 'k12')).toBe(null)
    await kv.close()

    const again = await open()
    onTestFinished(() => again.close())
    expect(await storedText(again, 'later')).toBe('later')
    const [lowest = 0, ...rest] = await numbers()
    expect(lowest).toBe(13 + 2 ** 20)
    expect(rest).toEqual(rest.map((_, index) => lowest + index + 1))
  })

  test.each<[string, (world: ReturnType<typeof newWorld>) => Promise<void> | void]>([
    [
      'no mark',
      ({ file }) => {
        file.bytes = null
      },
    ],
    ['a damaged mark', ({ file }) => void file.bytes?.fill(0)],
    ['a damaged commit record', ({ database }) => database.put(commitKey(9), utf8('?'))],
    ['a damaged checkpoint', ({ database }) => database.put(Uint8Array.of(0, 1), utf8('?'))],
    ['a lost checkpoint', ({ database }) => database.del(Uint8Array.of(0, 1))],
  ])('a store with %s opens when the loss is accepted, and from then on', async (_what, damage) => {
    const world = await written(15)
    await damage(world)
    await expect(world.open({ written: true })).rejects.toMatchObject({
      code: expect.stringMatching(/^DATA_/),
    })

    const kv = await world.open({ written: true, acceptLoss: true })
    await put(kv, 'later')
    await kv.close()

    const again = await world.open()
    onTestFinished(() => again.close())
    expect(await storedText(again, 'k1')).toBe('k1')
    expect(await storedText(again, 'later')).toBe('later')
  })

  test('to accept a loss changes nothing in a store that lost none', async () => {
    const { kv, open, numbers } = await written(5)
    await kv.close()

    const again = await open({ acceptLoss: true })
    onTestFinished(() => again.close())

    expect(await numbers()).toEqual([1, 2, 3, 4, 5])
  })

  test('numbers above a loss are never reused, even if a restart was interrupted', async () => {
    const { database, open, numbers } = await written(13)
    await database.del(commitKey(13))
    await open({ acceptLoss: true }) // never closed: a crash
    const [restarted = 0] = await numbers()
    await database.put(commitKey(5), utf8('left over'))

    const kv = await open()
    onTestFinished(() => kv.close())
    await put(kv, 'later')

    expect((await numbers()).at(-1)).toBe(restarted + 2)
  })
})

describe('in a directory', () => {
  async function newStore(): Promise<string> {
    const parent = await mkdtemp(join(tmpdir(), 'rowstash-high-water-'))
    onTestFinished(() => rm(parent, { recursive: true, force: true }))
    return join(parent, 'store')
  }

  async function crashed(commits: number): Promise<string> {
    const path = await newStore()
    const live = `${path}-live`
    const ports = await openDirectoryPorts(live)
    for (let commit = 0; commit < commits; commit++) await put(ports.kv, `k${commit}`)
    // The state after a kill: everything written, and no close.
    await copyTree(live, path)
    await ports.close()
    return path
  }

  async function copyTree(from: string, to: string): Promise<void> {
    // Without the lock: opening and closing that file here would release it.
    await cp(from, to, { recursive: true, filter: (source) => !source.endsWith('/LOCK') })
  }

  async function logOf(path: string): Promise<string> {
    const names = await readdir(join(path, 'kv'))
    const [log = ''] = names
      .filter((name) => name.endsWith('.log'))
      .sort()
      .reverse()
    return join(path, 'kv', log)
  }

  test.each([true, false])('a log that is cut or deleted is noticed (cut: %s)', async (cut) => {
    for (const fraction of [0, 0.3, 0.9]) {
      const path = await crashed(40)
      const log = await logOf(path)
      const bytes = await readFile(log)
      expect(bytes.length).toBeGreaterThan(1_000)
      if (cut) await writeFile(log, bytes.subarray(0, Math.floor(bytes.length * fraction)))
      else await unlink(log)

      await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'DATA_LOSS' })
      const { kv, close } = await openDirectoryPorts(path, { acceptLoss: true })
      expect(await storedText(kv, 'k39')).toBe(null)
      await put(kv, 'later')
      await close()
      const again = await openDirectoryPorts(path)
      expect(await storedText(again.kv, 'later')).toBe('later')
      await again.close()
    }
  })

  test('an older copy of the database is noticed', async () => {
    const path = await newStore()
    const first = await openDirectoryPorts(path)
    await put(first.kv, 'a')
    await first.close()
    await copyTree(join(path, 'kv'), `${path}-older`)
    const second = await openDirectoryPorts(path)
    await put(second.kv, 'b')
    await second.close()
    await rm(join(path, 'kv'), { recursive: true })
    await copyTree(`${path}-older`, join(path, 'kv'))

    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'DATA_LOSS' })
  })

  test('a missing mark, a damaged one and one of another store are refused', async () => {
    const [path, other] = [await newStore(), await newStore()]
    for (const one of [path, other]) await (await openDirectoryPorts(one)).close()
    const file = join(path, 'HIGHWATER')
    const good = await readFile(file)

    await unlink(file)
    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'DATA_LOSS' })
    await writeFile(file, randomBytes(good.length))
    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    await copyFile(join(other, 'HIGHWATER'), file)
    await expect(openDirectoryPorts(path)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })

    await writeFile(file, good)
    await (await openDirectoryPorts(path)).close()
  })

  test('an interrupted write of the mark leaves nothing harmful', async () => {
    const path = await newStore()
    await (await openDirectoryPorts(path)).close()
    await writeFile(join(path, 'HIGHWATER.tmp'), 'half')

    const ports = await openDirectoryPorts(path)
    await put(ports.kv, 'a')
    await ports.close()

    expect((await readdir(path)).sort()).toEqual(['FORMAT', 'HIGHWATER', 'kv', 'objects'])
  })
})
