// The commits that a store may lose if it acknowledges them before they are on disk: in `interval` the newest, each
// completely.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDirectoryPorts } from '../../../adapters/directory/directory.js'
import { openFsObjects } from '../../../adapters/fs/fs-objects.js'
import { openDirectory } from '../../../adapters/node.js'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import { isStoreError } from '../../../src/base/store-error.js'
import { decodeHighWater } from '../../../src/kv/high-water.js'
import type { KvStore } from '../../../src/kv/kv.js'
import type { LevelDatabase } from '../../../src/kv/level-database.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import type { LevelKvOptions } from '../../../src/kv/level-options.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { NO_FAULTS, nthStep } from '../../conformance/faults/fault-plan.js'
import { MemoryHighWater, STORE } from '../../support/memory-high-water.js'
import { reopeningsOf } from '../../support/reopenings.js'
import { fifthOf } from '../../support/what-runs.js'

afterEach(() => void vi.useRealTimers())

const LOG_BYTES = 16_384
const VALUE = 'x'.repeat(400)

function put(kv: KvStore, key: string, value = VALUE) {
  return kv.partition('p').commit({ puts: [[utf8(key), utf8(value)]] })
}

async function has(kv: KvStore, key: string): Promise<boolean> {
  return (await kv.partition('p').read((view) => view.get(utf8(key)))) !== null
}

function spied(disk: FaultDisk) {
  const level = disk.level()
  const seen = { batches: 0, synced: 0, flushes: 0 }
  const database: LevelDatabase = {
    get status() {
      return level.status
    },
    supports: level.supports,
    open: () => level.open(),
    close: () => level.close(),
    snapshot: () => level.snapshot(),
    getSync: (key, options) => level.getSync(key, options),
    getMany: (keys, options) => level.getMany(keys, options),
    iterator: (options) => level.iterator(options),
    keys: (options) => level.keys(options),
    async batch(operations, options) {
      seen.batches++
      if ('sync' in options && options.sync === true) seen.synced++
      await level.batch(operations, options)
    },
    async compactRange(...range) {
      seen.flushes++
      await level.compactRange?.(...range)
    },
  }
  return { database, seen }
}

async function openOn(disk: FaultDisk, options: LevelKvOptions, file = new MemoryHighWater()) {
  const { database, seen } = spied(disk)
  const kv = await openLevelKv(() => database, { highWater: file.place, ...options })
  onTestFinished(() => kv.close().catch(() => undefined)) // A crashed one cannot be closed.
  return { kv, seen, file, mark: () => decodeHighWater(STORE, file.bytes ?? utf8('')) }
}

const INTERVAL = { durability: 'interval', flushBytes: LOG_BYTES / 2 } as const

