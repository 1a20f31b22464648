import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fromUtf8, toHex, utf8 } from '../../../src/base/bytes.js'
import { crc32, tableCrc32 } from '../../../src/base/platform.js'
import { StoreError } from '../../../src/base/store-error.js'
import { prefixRange } from '../../../src/kv/key-range.js'
import type { KvPartition, KvView } from '../../../src/kv/kv.js'
import type { LevelDatabase } from '../../../src/kv/level-database.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { nthStep } from '../../conformance/faults/fault-plan.js'
import { runOptions } from '../../support/fast-check-options.js'

type Memory = MemoryLevel<Uint8Array, Uint8Array>

function memory(): Memory {
  return new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view' })
}

/** LevelDB key of a record of the partition "p". */
function levelKey(key: string): Uint8Array {
  return Uint8Array.of(0x02, 0x00, 0x01, 0x70, ...utf8(key))
}

function commitKey(sequence: number): Uint8Array {
  return Uint8Array.of(0x01, 0, 0, 0, 0, 0, 0, sequence >>> 8, sequence & 0xff)
}

const CHECKPOINT_KEY = Uint8Array.of(0x00, 0x01)

async function dump(database: Memory): Promise<Record<string, string>> {
  const entries = await database.iterator().all()
  return Object.fromEntries(entries.map(([key, value]) => [toHex(key), toHex(value)]))
}

async function commitNumbers(database: Memory): Promise<number[]> {
  const { start, limit } = prefixRange(Uint8Array.of(0x01))
  const keys = await database.keys({ gte: start, lt: limit }).all()
  return keys.map((key) => (key[7] ?? 0) * 256 + (key[8] ?? 0))
}

async function put(partition: KvPartition, key: string, value = key): Promise<void> {
  const result = await partition.commit({ puts: [[utf8(key), utf8(value)]] })
  expect(result).toEqual({ ok: true })
}

async function storedText(partition: KvPartition, key: string): Promise<string | null> {
  const value = await partition.read((view) => view.get(utf8(key)))
  return value === null ? null : fromUtf8(value)
}

/** A database whose batches can be watched, delayed and made to fail. */
function faulty(inner: Memory) {
  const control = {
    batches: [] as number[],
    openSnapshots: 0,
    failure: undefined as unknown,
    gate: Promise.resolve(),
  }
  const database: LevelDatabase = {
    status: 'open',
    supports: inner.supports,
    open: () => inner.open(),
    close: () => inner.close(),
    snapshot() {
      const snapshot = inner.snapshot()
      const close = snapshot.close.bind(snapshot)
      snapshot.close = async () => {
        control.openSnapshots--
        await close()
      }
      control.openSnapshots++
      return snapshot
    },
    getSync: (key, options) => inner.getSync(key, options),
    getMany: (keys, options) => inner.getMany(keys, options),
    iterator: (options) => inner.iterator(options),
    keys: (options) => inner.keys(options),
    async batch(operations, options) {
      control.batches.push(operations.length)
      await control.gate
      if (control.failure !== undefined) throw control.failure
      await inner.batch(operations, options)
    },
  }
  return { control, database }
}

async function openFaulty() {
  const inner = memory()
  await inner.open()
  const { control, database } = faulty(inner)
  const kv = await openLevelKv(database)
  onTestFinished(() => kv.close())
  return { inner, control, kv, partition: kv.partition('p') }
}

test('a caller that commits again as soon as it has an answer waits for no other work of the process', async () => {
  const kv = await openLevelKv(memory())
  const partition = kv.partition('p')
  let turns = 0
  setImmediate(() => turns++)
  for (let n = 0; n < 3; n++) await partition.commit({ puts: [[utf8(`k${n}`), utf8('v')]] })
  expect(turns).toBe(0)
  await kv.close()
})

