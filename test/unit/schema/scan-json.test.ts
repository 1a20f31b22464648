import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { JSON_DEPTH_MAX } from '../../../src/base/limits.js'
import { StoreError } from '../../../src/base/store-error.js'
import { runAtOnce } from '../../../src/base/time-slices.js'
import { SCALAR_CHARS_MAX } from '../../../src/schema/json-cursor.js'
import {
  compactToken,
  decodeJsonInSteps,
  decodeJsonText,
  JSON_MEMBERS_MAX,
  JSON_PARSED_CHARS_MAX,
  parseSmallJson,
  scanJsonChanges,
  scanJsonRows,
  splitJsonArray as splitArrayInSteps,
  splitJsonObject as splitObjectInSteps,
} from '../../../src/schema/scan-json.js'
import type { ScanLimits, ScannedRow } from '../../../src/schema/scanned-row.js'
import { runOptions } from '../../support/fast-check-options.js'
import { anyBody, attempt, depthOf, parseOrUndefined } from './json-bodies.js'

const LIMITS: ScanLimits = { columnsMax: 1000, rowCharsMax: 4 * 1024 * 1024 }

/** Rows without their costs. */
type Scan = Readonly<{ rows: Omit<ScannedRow, 'work'>[]; columns: readonly string[] }>

function scan(text: string, limits: ScanLimits = LIMITS): Scan {
  const scanner = scanJsonRows(text, limits)
  const rows: Omit<ScannedRow, 'work'>[] = []
  for (;;) {
    const step = scanner.next()
    if (step.done === true) return { rows, columns: step.value }
    const { work, ...row } = step.value
    rows.push(row)
  }
}

function failureOf(action: () => unknown): StoreError {
  try {
    action()
  } catch (failure) {
    if (failure instanceof StoreError) return failure
    throw failure
  }
  throw new Error('It was accepted')
}

function refusal(text: string, limits: ScanLimits = LIMITS): StoreError {
  return failureOf(() => scan(text, limits))
}

function cellsOf({ ids, tokens }: Pick<ScannedRow, 'ids' | 'tokens'>): [string, string | null][] {
  return ids.map((id, i) => [id, tokens[i] ?? null])
}

function cells(object: string): [string, string | null][] {
  const [row] = scan(`[${object}]`).rows
  return row === undefined ? [] : cellsOf(row)
}

