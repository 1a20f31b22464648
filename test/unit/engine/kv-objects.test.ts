// Goal: the leftovers of an interrupted put or delete are deleted after the next opening.
// Method: commits fail after a number of them. Then another ObjectStore is opened on the same database.
import { MemoryLevel } from 'memory-level'
import { expect, test } from 'vitest'
import { kvObjects } from '../../../src/engine/kv-objects.js'
import { openLevelKv, openStore, StoreError } from '../../../src/index.js'
import type { KvPartition, KvStore } from '../../../src/ports.js'

const FIRST = '0123456789abcdef0000000000000001'
const SECOND = '0123456789abcdef0000000000000002'
const THREE_PIECES = new Uint8Array(3 * 65_536).fill(7)
const EVERY_KEY = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100 }

/** A KvStore that accepts a number of commits and garbage collections, and then no more. */
function failingAfter(kv: KvStore, changes: number): KvStore {
  let left = changes
  const check = () => {
    if (left-- > 0) return
    throw new StoreError('STORAGE_UNAVAILABLE', 'Cut off', { outcome: 'unchanged' })
  }
  const partition = (name: string): KvPartition => {
    const inner = kv.partition(name)
    return {
      read: (use) => inner.read(use),
      async commit(commit) {
        check()
        return inner.commit(commit)
      },
      async deleteRange(range, count) {
        check()
        return inner.deleteRange(range, count)
      },
    }
  }
  return { shared: false, partition, close: () => kv.close() }
}

async function recordCount(kv: KvStore): Promise<number> {
  return (await kv.partition('objects').read((view) => view.scan(EVERY_KEY))).length
}

test.each([0, 1, 2, 3, 4])('a put that is cut off after %i commits leaves no object', async (n) => {
  const kv = await openLevelKv(new MemoryLevel())
  const putting = kvObjects(failingAfter(kv, n)).put(FIRST, THREE_PIECES)
  await expect(putting).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })

  const objects = kvObjects(kv)
  expect(await objects.list('')).toEqual([])
  expect(await objects.get(FIRST)).toBeNull()
  await objects.put(SECOND, Uint8Array.of(1))

  expect(await recordCount(kv)).toBe(2) // the head and the only piece of the second
  await kv.close()
})

test.each([0, 1, 2])('a delete that is cut off after %i commits is finished', async (n) => {
  const kv = await openLevelKv(new MemoryLevel())
  await kvObjects(kv).put(FIRST, THREE_PIECES)
  const deleting = kvObjects(failingAfter(kv, n)).delete([FIRST])
  await expect(deleting).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })

  const objects = kvObjects(kv)
  expect(await objects.list('')).toEqual(n === 0 ? [FIRST] : [])
  expect(await objects.get(FIRST)).toEqual(n === 0 ? THREE_PIECES : null)
  await objects.put(SECOND, Uint8Array.of(1))

  expect(await recordCount(kv)).toBe(n === 0 ? 6 : 2)
  await kv.close()
})

test('a store on two databases is complete when they are opened again', async () => {
  const [rows, objects] = [new MemoryLevel(), new MemoryLevel()]
  const open = async () => {
    const kv = await openLevelKv(rows)
    return openStore({ kv, objects: kvObjects(await openLevelKv(objects)), inlineRowsMax: 0 })
  }
  const store = await open()
  const { tableId } = await store.team('t').createTable({ name: 'T', rows: [{ a: 1 }, { a: 2 }] })
  await store.close()
  await Promise.all([rows.open(), objects.open()])

  const again = await open()

  expect((await again.team('t').table(tableId).page({ limit: 5 })).rows).toHaveLength(2)
  expect((await again.verify({ full: true })).ok).toBe(true)
  await again.close()
})
