import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { StoreError } from '../../../src/base/store-error.js'
import { openCsv } from '../../../src/schema/scan-csv.js'
import type { ScanLimits, ScannedRow } from '../../../src/schema/scanned-row.js'
import { runOptions } from '../../support/fast-check-options.js'

const LIMITS: ScanLimits = { columnsMax: 1000, rowCharsMax: 4 * 1024 * 1024 }

type Settings = Partial<ScanLimits> & { delimiter?: ',' | '\t' }

/** Rows without their costs, which a separate test checks. */
type Scan = Readonly<{ header: readonly string[]; rows: Omit<ScannedRow, 'work'>[] }>

function scan(body: string | Uint8Array, settings: Settings = {}): Scan {
  const { delimiter = ',', ...limits } = settings
  const bytes = typeof body === 'string' ? utf8(body) : body
  const { header, rows } = openCsv(bytes, { delimiter }, { ...LIMITS, ...limits })
  return { header, rows: [...rows].map(({ work, ...row }) => row) }
}

function refusal(body: string | Uint8Array, settings: Settings = {}): StoreError {
  try {
    scan(body, settings)
  } catch (failure) {
    if (failure instanceof StoreError) return failure
    throw failure
  }
  throw new Error('It was accepted')
}

function cellsOf(body: string, settings: Settings = {}): [string, string][][] {
  return scan(body, settings).rows.map(({ ids, tokens }) =>
    ids.map((id, i) => [id, tokens[i] ?? '']),
  )
}

describe('records', () => {
  test('the header line names the columns, and fields are texts after unquoting', () => {
    const { header, rows } = scan('a,b c,"d,""e"\r\n1," x\r\ny",""""\r\ntrue,007, z \r\n')
    expect(header).toEqual(['a', 'b c', 'd,"e'])
    expect(rows).toEqual([
      { ids: header, tokens: ['1', ' x\r\ny', '"'], rowId: undefined, line: 2 },
      { ids: header, tokens: ['true', '007', ' z '], rowId: undefined, line: 4 },
    ])
  })

  test.each([
    ['CRLF', 'a,b\r\n1,2\r\n3,4\r\n'],
    ['LF', 'a,b\n1,2\n3,4\n'],
    ['CR', 'a,b\r1,2\r3,4\r'],
    ['mixed', 'a,b\n1,2\r\n3,4'],
    ['mixed the other way', 'a,b\r\n1,2\n3,4\r\n'],
  ])('lines end with %s, and the last one need not', (_, body) => {
    expect(cellsOf(body)).toEqual([
      [
        ['a', '1'],
        ['b', '2'],
      ],
      [
        ['a', '3'],
        ['b', '4'],
      ],
    ])
  })

  test('TSV is separated by tabs, with the same quoting', () => {
    expect(cellsOf('a\tb\n1,2\t"x\t""y"\n', { delimiter: '\t' })).toEqual([
      [
        ['a', '1,2'],
        ['b', 'x\t"y'],
      ],
    ])
  })

  test('a byte order mark is dropped, even before a quote', () => {
    expect(scan('\ufeffa,b\n').header).toEqual(['a', 'b'])
    expect(scan('\ufeff"a",b\n').header).toEqual(['a', 'b'])
    expect(scan('a,b\n\ufeff,2\n').rows[0]?.tokens).toEqual(['\ufeff', '2'])
  })

  test('empty fields and missing ones are empty cells', () => {
    expect(cellsOf('a,b,c\n,"",3\n1\n,\n')).toEqual([[['c', '3']], [['a', '1']], []])
  })

  test('a header alone is a table without rows', () => {
    for (const body of ['a,b', 'a,b\n', 'a,b\r\n', 'a,b\n\n']) {
      expect(scan(body)).toEqual({ header: ['a', 'b'], rows: [] })
    }
  })

  test('an empty line is a row without cells, but the last one is ignored', () => {
    expect(scan('a,b\n\n1,2\n\n').rows.map(({ tokens, line }) => [tokens, line])).toEqual([
      [[], 2],
      [['1', '2'], 3],
    ])
    expect(scan('a\n1\n\n2\n').rows.map(({ tokens }) => tokens)).toEqual([['1'], [], ['2']])
    expect(scan('a\n1\n\n').rows.length).toBe(1)
    expect(scan('a\r\n1\r\n\r\n').rows.length).toBe(1)
    expect(scan('a\n1\n\n\n').rows.length).toBe(2)
    expect(scan('a\n1\n""\n').rows.length).toBe(2)
    expect(scan('a\n1\n""').rows.length).toBe(2)
  })

  test('$rowID is the row ID and no column', () => {
    const { header, rows } = scan('a,$rowID,b\n1,r1,2\n3,,4\n5\n')
    expect(header).toEqual(['a', 'b'])
    expect(rows.map(({ rowId }) => rowId)).toEqual(['r1', undefined, undefined])
    expect(rows.map(({ tokens }) => tokens)).toEqual([['1', '2'], ['3', '4'], ['5']])
    expect(scan('$rowID\nr1\n').rows).toEqual([{ ids: [], tokens: [], rowId: 'r1', line: 2 }])
  })

  test('odd headers are plain data', () => {
    const ids = ['__proto__', 'constructor', 'toString', '0', ' a ', '😀', '\u0000']
    expect(cellsOf(`${ids.join(',')}\n${ids.join(',')}\n`)).toEqual([ids.map((id) => [id, id])])
    expect(Object.getPrototypeOf({})).toBe(Object.prototype)
  })

  test('NUL and every other character are kept in fields', () => {
    expect(cellsOf('a,b\n\u0000,"\u0000\u0001""\u0000"\n')).toEqual([
      [
        ['a', '\u0000'],
        ['b', '\u0000\u0001"\u0000'],
      ],
    ])
  })

  test('a row is named by the line on which it starts, quoted line breaks counted', () => {
    const { rows } = scan('"a\r\n\r\nb"\n1\n"x\r\ny\nz\rw"\r\n2\n')
    expect(rows.map(({ line }) => line)).toEqual([4, 5, 9])
  })
})

