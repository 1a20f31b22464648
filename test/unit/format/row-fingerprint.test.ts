// Fingerprints of rows: different rows have different ones, even if their differences are made to cancel out.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import {
  FINGERPRINT,
  FINGERPRINT_SEED_BYTES,
  RowFingerprints,
} from '../../../src/format/row-fingerprint.js'
import { runOptions } from '../../support/fast-check-options.js'

const seeds = fc.uint8Array({
  minLength: FINGERPRINT_SEED_BYTES,
  maxLength: FINGERPRINT_SEED_BYTES,
})

/** Bytes of a text that are neither a quote nor a backslash, whichever of their bits are changed below. */
const content = fc
  .uint8Array({ min: 0x80, max: 0xbf, minLength: 24, maxLength: 24 })
  .map((bytes) => bytes.map((byte) => (byte === 0xa2 ? 0xa3 : byte)))

type Changes = readonly (readonly [at: number, bits: number])[]

/** Changes of three bytes: the later two undo the effect of the first on the state of a weak hash. */
const changes = fc.integer({ min: 1, max: 7 }).map(
  (high): Changes => [
    [7, high << 3],
    [11, 0x80],
    [13, 0x10],
  ],
)

/** @param keyId - The key column. */
function fingerprintOf(row: Uint8Array, keyId: string, seed: Uint8Array): readonly number[] {
  const fingerprints = new RowFingerprints([keyId], seed)
  fingerprints.use(row)
  expect(fingerprints.read(0, row.length, 0)).toBe(-1)
  return [...fingerprints.words.subarray(0, FINGERPRINT.words)]
}

/** A row with the bytes of `content` in its text, beginning at a multiple of eight bytes. */
function rowOf(bytes: Uint8Array): Uint8Array {
  const before = utf8('"k":1,"n":12345,"text":"')
  expect(before.length % 8).toBe(0)
  return new Uint8Array([...before, ...bytes, ...utf8('"')])
}

function changed(bytes: Uint8Array, by: Changes): Uint8Array {
  const other = bytes.slice()
  for (const [at, bits] of by) other[at] = (other[at] ?? 0) ^ bits
  return other
}

test('no differences of two texts cancel each other', () => {
  const check = (seed: Uint8Array, bytes: Uint8Array, by: Changes): void => {
    const [left, right] = [bytes, changed(bytes, by)].map((text) => {
      return fingerprintOf(rowOf(text), 'k', seed).slice(FINGERPRINT.text)
    })
    expect(left?.filter((word, at) => word === right?.[at])).toEqual([])
  }
  fc.assert(fc.property(seeds, content, changes, check), runOptions(2_000))
})

test('no differences of two keys cancel each other', () => {
  const check = (seed: Uint8Array, bytes: Uint8Array, by: Changes): void => {
    // The token of the key begins with its quote.
    const shifted = by.map(([at, bits]) => [at - 1, bits] as const)
    const [left, right] = [bytes, changed(bytes, shifted)].map((text) => {
      return fingerprintOf(rowOf(text), 'text', seed).slice(0, FINGERPRINT.text)
    })
    expect(left?.filter((word, at) => word === right?.[at])).toEqual([])
  }
  fc.assert(fc.property(seeds, content, changes, check), runOptions(2_000))
})

test('rows with one content have one fingerprint, and another seed gives another', () => {
  const check = (seed: Uint8Array, other: Uint8Array, bytes: Uint8Array): void => {
    const row = rowOf(bytes)
    const found = fingerprintOf(row, 'k', seed)
    expect(fingerprintOf(row.slice(), 'k', seed)).toEqual(found)
    if (Buffer.compare(seed, other) !== 0) expect(fingerprintOf(row, 'k', other)).not.toEqual(found)
  }
  fc.assert(fc.property(seeds, seeds, content, check), runOptions(500))
})
