// `npm start`: serves ./rowstash-data, fills an empty store with a data set over HTTP, and prints commands to try.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isStoreError } from '../../../src/index.js'
import { openDirectory } from '../../node.js'
import { EXIT_CODE, parseIntegerOption, whenAborted } from '../command/command.js'
import { linesToTry } from '../command/lines-to-try.js'
import { ProgramFailure } from '../command/program-failure.js'
import { openProgress, renderCount } from '../command/progress.js'
import { openTerminal, printLines } from '../command/terminal.js'
import { importFiles } from '../import/import-files.js'
import { FailureLog, faultText } from '../server/failure-log.js'
import { readOrMakeKey } from '../server/key-file.js'
import { serveOwnStore } from '../server/server.js'

const DIRECTORY = './rowstash-data'
const TEAM = 'default'
const TABLE = 'Flights'

/** 231,083 flights with delay, distance and time, 9.9 MB of JSON: part of a development dependency. */
const DATA_SET = '../data/flights-200k.json'

const { print, warn, progress: terminal } = openTerminal(process.stdout, process.stderr)

async function serveLocally(signal: AbortSignal): Promise<void> {
  const port = parseIntegerOption('PORT', process.env['PORT'] || '8080', 0, 65_535)
  const directory = resolve(DIRECTORY)
  const store = await openDirectory(directory)
  const { key } = await readOrMakeKey(directory).catch(async (failure: unknown) => {
    await store.close()
    throw failure
  })
  const failures = new FailureLog((text) => printLines(warn, text))
  const server = await serveOwnStore(store, {
    host: '127.0.0.1',
    port,
    baseUrl: undefined,
    page: true,
    keys: [{ key, teamId: TEAM }],
    apps: undefined,
    onFailure: (failure) => failures.note(failure),
    onWarning: warn,
  })
  try {
    const team = store.team(TEAM)
    if ((await team.tableNames()).length === 0) await importDataSet(server.url, key, signal)
    for (const line of await linesToTry(team, TABLE, server.url, key)) print(line)
    print('')
    print(`the page: ${server.url}/ (enter the key ${key})`)
    print(`listening on ${server.url}, data in ${directory}; Ctrl-C stops it`)
    await whenAborted(signal)
  } finally {
    await server.close().finally(() => failures.close())
  }
}

async function importDataSet(url: string, key: string, signal: AbortSignal): Promise<void> {
  const path = dataSetPath()
  print(`importing ${path}`)
  const progress = openProgress(terminal, 0)
  const { rows: rowCount, seconds } = await importFiles({
    files: [{ path, format: 'json' }],
    url,
    key,
    target: { name: TABLE },
    chunkRowsMax: 1_000,
    parallel: 8,
    signal,
    onRetry: (reason) => progress.note(reason),
  })
  const rate = renderCount(Math.round(rowCount / seconds))
  print(
    `imported ${renderCount(rowCount)} rows in ${seconds.toFixed(2)} s: ${rate} rows/s over HTTP, durable`,
  )
}

function dataSetPath(): string {
  const entry = import.meta.resolve('vega-datasets')
  const path = fileURLToPath(new URL(DATA_SET, entry))
  if (existsSync(path)) return path
  throw new ProgramFailure('failed', `${path} is missing; run npm install`)
}

/** Runs until a signal ends it. @returns the exit code. */
async function runUntilSignal(): Promise<number> {
  const ended = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => ended.abort(new ProgramFailure(name, `Stopped by ${name}`)))
  }
  try {
    await serveLocally(ended.signal)
    return EXIT_CODE.done
  } catch (failure) {
    const isForPeople = failure instanceof ProgramFailure || isStoreError(failure)
    if (isForPeople) warn(failure.message)
    else printLines(warn, faultText(failure))
    return EXIT_CODE.failed
  }
}

// All files are private to the user, including those that LevelDB writes itself.
process.umask(0o077)

process.exitCode = await runUntilSignal()
