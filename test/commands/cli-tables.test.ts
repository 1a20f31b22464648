// `rowstash import --directory`, `tables`, `schema`, `rows`, `types`, `rename` and `delete`: a store without a server.
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CommandIo } from '../../adapters/cli/command/command.js'
import { runDelete, runRename } from '../../adapters/cli/commands/change-table.js'
import { runExport } from '../../adapters/cli/commands/export.js'
import { runImport } from '../../adapters/cli/commands/import.js'
import { runRows, runWatch } from '../../adapters/cli/commands/rows.js'
import { runStats } from '../../adapters/cli/commands/stats.js'
import { renderTypes } from '../../adapters/cli/commands/table-types.js'
import { runSchema, runTables, runTypes } from '../../adapters/cli/commands/tables.js'
import { openDirectory, startServer } from '../../adapters/node.js'
import { defineSchema } from '../../src/index.js'
import { CSV, printedAt, useOrders } from './orders-store.js'

const { folder, directory, printed, importing, exporting } = useOrders()

test('an import into a directory adds to a table, and says what is wrong with a row', async () => {
  const path = join(folder, 'more.csv')
  await writeFile(path, 'n\n1\n')
  const made = await importing(path, '--table', 'More', '--team', 'other')
  const tableId = made.find((line) => line.startsWith('table: '))?.slice(7) ?? ''
  const target = ['--table-id', tableId, '--mode', 'add', '--team', 'other']
  await importing(path, ...target)
  await writeFile(path, 'n\nx\n')

  await expect(importing(path, ...target)).rejects.toThrow(/more\.csv, line 2/)
  expect(await exporting('-', '--format', 'csv', '--table', 'More', '--team', 'other')).toBe(
    'n\n1\n1\n',
  )
  const both = importing(path, '--table', 'x', '--url', 'http://localhost')
  await expect(both).rejects.toThrow('--directory cannot be combined with --url')
})

test('an import does not make a second table of a name unless it is told to', async () => {
  const path = join(folder, 'taken.csv')
  await writeFile(path, 'n\n1\n')
  const target = ['--table', 'Taken', '--team', 'taken']
  await importing(path, ...target)

  await expect(importing(path, ...target)).rejects.toThrow(
    /^A table "Taken" exists \([0-9a-f-]{36}\); use --mode add, overwrite or merge, another name, or --new-table$/,
  )
  await expect(importing(path, ...target, '--mode', 'add', '--new-table')).rejects.toThrow(
    '--new-table needs --mode create',
  )
  expect(await printed(runTables, '--team', 'taken')).toHaveLength(1)
  await importing(path, ...target, '--resume')
  const resumed = await importing(path, ...target, '--resume')
  await importing(path, ...target, '--new-table')
  expect(await printed(runTables, '--team', 'taken')).toHaveLength(3)
  expect(resumed).toContain('rows: 1')
})

test('watch prints a line for each commit: of a directory up to now, of a server until it is interrupted', async () => {
  const store = await openDirectory(join(folder, 'watched'))
  const { tableId } = await store.team('team').createTable({ name: 'T', rows: [{ n: 1 }] })
  const table = store.team('team').table(tableId)
  await table.addRows([{ n: 2 }, { n: 3 }], { author: 'ann' })
  const line = async (version: number) => JSON.stringify(await table.change(version))
  const key = 'a-key-of-a-team-of-mine'
  const server = await startServer(store, { keys: [{ key, teamId: 'team' }], port: 0 })
  const stop = new AbortController()
  const lines: string[] = []
  const print = (text: string) => {
    lines.push(text)
    if (lines.length === 1) void table.rename('U')
    else stop.abort()
  }
  const io = { print, warn: () => undefined, env: {}, signal: stop.signal }
  const at = ['--url', server.url, '--key', key, '--table-id', tableId]

  await expect(runWatch([...at, '--since', '1'], io)).rejects.toThrow('aborted')
  const expected = [await line(2), await line(3)]
  await server.close()
  await store.close()

  expect(lines).toEqual(expected)
  const place = ['--directory', join(folder, 'watched'), '--table', 'U']
  expect(await printedAt(place, runWatch, '--since', '1')).toEqual(expected)
  await expect(printedAt(place, runWatch)).rejects.toThrow('--directory needs --since')
})

