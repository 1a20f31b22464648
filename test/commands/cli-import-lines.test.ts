// Lines of an imported file that a server accepts although cells are missing, and lines that it refuses without a hint.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runImport } from '../../adapters/cli/commands/import.js'
import { openDirectory } from '../../adapters/node.js'

let folder: string
let directory: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-cli-lines-'))
  directory = join(folder, 'store')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

/** Imports a file into a new table with its name. @returns what was printed, and the warnings */
async function importText(name: string, text: string | Buffer, ...args: string[]) {
  const path = join(folder, name)
  await writeFile(path, text)
  const [printed, warned]: [string[], string[]] = [[], []]
  const io = {
    print: (line: string) => printed.push(line),
    warn: (line: string) => warned.push(line.replaceAll(`${folder}/`, '')),
    env: {},
    signal: new AbortController().signal,
  }
  const place = [path, '--directory', directory, '--table', name]
  const code = await runImport([...place, ...args], io, { write: () => true })
  return { code, stdout: printed.join('\n'), warned }
}

/** The rows of a table, without their IDs; undefined: the table does not exist. */
async function rowsOf(name: string): Promise<unknown[] | undefined> {
  const store = await openDirectory(directory)
  try {
    const table = await store.team('default').tableByName(name)
    if (table === null || table === undefined) return undefined
    const rows: unknown[] = []
    for await (const { $rowID: _, ...cells } of table.scan()) rows.push(cells)
    return rows
  } finally {
    await store.close()
  }
}

describe('a check of lines with more fields than the header', () => {
  const text = 'id;price\n1;2\n\n2;3;4\n3;"5;5"\n4;5;\n5;x\n6;"7;\n8";9'

  test.each([
    ['long.csv', []],
    ['long chunks.csv', ['--chunk-rows', '1']],
    ['long relaxed.csv', ['--quotes', 'relaxed']],
  ])('lists them all, and goes on: %s', async (name, args) => {
    const { code, stdout } = await importText(name, text, '--check', ...args)

    expect(code).toBe(1)
    expect(stdout.replaceAll(`${folder}/`, '').split('\n')).toEqual([
      `${name}, line 4: 3 fields for 2 columns`,
      `${name}, line 6: 3 fields for 2 columns`,
      `${name}, line 8: 3 fields for 2 columns`,
      'rows: 6',
      'problems: 3',
      expect.stringMatching(/^warnings: /),
      'columns:',
      '  id     number',
      '  price  string',
    ])
    expect(await rowsOf(name)).toBeUndefined()
  })

  test('infers no type of them, and has the other problems too', async () => {
    const checked = await importText('types.csv', 'n,m\n1,2\n3,x,y\n4,5,\n', '--check', '--json')
    await importText('types.csv', 'n,m\n1,2\n')
    const adding = ['--mode', 'add', '--check', '--json']
    const added = await importText('types.csv', 'n,m\n1,2\n3,x\n3,4,y\n', ...adding)

    expect(JSON.parse(checked.stdout)).toMatchObject({
      rows: 3,
      problemCount: 2,
      columns: [{ type: { kind: 'number' } }, { type: { kind: 'number' } }],
    })
    expect(JSON.parse(added.stdout)).toMatchObject({
      rows: 3,
      problemCount: 2,
      problems: [
        { place: { line: 4 }, rule: '3 fields for 2 columns' },
        { place: { line: 3 }, column: 'm', value: 'x' },
      ],
    })
  })

  test('has the keys of a merge, and no counts of it', async () => {
    await importText('keys.csv', 'id,m\n1,2\n')
    const merge = ['--mode', 'merge', '--by', 'id', '--check', '--json']
    const { stdout } = await importText('keys.csv', 'id,m\n1,2,3\n2,3,4\n', ...merge)

    expect(JSON.parse(stdout)).toMatchObject({ rows: 2, problemCount: 2 })
    expect(JSON.parse(stdout)).not.toHaveProperty('added')
  })

  test('counts those beyond the first 1,000', async () => {
    const { stdout } = await importText('many.csv', `a\n${'1,2\n'.repeat(1_100)}`, '--check')

    expect(stdout).toContain(
      'and 997 more like it\nand 100 problems after the first 1,000\nrows: 1100\nproblems: 1100\n',
    )
  })
})

