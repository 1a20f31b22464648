// Parquet files: importing an export gives an equal table; files of other programs; what is refused.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parquetMetadataAsync, parquetReadObjects, type SchemaElement } from 'hyparquet'
import { ByteWriter, parquetWrite } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runExport } from '../../adapters/cli/commands/export.js'
import { runImport } from '../../adapters/cli/commands/import.js'
import { runSchema } from '../../adapters/cli/commands/tables.js'

type Run = (args: readonly string[], io: Parameters<typeof runImport>[1]) => Promise<unknown>

let folder: string
let directory: string

async function printed(run: Run, ...args: string[]): Promise<string[]> {
  const lines: string[] = []
  const print = (line: string): void => void lines.push(line)
  const signal = new AbortController().signal
  await run([...args, '--directory', directory], { print, warn: print, env: {}, signal })
  return lines
}

const imported = (...args: string[]) =>
  printed((given, io) => runImport(given, io, { write: () => true }), ...args)

async function exported(name: string, ...args: string[]): Promise<string> {
  const path = join(folder, name)
  await printed(
    (given, io) => runExport(given, io, process.stdout, { write: () => true }),
    path,
    ...args,
  )
  return path
}

const inFolder = (name: string): string => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-parquet-'))
  directory = inFolder('store')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** Columns of every kind, and rows with the extreme values of each. */
const KINDS = {
  columns: [
    { id: 'text', type: { kind: 'string' } },
    { id: '__proto__', type: { kind: 'markdown' } },
    { id: 'link', displayName: 'Link', type: { kind: 'uri' } },
    { id: 'mail', type: { kind: 'emailAddress' } },
    { id: 'day', type: { kind: 'date' } },
    { id: 'clock', type: { kind: 'time' } },
    { id: 'at', type: { kind: 'dateTime' } },
    { id: 'span', type: { kind: 'duration' } },
    { id: 'n', type: { kind: 'number' } },
    { id: 'yes', type: { kind: 'boolean' } },
    { id: 'numbers', type: { kind: 'array', items: { kind: 'number' } } },
    { id: 'days', type: { kind: 'array', items: { kind: 'date' } } },
    { id: 'texts', type: { kind: 'array', items: { kind: 'string' } } },
  ],
}

const ROWS = [
  '{"text":"","__proto__":"# a","link":"urn:x","mail":"a@b.org","day":"0001-01-01","clock":"12:30"}',
  '{"day":"9999-12-31","at":"2024-02-15 10:00+02:00","span":"P1D","n":9007199254740991,"yes":true}',
  '{"text":"\\u0000\\ud83d\\ude00\\n\\"","span":1500,"n":0.1,"numbers":[],"days":["1969-12-31"],"texts":["",",","a"]}',
  '{"at":"2024-02-15","n":-1.5e-7,"yes":false,"numbers":[1,2.5,-3],"texts":["x"]}',
  '{"n":1e2,"text":"0.12345678901234567 1e400"}',
  '{}',
]

