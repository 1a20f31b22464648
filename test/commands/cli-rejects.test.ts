// `import --rejects` writes rows that do not fit into a file, with their reasons, and the others into the table.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runExport } from '../../adapters/cli/commands/export.js'
import { runImport } from '../../adapters/cli/commands/import.js'

let folder: string

const silent = { write: () => true }

function ioInto(lines: string[]) {
  const print = (line: string): void => void lines.push(line.replaceAll(`${folder}/`, ''))
  return { print, warn: print, env: {}, signal: new AbortController().signal }
}

const store = () => ['--directory', join(folder, 'store')]

async function imported(name: string, text: string, ...args: string[]): Promise<string[]> {
  await writeFile(join(folder, name), text)
  const lines: string[] = []
  const paths = args.map((arg) => (/^rejects\./.test(arg) ? join(folder, arg) : arg))
  await runImport([join(folder, name), ...store(), ...paths], ioInto(lines), silent)
  return lines
}

async function rowsOf(table: string): Promise<string> {
  const path = join(folder, 'out.ndjson')
  const args = [path, '--table', table, '--overwrite', ...store()]
  await runExport(args, ioInto([]), process.stdout, silent)
  return readFile(path, 'utf8')
}

const rejects = async (name: string): Promise<string> =>
  (await readFile(join(folder, name), 'utf8')).replaceAll(`${folder}/`, '')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-rejects-'))
  await imported('made.csv', 'id,total,paid\n1,1.5,true\n', '--table', 'Orders')
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

test('rows of csv are written with their line, column and problem, and the others go in', async () => {
  const text =
    'id,total,paid\n2,2.5,true\n3,x,maybe\n"4\n",1,true\n5,1,true,9\n6,"1"2,true\n7,,\n8,8\n'
  const args = ['--table', 'Orders', '--mode', 'add', '--rejects', 'rejects.csv']
  const printed = await imported('more.csv', text, ...args, '--chunk-rows', '2')

  expect(printed).toContain('rows: 3')
  expect(printed).toContain('rejected: 4 in rejects.csv')
  expect(await rowsOf('Orders')).toBe(
    '{"id":1,"total":1.5,"paid":true}\n{"id":2,"total":2.5,"paid":true}\n{"id":7}\n{"id":8,"total":8}\n',
  )
  expect(await rejects('rejects.csv')).toBe(
    [
      '$file,$line,$column,$problem,id,total,paid',
      `"more.csv","3","total","value of column 'total' must be a number such as -1.5, not x; value of column 'paid' must be true or false, not maybe",3,x,maybe`,
      `"more.csv","4","id","value of column 'id' must be a number such as -1.5, not 4\\u000a","4`,
      '",1,true',
      '"more.csv","6","","4 fields for 3 columns",5,1,true,9',
      '"more.csv","7","","Text after a closing quote",6,"1"2,true',
      '',
    ].join('\n'),
  )
  expect((await readdir(folder)).filter((name) => name.includes('.tmp-'))).toEqual([])
})

test('a corrected file of rejects is imported as it is', async () => {
  const of = '"a, b.csv","3","total","value of column ""total"" must be a number"'
  const text = `$file,$line,$column,$problem,id,total\n${of},3,4\n`
  const printed = await imported('again.csv', text, '--table', 'Again')

  expect(await rowsOf('Again')).toBe('{"id":3,"total":4}\n')
  expect(printed.at(-1)).toBe(
    "warning: again.csv: column '$file' and the 3 columns after it are left out, because --rejects added them",
  )
})

test('rows of ndjson are written whole, with many problems and unknown columns', async () => {
  const bad = Array.from({ length: 1_500 }, (_, i) => `{"id":"${i}","total":"x"}`)
  const rows = [
    '{"id":20}',
    '{"id":21,"more":{"a":1}}',
    ...bad,
    '{"id":22, "total":1e999}',
    '{"id":23}',
  ]
  const args = ['--table', 'Orders', '--mode', 'overwrite', '--rejects', 'rejects.ndjson', '--json']
  const printed = await imported('rows.ndjson', rows.join('\n'), ...args, '--chunk-rows', '60000')
  const lines = (await rejects('rejects.ndjson')).trimEnd().split('\n')

  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ rows: 2, rejected: { count: 1_502 } })
  expect(await rowsOf('Orders')).toBe('{"id":20}\n{"id":23}\n')
  expect(lines.map((line) => JSON.parse(line).line)).toEqual(
    Array.from({ length: 1_502 }, (_, i) => i + 2),
  )
  expect(lines[0]).toBe(
    `{"file":"rows.ndjson","line":2,"column":"more","problem":"column 'more' must be the ID of a column of the schema","row":{"id":21,"more":{"a":1}}}`,
  )
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ column: 'total', line: 1_503 })
})

test('where no row fits, no table is changed, and the file tells why', async () => {
  const args = ['--table', 'Orders', '--mode', 'overwrite', '--rejects', 'rejects.none.csv']
  await expect(imported('none.csv', 'id\nx\ny\n', ...args)).rejects.toThrow(
    /^No row fits: all 2 are/,
  )

  expect(await rowsOf('Orders')).toBe('{"id":20}\n{"id":23}\n')
  expect(await rejects('rejects.none.csv')).toMatch(/"none.csv","3","id",[^\n]*,y\n$/)
})

test('an import that fails leaves no file', async () => {
  const args = ['--table', 'Orders', '--mode', 'add', '--rejects', 'rejects.not.csv']
  await expect(imported('wrong.csv', 'id,unknown\nx,1\n2,1\n', ...args)).rejects.toThrow('unknown')

  const left = (await readdir(folder)).filter((name) => name.startsWith('rejects.not'))
  expect(left).toEqual([])
})

test('lines that are too short do not fit where that is refused', async () => {
  const args = ['--table', 'Short', '--on-error', 'strict', '--rejects', 'rejects.short.tsv']
  await imported('short.tsv', 'a\tb\r\n1\r\n2\t3\r\n', ...args)

  expect(await rowsOf('Short')).toBe('{"a":2,"b":3}\n')
  expect(await rejects('rejects.short.tsv')).toContain('\t"1 fields for 2 columns"\t1\r\n')
})

test.each([
  [['--check'], '--check'],
  [['--on-error', 'drop'], '--on-error drop'],
  [['--mode', 'merge', '--by', 'id', '--missing', 'delete'], '--missing delete'],
])('%j cannot be combined with --rejects', async (more, named) => {
  const args = ['--table', 'Orders', '--rejects', 'rejects.x.csv', ...more]
  await expect(imported('x.csv', 'id\n1\n', ...args)).rejects.toThrow(
    `--rejects cannot be combined with ${named}`,
  )
})

test('a file that is read is not replaced', async () => {
  const args = ['--table', 'Orders', '--mode', 'add', '--rejects', 'rejects.same.csv']
  await expect(imported('rejects.same.csv', 'id\n1\n', ...args)).rejects.toThrow(
    'must not name an input file',
  )
})