describe('refusals', () => {
  test.each([
    ['no bytes', ''],
    ['a byte order mark', '\ufeff'],
    ['one empty line', '\n'],
  ])('%s is a body without a header line', (_, body) => {
    expect(refusal(body)).toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: 'The header line is missing',
    })
  })

  test.each([
    ['an empty field', 'a,,b\n'],
    ['a quoted empty field', 'a,""\n'],
    ['a comma at the end', 'a,b,\n'],
    ['an empty line before it', '\na,b\n'],
  ])('a header with %s', (_, body) => {
    expect(refusal(body)).toMatchObject({ code: 'REQUEST_VALIDATION_ERROR', line: 1 })
  })

  test('the same header twice, $rowID too', () => {
    const place = { code: 'COLUMN_ID_NOT_UNIQUE', line: 1 }
    expect(refusal('a,b,"a"\n1,2,3\n')).toMatchObject({ ...place, column: 'a' })
    expect(refusal('$rowID,$rowID\n')).toMatchObject({ ...place, column: '$rowID' })
    expect(refusal('__proto__,a,__proto__\n')).toMatchObject({ ...place, column: '__proto__' })
  })

  test.each([
    ['a header that is refused', utf8('a,a\n1,2\n"x",y\n3\n')],
    ['bytes that are not UTF-8', new Uint8Array([...utf8('a,b\n1,2\n"x",y\n3\n'), 0xff])],
  ])('rows of a body with %s come without cells', (_, body) => {
    const { rows } = openCsv(body, { delimiter: ',' }, LIMITS)
    const lines: (number | undefined)[] = []
    expect(() => {
      for (const { ids, tokens, line } of rows) {
        expect([ids, tokens]).toEqual([[], []])
        lines.push(line)
      }
    }).toThrow(StoreError)
    expect(lines).toEqual([2, 3, 4])
  })

  test.each(['a,a', '$stashID', 'a,$stashID,a'])(
    '%s, after all of a body that is malformed',
    (header) => {
      const late = ['\n"1', '\n1,2,3,4', Uint8Array.of(0x0a, 0xff), '\n"1"2']
      for (const rest of late) {
        const body = Buffer.concat([Buffer.from(`${header}\n1\n`), Buffer.from(rest)])
        expect(refusal(body)).toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
      }
    },
  )

  test('$stashID as a header', () => {
    const failure = refusal('a,$stashID\n')
    expect(failure).toMatchObject({ code: 'COLUMN_ID_RESERVED', column: '$stashID', line: 1 })
  })

  test('more columns than allowed, without $rowID', () => {
    expect(scan('a,$rowID,b\n', { columnsMax: 2 }).header).toEqual(['a', 'b'])
    expect(refusal('a,b,c\n', { columnsMax: 2 }).message).toBe('More than 2 columns in line 1')
  })

  test.each([
    ['a record longer than the header', 'a,b\n"x\ny",1\n1,2,3\n', 1, 4],
    ['a record longer by an empty field', 'a,b\n1,2,\n', 0, 2],
    ['a quote that is not closed', 'a,b\n1,2\n3,"4\n5,6\n', 1, 3],
    ['a quote in the middle of a field', 'a,b\n1,2\n3,4\n5,6"7\n', 2, 4],
    ['a pair of quotes in the middle of a field', 'a,b\n1,x"y\nz"\n', 0, 2],
    ['text after a closing quote', 'a,b\n"1"x,2\n', 0, 2],
    ['a space after a closing quote', 'a,b\n"1" ,2\n', 0, 2],
    ['a NUL after a closing quote', 'a,b\n"1"\u0000,2\n', 0, 2],
    ['a NUL after a closing quote at the end', 'a,b\n1,2\n3,"4"\u0000', 1, 3],
    ['a space before an opening quote', 'a,b\n1, "2"\n', 0, 2],
  ])('%s names the row and the line', (_, body, row, line) => {
    const failure = refusal(body)
    expect(failure).toMatchObject({ code: 'REQUEST_VALIDATION_ERROR', row, line })
    expect(failure.message).toContain(`line ${line}`)
  })

  test('bytes that are not UTF-8 name the row and the line', () => {
    const body = utf8('a\n1\n2\nx')
    body[6] = 0xff
    expect(refusal(body)).toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: 'Not valid UTF-8 in row 2 (counted from 0), line 4',
      row: 2,
    })
    body[0] = 0xc3
    const failure = refusal(body)
    expect(failure.line).toBe(1)
    expect(failure.row).toBeUndefined()
  })

  test('the length of a record is its characters without the line break', () => {
    const settings = { rowCharsMax: 5 }
    expect(scan('abc\n12345\r\n"1\n2"\n\n€€€€€\n😀😀1', settings).rows.length).toBe(5)
    for (const record of [
      '123456',
      '"123\n"',
      '€€€€€€',
      '😀😀😀',
      '"1\n\n\n\n\n',
      'x'.repeat(99),
      ',,,,,,,x"', // Fields beyond the limit are not read.
    ]) {
      const failure = refusal(`abc\n12345\n${record}\n`, settings)
      expect(failure).toMatchObject({ code: 'REQUEST_VALIDATION_ERROR', row: 1, line: 3 })
      expect(failure.message).toContain('The row is longer than 5 characters')
    }
    expect(refusal('abcdef\n', settings).line).toBe(1)
  })

  test.each([
    ['x', ''],
    ['€', ''],
    ['é😀x', ''],
    ['€""\n', '"'],
  ])('a long record of %j is counted to the character', (unit, quote) => {
    const text = unit.repeat(70_000)
    const record = `${quote}${text}${quote}`
    expect(scan(`a\n${record}\n`, { rowCharsMax: record.length }).rows).toHaveLength(1)
    const failure = refusal(`a\n${record}\n`, { rowCharsMax: record.length - 1 })
    expect(failure.message).toContain('The row is longer than')
    const open = refusal(`a\n"${text}`, { rowCharsMax: text.length + 1 })
    expect(open.message).toContain('A quote is not closed')
  })

  test('the first fault in the order of the records counts', () => {
    expect(refusal('a\n1\n2,2\n3"\n').line).toBe(3)
    expect(refusal('a\n1\n2"2\n3,3\n').line).toBe(3)
    const settings = { rowCharsMax: 3 }
    expect(refusal('a\n1\n2,2\n34567\n', settings).line).toBe(3)
    expect(refusal('a\n1\n2345\n3"\n', settings).line).toBe(3)
  })
})

