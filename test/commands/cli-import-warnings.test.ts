// What `rowstash import` and its `--check` report of converted columns, columns that became text, and decimal commas.
import { mkdtempSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { EXIT_CODE } from '../../adapters/cli/command/command.js'
import { runExport } from '../../adapters/cli/commands/export.js'
import { runImport } from '../../adapters/cli/commands/import.js'
import { runMaintain } from '../../adapters/cli/commands/maintain.js'

const folder = mkdtempSync(join(tmpdir(), 'rowstash-warnings-'))
const place = ['--directory', join(folder, 'store')]

/** Nothing is detected, so columns stay text that detection would convert. */
const PLAIN = ['--dialect', 'plain', '--delimiter', ';']

afterAll(() => rm(folder, { recursive: true }))

type Ended = Readonly<{ code: number; out: readonly string[]; err: readonly string[] }>

async function importing(paths: readonly string[], ...args: string[]): Promise<Ended> {
  const out: string[] = []
  const err: string[] = []
  const shown = (lines: string[]) => (line: string) => {
    // A slow machine prints progress too.
    if (!line.startsWith('{"progress"')) lines.push(line.replaceAll(`${folder}/`, ''))
  }
  const io = { print: shown(out), warn: shown(err), env: {}, signal: new AbortController().signal }
  const progress = { write: shown(err) }
  const code = await runImport([...paths, ...args], io, progress)
  return { code, out, err }
}

/** Writes a file, and imports it into a table with its name. */
async function importText(name: string, rows: string, ...args: string[]): Promise<Ended> {
  await writeFile(join(folder, name), rows)
  return importing([join(folder, name)], '--table', name, ...place, ...args)
}

/** The rows of a table as CSV. */
async function rowsOf(name: string): Promise<string> {
  const output = new PassThrough()
  const io = { print: fail, warn: fail, env: {}, signal: new AbortController().signal }
  const args = ['-', '--format', 'csv', '--table', name, ...place]
  const ended = runExport(args, io, output, { write: () => true }).finally(() => output.end())
  return (await Promise.all([text(output), ended]))[0]
}

/** The names of the files below a folder. */
async function filesOf(path: string): Promise<string[]> {
  const found = await readdir(path, { recursive: true, withFileTypes: true })
  return found.filter((each) => each.isFile()).map(({ name }) => name)
}

function fail(line: string): void {
  throw new Error(line)
}

/** 20,000 values, three of which are not numbers. */
const PRICES = `id,price\n${Array.from({ length: 20_000 }, (_, n) => {
  return `${n},${n % 7_000 === 3_000 ? 'n/a' : n / 4}\n`
}).join('')}`

const WARNING =
  'F: column \'price\' is text because of 3 of 20,000 values, the first "n/a" in line 3002; the others are numbers: ' +
  'correct them, or use --schema with --on-error drop to leave them empty'

const FOUND = { count: 3, values: 20_000, line: 3_002, example: 'n/a' }

describe('a check of a new table', () => {
  test('says what the import says of columns, and counts it', async () => {
    const checked = await importText('checked.csv', PRICES, '--check')
    const imported = await importText('checked.csv', PRICES)
    const columns = ['columns:', '  id     number', '  price  string']

    expect(checked).toEqual({
      code: EXIT_CODE.done,
      out: ['rows: 20000', 'problems: 0', 'warnings: 1', ...columns],
      err: [`warning: ${WARNING.replaceAll('F', 'checked.csv')}`],
    })
    expect(imported.err).toEqual(checked.err)
    expect(imported.out.slice(-3)).toEqual(columns)
  })

  test('has the warnings and the columns in its line of JSON, which is a schema too', async () => {
    const checked = await importText('json.csv', PRICES, '--check', '--json')
    const schema = join(folder, 'schema.json')
    const number = checked.out[0]?.replace('"kind":"string"', '"kind":"number"') ?? ''
    await writeFile(schema, number)
    const how = ['--schema', schema, '--on-error', 'drop', '--json']
    const dropped = await importText('json.csv', PRICES, ...how)

    expect(checked).toMatchObject({ code: EXIT_CODE.done, err: [] })
    expect(checked.out).toHaveLength(1)
    expect(JSON.parse(checked.out[0] ?? '')).toEqual({
      rows: 20_000,
      problemCount: 0,
      groups: [],
      problems: [],
      read: [expect.objectContaining({ path: 'json.csv', headerLine: 1, rows: 20_000 })],
      warnings: [
        {
          type: 'textColumn',
          path: 'json.csv',
          column: 'price',
          others: 'numbers',
          ...FOUND,
          message: WARNING.replaceAll('F', 'json.csv'),
        },
      ],
      columns: [
        { id: 'id', displayName: 'id', type: { kind: 'number' } },
        { id: 'price', displayName: 'price', type: { kind: 'string' } },
      ],
    })
    expect(dropped).toMatchObject({ code: EXIT_CODE.done, err: [] })
    expect(JSON.parse(dropped.out[0] ?? '')).toMatchObject({ dropped: { count: 3 }, warnings: [] })
  })

  test('leaves no directory behind, and an empty one empty', async () => {
    const path = join(folder, 'n.csv')
    await writeFile(path, 'n\n1\n')
    const before = await readdir(folder)
    const missing = join(folder, 'not', 'yet')
    const checked = await importing([path], '--table', 'N', '--directory', missing, '--check')
    const after = await readdir(folder)
    const empty = join(folder, 'empty')
    await mkdir(empty)
    const again = await importing([path], '--table', 'N', '--directory', empty, '--check')
    const bad = importing(
      [path],
      '--table-id',
      'x',
      '--mode',
      'add',
      '--directory',
      missing,
      '--check',
    )

    expect(checked).toMatchObject({ code: EXIT_CODE.done, err: [] })
    expect(again).toEqual(checked)
    expect(after).toEqual(before)
    await expect(bad).rejects.toThrow()
    expect((await readdir(folder)).toSorted()).toEqual([...before, 'empty'].toSorted())
    expect(await readdir(empty)).toEqual([])
  })

  test('leaves a store as it was: no objects, no stash, no folder beside it', async () => {
    await importText('there.csv', 'id,n\n1,1\n')
    const before = await filesOf(join(folder, 'store', 'objects'))
    const rows = Array.from({ length: 3_000 }, (_, n) => `${n},${n}\n`).join('')
    const text = `id,n\n${rows}`
    const checked = await importText('there.csv', text, '--mode', 'merge', '--by', 'id', '--check')
    const bad = await importText('there.csv', `${text}x,1\n`, '--mode', 'add', '--check')
    const broken = importText('there.csv', `${text}"x"y,1\n`, '--mode', 'add', '--check')
    await expect(broken).rejects.toThrow('line 3002')
    const stop = new AbortController()
    const io = { print: fail, warn: fail, env: {}, signal: stop.signal }
    const args = [join(folder, 'there.csv'), '--table', 'New', ...place, '--check', '--chunk-rows']
    const progress = { write: () => true }
    const stopped = runImport([...args, '1'], io, progress)
    setImmediate(() => stop.abort())
    await expect(stopped).rejects.toThrow()

    expect(checked.out).toContain('added: 2999')
    expect(bad).toMatchObject({ code: EXIT_CODE.misfits })
    expect(await filesOf(join(folder, 'store', 'objects'))).toEqual(before)
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([])
    const report: string[] = []
    const print = (line: string) => report.push(line)
    await runMaintain([...place, '--json'], { ...io, print, signal: new AbortController().signal })
    expect(JSON.parse(report[0] ?? '')).toMatchObject({ stashes: 0 })
  })

  test('takes files of different formats and columns together, as the import does', async () => {
    const paths = ['mixed.csv', 'mixed.ndjson', 'mixed.tsv'].map((name) => join(folder, name))
    const texts = ['id,n\n1,2\n', '{"n":3.5,"t":[1]}\n', 'd\tn\n2024-02-29\tx\n']
    for (const [i, path] of paths.entries()) await writeFile(path, texts[i] ?? '')
    const args = ['--table', 'Mixed', ...place, '--json']
    const checked = await importing(paths, ...args, '--check')
    const imported = await importing(paths, ...args)

    const { columns, ...found } = JSON.parse(checked.out[0] ?? '')
    expect(found).toMatchObject({ rows: 3, problemCount: 0 })
    expect(columns).toEqual(JSON.parse(imported.out[0] ?? '').columns)
    const schema = join(folder, 'mixed.json')
    await writeFile(schema, JSON.stringify({ columns: [{ id: 'n', type: 'number' }] }))
    const wrong = await importing(paths, ...args, '--new-table', '--schema', schema, '--check')
    expect(JSON.parse(wrong.out[0] ?? '').problems).toMatchObject([
      { place: { line: 2 }, column: 'id' },
      { place: { line: 1 }, column: 't' },
      { place: { line: 2 }, column: 'd' },
      { place: { line: 2 }, column: 'n', value: 'x' },
    ])
  })

  test('refuses a directory of something else, and keeps it', async () => {
    const path = join(folder, 'n.csv')
    await writeFile(path, 'n\n1\n')
    const other = join(folder, 'other')
    await mkdir(other)
    await writeFile(join(other, 'letter.txt'), 'x')

    const checked = importing([path], '--table', 'N', '--directory', other, '--check')
    await expect(checked).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
    expect(await readdir(other)).toEqual(['letter.txt'])
  })

  test('takes the arguments of its import, and warns if that would be refused', async () => {
    await importText('taken.csv', 'n\n1\n', '--resume')
    const resumed = await importText('taken.csv', 'n\n1\n', '--resume', '--check')
    const taken = await importText('taken.csv', 'n\n1\n', '--check')

    expect(resumed).toMatchObject({ code: EXIT_CODE.done, err: [] })
    expect(taken.out).toContain('warnings: 1')
    expect(taken.err).toEqual([
      expect.stringMatching(/^warning: A table "taken\.csv" exists \(.*\); use --mode add, /),
    ])
  })
})

describe('a column that no value of its own kind makes text', () => {
  test.each([['.097'], ['5.'], ['+5'], ['1,234,567']])(
    '%s is told with the number of such values, the first ones and what to do',
    async (value) => {
      const name = 'loose.csv'
      const text = `a;b\n${value};x\n7;x\n${value};x\n`
      const checked = await importText(name, text, '--check', '--delimiter', ';')

      expect(checked.err).toEqual([
        "warning: loose.csv: column 'a' is text because 2 of 3 values have a plus sign, thousands separators or no " +
          `digit on one side of the point, the first "${value}" in line 2; ` +
          'leave it as text if they are codes, otherwise write them as in 0.5, 5 and 1234.5',
      ])
    },
  )

  test.each([
    ['mixed.json', '[{"a":5},\n{"a":"x"},\n{"a":true},\n{"a":""}]', 1],
    ['mixed.ndjson', '{"a":5}\n{"a":"x"}\n{"a":true}\n{"b":"y"}\n', 1],
  ])('of several types of JSON is told, which become text: %s', async (name, text, line) => {
    const checked = await importText(name, text, '--check')
    const imported = await importText(name, text, '--json')

    const message =
      `${name}: column 'a' is text because its values have several types: 2 of 3 become text, the first 5 in ` +
      `line ${line}; give them one type, or use --schema with --on-error drop to leave the others empty`
    expect(checked.err).toEqual([`warning: ${message}`])
    expect(JSON.parse(imported.out[0] ?? '').warnings).toMatchObject([
      { type: 'mixedTypes', column: 'a', count: 2, values: 3, message },
    ])
    expect(await rowsOf(name)).toMatch(/^a\S*\n5,?\nx,?\ntrue,?\n/)
  })

  test('is told of most numbers beside some texts, and not of text alone', async () => {
    const rows = Array.from(
      { length: 200 },
      (_, n) => `{"a":${n % 20 === 3 ? '"n/a"' : n},"b":"${n}"}\n`,
    )
    const checked = await importText('most.ndjson', rows.join(''), '--check')

    expect(checked.err).toEqual([
      expect.stringMatching(
        /^warning: .*: column 'a' is text because .*: 190 of 200 become text, the first 0 /,
      ),
    ])
  })
})

describe('a check of a merge', () => {
  const merging = (rows: string, by: string, ...args: string[]) =>
    importText('merged.csv', rows, '--mode', 'merge', '--by', by, ...args)

  test('fails where the merge would: key columns that are missing, keys that are not unique', async () => {
    await importText('merged.csv', 'id,plan\n1,a\n2,b\n2,c\n')
    const to = join(folder, 'merged.csv')

    for (const check of [['--check'], []]) {
      await expect(merging('idd,plan\n1,x\n', 'idd', ...check)).rejects.toMatchObject({
        kind: 'failed',
        message: 'The table has no key column "idd" (--by); did you mean "id"?',
      })
      await expect(merging('ID,plan\n1,x\n', 'id', ...check)).rejects.toMatchObject({
        kind: 'failed',
        message: `The header of ${to} has no key column "id" (--by); did you mean "ID"?`,
      })
      const small = [...check, '--chunk-rows', '2']
      await expect(merging('id,plan\n7,x\n1,x\n3,x\n1,y\n', 'id', ...small)).rejects.toThrow(
        `${to}, line 3 and ${to}, line 5 have the same key (id 1): a merge accepts one row per key`,
      )
      await expect(merging('id,plan\n2,x\n', 'id', ...check)).rejects.toThrow(
        `have the same key (id 2), which ${to}, line 2 has too: delete`,
      )
      await expect(merging('id,plan\n,x\n', 'id', ...check)).rejects.toMatchObject({
        kind: 'failed',
        message: `Invalid value for column 'id' in ${to}, line 2: must be a value in every row, because the column is a key of the merge, not an empty cell; complete such rows, or leave them out of the file`,
      })
      await expect(merging('id,plan\n1,x\n', 'id,plan', ...check)).rejects.toMatchObject({
        message: 'The table has no key column "id,plan" (--by); repeat the option for each column',
      })
    }
    expect(await rowsOf('merged.csv')).toBe('id,plan\n1,a\n2,b\n2,c\n')
  })

  test('refuses input that cannot be read twice, and does not skip the keys', async () => {
    await importText('once.csv', 'id,plan\n1,a\n')
    const how = ['--format', 'csv', '--allow-empty', '--mode', 'merge', '--by', 'id', '--check']
    const checked = importing(['/dev/null'], ...how, '--table', 'once.csv', ...place)

    await expect(checked).rejects.toThrow(
      'The check of a merge into a directory reads each input twice, but "/dev/null" can be read only once',
    )
  })

  test('lists values that do not fit, and else succeeds and changes nothing', async () => {
    const name = 'fine.csv'
    await importText(name, 'id,plan\n1,a\n')
    const how = ['--mode', 'merge', '--by', 'id', '--missing', 'delete', '--check']
    const misfits = await importText(name, 'id,plan\nx,a\nx,b\n', ...how)
    const fine = await importText(name, 'id,plan\n3,a\n', ...how)

    expect([misfits.code, misfits.out.slice(-2)]).toEqual([1, ['problems: 2', 'warnings: 0']])
    const counts = ['added: 1', 'changed: 0', 'unchanged: 0', 'removed: 1']
    const out = ['rows: 1', ...counts, 'problems: 0', 'warnings: 0']
    expect(fine).toEqual({ code: 0, out, err: [] })
    const told = await importText(name, 'id,plan\n3,a\n', ...how, '--json')
    expect(JSON.parse(told.out[0] ?? '')).toMatchObject({ rows: 1, added: 1, removed: 1 })
    expect(await rowsOf(name)).toBe('id,plan\n1,a\n')
  })
})

test('an import has its warnings in its line of JSON, and prints nothing else', async () => {
  const { out, err } = await importText('line.csv', PRICES, '--json')
  const { seconds, warnings } = JSON.parse(out[0] ?? '')

  expect([out.length, err]).toEqual([1, []])
  expect(warnings).toMatchObject([{ type: 'textColumn', column: 'price', ...FOUND }])
  expect(String(seconds)).toMatch(/^\d+(?:\.\d{1,3})?$/)
})

test('the team of an import is a line of JSON with --json', async () => {
  const path = join(folder, 'n.csv')
  await writeFile(path, 'n\n1\n')
  const directory = ['--directory', join(folder, 'teams')]
  await importing([path], '--table', 'N', ...directory, '--team', 'acme')
  const { err } = await importing([path], '--table', 'M', ...directory, '--json')

  expect(err.map((line) => JSON.parse(line))).toEqual([
    { note: 'Using the team "acme", the only one with tables' },
  ])
})

describe('numbers with a decimal comma', () => {
  const COMMAS = 'id;price;note\n1;1,5;"a, 1,5"\n2;"-0,25";1,5\n3;12;x\n'

  test('are told where nothing is detected, with what reads them', async () => {
    const { out, err } = await importText('told.csv', COMMAS, ...PLAIN)

    expect(out).toContain('  price  string')
    expect(err).toEqual([
      'warning: told.csv: column \'price\' is text because 2 of 3 values have a decimal comma, the first "1,5" in line 2; ' +
        '--decimal price=, reads them as numbers',
    ])
    expect(await rowsOf('told.csv')).toContain('1,"1,5","a, 1,5"\n')
  })

  test('may have separators of thousands: they are not converted', async () => {
    const { out, err } = await importText('thousands.csv', 'a;b\n1,234;x\n', '--json', '--check')

    expect(err).toEqual([])
    expect(JSON.parse(out[0] ?? '').warnings).toMatchObject([
      {
        type: 'commasUnsure',
        count: 1,
        message:
          'thousands.csv: column \'a\' is text because 1 of 1 values have a comma, the first "1,234" in line 2; ' +
          'if it is a decimal comma, --decimal a=, reads them as numbers; otherwise remove it',
      },
    ])
  })

  test.each([
    ['semicolons.csv', COMMAS],
    ['commas.csv', 'id,price,note\r\n1,"1,5","a, 1,5"\r\n2,"-0,25","1,5"\r\n3,12,x\r\n'],
    ['tabs.tsv', COMMAS.replaceAll(';', '\t')],
  ])('are converted where a column has numbers alone: %s', async (name, rows) => {
    const checked = await importText(name, rows, '--decimal', ',', '--check')
    const { out, err } = await importText(name, rows, '--chunk-rows', '2', '--json')
    const { warnings } = JSON.parse(out[0] ?? '')
    const message = `${name}: 2 values of column 'price' were converted, such as "1,5" in line 2`
    const about = { path: name, column: 'price', count: 2, line: 2, example: '1,5' }

    expect(checked.out).toContain('  price  number')
    expect(checked.err.at(-1)).toBe(`warning: ${message}`)
    expect([warnings, err]).toEqual([[{ type: 'numbers', ...about, message }], []])
    expect(await rowsOf(name)).toBe('id,price,note\n1,1.5,"a, 1,5"\n2,-0.25,"1,5"\n3,12,x\n')
  })

  test('are no part of a header', async () => {
    await importText('header.csv', '1,5;b\n2,5;x\n', '--decimal', ',', '--delimiter', ';')

    expect(await rowsOf('header.csv')).toBe('"1,5",b\n2.5,x\n')
  })

  test('are read in the number columns of a table, and of a schema', async () => {
    await importText('into.csv', 'price,note\n7,x\n')
    const path = join(folder, 'more.csv')
    await writeFile(path, 'note;price\n1,5; 1,5 \n')
    const to = [...place, '--decimal', ',', '--table', 'into.csv']
    await importing([path], ...to, '--mode', 'add')
    expect(await rowsOf('into.csv')).toBe('price,note\n7,x\n1.5,"1,5"\n')

    const schema = join(folder, 'columns.json')
    const columns = [
      { id: 'price', type: 'string' },
      { id: 'note', type: 'number' },
    ]
    await writeFile(schema, JSON.stringify({ columns }))
    const how = ['--decimal', ',', '--schema', schema]
    await importText('schema.csv', 'note;price\n1,5;1.234\n', ...how)
    expect(await rowsOf('schema.csv')).toBe('price,note\n1.234,1.5\n')
  })

  test('leave a column as it is that has other values, which are told', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `${n === 7 ? '1.234,5' : `${n},5`};x\n`)
    const { err } = await importText('mixed.csv', `a;b\n${lines.join('')}`, '--decimal', ',')

    expect(err.at(-1)).toContain(
      `column 'a' is text because of 1 of 300 values, the first "1.234,5" in line 9`,
    )
    expect(await rowsOf('mixed.csv')).toContain('"0,5",x\n')
  })

  test('are left in the text columns of a table whose number columns may become text', async () => {
    await importText('widened.csv', 'price,note\n7,x\n')
    const path = join(folder, 'wider.csv')
    await writeFile(path, 'note;price\n1,5;1,5\n2,5;n/a\n')
    const how = ['--table', 'widened.csv', ...place, '--mode', 'add', '--on-error', 'update']
    await importing([path], ...how)

    expect(await rowsOf('widened.csv')).toBe('price,note\n7,x\n"1,5","1,5"\nn/a,"2,5"\n')
  })

  test.each([['1,5'], ['1']])(
    'are no numbers with a point, which may separate thousands: behind %s',
    async (first) => {
      const path = join(folder, 'numbers.json')
      await writeFile(path, '{"columns":[{"id":"a","type":"number"},{"id":"b","type":"string"}]}')
      const rows = `a;b\n${first};1.2.3\n1.234;x\n`
      const how = ['--decimal', ',', '--schema', path]

      await expect(importText(`points ${first}.csv`, rows, ...how)).rejects.toThrow(
        /\.csv, line 3: column 'a' is read as .*, but "1\.234" has another form; --dialect plain --delimiter semicolon reads all values as they are written, if --decimal is left out/,
      )
    },
  )

  test('are refused beside numbers with a point, also where no kind is known', async () => {
    const refused = importText('points.csv', 'a;b\n1,5;x\n1.234;x\n', '--decimal', ',')

    await expect(refused).rejects.toThrow(
      /points\.csv, line 3: column 'a' is read as numbers with decimal comma, but "1\.234" has/,
    )
  })
})

