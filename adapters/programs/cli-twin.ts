// `rowstash twin`: a copy of a server's tables in a directory, to work with while it cannot be reached.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ClientError } from '../../src/client/client.js'
import { NO_BACKGROUND } from '../base/no-background.js'
import { openDirectory } from '../open-directory.js'
import { type CommandIo, printResult } from './cli-command.js'
import { SERVER_OPTIONS } from './cli-server-options.js'
import { TEAM_OPTION } from './cli-table-options.js'
import { teamOf, teamToImportInto } from './cli-team.js'
import { openClient, retryNotes } from './command-client.js'
import type { CommandSpec, OptionSpecs } from './command-spec.js'
import { checkKey, KEY_VARIABLE, readKeyFile } from './key-file.js'
import { ProgramFailure } from './program-failure.js'
import { openAlone, openStoreOf, type Wait } from './store-place.js'
import { type Ask, askTerminal } from './terminal.js'
import { pullTable, type Twin, type Upstream } from './twin-pull.js'
import { type PushPlan, planPush, pushTable } from './twin-push.js'
import { TwinState, type TwinTable } from './twin-state.js'

const OPTIONS = {
  upstream: {
    type: 'string',
    value: 'URL',
    help: 'the URL of the server, such as http://localhost:8080',
  },
  key: SERVER_OPTIONS.key,
  'key-file': SERVER_OPTIONS['key-file'],
  directory: {
    type: 'string',
    value: 'DIR',
    help: 'the twin; pull creates it if missing. No other process may have it open',
  },
  team: TEAM_OPTION,
  table: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'only tables with this name; may be repeated (default: all)',
  },
  discard: {
    type: 'boolean',
    default: false,
    help: 'pull: discard rows that were changed here and not pushed',
  },
  yes: { type: 'boolean', default: false, help: 'push: do not ask' },
  force: {
    type: 'boolean',
    default: false,
    help: `push: even if a table has changed upstream since it was pulled; rows that changed on both
      sides get the cells of the twin`,
  },
  json: { type: 'boolean', default: false, help: 'print each table as a line of JSON' },
} as const satisfies OptionSpecs

export const TWIN_COMMAND: CommandSpec = {
  name: 'twin',
  summary: 'keep a copy of the tables of a server',
  usage: [
    'twin pull --upstream URL --key KEY --directory DIR [options]',
    'twin push --upstream URL --key KEY --directory DIR [options]',
  ],
  about: `pull copies tables of a server into a directory, as tables that any program can change, and
    later copies only those that have changed. push sends back only the rows that were changed, added or
    deleted here. It first shows how many, because a hosted service may charge for each, and asks.`,
  options: OPTIONS,
  operands: ['pull', 'push'],
  notes: `Exit code 0: done; 1: a table was refused, or the server failed; others may be done; 2: a
    usage error.`,
  details: [
    `Each update is sent with If-Match. The next push continues one that ended early; if the effect of its
    last request is unknown, the table counts as changed upstream. Row IDs here and upstream differ. Columns, names and files are not pushed, and numbers beyond 2^53 are refused.`,
  ],
}

/** Runs `rowstash twin`. @throws {ProgramFailure} */
export async function runTwin(
  args: readonly string[],
  io: CommandIo,
  ask: Ask = askTerminal,
): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  const [action, ...more] = positionals
  if ((action !== 'pull' && action !== 'push') || more.length > 0) {
    throw new ProgramFailure('usage', 'Specify pull or push')
  }
  const wrong = action === 'pull' ? (['yes', 'force'] as const) : (['discard'] as const)
  for (const name of wrong) {
    if (values[name])
      throw new ProgramFailure('usage', `--${name} cannot be combined with ${action}`)
  }
  const upstream = await parseUpstream(values, io)
  const place = values.directory
  if (place === undefined) throw new ProgramFailure('usage', 'Give --directory')
  const open = (wait: Wait) => {
    const options = { ...NO_BACKGROUND, ...wait }
    return action === 'pull'
      ? openDirectory(resolve(place), options)
      : openStoreOf(place, io, options)
  }
  const store = await openAlone(place, open, 'end it first')
  try {
    const find = action === 'pull' ? teamToImportInto : teamOf
    const team = await find(store, values.team, io)
    const twin = { team, state: await TwinState.open(store, team.id) }
    if (action === 'pull') await pull(upstream, twin, values, io)
    else await push(upstream, twin, values, io, ask)
  } catch (failure) {
    io.signal.throwIfAborted()
    if (!(failure instanceof ClientError)) throw failure
    throw new ProgramFailure('failed', `${upstream.url}: ${failure.message}`, { cause: failure })
  } finally {
    await store.close()
  }
}