describe('lines with fewer fields than the header', () => {
  const text = 'a;b;c\r\n1;2;3\r\n\r\n4;"5;\r\n6"\r\n7\r\n8;9;0\r\n'

  test.each([
    ['short.csv', []],
    ['short relaxed.csv', ['--quotes', 'relaxed']],
    ['short chunks.csv', ['--chunk-rows', '1']],
  ])('are imported with empty cells, and told: %s', async (name, args) => {
    const { warned } = await importText(name, text, ...args)

    expect(warned).toEqual([
      `${name}: using the delimiter semicolon`,
      `warning: ${name}: 1 line without a value is left out, the first in line 3; --blank-lines keep makes them rows`,
      `warning: ${name}: 2 lines have fewer fields than the header, the first in line 4: the other cells are empty`,
    ])
    const quoted = { a: 4, b: '5;\r\n6' }
    expect(await rowsOf(name)).toEqual([
      { a: 1, b: '2', c: 3 },
      quoted,
      { a: 7 },
      { a: 8, b: '9', c: 0 },
    ])
  })

  test.each([
    ['blank end', 'a,b\n1,2\n\n', [], 1],
    ['blank end CRLF', 'a,b\r\n1,2\r\n\r\n', [], 1],
    ['blank end relaxed', 'a,b\n1,2\n\n', ['--quotes', 'relaxed'], 1],
    ['blank end alone in its chunk', 'a,b\n1,2\n\n', ['--chunk-rows', '1'], 1],
    ['two blank at the end', 'a,b\n1,2\n\n\n', [], 2],
    ['two blank at the end of chunks', 'a,b\n1,2\n\n\n', ['--chunk-rows', '1'], 2],
    ['blank before and after', 'a,b\n\n\n1,2\n\n3,4\n\n', [], 5],
    ['blank alone', 'a,b\n\n\n', [], 1],
  ])(
    'are none where they are blank, which are rows if that is said: %s',
    async (name, lines, args, kept) => {
      const keeping = ['--blank-lines', 'keep', ...args]
      const { stdout } = await importText(name, lines, '--json', '--format', 'csv', ...args)
      const told = await importText(`${name} kept`, lines, '--json', '--format', 'csv', ...keeping)

      const skipped = (JSON.parse(stdout) as { rows: number }).rows
      expect(skipped).toBe(lines.match(/\d,\d/g)?.length ?? 0)
      expect(JSON.parse(told.stdout)).toMatchObject({ rows: kept })
      expect(JSON.parse(stdout)).not.toHaveProperty('shortLines')
      expect(await rowsOf(name)).toHaveLength(skipped)
      expect(await rowsOf(`${name} kept`)).toHaveLength(kept)
    },
  )

  test('are in the result for programs, and in that of a check', async () => {
    const path = join(folder, 'told.csv')
    const shortLines = { count: 2, path, line: 4 }

    const checked = await importText('told.csv', text, '--json', '--check')
    expect(checked.code).toBe(0)
    const warnings = [
      {
        type: 'blankLines',
        path,
        count: 1,
        line: 3,
        remedy: { option: 'blankLines', value: 'keep' },
        message: expect.stringMatching(/told\.csv: 1 line without a value is left out/),
      },
      {
        type: 'shortLines',
        ...shortLines,
        message: expect.stringMatching(
          /told\.csv: 2 lines have fewer fields than the header, the first in line 4/,
        ),
      },
    ]
    const { columns, ...found } = JSON.parse(checked.stdout)
    expect(found).toEqual({
      rows: 4,
      problemCount: 0,
      groups: [],
      problems: [],
      shortLines,
      read: [{ path, format: 'csv', encoding: 'utf-8', delimiter: ';', headerLine: 1, rows: 4 }],
      warnings,
    })
    expect(columns).toHaveLength(3)
    const { stdout, warned } = await importText('told.csv', text, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ rows: 4, shortLines, warnings })
    expect(warned).toEqual([])
  })

  test.each([
    ['whole.csv', 'a,b\n1,\n"",\n"x,y",2\n'],
    ['narrow.csv', 'a\n1\n\n2\n'],
    ['lines.ndjson', '{"a":1,"b":2}\n{"a":1}\n'],
  ])('are none in %s', async (name, whole) => {
    const { stdout, warned } = await importText(name, whole, '--json', '--on-error', 'strict')

    expect(JSON.parse(stdout)).not.toHaveProperty('shortLines')
    expect(warned).toEqual([])
  })

  test('are counted against the header of their own file', async () => {
    const narrower = join(folder, 'narrower.csv')
    await writeFile(narrower, 'a,b\n4,5\n')

    expect((await importText('wider.csv', 'a,b,c\n1,2,3\n', narrower)).warned).toEqual([])
  })

  test('are blank in a file of one column too, where they are rows', async () => {
    await importText('one.csv', 'a\n1\n\n2\n\n\n', '--on-error', 'strict')

    expect(await rowsOf('one.csv')).toEqual([{ a: 1 }, {}, { a: 2 }, {}])
    const kept = ['--blank-lines', 'keep', '--on-error', 'strict']
    const refused = importText('wide.csv', 'a,b\n1,2\n\n3,4\n', ...kept)
    await expect(refused).rejects.toThrow(/wide\.csv, line 3: fewer fields than the header/)
  })

  test('are refused by --on-error strict, and nothing is left', async () => {
    const refused = importText('strict.csv', 'a,b\n1,2\n3\n', '--on-error', 'strict')

    await expect(refused).rejects.toMatchObject({
      kind: 'failed',
      message: `${join(folder, 'strict.csv')}, line 3: fewer fields than the header, which --on-error strict refuses; use --on-error abort instead, which leaves the missing cells empty`,
    })
    expect(await rowsOf('strict.csv')).toBeUndefined()
  })
})

