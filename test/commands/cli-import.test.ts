// `rowstash import` as people run it: what it prints, and what it makes of files that are not plain.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type BuiltCli,
  buildCli,
  type Ended,
  runCli,
  type Serving,
  serveCli,
} from '../support/built-cli.js'

const KEY = 'a-key-for-the-tests'

const run = promisify(execFile)

let cli: BuiltCli
let folder: string
let serving: Serving

beforeAll(async () => {
  cli = await buildCli()
  folder = await mkdtemp(join(tmpdir(), 'rowstash-cli-import-'))
  serving = await serveCli(cli.path, ['--memory', '--key', KEY])
})

afterAll(async () => {
  await serving.stop()
  await rm(folder, { recursive: true })
})

/** Imports a text as a file into a new table. */
async function importText(name: string, text: string, ...args: string[]): Promise<Ended> {
  await writeFile(join(folder, name), text)
  const target = ['--url', serving.url, '--key', KEY, '--table', name]
  const ended = await runCli(cli.path, ['import', join(folder, name), ...target, ...args])
  return { ...ended, stderr: ended.stderr.replaceAll(`${folder}/`, '') }
}

/** The rows of the table that an import has created, without their IDs. */
async function rowsOf({ stdout }: Ended): Promise<unknown[]> {
  const tableId = /^table: (\S+)$/m.exec(stdout)?.[1]
  const headers = { authorization: `Bearer ${KEY}` }
  const answer = await fetch(`${serving.url}/tables/${tableId}/rows`, { headers })
  const { data } = (await answer.json()) as { data: Record<string, unknown>[] }
  return data.map(({ $rowID: _, ...cells }) => cells)
}

describe('a csv file with another delimiter', () => {
  const rows = [{ 'a b': 1, c: 'x, y' }, { 'a b': 2, c: 'one "two"\nthree' }, { 'a b': 3.5 }]
  const textWith = (delimiter: string) =>
    [
      `a b${delimiter}c`,
      `1${delimiter}x, y`,
      `2${delimiter}"one ""two""\nthree"`,
      `3.5${delimiter}`,
      '',
    ].join('\r\n')

  test.each([
    ['semicolon', ';'],
    ['tab', '\t'],
    ['pipe', '|'],
  ])('is read by the %s, and says so', async (name, delimiter) => {
    const ended = await importText(`${name}.csv`, textWith(delimiter), '--chunk-rows', '2')

    expect(ended).toMatchObject({
      code: 0,
      stderr: `${name}.csv: using the delimiter ${name}\n`,
    })
    expect(await rowsOf(ended)).toEqual(rows)
  })

  test('is read by the one that is given', async () => {
    const ended = await importText('caret.csv', textWith('^'), '--delimiter', '^')

    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(await rowsOf(ended)).toEqual(rows)
  })

  test('has one column where the comma is given', async () => {
    const ended = await importText('plain.csv', 'a;b\n1;2\n', '--delimiter', 'comma')

    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(await rowsOf(ended)).toEqual([{ 'a;b': '1;2' }])
  })

  test('and a comma in its header is read by the comma', async () => {
    const ended = await importText('both.csv', 'a;b,c\n1,2\n')

    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(await rowsOf(ended)).toEqual([{ 'a;b': 1, c: 2 }])
  })

  test.each([
    [['--delimiter', '::'], '--delimiter must be one character of ASCII, comma, semicolon, tab or'],
    [['--delimiter', '"'], '--delimiter must be'],
    [['--delimiter', ''], '--delimiter must be'],
    [['--delimiter', ';', '--format', 'ndjson'], '--delimiter is only for csv and tsv'],
  ])('of %j is refused', async (args, problem) => {
    const ended = await importText('wrong.csv', 'a;b\n', ...args)

    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/^rowstash: [^\n]+; see rowstash import --help\n$/)
    expect(ended.stderr).toContain(problem)
  })
})