describe('rows', () => {
  test('a body is an array of objects, with white space anywhere', () => {
    const { rows, columns } = scan(' [ { "a" : 1 , "b" : [ 1 , "x y" ] } ,\r\n\t{ } ] \n')
    expect(rows).toEqual([
      { ids: ['a', 'b'], tokens: ['1', '[1,"x y"]'], rowId: undefined },
      { ids: [], tokens: [], rowId: undefined },
    ])
    expect(columns).toEqual(['a', 'b'])
    expect(scan('[]').rows).toEqual([])
    expect(scan(' [ ] ').rows).toEqual([])
  })

  test('tokens stay as they were sent', () => {
    const text = '{"a":34.50,"b":1E+2,"c":"\\u0041\\/\\n","d":9007199254740993,"e":1e400,"f":true}'
    expect(cells(text)).toEqual([
      ['a', '34.50'],
      ['b', '1E+2'],
      ['c', '"\\u0041\\/\\n"'],
      ['d', '9007199254740993'],
      ['e', '1e400'],
      ['f', 'true'],
    ])
  })

  test('the last value of duplicate keys stands at the place of the first', () => {
    expect(cells('{"a":1,"b":2,"a":3}')).toEqual([
      ['a', '3'],
      ['b', '2'],
    ])
    expect(cells('{"a":1,"b":2,"\\u0061":3}')).toEqual([
      ['a', '3'],
      ['b', '2'],
    ])
  })

  test('null cells are there as null, after duplicates are resolved', () => {
    expect(cells('{"a":null,"b":2,"a":3}')).toEqual([
      ['a', '3'],
      ['b', '2'],
    ])
    expect(cells('{"a":1,"b":2,"a":null}')).toEqual([
      ['a', null],
      ['b', '2'],
    ])
  })

  test('columns with only nulls are among the columns', () => {
    expect(scan('[{"b":null,"a":1},{"c":null}]').columns).toEqual(['b', 'a', 'c'])
  })

  test('$rowID is the row ID when it is a string, else it is dropped', () => {
    const { rows, columns } = scan(
      '[{"$rowID":"x\\u0041","a":1},{"$rowID":5},{"$rowID":"y","$rowID":null},{"\\u0024rowID":"z"}]',
    )
    expect(rows.map(({ rowId }) => rowId)).toEqual(['xA', undefined, undefined, 'z'])
    expect(columns).toEqual(['a'])
  })

  test('$stashID is reserved, however it is spelled and whatever its value', () => {
    for (const key of ['"$stashID"', '"\\u0024stashID"']) {
      const failure = refusal(`[{"a":1},{${key}:null}]`)
      expect(failure).toMatchObject({ code: 'COLUMN_ID_RESERVED', row: 1, column: '$stashID' })
    }
  })

  test.each([
    '[{"$stashID":1},{]',
    '[{"$stashID":1}',
    '[{"$stashID":1}] x',
    '[{"$stashID":1,"$stashID"}]',
  ])('malformed text is refused before $stashID: %s', (text) => {
    expect(refusal(text).code).toBe('REQUEST_VALIDATION_ERROR')
  })

  test('odd column IDs are plain data', () => {
    const ids = ['__proto__', 'constructor', 'toString', '', '0', 'a.b', '😀', 'x"y', '\u0000']
    const row = `{${ids.map((id, i) => `${JSON.stringify(id)}:${i}`).join(',')}}`
    expect(cells(row)).toEqual(ids.map((id, i) => [id, String(i)]))
    expect(scan(`[${row},${row}]`).columns).toEqual(ids)
  })

  test('keys in another order than in the previous row are recognised', () => {
    const { rows } = scan('[{"a":1,"ab":2},{"ab":3,"a":4},{"a":5,"b":6},{"a\\"":7}]')
    expect(rows.map(({ ids }) => ids)).toEqual([['a', 'ab'], ['ab', 'a'], ['a', 'b'], ['a"']])
  })
})

