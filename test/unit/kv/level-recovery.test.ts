// After a failed write a store reopens its database by itself: it must keep what it acknowledged, undo nothing, and
// write again soon.

import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import { isStoreError } from '../../../src/base/store-error.js'
import type { Store } from '../../../src/index.js'
import { openStore } from '../../../src/index.js'
import { decodeHighWater } from '../../../src/kv/high-water.js'
import type { KvGroup, KvStore } from '../../../src/kv/kv.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import type { Fault, PortStep } from '../../conformance/faults/fault-plan.js'
import { NO_FAULTS, nthStep } from '../../conformance/faults/fault-plan.js'
import { MemoryHighWater, STORE } from '../../support/memory-high-water.js'
import { reopeningsOf } from '../../support/reopenings.js'
import { fifthOf } from '../../support/what-runs.js'

afterEach(() => void vi.useRealTimers())

const writes = (step: PortStep): boolean => step.port === 'level' && step.operation === 'write'
const opens = (step: PortStep): boolean => step.port === 'level' && step.operation === 'open'

async function openOn(disk: FaultDisk, file = new MemoryHighWater()): Promise<KvStore> {
  const kv = await openLevelKv(() => disk.level(), { highWater: file.place })
  onTestFinished(() => kv.close())
  return kv
}

function put(kv: KvStore, key: string, value = key) {
  return kv.partition('p').commit({ puts: [[utf8(key), utf8(value)]] })
}

async function storedText(kv: KvStore, key: string): Promise<string | null> {
  const value = await kv.partition('p').read((view) => view.get(utf8(key)))
  return value === null ? null : fromUtf8(value)
}

