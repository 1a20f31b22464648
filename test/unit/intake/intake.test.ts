// Goal: whatever dialect and encoding a source has, its rows are the intended ones, or the report has advice.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Dialect } from '../../../src/intake/dialect.js'
import { runOptions } from '../../support/fast-check-options.js'
import { codesOf, open, read, readJson } from './support.js'

describe('what is detected', () => {
  test.each([
    ['semicolons', 'a;b\n1;x,y\n', ['a', 'b'], [['1', 'x,y']], ['delimiter']],
    ['tabs', 'a\tb\n1\t2\n', ['a', 'b'], [['1', '2']], ['delimiter']],
    ['pipes', 'a|b\n1|2\n', ['a', 'b'], [['1', '2']], ['delimiter']],
    ['a comma although a header has another', 'a,b;c\n1,2\n', ['a', 'b;c'], [['1', '2']], []],
    ['what the first line says', 'sep=;\na;b\n1;2\n', ['a', 'b'], [['1', '2']], []],
    [
      'one column whose rows have another',
      'a\nx;y\nu;v\n',
      ['a'],
      [['x;y'], ['u;v']],
      ['oneColumn'],
    ],
    ['nothing in one column', 'a\nx;y\nz\n', ['a'], [['x;y'], ['z']], ['oneColumn']],
    ['lines of delimiters', 'a,b\n1,2\n,\n,\n', ['a', 'b'], [['1', '2']], ['blankLines']],
    ['blank lines', 'a,b\n\n1,2\n\n\n', ['a', 'b'], [['1', '2']], ['blankLines']],
    ['blank lines of one column, which are cells', 'a\n1\n\n2\n', ['a'], [['1'], [''], ['2']], []],
    ['empty quotes, which are a row', 'a,b\n"",""\n', ['a', 'b'], [['', '']], []],
    ['a nameless first column', ',b\n0,x\n', ['column1', 'b'], [['0', 'x']], ['columnNamed']],
    ['a nameless empty one', 'a,b,\n1,2,\n', ['a', 'b'], [['1', '2']], ['columnDropped']],
    ['an empty field too many', 'a,b\n1,2,\n', ['a', 'b'], [['1', '2']], ['extraFields']],
    [
      'blanks in front of quotes',
      '"a", "b"\n1, "x, y"\n',
      ['a', 'b'],
      [['1', 'x, y']],
      ['trimmed'],
    ],
    [
      'backslashes',
      'a,b\n"1\\"","x, y"\n"2","z"\n',
      ['a', 'b'],
      [
        ['1"', 'x, y'],
        ['2', 'z'],
      ],
      ['backslashes'],
    ],
    [
      '\\N',
      'a,b\n1,\\N\n2,"\\N"\n',
      ['a', 'b'],
      [
        ['1', ''],
        ['2', '\\N'],
      ],
      ['nulls'],
    ],
    ['a title', 'Report\nof May\n\na,b\n1,2\n', ['a', 'b'], [['1', '2']], ['skippedLines']],
    ['comments in front', '# one\n# two\na,b\n1,2\n', ['a', 'b'], [['1', '2']], ['skippedLines']],
    ['a header that begins as a comment', '#a,b\n1,2\n', ['#a', 'b'], [['1', '2']], []],
    [
      'a header that looks like a row',
      'x,1.5\ny,2.5\n',
      ['x', '1.5'],
      [['y', '2.5']],
      ['headerLooksLikeData'],
    ],
    [
      'decimal commas',
      'a;b\nx;1,5\ny;2\n',
      ['a', 'b'],
      [
        ['x', '1.5'],
        ['y', '2'],
      ],
      ['delimiter', 'numbers'],
    ],
    ['a number that has one reading only', 'a\n"1.234,50"\n', ['a'], [['1234.50']], ['numbers']],
    [
      'thousands and a currency',
      'a;b\n1.234,50 €;x\n-7,00 €;y\n',
      ['a', 'b'],
      [
        ['1234.50', 'x'],
        ['-7.00', 'y'],
      ],
      ['delimiter', 'numbers'],
    ],
    [
      'days with points',
      'a,b\n31.12.2026,1\n1.2.2026,2\n',
      ['a', 'b'],
      [
        ['2026-12-31', '1'],
        ['2026-02-01', '2'],
      ],
      ['dates'],
    ],
    [
      'American days',
      'a\n12/31/2026\n01/02/2026\n',
      ['a'],
      [['2026-12-31'], ['2026-01-02']],
      ['dates'],
    ],
    ['days with two readings', 'a\n01/02/2026\n', ['a'], [['01/02/2026']], ['datesUnread']],
    [
      'a comma with two readings',
      'a;b\n1,234;x\n',
      ['a', 'b'],
      [['1,234', 'x']],
      ['delimiter', 'commasUnsure'],
    ],
    [
      'moments of PostgreSQL',
      'a\n2024-03-01 12:30:00.5+01\n',
      ['a'],
      [['2024-03-01 12:30:00.5+01:00']],
      ['dateTimes'],
    ],
    ['words of Excel', 'a\nWAHR\nFALSCH\n', ['a'], [['true'], ['false']], ['booleans']],
    ['words of people, which stay', 'a\nyes\nno\n', ['a'], [['yes'], ['no']], []],
    [
      'a code of a currency',
      'a,b\nEUR 5,x\nEUR 7.50,y\n',
      ['a', 'b'],
      [
        ['5', 'x'],
        ['7.50', 'y'],
      ],
      ['numbers'],
    ],
    [
      'codes with letters, which stay',
      'a,b\nSKU 5,x\nSKU 7,y\n',
      ['a', 'b'],
      [
        ['SKU 5', 'x'],
        ['SKU 7', 'y'],
      ],
      [],
    ],
    ['codes, which stay', 'a,b\n007,1 234\n', ['a', 'b'], [['007', '1 234']], []],
  ])('%s', async (_, source, columns, rows, codes) => {
    const found = await read(source)

    expect(found).toMatchObject({ columns, rows })
    expect(codesOf(found)).toEqual(codes)
  })

  test.each(['utf-16le', 'utf-16be'])(
    'the encoding %s, with and without a mark',
    async (encoding) => {
      const text = 'a,b\n1,é\n'
      const plain = Buffer.from(text, 'utf16le')
      const marked = Buffer.from(`\ufeff${text}`, 'utf16le')
      for (const bytes of [plain, marked]) {
        const { rows, report } = await read(encoding === 'utf-16be' ? bytes.swap16() : bytes)

        expect(rows).toEqual([['1', 'é']])
        expect(report.encoding).toBe(encoding)
      }
    },
  )

  test('a code page, which is told', async () => {
    const found = await read(Buffer.from('a,b\n1,Müller\n', 'latin1'))

    expect(found.rows).toEqual([['1', 'Müller']])
    expect(found.report).toMatchObject({ encoding: 'windows-1252', advice: [{ code: 'encoding' }] })
  })

  test.each([
    ['an HTML page', '\n<!DOCTYPE html><html>', 'HTML page'],
    ['a workbook', 'PK\u0003\u0004', 'Excel workbook'],
    ['a Parquet file', 'PAR1....', 'Parquet'],
  ])('%s is refused', async (_, source, message) => {
    await expect(read(source)).rejects.toThrow(message)
  })
})

