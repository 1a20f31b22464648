import { MemoryLevel } from 'memory-level'
import { afterEach, expect, test, vi } from 'vitest'
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

  expect(vi.getTimerCount()).toBe(before + 5)
  await store.close()
  expect(vi.getTimerCount()).toBe(before)
})

/** How often a store that is just opened looks for its teams, which each sweep begins with. */
async function looksForTeams(intervals: Readonly<Record<string, number>>): Promise<number> {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const partition = vi.spyOn(kv, 'partition')
  const store = await openStore({ kv, objects: memoryObjects(), ...OFF, ...intervals })
  await store.team('t').tables()
  await new Promise((done) => setTimeout(done, 20))
  const looks = partition.mock.calls.filter(([name]) => name === '').length
  await store.close()
  return looks
}

const OFF = { sweepIntervalMs: 0, foldIntervalMs: 0, fileSweepIntervalMs: 0 }

test.each(['sweepIntervalMs', 'fileSweepIntervalMs'])(
  'a store sweeps when it is opened, unless %s is 0',
  async (interval) => {
    const none = await looksForTeams({})

    expect(await looksForTeams({ [interval]: 60_000 })).toBeGreaterThan(none)
  },
)

/** A store with a team, one record of which the sweep cannot read. */
async function damagedKv(): Promise<KvStore> {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const store = await openStore({ kv, objects: memoryObjects(), ...OFF })
  await store.team('t').createTable({ name: 'orders', rows: [{ a: 1 }] })
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
    sweepIntervalMs: 1_000,
    onBackgroundFailure: (failure, task) => failures.push({ failure, task }),
  })
  const corrupt = { task: 'sweep', failure: expect.objectContaining({ code: 'DATA_CORRUPT' }) }

  await vi.waitFor(() => expect(failures).toEqual([corrupt]))
  await vi.advanceTimersByTimeAsync(1_000)
  await vi.waitFor(() => expect(failures).toEqual([corrupt, corrupt]))

  await store.close()
})

test('without a function, the first failure of each task is a warning of the process', async () => {
  const kv = await damagedKv()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const partition = vi.spyOn(kv, 'partition')
  const store = await openStore({ kv, objects: memoryObjects(), ...OFF, sweepIntervalMs: 1_000 })

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