test('text that is not UTF-8 is read in the code page of Western Europe, and told', async () => {
  const text = Buffer.from('name\ncaf\u00e9\n', 'latin1')
  const { warned } = await importText('latin.csv', text)
  await importText('said.csv', text, '--encoding', 'windows-1252')

  expect(warned).toEqual([
    'warning: latin.csv: not valid UTF-8, so read as windows-1252; --encoding NAME sets another encoding',
  ])
  expect(await rowsOf('latin.csv')).toEqual([{ name: 'caf\u00e9' }])
  expect(await rowsOf('said.csv')).toEqual([{ name: 'caf\u00e9' }])
  await expect(importText('plain.csv', text, '--dialect', 'plain')).rejects.toMatchObject({
    message: `Not valid UTF-8 in ${join(folder, 'plain.csv')}, line 2; specify its encoding, such as --encoding windows-1252`,
  })
})

describe('a file in UTF-16 with a byte order mark', () => {
  const text = 'id;name\r\n1;caf\u00e9 \ud83d\ude00\r\n2;x\r\n'
  const little = Buffer.from(`\ufeff${text}`, 'utf16le')
  const big = Buffer.from(little).swap16()

  test.each([
    ['little.csv', little, []],
    ['big.csv', big, []],
    ['named.csv', little, ['--encoding', 'utf-16le']],
    ['misnamed.csv', big, ['--encoding', 'utf-16']],
    ['relaxed.csv', big, ['--quotes', 'relaxed']],
  ])('is read as such: %s', async (name, bytes, args) => {
    await importText(name, bytes, ...args)

    expect(await rowsOf(name)).toEqual([
      { id: 1, name: 'caf\u00e9 \ud83d\ude00' },
      { id: 2, name: 'x' },
    ])
  })

  test('has lines that are told, and packed too', async () => {
    const packed = gzipSync(Buffer.from('\ufeffa,b\n1,2\n1,2,3\n', 'utf16le'))

    await expect(importText('packed.csv.gz', packed)).rejects.toMatchObject({
      message: expect.stringContaining(
        `3 fields for 2 columns in ${join(folder, 'packed.csv.gz')}, line 3;`,
      ),
    })
  })

  test('is refused with another encoding, and when it breaks off', async () => {
    await expect(importText('no.csv', little, '--encoding', 'windows-1252')).rejects.toMatchObject({
      kind: 'failed',
      message: `${join(folder, 'no.csv')}: the file begins with the byte order mark of utf-16le, which contradicts the encoding windows-1252: leave the encoding out`,
    })
    await expect(importText('cut.csv', little.subarray(0, -1))).rejects.toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/cut\.csv.*utf-16le/),
    })
    expect(await rowsOf('no.csv')).toBeUndefined()
    expect(await rowsOf('cut.csv')).toBeUndefined()
  })

  test('is none with one byte of the mark, or less', async () => {
    await importText('short.txt', 'a', '--format', 'csv')
    const byte = importText('byte.csv', Buffer.from([0xff]), '--dialect', 'plain')
    await expect(byte).rejects.toThrow(/Not valid UTF-8/)
    await expect(importText('none.csv', '')).rejects.toThrow(/the file is empty/)
  })
})

describe('a first line that says the separator, as Excel writes it,', () => {
  test.each([
    ['semicolon.csv', 'sep=;\r\na;b\r\n1;"x;y"\r\n', []],
    ['mark.csv', '\ufeffsep=;\na;b\n1;"x;y"\n', []],
    ['quoted.csv', '"sep=|"\na|b\n1|x;y\n', []],
    ['comma.csv', 'SEP=,\ra,b\r1,x;y\r', []],
    ['said relaxed.csv', 'sep=;\na;b\n1;"x;y"\n', ['--quotes', 'relaxed']],
    ['said utf16.csv', Buffer.from('\ufeffsep=;\r\na;b\r\n1;"x;y"\r\n', 'utf16le'), []],
  ])('is no header: %s', async (name, text, args) => {
    const { warned } = await importText(name, text, ...args)

    expect(warned).toEqual([])
    expect(await rowsOf(name)).toEqual([{ a: 1, b: 'x;y' }])
  })

  test('counts as a line, and is text elsewhere', async () => {
    await expect(importText('line.csv', 'sep=;\r\na;b\r\n1;2\r\n1;2;3\r\n')).rejects.toThrow(
      /3 fields for 2 columns in .*line\.csv, line 4;/,
    )
    await expect(importText('open.csv', 'sep=;\r\na;b\r\n1;2\r\n1;"2\r\n')).rejects.toThrow(
      /open\.csv, line 4: /,
    )
    await expect(importText('twice.csv', 'sep=;\r\na;a\r\n1;2\r\n')).rejects.toThrow(
      /in .*twice\.csv, line 2$/,
    )
    await importText('text.csv', 'a\nsep=;\n')
    expect(await rowsOf('text.csv')).toEqual([{ a: 'sep=;' }])
  })
})