describe('refusals', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['an object', '{}'],
    ['a literal', 'null'],
    ['a second byte order mark', '\ufeff\ufeff[]'],
    ['a byte order mark behind a space', ' \ufeff[]'],
    ['no end', '['],
    ['text after the array', '[] x'],
    ['another array', '[][]'],
    ['a form feed', '[]\f'],
    ['a no-break space', '[]\u00a0'],
  ])('%s is not an array of rows', (_, text) => {
    const failure = refusal(text)
    expect(failure.code).toBe('REQUEST_VALIDATION_ERROR')
    expect(failure.row).toBeUndefined()
  })

  test.each([
    ['a number', '1'],
    ['null', 'null'],
    ['an array', '[]'],
    ['a comma', ','],
    ['nothing after a comma', ''],
    ['a comma at the end of an object', '{"a":1,}'],
    ['a missing colon', '{"a" 1}'],
    ['a missing comma', '{"a":1 "b":2}'],
    ['a key without quotes', '{a:1}'],
    ['a number as key', '{1:1}'],
    ['a missing value', '{"a":}'],
    ['a leading zero', '{"a":01}'],
    ['a plus', '{"a":+1}'],
    ['a bare minus', '{"a":-}'],
    ['a bare point', '{"a":1.}'],
    ['NaN', '{"a":NaN}'],
    ['a capital literal', '{"a":True}'],
    ['a single quote', "{'a':1}"],
    ['a control character in a string', '{"a":"\t"}'],
    ['a control character in a key', '{"\n":1}'],
    ['a bad escape', '{"a":"\\x"}'],
    ['a short unicode escape', '{"a":"\\u12"}'],
    ['an open string', '{"a":"b'],
    ['crossed brackets', '{"a":[{]}}'],
    ['a comma too many in an array', '{"a":[1,]}'],
    ['a comment', '{"a":1/**/}'],
    ['two values', '{"a":1 2}'],
  ])('%s in a row is refused and the row is named', (_, row) => {
    const failure = refusal(`[{"a":1},${row}]`)
    expect(failure).toMatchObject({ code: 'REQUEST_VALIDATION_ERROR', row: 1 })
    expect(failure.message).toMatch(/ at character \d+ of the input, in row 1 \(counted from 0\)$/)
  })

  test('the message names the character at which the text is broken', () => {
    expect(refusal('[{"a":1},{"b" 2}]').message).toBe(
      'Expected ":" at character 14 of the input, in row 1 (counted from 0)',
    )
    expect(refusal('\ufeff[{"é😀":1},{"b" 2}]').message).toBe(
      'Expected ":" at character 16 of the input, in row 1 (counted from 0)', // The byte order mark is not counted.
    )
    expect(refusal(' {"a":1}').message).toBe(
      'Expected an array of rows at character 1 of the input (counted from 0)',
    )
    for (const [value, problem, at] of [
      ['[1,,2]', 'Not a JSON value', 3],
      ['[1,2x]', 'Not a JSON value', 3],
      ['[1,]', 'Not a JSON value', 3],
      ['[[1], [2] 3]', 'Expected "," or "]"', 10],
      ['[{"b":[1]},{"b":x}]', 'Not a JSON value', 16],
      ['[{"b":1,}]', 'Expected a key', 8],
      ['[{"b" 1}]', 'Expected ":"', 6],
      ['["b","\\x"]', 'Not a JSON value', 5],
    ] as const) {
      const text = `[{"a":${value}}]`
      const place = `at character ${text.indexOf(value) + at} of the input, in row 0 (counted from 0)`
      expect(refusal(text).message).toBe(`${problem} ${place}`)
    }
  })

  test('nesting is counted from the array of rows, and refused before it is parsed', () => {
    const nested = (levels: number) => `[{"a":${'['.repeat(levels)}${']'.repeat(levels)}}]`
    expect(scan(nested(JSON_DEPTH_MAX - 2)).rows.length).toBe(1)
    expect(refusal(nested(JSON_DEPTH_MAX - 1)).message).toContain('Nested deeper than 32')
    expect(refusal(`[{"a":${'['.repeat(1_000_000)}`).message).toContain('Nested deeper')
    expect(scan(`[{"a":"${'['.repeat(100)}"}]`).rows.length).toBe(1)
    expect(scan(`[{"a":[${'[],'.repeat(100)}[]]}]`).rows.length).toBe(1)
  })

  test('distinct columns are counted over all rows, without $rowID', () => {
    const limits = { ...LIMITS, columnsMax: 2 }
    expect(scan('[{"a":1,"$rowID":"r"},{"b":1},{"a":1,"b":2,"a":3}]', limits).rows.length).toBe(3)
    expect(refusal('[{"a":1},{"b":1,"c":null}]', limits)).toMatchObject({ row: 1 })
  })

  test('the length of a row is its text from brace to brace', () => {
    const limits = { ...LIMITS, rowCharsMax: 11 }
    expect(scan('[{"a":"xyz"}     ,     {"a":"xyz"}]', limits).rows.length).toBe(2)
    for (const row of ['{"a":"wxyz"}', '{"a": "xyz"}', '{"a":12345678}', '{"a":["xyz"]}']) {
      const failure = refusal(`[{}, ${row}]`, limits)
      expect(failure).toMatchObject({ code: 'REQUEST_VALIDATION_ERROR', row: 1 })
      expect(failure.message).toContain('longer than 11 characters')
    }
  })

  test('bytes that are not UTF-8 are refused, and a byte order mark is passed over', () => {
    expect(decodeJsonText(utf8('[{"a":"😀"}]'))).toBe('[{"a":"😀"}]')
    const failure = failureOf(() => decodeJsonText(new Uint8Array([0x5b, 0xff, 0x5d])))
    expect(failure).toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: 'The text is not valid UTF-8',
    })
    expect(scan(decodeJsonText(utf8('\ufeff[{}]'))).rows).toHaveLength(1)
  })
})

