// `rowstash stats`: the sizes of a store, or the metrics of a server.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Store, Team } from '../../../src/index.js'
import { printFields } from '../command/columns.js'
import type { CommandIo } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { parseServerUrl } from '../stores/command-client.js'
import { bytesBelow } from '../stores/directory-bytes.js'
import { PLACE_ENVIRONMENT } from '../stores/postgres-place.js'
import { openStoreOrServer, type StorePlace } from '../stores/store-place.js'
import {
  PLACE_FORM,
  parseStorePlace,
  resolveServer,
  TEAM_OPTIONS,
} from '../stores/table-options.js'
import { chooseTeam } from '../stores/team.js'

const OPTIONS = {
  ...TEAM_OPTIONS,
  directory: {
    ...TEAM_OPTIONS.directory,
    help: 'a store, even while "rowstash serve" has it open',
  },
  key: { ...TEAM_OPTIONS.key, help: 'a key of --admin-key-file (default: ROWSTASH_KEY)' },
  json: { type: 'boolean', default: false, help: 'print all numbers as one line of JSON' },
} as const satisfies OptionSpecs

export const STATS_COMMAND: CommandSpec = {
  name: 'stats',
  summary: 'show sizes, counts and metrics of a store',
  usage: [`stats ${PLACE_FORM} [--json]`],
  about: `Prints numbers of a store, each as name, tab and value: tables, rows, stashes. tableBytes is
    the size of the rows after compression. directoryBytes is the size of all files, including those not
    deleted yet, such as orphans, which "rowstash verify" counts. If a server has the store open, all its metrics are printed, as by GET
    /metrics.`,
  options: OPTIONS,
  notes: 'Exit code 0: done; 1: the store cannot be read; 2: a usage error.',
  details: [PLACE_ENVIRONMENT],
}

/** Values by name, in the order of printing. */
type Numbers = Readonly<Record<string, number>>

/** Runs `rowstash stats`. @throws {ProgramFailure} */
export async function runStats(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const server = await resolveServer(values, io)
  const numbers =
    server === undefined
      ? await readStats(parseStorePlace(values, io), values.team, io)
      : await fetchMetrics(parseServerUrl(server.url), server.key, io.signal)
  if (values.json) return io.print(JSON.stringify(numbers))
  const lines = Object.entries(numbers).map(([name, value]) => [name, String(value)])
  printFields(io, lines)
}

async function readStats(
  place: StorePlace,
  teamId: string | undefined,
  io: CommandIo,
): Promise<Numbers> {
  const opened = await openStoreOrServer(
    place,
    io,
    'if it serves the store, use --url with one of its adminKeys',
  )
  if ('served' in opened) {
    return fetchMetrics(opened.served.url, opened.served.adminKey, io.signal)
  }
  const held = await heldBy(opened.store, teamId, io)
  return typeof place === 'string'
    ? { ...held, directoryBytes: await bytesBelow(resolve(place)) }
    : held
}

async function heldBy(store: Store, teamId: string | undefined, io: CommandIo): Promise<Numbers> {
  try {
    return await countsOfTeam(await chooseTeam(store, teamId, io))
  } finally {
    await store.close()
  }
}

async function countsOfTeam(team: Team): Promise<Numbers> {
  const [tables, stashes] = [await team.tables(), await team.stashes()]
  return {
    tables: tables.length,
    rows: sumNumbers(tables.map(({ rowCount }) => rowCount)),
    tableBytes: sumNumbers(tables.map(({ bytes }) => bytes)),
    stashes: stashes.length,
    stashedChunks: sumNumbers(stashes.map(({ chunks }) => chunks)),
    stashedRows: sumNumbers(stashes.map(({ rows }) => rows)),
  }
}

function sumNumbers(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** @throws {ProgramFailure} */
async function fetchMetrics(url: string, key: string, signal: AbortSignal): Promise<Numbers> {
  const headers = { authorization: `Bearer ${key}` }
  let answer: Response
  let text = ''
  try {
    answer = await fetch(`${url}/metrics`, { headers, signal })
    if (answer.ok) text = await answer.text()
  } catch (cause) {
    signal.throwIfAborted()
    const { message } = Object((cause as Error).cause ?? cause) as Error
    throw new ProgramFailure('failed', `No server answers at ${url}: ${message}`, { cause })
  }
  if (answer.ok) {
    const numbers = parseMetricNumbers(text)
    if (Object.keys(numbers).some((name) => name.startsWith('rowstash_'))) return numbers
    throw new ProgramFailure('failed', `The server at ${url} serves no metrics of rowstash`)
  }
  await answer.body?.cancel()
  const isRefused = [401, 403, 404].includes(answer.status)
  const problem = isRefused
    ? `The server at ${url} shows its metrics only to admin keys, and this key is not one`
    : `The server at ${url} answered with status ${answer.status}`
  throw new ProgramFailure('failed', `${problem}; "rowstash tables" accepts any key`)
}

/** The samples of Prometheus text, by name with labels. */
function parseMetricNumbers(text: string): Numbers {
  const samples = text.split('\n').flatMap((line): [string, number][] => {
    const [, name, value] = /^([a-z]\S*|[a-z][^{]*\{.*\}) (\S+)$/i.exec(line) ?? []
    return name === undefined ? [] : [[name, Number(value)]]
  })
  return Object.fromEntries(samples)
}
