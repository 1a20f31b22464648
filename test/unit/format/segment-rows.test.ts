// Reading one row checks less than decoding a footer and a frame does, but must not miss any damage of the row.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSync } from '../../../src/base/awaitable.js'
import type { Bytes } from '../../../src/base/bytes.js'
import { crc32, crc32OfUint32 } from '../../../src/base/platform.js'
import { StoreError } from '../../../src/base/store-error.js'
import type { SegmentRef } from '../../../src/format/extent-page.js'
import { objectIdCrc, pieceCrc } from '../../../src/format/piece-crc.js'
import {
  type FramePlace,
  findFrameIndex,
  framePlaceAt,
} from '../../../src/format/segment-footer.js'
import { decodeFooter, decodeFrame, footerRange } from '../../../src/format/segment-reader.js'
import { decodeFramePlaces, readRowText } from '../../../src/format/segment-rows.js'
import { newSummary } from '../../../src/schema/summarize.js'
import { buildSegment } from '../../support/build-segment.js'
import { runOptions } from '../../support/fast-check-options.js'

const OBJECT = 'aabbccddeeff00110000000000000001'
const OTHER = 'aabbccddeeff00110000000000000002'

type Built = Readonly<{ ref: SegmentRef; bytes: Bytes }>

async function build(texts: readonly string[]): Promise<Built> {
  const { bytes, footerBytes } = await buildSegment(OBJECT, texts, [newSummary('é')], [], 'none')
  const ref = { object: OBJECT, rowCount: texts.length, objectBytes: bytes.length, footerBytes }
  return { ref, bytes: Uint8Array.from(bytes) }
}

function footerOf({ ref, bytes }: Built): Bytes {
  const { start, limit } = footerRange(ref)
  return bytes.subarray(start, limit)
}

function frameAt({ bytes }: Built, place: FramePlace): Bytes {
  return bytes.subarray(place.offset, place.offset + place.bytes)
}

function readRow(built: Built, row: number): string | null | undefined {
  const places = decodeFramePlaces(built.ref, footerOf(built))
  const place = framePlaceAt(built.ref, places, findFrameIndex(places, row))
  if (place === undefined) return undefined
  const text = readRowText(built.ref, place, frameAt(built, place), row - place.firstRow)
  if (text !== null) return text
  const frame = decodeFrame(built.ref, place, frameAt(built, place)) // as the reader of a compressed one continues
  return isSync(frame) ? frame.rowText(row - place.firstRow) : null
}

function firstPlace(built: Built): FramePlace {
  const place = framePlaceAt(built.ref, decodeFramePlaces(built.ref, footerOf(built)), 0)
  if (place === undefined) throw new Error('a frame was expected')
  return place
}

/** The text of the row, or the code of the failure. */
function outcome(built: Built, row: number): unknown {
  try {
    return readRow(built, row)
  } catch (failure) {
    return failure instanceof StoreError ? failure.code : failure
  }
}

const TEXTS = Array.from({ length: 90 }, (_, n) => `"é":"${n}${'ü'.repeat(n % 7 === 0 ? 200 : 3)}"`)

test('each row is read as it was written, and the places are those of the footer', async () => {
  const anyTexts = fc.array(fc.string({ unit: 'grapheme', maxLength: 400 }), {
    minLength: 1,
    maxLength: 200,
  })
  const property = fc.asyncProperty(anyTexts, async (texts) => {
    const built = await build(texts)
    expect(texts.map((_, row) => readRow(built, row))).toEqual(texts)
    const { frames } = decodeFooter(built.ref, footerOf(built))
    const places = decodeFramePlaces(built.ref, footerOf(built))
    expect(frames.map((_, index) => framePlaceAt(built.ref, places, index))).toEqual(frames)
    expect(framePlaceAt(built.ref, places, frames.length)).toBe(undefined)
    const numbers = frames.flatMap(({ offset, bytes, firstRow }) => [offset, bytes, firstRow])
    expect(numbers).toEqual(places.numbers)
  })
  await fc.assert(property, runOptions(200))
})

