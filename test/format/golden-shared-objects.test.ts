// Goal: objects with several segments, and the records that name them, have the bytes that FORMAT.md specifies.
import { describe, expect, test } from 'vitest'
import { type Bytes, concatBytes, toHex, utf8 } from '../../src/base/bytes.js'
import {
  ChunkDecoder,
  decodeChunkSegments,
  encodeChunkReference,
} from '../../src/format/chunk-records.js'
import {
  decodeExtentEntry,
  decodeExtentPage,
  encodeExtentPage,
  type SegmentRef,
} from '../../src/format/extent-page.js'
import { mayShare, rangeInObject, storedIn } from '../../src/format/shared-objects.js'
import { newSummary } from '../../src/schema/summarize.js'
import { buildSegment, textsOfSegment } from '../support/build-segment.js'
import { golden, goldenBytes } from './golden-file.js'

/** An object ID made of an incarnation and a counter. */
function idOf(counter: number): string {
  return `00112233445566ff${counter.toString(16).padStart(16, '0')}`
}

const SHARED_OBJECT = idOf(2 ** 40 + 1)
const FIRST = idOf(2 ** 40 - 1)
const SECOND = idOf(2 ** 40)
const ROWS = [['"n":1', '"n":2'], ['"n":30.50']] as const

type Built = Readonly<{ refs: readonly [SegmentRef, SegmentRef]; bytes: Bytes }>

async function build(): Promise<Built> {
  const first = await buildSegment(FIRST, ROWS[0], [newSummary('n')])
  const second = await buildSegment(SECOND, ROWS[1], [newSummary('n')])
  const bytes = concatBytes([first.bytes, second.bytes])
  return {
    bytes,
    refs: [
      {
        object: FIRST,
        shared: { object: SHARED_OBJECT, offset: 0 },
        rowCount: 2,
        objectBytes: first.bytes.length,
        footerBytes: first.footerBytes,
      },
      {
        object: SECOND,
        shared: { object: SHARED_OBJECT, offset: first.bytes.length },
        rowCount: 1,
        objectBytes: second.bytes.length,
        footerBytes: second.footerBytes,
      },
    ],
  }
}

const ALONE: SegmentRef = { object: idOf(7), rowCount: 3, objectBytes: 300, footerBytes: 120 }
const PLAIN = {
  version: 9,
  convert: false,
  compacted: false,
  namesFiles: false,
  recompressed: false,
}

function entriesOf([first, second]: readonly SegmentRef[]) {
  const entry = (segment: SegmentRef | null | undefined) => ({
    nonce: utf8('nonce--1'),
    segment: segment ?? null,
    rowCount: segment?.rowCount ?? 5,
    ...PLAIN,
  })
  return [entry(first), entry(ALONE), entry(null), entry(second)]
}

function referenceOf(refs: readonly SegmentRef[]) {
  const [first, second] = refs
  if (first === undefined || second === undefined) throw new Error('there are two')
  return {
    putAt: 1_760_000_000_000,
    list: { crc: 0xdeadbeef, probe: 1 },
    chunk: {
      rowCount: 6,
      firstLine: 2,
      hasClaims: false,
      namesFiles: true,
      columns: [{ summary: newSummary('n'), firstRow: 0 }],
      segments: [ALONE, second, first],
    },
  }
}

describe('written bytes', () => {
  test('are those of FORMAT.md', async () => {
    const { refs, bytes } = await build()
    const written = {
      'shared-object': bytes,
      'extent-page-with-shared': encodeExtentPage(entriesOf(refs)),
      'chunk-reference-with-shared': encodeChunkReference(referenceOf(refs)),
    }

    for (const [name, record] of Object.entries(written)) {
      expect(toHex(record), name).toBe(golden(name, record))
    }
  })

  test('are those of before without a segment that shares its object', () => {
    const page = encodeExtentPage(entriesOf([ALONE, ALONE]))
    const reference = encodeChunkReference(referenceOf([ALONE, ALONE]))

    expect([page[0], page.length, reference[0]]).toEqual([1, 1 + 4 * 48, 1])
  })
})

describe('golden bytes', () => {
  test('records give each segment its place', async () => {
    const { refs } = await build()
    const page = goldenBytes('extent-page-with-shared')
    const chunk = goldenBytes('chunk-reference-with-shared')
    const decoder = new ChunkDecoder(() => ['n'])

    expect(decodeExtentPage(page)).toEqual(entriesOf(refs))
    expect([0, 1, 2, 3, 4].map((index) => decodeExtentEntry(page, index))).toEqual([
      ...entriesOf(refs),
      null,
    ])
    expect(decoder.decode(chunk)).toEqual(referenceOf(refs))
    expect(decodeChunkSegments(chunk).segments).toEqual([ALONE, refs[1], refs[0]])
  })

  test('each segment is read from its place, and no other piece passes for its own', async () => {
    const { refs } = await build()
    const object = goldenBytes('shared-object')
    for (const [number, ref] of refs.entries()) {
      const bytes = pieceOf(object, ref, { start: 0, limit: ref.objectBytes })

      expect(storedIn(ref)).toBe(SHARED_OBJECT)
      expect(await textsOfSegment(ref, bytes)).toEqual(ROWS[number])
      const other = refs[1 - number]
      if (other === undefined) throw new Error('there are two')
      const named = { ...ref, object: other.object }
      await expect(textsOfSegment(named, bytes)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    }
  })

  test('a record with an ID before the first of its incarnation is refused', () => {
    const bytes = goldenBytes('extent-page-with-shared').slice()
    bytes.fill(0, 1 + 8 + 8, 1 + 8 + 16) // the counter of the object

    expect(() => decodeExtentPage(bytes)).toThrow(/older/)
  })
})

test('an object is shared only by segments that were begun before it, and in the same incarnation', () => {
  const other = `${'f'.repeat(16)}${'0'.repeat(15)}1`

  expect(mayShare(idOf(5), idOf(4))).toBe(true)
  expect(mayShare(idOf(2 ** 32 + 3), idOf(4))).toBe(true)
  expect(mayShare(idOf(2 ** 32 + 4), idOf(4))).toBe(false)
  expect(mayShare(idOf(4), idOf(4))).toBe(false)
  expect(mayShare(idOf(4), idOf(5))).toBe(false)
  expect(mayShare(idOf(5), other)).toBe(false)
})

function pieceOf(object: Bytes, ref: SegmentRef, range: { start: number; limit: number }): Bytes {
  const { start, limit } = rangeInObject(ref, range)
  return object.subarray(start, limit)
}
