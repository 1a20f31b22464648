// Goal: no text from a server or from data controls a terminal, hides in its output, or begins a line; output to a file
// or a pipe keeps the data's bytes.
// Method: every command that reads a store or a server, with hostile names, values and answers, on a terminal and on a
// pipe; and a check of the sources, where only `terminal.ts` writes.
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../adapters/cli/all-commands.js'
import { openTerminal } from '../../adapters/cli/command/terminal.js'
import { runCommandLine } from '../../adapters/cli/run-command.js'
import { faultText } from '../../adapters/cli/server/failure-log.js'
import { openDirectory } from '../../adapters/node.js'
import { fakeServer } from '../support/fake-server.js'
import { projectFiles, readText } from '../support/project.js'

/** A window title, colours, a direction override, a hidden letter, and lines that pretend to be of another program. */
const EVIL = '\u001b]0;title\u0007\u001b[31mred\u009b31m\u202egpj\u200b\rFORGED\nFORGED\u2028FORGED'
const ACTS = /[\p{Cc}\p{DI}\u2028\u2029]/u
const LOG_TABLE = 'plain'
const KEY = 'k'.repeat(20)

const folder = mkdtempSync(join(tmpdir(), 'rowstash-terminal-'))
const directory = join(folder, 'store')
const bad = join(folder, `bad\u001b[31m\u202e.csv`)
const place = ['--directory', directory, '--team', 'default']
const ran = new Set<string>()

type Shown = Readonly<{ code: number; out: string; err: string }>

async function run(isTTY: boolean, args: readonly string[]): Promise<Shown> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  for (const stream of [stdout, stderr]) Object.assign(stream, { isTTY })
  const written = Promise.all([text(stdout), text(stderr)])
  ran.add(args[0] ?? '')
  const { signal } = new AbortController()
  const io = { ...openTerminal(stdout, stderr), env: {}, signal }
  const code = await runCommandLine(args, io)
  await turn() // Rows on a terminal pass through a separate stream.
  stdout.end()
  stderr.end()
  const [out, err] = await written
  return { code, out, err }
}

/** The parts of an output that control the terminal. A progress bar clears its line. */
function actsIn(output: string, isOfRows: boolean): readonly string[] {
  const lines = output.replaceAll('\r\u001b[2K', '').split('\n')
  return lines.filter((line) => {
    return ACTS.test(line.replaceAll('\t', '')) || (!isOfRows && line.startsWith('FORGED'))
  })
}

const ROWS_IN_BULK = /--format|^export/

async function expectCalm(args: readonly string[], codes: readonly number[] = [0]): Promise<void> {
  const shown = await run(true, args)
  const isOfRows = ROWS_IN_BULK.test(args.join(' '))
  expect([args, actsIn(shown.out, isOfRows), actsIn(shown.err, false)]).toEqual([args, [], []])
  expect([args, codes.includes(shown.code), shown]).toEqual([args, true, shown])
  expect(`${shown.out}${shown.err}`).not.toBe('')
}

beforeAll(async () => {
  const store = await openDirectory(directory)
  const team = store.team('default')
  await team.createTable({ name: EVIL, rows: [{ [EVIL]: EVIL, a: 1 }] })
  await team.createTable({ name: LOG_TABLE, rows: [{ a: EVIL, [EVIL]: EVIL }] })
  await store.team(`team ${EVIL}`).createTable({ name: 'x', rows: [{ a: 1 }] })
  await team.stash('s').put('0', [{ a: 1 }])
  await store.keys.add({ teamId: 'default', label: EVIL })
  await store.close()
  await writeFile(bad, `a,"${EVIL}"\n1,2\nx,"${EVIL}"\n`)
})

afterAll(() => rm(folder, { recursive: true }))