describe('numbers with decimal commas in some columns, and points in others', () => {
  const BOTH = 'price;rate;x y;note\n1,5;0.5;2,5;a\n-0,25;1.25;3;b\n'
  const READ = 'price,rate,x y,note\n1.5,0.5,2.5,a\n-0.25,1.25,3,b\n'

  test.each([
    ['commas-named.csv', ['--decimal', 'price=,', '--decimal', 'x y=,']],
    ['points-named.csv', ['--decimal', ',', '--decimal', 'rate=.']],
  ])('are read by what is said: %s', async (name, how) => {
    const { out, err } = await importText(name, BOTH, ...PLAIN, ...how)

    expect(out.slice(-4)).toEqual([
      '  price  number',
      '  rate   number',
      '  x y    number',
      '  note   string',
    ])
    expect(err).toEqual([
      `warning: ${name}: 2 values of column 'price' were converted, such as "1,5" in line 2`,
      `warning: ${name}: 1 value of column 'x y' was converted, such as "2,5" in line 2`,
    ])
    expect(await rowsOf(name)).toBe(READ)
    const all = importText('none-named.csv', BOTH, '--decimal', ',')
    await expect(all).rejects.toThrow(/line 2: column 'rate' is read as numbers with decimal comma/)
  })

  test('are read in the columns of a schema by the options that warnings tell, and no others', async () => {
    const { err } = await importText('both-told.csv', BOTH, ...PLAIN)
    const options = err.flatMap((line) => / (--decimal (?:'.*?'|\S+))/.exec(line)?.[1] ?? [])
    expect(options).toEqual(['--decimal price=,', "--decimal 'x y=,'"])

    const path = join(folder, 'both.json')
    const columns = ['price', 'rate', 'x y'].map((id) => ({ id, type: 'number' }))
    await writeFile(path, JSON.stringify({ columns: [...columns, { id: 'note', type: 'string' }] }))
    const how = [...PLAIN, '--schema', path, '--decimal', 'price=,']
    const imported = importText('both-schema.csv', BOTH, ...how)
    await expect(imported).rejects.toThrow('not "2,5"; --decimal \'x y=,\' reads numbers')
    await importText('both-schema.csv', BOTH, ...how, '--decimal', 'x y=,')
    expect(await rowsOf('both-schema.csv')).toBe(READ)
  })

  test('are refused for a column that is not there', async () => {
    const misspelled = importText('both-misspelled.csv', BOTH, '--decimal', 'pirce=,')
    await expect(misspelled).rejects.toThrow(/column "?pirce"?.*; did you mean "price"\?/)
  })
})

