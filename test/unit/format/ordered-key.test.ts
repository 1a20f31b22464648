import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { OrderedKey, OrderedKeyReader, UNORDERED } from '../../../src/format/ordered-key.js'
import { renderRowText } from '../../../src/format/row-text.js'
import { runOptions } from '../../support/fast-check-options.js'

const anyText = fc
  .string({ unit: 'grapheme', maxLength: 80 })
  .map((text) => JSON.stringify(text))
  .filter((token) => !token.includes('\\'))
const anyNumber = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.bigInt({ min: 0n })).map(String)
const anyToken = fc.oneof(anyText, anyNumber)
const anyKey = fc.tuple(anyToken, anyToken)

function read(tokens: readonly string[], ids = ['a', 'b']): { key: OrderedKey; answer: number } {
  const text = utf8(`"x":"",${renderRowText(ids, tokens)}`)
  const key = new OrderedKey()
  return { key, answer: new OrderedKeyReader(ids).read(text, 0, text.length, key) }
}

/** The specified order: column by column, numbers after texts, numbers by value, texts by bytes. */
function order(left: readonly string[], right: readonly string[]): number {
  for (const [i, a] of left.entries()) {
    const b = right[i] ?? ''
    const [isText, isOtherText] = [a.startsWith('"'), b.startsWith('"')]
    if (isText !== isOtherText) return isText ? -1 : 1
    const compared = isText
      ? Buffer.compare(utf8(a.slice(1, -1)), utf8(b.slice(1, -1)))
      : Number(BigInt(a) > BigInt(b)) - Number(BigInt(a) < BigInt(b))
    if (compared !== 0) return compared
  }
  return 0
}

describe('ordered keys', () => {
  test('are in the order of their values, and the same for the same ones only', () => {
    fc.assert(
      fc.property(anyKey, anyKey, fc.boolean(), (left, right, isShared) => {
        const other = isShared ? [left[0], right[1]] : right
        const compared = read(left).key.compare(read(other).key)
        expect(Math.sign(compared)).toBe(order(left, other))
      }),
      runOptions(1000),
    )
  })

  test('put a text before those that continue it by a space', () => {
    const keys = ['"New"', '"New "', '"New York"', '"New!"', '"Newark"'].map(
      (text) => read([text, '1']).key,
    )
    for (const [i, key] of keys.slice(1).entries()) expect(keys[i]?.compare(key)).toBeLessThan(0)
  })

  test.each(['-1', '1.5', '1e2', '1.0', '00', 'true', '["a"]', '"\\u0041"', '1'.repeat(128)])(
    'are not read of %s',
    (token) => {
      expect(read([token, '1']).answer).toBe(UNORDERED)
      expect(read(['1', token]).answer).toBe(UNORDERED)
    },
  )

  test('name the first column whose cell is empty', () => {
    const text = utf8('"b":1')
    expect(new OrderedKeyReader(['b', 'a']).read(text, 0, text.length, new OrderedKey())).toBe(1)
  })

  test('are taken over by another', () => {
    const { key } = read([JSON.stringify('long '.repeat(100)), '10'])
    const other = new OrderedKey()
    other.set(key)
    expect(other.compare(key)).toBe(0)
    expect(other.compare(read(['"long"', '10']).key)).not.toBe(0)
  })
})
