// `rowstash export` of a directory, and the built program on a directory that another process has open.
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { EXIT_CODE } from '../../adapters/cli/command/command.js'
import { runBackup } from '../../adapters/cli/commands/backup.js'
import { runExport } from '../../adapters/cli/commands/export.js'
import { ExportedCount } from '../../adapters/cli/commands/exported-count.js'
import { jsonArrayOf } from '../../adapters/cli/commands/json-array.js'
import { runMaintain } from '../../adapters/cli/commands/maintain.js'
import { runVerify } from '../../adapters/cli/commands/verify.js'
import { openDirectory } from '../../adapters/node.js'
import { buildCli, runCli, serveCli } from '../support/built-cli.js'
import { CSV, type Run, useOrders } from './orders-store.js'

const { folder, directory, printed, importing, exporting } = useOrders()

describe('an export', () => {
  test('is the file that was imported, with every digit', async () => {
    const path = join(folder, 'out.csv')
    await exporting(path, '--table', 'Orders')

    expect(await readFile(path, 'utf8')).toBe(CSV)
    expect((await readdir(folder)).filter((name) => name.startsWith('out.csv.'))).toEqual([])
  })

  test('touches no other file, whatever its name', async () => {
    const path = join(folder, 'beside.csv')
    const [own, linked] = [`${path}.part`, join(folder, 'linked.txt')]
    await writeFile(own, 'mine')
    await writeFile(linked, 'mine')
    await symlink(linked, `${path}.tmp`)
    await exporting(path, '--table', 'Orders')
    await expect(exporting(path, '--table', 'Orders')).rejects.toThrow(/exists/)

    expect(await readFile(path, 'utf8')).toBe(CSV)
    expect([await readFile(own, 'utf8'), await readFile(linked, 'utf8')]).toEqual(['mine', 'mine'])
    const names = (await readdir(folder)).filter((name) => name.startsWith('beside.csv'))
    expect(names.sort()).toEqual(['beside.csv', 'beside.csv.part', 'beside.csv.tmp'])
  })

  test('begins with a byte order mark for Excel, if that is asked for', async () => {
    const path = join(folder, 'excel.csv')
    await exporting(path, '--table', 'Orders', '--bom')
    await importing(path, '--table', 'Excel')

    expect(await readFile(path, 'utf8')).toBe(`\ufeff${CSV}`)
    expect(await exporting('-', '--format', 'csv', '--table', 'Excel')).toBe(CSV)
    const json = exporting('-', '--format', 'json', '--table', 'Orders', '--bom')
    await expect(json).rejects.toThrow('--bom is only for csv and tsv')
  })

  test('has no formulas, if that is asked for', async () => {
    await writeFile(join(folder, 'formulas.csv'), '=n,at\n-1,@sum\n2,x\n')
    await importing(join(folder, 'formulas.csv'), '--table', 'Formulas')
    const exported = (...args: string[]) =>
      exporting('-', '--format', 'csv', '--table', 'Formulas', ...args)

    expect(await exported()).toBe('=n,at\n-1,@sum\n2,x\n')
    expect(await exported('--formulas', 'escape')).toBe("'=n,at\n-1,'@sum\n2,x\n")
    const json = exporting('-', '--format', 'json', '--table', 'Orders', '--formulas', 'escape')
    await expect(json).rejects.toThrow('--formulas escape is only for csv and tsv')
  })

  test('is compressed by its name, and can be imported again', async () => {
    const path = join(folder, 'out.ndjson.gz')
    await exporting(path, '--table', 'Orders')
    const lines = gunzipSync(await readFile(path)).toString()
    await writeFile(join(folder, 'again.ndjson'), lines)
    await importing(join(folder, 'again.ndjson'), '--table', 'Again')

    expect(lines.split('\n')[1]).toBe('{"id":2,"total":9007199254740993.0}')
    expect(await exporting('-', '--format', 'csv', '--table', 'Again')).toBe(CSV)
  })

  test('is compressed by its name in capitals, too', async () => {
    const path = join(folder, 'OUT.CSV.GZ')
    await exporting(path, '--table', 'Orders')

    expect(gunzipSync(await readFile(path)).toString()).toBe(CSV)
  })

  test('has the rows and the columns that are asked for', async () => {
    const where = ['--where', '{ "id": { "gt": 1 } }']
    const out = await exporting('-', '--format', 'ndjson', '--table', 'Orders', ...where)
    const columns = ['--columns', 'note,id']
    const narrow = await exporting(
      '-',
      '--format',
      'csv',
      '--table',
      'Orders',
      ...where,
      ...columns,
    )

    expect(out).toBe('{"id":2,"total":9007199254740993.0}\n{"id":3,"total":7,"note":"x"}\n')
    expect(narrow).toBe('note,id\n,2\nx,3\n')
    const lines = await exporting('-', '--format', 'ndjson', '--table', 'Orders', ...columns)
    expect(lines.split('\n')[2]).toBe('{"note":"x","id":3}')
  })

  test('has tabs for TSV, and tells what it wrote for programs', async () => {
    const path = join(folder, 'out.tsv')
    const lines = await printed(
      (given, io) => runExport(given, io, new PassThrough(), { write: () => true }),
      ...[path, '--table', 'Orders', '--json'],
    )
    await importing(path, '--table', 'From TSV')
    const written = await readFile(path, 'utf8')

    expect(written.split('\n').slice(0, 2)).toEqual(['id\ttotal\tnote', '1\t34.50\t"a, ""b"""'])
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { path, format: 'tsv', rows: 3, bytes: written.length },
    ])
    expect(await exporting('-', '--format', 'csv', '--table', 'From TSV')).toBe(CSV)
  })

  test.each([
    ['told.csv', 4],
    ['told.tsv', 4],
    ['told.ndjson.gz', 4],
    ['told.json', 4],
    ['told.parquet', 4],
  ])('tells people what it wrote: %s', async (name, rows) => {
    const source = join(folder, 'quoted.csv')
    await writeFile(source, 'a,b\n1,"x\ny"\n2,"\n"\n"3",plain\n4,"a ""q""\n"\n')
    const team = ['--table', 'Quoted', '--team', `team-${name.replaceAll('.', '-')}`]
    await importing(source, ...team)
    const path = join(folder, name)

    const lines = await printed(
      (given, io) => runExport(given, io, new PassThrough(), { write: () => true }),
      path,
      ...team,
    )

    expect(lines).toEqual([`${rows} rows, ${(await stat(path)).size} bytes in ${path}`])
  })

  test('is one array as JSON, with every digit, and can be imported again', async () => {
    const path = join(folder, 'out.json')
    await exporting(path, '--table', 'Orders')
    await importing(path, '--table', 'From JSON')
    const none = ['--where', '{ "id": 99 }']

    expect((await readFile(path, 'utf8')).split('\n').slice(1)).toEqual([
      '{"id":2,"total":9007199254740993.0},',
      '{"id":3,"total":7,"note":"x"}]',
      '',
    ])
    expect(await exporting('-', '--format', 'csv', '--table', 'From JSON')).toBe(CSV)
    expect(await exporting('-', '--format', 'json', '--table', 'Orders', ...none)).toBe('[]\n')
  })

  test('is one array wherever its text is cut', async () => {
    const lines = '{"a":"\u00fc\u{1f600}"}\n{"a":"x\\ny"}\n{"b":[1,2]}\n'
    const bytes = Buffer.from(lines)
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const cut = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      }
      const pieces: Buffer[] = []
      for await (const piece of jsonArrayOf(cut())) pieces.push(Buffer.from(piece))

      expect(Buffer.concat(pieces).toString()).toBe(`[${lines.trim().replaceAll('\n', ',\n')}]\n`)
    }
  })

  /** Exports with a clock that advances ten seconds at each reading. @returns the progress that was shown */
  async function shownBy(path: string, stderrIsTTY: boolean, stdoutIsTTY = false): Promise<string> {
    let nowMs = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 10_000))
    onTestFinished(() => clock.mockRestore())
    let shown = ''
    const write = (text: string) => (shown += text)
    const output = Object.assign(new PassThrough(), { isTTY: stdoutIsTTY })
    const run: Run = (given, io) => runExport(given, io, output, { isTTY: stderrIsTTY, write })
    await printed(run, path, '--format', 'csv', '--table', 'Orders', '--overwrite')
    return shown
  }

  test('shows rows, bytes of the file and speed: lines of JSON, or a line on a terminal', async () => {
    const path = join(folder, 'shown.csv')
    const lines = (await shownBy(path, false)).trim().split('\n')
    const { progress } = JSON.parse(lines.at(-1) ?? '')
    const packed = join(folder, 'shown.csv.gz')
    const last = (await shownBy(packed, false)).trim().split('\n').at(-1) ?? ''

    expect(progress).toMatchObject({ rows: 3, bytes: CSV.length })
    expect(progress.rowsPerSecond).toBeGreaterThanOrEqual(0)
    expect(JSON.parse(last).progress).toMatchObject({ bytes: (await stat(packed)).size })
    expect(await shownBy(path, true)).toMatch(/3 rows {2}0\.0 MB {2}\d+ rows\/s/)
  })

  test('to the standard output shows its progress unless that is a terminal', async () => {
    expect(await shownBy('-', false)).toContain('"progress"')
    expect(await shownBy('-', true, true)).toBe('')
  })

  test('leaves the file as it was when it fails', async () => {
    const path = join(folder, 'kept.csv')
    await writeFile(path, 'before')
    const how = ['--table', 'Orders', '--overwrite']
    const wrong = exporting(path, ...how, '--where', '{"nope":1}')

    await expect(wrong).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    expect(await readFile(path, 'utf8')).toBe('before')
    expect((await readdir(folder)).filter((name) => name.startsWith('kept.csv.'))).toEqual([])
    const nowhere = exporting(join(folder, 'none', 'x.csv'), '--table', 'Orders')
    await expect(nowhere).rejects.toThrow(/^The file .*x\.csv cannot be written: ENOENT/)
  })

  test('replaces a file only where that is asked for', async () => {
    const path = join(folder, 'taken.csv')
    await writeFile(path, 'before')

    await expect(exporting(path, '--table', 'Orders')).rejects.toThrow(
      `The file ${path} exists; use --overwrite to replace it`,
    )
    expect(await readFile(path, 'utf8')).toBe('before')
    await exporting(path, '--table', 'Orders', '--overwrite')
    expect(await readFile(path, 'utf8')).toBe(CSV)
    const isNone = exporting(folder, '--format', 'csv', '--table', 'Orders', '--overwrite')
    await expect(isNone).rejects.toThrow(`${folder} is not a file; use FILE "-" to write to`)
  })

  test.each([
    [[], 'Specify one file'],
    [['x.txt', '--table', 'Orders'], 'does not show the format'],
    [
      ['x.csv', '--format', 'xml', '--table', 'Orders'],
      '--format must be csv, tsv, ndjson, json or parquet',
    ],
    [['x.csv'], 'Specify either --table or --table-id'],
    [
      ['-', '--format', 'csv', '--json', '--table', 'Orders'],
      '--json cannot be combined with FILE "-"',
    ],
    [['x.csv', '--table', 'Nope'], 'has no table "Nope"'],
    [['x.csv', '--table', 'Orders', '--where', '{'], '--where is not JSON'],
    [['x.csv', '--table', 'Orders', '--columns', '[1]'], '--columns must be column IDs'],
  ])('of %j is refused', async (args, message) => {
    await expect(exporting(...args)).rejects.toThrow(message)
  })
})