test('one commit of many records lets others run, and shows none of its records before all', async () => {
  const { control, partition } = await openFaulty()
  const puts = Array.from({ length: 4_500 }, (_, n) => [utf8(`k${n}`), utf8('v')] as const)
  const seen: (Uint8Array | null)[] = []
  let isDone = false
  const look = async (): Promise<void> => {
    if (isDone) return
    seen.push(await partition.read((view) => view.get(utf8('k0'))))
    setImmediate(look)
  }
  setImmediate(look)
  await partition.commit({ puts })
  isDone = true
  expect(seen.length).toBeGreaterThanOrEqual(4)
  expect(seen.slice(0, 4)).toEqual([null, null, null, null])
  expect(control.batches).toEqual([4_501])
})

describe('the bytes of the database', () => {
  test('a commit writes these keys and values', async () => {
    const database = memory()
    const kv = await openLevelKv(database)
    onTestFinished(() => kv.close())

    await kv.partition('p').commit({ puts: [[utf8('k'), utf8('v')]], deletes: [utf8('d')] })

    const recordCrc = tableCrc32(utf8('v'), tableCrc32(levelKey('k')))
    const count = Uint8Array.of(0, 0, 0, 2)
    const commitCrc = tableCrc32(count, tableCrc32(commitKey(1)))
    expect(await dump(database)).toEqual({
      '020001706b': `01${recordCrc.toString(16).padStart(8, '0')}76`,
      '010000000000000001': `01${commitCrc.toString(16).padStart(8, '0')}00000002`,
    })
  })

  test('the length of a partition name counts its UTF-8 bytes', async () => {
    const database = memory()
    const kv = await openLevelKv(database)
    onTestFinished(() => kv.close())

    await kv.partition('\u20ac').commit({ puts: [[utf8('k'), utf8('v')]] })

    expect(Object.keys(await dump(database))).toContain('020003e282ac6b')
  })

  test('the built-in checksum continues from its seed over empty arrays of any kind', () => {
    const empties = [new Uint8Array(0), utf8(''), new Uint8Array(5).subarray(5)]
    for (const empty of empties) expect(crc32(empty, 123)).toBe(tableCrc32(empty, 123))
  })

  test('names that are no well-formed text of 256 units are refused', async () => {
    const kv = await openLevelKv(memory())
    onTestFinished(() => kv.close())

    for (const name of ['\ud800', 'a\udfff', 'x'.repeat(257)]) {
      expect(() => kv.partition(name)).toThrow('Invariant broken')
    }
  })
})

