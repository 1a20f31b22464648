// `rowstash keys`: the API keys in a store, opened directly or through the server that has it open.
import { parseArgs } from 'node:util'
import type { AddKeyRequest, ApiKey, ApiKeys } from '../../../src/index.js'
import {
  type CommandIo,
  DAY_MS,
  parseIntegerOption,
  printResult,
  TEAM_DEFAULT,
} from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { servedKeys } from '../stores/admin-client.js'
import { PLACE_ENVIRONMENT, PLACE_OPTIONS, parsePostgresPlace } from '../stores/postgres-place.js'
import { openStoreOrServer, type StorePlace } from '../stores/store-place.js'

const OPTIONS = {
  directory: { type: 'string', value: 'DIR', help: 'the directory of the store' },
  team: {
    type: 'string',
    value: 'TEAM',
    help: 'the team whose tables the key reaches (default of add: "default"; of list: all teams)',
  },
  label: { type: 'string', value: 'TEXT', help: 'what the key is for' },
  scope: {
    type: 'string',
    multiple: true,
    value: 'read|write|upload',
    help: 'what the key may do; may be repeated (default: all three)',
  },
  table: {
    type: 'string',
    multiple: true,
    value: 'TABLEID',
    help: 'a table that the key reaches; may be repeated (default: all of the team)',
  },
  expires: {
    type: 'string',
    value: 'DAYS',
    help: 'when the key expires, in days from now (default: never)',
  },
  json: {
    type: 'boolean',
    default: false,
    help: 'print each key, or the ID of the revoked one, as a line of JSON',
  },
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const KEYS_COMMAND: CommandSpec = {
  name: 'keys',
  summary: 'create, list and revoke API keys',
  usage: [
    'keys add --directory DIR [--team TEAM] [--label TEXT] [options]',
    'keys list --directory DIR [--team TEAM] [--json]',
    'keys revoke KEYID --directory DIR [--json]',
  ],
  about: `Manages the API keys that a store keeps, even while "rowstash serve" has the directory open.
    The store keeps a digest of each key: "keys add" prints the key, which cannot be shown again.`,
  options: OPTIONS,
  hasOperands: true,
  notes: `A revoked key is refused from the next request on. Exit code 0: done; 1: it failed; 2: a
    usage error.`,
  details: [PLACE_ENVIRONMENT],
}

const DAYS_MAX = 36_500

type OptionName = keyof typeof OPTIONS

/** The options of all key commands: those that name a store, and `--json`. */
const ALWAYS: readonly string[] = ['directory', 'json', ...Object.keys(PLACE_OPTIONS)]

/** The options of each key command besides those in `ALWAYS`. */
const TAKES: Readonly<Record<string, readonly OptionName[]>> = {
  add: ['team', 'label', 'scope', 'table', 'expires'],
  list: ['team'],
  revoke: [],
}

/** Runs `rowstash keys`. @throws {ProgramFailure} */
export async function runKeys(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  const [command = '', ...operands] = positionals
  checkUse(command, operands, values)
  const { directory, team } = values
  const place =
    parsePostgresPlace(values, io.env, { isElsewhere: directory !== undefined }) ?? directory
  if (place === undefined) {
    throw new ProgramFailure('usage', 'Specify the store with --directory or --postgres')
  }
  const request = command === 'add' ? requestOf(values) : undefined
  await withOpenKeys(place, io, async (keys) => {
    if (request !== undefined) return showAdded(await keys.add(request), values.json, io)
    if (command === 'list') return showList(await keys.list(team), values.json, io)
    const [id = ''] = operands
    if (await keys.revoke(id)) return printResult(io, values.json, { id }, `revoked ${id}`)
    throw new ProgramFailure('failed', `The store has no API key with the ID "${id}"`)
  })
}

function checkUse(command: string, operands: readonly string[], values: object): void {
  const taken = TAKES[command]
  if (taken === undefined) {
    throw new ProgramFailure('usage', 'Specify what to do with keys: add, list or revoke')
  }
  const other = Object.keys(values).find((name) => {
    return !ALWAYS.includes(name) && !taken.some((known) => known === name)
  })
  if (other !== undefined)
    throw new ProgramFailure('usage', `keys ${command} does not accept --${other}`)
  if (operands.length === (command === 'revoke' ? 1 : 0)) return
  const problem =
    command === 'revoke' ? 'Specify the ID of one key' : `keys ${command} takes only options`
  throw new ProgramFailure('usage', problem)
}

type AddValues = Readonly<{
  team?: string | undefined
  label?: string | undefined
  scope?: readonly string[] | undefined
  table?: readonly string[] | undefined
  expires?: string | undefined
}>

/** The request for the key that the options describe. The store checks its scopes and tables. */
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

/** Advice if another program has the store open. */
const KEYS_INSTEAD = 'use store.keys in it, or /admin/keys of its handler with one of its adminKeys'

/** Opens the store, or uses the server that has it open. */
async function withOpenKeys(
  place: StorePlace,
  io: CommandIo,
  use: (keys: Pick<ApiKeys, 'add' | 'list' | 'revoke'>) => Promise<void>,
): Promise<void> {
  const opened = await openStoreOrServer(place, io, KEYS_INSTEAD)
  if ('served' in opened) return use(servedKeys(opened.served, io.signal))
  const { store } = opened
  try {
    await use(store.keys)
  } finally {
    await store.close()
  }
}

function showAdded(added: ApiKey & Readonly<{ key: string }>, json: boolean, io: CommandIo): void {
  const { key, ...about } = added
  printResult(io, json, added, key)
  io.warn(`${describeKey(about)}; the key cannot be shown again`)
}

function showList(keys: readonly ApiKey[], json: boolean, io: CommandIo): void {
  for (const key of keys) io.print(json ? JSON.stringify(key) : describeKey(key))
}

function describeKey(key: ApiKey): string {
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
