// Goal: a Range header gives the requested bytes or none, and a conditional request is answered by the rules of the
// RFC.
// Method: random headers against a naive computation of slices; a table of conditions.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRange } from '../../../src/contract/files/serve-file.js'
import { allowsRange, isNotModified } from '../../../src/contract/http/file-conditions.js'
import { runOptions } from '../../support/fast-check-options.js'

const RANGES_MIN = 5_000

type Answer = Readonly<{ status: number; indexes: readonly number[] }>

/** The answer for a file 0, 1, 2, … with a length in bytes. */
function answerOf(header: string | undefined, bytes: number): Answer {
  const file = Array.from({ length: bytes }, (_, at) => at)
  const range = parseRange(header === undefined ? [] : [['Range', header]], bytes)
  if (range === 'whole') return { status: 200, indexes: file }
  if (range === 'none') return { status: 416, indexes: [] }
  return { status: 206, indexes: file.slice(range.start, range.limit) }
}

/** Checks for each byte of the file whether it is wanted, with integers of any size. */
function naiveAnswer(header: string, bytes: number): Answer {
  const file = Array.from({ length: bytes }, (_, at) => at)
  const equals = header.indexOf('=')
  const unit = equals < 0 ? '' : header.slice(0, equals).toLowerCase()
  const specs = header.slice(equals + 1).split(',')
  if (unit !== 'bytes' || specs.length !== 1) return { status: 200, indexes: file }
  const parts = (specs[0] ?? '').split('-')
  const [first = '', last = ''] = parts
  const isNumber = (text: string) =>
    text !== '' && [...text].every((char) => '0123456789'.includes(char))
  const isRange = parts.length === 2 && isNumber(first) && (last === '' || isNumber(last))
  const isSuffix = parts.length === 2 && first === '' && isNumber(last)
  const isWanted = (at: number): boolean => {
    if (isSuffix) return BigInt(bytes - at) <= BigInt(last)
    return isRange && BigInt(at) >= BigInt(first) && (last === '' || BigInt(at) <= BigInt(last))
  }
  const indexes = file.filter(isWanted)
  return { status: indexes.length > 0 ? 206 : 416, indexes }
}

const digits = fc.oneof(
  { weight: 6, arbitrary: fc.nat(70).map(String) },
  { weight: 1, arbitrary: fc.nat(70).map((n) => `000${n}`) },
  { weight: 1, arbitrary: fc.bigInt(2n ** 31n, 2n ** 70n).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('9007199254740991', '9007199254740993', `${'9'.repeat(400)}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '-1', '+1', '1.5', '1e1', '0x1', 'a', ' ', '٣', '1_0'),
  },
)
const spec = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(digits, digits).map(([first, last]) => `${first}-${last}`) },
  { weight: 2, arbitrary: digits.map((first) => `${first}-`) },
  { weight: 2, arbitrary: digits.map((suffix) => `-${suffix}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '-', '--', '0', '0-0-0', '0–5', '*', '0-5;q=1', '0 - 5'),
  },
)
const unit = fc.oneof(
  { weight: 12, arbitrary: fc.constant('bytes=') },
  { weight: 2, arbitrary: fc.constantFrom('Bytes=', 'BYTES=') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'items=',
      'byte=',
      'bytes',
      'bytes:',
      '',
      '=',
      'bytes =',
      'x-bytes=',
    ),
  },
)
const header = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(unit, spec).map((parts) => parts.join('')) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(unit, fc.array(spec, { minLength: 2, maxLength: 20 }), fc.constantFrom(',', ', '))
      .map(([name, specs, comma]) => name + specs.join(comma)),
  },
)

test('a random Range header gives what a naive reading gives', () => {
  const { numRuns = 0, ...options } = runOptions(20_000)
  const statuses = new Map<number, number>()
  fc.assert(
    fc.property(header, fc.nat(60), (range, bytes) => {
      const answer = answerOf(range, bytes)
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)

      // A header's value has no white space around it.
      expect(answer).toEqual(naiveAnswer(range.trim(), bytes))
    }),
    { ...options, numRuns: Math.max(numRuns, RANGES_MIN) },
  )
  for (const status of [200, 206, 416]) expect(statuses.get(status)).toBeGreaterThan(100)
})