/** Repeats an action while the store reports that it cannot write. */
async function onceItWorks<T>(action: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 30_000; tries++) {
    try {
      return await action()
    } catch (failure) {
      if (!isStoreError(failure) || !REFUSALS.has(failure.code)) throw failure
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  throw new Error('It never worked again')
}

const REFUSALS: ReadonlySet<string> = new Set(['STORAGE_UNAVAILABLE', 'INSUFFICIENT_STORAGE'])

async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('after a failed write', () => {
  test.each<[Fault['kind'], string]>([
    ['fail', 'STORAGE_UNAVAILABLE'],
    ['full', 'INSUFFICIENT_STORAGE'],
    ['zombie', 'STORAGE_UNAVAILABLE'],
  ])('(%s) its outcome is unknown, and the store writes again by itself', async (kind, code) => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    await put(kv, 'before')
    disk.faults = nthStep(0, { kind } as Fault, { fits: writes })

    await expect(put(kv, 'failed')).rejects.toMatchObject({ code, outcome: 'unknown' })
    await expect(put(kv, 'behind')).rejects.toMatchObject({ code, outcome: 'unchanged' })

    await onceItWorks(() => put(kv, 'after'))
    expect(await storedText(kv, 'before')).toBe('before')
    expect(await storedText(kv, 'failed')).toBe(kind === 'zombie' ? 'failed' : null)
    expect(await storedText(kv, 'behind')).toBe(null)
    expect(await storedText(kv, 'after')).toBe('after')
    expect(reopeningsOf(kv)).toBe(1)
  })

  test('groups and lookups of records are still counted', async () => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    const groups: KvGroup[] = []
    kv.observe?.((group) => void groups.push(group))
    await put(kv, 'before')
    expect(await storedText(kv, 'before')).toBe('before')
    const { hits = 0, misses = 0 } = kv.cache ?? {}
    expect(hits + misses).toBeGreaterThan(0)
    disk.faults = nthStep(0, { kind: 'fail' }, { fits: writes })
    await expect(put(kv, 'failed')).rejects.toMatchObject({ outcome: 'unknown' })

    await onceItWorks(() => put(kv, 'after'))
    expect(groups.map(({ commits, records }) => [commits, records])).toEqual([
      [1, 1],
      [1, 1],
    ])
    expect(kv.cache?.hits).toBeGreaterThanOrEqual(hits)
    expect(kv.cache?.misses).toBeGreaterThanOrEqual(misses)
  })

  test('commits that waited in the queue behind it fail as unchanged', async () => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    disk.faults = nthStep(0, { kind: 'fail' }, { fits: writes })

    const first = put(kv, 'first')
    await Promise.resolve()
    await Promise.resolve()
    const queued = [put(kv, 'a'), put(kv, 'b')]

    await expect(first).rejects.toMatchObject({ outcome: 'unknown' })
    for (const one of await Promise.allSettled(queued)) {
      expect(one).toMatchObject({ status: 'rejected', reason: { outcome: 'unchanged' } })
    }
  })

  test('a commit that was there after all is found by the checks of the next', async () => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    await put(kv, 'key', 'old')
    disk.faults = nthStep(0, { kind: 'zombie' }, { fits: writes })
    await expect(put(kv, 'key', 'new')).rejects.toMatchObject({ outcome: 'unknown' })

    const checked = { checks: [{ key: utf8('key'), equals: utf8('old') }], puts: [] }
    const result = await onceItWorks(() => kv.partition('p').commit(checked))

    expect(result).toMatchObject({ ok: false, failed: [{ value: utf8('new') }] })
  })

  test('the commit sequence and the mark continue from the stored state', async () => {
    for (const kind of ['fail', 'zombie'] as const) {
      const disk = new FaultDisk()
      const file = new MemoryHighWater()
      const kv = await openOn(disk, file)
      await put(kv, 'a')
      disk.faults = nthStep(0, { kind }, { fits: writes })
      await expect(put(kv, 'b')).rejects.toMatchObject({ outcome: 'unknown' })
      await onceItWorks(() => put(kv, 'c'))
      expect(file.replacements).toBe(2) // at the open, and at the reopening
      await kv.close()

      const commit = kind === 'zombie' ? 3 : 2
      expect(decodeHighWater(STORE, file.bytes ?? utf8(''))).toMatchObject({ commit, closed: true })
      expect(await storedText(await openOn(disk, file), 'c')).toBe('c')
    }
  })

  test('garbage collections and reclaiming work again too', async () => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    await put(kv, 'a')
    disk.faults = nthStep(0, { kind: 'fail' }, { fits: writes })
    const range = { start: utf8('a'), limit: utf8('z') }
    const maintain = () => kv.partition('p').deleteRange(range, 10)
    await expect(maintain()).rejects.toMatchObject({ outcome: 'unknown' })

    expect(await onceItWorks(maintain)).toBe(1)
    await kv.reclaim?.()
  })
})

describe('on a full disk', () => {
  test('reads continue in the old database, and writes work within 2 s of there being room', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const disk = new FaultDisk()
    const file = new MemoryHighWater()
    const kv = await openOn(disk, file)
    await put(kv, 'a')
    disk.faults = nthStep(0, { kind: 'full' }, { fits: writes, lasting: true })
    file.failure = Object.assign(new Error('No space left on device'), { code: 'ENOSPC' })
    const full = { code: 'INSUFFICIENT_STORAGE' }
    await expect(put(kv, 'b')).rejects.toMatchObject({ ...full, outcome: 'unknown' })

    for (let minute = 0; minute < 5; minute++) {
      await vi.advanceTimersByTimeAsync(60_000)
      expect(await storedText(kv, 'a')).toBe('a')
      await expect(put(kv, 'c')).rejects.toMatchObject({ ...full, outcome: 'unchanged' })
    }
    expect(reopeningsOf(kv)).toBe(0)
    expect(file.probes).toBeGreaterThan(250)
    expect(file.probes).toBeLessThan(320)

    file.failure = undefined
    disk.faults = NO_FAULTS
    await vi.advanceTimersByTimeAsync(1_000)
    await turns()
    expect(await put(kv, 'd')).toEqual({ ok: true })
    expect(await storedText(kv, 'a')).toBe('a')
  })
})

