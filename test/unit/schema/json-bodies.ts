// Random JSON bodies of rows, and the parts of an oracle for JSON scanners: JSON.parse of the whole body decides what
// is accepted and what the cells mean.
import fc from 'fast-check'
import { StoreError } from '../../../src/base/store-error.js'
import { anyCodePoint } from '../../support/code-points.js'

const anySpace = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n')

/** Good keys and scalars per broken one. */
const GOOD_WEIGHT = 20

const anyKey = fc.oneof(
  {
    arbitrary: fc.oneof(
      fc.constantFrom('"a"', '"b"', '"\\u0061"', '"__proto__"', '"$rowID"', '"c d"', '""', '"\\""'),
      fc.string({ unit: anyCodePoint, maxLength: 4 }).map((key) => JSON.stringify(key)),
    ),
    weight: GOOD_WEIGHT,
  },
  fc.constantFrom('"$stashID"', 'a', '"\n"'),
)
const anyScalar = fc.oneof(
  {
    arbitrary: fc.oneof(
      fc.constantFrom('null', 'true', 'false', '0', '-0', '-0.0', '1', '12', '34.50', '-7e-3'),
      fc.constantFrom('1E400', '[1E-0]', '""', '"x"', '"\\u0041\\\\"', '"[{\\"]"', '"\\ud800"'),
      fc.constantFrom('" -0 , "', '123456789012345', '9007199254740993'),
      fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value)),
    ),
    weight: GOOD_WEIGHT,
  },
  fc.constantFrom('01', '1.', '.5', '-', '+1', 'nul', '"\t"', '"\\x"', '', '1 2', '00', 'NaN'),
)
const { value: anyValue } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { arbitrary: anyScalar, weight: 4 },
    tie('array'),
    tie('object'),
  ),
  array: fc
    .tuple(fc.array(tie('value'), { maxLength: 3 }), anySpace)
    .map(([values, space]) => `[${space}${values.join(`${space},${space}`)}${space}]`),
  object: objectOf(tie('value')),
}))

/** Values near the limit of nesting. */
const anyDeepValue = fc
  .integer({ min: 26, max: 36 })
  .map((levels) => `${'['.repeat(levels)}{}${']'.repeat(levels)}`)

/** Bodies that look like rows: about half are valid, the others broken or too deep. */
export const anyBody = fc
  .tuple(
    fc.array(
      fc.oneof(
        {
          arbitrary: objectOf(fc.oneof({ arbitrary: anyValue, weight: 100 }, anyDeepValue)),
          weight: 40,
        },
        anyValue,
      ),
      { maxLength: 4 },
    ),
    anySpace,
    fc.constantFrom('array', 'array', 'array', 'array', 'array', 'first'),
  )
  .map(([rows, space, shape]) => {
    if (shape === 'first') return `${space}${rows[0] ?? ''}${space}`
    return `${space}[${space}${rows.join(`${space},${space}`)}${space}]${space}`
  })
const anyMutation = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    drop: fc.integer({ min: 0, max: 2 }),
    put: fc.constantFrom(
      '',
      '"',
      '\\',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      ' ',
      '0',
      '-',
      'e',
      '\u0001',
      '\ufeff',
    ),
  }),
  { maxLength: 2 },
)

/** A body with characters removed and inserted. */
export const anyMutatedBody = fc.tuple(anyBody, anyMutation).map(([body, mutations]) => {
  let text = body
  for (const { at, drop, put } of mutations) {
    const start = Math.floor(at * (text.length + 1))
    text = text.slice(0, start) + put + text.slice(start + drop)
  }
  return text
})

function objectOf(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(fc.tuple(anyKey, value), { maxLength: 5 }), anySpace)
    .map(([members, space]) => {
      const texts = members.map(([key, text]) => `${key}${space}:${space}${text}`)
      return `{${space}${texts.join(`${space},${space}`)}${space}}`
    })
}

/** The result of an action, or undefined if it refuses its input. */
export function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action()
  } catch (failure) {
    if (failure instanceof StoreError) return undefined
    throw failure
  }
}

export function parseOrUndefined(text: string, parse = JSON.parse): unknown {
  try {
    return parse(text.replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}

/** Levels of nesting of a valid JSON text, counted in the text, because duplicate keys hide values. */
export function depthOf(text: string): number {
  let level = 0
  let deepest = 0
  for (const character of text.replace(/"(?:[^"\\]|\\.)*"/gs, '')) {
    if ('[{'.includes(character)) deepest = Math.max(deepest, ++level)
    else if (']}'.includes(character)) level--
  }
  return deepest
}
