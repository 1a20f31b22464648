// Goal: nothing ends early when the system's clock is set or a machine was suspended.
import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryObjects, openLevelKv, openStore, type StoreOptions } from '../../src/index.js'
import { plainDatabase } from '../support/plain-database.js'
import { Hooks, hookedKv } from './hooked-ports.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const CSV = { fileName: 'a', contentType: 'text/plain' }

/** A wall clock that can be set, and monotonic time that passes. */
class SetClock {
  #set = 1_800_000_000_000
  #passed = 0

  now(): number {
    return this.#set + this.#passed
  }

  monotonicMs(): number {
    return this.#passed
  }

  set(ahead: number): void {
    this.#set += ahead
  }

  pass(milliseconds: number): void {
    this.#passed += milliseconds
  }
}

async function open(options: StoreOptions = {}) {
  const clock = new SetClock()
  const kv = await openLevelKv(plainDatabase())
  const objects = memoryObjects()
  const store = await openStore({ kv, objects, clock, maintenance: false, ...options })
  onTestFinished(() => store.close())
  return { store, team: store.team('t'), clock, objects }
}

test('a reader keeps its objects while the clock is set', async () => {
  const grace = {
    orphanGraceMs: HOUR_MS,
    inlineRowsMax: 0,
    maintenance: { compactionRecordsMin: 1 },
  }
  const { store, team, clock, objects } = await open(grace)
  const { tableId } = await team.createTable({ name: 'a', rows: [{ n: 1 }] })
  const [read] = await objects.list('')
  await team.table(tableId).delete()
  await store.maintain()
  clock.set(30 * DAY_MS)
  await store.maintain()
  expect(await objects.list('')).toEqual([read])
  clock.pass(HOUR_MS)
  await store.maintain()
  expect(await objects.list('')).toEqual([])
})

test.each([
  ['forward', [30 * DAY_MS]],
  ['back, and right again', [-30 * DAY_MS, 30 * DAY_MS]],
])('no lifetime ends when the clock is set %s', async (_, jumps) => {
  const { store, team, clock } = await open()
  const last = jumps.pop() ?? 0
  for (const jump of jumps) clock.set(jump)
  const request = { name: 'a', rows: [{ n: 1 }], idempotencyKey: 'k' }
  const { tableId } = await team.createTable(request)
  await team.stash('s').put('0', [{ n: 1 }])
  const file = await team.files.put('x', CSV)
  clock.set(last)
  await store.maintain()
  expect((await team.createTable(request)).tableId).toBe(tableId)
  expect(await team.stash('s').chunks()).toHaveLength(1)
  expect(await team.files.get(file.id)).not.toBeNull()
  clock.pass(8 * DAY_MS + (jumps.length > 0 ? 30 * DAY_MS : 0))
  await store.maintain()
  expect(await team.files.get(file.id)).toBeNull()
})

/** Ports of a shared store. @param now - The database's time. */
async function sharedPorts(now: () => number) {
  const kv = hookedKv(await openLevelKv(plainDatabase()), new Hooks(), true)
  return { kv: { ...kv, now: async () => now() }, objects: memoryObjects() }
}

test('a machine that was suspended begins and ends lifetimes at once on a shared store', async () => {
  const clock = new SetClock()
  const ports = await sharedPorts(() => clock.now())
  const store = await openStore({ maintenance: false, ...ports, clock })
  onTestFinished(() => store.close())
  const team = store.team('t')
  clock.set(HOUR_MS)
  await team.createTable({ name: 'a', rows: [{ n: 1 }], idempotencyKey: 'k' })
  clock.set(HOUR_MS)
  await team.files.put('x', CSV)
  clock.set(HOUR_MS)
  await store.maintain()
})

test('a clock that is off begins and ends no lifetime on a shared store', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const clock = new SetClock()
  const right = clock.now()
  const ports = await sharedPorts(() => right)
  const store = await openStore({ maintenance: false, ...ports, clock: { now: () => right } })
  const request = { name: 'a', rows: [{ n: 1 }], idempotencyKey: 'k' }
  const { tableId } = await store.team('t').createTable(request)
  const file = await store.team('t').files.put('x', CSV)

  clock.set(25 * HOUR_MS)
  const off = await openStore({ maintenance: false, ...ports, clock })
  const team = off.team('t')
  onTestFinished(async () => {
    await off.close()
    await store.close()
  })
  const refusal = {
    code: 'STORAGE_UNAVAILABLE',
    outcome: 'unchanged',
    message: expect.stringContaining('90000000 ms ahead of'),
  }
  await expect(team.createTable(request)).rejects.toMatchObject(refusal)
  await expect(team.files.put('y', CSV)).rejects.toMatchObject(refusal)
  await expect(off.maintain()).rejects.toMatchObject(refusal)
  expect(await team.files.get(file.id)).not.toBeNull()
  await team.table(tableId).addRows([{ n: 2 }]) // It has no lifetime.

  clock.set(-25 * HOUR_MS)
  await vi.advanceTimersByTimeAsync(10_000)
  expect((await team.createTable(request)).tableId).toBe(tableId)
})

test('a reader whose process was paused for longer than the grace period finds no damage', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const { team, objects } = await open({ inlineRowsMax: 0, cacheBytesMax: 0 })
  const { tableId } = await team.createTable({ name: 'a', rows: [{ n: 1 }] })
  await objects.delete(await objects.list(''))
  const read = () => team.table(tableId).page()
  await expect(read()).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
  vi.setSystemTime(Date.now() + HOUR_MS)
  const paused = { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }
  await expect(read()).rejects.toMatchObject(paused)
})