describe('while the database cannot be opened', () => {
  async function openBroken() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const disk = new FaultDisk()
    const file = new MemoryHighWater()
    const kv = await openOn(disk, file)
    await put(kv, 'a')
    disk.faults = (step) => (writes(step) || opens(step) ? { kind: 'fail' } : null)
    await expect(put(kv, 'b')).rejects.toMatchObject({ outcome: 'unknown' })
    await turns()
    return { disk, file, kv }
  }

  test('a read waits 2 seconds for it', async () => {
    const { kv } = await openBroken()
    let settled = false
    const read = storedText(kv, 'a').finally(() => {
      settled = true
    })
    read.catch(() => undefined)

    await vi.advanceTimersByTimeAsync(1_900)
    expect(settled).toBe(false)
    await vi.advanceTimersByTimeAsync(200)

    await expect(read).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
  })

  test('a read that waits is served when it is open again', async () => {
    const { disk, kv } = await openBroken()
    const read = storedText(kv, 'a')
    disk.faults = NO_FAULTS

    await vi.advanceTimersByTimeAsync(1_000)

    expect(await read).toBe('a')
  })

  test('it is retried once a second at most, for as long as necessary', async () => {
    const { disk, kv } = await openBroken()
    let attempts = 0
    disk.faults = (step) => {
      if (opens(step)) attempts++
      return opens(step) ? { kind: 'fail' } : null
    }
    await vi.advanceTimersByTimeAsync(600_000)
    expect(attempts).toBeGreaterThan(550)
    expect(attempts).toBeLessThan(620)
    disk.faults = NO_FAULTS
    await vi.advanceTimersByTimeAsync(1_000)

    expect(await put(kv, 'c')).toEqual({ ok: true })
  })

  test('closing ends the attempts, and what waits', async () => {
    const { disk, file, kv } = await openBroken()
    const read = storedText(kv, 'a')
    read.catch(() => undefined)
    await kv.close()

    await expect(read).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await expect(put(kv, 'c')).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    const { steps } = disk
    await vi.advanceTimersByTimeAsync(10_000)
    expect(disk.steps).toBe(steps)
    expect(decodeHighWater(STORE, file.bytes ?? utf8(''))).toMatchObject({
      commit: 1,
      closed: false,
    })
  })
})

describe('reads under way', () => {
  test('may end before the database is closed under them', async () => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    await put(kv, 'a')
    disk.faults = nthStep(0, { kind: 'fail' }, { fits: writes })

    const value = await kv.partition('p').read(async (view) => {
      await expect(put(kv, 'b')).rejects.toMatchObject({ outcome: 'unknown' })
      await turns()
      return await view.get(utf8('a'))
    })

    expect(value).toEqual(utf8('a'))
    await onceItWorks(() => put(kv, 'c'))
  })

  test('that take longer fail with STORAGE_UNAVAILABLE, and never see two databases', async () => {
    const disk = new FaultDisk()
    const kv = await openOn(disk)
    await put(kv, 'a')
    disk.faults = nthStep(0, { kind: 'fail' }, { fits: writes })

    const read = kv.partition('p').read(async (view) => {
      await expect(put(kv, 'b')).rejects.toMatchObject({ outcome: 'unknown' })
      await onceItWorks(() => put(kv, 'a', 'changed'))
      return await view.get(utf8('a'))
    })

    await expect(read).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await storedText(kv, 'a')).toBe('changed')
  })
})

describe('a reopened database that lost commits', () => {
  test('stays refused with DATA_LOSS, until it is opened with acceptLoss', async () => {
    const disk = new FaultDisk({ seed: 3 })
    const file = new MemoryHighWater()
    const kv = await openOn(disk, file)
    for (const key of ['a', 'b', 'c']) await put(kv, key)
    disk.faults = (step) => {
      if (opens(step)) disk.damage('cutLog')
      return writes(step) ? { kind: 'fail' } : null
    }
    await expect(put(kv, 'd')).rejects.toMatchObject({ outcome: 'unknown' })
    disk.faults = (
      (plan) => (step) =>
        opens(step) ? plan(step) : null
    )(disk.faults)

    const loss = { code: 'DATA_LOSS', message: expect.stringContaining('missing') }
    await expect(onceItWorks(() => put(kv, 'e'))).rejects.toMatchObject(loss)
    await expect(storedText(kv, 'a')).rejects.toMatchObject(loss)
    await kv.close()

    disk.faults = NO_FAULTS
    const opening = openLevelKv(() => disk.level(), { highWater: file.place })
    await expect(opening).rejects.toMatchObject(loss)
    const options = { highWater: file.place, acceptLoss: true }
    const again = await openLevelKv(() => disk.level(), options)
    onTestFinished(() => again.close())
    expect(await put(again, 'f')).toEqual({ ok: true })
  })
})