type Values = Readonly<{
  upstream?: string | undefined
  key?: string | undefined
  'key-file'?: string | undefined
  table?: readonly string[] | undefined
  discard: boolean
  yes: boolean
  force: boolean
  json: boolean
}>

async function parseUpstream(values: Values, io: CommandIo): Promise<Upstream> {
  const url = values.upstream
  if (url === undefined || !/^https?:/.test(url) || !URL.canParse(url))
    throw new ProgramFailure('usage', 'Specify --upstream with an http or https URL')
  const file = values['key-file']
  const given =
    values.key ?? (file === undefined ? io.env[KEY_VARIABLE] : (await readKeyFile(file))[0])
  if (given === undefined) {
    throw new ProgramFailure('usage', `Specify --key or --key-file, or set ${KEY_VARIABLE}`)
  }
  checkKey(values.key === undefined ? (file ?? KEY_VARIABLE) : '--key', given)
  // A hosted service may not know Idempotency-Key: no request is repeated that could have an effect twice.
  const onRetry = retryNotes((line) => io.warn(`rowstash: ${line}`))
  const client = openClient({ url, key: given, idempotencyKeys: false, onRetry })
  return { url: url.replace(/\/+$/, ''), client, signal: io.signal }
}

async function pull(upstream: Upstream, twin: Twin, values: Values, io: CommandIo): Promise<void> {
  const tables = await upstream.client.tables({ signal: io.signal })
  const wanted = chosen(tables, values.table)
  const failures: ProgramFailure[] = []
  for (const table of wanted) {
    const report = await pullTable(upstream, twin, table, values).catch((failure: unknown) => {
      if (!(failure instanceof ProgramFailure)) throw failure
      io.warn(`rowstash: ${failure.message}`)
      failures.push(failure)
      return undefined
    })
    if (report === undefined) continue
    const text = report === null ? 'unchanged' : `${report.rows} rows, table ${report.tableId}`
    const result = { name: table.name, isPulled: report !== null, ...report }
    printResult(io, values.json, result, `${table.name}: ${text}`)
  }
  refuseAll(failures)
}

async function push(
  upstream: Upstream,
  twin: Twin,
  values: Values,
  io: CommandIo,
  ask: Ask,
): Promise<void> {
  const tables = await twin.state.list(upstream.url)
  if (tables.length === 0) {
    throw new ProgramFailure('failed', `Nothing was pulled from ${upstream.url}`)
  }
  const plans: PushPlan[] = []
  const failures: ProgramFailure[] = []
  for (const table of chosen<TwinTable>(tables, values.table)) {
    try {
      plans.push(await planPush(upstream, twin, table, values))
    } catch (failure) {
      if (!(failure instanceof ProgramFailure)) throw failure
      io.warn(`rowstash: ${failure.message}`)
      failures.push(failure)
    }
  }
  const open = plans.filter(({ rows }) => rows > 0)
  for (const { table, counts } of open) {
    const { changed, added, deleted } = counts
    const text = `${table.name}: ${changed} rows changed, ${added} added, ${deleted} deleted`
    printResult(io, values.json, { name: table.name, ...counts }, text)
  }
  const rows = open.reduce((sum, plan) => sum + plan.rows, 0)
  const end = (pushed: number, text: string): void => printResult(io, values.json, { pushed }, text)
  if (rows === 0) end(0, 'Nothing to push')
  else if (await isAgreed(rows, values.yes, ask)) {
    let pushed = 0
    for (const plan of open) {
      await pushTable(upstream, twin, plan, (count) => {
        pushed += count
      })
    }
    end(pushed, `${pushed} rows pushed`)
  } else end(0, 'Nothing was pushed')
  refuseAll(failures)
}

async function isAgreed(rows: number, yes: boolean, ask: Ask): Promise<boolean> {
  if (yes) return true
  const answer = await ask(`Update ${rows} rows upstream? [y/N] `)
  if (answer !== undefined) return answer
  throw new ProgramFailure(
    'failed',
    `${rows} rows would be updated upstream; add --yes to push them`,
  )
}

/** The tables with these names. @throws {ProgramFailure} if there is none with one of them */
function chosen<T extends Readonly<{ name: string }>>(
  tables: readonly T[],
  names: readonly string[] | undefined,
): readonly T[] {
  if (names === undefined) return tables
  for (const name of names) {
    if (tables.some((table) => table.name === name)) continue
    throw new ProgramFailure('failed', `There is no table "${name}"`)
  }
  return tables.filter(({ name }) => names.includes(name))
}

function refuseAll(failures: readonly ProgramFailure[]): void {
  const count = failures.length
  if (count > 0)
    throw new ProgramFailure(
      'failed',
      `${count} ${count === 1 ? 'table was' : 'tables were'} refused`,
    )
}
