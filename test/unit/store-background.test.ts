import { MemoryLevel } from 'memory-level'
import { afterEach, expect, test, vi } from 'vitest'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'

afterEach(() => {
  vi.useRealTimers()
})

test('a store that is closed does nothing in the background any more', async () => {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const kv = await openLevelKv(database)
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

test('a store whose sweeps are switched off does not look at objects when it is opened', async () => {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const kv = await openLevelKv(database)
  const objects = memoryObjects()
  const list = vi.spyOn(objects, 'list')
  const off = { sweepIntervalMs: 0, foldIntervalMs: 0, fileSweepIntervalMs: 0 }
  const store = await openStore({ kv, objects, ...off })
  await store.team('t').tables()
  await new Promise((done) => setTimeout(done, 20))

  expect(list).not.toHaveBeenCalled()
  await store.sweep()
  expect(list).toHaveBeenCalled()
  await store.close()
})