describe('of a file of ten bytes', () => {
  test.each([
    [undefined, 200, 10],
    ['bytes=0-0', 206, 1],
    ['bytes=0-9', 206, 10],
    ['bytes=0-', 206, 10],
    ['bytes=9-', 206, 1],
    ['bytes=9-9', 206, 1],
    ['bytes=0-10', 206, 10],
    ['bytes=5-1000000000000000000000', 206, 5],
    ['bytes=-1', 206, 1],
    ['bytes=-10', 206, 10],
    ['bytes=-11', 206, 10],
    [`bytes=-${'9'.repeat(1_000)}`, 206, 10],
    ['bytes=10-', 416, 0],
    ['bytes=10-10', 416, 0],
    ['bytes=5-4', 416, 0],
    ['bytes=-0', 416, 0],
    ['bytes=-', 416, 0],
    ['bytes=', 416, 0],
    ['bytes=x', 416, 0],
    ['bytes= 0-1', 416, 0],
    [`bytes=${'9'.repeat(1_000)}-`, 416, 0],
    ['items=0-5', 200, 10],
    ['bytes', 200, 10],
    ['bytes=0-1,3-4', 200, 10],
    ['bytes=0-1,', 200, 10],
    [`bytes=${Array.from({ length: 10_000 }, () => '0-').join(',')}`, 200, 10],
  ] as const)('%.40s is answered with %i and %i bytes', (range, status, count) => {
    const answer = answerOf(range, 10)

    expect([answer.status, answer.indexes.length]).toEqual([status, count])
  })
})

test.each(['bytes=0-', 'bytes=0-0', 'bytes=-1', 'bytes=-0'])(
  'an empty file has no range %s',
  (range) => {
    expect(answerOf(range, 0).status).toBe(416)
  },
)

test('two Range headers are several ranges: the whole', () => {
  const headers = [
    ['range', 'bytes=0-1'],
    ['Range', 'bytes=0-1'],
  ] as const

  expect(parseRange(headers, 10)).toBe('whole')
})

const ETAG = '"abc"'

function notModified(...headers: (readonly [string, string])[]): boolean | 412 {
  try {
    return isNotModified(headers, ETAG)
  } catch (failure) {
    expect(failure).toMatchObject({ code: 'PRECONDITION_FAILED' })
    return 412
  }
}

describe('conditional requests', () => {
  test.each([
    ['"abc"', true],
    ['W/"abc"', true],
    ['*', true],
    ['"x", "abc"', true],
    ['"x","abc","y"', true],
    ['"x" , W/"abc"', true],
    [',, "abc",', true],
    ['"a,b", "abc"', true],
    ['"abc', false],
    ['abc', false],
    ["'abc'", false],
    ['"ABC"', false],
    ['"abc-gzip"', false],
    ['w/"abc"', false],
    ['""', false],
    ['', false],
    ['"x"', false],
    ['"x", *', false],
    ['"x""abc"', false],
    ['x, "abc"', false],
    ['"x,"abc"', false],
    ['"x y", "abc"', false],
    [`${'"x",'.repeat(5_000)}"abc"`, true],
    ['"'.repeat(20_000), false],
    [','.repeat(20_000), false],
  ])('If-None-Match: %.40s is 304: %j', (value, expected) => {
    expect(notModified(['If-None-Match', value])).toBe(expected)
  })

  test.each([
    ['"abc"', false],
    ['*', false],
    ['"x", "abc"', false],
    ['W/"abc"', 412],
    ['"x"', 412],
    ['abc', 412],
    ['', 412],
  ] as const)('If-Match: %s is 412 or goes on: %j', (value, expected) => {
    expect(notModified(['If-Match', value])).toBe(expected)
  })

  test('a list may stand in several lines', () => {
    expect(notModified(['if-none-match', '"x"'], ['IF-NONE-MATCH', '"abc"'])).toBe(true)
    expect(notModified(['if-match', '"x"'], ['if-match', '"abc"'])).toBe(false)
  })

  test('If-Match is judged before If-None-Match', () => {
    expect(notModified(['if-none-match', '"abc"'], ['if-match', '"x"'])).toBe(412)
    expect(notModified(['if-none-match', '"abc"'], ['if-match', '"abc"'])).toBe(true)
  })

  test('conditions on dates are ignored: a file has none', () => {
    const date = 'Thu, 01 Jan 2099 00:00:00 GMT'

    expect(notModified(['If-Modified-Since', date], ['If-Unmodified-Since', date])).toBe(false)
  })

  test.each([
    ['"abc"', true],
    ['W/"abc"', false],
    ['"x"', false],
    ['"x", "abc"', false],
    ['*', false],
    ['Thu, 01 Jan 2099 00:00:00 GMT', false],
    ['', false],
  ])('If-Range: %s allows the range: %j', (value, expected) => {
    expect(allowsRange([['If-Range', value]], ETAG)).toBe(expected)
  })

  test('without If-Range a range is allowed', () => {
    expect(allowsRange([], ETAG)).toBe(true)
  })
})