describe('damaged records', () => {
  async function openDamaged(damage: (database: Memory) => Promise<void>) {
    const database = memory()
    const kv = await openLevelKv(database, { recordCacheBytes: 0 })
    onTestFinished(() => kv.close())
    const partition = kv.partition('p')
    for (const key of ['a', 'b', 'c']) await put(partition, key, `value of ${key}`)
    await damage(database)
    return partition
  }

  async function expectCorrupt(partition: KvPartition, key: string): Promise<void> {
    const range = { start: utf8('a'), limit: utf8('z'), count: 10 }
    const corrupt = { code: 'DATA_CORRUPT', message: expect.stringContaining(toHex(levelKey(key))) }
    await expect(partition.read((view) => view.get(utf8(key)))).rejects.toMatchObject(corrupt)
    const keys = [utf8('c'), utf8(key)]
    await expect(partition.read((view) => view.getMany(keys))).rejects.toMatchObject(corrupt)
    await expect(partition.read((view) => view.scan(range))).rejects.toMatchObject(corrupt)
    const commit = { checks: [{ key: utf8(key), equals: null }] }
    const unchanged = { ...corrupt, outcome: 'unchanged' }
    await expect(partition.commit(commit)).rejects.toMatchObject(unchanged)
  }

  test('every flipped bit of a value is reported, and its neighbours are still served', async () => {
    const length = 5 + 'value of b'.length
    for (let bit = 0; bit < length * 8; bit++) {
      const partition = await openDamaged(async (database) => {
        const value = Uint8Array.from((await database.get(levelKey('b'))) ?? [])
        value[bit >>> 3] = (value[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
        await database.put(levelKey('b'), value)
      })
      await expectCorrupt(partition, 'b')
      expect(await storedText(partition, 'a')).toBe('value of a')
    }
  })

  test('a value that was moved to another key is reported', async () => {
    const partition = await openDamaged(async (database) => {
      const value = await database.get(levelKey('a'))
      if (value !== undefined) await database.put(levelKey('b'), value)
    })

    await expectCorrupt(partition, 'b')
  })

  test('a value that was cut is reported', async () => {
    for (let length = 0; length < 15; length++) {
      const partition = await openDamaged(async (database) => {
        const value = await database.get(levelKey('b'))
        await database.put(levelKey('b'), Uint8Array.from(value ?? []).subarray(0, length))
      })
      await expectCorrupt(partition, 'b')
    }
  })

  test('a garbage collection deletes damaged records too', async () => {
    const partition = await openDamaged((database) => database.put(levelKey('b'), utf8('?')))

    expect(await partition.deleteRange({ start: utf8('a'), limit: utf8('z') }, 10)).toBe(3)
  })

  test('a damaged record fails only the commit that checks it', async () => {
    const partition = await openDamaged((database) => database.put(levelKey('b'), utf8('?')))

    const checked = { checks: [{ key: utf8('b'), equals: utf8('x') }], puts: [] }
    const [bad, good] = await Promise.allSettled([
      partition.commit(checked),
      partition.commit({ puts: [[utf8('d'), utf8('d')]] }),
    ])

    expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'DATA_CORRUPT' } })
    expect(good).toMatchObject({ status: 'fulfilled', value: { ok: true } })
  })
})