describe('compacting a token', () => {
  test.each([
    ['[ 1 ,\t2 ,\r\n"a b" ]', '[1,2,"a b"]'],
    ['{ "a b" : [ ] , "c" : { } }', '{"a b":[],"c":{}}'],
    ['-0', '0'],
    ['-0.0', '0.0'],
    ['-0e5', '0e5'],
    ['-0.00E-07', '0.00E-07'],
    ['[-0,-0.0 ,-1,-0.01,1e-0,{"-0":-0,"a":"-0 "}]', '[0,0.0,-1,-0.01,1e-0,{"-0":0,"a":"-0 "}]'],
    ['-0.5', '-0.5'],
    ['-10', '-10'],
    ['1e-05', '1e-05'],
    ['[1E-0, 2e-0]', '[1E-0,2e-0]'],
    ['-1e-400', '-1e-400'],
    ['" -0 "', '" -0 "'],
    ['["\\" ,-0"]', '["\\" ,-0"]'],
    ['null', 'null'],
  ])('%s becomes %s', (token, expected) => {
    expect(compactToken(token)).toBe(expected)
  })

  test.each([
    ['numbers', '[ -1, -0,', '[-1,0,'],
    ['texts of two bytes', '["€ 😀" ,', '["€ 😀",'],
  ])('a long text of %s gives the same result as a short one', (_, from, to) => {
    const [given, expected] = [from.slice(1), to.slice(1)].map((part) => part.repeat(3_000))
    expect(compactToken(`[${given} -0.0]`)).toBe(`[${expected}0.0]`)
  })

  test('a token is made of few parts, however many spaces are in it', () => {
    const slices = vi.spyOn(String.prototype, 'slice')
    onTestFinished(() => slices.mockRestore())
    const text = compactToken(`[${'-0, '.repeat(10_000)}1]`)
    const count = slices.mock.calls.length
    slices.mockRestore()
    expect(count).toBe(0)
    expect(text).toBe(`[${'0,'.repeat(10_000)}1]`)
  })

  test('a token without spaces and zeros is returned unchanged, any other as by JSON.stringify', () => {
    const property = fc.property(
      fc.jsonValue(),
      fc.constantFrom('', ' ', '\t', 2),
      (value, space) => {
        const plain = JSON.stringify(value)
        expect(compactToken(JSON.stringify(value, null, space))).toBe(plain)
      },
    )
    fc.assert(property, runOptions(1000))
  })
})

const splitJsonObject = (...given: Parameters<typeof splitObjectInSteps>) =>
  runAtOnce(splitObjectInSteps(...given))
const splitJsonArray = (...given: Parameters<typeof splitArrayInSteps>) =>
  runAtOnce(splitArrayInSteps(...given))

test('a body is one text of the decoder, from which rows are read faster', () => {
  const bytes = Buffer.from('é'.repeat(1_000_000))
  const steps = decodeJsonInSteps(bytes)
  expect(steps.next()).toEqual({ done: false, value: bytes.length })
  expect(steps.next()).toEqual({ done: true, value: 'é'.repeat(1_000_000) })
})