describe('a value of a column of numbers that must not be dropped', () => {
  const PADDED =
    'leave it as text if they are codes, because numbers have no leading zeros or plus sign'

  test.each([
    ['01234', `; the others are numbers: ${PADDED}`],
    ['+4912345', `; the others are numbers: ${PADDED}`],
    ['1.234.567', '; the others are numbers: remove the thousands separators'],
    [
      '9007199254740993',
      '; leave it as text if they are identifiers; --schema with the kind number stores them exactly',
    ],
    [
      '" 12345"',
      '; remove the spaces, or use --schema with the kind number, which ignores them',
      ...['--dialect', 'plain'],
    ],
  ])('has other advice: %s', async (value: string, advice: string, ...how: string[]) => {
    const name = `kept ${value.replaceAll(/\W/g, '')}.csv`
    const lines = Array.from({ length: 500 }, (_, n) => `${n},${n === 77 ? value : 10_000 + n}\n`)
    const checked = await importText(name, `id,zip\n${lines.join('')}`, ...how, '--check')

    expect(checked.err).toHaveLength(1)
    const shown = JSON.stringify(value.replaceAll('"', ''))
    expect(checked.err[0]?.endsWith(` ${shown} in line 79${advice}`)).toBe(true)
  })

  test('among others has both', async () => {
    const values = new Map([
      [7, 'n/a'],
      [8, '01234'],
    ])
    const lines = Array.from({ length: 500 }, (_, n) => `${n},${values.get(n) ?? n}\n`)
    const { err } = await importText('both.csv', `id,zip\n${lines.join('')}`, '--check')

    expect(err).toEqual([
      expect.stringContaining(`"01234" in line 10; the others are numbers: ${PADDED}`),
      expect.stringContaining('"n/a" in line 9; the others are numbers: correct them, '),
    ])
  })

  test('is stored exactly, or as text, by the schema that the advice names, without a warning', async () => {
    const schema = join(folder, 'exact.json')
    const columns = [
      { id: 'n', type: 'number' },
      { id: 's', type: 'string' },
    ]
    await writeFile(schema, JSON.stringify({ columns }))
    const lines = Array.from(
      { length: 300 },
      (_, n) => `${n === 7 ? ' 9007199254740993 ' : n},${n}\n`,
    )
    const text = `n,s\n${lines.join('')}`.replace(',9\n', ',09\n')
    const { err } = await importText('exact.csv', text, '--schema', schema)

    expect(err).toEqual([])
    expect(await rowsOf('exact.csv')).toContain('9007199254740993,7\n8,8\n9,09\n')
  })
})

