import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmptyRanges } from '../../../src/kv/empty-ranges.js'
import { runOptions } from '../../support/fast-check-options.js'

const KEY = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 })

type Step = readonly [name: 'add' | 'fill', left: string, right: string]

const STEP: fc.Arbitrary<Step> = fc.tuple(fc.constantFrom('add', 'fill'), KEY, KEY)

test('a range reported as empty is empty, and stays so except for records that are written', () => {
  const property = fc.property(fc.array(STEP, { maxLength: 40 }), KEY, (steps, asked) => {
    const ranges = new EmptyRanges()
    const added: [string, string][] = []
    const filled = new Set<string>()
    for (const [name, left, right] of steps) {
      const [start = '', limit = ''] = [left, right].sort()
      const isFilled = [...filled].some((key) => start <= key && key < limit)
      if (name === 'fill') {
        filled.add(left)
        ranges.fill(left)
      } else if (!isFilled && start < limit) {
        added.push([start, limit])
        ranges.add(start, limit)
      }
      const isKnown = added.some(([from, to]) => from <= asked && asked < to) && !filled.has(asked)
      if (added.length <= 3 && filled.size <= 3) expect(ranges.has(asked)).toBe(isKnown)
      else if (ranges.has(asked)) expect(isKnown).toBe(true)
      if (ranges.covers(start, limit)) expect(isFilled).toBe(false)
      for (const key of filled) expect(ranges.has(key)).toBe(false)
    }
  })
  fc.assert(property, runOptions(1_000))
})

test('the least recently used of many ranges are forgotten', () => {
  const ranges = new EmptyRanges()
  const name = (i: number) => String(i).padStart(4, '0')
  ranges.add('a', 'b')
  for (let i = 0; i < 1_000; i++) {
    ranges.add(`${name(i)}a`, `${name(i)}b`)
    expect(i % 2 === 0 ? ranges.has('ab') : ranges.covers('aa', 'b')).toBe(true)
  }
  expect(ranges.has(`${name(999)}aa`)).toBe(true)
  expect(ranges.has(`${name(900)}aa`)).toBe(false)
})