describe('a file whose name does not say what it is', () => {
  test('is unpacked if it begins as gzip does, and cut ones fail', async () => {
    const packed = gzipSync(Buffer.from(`a,b\n${'1,2\n'.repeat(30_000)}`))
    const { stdout } = await importText('plain.csv', packed, '--json')
    const cut = importText('cut plain.csv', packed.subarray(0, packed.length / 2))

    expect(JSON.parse(stdout)).toMatchObject({ rows: 30_000 })
    await expect(cut).rejects.toThrow(/cut plain\.csv: unexpected end of file/)
    await expect(importText('line.csv', gzipSync('a,b\n1,2\n1,2,3\n'))).rejects.toThrow(
      /line\.csv, line 3;/,
    )
  })

  test.each(['csv', 'ndjson'])('is told to be a zip archive: %s', async (format) => {
    const zip = Buffer.from('PK\u0003\u0004\u0014\0"\0')
    const refused = importText(`book.${format}`, zip)

    await expect(refused).rejects.toMatchObject({
      message: `${join(folder, `book.${format}`)}: the file is a zip archive, such as an Excel workbook, and not text: unzip it, or save the sheet as CSV`,
    })
  })

  test('is read as it is if it ends with .gz and is not compressed', async () => {
    await importText('unpacked.csv.gz', 'a\n1\n')

    expect(await rowsOf('unpacked.csv.gz')).toEqual([{ a: 1 }])
  })

  test.each(['<!DOCTYPE html><title>', '\ufeff\n<html lang="en">', '<HTML>'])(
    'is refused if it is a page: %j',
    async (page) => {
      await expect(importText('page.csv', page)).rejects.toThrow('the file is an HTML page')
    },
  )

  test('is text if it begins with some of those bytes only', async () => {
    await importText('pk.csv', 'PK\n1\n')
    await importText('bracket.csv', '(')

    expect(await rowsOf('pk.csv')).toEqual([{ PK: 1 }])
    expect(await rowsOf('bracket.csv')).toEqual([])
  })
})

describe('a file without rows', () => {
  const EMPTY = { csv: '', tsv: ' \n', json: '\ufeff', ndjson: '\r\n', gz: gzipSync('') }

  test.each(Object.entries(EMPTY))('is refused as %s, unless it is meant', async (kind, text) => {
    const name = kind === 'gz' ? 'meant.ndjson.gz' : `meant.${kind}`
    await importText(name, kind === 'gz' ? gzipSync('{"id":1}\n') : (FULL[kind] ?? ''))
    for (const mode of [['overwrite'], ['merge', '--by', 'id', '--missing', 'delete']]) {
      for (const more of [[], ['--check'], ['--resume']]) {
        await expect(importText(name, text, '--mode', ...mode, ...more)).rejects.toThrow(
          /the file is empty; --allow-empty imports it as no rows/,
        )
      }
    }
    expect(await rowsOf(name)).toEqual([{ id: 1 }])
    await importText(name, text, '--mode', 'overwrite', '--allow-empty')
    expect(await rowsOf(name)).toEqual([])
  })

  test('is refused among others, and left out where it is meant', async () => {
    const other = join(folder, 'other.csv')
    await writeFile(other, 'id\n1\n')
    await expect(importText('among.ndjson', '', other)).rejects.toThrow(/among\.ndjson: the file/)
    await importText('among.ndjson', '', other, '--allow-empty')
    expect(await rowsOf('among.ndjson')).toEqual([{ id: 1 }])
  })

  const FULL: Readonly<Record<string, string>> = {
    csv: 'id\n1\n',
    tsv: 'id\n1\n',
    json: '[{"id":1}]',
    ndjson: '{"id":1}\n',
  }
})

test('--on-error takes the words of the library too', async () => {
  await importText('words.csv', 'n\n1\n')
  const adding = ['--mode', 'add', '--on-error']
  await importText('words.csv', 'n\nx\n', ...adding, 'dropColumns')
  await importText('words.csv', 'n,m\n2,y\n', ...adding, 'updateSchema')

  expect(await rowsOf('words.csv')).toEqual([{ n: 1 }, {}, { n: 2, m: 'y' }])
})
