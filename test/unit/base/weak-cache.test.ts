import { expect, test } from 'vitest'
import { WeakCache } from '../../../src/base/weak-cache.js'

test('values stay up to the budget, and then begin anew', () => {
  const cache = new WeakCache<object, number>(100, 10)
  const keys = Array.from({ length: 25 }, () => ({}))
  for (const [n, key] of keys.entries()) {
    cache.add(key, n)
    expect(cache.get(key)).toBe(n)
    expect(cache.bytes).toBeLessThanOrEqual(100)
  }
  expect(keys.map((key) => cache.get(key)).filter((value) => value !== undefined)).toEqual([
    20, 21, 22, 23, 24,
  ])
  expect(cache.bytes).toBe(50)
})

test('nothing stays without a budget, or with less than a value takes', () => {
  for (const bytesMax of [0, 9]) {
    const cache = new WeakCache<object, number>(bytesMax, 10)
    const key = {}
    cache.add(key, 1)
    expect(cache.get(key)).toBe(undefined)
    expect(cache.bytes).toBe(0)
  }
})
