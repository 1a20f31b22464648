// `rowstash demo`: a store with a table, its server and its page, until Ctrl-C.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Team } from '../../../src/index.js'
import { openDirectory } from '../../open-directory.js'
import {
  type CommandIo,
  parseIntegerOption,
  TEAM_DEFAULT,
  whenAborted,
} from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { linesToTry } from '../command/lines-to-try.js'
import { ProgramFailure } from '../command/program-failure.js'
import { renderCount } from '../command/progress.js'
import { printLines } from '../command/terminal.js'
import { FailureLog } from '../server/failure-log.js'
import { makeKey } from '../server/key-file.js'
import { serveOwnStore } from '../server/server.js'
import { sampleRows } from './sample-rows.js'

const OPTIONS = {
  port: {
    type: 'string',
    default: '0',
    value: 'PORT',
    help: 'the port of 127.0.0.1 to listen on (default: any free one)',
  },
  json: {
    type: 'boolean',
    default: false,
    help: 'print url, key, directory, tableId and rows as a line of JSON',
  },
} as const satisfies OptionSpecs

export const DEMO_COMMAND: CommandSpec = {
  name: 'demo',
  summary: 'try it out: a table, a server and its page',
  usage: ['demo [DIR] [--port PORT] [--json]'],
  about: `Creates a store with a table of 20,000 orders in DIR, or in a temporary directory that is
    deleted at the end, serves it with a page for people, and prints commands to try. It ends on SIGTERM
    or SIGINT (Ctrl-C). A DIR that already has tables is served unchanged.`,
  options: OPTIONS,
  hasOperands: true,
  notes: 'Exit code 0: it was stopped; 1: it could not start; 2: a usage error.',
}

const TABLE = 'Orders'
const ROWS = 20_000
const CHUNK_ROWS = 1_000

/** Runs `rowstash demo` until the signal. @throws {ProgramFailure} */
export async function runDemo(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  const [given, ...more] = positionals
  if (more.length > 0) throw new ProgramFailure('usage', 'Specify one directory, or none')
  const port = parseIntegerOption('--port', values.port, 0, 65_535)
  const made = given === undefined ? await mkdtemp(join(tmpdir(), 'rowstash-demo-')) : undefined
  try {
    await serveDemo(made ?? resolve(given ?? ''), port, values.json, io)
  } finally {
    if (made !== undefined) await rm(made, { recursive: true, force: true })
  }
}

async function serveDemo(
  directory: string,
  port: number,
  json: boolean,
  io: CommandIo,
): Promise<void> {
  const store = await openDirectory(directory)
  const team = store.team(TEAM_DEFAULT)
  const key = makeKey()
  const failures = new FailureLog((text) => printLines(io.warn, text))
  const server = await serveOwnStore(store, {
    host: '127.0.0.1',
    port,
    baseUrl: undefined,
    page: true,
    keys: [{ key, teamId: TEAM_DEFAULT }],
    apps: undefined,
    onFailure: (failure) => failures.note(failure),
    onWarning: (warning) => io.warn(`rowstash: ${warning}`),
  })
  try {
    const { url } = server
    const table = await tableOf(team)
    if (json) io.print(JSON.stringify({ url, key, directory, ...table }))
    else
      for (const line of await renderDemoLines(team, { url, key, directory, ...table }))
        io.print(line)
    await whenAborted(io.signal)
  } finally {
    await server.close().finally(() => failures.close())
  }
}

type DemoTable = Readonly<{ tableId: string; rows: number }>

/** The first table of the team; if there is none, a new one. */
async function tableOf(team: Team): Promise<DemoTable> {
  const [first] = await team.tables()
  if (first !== undefined) return { tableId: first.id, rows: first.rowCount }
  const stash = team.stash('demo')
  const puts: Promise<unknown>[] = []
  for (let at = 0; at < ROWS; at += CHUNK_ROWS) {
    puts.push(stash.put(String(at), { json: sampleRows(at, at + CHUNK_ROWS) }))
  }
  await Promise.all(puts)
  const { tableId } = await team.createTable({ name: TABLE, rows: stash })
  await stash.delete()
  return { tableId, rows: ROWS }
}

type Demo = DemoTable & Readonly<{ url: string; key: string; directory: string }>

async function renderDemoLines(team: Team, { url, key, directory, tableId, rows }: Demo) {
  const server = `--url ${url} --key ${key}`
  const table = `--table-id ${tableId}`
  return [
    `${renderCount(rows)} rows in ${directory}, served at ${url}`,
    `the page: ${url}/ (enter the key ${key})`,
    ...(await linesToTry(team, TABLE, url, key)),
    '',
    '# The same by commands',
    `npx rowstash rows ${server} ${table} --where '{ "total": { "gt": 990 } }'`,
    `npx rowstash export orders.csv ${server} ${table}`,
    `npx rowstash import orders.csv ${server} --table Copy`,
    '',
    'Ctrl-C stops it',
  ]
}
