import { MemoryLevel } from 'memory-level'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sameBytes } from '../../src/base/bytes.js'
import { yieldToEventLoop } from '../../src/base/platform.js'
import { idempotencyRecordKey } from '../../src/format/keys.js'
import { lastScanKey } from '../../src/format/work-records.js'
import { memoryObjects, openLevelKv, openStore, type StoreOptions } from '../../src/index.js'
import type { KvCommit } from '../../src/kv/kv.js'
import type { KvStore } from '../../src/ports.js'
import { QUIET } from '../support/maintenance.js'
import { until } from '../support/until.js'
import { Hooks, hookedKv } from './hooked-ports.js'

afterEach(() => {
  vi.useRealTimers()
})

test('a store that is closed does nothing in the background any more', async () => {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const before = vi.getTimerCount()
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    maintenance: {
      garbageCollectionIntervalMs: 1_000,
      compactionIntervalMs: 1_000,
      fileCollectionIntervalMs: 1_000,
      recompressionIntervalMs: 1_000,
    },
    recompression: 'deflate',
  })

  expect(vi.getTimerCount()).toBe(before + 6)
  await store.close()
  expect(vi.getTimerCount()).toBe(before)
})

const MINUTE_MS = 60_000
const NOW = 1_800_000_000_000

/** A store with a team. */
async function usedKv(): Promise<KvStore> {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const store = await openStore({ kv, objects: memoryObjects(), maintenance: false })
  await store.team('t').createTable({ name: 'orders', rows: [{ a: 1 }] })
  return kv
}

/** The garbage collections that a store records as ended. */
class RunsNoted extends Hooks {
  readonly duties: string[] = []

  override async onCommit({ puts = [] }: KvCommit): Promise<void> {
    for (const [key] of puts) {
      for (const duty of ['garbageCollection', 'files'] as const) {
        if (sameBytes(key, lastScanKey(duty))) this.duties.push(duty)
      }
    }
  }
}

/** Opens a store and closes it, but not its records. @returns the garbage collections that ended meanwhile */
async function runsAtOpen(kv: KvStore, options: StoreOptions): Promise<string[]> {
  const noted = new RunsNoted()
  const ports = { kv: hookedKv(kv, noted, false), objects: memoryObjects() }
  const store = await openStore({ ...ports, maintenance: false, ...options })
  for (let turn = 0; turn < 200; turn++) await yieldToEventLoop()
  await store.close()
  return noted.duties
}

describe.each([
  ['garbageCollectionIntervalMs', 'garbageCollection'],
  ['fileCollectionIntervalMs', 'files'],
])('%s', (interval, duty) => {
  const at = (now: number, intervalMs = MINUTE_MS): StoreOptions => {
    return {
      maintenance: { ...QUIET, [interval]: intervalMs },
      clock: { now: () => now },
    }
  }

  test('a store is collected when it is opened, if the last garbage collection ended an interval ago', async () => {
    const kv = await usedKv()

    expect(await runsAtOpen(kv, at(NOW))).toEqual([duty])
    expect(await runsAtOpen(kv, at(NOW + MINUTE_MS - 1))).toEqual([])
    expect(await runsAtOpen(kv, at(NOW + MINUTE_MS))).toEqual([duty])
    expect(await runsAtOpen(kv, at(NOW + MINUTE_MS))).toEqual([])
  })

  test('a store is collected when it is opened, if the clock was set back', async () => {
    const kv = await usedKv()
    await runsAtOpen(kv, at(NOW))

    expect(await runsAtOpen(kv, at(NOW - 1))).toEqual([duty])
    expect(await runsAtOpen(kv, at(NOW))).toEqual([])
  })

  test('a store is not collected when it is opened, if it is new, or with 0', async () => {
    const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())

    expect(await runsAtOpen(kv, at(NOW))).toEqual([])
    expect(await runsAtOpen(await usedKv(), at(NOW, 0))).toEqual([])
  })

  test('a call of maintain counts', async () => {
    const kv = await usedKv()
    const store = await openStore({
      kv,
      objects: memoryObjects(),
      maintenance: false,
      ...at(NOW, 0),
    })
    await store.maintain()

    expect(await runsAtOpen(kv, at(NOW + MINUTE_MS - 1))).toEqual([])
    expect(await runsAtOpen(kv, at(NOW + MINUTE_MS))).toEqual([duty])
  })
})

test('a garbage collection that fails is repeated at the next opening', async () => {
  const kv = await usedKv()
  const objects = memoryObjects()
  vi.spyOn(objects, 'list').mockRejectedValue(new Error('There is no list'))
  const store = await openStore({ kv, objects, maintenance: false })
  await expect(store.maintain()).rejects.toThrow('There is no list')

  expect(await runsAtOpen(kv, { maintenance: { garbageCollectionIntervalMs: MINUTE_MS } })).toEqual(
    ['garbageCollection'],
  )
})

/** A store with a team, one of whose records garbage collection cannot read. */
async function damagedKv(): Promise<KvStore> {
  const kv = await usedKv()
  const damaged = [idempotencyRecordKey(null, 'key'), Uint8Array.of(1)] as const
  await kv.partition('t').commit({ puts: [damaged] })
  return kv
}

test('a garbage collection that fails with DATA_CORRUPT tells the host, each time', async () => {
  const kv = await damagedKv()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const failures: unknown[] = []
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    maintenance: { ...QUIET, garbageCollectionIntervalMs: 1_000 },
    onBackgroundFailure: (failure, task) => failures.push({ failure, task }),
  })
  const corrupt = {
    task: 'garbageCollection',
    failure: expect.objectContaining({ code: 'DATA_CORRUPT' }),
  }

  await until(() => failures.length > 0)
  expect(failures).toEqual([corrupt])
  await vi.advanceTimersByTimeAsync(1_000)
  await until(() => failures.length > 1)
  expect(failures).toEqual([corrupt, corrupt])

  await store.close()
})

test('without a function, the first failure of each task is a warning of the process', async () => {
  const kv = await damagedKv()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const partition = vi.spyOn(kv, 'partition')
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    maintenance: { ...QUIET, garbageCollectionIntervalMs: 1_000 },
  })

  await until(() => emitWarning.mock.calls.length === 1)
  const before = partition.mock.calls.length
  await vi.advanceTimersByTimeAsync(3_000)
  await until(() => partition.mock.calls.length > before)
  await store.close() // It waits for garbage collection.

  expect(emitWarning.mock.calls).toEqual([
    [
      expect.stringMatching(/^Garbage collection failed and will be retried: DATA_CORRUPT: /),
      { type: 'RowstashWarning', code: 'ROWSTASH_BACKGROUND_FAILURE' },
    ],
  ])
  emitWarning.mockRestore()
})

test('a store that is closed while it collects garbage has not failed', async () => {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const onBackgroundFailure = vi.fn()
  const intervals = {
    maintenance: {
      garbageCollectionIntervalMs: 1,
      compactionIntervalMs: 1,
      fileCollectionIntervalMs: 1,
    },
  }
  const store = await openStore({ kv, objects: memoryObjects(), ...intervals, onBackgroundFailure })
  const closing = store.close()
  await vi.advanceTimersByTimeAsync(10)
  await closing

  expect(onBackgroundFailure).not.toHaveBeenCalled()
})