describe('values that do not fit a schema', () => {
  const schemaOf = async () => {
    const path = join(folder, 'misfits.json')
    const columns = [
      { id: 'a', type: 'number' },
      { id: 'b', type: 'number' },
    ]
    await writeFile(path, JSON.stringify({ columns }))
    return ['--schema', path]
  }
  const commas = Array.from({ length: 500 }, (_, n) => `${n},5;${n === 400 ? 'x' : n}\n`).join('')

  test('are listed in a check, the first of each kind, with the option for decimal commas', async () => {
    const how = [...(await schemaOf()), '--check']
    const rows = `a;b\n${commas}`
    const { code, out, err } = await importText('alike.csv', rows, ...how, ...PLAIN)
    const { out: json } = await importText('alike.csv', rows, ...how, ...PLAIN, '--json')
    const converted = await importText('alike.csv', rows, ...how)

    expect(code).toBe(EXIT_CODE.misfits)
    expect(out.slice(0, 2)).toEqual([
      "alike.csv, line 2: value of column 'a' must be a number such as -1.5, not 0,5",
      "alike.csv, line 3: value of column 'a' must be a number such as -1.5, not 1,5",
    ])
    expect(out.slice(3, 5)).toEqual([
      "and 497 more like it, of column 'a'",
      "alike.csv, line 402: value of column 'b' must be a number such as -1.5, not x",
    ])
    expect(JSON.parse(json[0] ?? '').groups).toMatchObject([
      { column: 'a', count: 500, first: [{ value: '0,5' }, { value: '1,5' }, { value: '2,5' }] },
      { column: 'b', count: 1, first: [{ place: { line: 402 }, value: 'x' }] },
    ])
    expect(err).toEqual([
      "warning: 500 refused numbers have a comma in column 'a': --decimal a=, reads numbers with a decimal comma",
    ])
    const { problems } = JSON.parse(json[0] ?? '')
    expect(problems).toHaveLength(501)
    expect(problems[0].rule).toBe('a finite number as JSON writes it')
    expect(converted.out.slice(0, 4)).toEqual([
      out[4],
      ...['rows: 500', 'problems: 1', 'warnings: 1'],
    ])
  })

  test('may be separators of thousands: then no option is praised', async () => {
    const rows = 'a;b\n1,234;1\n2,000;1\n'
    const { err } = await importText('thousands.csv', rows, ...(await schemaOf()), '--check')

    expect(err.slice(1)).toEqual([
      "warning: 2 refused numbers have a comma in column 'a': if the comma is a decimal comma, --decimal a=, reads it; otherwise remove it",
    ])
  })

  test.each([
    ['0,5', '"0,5"; --decimal a=, reads numbers with a decimal comma'],
    [
      '1,234',
      '"1,234"; if the comma is a decimal comma, --decimal a=, reads it; otherwise remove it',
    ],
    ['x', '"x"; --check lists all such values, --on-error drop leaves them empty'],
    ['007', '"007"; --check lists all such values'],
  ])('end an import with what to do about them: %s', async (value, hint) => {
    const how = [...(await schemaOf()), ...PLAIN]
    const imported = importText('hint.csv', `a;b\n${value};1\n`, ...how)

    await expect(imported).rejects.toMatchObject({
      kind: 'failed',
      message: `Invalid value for column 'a' in ${join(folder, 'hint.csv')}, line 2: must be a number such as -1.5, not ${hint}`,
    })
  })
})

