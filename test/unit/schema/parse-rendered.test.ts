import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRendered } from '../../../src/schema/parse-rendered.js'
import { runOptions } from '../../support/fast-check-options.js'

/** Keys that look alike if their escapes are not decoded. */
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
  fc.assert(property, runOptions(1_000))
})

const anyNumber = fc.oneof(
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('0', '34.50', '1e5', '9007199254740991', '-9007199254740992', '1'.repeat(309)),
)
const anyToken = fc.oneof(
  anyNumber,
  fc.string().map((text) => JSON.stringify(text)),
)

test('every number has the form that was asked for, and no text has another', () => {
  const property = fc.property(anyKey, fc.array(anyToken), (key, tokens) => {
    const json = `{${JSON.stringify(key)}:[${tokens.join()}]}`
    expect(parseRendered(json, 'text')).toEqual({
      [key]: tokens.map((token) => (token.startsWith('"') ? JSON.parse(token) : token)),
    })
    expect(parseRendered(json, 'bigint')).toEqual({
      [key]: tokens.map((token) => {
        const value: unknown = JSON.parse(token)
        return /^-?\d+$/.test(token) && !Number.isSafeInteger(value) ? BigInt(token) : value
      }),
    })
  })
  fc.assert(property, runOptions(1_000))
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
