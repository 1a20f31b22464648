// Goal: a walk over records holds a bounded number of bytes, however large the records are, and misses none.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { expect, onTestFinished, test } from 'vitest'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import type { KvView } from '../../../src/kv/kv.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import { scanBatches } from '../../../src/kv/scan-batches.js'

const MIB = 1024 * 1024
const RANGE = { start: utf8('k'), limit: utf8('l') }

/** The number of entries and the bytes of values of each batch. */
async function batchesOf(view: KvView): Promise<{ keys: string[]; batches: number[][] }> {
  const keys: string[] = []
  const batches: number[][] = []
  for await (const entries of scanBatches(view, RANGE)) {
    for (const [key] of entries) keys.push(fromUtf8(key))
    batches.push([entries.length, entries.reduce((sum, [, value]) => sum + value.length, 0)])
  }
  return { keys, batches }
}

test('a batch of a LevelDB has some megabytes of large values, or 1,000 small ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-scan-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const database = new ClassicLevel<Uint8Array, Uint8Array>(folder, {
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const kv = await openLevelKv(database)
  onTestFinished(() => kv.close())
  const partition = kv.partition('p')
  const keyOf = (index: number) => `k${String(index).padStart(5, '0')}`
  const sizes = [...Array<number>(1_500).fill(10), ...Array<number>(20).fill(MIB), 9 * MIB, 10, 10]
  for (let from = 0; from < sizes.length; from += 500) {
    const puts = sizes
      .slice(from, from + 500)
      .map((size, at) => [utf8(keyOf(from + at)), new Uint8Array(size)] as const)
    await partition.commit({ puts })
  }

  const { keys, batches } = await partition.read(batchesOf)

  expect(keys).toEqual(sizes.map((_, index) => keyOf(index)))
  expect(batches[0]).toEqual([1_000, 10_000])
  for (const [count = 0, bytes = 0] of batches) {
    expect(count).toBeLessThanOrEqual(1_000)
    expect(bytes).toBeLessThanOrEqual(5 * MIB + 9 * MIB) // the bound, a piece, and the last record
  }
  expect(batches.length).toBeGreaterThanOrEqual(6)
})

test('a walk is complete if the store ignores the bound, and scans a short range once', async () => {
  let scans = 0
  const viewOf = (values: readonly Uint8Array<ArrayBuffer>[]) =>
    ({
      async scan({ start, count }) {
        scans++
        const all = values.map((value, at) => [utf8(`k${at}`), value] as const)
        const rest = all.filter(([key]) => fromUtf8(key) >= fromUtf8(start))
        return rest.slice(0, count).map(([key, value]) => [key, value])
      },
      get: async () => null,
      getMany: async () => [],
    }) satisfies KvView

  const small = await batchesOf(viewOf([new Uint8Array(5), new Uint8Array(5)]))
  expect([small.keys, scans]).toEqual([['k0', 'k1'], 1])
  const large = await batchesOf(viewOf([new Uint8Array(6 * MIB), new Uint8Array(5)]))
  expect(large.keys).toEqual(['k0', 'k1'])
})
