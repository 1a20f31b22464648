import { MemoryLevel } from 'memory-level'
import { afterEach, expect, test, vi } from 'vitest'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'

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
  })

  expect(vi.getTimerCount()).toBe(before + 3)
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
