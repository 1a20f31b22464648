// Golden records of the keys of tables.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import { hashOfTokens, KeyHasher } from '../../src/format/key-hash.js'
import * as index from '../../src/format/key-index.js'
import { decodeTableHead, encodeTableHead } from '../../src/format/records.js'
import { golden, goldenBytes } from './golden-file.js'

const PLACE = { table: utf8('table-key-16byte'), index: utf8('IndexNam') }
const HASH = utf8('hash of 16 bytes')
const POSITION = { extent: 2 ** 33 + 7, slot: 65_535 }
const RECORD = {
  columns: ['email', 'größe'],
  nextRun: 9,
  runs: [
    { run: 3, bits: 13, entries: 2 ** 33 },
    { run: 8, bits: 0, entries: 1 },
  ],
}
const HEAD = {
  version: 2 ** 40 + 9,
  commitNonce: utf8('8 bytes!'),
  order: 5,
  generation: {
    nonce: utf8('gen-nnce'),
    firstExtent: 512,
    nextExtent: 514,
    liveRows: 1007,
    deletedRows: 4,
    schemaNumber: 3,
    convertBefore: 513,
    widenedAt: 6,
    open: null,
    forward: null,
    keyIndex: PLACE.index,
  },
}
const COLUMNS = [
  { id: 'email', kind: 'string' },
  { id: 'n', kind: 'number' },
] as const
const ENTRY = Uint8Array.of(...HASH, 0, 2, 0, 0, 0, 7, 0xff, 0xff)

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  'key-index': () => index.encodeKeyIndex(RECORD),
  'key-entry': () => index.encodeKeyEntry(POSITION),
  'key-bucket': () => index.encodeKeyBucket(ENTRY),
  'key-hash': () => hashOfTokens(COLUMNS, ['"\\u0061b"', '34.50']).slice(0, 16),
  'key-key-index': () => index.keyIndexKey(PLACE),
  'key-key-entry': () => index.keyEntryKey(PLACE, HASH),
  'key-key-bucket': () => index.keyBucketKey(PLACE, 3, 4097),
  'table-head-with-key': () => encodeTableHead(HEAD),
}

describe('records of key indexes', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(index.decodeKeyIndex(goldenBytes('key-index'))).toEqual(RECORD)
    expect(index.decodeKeyEntry(goldenBytes('key-entry'))).toEqual(POSITION)
    const { hashes, positions } = index.decodeKeyBucket(goldenBytes('key-bucket'))
    expect([hashes.map(toHex), positions]).toEqual([[toHex(HASH)], [POSITION]])
    expect(index.positionsInBucket(goldenBytes('key-bucket'), HASH)).toEqual([POSITION])
    expect(index.positionsInBucket(goldenBytes('key-bucket'), HASH.with(15, 0))).toEqual([])
    expect(index.indexOfKey(goldenBytes('key-key-bucket'))).toEqual(PLACE)
    expect(toHex(index.hashOfEntryKey(goldenBytes('key-key-entry')))).toBe(toHex(HASH))
    expect(decodeTableHead(goldenBytes('table-head-with-key')).generation).toEqual(HEAD.generation)
  })

  test('the hash is that of the canonical tokens, each followed by a zero byte', async () => {
    const digest = await crypto.subtle.digest(
      'SHA-256',
      new Uint8Array(utf8('"ab"\u{0}345e-1\u{0}')),
    )

    expect(toHex(new Uint8Array(digest, 0, 16))).toBe(toHex(goldenBytes('key-hash')))
  })

  test('are refused with another version, and cut anywhere', () => {
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    for (const [name, decode] of [
      ['key-index', index.decodeKeyIndex],
      ['key-entry', index.decodeKeyEntry],
      ['key-bucket', index.decodeKeyBucket],
      ['key-bucket', (bytes: Bytes) => index.positionsInBucket(bytes, HASH)],
    ] as const) {
      const bytes = goldenBytes(name)
      expect(() => decode(bytes.with(0, 9))).toThrow(refused)
      expect(() => decode(bytes.slice(0, -1))).toThrow(refused)
    }
  })
})

describe('the hash of a key', () => {
  const hasher = new KeyHasher(COLUMNS)
  const hashOf = (text: string) => {
    const hash = hasher.ofText(text)
    return hash && toHex(hash)
  }

  test('is one for all forms of the same values, in any order of the cells', () => {
    const same = hashOf('"email":"ab","n":34.5')

    expect(hashOf('"n":3.450e1,"x":[1],"email":"\\u0061b"')).toBe(same)
    expect(hashOf('"email":"ab","n":34.6')).not.toBe(same)
    expect(hashOf('"email":"ab\\u0000","n":34.5')).not.toBe(same)
  })

  test('of a text is the hash of its characters, even if it was stored as a number', () => {
    expect(hashOf('"email":12.0,"n":1')).toBe(hashOf('"email":"12.0","n":1'))
    expect(hashOf('"email":12.0,"n":1')).not.toBe(hashOf('"email":"12","n":1'))
  })

  test('is none if a cell of the key is empty', () => {
    expect(hashOf('"email":"ab"')).toBe(null)
    expect(hashOf('"m":1')).toBe(null)
  })
})
