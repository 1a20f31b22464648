// Goal: a command that opens a store to look at it starts no work in the background.
import { expect, test } from 'vitest'
import { QUIET } from '../../../adapters/programs/store-place.js'
import { STORE_LIMITS } from '../../../src/index.js'

test('the options of commands switch off each background task', () => {
  const intervals = Object.keys(STORE_LIMITS).filter((name) => name.endsWith('IntervalMs'))
  expect(Object.keys(QUIET).sort()).toEqual(intervals.sort())
  expect(new Set(Object.values(QUIET))).toEqual(new Set([0]))
})