const anyText = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '1',
      ',',
      '\t',
      '"',
      '\n',
      '\r',
      '\r\n',
      ' ',
      'é',
      '€',
      '😀',
      '\u0000',
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''))
const anyLineBreak = fc.constantFrom('\n', '\r\n', '\r')

/** A well-formed body: quoted where it must be, and sometimes where it need not be. */
const anyWellFormed = fc
  .tuple(
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.array(fc.tuple(anyText, fc.boolean()), { minLength: 1, maxLength: 4 })),
    fc.infiniteStream(anyLineBreak),
    fc.constantFrom(',', '\t'),
    fc.boolean(),
  )
  .map(([width, records, breaks, delimiter, ends]) => {
    const header = Array.from({ length: width }, (_, i) => `c${i}`).join(delimiter)
    const lines = records.map((record) => record.slice(0, width).map(quote).join(delimiter))
    let body = header
    for (const line of lines) body += String(breaks.next().value) + line
    return { body: ends ? `${body}\n` : body, delimiter: delimiter === ',' ? ',' : '\t' } as const
  })

function quote([text, always]: [string, boolean]): string {
  return always || /[",\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Any sequence of the significant characters. */
const anySoup = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      'c,d',
      ',',
      '"',
      '"',
      '""',
      '\n',
      '\n',
      '\r\n',
      '\r',
      '"x",',
      '\u0000',
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(''))

const ORACLE_OPTIONS = {
  bom: true,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
}

function parseWhole(body: string, delimiter: string): string[][] | undefined {
  try {
    return parse(body, { ...ORACLE_OPTIONS, delimiter })
  } catch {
    return undefined
  }
}

/** The rows of the whole body; undefined: the contract refuses them. */
function expectedScan(body: string, delimiter: string): unknown {
  const records = parseWhole(body, delimiter)
  if (records === undefined || /"\0/.test(body.replace(/"[^"]*"(?!\0)/g, ''))) return undefined
  if (/(?:^|[\r\n])(?:\r\n|\n|\r)$/.test(body) && records.at(-1)?.join() === '') {
    if (!/\r\n$/.test(body) || /(?:^|[\r\n])\r\n$/.test(body)) records.pop()
  }
  const [header, ...rows] = records
  if (header === undefined || header.includes('')) return undefined
  if (new Set(header).size < header.length) return undefined
  if (rows.some((row) => row.length > header.length)) return undefined
  return {
    header,
    rows: rows.map((row) => row.flatMap((field, i) => (field === '' ? [] : [[header[i], field]]))),
  }
}