test.each([[[directory]], [['x.csv', directory]], [[directory, 'x.csv']]])(
  'a directory among the files %j is refused, and the message names --directory',
  async (files) => {
    const io = { print: vi.fn(), warn: vi.fn(), env: {}, signal: new AbortController().signal }
    const ended = runExport([...files, '--table', 'Orders'], io, new PassThrough(), {
      write: () => true,
    })

    await expect(ended).rejects.toMatchObject({
      kind: 'usage',
      message: `${directory} is a directory; use --directory ${directory}`,
    })
  },
)

test('the built program exports, and ends with the codes of its help', async () => {
  const cli = await buildCli()
  const place = ['--directory', directory]
  const done = await runCli(cli.path, [
    'export',
    '-',
    '--format',
    'csv',
    '--table',
    'Orders',
    ...place,
  ])
  const failed = await runCli(cli.path, ['schema', '--table', 'Nope', ...place])
  const wrong = await runCli(cli.path, ['tables'])
  const alone = await runCli(cli.path, ['tables', directory])
  const verified = await runCli(cli.path, ['verify', ...place])
  const backup = join(folder, 'named.backup')
  const backedUp = await runCli(cli.path, ['backup', ...place, backup])
  const named = await runCli(cli.path, ['demo', ...place])
  const bare = await runCli(cli.path, [])
  const serving = await serveCli(cli.path, ['--directory', directory])
  const locked = await runCli(cli.path, ['tables', ...place])
  const importArgs = [join(folder, 'orders.csv'), '--table', 'Locked', ...place]
  const lockedImport = await runCli(cli.path, ['import', ...importArgs])
  const lockedMaintenance = await runCli(cli.path, ['maintain', ...place])
  await serving.stop()

  expect(done).toEqual({ code: 0, stdout: CSV, stderr: '' })
  expect(failed).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^rowstash: The team "default" has no table "Nope"; it has "Orders", /,
    ),
  })
  expect(bare).toMatchObject({ code: 2, stdout: '' })
  expect(bare.stderr).toMatch(/^ {2}import {2}/m)
  expect(locked).toMatchObject({ code: 1, stdout: '' })
  expect(locked.stderr).toContain(
    `A server at ${serving.url} has ${directory} open; use --url ${serving.url}, and its key`,
  )
  expect(lockedImport).toEqual({ ...locked, stdout: '' })
  expect(lockedMaintenance).toEqual({
    code: 1,
    stdout: '',
    stderr: `rowstash: A server at ${serving.url} has ${directory} open; it does this on its own\n`,
  })
  expect(alone).toMatchObject({ code: 0, stderr: '' })
  expect(alone.stdout).toContain('\tOrders\n')
  expect([verified.code, backedUp.code]).toEqual([0, 0])
  expect(backedUp.stdout).toContain(` bytes in ${backup}`)
  expect(named.stderr).toContain(
    `Unknown option '--directory': give the directory without this option`,
  )
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--directory') })
})