describe('what is said', () => {
  test.each([
    ['no header', 'x,1\n', { header: 'absent' }, ['column1', 'column2'], [['x', '1']]],
    ['names', 'x,1\n', { header: ['a', 'b'] }, ['a', 'b'], [['x', '1']]],
    ['lines to skip', 'one\ntwo\na\n1\n', { skipLines: 2 }, ['a'], [['1']]],
    ['comments', 'a\n%x "\n1\n', { comment: '%' }, ['a'], [['1']]],
    [
      'another quote',
      "a;b\n'x;y';'it''s'\n",
      { delimiter: ';', quote: "'" },
      ['a', 'b'],
      [['x;y', "it's"]],
    ],
    [
      'texts for empty cells',
      'a,b\nNULL,"NULL"\n',
      { nulls: ['NULL'] },
      ['a', 'b'],
      [['', 'NULL']],
    ],
    [
      'a decimal comma',
      'a;b\n1,5;1,5x\n',
      { delimiter: ';', decimal: ',' },
      ['a', 'b'],
      [['1.5', '1,5x']],
    ],
    ['thousands', "a\n1'234.5\n", { thousands: "'" }, ['a'], [['1234.5']]],
    ['days', 'a\n01/02/2026\n', { dates: 'dd/mm/yyyy' }, ['a'], [['2026-02-01']]],
    ['booleans', 'a\nja\nNein\n', { booleans: ['ja', 'nein'] }, ['a'], [['true'], ['false']]],
    ['fields to drop', 'a\n1,2\n', { extraFields: 'drop' }, ['a'], [['1']]],
  ] as const)('%s', async (_, source, dialect, columns, rows) => {
    expect(await read(source, { dialect, detects: false })).toMatchObject({ columns, rows })
  })

  test.each([
    [{ delimiter: '"' }, 'delimiter'],
    [{ delimiter: '\n' }, 'delimiter'],
    [{ delimiter: 'x', comment: 'x' }, 'must not be the same'],
    [{ skipLines: -1 }, 'skipLines'],
    [{ thousands: ',', decimal: ',' }, 'must not be the same'],
    [{ encoding: 'utf-9' }, 'encoding'],
    [{ separator: ';' }, 'is not an option of a dialect'],
    [{ header: [] }, 'header'],
  ])('%j is refused', async (dialect, message) => {
    await expect(open('a\n', { dialect: dialect as never })).rejects.toThrow(message)
  })
})

