import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Bytes, sameBytes } from '../../../src/base/bytes.js'
import { codecs, openCodecs } from '../../../src/base/codecs.js'
import { StoreError } from '../../../src/base/store-error.js'
import type { SegmentRef } from '../../../src/format/extent-page.js'
import {
  CODEC,
  type Compression,
  openStoredFrame,
  PACKED_RAW_BYTES_MAX,
  packFrame,
} from '../../../src/format/frame-codec.js'
import { objectIdCrc, pieceCrc } from '../../../src/format/piece-crc.js'
import type { FramePlace } from '../../../src/format/segment-footer.js'
import { decodeFooter, decodeFrame, footerRange } from '../../../src/format/segment-reader.js'
import { SegmentBuilder } from '../../../src/format/segment-writer.js'
import { newSummary } from '../../../src/schema/summarize.js'
import { buildSegment } from '../../support/build-segment.js'
import { runOptions } from '../../support/fast-check-options.js'

const OBJECT = 'aabbccddeeff00110000000000000001'
const OTHER = 'aabbccddeeff00110000000000000002'

type Built = Readonly<{ ref: SegmentRef; bytes: Bytes }>

async function build(
  texts: readonly string[],
  compression: Compression = 'none',
  object = OBJECT,
): Promise<Built> {
  const columns = [newSummary('a'), newSummary('é')]
  const { bytes, footerBytes } = await buildSegment(object, texts, columns, [], compression)
  return { bytes, ref: { object, rowCount: texts.length, objectBytes: bytes.length, footerBytes } }
}

function framesOf({ ref, bytes }: Built): readonly FramePlace[] {
  const { start, limit } = footerRange(ref)
  return decodeFooter(ref, bytes.subarray(Math.max(0, start), limit)).frames
}

async function readAll(built: Built): Promise<string[]> {
  const texts: string[] = []
  for (const place of framesOf(built)) {
    const stored = built.bytes.subarray(place.offset, place.offset + place.bytes)
    const frame = await decodeFrame(built.ref, place, stored)
    texts.push(...Array.from({ length: frame.rowCount }, (_, row) => frame.rowText(row)))
  }
  return texts
}

/** The code of the failure, or `unharmed` if the rows are still correct. */
async function outcome(built: Built, texts: readonly string[]): Promise<string> {
  try {
    return JSON.stringify(await readAll(built)) === JSON.stringify(texts)
      ? 'unharmed'
      : 'wrong rows'
  } catch (failure) {
    return failure instanceof StoreError ? failure.code : `untyped: ${String(failure)}`
  }
}

/** The segment with its first frame changed, and a valid checksum. */
function forge(built: Built, change: (header: DataView, stored: Bytes) => void): Built {
  const [place] = framesOf(built)
  if (place === undefined) throw new Error('a frame was expected')
  const bytes = new Uint8Array(built.bytes)
  const frame = bytes.subarray(place.offset, place.offset + place.bytes)
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  change(view, frame.subarray(11, -4))
  const crc = pieceCrc(objectIdCrc(built.ref.object), place.offset, frame.subarray(0, -4))
  view.setUint32(frame.length - 4, crc)
  return { ...built, bytes }
}

const anyTexts = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), {
  minLength: 1,
  maxLength: 200,
})

/** The compressions that this runtime supports. */
const COMPRESSIONS: readonly Compression[] = [
  'none',
  'deflate',
  ...(codecs.zstd === null ? [] : (['zstd'] as const)),
]