describe('an import of an export', () => {
  test('has the schema and the values of every kind', async () => {
    await writeFile(inFolder('kinds.json'), JSON.stringify(KINDS))
    await writeFile(inFolder('kinds.ndjson'), ROWS.join('\n'))
    await imported(inFolder('kinds.ndjson'), '--table', 'Kinds', '--schema', inFolder('kinds.json'))
    const path = await exported('kinds.parquet', '--table', 'Kinds')
    await imported(path, '--table', 'Again')
    const before = await readFile(await exported('before.ndjson', '--table', 'Kinds'), 'utf8')
    const after = await readFile(await exported('after.ndjson', '--table', 'Again'), 'utf8')

    const values = (text: string): unknown[] => {
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    }
    expect(values(after)).toEqual(values(before))
    expect(values(after)).toEqual(ROWS.map((row) => JSON.parse(row)))
    expect(await printed(runSchema, '--table', 'Again', '--json')).toEqual([JSON.stringify(KINDS)])
  })

  test('has all rows of several row groups, of which each is bounded', async () => {
    const lines = Array.from({ length: 70_000 }, (_, id) => `{"id":${id},"name":"n${id % 7}"}\n`)
    await writeFile(inFolder('many.ndjson'), lines.join(''))
    await imported(inFolder('many.ndjson'), '--table', 'Many')
    const path = await exported('many.parquet', '--table', 'Many')
    const bytes = await readFile(path)
    const file = bytes.buffer.slice(
      bytes.byteOffset,
      bytes.byteOffset + bytes.length,
    ) as ArrayBuffer
    const metadata = await parquetMetadataAsync(file)
    await imported(path, '--table', 'Many again', '--chunk-rows', '999')
    const again = await exported('many-again.ndjson', '--table', 'Many again')

    expect(metadata.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([65_536, 4_464])
    expect(await readFile(again, 'utf8')).toBe(lines.join(''))
    expect(await parquetReadObjects({ file, rowStart: 69_999, rowEnd: 70_000 })).toEqual([
      { id: 69_999, name: 'n6' },
    ])
  })

  test('has the columns and the rows that were asked for', async () => {
    const where = ['--where', '{"n":{"gt":1}}', '--columns', 'yes,n']
    const path = await exported('some.parquet', '--table', 'Kinds', ...where)
    await imported(path, '--table', 'Some')

    const text = await readFile(await exported('some.ndjson', '--table', 'Some'), 'utf8')
    expect(text).toBe('{"yes":true,"n":9007199254740991}\n{"n":100}\n')
  })
})

test.each(['9007199254740993', '0.12345678901234567', '1e-400', '123456789012345678e3'])(
  'the number %s, which no double has, is refused in an export',
  async (token) => {
    const name = `exact-${token}`
    await writeFile(inFolder('exact.ndjson'), `{"a":"1e400","n":1}\n{"n":${token}}\n`)
    await imported(inFolder('exact.ndjson'), '--table', name)

    await expect(exported('exact.parquet', '--table', name)).rejects.toThrow(
      `the number ${token} in row 1 (counted from 0) is not a double`,
    )
    await expect(readFile(inFolder('exact.parquet'))).rejects.toMatchObject({ code: 'ENOENT' })
  },
)

/** A file as other programs write it. */
async function foreign(name: string, columnData: unknown[], more: object = {}): Promise<string> {
  const writer = new ByteWriter()
  await parquetWrite({ writer, columnData: columnData as never, ...more })
  await writeFile(inFolder(name), writer.getBytes())
  return inFolder(name)
}

describe('a file of another program', () => {
  test('gives values that a table takes, whatever its compression', async () => {
    const path = await foreign(
      'foreign.parquet',
      [
        { name: 'id', data: [1n, 2n ** 60n, null], type: 'INT64' },
        { name: 'at', data: [new Date(0), new Date(1_708_000_000_123), null], type: 'TIMESTAMP' },
        { name: 'x', data: [1.5, -0, null], type: 'DOUBLE' },
        { name: 'name', data: ['a', 'é', null], type: 'STRING' },
      ],
      { codec: 'GZIP', compressors: { GZIP: (bytes: Uint8Array) => gzipSync(bytes) } },
    )
    await imported(path, '--table', 'Foreign')

    expect(await readFile(await exported('foreign.ndjson', '--table', 'Foreign'), 'utf8')).toBe(
      '{"id":1,"at":"1970-01-01T00:00:00Z","x":1.5,"name":"a"}\n' +
        '{"id":1152921504606846976,"at":"2024-02-15T12:26:40.123Z","x":0,"name":"é"}\n{}\n',
    )
  })

  test('gives every digit, the text of a time in its place, and text as it is', async () => {
    const columns: [SchemaElement, unknown[]][] = [
      [
        {
          ...{ name: 'price', type: 'INT64' },
          logical_type: { type: 'DECIMAL', precision: 9, scale: 2 },
        },
        [435n, -5n],
      ],
      [
        {
          ...{ name: 'amount', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 },
          ...{ converted_type: 'DECIMAL', precision: 38, scale: 9 },
        },
        [12345678901234567890123456789n, -1n],
      ],
      [{ name: 'ratio', type: 'FLOAT' }, [Math.fround(0.1), 16_777_216]],
      [{ name: 'large', type: 'INT64', converted_type: 'UINT_64' }, [2n ** 64n - 1n, 1n]],
      [
        {
          ...{ name: 'local', type: 'INT64' },
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' },
        },
        [1_709_296_200_123_456_789n, 0n],
      ],
      [
        {
          ...{ name: 'clock', type: 'INT64' },
          logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MICROS' },
        },
        [45_000_500_000n, 0n],
      ],
      [{ name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8' }, ['\ufeffx', '']],
    ]
    const path = await foreign(
      'digits.parquet',
      columns.map(([{ name }, data]) => ({ name, data })),
      {
        schema: [
          { name: 'root', num_children: columns.length },
          ...columns.map(([element]) => ({ ...element, repetition_type: 'OPTIONAL' as const })),
        ],
      },
    )
    await imported(path, '--table', 'Digits')

    expect(await readFile(await exported('digits.ndjson', '--table', 'Digits'), 'utf8')).toBe(
      '{"price":4.35,"amount":12345678901234567890.123456789,"ratio":0.1,"large":18446744073709551615,' +
        '"local":"2024-03-01T12:30:00.123456789","clock":"12:30:00.500000","text":"\ufeffx"}\n' +
        '{"price":-0.05,"amount":-0.000000001,"ratio":16777216,"large":1,' +
        '"local":"1970-01-01T00:00:00","clock":"00:00:00","text":""}\n',
    )
  })

  test('makes a new table by its types, and changes none of a table that is there', async () => {
    const columns = [
      { name: 'n', data: [1, Number.NaN], type: 'DOUBLE' },
      { name: 's', data: ['2024-01-01', '2024-01-02'], type: 'STRING' },
    ]
    const path = await foreign('typed.parquet', columns)
    await imported(path, '--table', 'Typed', '--on-error', 'drop')
    await writeFile(inFolder('t.ndjson'), '{"n":"x","s":"y"}\n')
    await imported(inFolder('t.ndjson'), '--table', 'Texts')

    expect(await readFile(await exported('typed.ndjson', '--table', 'Typed'), 'utf8')).toBe(
      '{"n":1,"s":"2024-01-01"}\n{"s":"2024-01-02"}\n',
    )
    const over = imported(path, '--table', 'Texts', '--mode', 'overwrite')
    await expect(over).rejects.toThrow(/typed\.parquet, row 1\b/)
  })

  test('with a value that does not fit is refused with its row', async () => {
    const path = await foreign('wrong.parquet', [{ name: 'n', data: ['x', '1'], type: 'STRING' }])
    const nan = await foreign('nan.parquet', [{ name: 'n', data: [1, Number.NaN], type: 'DOUBLE' }])
    await writeFile(inFolder('n.ndjson'), '{"n":1}\n')
    await imported(inFolder('n.ndjson'), '--table', 'Numbers')
    const adding = ['--table', 'Numbers', '--mode', 'add']

    await expect(imported(path, ...adding)).rejects.toThrow(/wrong\.parquet, row 1\b/)
    await expect(imported(nan, ...adding)).rejects.toThrow(
      /row 2: must be a finite number, not "NaN"/,
    )
    const bytes = [Uint8Array.of(0x61), Uint8Array.of(0xff, 0xfe)]
    const odd = await foreign('odd.parquet', [{ name: 'b', data: bytes, type: 'BYTE_ARRAY' }])
    await expect(imported(odd, '--table', 'X')).rejects.toThrow('row 2: column "b" has bytes that')
    const far = await foreign('far.parquet', [{ name: 'd', data: [2 ** 31 - 1] }], {
      schema: [
        { name: 'root', num_children: 1 },
        { name: 'd', type: 'INT32', converted_type: 'DATE', repetition_type: 'OPTIONAL' },
      ],
    })
    await expect(imported(far, '--table', 'X')).rejects.toThrow('column "d" has a time that is too')
    expect((await imported(path, ...adding, '--check'))[0]).toMatch(/wrong\.parquet, row 1: value/)
    await expect(
      imported(inFolder('n.ndjson'), '--format', 'parquet', '--table', 'X'),
    ).rejects.toThrow(/n\.ndjson cannot be read: its metadata cannot be read: file/)
  })
})

describe('structs, maps and lists of them', () => {
  const optional = { repetition_type: 'OPTIONAL' } as const
  const schema: SchemaElement[] = [
    { name: 'root', num_children: 3 },
    { name: 'paid', num_children: 2, ...optional },
    { name: 'sum', type: 'INT64', converted_type: 'DECIMAL', scale: 2, precision: 18, ...optional },
    { name: 'day', type: 'INT32', converted_type: 'DATE', ...optional },
    { name: 'notes', num_children: 1, converted_type: 'MAP', ...optional },
    { name: 'key_value', num_children: 2, repetition_type: 'REPEATED' },
    { name: 'key', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
    { name: 'value', type: 'FLOAT', ...optional },
    { name: 'lines', num_children: 1, converted_type: 'LIST', ...optional },
    { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
    { name: 'element', num_children: 1, ...optional },
    { name: 'n', type: 'INT64', ...optional },
  ]
  const data = [
    {
      paid: { sum: 12345678.9, day: new Date('2024-02-15') },
      notes: { x: 0.1, 'é.y': null },
      lines: [{ n: 2n ** 60n }, { n: null }],
    },
    { paid: null, notes: null, lines: null },
  ]
  const written = () =>
    foreign(
      'nested.parquet',
      ['paid', 'notes', 'lines'].map((name) => ({
        name,
        data: data.map((row) => row[name as 'paid']),
      })),
      { schema },
    )

  test('become columns', async () => {
    await imported(await written(), '--table', 'Flat', '--nested', 'flatten')
    const path = await exported('flat.ndjson', '--table', 'Flat')

    expect(await readFile(path, 'utf8')).toBe(
      '{"paid.sum":12345678.90,"paid.day":"2024-02-15","notes.x":0.1,"lines":"[{\\"n\\":1152921504606846976},{\\"n\\":null}]"}\n{}\n',
    )
  })

  test('become text', async () => {
    await imported(await written(), '--table', 'Text', '--nested', 'text')
    const path = await exported('text.ndjson', '--table', 'Text')

    expect(JSON.parse((await readFile(path, 'utf8')).split('\n')[0] ?? '')).toEqual({
      paid: '{"sum":12345678.90,"day":"2024-02-15"}',
      notes: '{"x":0.1,"é.y":null}',
      lines: '[{"n":1152921504606846976},{"n":null}]',
    })
  })

  test('are refused, with the remedy, and their collisions are', async () => {
    const remedy = '--nested flatten makes columns of objects'
    await expect(imported(await written(), '--table', 'X')).rejects.toThrow(remedy)
    await writeFile(inFolder('both.json'), '[{"a":[{"b":1}]}]')
    await expect(imported(inFolder('both.json'))).rejects.toThrow(remedy)
    await writeFile(inFolder('both.json'), '[{"a.b":1},\n{"a":{"b":1}}]')
    await expect(imported(inFolder('both.json'), '--nested', 'flatten')).rejects.toThrow(
      "both.json, line 2: two members become the column 'a.b'",
    )
  })
})

test('a struct with one member is none of its values', async () => {
  const optional = { repetition_type: 'OPTIONAL' } as const
  const schema: SchemaElement[] = [
    { name: 'root', num_children: 1 },
    { name: 's', num_children: 1, ...optional },
    { name: 'n', type: 'INT32', ...optional },
  ]
  const path = await foreign('one.parquet', [{ name: 's', data: [{ n: 1 }, { n: null }] }], {
    schema,
  })
  await imported(path, '--table', 'One', '--nested', 'flatten')

  expect(await readFile(await exported('one.ndjson', '--table', 'One'), 'utf8')).toBe(
    '{"s.n":1}\n{}\n',
  )
})

test('timestamps of variants keep their digits, and have a zone only if they are said to be of UTC', async () => {
  const data = [{ at: new Date(1_708_000_000_123) }]
  const path = await foreign('variant.parquet', [
    { name: 'v', data: data.map(({ at }) => at), type: 'VARIANT' },
  ])
  await imported(path, '--table', 'Variant')

  expect(await readFile(await exported('variant.ndjson', '--table', 'Variant'), 'utf8')).toBe(
    '{"v":"2024-02-15T12:26:40.123000"}\n',
  )
})

/** From DuckDB 1.5: four unsigned 32-bit numbers from 4294967295 down, delta-packed; the first delta has 33 bits. */
const PACKED =
  'UEFSMRUAFTAVNCwVCBUKFQYVBgAAGFwCAAAACAGAEAgE/v///x8BAAAAAAAAAAAVBBksNQAYDWR1Y2tkYl9zY2hl' +
  'bWEVAgAVAiUCGAF1JRoAFggZHBkcJgAcFQIZFQoZGAF1FQIWCBZSFlYmCDw2ACgE/////xgE/P///xERAAAAFlIW' +
  'CCYIFlYAKChEdWNrREIgdmVyc2lvbiB2MS41LjYgKGJ1aWxkIDA2OWNjOWY5YjUpGRwcAAAAiwAAAFBBUjE='

test('unsigned numbers that are delta-packed keep their highest bit', async () => {
  const path = inFolder('packed.parquet')
  await writeFile(path, Buffer.from(PACKED, 'base64'))
  await imported(path, '--table', 'Packed')
  const text = await readFile(await exported('packed.ndjson', '--table', 'Packed'), 'utf8')
  expect(text.match(/\d+/g)).toEqual(['4294967295', '4294967294', '4294967293', '4294967292'])
})

test('a damaged column is told by its name and its rows, in words that are no error of JavaScript', async () => {
  const column = { type: 'INT32', codec: 'UNCOMPRESSED' } as const
  const path = await foreign('damaged.parquet', [
    { name: 'ok', data: [1, 2], ...column },
    { name: 'odd', data: [3, 4], ...column },
  ])
  const bytes = await readFile(path)
  const metadata = await parquetMetadataAsync(Uint8Array.from(bytes).buffer)
  const at = Number(metadata.row_groups[0]?.columns[1]?.meta_data?.data_page_offset)
  for (const byte of [0x00, 0x15, 0xff]) {
    await writeFile(path, Buffer.from(bytes).fill(byte, at, at + 8))
    const refusal = imported(path, '--table', 'Damaged').catch(({ message }) => message)
    expect(await refusal).toMatch(/: rows 1 to 2: column "odd" cannot be read: /)
    expect(await refusal).not.toMatch(/DataView|typed array|array length|undefined \(|null/)
  }
  await writeFile(path, Buffer.concat([bytes.subarray(0, -9), Buffer.from('\x7f\x10\0\0\0PAR1')]))
  await expect(imported(path, '--table', 'Damaged')).rejects.toThrow('metadata cannot be read')
})

describe('bytes that are not said to be text', () => {
  test('are text if they are UTF-8, which is told, unless it is said', async () => {
    const data = ['é', ''].map((text) => new TextEncoder().encode(text))
    const path = await foreign('plain.parquet', [{ name: 'b', data, type: 'BYTE_ARRAY' }])
    const told = await imported(path, '--table', 'Plain')
    const said = await imported(path, '--table', 'Said', '--binary', 'text')

    expect(told.at(-1)).toContain("column 'b' has bytes that are not marked as text")
    expect(said.at(-1)).toMatch(/^ {2}b {2}string$/)
    expect(await readFile(await exported('plain.ndjson', '--table', 'Plain'), 'utf8')).toBe(
      '{"b":"é"}\n{"b":""}\n',
    )
  })

  test('and have a fixed length are refused, unless it is said; others always', async () => {
    const fixed = (bytes: number[][]) =>
      foreign('fixed.parquet', [{ name: 'b', data: bytes.map((all) => Uint8Array.from(all)) }], {
        schema: [
          { name: 'root', num_children: 1 },
          { name: 'b', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, repetition_type: 'OPTIONAL' },
        ],
      })
    const path = await fixed([[0x61, 0x62]])
    await expect(imported(path, '--table', 'Fixed')).rejects.toThrow(
      'row 1: column "b" has bytes, which no column can hold; to read them as UTF-8, use --binary text',
    )
    await imported(path, '--table', 'Fixed', '--binary', 'text')
    expect(await readFile(await exported('fixed.ndjson', '--table', 'Fixed'), 'utf8')).toBe(
      '{"b":"ab"}\n',
    )

    await expect(
      imported(
        await fixed([
          [0x61, 0x62],
          [0xff, 0x62],
        ]),
        '--table',
        'X',
        '--binary',
        'text',
      ),
    ).rejects.toThrow('row 2: column "b" has bytes that are not UTF-8')
  })
})

test.each([
  [['a.json', '--binary', 'text', '--table', 'X'], '--binary is only for parquet'],
  [['a.csv', '--nested', 'text', '--table', 'X'], '--nested is only for json, ndjson and parquet'],
  [['-', '--format', 'parquet', '--table', 'X'], 'read from a file, not from the standard input'],
  [
    ['a.parquet', '--encoding', 'latin1', '--table', 'X'],
    '--encoding cannot be combined with Parquet',
  ],
  [['a.parquet', '--delimiter', ';', '--table', 'X'], '--delimiter is only for csv and tsv'],
  [
    ['a.parquet.gz', '--format', 'parquet', '--table', 'X'],
    'compressed with gzip cannot be read as Parquet',
  ],
])('an import of %j is refused', async (args, message) => {
  await expect(imported(...args)).rejects.toThrow(message)
})

test('an export is not compressed again', async () => {
  await expect(exported('x.parquet.gz', '--table', 'Kinds')).rejects.toThrow('leave out .gz')
})