test('a directory that another process has open is named, with what to do', async () => {
  const store = await openDirectory(directory)
  const io = {
    print: () => undefined,
    warn: () => undefined,
    env: {},
    signal: new AbortController().signal,
  }
  try {
    const held = importing(join(folder, 'orders.csv'), '--table', 'Held')
    await expect(held).rejects.toThrow(
      /already has the directory .* open; if it serves the store over HTTP, use --url; else wait until it has ended, or stop it$/,
    )
    vi.stubEnv('ROWSTASH_WAIT_MS', '1')
    const told: string[] = []
    const noted = { ...io, warn: (line: string) => told.push(line) }
    await expect(runMaintain(['--directory', directory], noted)).rejects.toThrow(' open; ')
    expect(told).toEqual([`waiting for ${directory}, which another process has open, up to 1 s`])
    vi.unstubAllEnvs()
    const maintain = runMaintain(['--directory', directory], io)
    await expect(maintain).rejects.toThrow(/ open; wait until it has ended, or stop it$/)
    const backup = runBackup([directory, join(folder, 'held.backup')], io)
    await expect(backup).rejects.toThrow(
      / open; wait until it has ended, or call backupToFile\(store, FILE\) in it, or POST \/admin\/backup of its handler with one of its adminKeys$/,
    )
    const lines: string[] = []
    const warn = (line: string) => lines.push(line)
    expect(await runVerify([directory], { ...io, warn })).toBe(EXIT_CODE.notOpened)
    expect(lines).toEqual([
      expect.stringMatching(
        / open; wait until it has ended, or call store\.verify\(\) in it, or POST \/admin\/verify of its handler with one of its adminKeys$/,
      ),
    ])
  } finally {
    await store.close()
  }
})

test('rows are counted whatever the pieces of their text are', async () => {
  const csv = 'a,b\n1,"x\ny\n"\n2,"é""\n"\n3,z\n'
  for (let size = 1; size <= csv.length; size++) {
    const pieces = async function* () {
      for (let at = 0; at < csv.length; at += size) yield csv.slice(at, at + size)
    }
    const count = new ExportedCount()
    let passed = ''
    for await (const piece of count.pass(pieces(), true)) passed += String(piece)

    expect([count.lines, passed], `pieces of ${size}`).toEqual([4, csv])
  }
})