test.each([
  ['sep=;\na;b\n1;"2\n', {}, 3],
  ['one\ntwo\na;b\n1;"2\n', { skipLines: 2 }, 4],
  ['1;"2\n', { header: ['a', 'b'], delimiter: ';' }, 1],
])('a quote that is not closed is told with its line: %j', async (source, dialect, line) => {
  await expect(read(source, { dialect: dialect as Dialect })).rejects.toMatchObject({ line })
})

describe('a conversion', () => {
  test('is made in columns whose kind accepts the result', async () => {
    const kinds = { a: 'string', b: 'number' }

    expect((await read('a;b\n1,5;1,5\n', { kinds })).rows).toEqual([['1,5', '1.5']])
  })

  test('leaves text columns as they are, also where values may widen them', async () => {
    const kinds = { a: 'string', b: 'number' }
    const source = 'a;b\n1,5;1,5\n'

    expect((await read(source, { kinds, areFixed: false })).rows).toEqual([['1,5', '1.5']])
  })

  test.each([
    ['a;b\n1;x\n1.234;x\n', { a: 'number' }],
    ['a;b\n1.234;x\n2,5;x\n', { a: 'number' }],
    ['a;b\n1;x\n1.234;x\n', undefined],
  ])(
    'with a decimal comma that is said refuses a point, wherever it is: %j',
    async (source, kinds) => {
      const refused = read(source, { dialect: { decimal: ',' }, ...(kinds && { kinds }) })

      await expect(refused).rejects.toThrow(
        /^column 'a' is read as numbers with decimal comma, but "1\.234"/,
      )
    },
  )

  test('is not made of blanks around numbers', async () => {
    expect((await read('a,b\n 7,x\n8,y\n')).rows).toEqual([
      [' 7', 'x'],
      ['8', 'y'],
    ])
  })

  test('of a column that is not there is refused', async () => {
    const dialect = { columns: { pirce: { decimal: ',' } } } as const

    await expect(read('price\n1\n', { dialect })).rejects.toThrow(
      /column "pirce".*did you mean "price"/,
    )
  })

  test('ends with the line of a value that contradicts it', async () => {
    const many = '1,5\n'.repeat(400_000)

    await expect(
      read(`a\n${many}x\n`, { dialect: { delimiter: ';' }, rowsMax: 60_000 }),
    ).rejects.toMatchObject({ line: 400_002 })
  })

  test('of no cell yet ends without a word', async () => {
    const many = '15\n'.repeat(400_000)
    const dialect = { delimiter: ';', decimal: ',' } as const
    const { rows } = await read(`a\n${many}x\n1,5\n`, { dialect, rowsMax: 60_000 })

    expect(rows.slice(-2)).toEqual([['x'], ['1,5']])
  })

  test('of a known kind leaves what is none to the table', async () => {
    const { rows } = await read('a\n1,5\nn/a\n', {
      dialect: { decimal: ',', delimiter: ';' },
      kinds: { a: 'number' },
    })

    expect(rows).toEqual([['1.5'], ['n/a']])
  })
})

describe('rows of JSON', () => {
  test.each([
    ['an array', '[{"a":1}]', [{ a: 1 }]],
    [
      'the only array of an object',
      '{"next":null,"data":[{"a":"]"},{"a":[{}]}],"n":2}',
      [{ a: ']' }, { a: [{}] }],
    ],
    ['objects behind each other', '{"a":1}\n{"a":2}', [{ a: 1 }, { a: 2 }]],
    [
      'objects on one line',
      '{"a":"}{"}{"a":2} {"a":3}\n{"a":4}',
      [{ a: '}{' }, { a: 2 }, { a: 3 }, { a: 4 }],
    ],
    ['objects of several lines', '{\n"a":1\n}{\n"a":2\n}\n', [{ a: 1 }, { a: 2 }]],
  ])('of %s', async (_, source, rows) => {
    for (const size of [1, 7, 1_000]) expect(await readJson(source, { size })).toEqual(rows)
  })

  test('of NDJSON that is an array, or has objects on one line', async () => {
    const format = 'ndjson'
    expect(await readJson('[{"a":1},\n{"a":2}]', { format })).toEqual([{ a: 1 }, { a: 2 }])
    expect(await readJson('{"a":1}{"a":2}\n', { format })).toEqual([{ a: 1 }, { a: 2 }])
  })

  test('have their places, also where line breaks were put in', async () => {
    const source = '{"a":1}{"a":2} {"a":3}\n{"a":4}{"a":5}'
    for (const rowsMax of [1, 2, 9]) {
      const offsets: number[] = []
      for await (const run of (await open(source, { format: 'json', rowsMax, size: 5 })).runs)
        offsets.push(...run.offsets)
      expect(offsets.map((offset) => source.slice(offset, offset + 7))).toEqual(
        [1, 2, 3, 4, 5].map((a) => `{"a":${a}}`),
      )
    }
  })

  test('at a path', async () => {
    const source = '{"a":{"b":[{"x":1}]},"c":[{"y":1}],"d":[]}'

    expect(await readJson(source, { at: 'a.b' })).toEqual([{ x: 1 }])
    expect(await readJson(source, { at: 'd' })).toEqual([])
    await expect(readJson(source, { at: 'e' })).rejects.toThrow('no array of objects at e')
    await expect(readJson(source)).rejects.toThrow('several arrays of objects: a.b, c')
  })

  test('are passed on as they are where nothing is said', async () => {
    await expect(readJson('{"data":[{"a":1}]}', { detects: false })).rejects.toThrow(
      'not a JSON array',
    )
  })
})

