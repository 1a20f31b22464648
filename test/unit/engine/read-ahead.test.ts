// Goal: from a store with expensive requests, walks and point reads return what is stored, whatever the rows are like
// and however long each read takes. Memory and concurrent reads stay within their limits.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Bytes } from '../../../src/base/bytes.js'
import { StoreError } from '../../../src/base/store-error.js'
import { READ_BYTES_MAX } from '../../../src/engine/segments/frame-parts.js'
import { AHEAD_BYTES_MAX, WALK_AT_WILL } from '../../../src/engine/segments/read-ahead.js'
import type { SegmentCache } from '../../../src/engine/segments/segment-cache.js'
import type { RowRun } from '../../../src/engine/segments/segment-opening.js'
import type { SegmentRef } from '../../../src/format/extent-page.js'
import type { Compression } from '../../../src/format/frame-codec.js'
import { memoryObjects } from '../../../src/objects/memory-objects.js'
import { assertRange } from '../../../src/objects/object-arguments.js'
import type { ObjectId, ObjectStore } from '../../../src/objects/objects.js'
import { newSummary } from '../../../src/schema/summarize.js'
import { buildSegment } from '../../support/build-segment.js'
import { runOptions } from '../../support/fast-check-options.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { segmentCacheOf } from '../../support/segment-cache.js'

const KIB = 1_024
const COLUMNS = [newSummary('a')]
const READS_MAX = 32 // 16 reads, each of which may be two requests

/** Segments on another machine: reads take a random number of turns, and fill the given memory. */
class FarObjects {
  readonly store: ObjectStore
  readonly contents = new Map<ObjectId, Bytes>()
  reads = 0
  underWay = 0
  underWayMax = 0
  bytesUnderWay = 0
  bytesUnderWayMax = 0

  constructor(random: Seeded, requestCostBytes: number) {
    this.store = {
      ...memoryObjects(),
      requestCostBytes,
      get: async (id, range = { start: 0, limit: 0 }, memory) => {
        assertRange(range)
        this.reads++
        const bytes = range.limit - range.start
        this.underWayMax = Math.max(this.underWayMax, ++this.underWay)
        this.bytesUnderWay += bytes
        this.bytesUnderWayMax = Math.max(this.bytesUnderWayMax, this.bytesUnderWay)
        for (let turns = random.below(4); turns > 0; turns--) {
          await new Promise((turn) => setImmediate(turn))
        }
        this.underWay--
        this.bytesUnderWay -= bytes
        const piece = this.contents.get(id)?.slice(range.start, range.limit)
        if (piece === undefined) return null
        if (memory === undefined || memory.length < piece.length) return piece
        memory.set(piece)
        return memory.subarray(0, piece.length)
      },
    }
  }

  async add(number: number, texts: readonly string[], codec: Compression): Promise<SegmentRef> {
    const object = `aabbccddeeff0011${number.toString(16).padStart(16, '0')}`
    const { bytes, footerBytes } = await buildSegment(object, texts, COLUMNS, [], codec)
    this.contents.set(object, Uint8Array.from(bytes))
    return { object, rowCount: texts.length, objectBytes: bytes.length, footerBytes }
  }
}

/** Rows whose lengths change, so that estimates of their places are wrong. */
function textsOf(random: Seeded, count: number): string[] {
  const first = 1 + random.below(200)
  const last = 1 + random.below(200)
  return Array.from({ length: count }, (_, row) => {
    const length = random.once(50) ? random.below(20_000) : first + ((last - first) * row) / count
    return `"a":"${String(random.below(1_000_000)).repeat(Math.ceil(length / 6))}"`
  })
}

type Walked = Readonly<{ ref: SegmentRef; texts: readonly string[] }>