describe('the commit sequence', () => {
  const options = { commitRecordsMin: 10, checkpointBatches: 4 }

  /** Reopening a memory database keeps its records, like a directory. */
  async function written(batches: number, chosen = options): Promise<Memory> {
    const database = memory()
    const kv = await openLevelKv(database, chosen)
    for (let batch = 0; batch < batches; batch++) await put(kv.partition('p'), `k${batch}`)
    return database
  }

  test('each batch adds the next number', async () => {
    expect(await commitNumbers(await written(3))).toEqual([1, 2, 3])
  })

  test('a reopened database continues with the next number', async () => {
    const database = await written(3)

    const again = await openLevelKv(database, options)
    await put(again.partition('p'), 'later')

    expect(await commitNumbers(database)).toEqual([1, 2, 3, 4])
  })

  test('a group in which nothing is accepted or nothing is to write adds no number', async () => {
    const database = await written(1)
    const partition = (await openLevelKv(database)).partition('p')

    await partition.commit({})
    await partition.commit({ checks: [{ key: utf8('k0'), equals: utf8('k0') }] })
    const refused = { checks: [{ key: utf8('k0'), equals: null }], deletes: [utf8('k0')] }
    expect(await partition.commit(refused)).toMatchObject({ ok: false })

    expect(await commitNumbers(database)).toEqual([1])
  })

  test('the latest records are kept, and older ones go at every checkpoint', async () => {
    const database = await written(15)
    expect(await commitNumbers(database)).toEqual(Array.from({ length: 13 }, (_, n) => n + 3))
    expect((await database.get(CHECKPOINT_KEY))?.at(-1)).toBe(3)

    const partition = (await openLevelKv(database, options)).partition('p')
    for (let batch = 0; batch < 25; batch++) await put(partition, 'more')

    expect(await commitNumbers(database)).toEqual(Array.from({ length: 10 }, (_, n) => n + 31))
    await openLevelKv(database, options)
  })

  test('pruning keeps working when a store is opened with other options', async () => {
    const database = await written(30, { commitRecordsMin: 1_000, checkpointBatches: 100 })

    const small = { commitRecordsMin: 2, checkpointBatches: 1 }
    const kv = await openLevelKv(database, small)
    await put(kv.partition('p'), 'last')

    expect(await commitNumbers(database)).toEqual([30, 31])
    await openLevelKv(database)
  })

  test.each([
    { missing: [1], says: 'Commit 1 is missing' },
    { missing: [5], says: 'Commit 5 is missing' },
    { missing: [4, 5, 6], says: 'Commits 4 to 6 are missing' },
    { missing: [1, 2, 3, 4, 5, 6, 7], says: 'Commit 1 is missing' },
  ])('the loss of commits $missing of 7 is noticed at open', async ({ missing, says }) => {
    const database = await written(7, { commitRecordsMin: 100, checkpointBatches: 100 })
    for (const number of missing) await database.del(commitKey(number))

    const opening = openLevelKv(database)

    await expect(opening).rejects.toMatchObject({
      code: 'DATA_LOSS',
      message: expect.stringContaining(says),
    })
  })

  test('the loss of any kept commit but the last is noticed after a checkpoint', async () => {
    for (let lost = 3; lost < 15; lost++) {
      const database = await written(15)
      await database.del(commitKey(lost))
      await expect(openLevelKv(database)).rejects.toMatchObject({ code: 'DATA_LOSS' })
    }
  })

  test('the loss of the checkpoint or of all records is noticed', async () => {
    const withoutCheckpoint = await written(15)
    await withoutCheckpoint.del(CHECKPOINT_KEY)
    await expect(openLevelKv(withoutCheckpoint)).rejects.toMatchObject({ code: 'DATA_LOSS' })

    const withoutRecords = await written(15)
    for (let number = 3; number <= 15; number++) await withoutRecords.del(commitKey(number))
    await expect(openLevelKv(withoutRecords)).rejects.toMatchObject({ code: 'DATA_LOSS' })
    await withoutRecords.clear({ gte: Uint8Array.of(0x01) })
    await expect(openLevelKv(withoutRecords)).rejects.toMatchObject({ code: 'DATA_LOSS' })
  })

  test('a damaged commit record or checkpoint is reported at open', async () => {
    for (const key of [commitKey(9), CHECKPOINT_KEY]) {
      const database = await written(15)
      await database.put(key, utf8('nonsense'))
      await expect(openLevelKv(database)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    }
  })

  test('a failed open leaves the database to the caller', async () => {
    const database = await written(3)
    await database.del(commitKey(2))
    await expect(openLevelKv(database)).rejects.toMatchObject({ code: 'DATA_LOSS' })

    expect(database.status).toBe('open')
  })
})

type Change = [key: string, value: string | null]
type Changes = Readonly<{ checks: Change[]; changes: Change[] }>

describe('group commit', () => {
  test('a hundred commits at once are one batch', async () => {
    const { control, partition } = await openFaulty()

    await Promise.all(Array.from({ length: 100 }, (_, index) => put(partition, `k${index}`)))

    expect(control.batches).toEqual([101])
  })

  test('commits that arrive during a batch make the next one', async () => {
    const { control, partition } = await openFaulty()
    let open = () => {}
    control.gate = new Promise((resolve) => {
      open = resolve
    })
    const first = put(partition, 'first')
    await new Promise((resolve) => setImmediate(resolve))
    const rest = Array.from({ length: 19 }, (_, index) => put(partition, `k${index}`))
    await new Promise((resolve) => setImmediate(resolve))
    expect(control.batches).toEqual([2])
    open()

    await Promise.all([first, ...rest])

    expect(control.batches).toEqual([2, 20])
  })

  test('many commits under way make batches of half of them, a few make one', async () => {
    const { control, partition } = await openFaulty()
    const writeFor = async (writers: number, rounds: number): Promise<number[]> => {
      const before = control.batches.length
      const write = async (writer: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) await put(partition, `k${writer}`)
      }
      await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
      return control.batches.slice(before + 3, -3) // while all of them write
    }

    const few = await writeFor(10, 20)
    const many = await writeFor(40, 20)

    expect(new Set(few)).toEqual(new Set([11])) // one more: the record of the commit
    expect(new Set(many)).toEqual(new Set([21]))
  })

  test('nobody is answered before the batch is durable', async () => {
    const { control, partition } = await openFaulty()
    await put(partition, 'key', 'old')
    let open = () => {}
    control.gate = new Promise((resolve) => {
      open = resolve
    })
    const answered: string[] = []
    const all = [
      put(partition, 'key', 'new').then(() => answered.push('accepted')),
      partition
        .commit({ checks: [{ key: utf8('key'), equals: utf8('old') }], deletes: [utf8('key')] })
        .then(({ ok }) => answered.push(ok ? 'accepted' : 'refused')),
    ]
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(answered).toEqual([])
    open()

    await Promise.all(all)

    expect(answered.sort()).toEqual(['accepted', 'refused'])
  })

  test('a group has at most 1,000 operations', async () => {
    const { control, partition } = await openFaulty()

    await Promise.all(Array.from({ length: 2_500 }, (_, index) => put(partition, `k${index}`)))

    expect(control.batches).toEqual([1_001, 1_001, 501])
  })

  test('a group has at most 4 MiB, and a bigger commit is alone', async () => {
    const { control, partition } = await openFaulty()
    const putBytes = (key: string, length: number) =>
      partition.commit({ puts: [[utf8(key), new Uint8Array(length)]] })
    const mebibyte = 1_048_576

    await Promise.all([
      putBytes('a', 3 * mebibyte),
      putBytes('b', mebibyte),
      putBytes('c', 9 * mebibyte),
      putBytes('d', 1),
      putBytes('e', 1),
    ])

    expect(control.batches).toEqual([2, 2, 2, 3])
  })

  test('a record that several commits of a group change is written once', async () => {
    const { control, partition } = await openFaulty()

    await Promise.all(Array.from({ length: 50 }, (_, index) => put(partition, 'key', `${index}`)))

    expect(control.batches).toEqual([2])
    expect(await storedText(partition, 'key')).toBe('49')
  })

  test('any concurrent commits end as if they were made one after another', async () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const value = fc.constantFrom('', '1', '2')
    const stored = fc.option(value, { nil: null })
    const commit = fc.record({
      checks: fc.array(fc.tuple(key, stored), { maxLength: 2 }),
      changes: fc.uniqueArray(fc.tuple(key, stored), { selector: ([k]) => k, maxLength: 3 }),
    })
    const run = async (commits: readonly Changes[], atOnce: boolean) => {
      const kv = await openLevelKv(memory())
      const partition = kv.partition('p')
      const results = []
      for (const { checks, changes } of commits) {
        const result = partition.commit({
          checks: checks.map(([k, v]) => ({ key: utf8(k), equals: v === null ? null : utf8(v) })),
          puts: changes.flatMap(([k, v]) => (v === null ? [] : [[utf8(k), utf8(v)] as const])),
          deletes: changes.flatMap(([k, v]) => (v === null ? [utf8(k)] : [])),
        })
        results.push(atOnce ? result : await result)
      }
      const settled = await Promise.all(results)
      const scan = { start: utf8(''), limit: utf8('z'), count: 10 }
      const records = await partition.read((view) => view.scan(scan))
      await kv.close()
      return { settled, records }
    }
    await fc.assert(
      fc.asyncProperty(fc.array(commit, { maxLength: 20 }), async (commits) => {
        expect(await run(commits, true)).toEqual(await run(commits, false))
      }),
      runOptions(300),
    )
  })
})