describe('options', () => {
  test('other durabilities and times out of range are refused', async () => {
    const refused = { code: 'OPTION_NOT_ALLOWED' }
    const wrong = 'always' as 'commit'
    for (const options of [{ durability: wrong }, { flushMs: 9 }, { flushMs: 60_001 }]) {
      await expect(openLevelKv(() => new FaultDisk().level(), options)).rejects.toMatchObject(
        refused,
      )
      const folder = await mkdtemp(join(tmpdir(), 'rowstash-durability-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      await expect(openDirectory(join(folder, 'store'), options)).rejects.toMatchObject(refused)
    }
  })

  test('interval needs a database that can be flushed', async () => {
    const opening = openLevelKv(new MemoryLevel(), { durability: 'interval' })

    await expect(opening).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  })
})

describe('what is synced', () => {
  test('with commit, every batch', async () => {
    const { kv, seen, mark } = await openOn(new FaultDisk(), {})
    for (let n = 0; n < 10; n++) await put(kv, `k${n}`)

    expect(seen).toEqual({ batches: 10, synced: 10, flushes: 0 })
    expect(mark()).toMatchObject({ commit: 10, relaxed: false })
  })

  test('with none, nothing, not even at the end, and the mark stays where it was', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { kv, seen, mark } = await openOn(new FaultDisk(), { durability: 'none' })
    for (let n = 0; n < 300; n++) await put(kv, `k${n}`)
    vi.advanceTimersByTime(60_000)
    await kv.close()

    expect(seen).toEqual({ batches: 300, synced: 0, flushes: 0 })
    expect(mark()).toMatchObject({ commit: 0, relaxed: true, closed: false })
  })

  test('with interval, what is behind once in flushMs, and only then', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { kv, seen, mark } = await openOn(new FaultDisk(), { ...INTERVAL, flushMs: 500 })
    await put(kv, 'a')
    await put(kv, 'b')
    expect(seen).toEqual({ batches: 2, synced: 0, flushes: 0 })
    expect(mark()).toMatchObject({ commit: 0, relaxed: true, closed: false })

    vi.advanceTimersByTime(499)
    await put(kv, 'c')
    expect(seen.synced).toBe(0)
    vi.advanceTimersByTime(1)
    await put(kv, 'd')
    expect(seen.synced).toBe(1)
    expect(mark().commit).toBeGreaterThanOrEqual(3)
    vi.advanceTimersByTime(500)
    await new Promise((resolve) => setImmediate(resolve))
    const { batches, synced } = seen
    vi.advanceTimersByTime(60_000)
    await new Promise((resolve) => setImmediate(resolve))

    expect(seen).toEqual({ batches, synced, flushes: 0 })
  })

  test('with interval, a close takes all to the disk and says so', async () => {
    const { kv, seen, mark } = await openOn(new FaultDisk(), INTERVAL)
    await put(kv, 'a')
    await kv.close()

    expect(seen.synced).toBe(1)
    expect(mark()).toMatchObject({ commit: 2, closed: true })
  })

  test('with interval, the memory table is flushed before it would be by itself', async () => {
    const { kv, seen } = await openOn(new FaultDisk(), INTERVAL)
    for (let n = 0; n < 200; n++) await put(kv, `k${n}`)

    const bytes = 200 * 550
    expect(seen.flushes).toBeGreaterThanOrEqual(Math.floor(bytes / (LOG_BYTES / 2)))
    expect(seen.flushes).toBeLessThan(bytes / (LOG_BYTES / 4))
  })

  test('with interval, every batch while the database is compacted', async () => {
    const disk = new FaultDisk()
    const { kv, seen } = await openOn(disk, { ...INTERVAL, flushBytes: 2 ** 30 })
    const puts = Array.from({ length: 20_000 }, (_, n) => [utf8(`k${n}`), utf8('v')] as const)
    await kv.partition('p').commit({ puts })
    expect(seen).toEqual({ batches: 1, synced: 0, flushes: 0 })
    let during = 0
    disk.faults = (step) => {
      if (step.operation === 'compact') {
        during = seen.synced
        return { kind: 'delay', turns: 500 }
      }
      return null
    }

    const reclaiming = kv.reclaim?.()
    for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    while (seen.flushes === 0) await Promise.resolve()
    expect(during).toBe(1)
    await put(kv, 'meanwhile')
    expect(seen.synced).toBe(2)
    await reclaiming
    await put(kv, 'later')

    expect(seen.synced).toBe(2)
  })
})