async function walk(
  cache: SegmentCache,
  runs: readonly RowRun[],
  wanted = WALK_AT_WILL.wanted,
): Promise<string[]> {
  const source = cache.walk(() => runs, { ...WALK_AT_WILL, wanted })
  const found: string[] = []
  try {
    for (const run of runs) {
      for await (const piece of source.frames(run)) {
        found.push(...piece.flatMap((rows) => rows.frame.rowTexts(rows.first, rows.limit)))
      }
    }
  } finally {
    await source.close()
  }
  return found
}

const COSTS = [1, 100, 4 * KIB, 64 * KIB, KIB * KIB]
const CODECS = ['none', 'deflate'] as const

async function segmentsOf(random: Seeded, far: FarObjects): Promise<Walked[]> {
  const segments: Walked[] = []
  for (let number = 1 + random.below(12); number > 0; number--) {
    const texts = textsOf(random, 1 + random.below(random.pick([3, 200, 2_000])))
    segments.push({ ref: await far.add(number, texts, random.pick(CODECS)), texts })
  }
  return segments
}

test('a walk returns the rows that are stored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = seeded(seed)
      const far = new FarObjects(random, random.pick(COSTS))
      const segments = await segmentsOf(random, far)
      const cache = segmentCacheOf(far.store, random.pick([0, KIB * KIB]))
      for (let times = 0; times < 2; times++) {
        const runs = segments.map(({ ref }) => {
          const start = random.below(ref.rowCount)
          return { ref, start, limit: start + 1 + random.below(ref.rowCount - start) }
        })
        const bytes = random.pick([0, 1_000, 100_000, Number.POSITIVE_INFINITY])

        const found = await walk(cache, runs, () => bytes)

        const texts = runs.map(({ start, limit }, at) => segments[at]?.texts.slice(start, limit))
        expect(found).toEqual(texts.flat())
      }

      expect(far.underWay).toBe(0)
      expect(far.underWayMax).toBeLessThanOrEqual(READS_MAX)
      expect(far.bytesUnderWayMax).toBeLessThan(AHEAD_BYTES_MAX + 2 * READ_BYTES_MAX)
    }),
    runOptions(60),
  )
})

test('point reads return the rows that are stored, many at the same time too', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = seeded(seed)
      const far = new FarObjects(random, random.pick(COSTS))
      const segments = await segmentsOf(random, far)
      const cache = segmentCacheOf(far.store, random.pick([0, KIB * KIB]))
      const reading = Array.from({ length: 60 }, async () => {
        const { ref, texts } = random.pick(segments)
        const row = random.below(ref.rowCount)
        if (random.once(2)) return { text: await cache.rowText(ref, row), expected: texts[row] }
        const compacted = await cache.compactedRow(ref, row, () => true)
        return { text: compacted?.text, expected: texts[row] }
      })

      for (const { text, expected } of await Promise.all(reading)) expect(text).toBe(expected)
    }),
    runOptions(40),
  )
})

describe('reads of a segment that is not known yet', () => {
  const random = seeded(1)
  const texts = Array.from({ length: 20_000 }, () => `"a":"${random.below(1_000_000_000)}"`)

  test.each([
    ['one request, where the rest of the segment costs less than another', 1_024 * KIB, 1],
    ['two at the same time, where it costs more', 64 * KIB, 2],
  ])('a row takes %s', async (_, cost, gets) => {
    const far = new FarObjects(random, cost)
    const ref = await far.add(1, texts, 'none')
    for (const row of [0, 5, 700]) {
      far.reads = 0
      far.underWayMax = 0

      expect(await segmentCacheOf(far.store, KIB * KIB).rowText(ref, row)).toBe(texts[row])
      expect(far).toMatchObject({ reads: gets, underWayMax: gets })
    }
  })

  test('the next row of the segment takes one request, for its frame', async () => {
    const far = new FarObjects(random, KIB * KIB)
    const ref = await far.add(1, texts, 'none')
    const cache = segmentCacheOf(far.store, KIB * KIB)
    await cache.rowText(ref, 5)
    far.reads = 0

    expect(await cache.rowText(ref, 1_500)).toBe(texts[1_500])
    expect(far.reads).toBe(1)
  })

  test('a walk reads no more of a long segment ahead than it takes', async () => {
    const long = [...texts, ...texts, ...texts]
    const far = new FarObjects(random, 64 * KIB)
    const ref = await far.add(1, long, 'none')
    const run = { ref, start: 0, limit: long.length }

    const found = await walk(segmentCacheOf(far.store, 0), [run], () => 1_000_003)

    expect(found).toEqual(long)
    expect(far.bytesUnderWayMax).toBeLessThanOrEqual(1_000_003)
  })

  test('a compacted row that does not count is not returned', async () => {
    const far = new FarObjects(random, KIB * KIB)
    const ref = await far.add(1, texts, 'none')

    expect(await segmentCacheOf(far.store, 0).compactedRow(ref, 5, () => false)).toBeNull()
    expect(far.reads).toBe(1)
  })
})

