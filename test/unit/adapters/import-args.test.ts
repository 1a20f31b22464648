// The command line that `rowstash import` accepts.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runImport } from '../../../adapters/cli/commands/import.js'
import { parseImportArgs } from '../../../adapters/cli/commands/import-args.js'

const targetOf = (...args: string[]) =>
  parseImportArgs([...args, '--directory', 'store'], {}).target

test.each([
  ['orders.csv', 'orders'],
  ['in/orders.csv.gz', 'orders'],
  ['orders.2024.ndjson.ZST', 'orders.2024'],
  ['.csv', '.csv'],
  ['a b.parquet', 'a b'],
])('without --table, rows of %s go into the table %s', (path, name) => {
  expect(targetOf(path)).toMatchObject({ mode: 'create', name })
  expect(targetOf(path, '--mode', 'add')).toMatchObject({ mode: 'add', table: { name } })
})

test.each([
  [['a.csv', 'b.csv'], 'Several files need --table or --table-id'],
  [['-', '--format', 'csv'], 'The standard input needs --table or --table-id'],
  [['a.csv', '--table', 'a', '--table-id', 'b'], 'Specify either --table or --table-id'],
])('%j is refused', (args, problem) => {
  expect(() => targetOf(...args)).toThrow(problem)
})

test('a table with the name of the file is not changed, unless a mode says how', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-import-args-'))
  const path = join(folder, 'orders.csv')
  await writeFile(path, 'id\n1\n')
  const print = (): undefined => undefined
  const io = { print, warn: print, env: {}, signal: new AbortController().signal }
  const run = (...args: string[]) =>
    runImport([path, '--directory', join(folder, 'store'), ...args], io, { write: () => true })

  expect(await run()).toBe(0)
  await expect(run()).rejects.toThrow(
    /^A table "orders" exists \(\S+\); use --mode add, overwrite or merge, another name, or --new-table$/,
  )
  expect(await run('--mode', 'add')).toBe(0)
  await rm(folder, { recursive: true })
})
