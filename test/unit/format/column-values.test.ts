// What a segment records about its values: the same from the place where a scanner found a row and from the row's text,
// with the least and greatest number of a column.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toHex, utf8 } from '../../../src/base/bytes.js'
import { sliceReader } from '../../../src/base/platform.js'
import { ColumnValuesBuilder } from '../../../src/format/column-values.js'
import { footerRange } from '../../../src/format/segment-reader.js'
import { decodeSegmentValues } from '../../../src/format/segment-values.js'
import { SegmentBuilder } from '../../../src/format/segment-writer.js'
import { mayContain, ValueFilterBuilder } from '../../../src/format/value-filter.js'
import { hashOfToken } from '../../../src/format/value-hash.js'
import { JsonByteScanner } from '../../../src/schema/scan-json-bytes.js'
import { runOptions } from '../../support/fast-check-options.js'

const OBJECT = '00112233445566770000000000000001'
const DIGIT = fc.integer({ min: 0, max: 9 })

const wholeNumber = fc.oneof(
  fc.integer({ min: -2_000, max: 2_000 }).map(String),
  fc.array(DIGIT, { minLength: 13, maxLength: 17 }).map((digits) => `1${digits.join('')}`),
)
/** Each two neighbours are the same double. */
const closeNumber = fc.integer({ min: 0, max: 9 }).map((last) => `900719925474099${last}`)
const numberToken = fc
  .tuple(
    fc.oneof(wholeNumber, closeNumber),
    fc.constantFrom('', '.5', '.50', '.25', '.00000000001', 'e2', '.5E-3'),
  )
  .map(([whole, rest]) => whole + rest)
const textToken = fc
  .oneof(
    fc.constantFrom('a', '', 'abc', 'ä', 'with "quotes"', 'line\nbreak', 'x'.repeat(200)),
    fc.string({ maxLength: 3 }).map((end) => `the first thirty-two bytes are e${end}`),
    fc.string({ maxLength: 9 }),
  )
  .map((text) => JSON.stringify(text))
const scalar = fc.oneof(numberToken, textToken, fc.constantFrom('true', 'false'))
const array = fc.array(scalar, { maxLength: 3 }).map((tokens) => `[${tokens.join(' , ')}]`)
const row = fc.record(
  { n: numberToken, s: textToken, x: fc.oneof(scalar, array) },
  { requiredKeys: [] },
)
const body = fc.array(row, { minLength: 1, maxLength: 70 })

test('a row is recorded the same from where it was scanned as from its text', () => {
  const check = (rows: readonly Record<string, string>[]): void => {
    const texts = rows.map((cells) =>
      Object.entries(cells).map(([id, token]) => `"${id}":${token}`),
    )
    const compact = texts.map((cells) => cells.join(',').replaceAll(' , ', ','))
    const byText = new ColumnValuesBuilder()
    const bytes = compact.map((text) => utf8(text))
    let end = 0
    const ends = Uint32Array.from(bytes, ({ length }) => {
      end += length
      return end
    })
    byText.note(utf8(compact.join('')), ends, rows.length)

    const json = utf8(`[${texts.map((cells) => `{${cells.join(', ')}}`).join(',')}]`)
    const byScanner = new ColumnValuesBuilder()
    const limits = { columnsMax: 10, rowBytesMax: 10_000 }
    const scanner = new JsonByteScanner(json, limits, sliceReader(json))
    for (const text of bytes) {
      if (scanner.next() === 'row') byScanner.noteScanned(scanner)
      else byScanner.note(text, Uint32Array.of(text.length), 1)
    }

    const shown = (builder: ColumnValuesBuilder): unknown =>
      builder.finish().map(([section, noted]) => [section, toHex(noted)])
    expect(shown(byScanner)).toEqual(shown(byText))
  }
  fc.assert(fc.property(body, check), runOptions(500))
})

test('the bounds are the least and the greatest number', async () => {
  const check = async (tokens: readonly string[]): Promise<void> => {
    const builder = new SegmentBuilder(OBJECT, 64, 'none', undefined, true)
    for (const token of tokens) builder.add(`"n":${token}`)
    const { bytes, footerBytes } = await builder.finish([], [])
    const ref = { object: OBJECT, rowCount: tokens.length, objectBytes: bytes.length, footerBytes }
    const { start, limit } = footerRange(ref)
    const known = decodeSegmentValues(ref, bytes.subarray(start, limit))?.column('n')
    const bound = (end: 'least' | 'greatest'): bigint =>
      scaled(new TextDecoder().decode(known?.bounds?.[end]))
    const values = tokens.map(scaled).sort((left, right) => (left < right ? -1 : 1))
    expect(bound('least')).toBe(values[0])
    expect(bound('greatest')).toBe(values.at(-1))
    for (const token of tokens) {
      const hash = hashOfToken(utf8(token), 0, token.length, false) ?? 0
      expect(known?.filter != null && mayContain(known.filter, hash)).toBe(true)
    }
  }
  const tokens = fc.array(numberToken, { minLength: 1, maxLength: 30 })
  await fc.assert(fc.asyncProperty(tokens, check), runOptions(500))
})

/** A number times 10 ** 20. */
function scaled(token: string): bigint {
  const [mantissa = '', power = '0'] = token.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction) * 10n ** BigInt(20 - fraction.length + Number(power))
}

test.each([3, 4_095, 4_096, 4_097, 30_000])(
  'a filter has all of %i hashes, and few others',
  (count) => {
    const builder = new ValueFilterBuilder()
    const hashOf = (n: number): number => Math.imul(n, 0x9e37_79b1) >>> 0
    for (let n = 0; n < count; n++) builder.add(hashOf(n))
    const filter = builder.finish()
    if (filter === null) throw new Error('there is no filter')
    const isIn = (n: number): boolean => mayContain(filter, hashOf(n))
    const numbers = Array.from({ length: count }, (_, n) => n)
    expect(numbers.filter((n) => !isIn(n))).toEqual([])
    expect(numbers.filter((n) => isIn(n + 1_000_000)).length).toBeLessThan(0.1 * count + 2)
  },
)

test('a greatest text is cut if a later one extends the same bytes', async () => {
  const builder = new SegmentBuilder(OBJECT, 64, 'none', undefined, true)
  const text = 'x'.repeat(32)
  builder.add(`"s":"${text}"`)
  builder.add(`"s":"${text}y"`)
  const { bytes, footerBytes } = await builder.finish([], [])
  const ref = { object: OBJECT, rowCount: 2, objectBytes: bytes.length, footerBytes }
  const { start, limit } = footerRange(ref)
  const known = decodeSegmentValues(ref, bytes.subarray(start, limit))?.column('s')
  expect(known?.bounds).toMatchObject({ greatest: utf8(text), isCut: true })
})
