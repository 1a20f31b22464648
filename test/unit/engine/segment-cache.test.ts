// The memory that point reads use and keep.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Awaitable } from '../../../src/base/awaitable.js'
import type { Bytes } from '../../../src/base/bytes.js'
import { codecs } from '../../../src/base/codecs.js'
import type { SegmentRef } from '../../../src/format/extent-page.js'
import { memoryObjects } from '../../../src/objects/memory-objects.js'
import type { ByteRange, ObjectStore } from '../../../src/objects/objects.js'
import { newSummary } from '../../../src/schema/summarize.js'
import { buildSegment } from '../../support/build-segment.js'
import { segmentCacheOf } from '../../support/segment-cache.js'

const OBJECT = 'aabbccddeeff00110000000000000001'
const TEXTS = Array.from({ length: 200 }, (_, i) => `"a":"${String(i).repeat(40)}"`)
const BUDGET_BYTES = 1_000_000

let bytes: Bytes
let ref: SegmentRef
let reads: ByteRange[]

beforeEach(() => put('none'))

async function put(compression: 'none' | 'zstd'): Promise<void> {
  const built = await buildSegment(OBJECT, TEXTS, [newSummary('a')], [], compression)
  bytes = Uint8Array.from(built.bytes)
  const { footerBytes } = built
  ref = { object: OBJECT, rowCount: TEXTS.length, objectBytes: bytes.length, footerBytes }
  reads = []
}

/** Objects that read into the given memory, as a disk does. */
function objects(deliver: (read: () => Bytes) => Awaitable<Bytes>): ObjectStore {
  return {
    ...memoryObjects(),
    get: (_, range = { start: 0, limit: bytes.length }, memory) => {
      reads.push(range)
      return deliver(() => {
        const piece = bytes.slice(range.start, range.limit)
        if (memory === undefined || memory.length < piece.length) return piece
        memory.set(piece)
        return memory.subarray(0, piece.length)
      })
    },
  }
}

const AT_ONCE = (read: () => Bytes): Bytes => read()

describe('rows that come at once', () => {
  test('a row of a new segment takes two reads and no promise', () => {
    const cache = segmentCacheOf(objects(AT_ONCE), BUDGET_BYTES)

    expect(cache.rowText(ref, 5)).toBe(TEXTS[5])
    expect(reads.length).toBe(2)
  })

  test.each(['none', ...(codecs.zstd === null ? [] : (['zstd'] as const))] as const)(
    'a frame is kept from its second row on, compressed: %s',
    async (compression) => {
      await put(compression)
      const cache = segmentCacheOf(objects(AT_ONCE), BUDGET_BYTES)
      for (const [row, count] of [2, 1, 0, 0].entries()) {
        reads = []
        expect(cache.rowText(ref, row)).toBe(TEXTS[row])
        expect(reads.length).toBe(count)
      }
    },
  )

  test('every row of every frame is found, even without room to cache anything', () => {
    for (const budget of [0, BUDGET_BYTES]) {
      const cache = segmentCacheOf(objects(AT_ONCE), budget)
      const rows = [...TEXTS.keys(), ...TEXTS.keys()]
      expect(rows.map((row) => cache.rowText(ref, row))).toEqual([...TEXTS, ...TEXTS])
    }
  })

  test('a damaged frame is refused each time, and so is a missing row', () => {
    const cache = segmentCacheOf(objects(AT_ONCE), BUDGET_BYTES)
    expect(cache.rowText(ref, 199)).toBe(TEXTS[199])
    bytes[100] = (bytes[100] ?? 0) ^ 1

    for (let n = 0; n < 3; n++) expect(() => cache.rowText(ref, 0)).toThrow('checksum')
    expect(() => cache.rowText(ref, 200)).toThrow('has no row 200')
    bytes[100] = (bytes[100] ?? 0) ^ 1
    expect(cache.rowText(ref, 0)).toBe(TEXTS[0])
  })
})

test('reads at the same time do not get the same memory', async () => {
  const waiting: (() => void)[] = []
  const late = (read: () => Bytes): Promise<Bytes> =>
    new Promise((resolve) => {
      waiting.push(() => resolve(read()))
    })
  const cache = segmentCacheOf(objects(late), BUDGET_BYTES)
  const deliver = async (): Promise<void> => {
    while (waiting.length > 0) for (const each of waiting.splice(0)) each()
    await new Promise((resolve) => setImmediate(resolve))
  }

  const texts = Promise.all([0, 70, 130, 190].map((row) => cache.rowText(ref, row)))
  for (let turn = 0; turn < 5; turn++) await deliver()

  expect(await texts).toEqual([TEXTS[0], TEXTS[70], TEXTS[130], TEXTS[190]])
})