function meaning(body: string, settings: Settings): unknown {
  try {
    return { header: scan(body, settings).header, rows: cellsOf(body, settings) }
  } catch (failure) {
    if (failure instanceof StoreError) return undefined
    throw failure
  }
}

describe('any body', () => {
  test('a well-formed body has the rows that csv-parse returns', () => {
    const property = fc.property(anyWellFormed, ({ body, delimiter }) => {
      const expected = expectedScan(body, delimiter)
      expect(expected).toBeDefined()
      expect(meaning(body, { delimiter })).toEqual(expected)
    })
    fc.assert(property, runOptions(3000))
  })

  test('any other means what csv-parse makes of it', () => {
    const property = fc.property(anySoup, (soup) => {
      const body = `a,b\n${soup}`.replaceAll('\u0000', '')
      expect(meaning(body, {})).toEqual(expectedScan(body, ','))
    })
    fc.assert(property, runOptions(4000))
  })

  test('a body that is not UTF-8 is refused in the record with the invalid bytes', () => {
    const anyRecord = fc.array(fc.constantFrom('a', 'é', '€', '"x\n"', '1'), { maxLength: 3 })
    const property = fc.property(fc.array(anyRecord), fc.nat(2), (records, cut) => {
      const lines = records.map((fields) => `${quote([fields.join(''), false])}\n`)
      const before = utf8(`a\n${lines.join('')}`)
      const broken = [...utf8('x😀y').subarray(0, 2 + cut), 0x79]
      const failure = refusal(new Uint8Array([...before, ...broken, ...utf8('\nz\n')]))
      expect(failure.message).toContain('Not valid UTF-8')
      expect(failure.row).toBe(records.length)
    })
    fc.assert(property, runOptions(500))
  })

  test('each row tells how many bytes were read for it', () => {
    const property = fc.property(anyWellFormed, ({ body, delimiter }) => {
      const { rows } = openCsv(utf8(body), { delimiter }, LIMITS)
      let read = 0
      for (const { work } of rows) read += work ?? 0
      const [header = ''] = body.split(/\r\n|\n|\r/, 1)
      const lastLine = /(?:^|[\r\n])(\r\n|\n|\r)$/.exec(body)?.[1] ?? ''
      expect(utf8(body).length - utf8(header).length - read).toBeLessThanOrEqual(
        2 + lastLine.length,
      )
    })
    fc.assert(property, runOptions(1000))
  })

  test('the line of a row is the number of line breaks before it, plus one', () => {
    const property = fc.property(anyWellFormed, ({ body, delimiter }) => {
      const { rows } = scan(body, { delimiter })
      const lineCount = body.split(/\r\n|\n|\r/).length
      let last = 1
      for (const { line = 0 } of rows) {
        expect(line).toBeGreaterThan(last)
        last = line
      }
      expect(last).toBeLessThanOrEqual(lineCount)
    })
    fc.assert(property, runOptions(1000))
  })

  test('a body of many rows reads as a whole', () => {
    const count = 20_000
    const lines = Array.from({ length: count }, (_, i) => `${i},"text\n${i}"`)
    const { rows } = scan(`n,t\n${lines.join('\n')}\n`)
    expect(rows.length).toBe(count)
    expect(rows.at(-1)).toEqual({
      ids: ['n', 't'],
      tokens: [String(count - 1), `text\n${count - 1}`],
      rowId: undefined,
      line: 2 * count,
    })
  })
})