describe('splitting a request body', () => {
  test('members come in order, including duplicates, with their text unchanged', () => {
    const text = ' { "name" : "T\\u0041" , "rows" : [ {"a" : 1} ] , "name":null, "n\\u0061" : -0 } '
    expect(splitJsonObject(text)).toEqual([
      { key: 'name', text: '"T\\u0041"', offset: 12 },
      { key: 'rows', text: '[ {"a" : 1} ]', offset: 33 },
      { key: 'name', text: 'null', offset: 56 },
      { key: 'na', text: '-0', offset: 74 },
    ])
    expect(splitJsonObject('{}')).toEqual([])
  })

  test('a part is read as where it was cut from: its members and failures count from there', () => {
    expect(splitJsonObject(' {"a":1}', 100)).toEqual([{ key: 'a', text: '1', offset: 106 }])
    expect(() => splitJsonObject('{"a" 1}', 100)).toThrow(
      'character 105 of the input (counted from 0)',
    )
    expect(() => parseSmallJson('[1,]', 100)).toThrow('character 103 of the input')
    expect(() => [...scanJsonRows('[{"a" 1}]', LIMITS, 100)]).toThrow('character 106 of the input,')
  })

  test('arrays and objects are skipped by their brackets and judged later', () => {
    const members = splitJsonObject('{"rows":[{"a":"]}\\"",}],"b":1}')
    expect(members.map(({ key }) => key)).toEqual(['rows', 'b'])
    expect(refusal(members[0]?.text ?? '')).toMatchObject({ row: 0 })
  })

  test.each(['', '[]', '1', '{', '{"a"}', '{"a":}', '{"a":tru}', '{"a":"\n"}', '{"a":[1}', '{}x'])(
    '%j is not an object',
    (text) => {
      expect(failureOf(() => splitJsonObject(text)).code).toBe('REQUEST_VALIDATION_ERROR')
    },
  )

  test('a value may be nested as deep as when it is the body', () => {
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    expect(splitJsonObject(`{"rows":${deep(JSON_DEPTH_MAX)}}`).length).toBe(1)
    expect(() => splitJsonObject(`{"rows":${deep(JSON_DEPTH_MAX + 1)}}`)).toThrow('Nested deeper')
    expect(parseSmallJson(deep(JSON_DEPTH_MAX))).toBeInstanceOf(Array)
    expect(() => parseSmallJson(deep(JSON_DEPTH_MAX + 1))).toThrow('Nested deeper')
  })

  test('the number of members is bounded', () => {
    const body = (count: number) => `{${Array.from({ length: count }, () => '"a":1').join(',')}}`
    expect(splitJsonObject(body(JSON_MEMBERS_MAX)).length).toBe(JSON_MEMBERS_MAX)
    expect(() => splitJsonObject(body(JSON_MEMBERS_MAX + 1))).toThrow('More than 10000 members')
  })

  test('it accepts what JSON.parse accepts as an object, member by member', () => {
    const property = fc.property(anyBody, (text) => {
      const parsed = parseOrUndefined(text)
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      const split = attempt(() => splitJsonObject(text).map((m) => [m.key, parseSmallJson(m.text)]))
      expect(split !== undefined).toBe(isObject && depthOf(text) <= JSON_DEPTH_MAX + 1)
      if (split !== undefined) expect(Object.fromEntries(split)).toEqual(parsed)
    })
    fc.assert(property, runOptions(2000))
  })

  test('the steps count the characters read, however long a value is, and may end anywhere in it', () => {
    const rows = `[${'{"a":"]}\\"",  "b":[1,{}]},'.repeat(10_000)}{}]`
    const steps = splitObjectInSteps(`{"rows":${rows},"name":"x"}`)
    let work = 0
    let longest = 0
    let step = steps.next()
    for (; !step.done; step = steps.next()) {
      work += step.value
      longest = Math.max(longest, step.value)
    }
    expect(step.value.map(({ key, text }) => [key, text])).toEqual([
      ['rows', rows],
      ['name', '"x"'],
    ])
    expect(work).toBeGreaterThan(rows.length)
    expect(longest).toBeLessThan(rows.length / 5)
  })

  test('a text or a number is not judged beyond its limit', () => {
    const text = (length: number) => `{"a":"${'x'.repeat(length - 2)}"}`
    expect(splitJsonObject(text(SCALAR_CHARS_MAX))).toHaveLength(1)
    const long = 'Text or number of more than 1048576 characters begins at character'
    for (const body of [
      text(SCALAR_CHARS_MAX + 1),
      `{"a":${'1'.repeat(SCALAR_CHARS_MAX + 1)}}`,
      `{"${'x'.repeat(SCALAR_CHARS_MAX)}":1}`,
    ]) {
      expect(() => splitJsonObject(body)).toThrow(long)
    }
    expect(() => splitJsonArray(`[${'1'.repeat(SCALAR_CHARS_MAX + 1)}]`, 9)).toThrow(long)
  })

  test('bytes decoded in steps give the same text as at once, whichever character a step ends in', () => {
    const decoded = (bytes: Uint8Array) => runAtOnce(decodeJsonInSteps(bytes))
    for (const shift of [0, 1, 2, 3]) {
      for (const char of ['a', 'é', '€', '👍', '\ufeff']) {
        const text = 'x'.repeat(shift) + char.repeat(100_000)
        expect(decoded(Buffer.from(text)) === text).toBe(true)
      }
      const broken = Buffer.from('x'.repeat(shift) + 'é'.repeat(100_000)).subarray(0, -1)
      expect(() => decoded(broken)).toThrow('The text is not valid UTF-8')
    }
    expect(() => decoded(Buffer.alloc(400_000, 0x80))).toThrow('The text is not valid UTF-8')
  })

  test('an array is split into its elements, each unchanged', () => {
    expect(splitJsonArray(' [ {"a" : 1} ,[ ],"x" , -0 ] ', 4, 10)).toEqual([
      { text: '{"a" : 1}', offset: 13 },
      { text: '[ ]', offset: 24 },
      { text: '"x"', offset: 28 },
      { text: '-0', offset: 34 },
    ])
    expect(splitJsonArray('[]', 0)).toEqual([])
    for (const text of ['', '{}', '[', '[1', '[1,', '[1,]', '[1 2]', '[tru]', '[]x']) {
      expect(failureOf(() => splitJsonArray(text, 9)).code, text).toBe('REQUEST_VALIDATION_ERROR')
    }
  })

  test('an array is read to its first element that is one too many, and no further', () => {
    expect(splitJsonArray('[1,2,3', 2).map(({ text }) => text)).toEqual(['1', '2', '3'])
    expect(splitJsonArray('[1,2]', 2).map(({ text }) => text)).toEqual(['1', '2'])
  })

  test('parseJson makes no array or object of a text that is long, but a string of any', () => {
    const spaces = ' '.repeat(JSON_PARSED_CHARS_MAX - 2)
    expect(parseSmallJson(`[${spaces}]`)).toEqual([])
    expect(parseSmallJson(` {${spaces}} `)).toEqual({})
    expect(() => parseSmallJson(`[${spaces} ]`)).toThrow('more than 65536 characters')
    expect(parseSmallJson(JSON.stringify('x'.repeat(100_000)))).toHaveLength(100_000)
  })

  test('parseJson accepts what JSON.parse accepts', () => {
    const property = fc.property(anyBody, (text) => {
      const parsed = parseOrUndefined(text)
      const isAccepted = parsed !== undefined && depthOf(text) <= JSON_DEPTH_MAX
      expect(attempt(() => parseSmallJson(text))).toEqual(isAccepted ? parsed : undefined)
    })
    fc.assert(property, runOptions(2000))
  })
})

describe('changes of a row', () => {
  test('null cells are there as null, $rowID is not, the last of duplicates wins', () => {
    const text = ' {"a":1,"b":null,"$rowID":"r","c":[ -0 ],"a":null,"b":"x"} '
    expect([...scanJsonChanges(text, LIMITS)]).toEqual([
      ['a', null],
      ['b', '"x"'],
      ['c', '[0]'],
    ])
    expect(scanJsonChanges('{}', LIMITS).size).toBe(0)
  })

  test.each(['', '[]', '{"a":[1,]}', '{} {}', '{"a":1'])('%j is refused', (text) => {
    expect(failureOf(() => scanJsonChanges(text, LIMITS)).code).toBe('REQUEST_VALIDATION_ERROR')
  })

  test('$stashID is reserved', () => {
    const failure = failureOf(() => scanJsonChanges('{"$stashID":1}', LIMITS))
    expect(failure.code).toBe('COLUMN_ID_RESERVED')
  })
})