describe('after a failed write', () => {
  const ioError = Object.assign(new Error('IO error: 000005.log: Input/output error'), {
    code: 'LEVEL_IO_ERROR',
  })

  test('its commits have an unknown outcome, all others changed nothing', async () => {
    const { control, partition } = await openFaulty()
    await put(partition, 'key', 'old')
    control.failure = ioError
    const refused = { checks: [{ key: utf8('key'), equals: null }], deletes: [utf8('key')] }
    const group = [
      partition.commit({ puts: [[utf8('key'), utf8('new')]] }),
      partition.commit(refused),
      partition.commit({}),
    ]
    await Promise.resolve()
    const settled = Promise.allSettled(group)
    await new Promise((resolve) => setImmediate(resolve))

    const outcomes = (await settled).map((one) => one.status === 'rejected' && one.reason)
    expect(outcomes).toMatchObject([
      { code: 'STORAGE_UNAVAILABLE', outcome: 'unknown', cause: ioError },
      { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' },
      { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' },
    ])
  })

  test('commits behind it and later ones are refused, even when writing would work again', async () => {
    const { control, partition } = await openFaulty()
    control.failure = ioError
    let open = () => {}
    control.gate = new Promise((resolve) => {
      open = resolve
    })
    const first = partition.commit({ puts: [[utf8('a'), utf8('a')]] })
    await new Promise((resolve) => setImmediate(resolve))
    const behind = partition.commit({ puts: [[utf8('b'), utf8('b')]] })
    open()
    await expect(first).rejects.toMatchObject({ outcome: 'unknown' })
    await expect(behind).rejects.toMatchObject({ outcome: 'unchanged' })
    control.failure = undefined

    const refusal = {
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unchanged',
      message: expect.stringContaining('closed and opened again'),
    }
    await expect(put(partition, 'c')).rejects.toMatchObject(refusal)
    await expect(partition.commit({})).rejects.toMatchObject(refusal)
    expect(control.batches.length).toBe(1)
  })

  test('a garbage collection is refused as well', async () => {
    const { control, partition } = await openFaulty()
    await put(partition, 'a')
    control.failure = ioError
    await expect(put(partition, 'b')).rejects.toMatchObject({ outcome: 'unknown' })
    control.failure = undefined

    const maintain = partition.deleteRange({ start: utf8('a'), limit: utf8('z') }, 10)

    await expect(maintain).rejects.toMatchObject({ outcome: 'unchanged' })
    expect(await storedText(partition, 'a')).toBe('a')
  })

  test('reads go on, and a reopened store writes again', async () => {
    const { inner, control, partition } = await openFaulty()
    await put(partition, 'key', 'old')
    control.failure = ioError
    await expect(put(partition, 'key', 'new')).rejects.toBeInstanceOf(StoreError)

    expect(await storedText(partition, 'key')).toBe('old')
    const again = (await openLevelKv(inner)).partition('p')
    await put(again, 'key', 'newer')
    expect(await storedText(again, 'key')).toBe('newer')
    expect(await commitNumbers(inner)).toEqual([1, 2])
  })

  test.each([
    Object.assign(new Error('failed'), { code: 'ENOSPC' }),
    new Error('IO error: /x/000005.log: No space left on device'),
    new Error('wrapped', { cause: Object.assign(new Error('failed'), { code: 'ENOSPC' }) }),
  ])('a full disk is told apart: %s', async (failure) => {
    const { control, partition } = await openFaulty()
    control.failure = failure

    const full = { code: 'INSUFFICIENT_STORAGE', outcome: 'unknown' }
    await expect(put(partition, 'a')).rejects.toMatchObject(full)
  })
})

describe('opening', () => {
  test('options out of range and unknown ones are refused', async () => {
    const refused = { code: 'OPTION_NOT_ALLOWED' }
    for (const value of [0, -1, 1.5, Number.NaN, 1_000_001]) {
      const opening = openLevelKv(memory(), { commitRecordsMin: value })
      await expect(opening).rejects.toMatchObject(refused)
    }
    const misspelt = { commitRecordMin: 5 } as object
    await expect(openLevelKv(memory(), misspelt)).rejects.toMatchObject(refused)
  })

  test('a database without getSync serves as well', async () => {
    const inner = memory()
    await inner.open()
    const { database } = faulty(inner)
    const supports = { ...database.supports, getSync: false }
    const getSync = () => {
      throw new Error('not supported')
    }
    const kv = await openLevelKv({ ...database, supports, getSync })
    onTestFinished(() => kv.close())
    const partition = kv.partition('p')

    await put(partition, 'a')

    expect(await storedText(partition, 'a')).toBe('a')
    const commit = { checks: [{ key: utf8('a'), equals: null }] }
    expect(await partition.commit(commit)).toMatchObject({ ok: false })
  })

  test('a closed database is refused', async () => {
    const database = memory()
    await database.close()

    await expect(openLevelKv(database)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })

  test('a database that cannot be opened tells why', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'rowstash-level-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const missing = new ClassicLevel(join(directory, 'none'), { createIfMissing: false })
    await expect(openLevelKv(missing)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })

    const kv = await openLevelKv(new ClassicLevel(join(directory, 'kv')))
    onTestFinished(() => kv.close())
    const second = new ClassicLevel(join(directory, 'kv'))
    await expect(openLevelKv(second)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
  })

  test('commits in classic-level outlast a reopen', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'rowstash-level-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    for (let round = 0; round < 5; round++) {
      const kv = await openLevelKv(new ClassicLevel(directory))
      const partition = kv.partition('p')
      if (round > 0) expect(await storedText(partition, `k${round - 1}`)).toBe(`k${round - 1}`)
      await put(partition, `k${round}`)
      await kv.close()
    }
  })

  test('a view is closed when its use ends, by success or failure', async () => {
    const { control, partition } = await openFaulty()

    await partition.read(async (view) => {
      await view.scan({ start: utf8('a'), limit: utf8('b'), count: 1 })
      expect(control.openSnapshots).toBe(1)
    })
    expect(control.openSnapshots).toBe(0)
    const fails = async (view: KvView) => {
      await view.scan({ start: utf8('b'), limit: utf8('c'), count: 1 })
      throw new Error('no')
    }
    await expect(partition.read(fails)).rejects.toThrow('no')
    expect(control.openSnapshots).toBe(0)
    const throws = () => {
      throw new Error('at once')
    }
    await expect(partition.read(throws)).rejects.toThrow('at once')
    expect(control.openSnapshots).toBe(0)
  })

  test('closing while views are open fails their reads with STORE_CLOSED', async () => {
    const kv = await openLevelKv(memory())
    const partition = kv.partition('p')

    const reading = partition.read(async (view) => {
      await kv.close()
      return await view.get(utf8('a'))
    })

    await expect(reading).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})

// Found by the crash simulator: the failure of the close was thrown, not a StoreError.
test('a database that can neither be read nor closed is reported as one that cannot be opened', async () => {
  const disk = new FaultDisk()
  disk.faults = nthStep(1, { kind: 'fail' }, { lasting: true })

  await expect(openLevelKv(() => disk.level())).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringContaining('The database cannot be read'),
  })
})

test('the disk space of deleted records comes back, and the others stay', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-reclaim-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const kv = await openLevelKv(new ClassicLevel(folder, BINARY))
  onTestFinished(() => kv.close())
  const partition = kv.partition('p')
  await put(partition, 'kept')
  for (let first = 0; first < 12_000; first += 500) {
    const puts = Array.from(
      { length: 500 },
      (_, i) => [utf8(`row ${first + i}`), randomBytes(400)] as const,
    )
    await partition.commit({ puts })
  }
  while ((await partition.deleteRange(prefixRange(utf8('row ')), 500)) > 0);
  const before = await folderBytes(folder)

  await kv.reclaim?.()

  expect(before).toBeGreaterThan(3_000_000)
  // LevelDB deletes compacted files at a later time.
  await expect.poll(() => folderBytes(folder)).toBeLessThan(before / 2)
  expect(await storedText(partition, 'kept')).toBe('kept')
  expect(await storedText(partition, 'row 1')).toBe(null)
})

const BINARY = { keyEncoding: 'view', valueEncoding: 'view' } as const

async function folderBytes(folder: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(folder)) bytes += (await stat(join(folder, name))).size
  return bytes
}
