import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRendered } from '../../src/schema/parse-rendered.js'
import { runs } from '../support/runs.js'

/** Keys that look like each other where their escapes are not read. */
const anyKey = fc.oneof(fc.string({ unit: fc.constantFrom('\\', '"', 'a', '\n') }), fc.string())
const anyCell = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))
const anyValue = fc.oneof(anyCell, fc.array(anyCell, { maxLength: 3 }))
const anyRows = fc.array(fc.array(fc.tuple(anyKey, anyValue), { maxLength: 4 }), { maxLength: 4 })

test('rows are parsed with the keys and values that they were rendered from', () => {
  const property = fc.property(anyRows, (rows) => {
    const expected = rows.map((members) => Object.fromEntries(members))
    expect(parseRendered(JSON.stringify(expected))).toEqual(expected)
    expect(parseRendered(JSON.stringify(expected, null, 2))).toEqual(expected)
  })
  fc.assert(property, { numRuns: runs(1_000) })
})

test('a key is not taken for one that was met before in the same place', () => {
  for (let i = 0; i < 100; i++) {
    expect(parseRendered(String.raw`{"\\":" "}`)).toEqual({ '\\': ' ' })
    expect(parseRendered(String.raw`{"\"":" "}`)).toEqual({ '"': ' ' })
  }
})

test('a key __proto__ is a member like any other', () => {
  const parsed = parseRendered(String.raw`{"__proto__":1,"\"":2}`) as object
  expect(Object.entries(parsed)).toEqual([
    ['__proto__', 1],
    ['"', 2],
  ])
})
