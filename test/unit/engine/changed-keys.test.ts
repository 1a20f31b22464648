// A table's key in a change that both links many rows and lays row records. No operation makes such a change with keys
// in both, so no test of a whole store can reach it.
import { expect, test } from 'vitest'
import { SliceTurns } from '../../../src/base/time-slices.js'
import { ExtentEntries } from '../../../src/engine/caches/extents.js'
import { SchemaCache } from '../../../src/engine/caches/schema-cache.js'
import { keyedStart } from '../../../src/engine/keys/changed-keys.js'
import { emptyGeneration } from '../../../src/engine/read/generations.js'
import { ForwardCache } from '../../../src/engine/segments/forward-cache.js'
import { encodeExtentPage } from '../../../src/format/extent-page.js'
import { extentPageKey, KEY_SPACE, rowKey } from '../../../src/format/keys.js'
import { encodeRowRecord } from '../../../src/format/records.js'
import { memoryObjects } from '../../../src/objects/memory-objects.js'
import { newSummary } from '../../../src/schema/summarize.js'
import { testClock } from '../../conformance/test-clock.js'
import { seededRandom } from '../../rungs/model/seeded.js'
import { buildSegment } from '../../support/build-segment.js'
import { segmentCacheOf } from '../../support/segment-cache.js'

const OBJECT = 'aabbccddeeff00110000000000000001'
const TABLE = new Uint8Array(16)
const SCHEMA = { columns: [{ id: 'a', type: { kind: 'string' } }] } as const
const NONCE = new Uint8Array(8)

/** A table with the rows `x`, `y` and `z` in a segment, and one in a row record. */
async function startWith(text: string) {
  const objects = memoryObjects()
  const built = await buildSegment(OBJECT, ['"a":"x"', '"a":"y"', '"a":"z"'], [newSummary('a')])
  await objects.put(OBJECT, built.bytes)
  const { footerBytes, bytes } = built
  const segment = { object: OBJECT, rowCount: 3, objectBytes: bytes.length, footerBytes }
  const form = { convert: false, compacted: false, namesFiles: false, recompressed: false }
  const entry = { nonce: NONCE, segment, rowCount: 3, version: 1, ...form }
  const open = { extent: 1, nonce: NONCE, nextSlot: 1, textBytes: text.length, base: 0 }
  const empty = emptyGeneration(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), 0, 1)
  const next = { ...empty, nextExtent: 2, liveRows: 4, open }
  const context = {
    segments: segmentCacheOf(objects, 0),
    extents: new ExtentEntries(0),
    forwards: new ForwardCache(objects, 0),
    schemas: new SchemaCache(0),
    slices: new SliceTurns(testClock()),
    options: { random: seededRandom(1), inlineRowsMax: 2 },
  }
  const record = encodeRowRecord({ version: 1, schemaNumber: 1, text })
  const puts = [
    [extentPageKey(TABLE, 0), encodeExtentPage([entry])],
    [rowKey(TABLE, { extent: 1, slot: 0 }), record],
  ] as const
  const place = { table: TABLE, tableId: 't' } as Parameters<typeof keyedStart>[1]
  return keyedStart(context, place, { columns: ['a'], schema: SCHEMA, next, puts })
}

test('a row that a change lays beside many that it links has no key of theirs', async () => {
  await expect(startWith('"a":"y"')).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE', column: 'a' })
})

test('a row that a change lays beside many that it links gets an entry, and they a run', async () => {
  const { puts, next } = await startWith('"a":"w"')

  expect(next.keyIndex).toHaveLength(8)
  const spaces = puts.map(([key]) => key[0])
  expect(spaces.filter((space) => space === KEY_SPACE.keyEntry)).toHaveLength(1)
  expect(spaces.filter((space) => space === KEY_SPACE.keyIndex)).toHaveLength(2)
})