describe('on a terminal', () => {
  test.each([
    ['tables', []],
    ['tables', ['--json']],
    ['schema', ['--table', LOG_TABLE]],
    ['schema', ['--table', LOG_TABLE, '--json']],
    ['types', []],
    ['types', ['--json']],
    ['stats', []],
    ['stashes', []],
    ['rows', ['--table', LOG_TABLE]],
    ...['csv', 'tsv', 'ndjson', 'json'].flatMap((format): [string, string[]][] => [
      ['rows', ['--table', LOG_TABLE, '--format', format]],
      ['export', ['-', '--table', LOG_TABLE, '--format', format]],
    ]),
    ['import', [bad, '--table', 'new', '--new-table']],
    ['import', [bad, '--table', 'new', '--new-table', '--check']],
    ['rename', ['--table', EVIL, '--to', `${EVIL}2`]],
    ['delete', ['--table', `${EVIL}2`, '--yes']],
  ])('%s of a store with hostile names and values (%#)', async (name, args) => {
    await expectCalm([name, ...args, ...place])
  })

  test.each([
    ['rows', ['--table', EVIL]],
    ['rows', ['--table', LOG_TABLE, '--columns', EVIL.slice(1)]],
    ['rows', ['--table', LOG_TABLE, '--where', JSON.stringify({ [`x${EVIL}`]: 1 })]],
    ['tables', ['--team', EVIL]],
    ['schema', ['--table', EVIL.slice(1)]],
    ['import', [`${bad}x`, '--table', 'new']],
    ['import', [bad, '--table', 'new', '--on-error', EVIL]],
    ['export', [`${folder}/${EVIL.replaceAll('/', '')}`, '--table', LOG_TABLE]],
    ['stashes', ['--stash', EVIL, '--delete']],
    [EVIL, []],
  ])('a refusal (%#)', async (name, args) => {
    await expectCalm([name, ...place, ...args], [0, 1, 2])
  })

  test('keys, garbage collection, verify, backup and export to a file', async () => {
    await expectCalm(['keys', 'list', '--directory', directory])
    await expectCalm(['maintain', '--directory', directory])
    await expectCalm(['verify', directory])
    await expectCalm(['backup', directory, join(folder, `backup${ESCAPES_OF_PATH}`)])
    const path = join(folder, `rows${ESCAPES_OF_PATH}.csv`)
    await expectCalm(['export', path, ...place, '--table', LOG_TABLE])
  })

  test('Parquet is refused', async () => {
    const args = ['export', '-', ...place, '--table', LOG_TABLE, '--format', 'parquet']
    expect(await run(true, args)).toMatchObject({ code: 2, out: '' })
  })

  test('answers of a hostile server', async () => {
    const column = { id: EVIL, type: { kind: EVIL }, displayName: `x${EVIL}` }
    const table = { id: `i${EVIL}`, name: `n${EVIL}`, rowCount: 1, version: 1, bytes: 1 }
    const dates = { createdAt: 0, updatedAt: 0 }
    const { url } = await fakeServer(({ path }) => {
      const headers = { 'content-type': 'application/json', etag: '"1"' }
      const answer = (data: unknown) => ({ status: 200, headers, body: { data } })
      if (/^\/tables(?:\?|$)/.test(path)) return answer([table, { id: 'ok', name: 'ok' }])
      if (path.includes('/rows')) return answer([{ $rowID: `r${EVIL}`, [EVIL]: EVIL }])
      if (path.startsWith('/stashes')) {
        return answer([{ id: EVIL, chunks: 1, rows: 1, createdAt: 0, expiresAt: 0 }])
      }
      return answer({ ...table, ...dates, schema: { columns: [column] } })
    })
    const server = ['--url', url, '--key', KEY]
    for (const args of [
      ['tables'],
      ['tables', '--json'],
      ['schema', '--table', 'ok'],
      ['types'],
      ['rows', '--table', 'ok'],
      ['rows', '--table', 'ok', '--format', 'csv'],
      ['rows', '--table', 'nope'],
      ['stashes'],
      ['import', bad, '--table', `n${EVIL}`],
    ]) {
      await expectCalm([...args, ...server], [0, 1])
    }
  })

  test('errors of a hostile server', async () => {
    const error = { type: `t${EVIL}`, message: `m ${EVIL}` }
    const { url } = await fakeServer(() => ({ status: 400, body: { error } }))
    const server = ['--url', url, '--key', KEY]
    for (const args of [
      ['tables'],
      ['types'],
      ['stashes'],
      ['stats'],
      ['schema', '--table', 'x'],
      ['rows', '--table', 'x'],
      ['export', '-', '--format', 'csv', '--table', 'x'],
      ['import', bad, '--table', 'x'],
      ['watch', '--table', 'x'],
      ['rename', '--table', 'x', '--to', 'y'],
      ['delete', '--table', 'x', '--yes'],
    ]) {
      await expectCalm([...args, ...server], [1])
    }
  })
})

