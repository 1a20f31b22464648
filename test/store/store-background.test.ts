import { MemoryLevel } from 'memory-level'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { idempotencyRecordKey } from '../../src/format/keys.js'
import { type KvStore, memoryObjects, openLevelKv, openStore } from '../../src/index.js'

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
    sweepIntervalMs: 1_000,
    foldIntervalMs: 1_000,
    fileSweepIntervalMs: 1_000,
    ...{ settledCompression: 'deflate', settleIntervalMs: 1_000 },
  })

  expect(vi.getTimerCount()).toBe(before + 7)
  await store.close()
  expect(vi.getTimerCount()).toBe(before)
})

const OFF = { sweepIntervalMs: 0, foldIntervalMs: 0, fileSweepIntervalMs: 0, jobIntervalMs: 0 }

/** How often a store looks for its teams, which each sweep begins with, in each second since it was opened. */
async function looksForTeams(
  kv: KvStore,
  intervals: Readonly<Record<string, number>>,
): Promise<number[]> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const partition = vi.spyOn(kv, 'partition')
  const looks: number[] = []
  const look = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await new Promise((done) => setImmediate(done))
    looks.push(partition.mock.calls.filter(([name]) => name === '').length)
    partition.mockClear()
  }
  const store = await openStore({ kv, objects: memoryObjects(), ...OFF, ...intervals })
  await look()
  await vi.advanceTimersByTimeAsync(999)
  await look()
  await vi.advanceTimersByTimeAsync(1)
  await look()
  await store.close()
  partition.mockRestore()
  return looks
}

describe.each(['sweepIntervalMs', 'fileSweepIntervalMs'])('%s', (interval) => {
  test('a store is swept a second after it was opened, not before', async () => {
    const [atOpen, before, then] = await looksForTeams(await usedKv(), { [interval]: 60_000 })

    expect(before).toBe(0)
    expect(then).toBeGreaterThan(0)
    expect(atOpen).toBeGreaterThan(0) // It looks whether it is new.
  })

  test('a store is not swept soon if it is new, or with 0', async () => {
    const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())

    expect((await looksForTeams(kv, { [interval]: 60_000 })).slice(1)).toEqual([0, 0])
    expect((await looksForTeams(await usedKv(), {})).slice(1)).toEqual([0, 0])
  })

  test('a store that is closed within its first second is not swept', async () => {
    const kv = await usedKv()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const onBackgroundFailure = vi.fn()
    const ports = { kv, objects: memoryObjects() }
    await (await openStore({ ...ports, ...OFF, [interval]: 60_000, onBackgroundFailure })).close()
    const partition = vi.spyOn(kv, 'partition')

    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(partition).not.toHaveBeenCalled()
    expect(onBackgroundFailure).not.toHaveBeenCalled()
  })
})

/** A store with a team. */
async function usedKv(): Promise<KvStore> {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const store = await openStore({ kv, objects: memoryObjects(), ...OFF })
  await store.team('t').createTable({ name: 'orders', rows: [{ a: 1 }] })
  return kv
}

/** A store with a team, one record of which the sweep cannot read. */
async function damagedKv(): Promise<KvStore> {
  const kv = await usedKv()
  const damaged = [idempotencyRecordKey(null, 'key'), Uint8Array.of(1)] as const
  await kv.partition('t').commit({ puts: [damaged] })
  return kv
}

test('a sweep that fails with DATA_CORRUPT tells the host, each time', async () => {
  const kv = await damagedKv()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const failures: unknown[] = []
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    ...OFF,
    sweepIntervalMs: 6_000,
    onBackgroundFailure: (failure, task) => failures.push({ failure, task }),
  })
  const corrupt = { task: 'sweep', failure: expect.objectContaining({ code: 'DATA_CORRUPT' }) }

  for (const times of [1, 2]) {
    await vi.advanceTimersByTimeAsync(5_000)
    await vi.waitFor(() => expect(failures).toEqual(Array(times).fill(corrupt)))
  }

  await store.close()
})

test('without a function, the first failure of each task is a warning of the process', async () => {
  const kv = await damagedKv()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const partition = vi.spyOn(kv, 'partition')
  const store = await openStore({ kv, objects: memoryObjects(), ...OFF, sweepIntervalMs: 1_000 })

  await vi.advanceTimersByTimeAsync(1_000)
  await vi.waitFor(() => expect(emitWarning).toHaveBeenCalledTimes(1))
  const before = partition.mock.calls.length
  await vi.advanceTimersByTimeAsync(3_000)
  await vi.waitFor(() => expect(partition.mock.calls.length).toBeGreaterThan(before))
  await store.close() // Waits for the sweep.

  expect(emitWarning.mock.calls).toEqual([
    [
      expect.stringMatching(/^The background sweep failed and will be retried: DATA_CORRUPT: /),
      { type: 'RowstashWarning', code: 'ROWSTASH_BACKGROUND_FAILURE' },
    ],
  ])
  emitWarning.mockRestore()
})

test('a store that is closed while it sweeps has not failed', async () => {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const onBackgroundFailure = vi.fn()
  const intervals = { sweepIntervalMs: 1, foldIntervalMs: 1, fileSweepIntervalMs: 1 }
  const store = await openStore({ kv, objects: memoryObjects(), ...intervals, onBackgroundFailure })
  const closing = store.close()
  await vi.advanceTimersByTimeAsync(10)
  await closing

  expect(onBackgroundFailure).not.toHaveBeenCalled()
})