test('files are merged into a table by a key column, and what the files do not have is deleted', async () => {
  const made = await importText('before.csv', 'email,plan\na,free\nb,pro\nc,pro\n')
  const tableId = /^table: (\S+)$/m.exec(made.stdout)?.[1] ?? ''
  const path = join(folder, 'night.csv')
  await writeFile(path, 'email,plan\nd,free\nb,pro\na,pro\n')
  const to = ['--url', serving.url, '--key', KEY, '--table-id', tableId, '--mode', 'merge']
  const ended = await runCli(cli.path, [
    ...['import', path, ...to, '--by', 'email', '--missing', 'delete', '--chunk-rows', '2'],
  ])

  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(ended.stdout).toContain('added: 1\nchanged: 1\nunchanged: 1\nremoved: 1\n')
  expect(await rowsOf(ended)).toEqual([
    { email: 'a', plan: 'pro' },
    { email: 'b', plan: 'pro' },
    { email: 'd', plan: 'free' },
  ])

  await writeFile(path, 'email\na\n')
  const emptied = await runCli(cli.path, [
    ...['import', path, ...to, '--by', 'email', '--unnamed', 'empty'],
  ])
  expect(emptied.stdout).toContain('added: 0\nchanged: 1\nunchanged: 0\nremoved: 0\n')

  await writeFile(path, 'email,plan\nx,free\ny,pro\nx,pro\n')
  const twice = await runCli(cli.path, ['import', path, ...to, '--by', 'email'])
  expect(twice).toMatchObject({ code: 1, stdout: '' })
  expect(twice.stderr).toContain('have the same key (email "x")')
})

test('a bad line is named with its file, and nothing is left', async () => {
  const lines = Array.from({ length: 12_000 }, (_, n) => (n === 11_111 ? 'n/a,x,1\n' : `${n},x\n`))

  const ended = await importText('long.csv', `id,name\n${lines.join('')}`)

  expect(ended).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'rowstash: 3 fields for 2 columns in long.csv, line 11113; --extra-fields drop leaves the extra fields out, --skip-lines N leaves out lines before the header\n',
  })
})

describe('of a new table, an import', () => {
  const lines = Array.from({ length: 5_000 }, (_, n) => {
    const price = n % 2_000 === 700 ? 'n/a' : n / 4
    return `${n},${price},2024-02-29,${n % 2 === 1},"a, b"\n`
  })
  const text = `id,price,day,odd,"a\u001b[1m b"\n${lines.join('')}`
  const columns = [
    ['id', 'number'],
    ['price', 'string'],
    ['day', 'date'],
    ['odd', 'boolean'],
    ['a\\u001b[1m b', 'string'],
  ].map(([id = '', type]) => `  ${id.padEnd(12)}  ${type}\n`)

  const warning = (path: string) =>
    `warning: ${path}: column 'price' is text because of 3 of 5,000 values, the first "n/a" in line 702; the others ` +
    'are numbers: correct them, or use --schema with --on-error drop to leave them empty\n'

  test('prints the columns with their types, and warns of a few values that made one text', async () => {
    const ended = await importText('orders.csv', text)

    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/^rows: 5000\nseconds: .*\nrows\/s: .*\ntable: .*\ncolumns:\n/)
    expect(ended.stdout.split('columns:\n')[1]).toBe(columns.join(''))
    expect(ended.stderr).toBe(warning('orders.csv'))
  })

  test('warns of the same where its file is a pipe', async () => {
    await writeFile(join(folder, 'piped.csv'), text)
    const target = ['--url', serving.url, '--key', KEY, '--table', 'piped', '--format', 'csv']
    const script = `cat "${join(folder, 'piped.csv')}" | "$0" "$@"`
    const args = [process.execPath, cli.path, 'import', '/dev/stdin', ...target]

    const { stdout, stderr } = await run('sh', ['-c', script, ...args])

    expect(stdout.split('columns:\n')[1]).toBe(columns.join(''))
    expect(stderr).toBe(warning('/dev/stdin'))
  })

  test('that it does not make prints nothing more', async () => {
    const created = await importText('small.csv', 'a\n1\n')
    const tableId = /^table: (\S+)$/m.exec(created.stdout)?.[1] ?? ''
    const change = ['--url', serving.url, '--key', KEY, '--table-id', tableId, '--mode', 'add']

    const ended = await runCli(cli.path, ['import', join(folder, 'small.csv'), ...change])

    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/\ntable: [-0-9a-f]{36}\n$/)
  })
})

