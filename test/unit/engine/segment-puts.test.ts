// Which puts of small segments share an object, and which objects are pending.
import { describe, expect, test } from 'vitest'
import { BufferPool } from '../../../src/base/buffer-pool.js'
import { openSystemRandom } from '../../../src/base/random.js'
import { StoreError } from '../../../src/base/store-error.js'
import { SegmentPuts } from '../../../src/engine/context/segment-puts.js'
import { ObjectIds } from '../../../src/engine/ids/object-ids.js'
import { type Bytes, memoryObjects } from '../../../src/index.js'
import type { ObjectStore } from '../../../src/ports.js'

type Put = Readonly<{ id: string; bytes: Bytes; end(failure?: StoreError): void }>

/** Puts that end on command. */
function openPuts() {
  const memory = memoryObjects()
  const puts: Put[] = []
  const objects: ObjectStore = {
    ...memory,
    put: (id, content) =>
      new Promise((resolve, reject) => {
        const bytes = Uint8Array.from(content as Bytes)
        const end = (failure?: StoreError): void => {
          if (failure === undefined) resolve(bytes.length)
          else reject(failure)
        }
        puts.push({ id, bytes, end })
      }),
  }
  const ids = new ObjectIds(openSystemRandom())
  const segmentPuts = new SegmentPuts({ objects, ids, buffers: new BufferPool(0) })
  const put = (fill: number, length: number) => {
    const object = ids.next()
    const bytes = new Uint8Array(length).fill(fill)
    return { object, place: segmentPuts.put({ object, bytes }) }
  }
  return { ids, puts, put }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('small segments', () => {
  test('are stored separately and at once, under their own IDs, if they come one at a time', async () => {
    const { puts, put } = openPuts()
    const { object, place } = put(1, 10)
    await Promise.resolve()
    await Promise.resolve()

    expect(puts.map(({ id, bytes }) => [id, bytes.length])).toEqual([[object, 10]])
    puts[0]?.end()
    expect(await place).toBeUndefined()
  })

  test('share objects, one after another, if they come while one is put', async () => {
    const { ids, puts, put } = openPuts()
    const first = put(1, 10)
    await turns()
    const others = [put(2, 20), put(3, 30), put(4, 40)]
    await turns()
    expect(puts).toHaveLength(1)
    puts[0]?.end()
    await turns()

    const [, shared] = puts
    const object = shared?.id ?? ''
    expect([...(shared?.bytes ?? [])]).toEqual(
      [2, 3, 4].flatMap((fill) => Array<number>(10 * fill).fill(fill)),
    )
    shared?.end()
    expect(await first.place).toBeUndefined()
    expect(await Promise.all(others.map(({ place }) => place))).toEqual(
      [0, 20, 50].map((offset) => ({ object, offset })),
    )
    expect(puts).toHaveLength(2)
    for (const other of others) {
      expect(ids.isPending(object)).toBe(true)
      ids.release([other.object])
    }
    expect([ids.isPending(object), ids.isPending(first.object)]).toEqual([false, true])
  })

  test('fill an object up to its bound, and the rest goes to the next', async () => {
    const { puts, put } = openPuts()
    const first = put(1, 1)
    await turns()
    const others = Array.from({ length: 40 }, () => put(2, 64 * 1024))
    puts[0]?.end()
    await turns()
    puts[1]?.end()
    await turns()
    puts[2]?.end()
    await turns()
    puts[3]?.end()

    await Promise.all([first, ...others].map(({ place }) => place))
    expect(puts.map(({ bytes }) => bytes.length / 64 / 1024)).toEqual([1 / 64 / 1024, 16, 16, 8])
  })

  test('all fail if their shared object is not stored, and later ones do not', async () => {
    const { ids, puts, put } = openPuts()
    const first = put(1, 1)
    await turns()
    const others = [put(2, 2), put(3, 3)]
    puts[0]?.end()
    await turns()
    const later = put(4, 4)
    const failure = new StoreError('INSUFFICIENT_STORAGE', 'full', { outcome: 'unchanged' })
    const failed = Promise.allSettled(others.map(({ place }) => place))
    puts[1]?.end(failure)

    expect((await failed).map((one) => one.status === 'rejected' && one.reason)).toEqual([
      failure,
      failure,
    ])
    const object = puts[1]?.id ?? ''
    ids.release(others.map((other) => other.object))
    expect(ids.isPending(object)).toBe(false)
    await turns()
    puts[2]?.end()
    await Promise.all([first.place, later.place])
  })

  test('are stored separately if their incarnation was lost meanwhile', async () => {
    const { ids, puts, put } = openPuts()
    const first = put(1, 1)
    await turns()
    const others = [put(2, 2), put(3, 3)]
    ids.beginAnew()
    puts[0]?.end()
    await turns()
    for (const { end } of puts.slice(1)) end()

    expect(await Promise.all([first, ...others].map(({ place }) => place))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(puts.map(({ id }) => id)).toEqual([first, ...others].map(({ object }) => object))
    const pending = ids.pendingCounters(10)
    expect(pending.pending).toEqual([])
  })
})