describe.each(COMPRESSIONS)('a segment of %s', (compression) => {
  test('gives back the rows that were put in', async () => {
    await fc.assert(
      fc.asyncProperty(anyTexts, async (texts) => {
        expect(await readAll(await build(texts, compression))).toEqual(texts)
      }),
      runOptions(300),
    )
  })

  test('is the same in buffers that held something else, and gives all of them back', async () => {
    const texts = Array.from({ length: 300 }, (_, n) => `"n":${n},"text":"${'a text '.repeat(20)}"`)
    const taken: Bytes[] = []
    const builder = new SegmentBuilder(OBJECT, 100_000, compression, (bytes) => {
      const buffer = new Uint8Array(bytes + 1_000).fill(0xee)
      taken.push(buffer)
      return buffer
    })
    for (const text of texts) builder.add(text)
    const { bytes, used } = await builder.finish([], [])
    const fresh = await buildSegment(OBJECT, texts, [], [], compression)

    expect(sameBytes(bytes, fresh.bytes)).toBe(true)
    expect(taken).toHaveLength(compression === 'none' ? 1 : 2)
    expect(new Set(used.map(({ buffer }) => buffer))).toEqual(
      new Set(taken.map(({ buffer }) => buffer)),
    )
  })

  test('holds frames of 64 rows, more of short rows and fewer of large ones', async () => {
    const rowsOfFrames = async (rows: number, text: string): Promise<number[]> => {
      const built = await build(Array<string>(rows).fill(text), compression)
      return framesOf(built).map(({ rowCount }) => rowCount)
    }

    expect(await rowsOfFrames(130, 'x'.repeat(256))).toEqual([64, 64, 2])
    expect(await rowsOfFrames(130, 'x'.repeat(255))).toEqual([65, 65])
    expect(await rowsOfFrames(400, 'x'.repeat(128))).toEqual([128, 128, 128, 16])
    expect(await rowsOfFrames(2_100, '')).toEqual([1_024, 1_024, 52])
    expect(await rowsOfFrames(3, 'x'.repeat(200_000))).toEqual([1, 1, 1])
  })

  test('with any bit flipped never gives wrong rows, but DATA_CORRUPT', async () => {
    const texts = ['"a":1,"é":"ü"', '', `"a":2,"é":"${'long '.repeat(30)}"`]
    const { ref, bytes } = await build(texts, compression)
    const unread = new Set([0, 1, 2, 3, 4, 5, 6, 7]) // Only people and verify read the header.
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const damaged = bytes.slice()
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const expected = unread.has(bit >> 3) ? 'unharmed' : 'DATA_CORRUPT'

      expect([bit, await outcome({ ref, bytes: damaged }, texts)]).toEqual([bit, expected])
    }
  })

  test('cut off anywhere says DATA_CORRUPT', async () => {
    const texts = ['"a":1', '"a":2', 'x'.repeat(200)]
    const { ref, bytes } = await build(texts, compression)
    for (let length = 0; length < bytes.length; length++) {
      expect(await outcome({ ref, bytes: bytes.slice(0, length) }, texts)).toBe('DATA_CORRUPT')
    }
  })

  test('in place of another object fails with DATA_CORRUPT', async () => {
    const texts = ['"a":1']
    const { ref } = await build(texts, compression)
    const { bytes } = await build(texts, compression, OTHER)

    expect(await outcome({ ref, bytes }, texts)).toBe('DATA_CORRUPT')
  })

  test('with two frames swapped says DATA_CORRUPT', async () => {
    const text = 'a text '.repeat(40)
    const texts = Array.from({ length: 128 }, (_, row) => `"n":${100 + (row % 64)},"t":"${text}"`)
    const { ref, bytes } = await build(texts, compression)
    const [first, second] = framesOf({ ref, bytes })
    if (first === undefined || second === undefined) throw new Error('two frames were expected')
    const swapped = bytes.slice()
    swapped.set(bytes.subarray(second.offset, second.offset + second.bytes), first.offset)
    swapped.set(bytes.subarray(first.offset, first.offset + first.bytes), second.offset)

    expect(await outcome({ ref, bytes: swapped }, texts)).toBe('DATA_CORRUPT')
  })
})

