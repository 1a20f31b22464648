import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteCache } from '../../../src/base/byte-cache.js'
import { runOptions } from '../../support/fast-check-options.js'

type Entry = Readonly<{ bytes: number; name: number }>

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const BUDGET = 100

const step = fc.record({
  does: fc.constantFrom('set', 'get', 'delete', 'replace'),
  key: fc.constantFrom(...KEYS),
  bytes: fc.nat({ max: 70 }),
})

test('a cache gives the last value of a key or none, and never holds more than its budget', () => {
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const cache = new ByteCache<Entry>(BUDGET, (_, { bytes }) => bytes)
    const last = new Map<string, Entry>()
    steps.forEach(({ does, key, bytes }, name) => {
      if (does === 'set') {
        last.set(key, { bytes, name })
        cache.set(key, { bytes, name })
      } else if (does === 'delete') {
        last.delete(key)
        cache.delete(key)
      } else if (does === 'replace') {
        const kept = { bytes, name: -name }
        if (last.has(key)) last.set(key, kept)
        cache.replace(key, { bytes, name }, (entry) => ({ ...entry, name: -entry.name }))
      } else expect([undefined, last.get(key)]).toContainEqual(cache.get(key))
      expect(cache.bytes).toBeLessThanOrEqual(BUDGET)
    })
    const held = KEYS.map((key) => cache.get(key))
    held.forEach((entry, i) => {
      if (entry !== undefined) expect(entry).toEqual(last.get(KEYS[i] ?? ''))
    })
    for (const key of KEYS) cache.delete(key)
    expect(cache.bytes).toBe(0)
  })
  fc.assert(property, runOptions(2_000))
})

test('entries that are read repeatedly stay, and others are dropped', () => {
  const cache = new ByteCache<Entry>(BUDGET, (_, { bytes }) => bytes)
  cache.set('a', { bytes: 10, name: 0 })
  cache.set('b', { bytes: 10, name: 0 })
  for (let name = 1; name < 50; name++) {
    cache.set(`k${name}`, { bytes: 10, name })
    expect(cache.get('a')).toEqual({ bytes: 10, name: 0 })
  }
  expect(cache.get('b')).toBe(undefined)
})

test('an entry that is too large is not kept, nor what it replaced', () => {
  const cache = new ByteCache<Entry>(BUDGET, (_, { bytes }) => bytes)
  cache.set('a', { bytes: 10, name: 0 })
  cache.set('a', { bytes: 51, name: 1 })
  expect(cache.get('a')).toBe(undefined)
})

test('a cache never holds more entries than fit', () => {
  const cache = new ByteCache<Entry>(BUDGET, (_, { bytes }) => bytes)
  for (let name = 0; name < 1_000; name++) cache.set(`k${name}`, { bytes: 10, name })
  const held = Array.from({ length: 1_000 }, (_, name) => cache.get(`k${name}`))
  const count = held.filter((entry) => entry !== undefined).length
  expect(count).toBeGreaterThanOrEqual(BUDGET / 10 / 2)
  expect(count).toBeLessThanOrEqual(BUDGET / 10)
})
