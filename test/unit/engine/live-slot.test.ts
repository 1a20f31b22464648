import { describe, expect, test } from 'vitest'
import {
  compactedSegment,
  isLiveSlot,
  LAID,
  laidBy,
  needsRecords,
} from '../../../src/engine/caches/live-slot.js'

const segment = { object: '00'.repeat(16), rowCount: 4, objectBytes: 100, footerBytes: 10 }
const sealed = { segment, compacted: false }
const compacted = { segment, compacted: true }
const compactedDead = { segment: null, compacted: true }
const closed = { segment: null, compacted: false }
const secondIsDeleted = (slot: number) => slot === 1

describe('a slot with a row record', () => {
  test.each([
    ['open', null],
    ['closed', closed],
    ['sealed', sealed],
    ['compacted', compacted],
    ['compacted without a live row', compactedDead],
  ])('is as its record says, in an extent that is %s', (_, below) => {
    expect(isLiveSlot(laidBy({ text: '{}' }), below, secondIsDeleted, 1)).toBe(true)
    expect(isLiveSlot(laidBy({ text: null }), below, null, 0)).toBe(false)
  })
})

describe('a slot without a row record', () => {
  test('shows the row of the segment, unless a compaction marked it as deleted', () => {
    expect(isLiveSlot(laidBy(undefined), sealed, null, 1)).toBe(true)
    expect(isLiveSlot(LAID.none, compacted, secondIsDeleted, 0)).toBe(true)
    expect(isLiveSlot(LAID.none, compacted, secondIsDeleted, 1)).toBe(false)
  })

  test('is deleted in an extent that had no live row when it was compacted', () => {
    expect(isLiveSlot(LAID.none, compactedDead, null, 0)).toBe(false)
  })

  test.each([
    ['open', null],
    ['closed', closed],
  ])('is damage in an extent that is %s', (_, below) => {
    expect(needsRecords(below)).toBe(true)
    expect(() => isLiveSlot(LAID.none, below, null, 3)).toThrow(
      expect.objectContaining({ code: 'DATA_CORRUPT', message: expect.stringContaining('slot 3') }),
    )
  })
})

test('only the segment of a compaction tells which slots are deleted', () => {
  const found = [null, closed, sealed, compacted, compactedDead].map(compactedSegment)

  expect(found).toEqual([null, null, null, segment, null])
})