describe.each(COMPRESSIONS.flatMap((name) => (name === 'none' ? [] : [name])))(
  'a frame of %s',
  (compression) => {
    const alike = Array.from({ length: 64 }, (_, row) => `"a":${row},"é":"${'ü'.repeat(40)}"`)
    const number = CODEC[compression]

    test('takes less than half of the space that it would take', async () => {
      const packed = await build(alike, compression)
      const plain = await build(alike)

      expect(packed.bytes[8]).toBe(number)
      expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2)
    })

    test('is stored uncompressed if compression would hardly shrink it', async () => {
      const codecOf = async (noise: number, zeros: number): Promise<number> => {
        const raw = new Uint8Array(noise + zeros)
        crypto.getRandomValues(raw.subarray(0, noise))
        const { codec, stored } = await packFrame(compression, raw)
        expect(codec !== CODEC.none || stored === raw).toBe(true)
        return codec
      }

      expect(await codecOf(10_000, 0)).toBe(CODEC.none)
      expect(await codecOf(9_700, 300)).toBe(CODEC.none)
      expect(await codecOf(9_000, 1_000)).toBe(number)
      expect((await build(['"n":7'], compression)).bytes[8]).toBe(CODEC.none)
    })

    test('with a valid checksum and wrong sizes fails with DATA_CORRUPT', async () => {
      const built = await build(alike, compression)
      const rawBytes = new DataView(built.bytes.buffer, built.bytes.byteOffset + 8).getUint32(3)
      for (const claimed of [0, 1, rawBytes - 1, rawBytes + 1, 2 ** 31, 2 ** 32 - 1]) {
        const forged = forge(built, (header) => header.setUint32(3, claimed))

        expect([claimed, await outcome(forged, alike)]).toEqual([claimed, 'DATA_CORRUPT'])
      }
      expect(
        await outcome(
          forge(built, () => undefined),
          alike,
        ),
      ).toBe('unharmed')
    })

    test('with a valid checksum and an unknown or another codec fails with DATA_CORRUPT', async () => {
      const built = await build(alike, compression)
      const others = [0, 1, 2, 3, 255].filter((other) => other !== number)
      for (const other of others) {
        const forged = forge(built, (header) => header.setUint8(0, other))
        const missing = other === CODEC.zstd && codecs.zstd === null

        expect([other, await outcome(forged, alike)]).toEqual([
          other,
          missing ? 'FORMAT_UNKNOWN' : 'DATA_CORRUPT',
        ])
      }
    })

    test('with a whole checksum over damaged bytes never fails but with a code', async () => {
      const built = await build(alike, compression)
      const outcomes = new Set<string>()
      for (let bit = 0; bit < 8 * (framesOf(built)[0]?.bytes ?? 0) - 120; bit++) {
        const forged = forge(built, (_, stored) => {
          stored[bit >> 3] = (stored[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        })
        outcomes.add(await outcome(forged, alike))
      }

      expect(outcomes).toContain('DATA_CORRUPT')
      expect([...outcomes].filter((name) => name.startsWith('untyped'))).toEqual([])
      expect(await outcome(built, alike)).toBe('unharmed')
    })
  },
)

describe('a stored frame', () => {
  const problem = (what: string): StoreError => new StoreError('DATA_CORRUPT', what)

  test('with a codec that the runtime lacks names the codec, and a runtime that has it', () => {
    const frame = { codec: CODEC.zstd, stored: new Uint8Array(20) }

    expect(() =>
      openStoredFrame(frame, 100, problem, { available: openCodecs(undefined) }),
    ).toThrow(
      expect.objectContaining({
        code: 'FORMAT_UNKNOWN',
        message: expect.stringMatching(
          /compressed with zstd, .* does not support; open it with Node 22\.15 or later/,
        ),
      }),
    )
  })

  test('that claims more than a frame may have is refused before memory is allocated', () => {
    const frame = { codec: CODEC.deflate, stored: new Uint8Array(20) }

    expect(() => openStoredFrame(frame, PACKED_RAW_BYTES_MAX + 1, problem)).toThrow(
      'no compressed frame',
    )
  })

  test('that is not compressed is there at once', () => {
    const stored = new Uint8Array(20)

    expect(openStoredFrame({ codec: CODEC.none, stored }, 20, problem)).toBe(stored)
  })
})
