// Sorting the hashes of many keys: in short steps, even if all hashes are equal.
import { expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { sha256Now } from '../../../src/base/platform.js'
import { runAtOnce } from '../../../src/base/time-slices.js'
import { KeyedRows } from '../../../src/engine/keys/keyed-rows.js'

function rowsOf(count: number, keyOf: (row: number) => number): KeyedRows {
  const rows = new KeyedRows()
  const hashes = new Map<number, Uint8Array>()
  for (let row = 0; row < count; row++) {
    const key = keyOf(row)
    const hash = hashes.get(key) ?? sha256Now(utf8(String(key))).subarray(0, 16)
    hashes.set(key, hash)
    rows.add(hash, { extent: 5, slot: row })
  }
  return rows
}

test.each([1, 2, 17, 500])(
  '%s rows are in the order of their hashes, and then of their positions',
  (count) => {
    const rows = rowsOf(count, (row) => row % 100)
    const names = Array.from({ length: count }, (_, place) => {
      const { slot } = rows.positionAt(place)
      return `${Buffer.from(rows.hashAt(place)).toString('hex')} ${String(slot).padStart(3, '0')}`
    })
    expect(names).toEqual(names.toSorted())
    expect(new Set(names).size).toBe(count)
    expect(runAtOnce(rows.firstTwice())).toBe(count > 100 ? 1 : -1)
    expect(runAtOnce(rowsOf(count, (row) => row).firstTwice())).toBe(-1)
  },
)

test.each([
  ['one key', () => 1],
  ['a key each', (row: number) => row],
])('rows with %s are sorted and compared in many steps', (_, keyOf) => {
  const steps = rowsOf(60_000, keyOf).firstTwice()
  let count = 0
  for (let step = steps.next(); !step.done; step = steps.next()) {
    count++
  }
  expect(count).toBeGreaterThan(30)
})