/** How rows are written. */
const WRITERS = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
  encoding: fc.constantFrom('utf-8', 'utf-8 with mark', 'utf-16le', 'utf-16be', 'windows-1252'),
  quotesAll: fc.boolean(),
  endsOpen: fc.boolean(),
  size: fc.integer({ min: 1, max: 64 }),
  rowsMax: fc.integer({ min: 1, max: 5 }),
})

const CELL = fc.oneof(
  fc.stringMatching(/^[a-z]{1,5}( [a-z]{1,5})?$/),
  fc.stringMatching(/^[a-zé,;|\t\n" ]{1,8}$/),
  fc.constantFrom('1', '42', '0.5', 'x', 'Ä'),
)

type Writer = typeof WRITERS extends fc.Arbitrary<infer W> ? W : never

function written(
  rows: readonly (readonly string[])[],
  { delimiter, lineBreak, quotesAll, endsOpen }: Writer,
): string {
  const lines = rows.map((row) =>
    row
      .map((cell) => {
        const needsQuotes =
          quotesAll || cell.includes(delimiter) || /["\r\n]/.test(cell) || cell !== cell.trim()
        return needsQuotes ? `"${cell.replaceAll('"', '""')}"` : cell
      })
      .join(delimiter),
  )
  return lines.join(lineBreak) + (endsOpen ? '' : lineBreak)
}

function encoded(text: string, encoding: string): Uint8Array {
  if (encoding === 'utf-8') return Buffer.from(text)
  if (encoding === 'utf-8 with mark') return Buffer.from(`\ufeff${text}`)
  if (encoding === 'windows-1252') return Buffer.from(text, 'latin1')
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return encoding === 'utf-16be' ? bytes.swap16() : bytes
}

test('rows are those that were written, in whatever dialect and encoding', async () => {
  const table = fc.tuple(
    fc.uniqueArray(fc.stringMatching(/^[a-z]{3,6}$/), { minLength: 2, maxLength: 4 }),
    fc.array(fc.array(CELL, { minLength: 4, maxLength: 4 }), { minLength: 1, maxLength: 8 }),
  )
  await fc.assert(
    fc.asyncProperty(table, WRITERS, async ([names, cells], writer) => {
      const rows = cells.map((row) => row.slice(0, names.length))
      const { size, rowsMax, encoding } = writer
      const bytes = encoded(written([names, ...rows], writer), encoding)
      const found = await read(bytes, { size, rowsMax })

      expect(found.columns).toEqual(names)
      expect(found.rows).toEqual(rows)
      expect(found.report.rows).toBe(rows.length)
    }),
    runOptions(2_000),
  )
})

test.each([
  ['a picture', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d]],
  ['a database', [...Buffer.from('SQLite format 3\0'), 0x10, 0, 1, 1]],
  ['an archive', [...Buffer.from('a.txt'), ...Buffer.alloc(95), ...Buffer.from('0000644')]],
])('%s is refused, whatever its name', async (_, bytes) => {
  for (const format of ['csv', 'tsv'] as const)
    await expect(open(Uint8Array.from(bytes), { format })).rejects.toThrow('the file is not text')
})

test('without detection, standard bytes are passed on unchanged', async () => {
  const source = 'a,b\r\n"1",x\r\n2,"y"\r\n'
  const pieces: Uint8Array[] = []
  for await (const { header, bytes } of (await open(source, { detects: false })).runs) {
    pieces.push(header, bytes)
  }

  expect(Buffer.concat(pieces).toString()).toBe(source)
})
