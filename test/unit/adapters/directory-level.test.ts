// The fast path of small batches into LevelDB: what it writes, and how durably.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DirectoryLevel } from '../../../adapters/leveldb/directory-level.js'
import type { LevelOperation } from '../../../src/kv/level-database.js'
import { writeBatch } from '../../../src/kv/level-database.js'
import { seeded } from '../../support/seeded.js'

async function open(): Promise<DirectoryLevel> {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-level-'))
  const level = new DirectoryLevel(folder, { keyEncoding: 'view', valueEncoding: 'view' })
  await level.open()
  onTestFinished(async () => {
    await level.close()
    await rm(folder, { recursive: true })
  })
  return level
}

test('operations given one by one leave what an array of them leaves', async () => {
  const [small, large, whole] = [await open(), await open(), await open()]
  const random = seeded(7)
  for (let batch = 0; batch < 200; batch++) {
    const operations = Array.from({ length: 1 + random.below(12) }, (_, i): LevelOperation => {
      const key = Uint8Array.of(1, random.below(20))
      if (random.once(3)) return { type: 'del', key }
      return { type: 'put', key, value: Uint8Array.of(batch, i, ...new Uint8Array(i)) }
    })
    await small.writeSmall(operations, false)
    await large.writeLarge(operations, false)
    await whole.batch(operations, { sync: false })
    const written = await whole.iterator().all()
    expect(await small.iterator().all()).toEqual(written)
    expect(await large.iterator().all()).toEqual(written)
  }
})

test('what a batch has taken may be written over when the call returns', async () => {
  const level = await open()
  const operation: LevelOperation = {
    type: 'put',
    key: Uint8Array.of(1),
    value: Uint8Array.of(2, 3),
  }
  for (const [n, write] of [level.writeSmall, level.writeLarge].entries()) {
    operation.key.fill(n)
    operation.value.fill(10 + n)
    const written = write.call(level, [operation], false)
    operation.key.fill(9)
    operation.value.fill(9)
    await written
  }
  const entries = await level.iterator().all()
  expect(entries.map((entry) => entry.map((bytes) => [...bytes]))).toEqual([
    [[0], [10, 10]],
    [[1], [11, 11]],
  ])
})

test('a batch is synced if it has to be, whether it is small or not', async () => {
  const level = await open()
  const chained = level.batch()
  const write = vi.spyOn(Object.getPrototypeOf(chained), '_write')
  const array = vi.spyOn(Object.getPrototypeOf(DirectoryLevel.prototype), '_batch')
  onTestFinished(() => {
    vi.restoreAllMocks()
  })
  await chained.close()
  const putOf = (bytes: number): LevelOperation[] => {
    return [{ type: 'put', key: Uint8Array.of(1), value: new Uint8Array(bytes) }]
  }

  for (const sync of [true, false]) await writeBatch(level, putOf(100), sync)
  expect(write.mock.calls.map(([options]) => options)).toMatchObject([
    { sync: true },
    { sync: false },
  ])
  expect(array).not.toHaveBeenCalled()

  for (const sync of [true, false]) await writeBatch(level, putOf(100_000), sync)
  expect(write).toHaveBeenCalledTimes(2)
  expect(array.mock.calls.map((given) => given[1])).toMatchObject([{ sync: true }, { sync: false }])
})

test('a written batch is reused empty', async () => {
  const level = await open()
  const made = vi.spyOn(level, 'batch')
  for (const n of [1, 2, 3]) {
    await level.writeSmall([put(n, n)], false)
    await level.del(Uint8Array.of(n))
  }
  expect(made).toHaveBeenCalledTimes(1)
  expect(await level.keys().all()).toEqual([])
})

test('small batches at the same time are written whole, each by itself', async () => {
  const level = await open()
  await level.writeSmall([put(9, 9)], false)
  const made = vi.spyOn(level, 'batch')
  const all = [1, 2, 3, 4].map((n) => level.writeSmall([put(n, n), put(10 + n, n)], n % 2 === 0))
  await Promise.all(all)
  expect((await level.keys().all()).map(([n]) => n)).toEqual([1, 2, 3, 4, 9, 11, 12, 13, 14])
  expect(made).toHaveBeenCalledTimes(3) // A batch that is being written accepts no more operations.
})

test('of a batch that failed nothing is written with the next one', async () => {
  const level = await open()
  await level.writeSmall([put(9, 9)], false)
  const write = vi.spyOn(Object.getPrototypeOf(level.batch()), '_write')
  onTestFinished(() => {
    vi.restoreAllMocks()
  })
  write.mockRejectedValueOnce(new Error('no disk'))
  await expect(level.writeSmall([put(1, 1)], true)).rejects.toThrow('no disk')
  await level.writeSmall([put(2, 2)], true)
  expect((await level.keys().all()).map(([n]) => n)).toEqual([2, 9])
})

test('a close waits for the small batch under way, and a database that is opened again takes others', async () => {
  const level = await open()
  for (const n of [1, 2]) {
    const write = level.writeSmall([put(n, n)], true)
    await Promise.all([write, level.close()])
    await level.open()
    await level.writeSmall([put(10 + n, n)], true)
  }
  expect((await level.keys().all()).map(([n]) => n)).toEqual([1, 2, 11, 12])
})

function put(key: number, value: number): LevelOperation {
  return { type: 'put', key: Uint8Array.of(key), value: Uint8Array.of(value) }
}

test('a database that was closed takes no small batch', async () => {
  const level = await open()
  await level.writeSmall([put(1, 1)], false)
  await level.close()
  const operation = { type: 'put', key: Uint8Array.of(1), value: Uint8Array.of(1) } as const
  await expect(writeBatch(level, [operation])).rejects.toMatchObject({
    code: 'LEVEL_DATABASE_NOT_OPEN',
  })
})

test('a large batch into a database that is closed is refused', async () => {
  const level = await open()
  await level.close()
  const put: LevelOperation = { type: 'put', key: Uint8Array.of(1), value: new Uint8Array(100_000) }

  await expect(writeBatch(level, [put])).rejects.toMatchObject({ code: 'LEVEL_DATABASE_NOT_OPEN' })
})