describe('names that are not what they seem', () => {
  const leftOut = (name: string) =>
    `warning: ${name}: $rowID is left out, because the rows of a new table get new IDs; --mode overwrite keeps IDs that the table has`

  test.each([
    ['ids.csv', '$rowID,a\nx,1\n'],
    ['ids.ndjson', '{"a":1}\n{"a":1,"$rowID":"x"}\n'],
    ['ids.json', '[{"$rowID":"x","a":1}]'],
  ])('are told: row IDs in %s', async (name, rows) => {
    const checked = await importText(name, rows, '--check')
    const imported = await importText(name, rows)

    expect([checked.err, imported.err]).toEqual([[leftOut(name)], [leftOut(name)]])
    expect(imported.out.slice(-2)).toEqual(['columns:', '  a  number'])
  })

  test('are none in other modes, in texts and in columns of other names', async () => {
    const none = await importText('none.ndjson', '{"a":"\\"$rowID\\"","rowID":1}\n')
    const path = join(folder, 'ids.csv')
    const to = ['--table', 'none.ndjson', '--mode', 'overwrite', '--on-error', 'update']
    const over = await importing([path], ...to, ...place)

    expect([none.err, over.err]).toEqual([[], []])
  })

  test('are told: spaces around names', async () => {
    const one = await importText('space.csv', 'id, x\n1,y\n')
    const { out } = await importText('spaces.csv', 'id, x,"y "\n1,y,z\n', '--json')

    expect(one.err).toEqual([
      'warning: space.csv: the name of 1 column begins or ends with a space: " x"; remove it from the header',
    ])
    expect(JSON.parse(out[0] ?? '').warnings).toEqual([
      {
        type: 'spacedNames',
        path: 'spaces.csv',
        column: ' x',
        count: 2,
        message:
          'spaces.csv: the names of 2 columns begin or end with a space, the first " x"; remove it from the header',
      },
    ])
  })
})