test('an import tells which values it dropped', async () => {
  const path = join(folder, 'dropped.csv')
  await writeFile(path, 'latitude,name\n1.5,a\n')
  const made = await importing(path, '--table', 'Dropped', '--team', 'dropped')
  const tableId = made.find((line) => line.startsWith('table: '))?.slice(7) ?? ''
  await writeFile(path, 'latitude,name\nnorth,b\n')
  const target = ['--table-id', tableId, '--mode', 'add', '--team', 'dropped', '--on-error', 'drop']
  const lines = await importing(path, ...target)
  const [json = ''] = await importing(path, ...target, '--json')

  expect(lines).toContain('dropped 1 value (latitude 1)')
  expect(JSON.parse(json).dropped).toEqual({
    count: 1,
    columns: [{ column: 'latitude', rule: expect.any(String), count: 1 }],
  })
})

test('an import of a file that is not there makes no directory', async () => {
  const at = join(folder, 'none-made')
  const io = { print: () => undefined, warn: () => undefined, env: {} }
  const missing = runImport(
    [join(folder, 'nosuch.csv'), '--table', 'X', '--directory', at],
    { ...io, signal: new AbortController().signal },
    { write: () => true },
  )

  await expect(missing).rejects.toThrow(/^There is no file .*nosuch\.csv to read$/)
  await expect(readdir(at)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('tables and their columns are listed, for people and for scripts', async () => {
  const tables = await printed(runTables)
  const [types = ''] = await printed(runTypes, '--json')
  const [line = ''] = tables
  const [json = ''] = await printed(runTables, '--json')

  expect(line).toMatch(/^[0-9a-f-]{36}\t3\t[0-9]+\t1\tOrders$/)
  expect(JSON.parse(json)).toMatchObject({ name: 'Orders', rowCount: 3 })
  expect(JSON.parse(types)).toMatchObject({
    name: 'Orders',
    rowName: 'OrdersRow',
    text: expect.stringContaining('export const ordersSchema = defineSchema({'),
  })
  expect(await printed(runSchema, '--table', 'Orders')).toEqual([
    'id\tnumber',
    'total\tnumber',
    'note\tstring',
  ])
  const [schema = ''] = await printed(runSchema, '--table-id', JSON.parse(json).id, '--json')
  expect(JSON.parse(schema)).toEqual(JSON.parse(json).schema)
  await importing(join(folder, 'orders.csv'), '--table', 'Twice')
  await importing(join(folder, 'orders.csv'), '--table', 'Twice', '--new-table')
  await expect(printed(runSchema, '--table', 'Twice')).rejects.toThrow('2 tables have the name')
})

test('rows are printed as a table, and as formats of programs', async () => {
  const rows = (...args: string[]) => printed(runRows, '--table', 'Orders', ...args)

  expect(await rows()).toEqual([
    'id  total               note',
    '1   34.50               a, "b"',
    '2   9007199254740993.0',
    '3   7                   x',
  ])
  expect(await rows('--columns', 'note,id', '--limit', '1')).toEqual(['note    id', 'a, "b"  1'])
  expect(await rows('--limit', '2', '--format', 'csv')).toEqual([CSV.split('\n3')[0]])
  expect(await rows('--json', '--limit', '1')).toEqual([
    '{"id":1,"total":34.50,"note":"a, \\"b\\""}',
  ])
  const some = await rows('--where', '{"id":{"gt":1}}', '--columns', 'total', '--format', 'json')
  expect(some).toEqual(['[{"total":9007199254740993.0},\n{"total":7}]'])
  expect(await rows('--format', 'tsv', '--columns', 'id,total', '--limit', '1')).toEqual([
    'id\ttotal\n1\t34.50',
  ])
  const sorted = await rows('--sort=-total', '--columns', 'id', '--format', 'json')
  expect(sorted).toEqual(['[{"id":2},\n{"id":1},\n{"id":3}]'])
  const byNote = '[{"column":"note","locale":"de"}]'
  expect(await rows('--sort', byNote, '--columns', 'id', '--json')).toEqual([
    '{"id":1}',
    '{"id":3}',
    '{"id":2}',
  ])
  await expect(rows('--sort', 'nte')).rejects.toThrow('orderBy: the table has no column "nte"')
  await expect(rows('--limit', '0')).rejects.toThrow('--limit must be an integer from 1 to 10000')
  await expect(rows('--format', 'x')).rejects.toThrow('--format must be table, csv')
})

test.each(['', '[]'])('no columns (%j) are a usage error, not empty lines', async (columns) => {
  const usage = { kind: 'usage', message: expect.stringContaining('--columns names no column') }
  const shown = printed(runRows, '--table', 'Orders', '--columns', columns)
  await expect(shown).rejects.toMatchObject(usage)
  const path = join(folder, 'none.csv')
  const written = exporting(path, '--table', 'Orders', '--columns', columns)
  await expect(written).rejects.toMatchObject(usage)
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('rows have their IDs where $rowID is among the columns, and an overwrite keeps those', async () => {
  const rows = (...args: string[]) => printed(runRows, '--table', 'IDs', ...args)
  await importing(join(folder, 'orders.csv'), '--table', 'IDs')
  const lines = await rows('--columns', '$rowID,note', '--json')
  const first = JSON.parse(lines[0] ?? '')
  const path = join(folder, 'ids.csv')
  await exporting(path, '--table', 'IDs', '--columns', 'id,$rowID')
  await importing(path, '--table', 'IDs', '--mode', 'overwrite')

  expect(Object.keys(first)).toEqual(['$rowID', 'note'])
  expect(first).toEqual({ $rowID: expect.stringMatching(/^[\w-]{22}$/), note: 'a, "b"' })
  expect(await rows('--columns', 'id,$rowID', '--limit', '1')).toEqual([
    '$rowID                  id',
    `${first.$rowID}  1`,
  ])
  expect(await rows('--columns', '$rowID', '--format', 'csv')).toEqual([
    ['$rowID', ...lines.map((line) => JSON.parse(line).$rowID)].join('\n'),
  ])
  const parquet = exporting(join(folder, 'x.parquet'), '--table', 'IDs', '--columns', '$rowID')
  await expect(parquet).rejects.toThrow('$rowID cannot be written to Parquet')
})

test('a server is read as a directory is', async () => {
  const before = await printed(runTables, '--json')
  const { id: tableId } = JSON.parse(before[0] ?? '')
  const table = ['--table-id', tableId]
  const direct = {
    tables: await printed(runTables),
    schema: await printed(runSchema, ...table),
    types: await printed(runTypes),
    csv: await exporting('-', '--format', 'csv', ...table),
    rows: await printed(runRows, ...table, '--where', '{"id":{"gt":1}}', '--columns', 'note,id'),
    found: await printed(runRows, ...table, '--search', 'A,'),
    ids: await printed(runRows, ...table, '--columns', 'id,$rowID', '--format', 'csv'),
    idLines: await printed(runRows, ...table, '--columns', '$rowID', '--json'),
    sorted: await printed(runRows, ...table, '--sort=-total', '--format', 'csv'),
  }
  const key = 'a-key-for-the-tests'
  const store = await openDirectory(directory)
  const { url, close } = await startServer(store, { keys: [{ key, teamId: 'default' }], port: 0 })
  onTestFinished(async () => {
    await close()
    await store.close()
  })
  const readServed = async () => {
    const server = ['--url', url, '--key', key]
    const asked = (run: typeof runTables, ...args: string[]) => printedAt(server, run, ...args)
    const output = new PassThrough()
    const written = text(output)
    const args = ['-', '--format', 'csv', '--table', 'Orders']
    await asked((given, io) => runExport(given, io, output, { write: () => true }), ...args)
    output.end()
    const wrong = asked(runSchema, '--table', 'Nope')
    await expect(wrong).rejects.toThrow('The team has no table "Nope"; it has "Orders", "Twice"')
    const unknown = printedAt(['--url', url, '--key', 'another-key'], runSchema, ...table)
    await expect(unknown).rejects.toThrow(
      `API key not found, or duplicate an****ey: the server at ${url} does not know this key`,
    )
    await expect(asked(runSchema, ...table, '--team', 'x')).rejects.toThrow(
      '--url cannot be combined with',
    )
    await expect(asked(runRows, '--table', 'Ordres')).rejects.toThrow('did you mean "Orders"?')
    await expect(asked(runRows, ...table, '--columns', 'nte')).rejects.toThrow(
      /^columns: the table has no column "nte"; did you mean "note"\? It has "id", /,
    )
    return {
      tables: await asked(runTables),
      schema: await asked(runSchema, ...table),
      types: await asked(runTypes),
      csv: await written,
      rows: await asked(runRows, ...table, '--where', '{"id":{"gt":1}}', '--columns', 'note,id'),
      found: await asked(runRows, ...table, '--search', 'A,'),
      ids: await asked(runRows, ...table, '--columns', 'id,$rowID', '--format', 'csv'),
      idLines: await asked(runRows, ...table, '--columns', '$rowID', '--json'),
      sorted: await asked(runRows, ...table, '--sort=-total', '--format', 'csv'),
    }
  }

  expect(direct.found).toEqual(['id  total  note', '1   34.50  a, "b"'])
  expect(await readServed()).toEqual(direct)
})

test('types are TypeScript that makes the schemas of the tables', async () => {
  const lines = (await printed(runTypes)).join('\n')
  expect(lines).toContain('export type OrdersRow = Row<typeof ordersSchema>')
  const kinds = { date: 'date', 'a b': ['number'], __x: 'uri', "it's": 'string' } as const
  const { columns } = defineSchema({ columns: { ...kinds, ['__proto__']: 'boolean' } })
  const schema = {
    columns: [...columns, { ...columns[0], id: 'due', displayName: 'Due\u2028"on\'' }],
  }
  const names = ['My orders', 'my-Orders', '2026', '', 'ÄÖ', '*/ x']
  const rendered = renderTypes(names.map((name) => ({ id: 'id', name, schema }) as never))

  const exported = [...rendered.matchAll(/^export const (\w+) =/gm)].map(([, name]) => name)
  expect(exported).toEqual([
    'myOrdersSchema',
    'myOrders2Schema',
    'table2026Schema',
    'tableSchema',
    'table2Schema',
    'xSchema',
  ])
  const javaScript = rendered
    .replace(/^import .*$/m, '')
    .replace(/^export type .*$/gm, '')
    .replaceAll('export const ', 'const ')
  const made = new Function('defineSchema', `${javaScript}; return xSchema`)(defineSchema)
  expect(made).toEqual(schema)
})

test('types of a hostile server run none of its texts', () => {
  const evil = "*/ globalThis.pwned = 1 /*\n globalThis.pwned = 1 //\u2028' \\"
  const kind = "string' }, b: { type: (globalThis.pwned = 1) as never } //"
  const columns = [
    { id: 'a', type: { kind } },
    { id: 'b', type: { kind: 'array', items: { kind } } },
    { id: evil, displayName: `${evil}2`, type: { kind: 'string' } },
  ]
  const rendered = renderTypes([{ id: evil, name: evil, schema: { columns } }] as never)
  const javaScript = rendered.replace(/^(?:import|export type) .*$/gm, '').replace('export ', '')
  const [, name = ''] = /const (\w+) =/.exec(javaScript) ?? []
  const made = new Function('defineSchema', `${javaScript}; return ${name}`)(
    (given: object) => given,
  )

  expect(Reflect.get(globalThis, 'pwned')).toBeUndefined()
  expect(made).toEqual({
    columns: { a: kind, b: [kind], [evil]: { type: 'string', displayName: `${evil}2` } },
  })
})

test('types of one table are written on request', async () => {
  await importing(join(folder, 'orders.csv'), '--table', 'Second', '--team', 'typed')
  await importing(join(folder, 'orders.csv'), '--table', 'orders', '--team', 'typed')
  const types = (...args: string[]) => printed(runTypes, '--team', 'typed', ...args)
  const [json = ''] = await types('--json', '--table', 'Second')
  const { id } = JSON.parse(json)

  expect((await types('--table', 'Second')).join('\n')).not.toContain('ordersSchema')
  expect(await types('--json', '--table-id', id)).toEqual([json])
  await expect(types('--table', 'ORDERS')).rejects.toThrow(
    'The team has no table "ORDERS"; did you mean "orders"?',
  )
  await expect(types('--table-id', 'x')).rejects.toThrow("Table with ID 'x' not found")
  await expect(types('--table', 'x', '--table-id', id)).rejects.toThrow(
    'Specify either --table or --table-id',
  )
})

test('a store with one team needs no --team, and a team without tables names the others', async () => {
  const csv = join(folder, 'team.csv')
  await writeFile(csv, 'n\n1\n')
  const at = join(folder, 'teams')
  const place = ['--directory', at]
  const put = (given: readonly string[], io: Parameters<typeof runTables>[1]) =>
    runImport(given, io, { write: () => true })
  await printedAt(place, put, csv, '--table', 'One', '--team', 'acme')
  const tables = await printedAt(place, runTables)
  const schema = await printedAt(place, runSchema, '--table', 'One')
  const stats = await printedAt(place, runStats, '--json')
  const imported = await printedAt(place, put, csv, '--table', 'Two')
  const empty = await printedAt(place, runTables, '--team', 'default')
  await printedAt(place, put, csv, '--table', 'Three', '--team', 'b')

  expect(tables).toEqual([expect.stringMatching(/\tOne$/)])
  expect(schema).toEqual(['n\tnumber'])
  expect(JSON.parse(stats[0] ?? '')).toMatchObject({ tables: 1, rows: 1 })
  expect(imported[0]).toBe('Using the team "acme", the only one with tables')
  expect(empty).toEqual([
    'rowstash: The team "default" has no tables; the teams with tables are "acme": use --team acme',
  ])
  const lines: string[] = []
  const io = { print: () => undefined, warn: (line: string) => lines.push(line), env: {} }
  const wrong = runRows([...place, '--table', 'One'], {
    ...io,
    signal: new AbortController().signal,
  })
  await expect(wrong).rejects.toThrow('The team "default" has no table "One"')
  expect(lines).toEqual([
    'rowstash: The team "default" has no tables; the teams with tables are "acme", "b": use --team acme',
  ])
})

describe('a table', () => {
  const made = async (name: string) => importing(join(folder, 'orders.csv'), '--table', name)
  const names = async (...place: string[]) =>
    (await printedAt(place, runTables)).map((line) => line.split('\t')[4])

  test('gets another name, and is deleted only with --yes', async () => {
    await made('Old')
    const place = ['--directory', directory]

    await printed(runRename, '--table', 'Old', '--to', 'New')
    expect(await names(...place)).toContain('New')
    await expect(printed(runDelete, '--table', 'New')).rejects.toThrow('--yes')
    await printed(runDelete, '--table', 'New', '--yes')

    expect(await names(...place)).not.toContain('New')
    await expect(printed(runDelete, '--table', 'New', '--yes')).rejects.toThrow('no table "New"')
  })

  test('is renamed and deleted on a server, too', async () => {
    await made('Far')
    const store = await openDirectory(directory)
    const keys = [{ key: 'k'.repeat(24), teamId: 'default' }]
    const server = await startServer(store, { keys, port: 0 })
    onTestFinished(async () => {
      await server.close()
      await store.close()
    })
    const place = ['--url', server.url, '--key', 'k'.repeat(24)]

    await printedAt(place, runRename, '--table', 'Far', '--to', 'Near')
    expect(await names(...place)).toContain('Near')
    await printedAt(place, runDelete, '--table', 'Near', '--yes')

    expect(await names(...place)).not.toContain('Near')
  })
})

describe('on a terminal', () => {
  const onTerminal = (run: (args: readonly string[], io: CommandIo) => Promise<unknown>) => {
    return (args: readonly string[], io: CommandIo) => run(args, { ...io, isTerminal: true })
  }

  test('tables have a header and columns', async () => {
    await importing(join(folder, 'orders.csv'), '--table', 'Shown', '--team', 'shown')
    const lines = await printed(onTerminal(runTables), '--team', 'shown')
    const [plain = ''] = await printed(runTables, '--team', 'shown')
    const [id = '', rows = '', bytes = ''] = plain.split('\t')

    expect(lines).toEqual([
      `id${' '.repeat(id.length)}rows  ${'bytes'.padEnd(bytes.length)}  version  name`,
      `${id}  ${rows.padEnd(4)}  ${bytes.padEnd(5)}  1        Shown`,
    ])
  })

  test('so have the columns of a table, and numbers stand below each other', async () => {
    expect(await printed(onTerminal(runSchema), '--table', 'Orders')).toEqual([
      'column  type',
      'id      number',
      'total   number',
      'note    string',
    ])
    const stats = await printed(onTerminal(runStats))
    expect(stats[0]).toMatch(/^tables {10}[0-9]+$/)
    expect(stats.join()).not.toContain('\t')
  })
})