test('with any bit flipped, a row is read as it was written, or fails with DATA_CORRUPT', async () => {
  const built = await build(TEXTS)
  const rows = [0, 45, 89]
  for (let at = 0; at < built.bytes.length; at++) {
    const before = built.bytes[at] ?? 0
    built.bytes[at] = before ^ (1 << (at % 8))
    for (const row of rows) {
      const read = outcome(built, row)
      if (read !== 'DATA_CORRUPT') expect(read, `row ${row}, byte ${at}`).toBe(TEXTS[row])
    }
    built.bytes[at] = before
  }
})

test('each byte of the frame and of what leads to it is under a checksum', async () => {
  const built = await build(TEXTS)
  const place = firstPlace(built)
  const { start, limit } = footerRange(built.ref)
  const places = decodeFramePlaces(built.ref, footerOf(built))
  const isNeeded = (at: number): boolean =>
    (at >= place.offset && at < place.offset + place.bytes) ||
    (at >= start && at < start + 1 + 9 * 2 + 4 + 4 * places.numbers.length + 4) ||
    at >= limit - 16
  for (let at = 0; at < built.bytes.length; at++) {
    const before = built.bytes[at] ?? 0
    built.bytes[at] = before ^ 0x10
    expect(outcome(built, 0), `byte ${at}`).toBe(isNeeded(at) ? 'DATA_CORRUPT' : TEXTS[0])
    built.bytes[at] = before
  }
})

test('the bytes of another object, or another place of this one, are refused', async () => {
  const built = await build(TEXTS)
  const other = { ...built, ref: { ...built.ref, object: OTHER } }
  expect(outcome(other, 0)).toBe('DATA_CORRUPT')
  const place = firstPlace(built)
  const moved = { ...place, offset: place.offset + 1 }
  expect(() => readRowText(built.ref, moved, frameAt(built, place), 0)).toThrow('checksum')
  const foreign = { ...place, idCrc: objectIdCrc(OTHER) }
  expect(() => readRowText(built.ref, foreign, frameAt(built, place), 0)).toThrow('checksum')
})

test('pieces that are cut off, or not those that the table names, are refused', async () => {
  const built = await build(TEXTS)
  const place = firstPlace(built)
  const [footer, frame] = [footerOf(built), frameAt(built, place)]
  expect(() => decodeFramePlaces(built.ref, footer.subarray(0, -1))).toThrow('too short')
  expect(() => readRowText(built.ref, place, frame.subarray(0, -1), 0)).toThrow('cut off')
  const more = { ...built.ref, rowCount: built.ref.rowCount + 1 }
  expect(() => decodeFramePlaces(more, footer)).toThrow(
    'it is not the segment that the table refers to',
  )
  const shorter = { ...place, rowCount: place.rowCount - 1 }
  expect(() => readRowText(built.ref, shorter, frame, 0)).toThrow('do not agree')
  expect(() => readRowText(built.ref, place, frame, place.rowCount)).toThrow('does not fit')
})

test('a frame with a valid checksum and wrong rows is refused; a compressed one is left to other checks', async () => {
  const forged = async (change: (frame: DataView) => void): Promise<() => unknown> => {
    const built = await build(TEXTS)
    const place = firstPlace(built)
    const frame = frameAt(built, place)
    const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
    change(view)
    view.setUint32(
      frame.length - 4,
      pieceCrc(objectIdCrc(OBJECT), place.offset, frame.subarray(0, -4)),
    )
    return () => readRowText(built.ref, place, frame, 3)
  }
  expect((await forged(() => undefined))()).toBe(TEXTS[3])
  expect(await forged((frame) => frame.setUint32(11 + 4 * 3, 0))).toThrow('does not fit')
  expect(await forged((frame) => frame.setUint32(11 + 4 * 3, 1_000_000))).toThrow('does not fit')
  expect(await forged((frame) => frame.setUint32(3, frame.getUint32(3) - 1))).toThrow('sizes')
  expect(await forged((frame) => frame.setUint32(7, frame.getUint32(7) - 1))).toThrow('sizes')
  expect((await forged((frame) => frame.setUint8(0, 1)))()).toBe(null)
})

test('the crc of a number is that of its four bytes', () => {
  const property = fc.property(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff), (value, seed) => {
    const bytes = Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value)
    expect(crc32OfUint32(value, seed)).toBe(crc32(bytes, seed))
  })
  fc.assert(property, runOptions(1_000))
})