/** What an import prints: its warnings, or why it fails. */
async function saidOf(name: string, rows: string | Uint8Array, args: readonly string[]) {
  await writeFile(join(folder, name), rows)
  const to = args.includes('--table') ? [] : ['--table', name, '--new-table']
  try {
    const { err } = await importing([join(folder, name)], ...place, ...to, ...args)
    return { isRefused: false, said: err.join('\n') }
  } catch (failure) {
    return { isRefused: true, said: String(Object(failure).message) }
  }
}

const NUMBERS_OF_A = [{ id: 'a', type: 'number' }]

/** Per file: its content, the options given, the message, and the remedies in the message. */
const REMEDIES: readonly (readonly [
  name: string,
  rows: string | Uint8Array,
  given: readonly string[],
  told: RegExp,
  remedies: readonly string[],
])[] = [
  ['header.csv', 'x,1.5\ny,2.5\n', [], /looks like a row/, ['--header absent']],
  ['blank.csv', 'a,b\n1,2\n,\n', [], /left out/, ['--blank-lines keep']],
  ['points.csv', 'a;b\n1.234;7,5\n', [], /points that may/, ['--thousands .']],
  ['prices.csv', 'a;b\n1.000;x\n2.500;y\n', [], /points that may/, ['--thousands .']],
  [
    'slash.csv',
    'a\n01/02/2026\n',
    [],
    /can be read in two ways/,
    ['--dates dd/mm/yyyy', '--dates mm/dd/yyyy'],
  ],
  [
    'dash.csv',
    'a\n01-02-2026\n',
    [],
    /can be read in two ways/,
    ['--dates dd-mm-yyyy', '--dates mm-dd-yyyy'],
  ],
  ['comma.csv', 'a b;c\n1,5;x\n', PLAIN, /is text because/, ["--decimal 'a b=,'"]],
  ['unsure.csv', 'a;b\n1,234;x\n', [], /is text because/, ['--decimal a=,']],
  ['quote.csv', 'a,b\n1,x"y"\n', [], /quote in an unquoted field/i, ['--quotes relaxed']],
  ['extra.csv', 'a,b\n1,2,3\n', [], /fields for/, ['--extra-fields drop']],
  [
    'latin.csv',
    Buffer.from('a,b\n1,é\n', 'latin1'),
    ['--dialect', 'plain'],
    /UTF-8/,
    ['--encoding windows-1252'],
  ],
  ['nothing.csv', ' \n', [], /empty/, ['--allow-empty']],
  ['object.json', '{"a":1}\n{"a":2}\n', ['--dialect', 'plain'], /array/, ['--format ndjson']],
  [
    'nested.json',
    '[{"a":{"b":1}}]',
    [],
    /boolean or an array/,
    ['--nested flatten', '--nested text', '--on-error drop'],
  ],
  [
    'later.csv',
    `title\n\na;b\n${'1,5;x\n'.repeat(200_000)}1.5;y\n`,
    [],
    /is read as/,
    ['--dialect plain --delimiter semicolon --skip-lines 2'],
  ],
  [
    'strict.csv',
    'a,b\n1\n',
    ['--on-error', 'strict'],
    /fewer fields than the header, which/,
    ['--on-error abort'],
  ],
]