describe('an import of', () => {
  test('a gzip file, of another encoding, into a table by its name', async () => {
    await importText('cities.csv', 'name,n\nBonn,1\n')
    const path = join(folder, 'more.csv.gz')
    await writeFile(path, gzipSync(Buffer.from('name,n\nK\xf6ln,2\n', 'latin1')))
    const to = ['--url', serving.url, '--key', KEY, '--table', 'cities.csv', '--mode', 'add']
    const ended = await runCli(cli.path, ['import', path, ...to, '--encoding', 'latin1', '--json'])

    expect(ended).toMatchObject({ code: 0, stderr: '' })
    const { tableId, ...rest } = JSON.parse(ended.stdout)
    expect(rest).toMatchObject({ version: '2', rows: 1, skippedChunks: 0 })
    expect(await rowsOf({ ...ended, stdout: `table: ${tableId}` })).toEqual([
      { name: 'Bonn', n: 1 },
      { name: 'Köln', n: 2 },
    ])
    const none = [...to.slice(0, -3), 'Nope', '--mode', 'add']
    const unknown = await runCli(cli.path, ['import', path, ...none])
    const problem = expect.stringMatching(/^rowstash: The team has no table "Nope"; it has "/)
    expect(unknown).toMatchObject({ code: 1, stderr: problem })
  })

  test('the standard input, with a schema and cells that do not fit', async () => {
    const schema = join(folder, 'schema.json')
    await writeFile(schema, JSON.stringify({ columns: [{ id: 'n', type: { kind: 'number' } }] }))
    const options = [
      '--format',
      'ndjson',
      '--schema',
      schema,
      '--on-error',
      'drop',
      '--table',
      'In',
    ]
    const args = [cli.path, 'import', '-', '--url', serving.url, '--key', KEY, ...options]
    const script = `printf '{"n":1}\n{"n":"x"}\n' | "$0" "$@"`
    const { stdout } = await run('sh', ['-c', script, process.execPath, ...args])

    expect(stdout).toMatch(/^rows: 2\n/)
    expect(await rowsOf({ code: 0, stdout, stderr: '' })).toEqual([{ n: 1 }, {}])
  })

  test('the standard input, if it is compressed', async () => {
    const to = ['--url', serving.url, '--key', KEY, '--table', 'Packed', '--format', 'csv']
    const args = [cli.path, 'import', '-', ...to]
    const packed = gzipSync(`n\n${'1\n'.repeat(9)}`).toString('base64')
    const script = `printf '${packed}' | base64 -d | "$0" "$@"`
    const { stdout } = await run('sh', ['-c', script, process.execPath, ...args])

    expect(stdout).toMatch(/^rows: 9\n/)
  })

  test('a file with a wrong schema is refused before it is read', async () => {
    const schema = join(folder, 'wrong.json')
    await writeFile(schema, '{"columns":[{"id":"n","type":"strng"}]}')
    const ended = await importText('bad.csv', 'n,"\n', '--schema', schema)

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(
      /^rowstash: The schema wrong\.json cannot be read: schema\.columns\[0\]\.type is the unknown kind 'strng'; the kinds are string, /,
    )
  })

  test.each([
    [['-'], 'The standard input needs --format'],
    [['a.csv', '--encoding', 'nope'], '--encoding must be a name such as'],
    [['a.csv', '--on-error', 'nope'], '--on-error must be abort, strict, drop or update'],
    [['a.csv', '--mode', 'add', '--schema', 'x'], '--schema needs --mode create or overwrite'],
    [
      ['a.csv', '--decimal', ';'],
      '--decimal must be ".", "," or, for one column, "COLUMN=." or "COLUMN=,", not ";"',
    ],
    [['a.ndjson', '--decimal', ','], '--decimal is only for csv and tsv; "a.ndjson" is ndjson'],
  ])('%j is refused', async (args, problem) => {
    const target = ['--url', serving.url, '--key', KEY, '--table', 'T']
    const ended = await runCli(cli.path, ['import', ...args, ...target])

    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain(problem)
  })
})

describe('--check', () => {
  /** A table with a number column and one row. */
  async function createTable(): Promise<string> {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const schema = { columns: [{ id: 'n', type: 'number' }] }
    const body = JSON.stringify({ name: 'checked', schema, rows: [{ n: 1 }] })
    const answer = await fetch(`${serving.url}/tables`, { method: 'POST', headers, body })
    return ((await answer.json()) as { data: { tableID: string } }).data.tableID
  }

  async function versionOf(tableId: string): Promise<string | null> {
    const headers = { authorization: `Bearer ${KEY}` }
    const answer = await fetch(`${serving.url}/tables/${tableId}/rows`, { method: 'HEAD', headers })
    return answer.headers.get('etag')
  }

  async function check(tableId: string, files: Readonly<Record<string, string>>): Promise<Ended> {
    const paths = Object.keys(files).map((name) => join(folder, name))
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    const target = ['--table-id', tableId, '--mode', 'add', '--check', '--chunk-rows', '100']
    const server = ['--url', serving.url, '--key', KEY]
    const ended = await runCli(cli.path, ['import', ...paths, ...server, ...target])
    return { ...ended, stdout: ended.stdout.replaceAll(`${folder}/`, '') }
  }

  test('lists all problems of all files by line, changes nothing, and exits with 1', async () => {
    const tableId = await createTable()
    const lines = Array.from({ length: 1_000 }, (_, i) => (i % 400 === 399 ? 'n/a' : String(i)))
    const files = {
      'first.csv': `n\n${lines.join('\n')}\n`,
      'second.ndjson': '{"n":1}\n{"n":true,"m":2}\n',
    }

    const ended = await check(tableId, files)

    expect(ended).toEqual({
      code: 1,
      stdout: [
        "first.csv, line 401: value of column 'n' must be a number such as -1.5, not n/a",
        "first.csv, line 801: value of column 'n' must be a number such as -1.5, not n/a",
        "second.ndjson, line 2: value of column 'n' must be a finite number, not true",
        "second.ndjson, line 2: column 'm' must be the ID of a column of the schema",
        'rows: 1002',
        'problems: 4',
        'warnings: 0',
        '',
      ].join('\n'),
      stderr: '',
    })
    expect(await versionOf(tableId)).toBe('"1"')
  })

  test('counts problems beyond the first 1,000', async () => {
    const ended = await check(await createTable(), { 'bad.csv': `n\n${'x\n'.repeat(1_234)}` })

    expect(ended.code).toBe(1)
    expect(ended.stdout).toContain(
      "\nand 997 more like it, of column 'n'\nand 234 problems after the first 1,000\nrows: 1234\nproblems: 1234\n",
    )
  })

  test('of files without problems exits with 0', async () => {
    const tableId = await createTable()

    const ended = await check(tableId, { 'good.csv': 'n\n1\n2\n' })

    expect(ended).toEqual({ code: 0, stdout: 'rows: 2\nproblems: 0\nwarnings: 0\n', stderr: '' })
    expect(await versionOf(tableId)).toBe('"1"')
  })

  test('ends at a line that cannot be read, and says so', async () => {
    const ended = await importText('broken.csv', 'id,name\n1,x\n2,"y"z\n', '--check')

    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(
      /in broken\.csv, line 3.*; the check ends at the first line that cannot be read\n$/,
    )
  })

  test('of a new table makes none', async () => {
    const ended = await importText('new.ndjson', '{"n":{}}\n', '--check')

    expect(ended).toMatchObject({ code: 1, stdout: expect.stringContaining('problems: 1\n') })
    const answer = await fetch(`${serving.url}/tables`, {
      headers: { authorization: `Bearer ${KEY}` },
    })
    const { data } = (await answer.json()) as { data: { name: string }[] }
    expect(data.map(({ name }) => name)).not.toContain('new.ndjson')
  })
})

describe('quotes inside of fields', () => {
  const INCHES = 'name,size\nPipe 5" long,5\nRod "thin",2\n"a ""b""",1\n'

  test('are told with their line and the option that takes them', async () => {
    const path = join(folder, 'inches.csv')
    await writeFile(path, INCHES)
    const odd = join(folder, 'odd.csv')
    await writeFile(odd, 'name,size\nPipe 5" long,5\n')
    const place = ['--directory', join(folder, 'inches'), '--table', 'Inches']

    for (const [file, line] of [
      [path, 2],
      [odd, 2],
    ] as const) {
      const { code, stderr } = await runCli(cli.path, ['import', file, ...place])
      expect(code).toBe(1)
      expect(stderr).toMatch(new RegExp(`^rowstash: .*line ${line}\\b.*--quotes relaxed\n$`))
    }
  })

  test('are text with --quotes relaxed', async () => {
    const place = ['--directory', join(folder, 'inches'), '--table', 'Inches']
    const path = join(folder, 'inches.csv')
    const done = await runCli(cli.path, ['import', path, '--quotes', 'relaxed', ...place])
    const rows = await runCli(cli.path, ['rows', '--json', ...place])
    const wrong = await runCli(cli.path, ['import', path, '--quotes', 'loose', ...place])

    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(rows.stdout).toBe(
      '{"name":"Pipe 5\\" long","size":5}\n{"name":"Rod \\"thin\\"","size":2}\n' +
        '{"name":"a \\"b\\"","size":1}\n',
    )
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--quotes must be one of strict, relaxed, not "loose"'),
    })
  })
})
