// A sort in steps gives the order of a sort, is stable, and does little in each step.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sortSteps } from '../../../src/base/sort-steps.js'
import { runAtOnce } from '../../../src/base/time-slices.js'
import { runOptions } from '../../support/fast-check-options.js'

test('the order is that of a sort', () => {
  const check = (values: readonly number[]): void => {
    const indexes = Uint32Array.from(values.keys())
    runAtOnce(sortSteps(indexes, (left, right) => (values[left] ?? 0) - (values[right] ?? 0)))
    const expected = [...values.keys()].sort(
      (left, right) => (values[left] ?? 0) - (values[right] ?? 0),
    )
    expect([...indexes]).toEqual(expected)
  }
  const values = fc.array(fc.nat({ max: 40 }), { maxLength: 200, size: 'max' })
  fc.assert(fc.property(values, check), runOptions(2_000))
})

test.each<[string, (n: number) => number]>([
  ['equal', () => 0],
  ['ascending', (n) => n],
  ['descending', (n) => -n],
])('no step of many that are %s has many comparisons', (_, keyOf) => {
  let comparisons = 0
  const steps = sortSteps(
    Uint32Array.from({ length: 50_000 }, (_, i) => i),
    (left, right) => {
      comparisons++
      return keyOf(left) - keyOf(right)
    },
  )
  for (let step = steps.next(); !step.done; step = steps.next()) {
    expect(comparisons).toBeLessThan(50_000)
    comparisons = 0
  }
})