describe('what is advised', () => {
  /** The options in a text, as words of a shell. */
  const wordsOf = (remedy: string) =>
    (remedy.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ''))

  test.each(REMEDIES)(
    'mends its case when it is followed: %s',
    async (name, rows, given, told, remedies) => {
      const before = await saidOf(name, rows, given)
      expect(before.said).toMatch(told)
      for (const remedy of remedies) {
        expect(before.said).toContain(remedy)
        const after = await saidOf(name, rows, [...given, ...wordsOf(remedy)])
        expect({ remedy, ...after }).toMatchObject({
          isRefused: false,
          said: expect.not.stringMatching(told),
        })
      }
    },
  )

  test.each<readonly [string, string, readonly string[], RegExp]>([
    ['header.csv', 'x,1.5\ny,2.5\n', ['--header', 'present'], /--header/],
    ['blank.csv', 'a,b\n1,2\n,\n', ['--blank-lines', 'skip'], /--blank-lines/],
    ['title.csv', 'title\n\na,b\n1,2\n', [], /--/],
    ['comments.csv', '#x\na,b\n1,2\n', ['--comment', '#'], /--/],
    ['blanks.csv', '"a", "b"\n1, "x, y"\n', [], /--/],
    ['backslash.csv', 'a,b\n"1\\"","x, y"\n', [], /--/],
    ['points.csv', 'a;b\n1.234;7,5\n', ['--decimal', 'a=.'], /--/],
    ['thousands.csv', 'a;b\n1.234;7,5\n', ['--thousands', "'"], /--thousands/],
    ['slash.csv', 'a\n01/02/2026\n', ['--dates', 'dd.mm.yyyy'], /--dates/],
    ['comma.csv', 'a;b\n1,5;x\ny;x\n', ['--decimal', ','], /--decimal/],
    ['mixed.csv', 'a;b\n1,5;x\n1.5;x\n', [], /--decimal/],
    ['quote.csv', 'a,b\n1,x"y"\n', ['--quotes', 'strict'], /--quotes/],
    ['extra.csv', 'a,b\n1,2,3\n', ['--extra-fields', 'refuse'], /--extra-fields/],
    ['skipped.csv', 'x\na,b\n1,2,3\n', ['--skip-lines', '1'], /--skip-lines/],
    ['encoded.csv', 'a,b\n1,\u{fffd}\n', ['--encoding', 'utf-8'], /--encoding/],
    ['plain.csv', 'a;b\n1,5;x\n1.5;y\n', [...PLAIN, '--decimal', ','], /--dialect/],
  ])(
    'is nothing that was said already, or mends nothing: %s',
    async (name, rows, given, option) => {
      expect((await saidOf(name, rows, given)).said).not.toMatch(option)
    },
  )

  test('is nothing that a misfit of a schema was told before', async () => {
    const schema = join(folder, 'advised.json')
    await writeFile(
      schema,
      JSON.stringify({ columns: [...NUMBERS_OF_A, { id: 'b', type: 'string' }] }),
    )
    const given = ['--schema', schema, '--delimiter', ';']
    const before = await saidOf('misfit.csv', 'a;b\n0,5;1\nx;1\n', [...given, '--dialect', 'plain'])
    const after = await saidOf('misfit.csv', 'a;b\n0,5;1\nx;1\n', [...given, '--decimal', 'a=,'])
    const dropped = await saidOf('misfit.csv', 'a;b\n0,5;1\nx;1\n', [
      ...given,
      '--on-error',
      'drop',
    ])

    expect(before.said).toMatch(/--decimal a=, reads numbers with a decimal comma$/)
    expect(after.said).toMatch(
      /not "x"; --check lists all such values, --on-error drop leaves them empty$/,
    )
    expect(dropped.isRefused).toBe(false)
  })
})
