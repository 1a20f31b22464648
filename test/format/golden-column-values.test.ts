// What a segment records about its values: FORMAT.md, section 6, sections 7 and 8 of a footer.
import { expect, test } from 'vitest'
import { toHex, utf8 } from '../../src/base/bytes.js'
import { ColumnValuesBuilder } from '../../src/format/column-values.js'
import { SECTION } from '../../src/format/segment-layout.js'
import { decodeFooter, footerRange } from '../../src/format/segment-reader.js'
import { decodeSegmentValues } from '../../src/format/segment-values.js'
import { SegmentBuilder } from '../../src/format/segment-writer.js'
import { hashOfToken } from '../../src/format/value-hash.js'
import { golden, goldenBytes } from './golden-file.js'

const OBJECT = '00112233445566770000000000000001'
const ROWS = [
  '"n":34.50,"s":"a","tags":["x",5],"e":"\\u0061"',
  '"n":-1e3,"s":"this text has more than thirty-two bytes"',
  '"n":0,"b":true',
]

function hashOf(token: string): number {
  const bytes = utf8(token)
  return hashOfToken(bytes, 0, bytes.length, token.includes('\\')) ?? 0
}

test('a segment with column values and value filters', async () => {
  const builder = new SegmentBuilder(OBJECT, 64, 'none', undefined, true)
  for (const row of ROWS) builder.add(row)
  const { bytes, footerBytes } = await builder.finish([], [])
  expect(toHex(bytes)).toBe(golden('segment-with-values', bytes))

  const stored = goldenBytes('segment-with-values')
  const ref = { object: OBJECT, rowCount: 3, objectBytes: stored.length, footerBytes }
  const { start, limit } = footerRange(ref)
  const footer = stored.subarray(start, limit)
  const values = decodeSegmentValues(ref, footer)
  expect(values?.column('n')).toMatchObject({
    hasEmpty: false,
    bounds: { isNumber: true, least: utf8('-1e3'), greatest: utf8('34.50') },
  })
  expect(values?.column('s')).toMatchObject({
    hasEmpty: true,
    bounds: { isCut: true, least: utf8('a'), greatest: utf8('this text has more than thirty-t') },
  })
  expect(values?.column('e')?.bounds).toBeNull()
  expect(values?.column('missing')).toBeUndefined()
  expect(values?.mayContain('n', hashOf('3.450e1'))).toBe(true)
  expect(values?.mayContain('n', hashOf('34.6'))).toBe(false)
  expect(values?.mayContain('tags', hashOf('5.0'))).toBe(true)
  expect(values?.mayContain('e', hashOf('"a"'))).toBe(true)
  expect(values?.mayContain('e', hashOf('"b"'))).toBe(false)
  expect(decodeFooter(ref, footer).frames).toHaveLength(1)
})

test.each([
  ['"a"', 0x2d3964ab],
  ['"the words of a text, and the bytes that are left"', 0x5bbe089b],
  ['34.50', 0x51a095a6],
  ['-1e-400', 0x452b5a57],
  ['0.000', 0x7ed0cfd5],
])('the hash of %s', (token, hash) => {
  expect(hashOf(token)).toBe(hash)
})

test.each([
  ['34.50', '3.45e1', '0.345E+2'],
  ['0', '0.0', '0e99999999999999999999'],
  ['-120', '-1.2e2', '-12e1'],
  ['"a/b"', '"a\\/b"', '"\\u0061/b"'],
])('equal values have equal hashes: %s', (token, ...others) => {
  expect(others.map(hashOf)).toEqual(others.map(() => hashOf(token)))
})

test('a filter with too many values is left out', () => {
  const builder = new ColumnValuesBuilder()
  for (let n = 0; n < 300_000; n += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, i) => `"n":${100_000 + n + i},"same":"x"`)
    const ends = Uint32Array.from(rows, ({ length }, row) => (row + 1) * length)
    builder.note(utf8(rows.join('')), ends, rows.length)
  }
  const [values, filters] = builder.finish()
  expect(values?.[0]).toBe(SECTION.columnValues)
  // The filter of one value is the only one, and has one block.
  expect(filters?.[1].length).toBe(2 + 2 + 4 + 32)
})