/** The name of a file may have these everywhere. */
const ESCAPES_OF_PATH = '\u001b[31m\u202e'

test('every command was run but those that quote neither data nor a server', () => {
  const own = ['serve', 'open', 'demo', 'restore', 'move', 'recover', 'torture']
  const names = COMMANDS.map(({ spec }) => spec.name)
  expect(names.filter((name) => !ran.has(name))).toEqual(names.filter((name) => own.includes(name)))
})

describe('on a pipe', () => {
  test('rows keep their bytes', async () => {
    const store = await openDirectory(directory)
    const table = await store.team('default').tableByName(LOG_TABLE)
    const csv = table === null ? '' : await text(table.toCSV())
    const ndjson = table === null ? '' : await text(table.toNDJSON())
    await store.close()

    expect(csv).toContain(EVIL)
    for (const [format, bytes] of [
      ['csv', csv],
      ['ndjson', ndjson],
    ] as const) {
      const args = ['--table', LOG_TABLE, '--format', format, ...place]
      expect(await run(false, ['rows', ...args])).toMatchObject({ code: 0, out: bytes })
      expect(await run(false, ['export', '-', ...args])).toMatchObject({ code: 0, out: bytes })
    }
  })

  test('lists and messages are lines, whatever they quote', async () => {
    for (const args of [['tables'], ['tables', '--json'], ['rows', '--table', EVIL.slice(1)]]) {
      const { out, err } = await run(false, [...args, ...place])
      expect([args, actsIn(out, false), actsIn(err, false)]).toEqual([args, [], []])
    }
    const { out } = await run(false, ['tables', '--json', ...place])
    expect(
      out
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).name),
    ).toContain(LOG_TABLE)
  })
})

test('a fault is told in one line, and its places', () => {
  const places = faultText(new TypeError(EVIL)).split('\n')
  expect(places[0]).toMatch(/^TypeError: .*FORGED FORGED/)
  expect(places.slice(1).filter((line) => !line.startsWith('    at '))).toEqual([])
})

test('only the terminal module writes to the streams of a process', () => {
  const sources = projectFiles().filter((path) => {
    return /^(?:src|adapters)\/.*\.ts$/.test(path) && !path.startsWith('adapters/page/browser/')
  })
  const writes =
    /\bconsole\.|\bprocess\.std(?:out|err)\b(?!\.on\()|\.(?:note|output|stdout|stderr)\.write\(/
  const found = sources.flatMap((path) => {
    const lines = readText(path).split('\n')
    const code = lines.filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
    return code.filter((line) => writes.test(line)).map((line) => `${path}: ${line.trim()}`)
  })
  expect(found).toEqual([
    'adapters/cli/cli.ts: const terminal = openTerminal(process.stdout, process.stderr)',
    'adapters/cli/commands/start.ts: const { print, warn, progress: terminal } = openTerminal(process.stdout, process.stderr)',
  ])
})

test('a failure names the option as it was given', async () => {
  const { err } = await run(true, ['rows', ...place, '--table', LOG_TABLE, '--sort', 'orderBy'])
  expect(err).toContain('--sort: the table has no column "orderBy"')
})
