// `rowstash open`: a store in the browser of its user.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Store } from '../../../src/index.js'
import { closeServer, hardenServer, nodeHandler, serverOptions } from '../../node.js'
import { openDirectory } from '../../open-directory.js'
import { createGuard } from '../../page/guard.js'
import { installedParquet } from '../../parquet/load-parquet.js'
import {
  type CommandIo,
  DAY_MS,
  parseIntegerOption,
  printResult,
  whenAborted,
} from '../command/command.js'
import {
  type CommandSpec,
  DIR_OPTION,
  type OptionSpecs,
  withDirectory,
} from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { printLines } from '../command/terminal.js'
import { FailureLog } from '../server/failure-log.js'
import { makeKey } from '../server/key-file.js'
import { openExistingStore, openStoreOrServer } from '../stores/store-place.js'
import { TEAM_OPTION } from '../stores/table-options.js'
import { chooseTeam } from '../stores/team.js'

/** How many days a writable page keeps history. */
const HISTORY_DAYS = 7

const OPTIONS = {
  write: {
    type: 'boolean',
    default: false,
    help: `allow imports, changes and deletes, keep their history for ${HISTORY_DAYS} days, and create DIR if it is new;
      otherwise the page is read-only`,
  },
  team: TEAM_OPTION,
  port: {
    type: 'string',
    default: '0',
    value: 'PORT',
    help: 'the port of 127.0.0.1 to listen on (default: any free one)',
  },
  browser: {
    type: 'boolean',
    default: false,
    help: 'open the address in the browser of this machine',
  },
  json: {
    type: 'boolean',
    default: false,
    help: 'print url, directory, team and writable as a line of JSON',
  },
  ...DIR_OPTION,
} as const satisfies OptionSpecs

export const OPEN_COMMAND: CommandSpec = {
  name: 'open',
  summary: 'show a store in the browser',
  usage: ['open DIR [--write] [--team TEAM] [--port PORT] [--browser]'],
  about: `Shows a store in a browser: its tables, imports of dropped files, and its health. Prints an
    address, which works once and in one tab, and ends on SIGTERM or SIGINT (Ctrl-C).`,
  options: OPTIONS,
  hasOperands: true,
  notes: `Exit code 0: it was stopped; 1: the store cannot be opened; 2: a usage error. A store that a
    server has open is shown by that server: "rowstash serve --page".`,
}

type OpenCommand = Readonly<{
  directory: string
  writable: boolean
  team: string | undefined
  port: number
  browser: boolean
  json: boolean
}>

/** Runs `rowstash open` until the signal. @throws {ProgramFailure} */
export async function runOpen(args: readonly string[], io: CommandIo): Promise<void> {
  const command = parseOpenArgs(args)
  const store = await openShown(command, io)
  const failures = new FailureLog((text) => printLines(io.warn, text))
  try {
    const { id: team } = await chooseTeam(store, command.team, io)
    const { address, server } = await serveToOpener(store, { ...command, team }, failures)
    try {
      const { directory, writable, json } = command
      printResult(io, json, { url: address, directory, team, writable }, `open ${address}`)
      if (command.browser) showInBrowser(address, io)
      await whenAborted(io.signal)
    } finally {
      await closeServer(server, 0)
    }
  } finally {
    failures.close()
    await store.close()
  }
}

function parseOpenArgs(args: readonly string[]): OpenCommand {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  const [directory, ...more] = withDirectory(values.directory, positionals)
  if (directory === undefined || more.length > 0) {
    throw new ProgramFailure('usage', 'Specify one directory')
  }
  return {
    directory: resolve(directory),
    writable: values.write,
    team: values.team,
    port: parseIntegerOption('--port', values.port, 0, 65_535),
    browser: values.browser,
    json: values.json,
  }
}

/** Opens the store. A store that is only shown must exist, and does no work in the background. @throws {ProgramFailure} */
async function openShown({ directory, writable }: OpenCommand, io: CommandIo): Promise<Store> {
  const hint = '; with --write, open creates one'
  const opened = await openStoreOrServer(directory, io, 'stop it', (wait) =>
    writable
      ? openDirectory(directory, { ...wait, historyRetentionMs: HISTORY_DAYS * DAY_MS })
      : openExistingStore(directory, io, { maintenance: false, hint, ...wait }),
  )
  if ('store' in opened) return opened.store
  const problem = `A server at ${opened.served.url} has ${directory} open`
  const advice = 'open its address; if it shows no page, restart that server with --page'
  throw new ProgramFailure('failed', `${problem}; ${advice}`)
}

type Listening = Readonly<{ address: string; server: Server }>

/** A random secret that lasts as long as the process. */
function secret(): string {
  return randomBytes(32).toString('base64url')
}

/** Serves a store to the first user of the address. */
async function serveToOpener(
  store: Store,
  { directory, writable, team, port }: OpenCommand & Readonly<{ team: string }>,
  failures: FailureLog,
): Promise<Listening> {
  const [key, listKey, adminKey, token] = [makeKey(), makeKey(), makeKey(), secret()]
  const parquet = await installedParquet()
  const handler = nodeHandler(store, {
    keys: [
      { key, teamId: team, ...(writable ? {} : { scopes: ['read'] }) },
      { key: listKey, teamId: team },
    ],
    adminKeys: [adminKey],
    page: true,
    parquet,
    onFailure: (failure) => failures.note(failure),
  })
  const server = hardenServer(createServer(serverOptions))
  const bound = await bind(server, port)
  const guard = createGuard({
    hosts: [`127.0.0.1:${bound}`, `localhost:${bound}`],
    token,
    key,
    listKey,
    adminKey,
    session: {
      mode: 'session',
      key: secret(),
      writable,
      parquet: parquet !== undefined,
      team,
      place: basename(directory),
    },
  })
  server.on('request', (request, response) => {
    guard(request, response, () => handler(request, response))
  })
  return { address: `http://127.0.0.1:${bound}/#token=${token}`, server }
}

function bind(server: Server, port: number): Promise<number> {
  return new Promise((done, fail) => {
    server.once('error', (failure: NodeJS.ErrnoException) => {
      const problem = failure.code === 'EADDRINUSE' ? 'is in use' : `fails: ${failure.message}`
      fail(new ProgramFailure('failed', `Port ${port} of 127.0.0.1 ${problem}`, { cause: failure }))
    })
    server.listen(port, '127.0.0.1', () => done((server.address() as AddressInfo).port))
  })
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

function showInBrowser(address: string, { warn }: CommandIo): void {
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true })
  child.on('error', () => warn(`rowstash: ${program} does not start; open the address yourself`))
  child.unref()
}
