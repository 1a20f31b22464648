// Every column type, and random values of all shapes.
import fc from 'fast-check'
import { COLUMN_KINDS, type ColumnType } from '../../src/schema/column-kind.js'
import { NUMBERS, SAMPLES } from './value-samples.js'

export const ALL_TYPES: readonly ColumnType[] = COLUMN_KINDS.flatMap((kind) => [
  { kind },
  { kind: 'array', items: { kind } },
])

const TEXTS = [...Object.values(SAMPLES), NUMBERS].flatMap(({ fits, misfits }) => [
  ...fits.slice(0, 8),
  ...misfits.slice(0, 8),
])
const FINITE_TOKENS = ['0', '12', '-1', '34.50', '1e5', '9007199254740993', '12345678901234567890']

/** The content of a JSON string. Some have a lone surrogate. */
const content = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TEXTS) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('', 'plain', 'with "quotes"', 'a\\u0041', 'line\nbreak', '\u0000'),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom('\ud800', 'a\udc00b') },
)

/** A lone surrogate, raw or escaped. */
const stringToken = fc.oneof(
  content.map((text) => JSON.stringify(text)),
  content.map((text) => JSON.stringify(text).replace(/\\ud([89a-f])/g, '\\uD$1')),
  fc.constantFrom('"\ud800"', '"\\u0041"', '"\\u00e9"', '"2024-\\u0030\\u0031-01"', '"\\/"'),
)

const goodScalar = fc.oneof(
  stringToken,
  fc.constantFrom(...FINITE_TOKENS),
  fc.constantFrom('true', 'false'),
)

const badElement = fc.constantFrom('null', '[]', '{}', '1e400', '["x"]', '"\\ud800"')

const element = fc.oneof(
  { weight: 12, arbitrary: goodScalar },
  { weight: 1, arbitrary: badElement },
)

/** Array columns accept arrays of one kind of element. */
const arrayToken = fc
  .oneof(
    fc.array(element, { maxLength: 4 }),
    fc.array(stringToken, { maxLength: 4 }),
    fc.array(fc.constantFrom(...FINITE_TOKENS, '1e400'), { maxLength: 4 }),
    fc.array(fc.constantFrom('"2024-01-01"', '"2024-01-01T10:00"', '"PT1H"', '5'), {
      maxLength: 3,
    }),
  )
  .map((tokens) => `[${tokens.join(',')}]`)

/** A JSON token of a cell, of any shape, including `null`. */
export const jsonToken: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: goodScalar },
  { weight: 4, arbitrary: arrayToken },
  { weight: 1, arbitrary: fc.constantFrom('null', '""', '{}', '{"a":[1]}', '1e400', '-1e999') },
)

/** A nonempty field of CSV or TSV. */
export const csvField: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 4, arbitrary: content },
    { weight: 3, arbitrary: fc.constantFrom(...FINITE_TOKENS, ' 12', '12 ', '007', '1e400', '+1') },
    { weight: 2, arbitrary: fc.constantFrom('true', 'FALSE', 'True', ' true') },
    { weight: 2, arbitrary: arrayToken },
    { weight: 1, arbitrary: arrayToken.map((token) => ` ${token}\n`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('[', '[1', '[1],', '[1]x', '{"a":1}', '[ "a" , "b" ]'),
    },
  )
  .filter((text) => text !== '' && !/\p{Surrogate}/u.test(text))

/** Cells that mostly agree: a list of few different values, so that a column often has a type. */
export function cells(value: fc.Arbitrary<string>): fc.Arbitrary<string[]> {
  return fc
    .array(value, { minLength: 1, maxLength: 3 })
    .chain((values) => fc.array(fc.constantFrom(...values), { maxLength: 5 }))
}
