import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Bytes } from '../../src/base/bytes.js'
import { StoreError } from '../../src/base/store-error.js'
import type { SegmentRef } from '../../src/format/extent-page.js'
import { decodeFooter, decodeFrame, footerRange } from '../../src/format/segment-reader.js'
import { newSummary } from '../../src/schema/judge.js'
import { buildSegment } from '../support/build-segment.js'
import { runs } from '../support/runs.js'

const OBJECT = 'aabbccddeeff00110000000000000001'
const OTHER = 'aabbccddeeff00110000000000000002'

type Built = Readonly<{ ref: SegmentRef; bytes: Bytes }>

function build(texts: readonly string[], object = OBJECT): Built {
  const { bytes, footerBytes } = buildSegment(object, texts, [newSummary('a'), newSummary('é')])
  return { bytes, ref: { object, rowCount: texts.length, objectBytes: bytes.length, footerBytes } }
}

async function readAll({ ref, bytes }: Built): Promise<string[]> {
  const { start, limit } = footerRange(ref)
  const { frames } = decodeFooter(ref, bytes.subarray(Math.max(0, start), limit))
  const texts: string[] = []
  for (const place of frames) {
    const stored = bytes.subarray(place.offset, place.offset + place.bytes)
    const frame = await decodeFrame(ref, place, stored)
    texts.push(...Array.from({ length: frame.rowCount }, (_, row) => frame.rowText(row)))
  }
  return texts
}

/** The code of the failure, or `unharmed` when the rows are still the right ones. */
async function outcome(built: Built, texts: readonly string[]): Promise<string> {
  try {
    return JSON.stringify(await readAll(built)) === JSON.stringify(texts)
      ? 'unharmed'
      : 'wrong rows'
  } catch (failure) {
    return failure instanceof StoreError ? failure.code : `untyped: ${String(failure)}`
  }
}

const anyTexts = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), {
  minLength: 1,
  maxLength: 200,
})

describe('a segment', () => {
  test('gives back the rows that were put in', async () => {
    await fc.assert(
      fc.asyncProperty(anyTexts, async (texts) => {
        expect(await readAll(build(texts))).toEqual(texts)
      }),
      { numRuns: runs(300) },
    )
  })

  test('holds frames of 64 rows, and fewer of large rows', () => {
    const small = build(Array.from({ length: 130 }, (_, row) => `"n":${row}`))
    const large = build(Array.from({ length: 3 }, () => 'x'.repeat(200_000)))
    const rowsOf = ({ ref, bytes }: Built): number[] => {
      const { start, limit } = footerRange(ref)
      return decodeFooter(ref, bytes.subarray(start, limit)).frames.map(({ rowCount }) => rowCount)
    }

    expect(rowsOf(small)).toEqual([64, 64, 2])
    expect(rowsOf(large)).toEqual([1, 1, 1])
  })

  test('with any bit flipped never gives wrong rows, and says DATA_CORRUPT', async () => {
    const texts = ['"a":1,"é":"ü"', '', '"a":2']
    const { ref, bytes } = build(texts)
    const unread = new Set([0, 1, 2, 3, 4, 5, 6, 7]) // The header is for people and for verify.
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const damaged = bytes.slice()
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const expected = unread.has(bit >> 3) ? 'unharmed' : 'DATA_CORRUPT'

      expect([bit, await outcome({ ref, bytes: damaged }, texts)]).toEqual([bit, expected])
    }
  })

  test('cut off anywhere says DATA_CORRUPT', async () => {
    const texts = ['"a":1', '"a":2']
    const { ref, bytes } = build(texts)
    for (let length = 0; length < bytes.length; length++) {
      expect(await outcome({ ref, bytes: bytes.slice(0, length) }, texts)).toBe('DATA_CORRUPT')
    }
  })

  test('in the place of another object says DATA_CORRUPT', async () => {
    const texts = ['"a":1']
    const { ref } = build(texts)
    const { bytes } = build(texts, OTHER)

    expect(await outcome({ ref, bytes }, texts)).toBe('DATA_CORRUPT')
  })

  test('with two frames swapped says DATA_CORRUPT', async () => {
    const texts = Array.from({ length: 128 }, (_, row) => `"n":${100 + row}`)
    const { ref, bytes } = build(texts)
    const { start, limit } = footerRange(ref)
    const [first, second] = decodeFooter(ref, bytes.subarray(start, limit)).frames
    if (first === undefined || second === undefined) throw new Error('two frames were expected')
    const swapped = bytes.slice()
    swapped.set(bytes.subarray(second.offset, second.offset + second.bytes), first.offset)
    swapped.set(bytes.subarray(first.offset, first.offset + first.bytes), second.offset)

    expect(await outcome({ ref, bytes: swapped }, texts)).toBe('DATA_CORRUPT')
  })
})