describe('whatever write fails, and however', () => {
  const KINDS = ['fail', 'full', 'zombie'] as const

  function faultsOf(seed: number): (step: PortStep) => Fault | null {
    let state = (Math.imul(seed + 1, 0x9e3779b1) ^ 0x85ebca6b) >>> 0
    const below = (limit: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * limit)
    }
    return (step) => {
      const isHit = writes(step) && below(12) === 0
      return isHit ? { kind: KINDS[below(KINDS.length)] ?? 'fail' } : null
    }
  }

  test('acknowledged commits stay, refused ones leave nothing', async () => {
    for (let seed = 0; seed < fifthOf(60); seed++) {
      const disk = new FaultDisk({ seed })
      const kv = await openOn(disk)
      disk.faults = faultsOf(seed)
      const ends = new Map<string, 'acked' | 'unchanged' | 'unknown'>()
      const commitAll = Array.from({ length: 40 }, async (_, index) => {
        for (let turn = 0; turn < index; turn++) await turns(1)
        try {
          await put(kv, `k${index}`)
          ends.set(`k${index}`, 'acked')
        } catch (failure) {
          ends.set(`k${index}`, isStoreError(failure) ? (failure.outcome ?? 'unknown') : 'unknown')
        }
      })
      await Promise.all(commitAll)
      disk.faults = NO_FAULTS
      await onceItWorks(() => put(kv, 'last'))

      for (const [key, end] of ends) {
        const found = await storedText(kv, key)
        if (end === 'acked') expect([seed, key, found]).toEqual([seed, key, key])
        if (end === 'unchanged') expect([seed, key, found]).toEqual([seed, key, null])
      }
      await kv.close()
    }
  })

  test('the engine above continues with the stored state, and versions never denote two contents', async () => {
    let unknown = 0
    for (let seed = 0; seed < fifthOf(25); seed++) {
      const disk = new FaultDisk({ seed })
      const store: Store = await openStore({
        kv: await openLevelKv(() => disk.level()),
        objects: disk.objects(),
        maintenance: false,
      })
      const table = store
        .team('t')
        .table((await store.team('t').createTable({ name: 'T', rows: [{ n: 0 }] })).tableId)
      disk.faults = faultsOf(seed)
      const contents = new Map<number, string>()
      const look = async (): Promise<void> => {
        const page = await onceItWorks(() => table.page({ limit: 1_000 }))
        const seen = contents.get(page.version)
        const now = JSON.stringify(page.rows)
        expect([seed, page.version, seen ?? now]).toEqual([seed, page.version, now])
        contents.set(page.version, now)
      }
      const acked = new Set<number>()
      for (let n = 1; n <= 30; n++) {
        const adds = [n, n + 100].map(async (value) => {
          try {
            await table.addRows([{ n: value }])
            acked.add(value)
          } catch (failure) {
            if (!isStoreError(failure)) throw failure
            if (failure.outcome === 'unknown') unknown++
          }
        })
        await Promise.all(adds)
        await look()
      }
      disk.faults = NO_FAULTS
      await onceItWorks(() => table.addRows([{ n: 999 }]))
      const rows = (await table.page({ limit: 1_000 })).rows.map(({ n }) => n)
      expect(rows.filter((n) => acked.has(Number(n))).length).toBe(acked.size)
      expect(new Set(rows).size).toBe(rows.length)
      await store.close()
    }
    expect(unknown).toBeGreaterThan(0)
  })
})
