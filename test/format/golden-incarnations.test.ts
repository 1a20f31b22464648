// Golden records of the processes that share a store.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import { decodeDutyLease, encodeDutyLease, NO_INCARNATION } from '../../src/format/duty-records.js'
import { decodeIncarnation, encodeIncarnation } from '../../src/format/incarnation-records.js'
import * as keys from '../../src/format/keys.js'
import { EMPTY_RECORD } from '../../src/format/records.js'
import { golden, goldenBytes } from './golden-file.js'

const NAME = '0123456789abcdef'
const ALIVE = {
  hasEnded: false,
  holdsObjects: true,
  pinsAll: false,
  beat: 2 ** 33 + 1,
  until: 1_760_000_030_000,
  settled: 2 ** 40 + 5,
  pending: [7, 2 ** 40],
  pinned: [utf8('nonce--1'), utf8('nonce--2')],
}
const ENDED = { ...ALIVE, hasEnded: true, holdsObjects: false, pinsAll: true, pinned: [] }

const LEASE = { owner: NAME, epoch: 2 ** 33 + 1 }
const FREE = { owner: NO_INCARNATION, epoch: 7 }

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  incarnation: () => encodeIncarnation(ALIVE),
  'incarnation-ended': () => encodeIncarnation(ENDED),
  writer: () => EMPTY_RECORD,
  'duty-lease': () => encodeDutyLease(LEASE),
  'duty-lease-free': () => encodeDutyLease(FREE),
  'key-duty-garbage-collection': () => keys.dutyKey('garbageCollection'),
  'key-duty-compaction': () => keys.dutyKey('compaction'),
  'key-duty-files': () => keys.dutyKey('files'),
  'key-duty-objects': () => keys.dutyKey('objects'),
  'key-duty-recompression': () => keys.dutyKey('recompression'),
  'key-incarnation': () => keys.incarnationKey(NAME),
  'key-writer': () => keys.writerKey(NAME),
}

describe('records of incarnations and their duties', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(decodeIncarnation(goldenBytes('incarnation'))).toEqual(ALIVE)
    expect(decodeIncarnation(goldenBytes('incarnation-ended'))).toEqual(ENDED)
    expect(decodeDutyLease(goldenBytes('duty-lease'))).toEqual(LEASE)
    expect(decodeDutyLease(goldenBytes('duty-lease-free'))).toEqual(FREE)
    expect(keys.incarnationOfKey(goldenBytes('key-incarnation'))).toBe(NAME)
    expect(keys.incarnationOfKey(goldenBytes('key-writer'))).toBe(NAME)
  })

  test('are refused with another version, an unknown flag, and cut anywhere', () => {
    const bytes = goldenBytes('incarnation')
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    expect(() => decodeIncarnation(bytes.with(0, 2))).toThrow(refused)
    expect(() => decodeIncarnation(bytes.with(1, 8))).toThrow(refused)
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeIncarnation(bytes.slice(0, length))).toThrow(refused)
    }
    const lease = goldenBytes('duty-lease')
    expect(() => decodeDutyLease(lease.with(0, 2))).toThrow(refused)
    expect(() => decodeDutyLease(Uint8Array.of(...lease, 0))).toThrow(refused)
    for (let length = 0; length < lease.length; length++) {
      expect(() => decodeDutyLease(lease.slice(0, length))).toThrow(refused)
    }
  })
})
