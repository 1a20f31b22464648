// Parts of other bytes may come from those that the writer copied ahead, whatever was written in between.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextBuffer } from '../../../src/format/text-buffer.js'
import { runOptions } from '../../support/fast-check-options.js'

const SOURCE_BYTES = 40_000
const STEPS_MAX = 60

const sources = [1, 2].map((seed) =>
  Uint8Array.from({ length: SOURCE_BYTES }, (_, i) => (i * 167 + (i >> 8) * 31 + seed * 97) & 0xff),
)

type Step = Readonly<
  | { kind: 'part'; source: number; skip: number; length: number }
  | { kind: 'back'; source: number; by: number }
  | { kind: 'u8'; count: number }
  | { kind: 'utf8'; count: number }
  | { kind: 'room'; count: number; used: number }
  | { kind: 'truncate'; share: number }
  | { kind: 'skip'; count: number }
  | { kind: 'move'; share: number; by: number }
>

const source = fc.integer({ min: 0, max: 9 }).map((n) => (n === 9 ? 1 : 0))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('part' as const),
      source,
      skip: fc.integer({ min: 0, max: 40 }),
      length: fc.integer({ min: 0, max: 900 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('back' as const),
      source,
      by: fc.oneof(fc.nat(300), fc.nat(3_000)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('u8' as const),
      count: fc.integer({ min: 1, max: 200 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('utf8' as const),
      count: fc.integer({ min: 1, max: 200 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ count: fc.integer({ min: 1, max: 500 }), used: fc.integer({ min: 0, max: 500 }) })
      .map(({ count, used }) => ({ kind: 'room' as const, count, used: Math.min(count, used) })),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('truncate' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('skip' as const),
      count: fc.integer({ min: 0, max: 500 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('move' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      by: fc.oneof(fc.integer({ min: -500, max: 0 }), fc.nat(2_000)),
    }),
  },
)

test('a writer has the written bytes, whatever was copied ahead of them', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(64, 2_000, 100_000),
      fc.array(step, { minLength: 2, maxLength: STEPS_MAX }),
      (startBytes, steps) => {
        const writer = new TextBuffer(startBytes)
        const expected: number[] = []
        const next = [0, 0]
        for (const taken of steps) apply(taken, writer, expected, next)
        expect(Buffer.from(writer.finish()).equals(Buffer.from(expected))).toBe(true)
      },
    ),
    runOptions(2_000),
  )
})

test('bytes that were moved down are not mistaken for bytes copied ahead', () => {
  const [bytes = new Uint8Array(0)] = sources
  const writer = new TextBuffer(100_000)

  writer.part(bytes, 0, 100).part(bytes, 120, 220).move(150, -60).part(bytes, 145, 245)

  const moved = [...bytes.subarray(0, 90), ...bytes.subarray(170, 220)]
  expect([...writer.finish()]).toEqual([...moved, ...bytes.subarray(145, 245)])
})

function apply(step: Step, writer: TextBuffer, expected: number[], next: number[]): void {
  switch (step.kind) {
    case 'part': {
      const bytes = sources[step.source] ?? new Uint8Array(0)
      const from = Math.min(SOURCE_BYTES, (next[step.source] ?? 0) + step.skip)
      const to = Math.min(SOURCE_BYTES, from + step.length)
      next[step.source] = to
      writer.part(bytes, from, to)
      expected.push(...bytes.subarray(from, to))
      return
    }
    case 'back':
      next[step.source] = Math.max(0, (next[step.source] ?? 0) - step.by)
      return
    case 'u8':
      for (let i = 0; i < step.count; i++) {
        writer.u8(i)
        expected.push(i)
      }
      return
    case 'utf8':
      writer.utf8('ö'.repeat(step.count))
      expected.push(...Buffer.from('ö'.repeat(step.count)))
      return
    case 'room': {
      const view = writer.room(step.count)
      for (let i = 0; i < step.count; i++) view.setUint8(writer.length + i, 0xee)
      writer.extend(step.used)
      for (let i = 0; i < step.used; i++) expected.push(0xee)
      return
    }
    case 'truncate': {
      const length = Math.floor(step.share * writer.length)
      writer.truncate(length)
      expected.length = length
      return
    }
    case 'skip': {
      const from = writer.length
      writer.skip(step.count)
      fill(writer, from, step.count)
      for (let i = 0; i < step.count; i++) expected.push(FILLED)
      return
    }
    case 'move': {
      const from = Math.floor(step.share * writer.length)
      const by = Math.max(step.by, -from)
      writer.move(from, by)
      if (by > 0) fill(writer, from, by)
      if (by > 0) expected.splice(from, 0, ...Array<number>(by).fill(FILLED))
      else expected.splice(from + by, -by)
    }
  }
}

const FILLED = 0xdd

/** Overwrites existing bytes. */
function fill(writer: TextBuffer, from: number, count: number): void {
  const view = writer.view()
  for (let i = 0; i < count; i++) view.setUint8(from + i, FILLED)
}
