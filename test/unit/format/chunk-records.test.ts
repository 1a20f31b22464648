// Chunk references: each decodes to what was encoded, although most chunks have the columns of the previous one. When
// other segments replace theirs, the bytes about their rows stay the same.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  ChunkDecoder,
  type ChunkReference,
  decodeChunkSegments,
  encodeChunkReference,
  withSegments,
} from '../../../src/format/chunk-records.js'
import type { SegmentRef } from '../../../src/format/extent-page.js'
import { runOptions } from '../../support/fast-check-options.js'

const INCARNATION = '0011223344556677'

const objectOf = (count: number): string => INCARNATION + count.toString(16).padStart(16, '0')

const anySegment: fc.Arbitrary<SegmentRef> = fc
  .record({
    count: fc.integer({ min: 1, max: 1_000 }),
    isShared: fc.boolean(),
    rowCount: fc.integer({ min: 1, max: 65_536 }),
    objectBytes: fc.integer({ min: 100, max: 2 ** 40 }),
    footerBytes: fc.integer({ min: 20, max: 2 ** 30 }),
  })
  .map(({ count, isShared, ...size }) => ({
    object: objectOf(count),
    ...size,
    ...(isShared && { shared: { object: objectOf(count + 7), offset: 8 * count } }),
  }))

const anyReference: fc.Arbitrary<ChunkReference> = fc.record({
  putAt: fc.nat({ max: 2 ** 40 }),
  list: fc.record({ crc: fc.nat(), probe: fc.nat({ max: 9 }) }),
  chunk: fc.record({
    rowCount: fc.nat({ max: 2 ** 40 }),
    firstLine: fc.nat(),
    hasClaims: fc.boolean(),
    namesFiles: fc.boolean(),
    columns: fc.array(
      fc.record({
        summary: fc.record({
          id: fc.string(),
          scalarMask: fc.nat({ max: 65_535 }),
          elementMask: fc.nat({ max: 65_535 }),
          seen: fc.nat(),
        }),
        firstRow: fc.nat(),
      }),
      { maxLength: 5 },
    ),
    segments: fc.array(anySegment, { maxLength: 5 }),
  }),
})

test('a reference with other segments is that of a chunk that has them', () => {
  fc.assert(
    fc.property(anyReference, fc.array(anySegment, { maxLength: 5 }), (reference, others) => {
      const { chunk } = reference
      const segments = chunk.segments.map((segment, at) => others[at] ?? segment)
      const replace = (segment: SegmentRef): SegmentRef => {
        return segments[chunk.segments.indexOf(segment)] ?? segment
      }
      let at = 0
      const given: SegmentRef[] = []
      const replaced = withSegments(encodeChunkReference(reference), (segment) => {
        given.push(segment)
        return replace(chunk.segments[at++] ?? segment)
      })

      expect(given).toEqual(chunk.segments)
      expect(replaced).toEqual(
        encodeChunkReference({ ...reference, chunk: { ...chunk, segments } }),
      )
    }),
    runOptions(300),
  )
})

/** The column IDs of each list. The first two have the same number of columns. */
const LISTS = [['a', 'b'], ['a', 'c'], ['a'], []] as const
const fewValues = fc.nat({ max: 1 })

/** Chunks with few different lists and summaries, so that some equal the previous one, and some nearly do. */
const alikeReference: fc.Arbitrary<ChunkReference> = fc
  .record({ of: fc.nat({ max: LISTS.length - 1 }), reference: anyReference })
  .chain(({ of, reference }) =>
    fc
      .record({
        summaries: fc.tuple(fewValues, fewValues, fewValues, fewValues),
        firstRow: fewValues,
      })
      .map(({ summaries: [scalarMask, elementMask, seen, ofLast], firstRow }) => {
        const ids = LISTS[of] ?? []
        const columns = ids.map((id, at) => {
          const last = at === ids.length - 1 ? ofLast : 0
          return { summary: { id, scalarMask, elementMask, seen: seen + last }, firstRow }
        })
        return {
          ...reference,
          list: { crc: of >> 1, probe: of & 1 },
          chunk: { ...reference.chunk, columns },
        }
      }),
  )

test('each reference means what was encoded, whatever was decoded before it', () => {
  fc.assert(
    fc.property(fc.array(alikeReference, { maxLength: 12 }), (references) => {
      const decoder = new ChunkDecoder(({ crc, probe }) => LISTS[2 * crc + probe] ?? [])
      const decoded = references.map((reference) => decoder.decode(encodeChunkReference(reference)))
      expect(decoded).toEqual(references)
    }),
    runOptions(300),
  )
})

/** A reference to one segment that shares an object. */
function sharing(segment: number, object: number): ChunkReference {
  const size = { rowCount: 1, objectBytes: 100, footerBytes: 20 }
  const shared = { object: objectOf(object), offset: 8 }
  const segments = [{ object: objectOf(segment), ...size, shared }]
  const flags = { hasClaims: false, namesFiles: false }
  const chunk = { rowCount: 1, firstLine: 0, ...flags, columns: [], segments }
  return { putAt: 0, list: { crc: 0, probe: 0 }, chunk }
}

test.each([
  [1, 2],
  [0xff, 0x100],
  [0xffff_ffff, 0x1_0000_0000],
  [1, 0x1_0000_0000],
  [2 ** 53 - 2, 2 ** 53 - 1],
])('the segment %i is found again in the object %i', (segment, object) => {
  const reference = sharing(segment, object)

  expect(decodeChunkSegments(encodeChunkReference(reference)).segments).toEqual(
    reference.chunk.segments,
  )
})

test.each([
  [1, 0x1_0000_0001],
  [2, 1],
])('the segment %i cannot be in the object %i', (segment, object) => {
  expect(() => encodeChunkReference(sharing(segment, object))).toThrow('a u32 has four bytes')
})

test('an object before which too few IDs were allotted is damage', () => {
  const bytes = encodeChunkReference(sharing(1, 3))
  bytes[bytes.length - 1] = 4

  expect(() => decodeChunkSegments(bytes)).toThrow(
    'a record says that a segment shares an older object',
  )
})