describe('a power cut', () => {
  /** Commits of about 500 bytes each, so that many logs come and go. */
  async function cut(seed: number, options: LevelKvOptions) {
    const disk = new FaultDisk({ seed, logBytesMax: LOG_BYTES })
    const opened = await openOn(disk, options)
    const acked: string[] = []
    let steps = 0
    const end = 20 + ((seed * 7919) % 600)
    disk.faults = () =>
      ++steps === end ? { kind: 'crash', side: seed % 2 ? 'before' : 'after', of: 'machine' } : null
    try {
      for (let n = 0; n < 400; n++) {
        await put(opened.kv, `k${n}`, n % 40 === 39 ? VALUE.repeat(70) : VALUE)
        acked.push(`k${n}`)
      }
    } catch (failure) {
      expect(isStoreError(failure)).toBe(true)
    }
    if (!disk.isDown) disk.crash('machine')
    disk.faults = NO_FAULTS
    return { disk, acked, file: opened.file, mark: opened.mark() }
  }

  async function kept(kv: KvStore, keys: readonly string[]): Promise<boolean[]> {
    return await Promise.all(keys.map((key) => has(kv, key)))
  }

  test('with commit takes nothing that was answered', async () => {
    for (let seed = 0; seed < fifthOf(30); seed++) {
      const { disk, acked, file } = await cut(seed, {})
      const { kv } = await openOn(disk, { written: true }, file)
      expect([seed, (await kept(kv, acked)).includes(false)]).toEqual([seed, false])
    }
  })

  test('with interval takes the newest commits at the most, and the store opens', async () => {
    let lost = 0
    for (let seed = 0; seed < fifthOf(70); seed++) {
      const { disk, acked, file, mark } = await cut(seed, INTERVAL)
      const { kv } = await openOn(disk, { ...INTERVAL, written: true }, file)

      const left = await kept(kv, acked)
      const firstLost = left.indexOf(false)
      if (firstLost < 0) continue
      lost += left.length - firstLost
      expect([seed, left.slice(firstLost).includes(true)]).toEqual([seed, false])
      expect(firstLost).toBeGreaterThanOrEqual(Math.min(mark.commit, acked.length))
      expect((left.length - firstLost) * 500).toBeLessThan(LOG_BYTES)
    }
    expect(lost).toBeGreaterThan(0)
  })

  test('with none may take any commits; if later commits are left, the open reports a loss', async () => {
    const ends = new Set<string>()
    for (let seed = 0; seed < fifthOf(70); seed++) {
      const { disk, acked, file } = await cut(seed, { durability: 'none' })
      try {
        const { kv } = await openOn(disk, { written: acked.length > 0 }, file)
        const left = await kept(kv, acked)
        const firstLost = left.indexOf(false)
        if (firstLost >= 0) expect(left.slice(firstLost)).not.toContain(true)
        ends.add('opened')
      } catch (failure) {
        expect(failure).toMatchObject({ code: 'DATA_LOSS' })
        ends.add('refused')
      }
    }
    expect([...ends].sort()).toEqual(['opened', 'refused'])
  })
})

describe('the end of the process alone', () => {
  test.each(['commit', 'interval', 'none'] as const)(
    'with %s takes nothing',
    async (durability) => {
      const disk = new FaultDisk({ logBytesMax: LOG_BYTES })
      const { kv, file } = await openOn(disk, { ...INTERVAL, durability })
      for (let n = 0; n < 100; n++) await put(kv, `k${n}`)
      disk.crash('process')

      const again = await openOn(disk, { ...INTERVAL, durability, written: true }, file)

      for (let n = 0; n < 100; n++) expect(await has(again.kv, `k${n}`)).toBe(true)
    },
  )
})

describe('a failed flush', () => {
  test('ends writing until the database was opened again, as a failed write does', async () => {
    const disk = new FaultDisk()
    const kv = await openLevelKv(() => disk.level(), INTERVAL)
    onTestFinished(() => kv.close())
    disk.faults = nthStep(0, { kind: 'fail' }, { fits: ({ operation }) => operation === 'compact' })
    const failures: unknown[] = []
    for (let n = 0; n < 60; n++) await put(kv, `k${n}`).catch((failure) => failures.push(failure))

    expect(failures[0]).toMatchObject({ code: 'STORAGE_UNAVAILABLE', outcome: 'unknown' })
    expect(reopeningsOf(kv)).toBe(1)
  })
})

describe('in a directory', () => {
  test.each(['interval', 'none'] as const)(
    'with %s what was closed is there',
    async (durability) => {
      const folder = await mkdtemp(join(tmpdir(), 'rowstash-durability-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      const path = join(folder, 'store')
      const id = '0123456789abcdef0000000000000001'
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      onTestFinished(() => void vi.useRealTimers())
      const first = await openDirectoryPorts(path, { durability, flushMs: 10 })
      await first.objects.put(id, utf8('content'))
      await put(first.kv, 'a')
      vi.advanceTimersByTime(10)
      await put(first.kv, 'b')
      await first.close()

      const { kv, objects, close } = await openDirectoryPorts(path)
      expect([await has(kv, 'a'), await has(kv, 'b')]).toEqual([true, true])
      expect(fromUtf8((await objects.get(id)) ?? utf8(''))).toBe('content')
      await close()
    },
  )

  test('objects of a store that never syncs are put and read as any', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-durability-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const objects = await openFsObjects(folder, { sync: false })
    const id = '0123456789abcdef0000000000000002'
    await objects.put(id, utf8('content'))

    expect(await objects.get(id)).toEqual(utf8('content'))
    await objects.close()
  })
})
