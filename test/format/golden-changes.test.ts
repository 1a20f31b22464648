// Golden records of the history of tables.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import * as changes from '../../src/format/change-records.js'
import { golden, goldenBytes } from './golden-file.js'

const TABLE = utf8('table-key-16byte')
const POSITION = { extent: 2 ** 33, slot: 65_535 }
const CHANGE = {
  at: 1_760_000_000_000,
  since: 2 ** 40,
  before: {
    nonce: utf8('8 bytes!'),
    firstExtent: 256,
    nextExtent: 258,
    liveRows: 12,
    deletedRows: 3,
    schemaNumber: 4,
    convertBefore: 257,
    widenedAt: 2 ** 33,
    open: { extent: 257, nonce: utf8('ABCDEFGH'), nextSlot: 9, textBytes: 512, base: 0 },
    forward: null,
    keyIndex: null,
  },
  changed: [{ extent: 256, slot: 7, count: 2 }],
  removed: [
    { extent: 2 ** 33, slot: 0, count: 65_536 },
    { extent: 2 ** 33 + 1, slot: 65_535, count: 1 },
  ],
} as const

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  change: () => changes.encodeChange(CHANGE),
  history: () => changes.encodeHistory(2 ** 40 + 1),
  'key-change': () => changes.changeKey(TABLE, 2 ** 40 + 1),
  'key-history': () => changes.historyKey(TABLE),
  'key-row-before': () => changes.rowBeforeKey(TABLE, POSITION, 2 ** 40 + 1),
}

describe('records of the history', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(changes.decodeChange(goldenBytes('change'))).toEqual(CHANGE)
    expect(changes.decodeHistory(goldenBytes('history'))).toBe(2 ** 40 + 1)
    expect(changes.versionOfChangeKey(goldenBytes('key-change'))).toBe(2 ** 40 + 1)
    expect(changes.versionOfChangeKey(goldenBytes('key-history'))).toBe(null)
    const before = { position: POSITION, version: 2 ** 40 + 1 }
    expect(changes.decodeRowBeforeKey(goldenBytes('key-row-before'))).toEqual(before)
  })

  test('a change is refused with another version, and cut anywhere', () => {
    const bytes = goldenBytes('change')
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    expect(() => changes.decodeChange(bytes.with(0, 9))).toThrow(refused)
    for (let length = 0; length < bytes.length; length++) {
      expect(() => changes.decodeChange(bytes.slice(0, length))).toThrow(refused)
    }
  })

  test('the history sorts before the changes of its table, and these by version', () => {
    const sorted = [
      changes.historyKey(TABLE),
      changes.changeKey(TABLE, 0),
      changes.changeKey(TABLE, 256),
    ]

    expect(sorted.map(toHex).sort()).toEqual(sorted.map(toHex))
    expect(changes.changesRange(TABLE, 0).start).toEqual(sorted[1])
  })

  test('positions next to each other are one run', () => {
    const positions = [
      { extent: 1, slot: 3 },
      { extent: 1, slot: 4 },
      { extent: 2, slot: 5 },
    ]
    const runs = changes.runsOfPositions(positions)

    expect(runs).toEqual([
      { extent: 1, slot: 3, count: 2 },
      { extent: 2, slot: 5, count: 1 },
    ])
    expect([...changes.positionsOf(runs)]).toEqual(positions)
  })
})
