// Goal: a scratch store shows its own changes over the records below, which stay as they are.
// Method: the same commits go to it and to a plain store with the same records; both must give the same answers.
import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { describe, expect, test } from 'vitest'
import { scratchObjects } from '../../../adapters/directory/scratch-directory.js'
import { scratchKv } from '../../../adapters/directory/scratch-kv.js'
import {
  type KvCommit,
  type KvPartition,
  type KvScan,
  memoryObjects,
  openLevelKv,
} from '../../../src/index.js'
import { runOptions } from '../../support/fast-check-options.js'

type Records = readonly (readonly [Uint8Array, Uint8Array])[]

const KEYS = 12
const keyOf = (n: number) => Uint8Array.of(1, n)
const ALL: KvScan = { start: keyOf(0), limit: keyOf(KEYS), count: 100 }

const keyIndex = fc.nat(KEYS - 1)
const value = fc.uint8Array({ minLength: 1, maxLength: 2 })
const records = fc
  .uniqueArray(fc.tuple(keyIndex, value), { selector: ([n]) => n, maxLength: KEYS })
  .map((pairs): Records => pairs.map(([n, bytes]) => [keyOf(n), bytes]))
const commit = fc
  .uniqueArray(fc.tuple(keyIndex, fc.option(value, { freq: 1 })), {
    selector: ([n]) => n,
    maxLength: 4,
  })
  .map((changes): KvCommit => {
    return {
      puts: changes.flatMap(([n, bytes]) => (bytes === null ? [] : [[keyOf(n), bytes] as const])),
      deletes: changes.flatMap(([n, bytes]) => (bytes === null ? [keyOf(n)] : [])),
    }
  })
const scan = fc
  .tuple(keyIndex, keyIndex, fc.integer({ min: 1, max: KEYS }), fc.boolean())
  .map(([one, other, count, reverse]): KvScan => {
    const [start, limit] = [keyOf(Math.min(one, other)), keyOf(Math.max(one, other) + 1)]
    return { start, limit, count, reverse }
  })

function scanned(partition: KvPartition, wanted: KvScan): Promise<number[][]> {
  const plain = (found: [Uint8Array, Uint8Array][]) =>
    found.map(([key, bytes]) => [...key, -1, ...bytes])
  return partition.read(async (view) => plain(await view.scan(wanted)))
}

describe('a scratch store', () => {
  test('answers as a store with all changes, and leaves the one below as it was', async () => {
    await fc.assert(
      fc.asyncProperty(
        records,
        fc.array(commit, { maxLength: 5 }),
        fc.array(scan, { minLength: 1, maxLength: 5 }),
        async (puts, commits, scans) => {
          const below = await openLevelKv(new MemoryLevel())
          const plain = await openLevelKv(new MemoryLevel())
          for (const kv of [below, plain]) await kv.partition('p').commit({ puts })
          const before = await scanned(below.partition('p'), ALL)
          const scratch = scratchKv(below)
          const both = [scratch.partition('p'), plain.partition('p')] as const
          for (const each of commits) for (const partition of both) await partition.commit(each)

          for (const each of [ALL, ...scans]) {
            expect(await scanned(both[0], each)).toEqual(await scanned(both[1], each))
          }
          expect(await scanned(below.partition('p'), ALL)).toEqual(before)
          await scratch.close()
          await plain.close()
        },
      ),
      runOptions(1_000),
    )
  })

  test('checks a commit against both, and a view keeps what it began with', async () => {
    const below = await openLevelKv(new MemoryLevel())
    const [key, old, next] = [keyOf(1), Uint8Array.of(1), Uint8Array.of(2)]
    await below.partition('p').commit({ puts: [[key, old]] })
    const partition = scratchKv(below).partition('p')
    const seen = await partition.read(async (view) => {
      const first = await partition.commit({ checks: [{ key, equals: old }], puts: [[key, next]] })
      return [first, await view.get(key)]
    })
    const again = await partition.commit({ checks: [{ key, equals: old }], deletes: [key] })

    expect(seen).toEqual([{ ok: true }, old])
    expect(again).toEqual({ ok: false, failed: [{ key, value: next }] })
    await below.close()
  })
})

test('scratch objects are listed with those below, which cannot be deleted', async () => {
  const [first, second] = ['a'.repeat(32), 'b'.repeat(32)]
  const below = memoryObjects()
  await below.put(first, Uint8Array.of(1))
  const objects = scratchObjects(below, memoryObjects())
  await objects.put(second, Uint8Array.of(2))

  expect(await objects.list('')).toEqual([first, second])
  expect(await objects.get(first)).toEqual(Uint8Array.of(1))
  await objects.delete([first, second])
  expect(await objects.list('')).toEqual([first])
  expect(await below.list('')).toEqual([first])
})