describe('a walk that fails, or ends early', () => {
  const texts = Array.from({ length: 500 }, (_, n) => `"a":"row ${n}"`)

  async function threeSegments(): Promise<{ far: FarObjects; runs: RowRun[] }> {
    const far = new FarObjects(seeded(7), KIB * KIB)
    const refs = [1, 2, 3].map((number) => far.add(number, texts, 'none'))
    const runs = (await Promise.all(refs)).map((ref) => ({ ref, start: 0, limit: 500 }))
    return { far, runs }
  }

  test('a segment is missed only where its rows are needed', async () => {
    const { far, runs } = await threeSegments()
    const missing = runs[2]?.ref.object ?? ''
    far.contents.delete(missing)
    const cache = segmentCacheOf(far.store, 0)
    const source = cache.walk(() => runs, WALK_AT_WILL)
    const found: string[] = []
    const read = async (): Promise<void> => {
      for (const run of runs) {
        for await (const piece of source.frames(run)) {
          found.push(...piece.flatMap((rows) => rows.frame.rowTexts(rows.first, rows.limit)))
        }
      }
    }

    const error = new StoreError('DATA_CORRUPT', `Segment ${missing} is missing`)
    await expect(read()).rejects.toThrow(error)
    expect(found).toEqual([...texts, ...texts])
    await source.close()
  })

  test.each([
    ['a frame', 100, 'the checksum of the frame at'],
    ['the end', -8, 'checksum'],
  ])('a damaged byte of %s is found', async (_, at, message) => {
    const { far, runs } = await threeSegments()
    const { object = '' } = runs[1]?.ref ?? {}
    const bytes = far.contents.get(object) ?? new Uint8Array()
    const place = at < 0 ? bytes.length + at : at
    bytes[place] = (bytes[place] ?? 0) ^ 1

    await expect(walk(segmentCacheOf(far.store, 0), runs)).rejects.toThrow(message)
    await expect(segmentCacheOf(far.store, 0).rowText(runs[1]?.ref ?? raise(), 0)).rejects.toThrow(
      'checksum',
    )
  })

  test('a segment that was cut off is found', async () => {
    const { far, runs } = await threeSegments()
    const { object = '' } = runs[1]?.ref ?? {}
    far.contents.set(object, far.contents.get(object)?.slice(0, 300) ?? new Uint8Array())

    await expect(walk(segmentCacheOf(far.store, 0), runs)).rejects.toThrow('it is too short')
  })

  test('the memory of reads under way is not used again before they have ended', async () => {
    const { far, runs } = await threeSegments()
    const cache = segmentCacheOf(far.store, 0)
    for (let turn = 0; turn < 20; turn++) {
      const source = cache.walk(() => runs, WALK_AT_WILL)
      const [run = raise()] = runs
      for await (const _ of source.frames(run)) break
      await source.close()

      expect(far.underWay).toBe(0)
      expect(await walk(cache, runs)).toEqual([...texts, ...texts, ...texts])
    }
  })
})

function raise(): never {
  throw new Error('There is no such run')
}
