// The API keys that a store keeps: of a directory that nobody has open, or through the server that has it open.
import { parseArgs } from 'node:util'
import type { AddKeyRequest, ApiKey, ApiKeys } from '../../src/index.js'
import { servedKeys } from './admin-client.js'
import { type CommandIo, HELP_OPTION, parseIntegerOption, TEAM_DEFAULT } from './cli-command.js'
import { PLACE_HINT, PLACE_OPTIONS, parsePostgresPlace } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import { openStoreOrServer, type StorePlace } from './store-place.js'

export const KEYS_USAGE = `Usage: rowstash keys add --directory DIR [--team TEAM] [--label TEXT] [--scope SCOPE]...
                     [--table TABLEID]... [--expires DAYS]
       rowstash keys list --directory DIR [--team TEAM] [--json]
       rowstash keys revoke KEYID --directory DIR

Manages the API keys that a store keeps, also while \`rowstash serve\` has the directory open. The store
keeps a digest of each key: "keys add" prints the key, and nothing can print it again.

  --directory DIR  the directory of the store
  --team TEAM      the team whose tables the key reaches (default of add: default; of list: all)
  --label TEXT     what the key is for
  --scope SCOPE    read, write or upload; may be repeated (default: all three)
  --table TABLEID  a table that the key reaches; may be repeated (default: all tables of the team)
  --expires DAYS   when the key stops working, in days from now (default: never)
  --json           print each key as a line of JSON
  -h, --help       show this text

A revoked key is unknown from the next request on.
${PLACE_HINT}
`

const DAY_MS = 86_400_000
const DAYS_MAX = 36_500

const OPTIONS = {
  directory: { type: 'string' },
  ...PLACE_OPTIONS,
  team: { type: 'string' },
  label: { type: 'string' },
  scope: { type: 'string', multiple: true },
  table: { type: 'string', multiple: true },
  expires: { type: 'string' },
  json: { type: 'boolean' },
  help: HELP_OPTION,
} as const

type OptionName = keyof typeof OPTIONS

/** The options that name a store. */
const PLACES: readonly string[] = ['directory', ...Object.keys(PLACE_OPTIONS)]

/** The options of each command, beside those. */
const TAKES: Readonly<Record<string, readonly OptionName[]>> = {
  add: ['team', 'label', 'scope', 'table', 'expires'],
  list: ['team', 'json'],
  revoke: [],
}

/** Runs `rowstash keys`. @throws {ProgramFailure} */
export async function runKeys(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  if (values.help) return io.print(KEYS_USAGE.trimEnd())
  const [command = '', ...operands] = positionals
  checkUse(command, operands, Object.keys(values))
  const { directory, team } = values
  const place =
    parsePostgresPlace(values, io.env, { isElsewhere: directory !== undefined }) ?? directory
  if (place === undefined) {
    throw new ProgramFailure('usage', 'Name the store by --directory or --postgres')
  }
  const request = command === 'add' ? requestOf(values) : undefined
  await withKeys(place, io, async (keys) => {
    if (request !== undefined) return showAdded(await keys.add(request), io)
    if (command === 'list') return showList(await keys.list(team), values.json === true, io)
    const [id = ''] = operands
    if (await keys.revoke(id)) return io.print(`revoked ${id}`)
    throw new ProgramFailure('failed', `The store has no API key with the ID "${id}"`)
  })
}

function checkUse(command: string, operands: readonly string[], given: readonly string[]): void {
  const taken = TAKES[command]
  if (taken === undefined) {
    throw new ProgramFailure('usage', 'Name what to do with keys: add, list or revoke')
  }
  const other = given.find((name) => {
    return !PLACES.includes(name) && !taken.some((known) => known === name)
  })
  if (other !== undefined) throw new ProgramFailure('usage', `keys ${command} takes no --${other}`)
  if (operands.length === (command === 'revoke' ? 1 : 0)) return
  const problem = command === 'revoke' ? 'Name the ID of one key' : `keys ${command} takes options`
  throw new ProgramFailure('usage', problem)
}

type AddValues = Readonly<{
  team?: string | undefined
  label?: string | undefined
  scope?: readonly string[] | undefined
  table?: readonly string[] | undefined
  expires?: string | undefined
}>

/** The store checks the scopes and the tables. */
function requestOf({ team, label, scope, table, expires }: AddValues): AddKeyRequest {
  return {
    teamId: team ?? TEAM_DEFAULT,
    ...(label !== undefined && { label }),
    ...(scope && { scopes: scope as NonNullable<AddKeyRequest['scopes']> }),
    ...(table && { tables: table }),
    ...(expires !== undefined && { expiresAt: parseExpiry(expires) }),
  }
}

function parseExpiry(days: string): number {
  const count = parseIntegerOption('--expires', days, 1, DAYS_MAX)
  return Date.now() + count * DAY_MS
}

/** Opens the store; or, if a server has it open, asks that one. */
async function withKeys(
  place: StorePlace,
  io: CommandIo,
  use: (keys: Pick<ApiKeys, 'add' | 'list' | 'revoke'>) => Promise<void>,
): Promise<void> {
  const opened = await openStoreOrServer(place, io)
  if ('served' in opened) return use(servedKeys(opened.served, io.signal))
  const { store } = opened
  try {
    await use(store.keys)
  } finally {
    await store.close()
  }
}

function showAdded({ key, ...about }: ApiKey & Readonly<{ key: string }>, io: CommandIo): void {
  io.print(key)
  io.warn(`${describe(about)}; the key is shown only now`)
}

function showList(keys: readonly ApiKey[], json: boolean, io: CommandIo): void {
  for (const key of keys) io.print(json ? JSON.stringify(key) : describe(key))
}

function describe(key: ApiKey): string {
  const { id, teamId, label, scopes, tables, createdAt, expiresAt, tail } = key
  const parts = [
    id,
    `…${tail}`,
    `team ${teamId}`,
    scopes.join(','),
    tables === undefined ? 'all tables' : `${tables.length} tables`,
    `made ${new Date(createdAt).toISOString()}`,
    ...(expiresAt === undefined ? [] : [`expires ${new Date(expiresAt).toISOString()}`]),
    ...(label === '' ? [] : [JSON.stringify(label)]),
  ]
  return parts.join('  ')
}
