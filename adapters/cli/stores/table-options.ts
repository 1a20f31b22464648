// The options for the store, the team and the table of a command.
import type { Client } from '../../../src/client/client.js'
import type { Team } from '../../../src/index.js'
import { type CommandIo, TEAM_DEFAULT } from '../command/command.js'
import type { OptionSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { type Asking, explained, findTableId, openClient, retryNotes } from './command-client.js'
import { PLACE_OPTIONS, parsePostgresPlace } from './postgres-place.js'
import {
  type CommandTable,
  type ListedTable,
  listTableInfos,
  ownTable,
  remoteTable,
} from './remote-store.js'
import { parseServer, readKey, SERVER_OPTIONS, type ServerValues } from './server-options.js'
import { openUnserved, type StorePlace } from './store-place.js'
import { chooseTeam } from './team.js'

export const DIRECTORY_OPTION = {
  type: 'string',
  value: 'DIR',
  help: 'a store that no other process has open',
} as const satisfies OptionSpec

export const TEAM_OPTION = {
  type: 'string',
  value: 'TEAM',
  help: `default: the only team with tables, else ${TEAM_DEFAULT}`,
} as const satisfies OptionSpec

export const TEAM_OPTIONS = {
  directory: DIRECTORY_OPTION,
  ...SERVER_OPTIONS,
  team: TEAM_OPTION,
  ...PLACE_OPTIONS,
} as const satisfies OptionSpecs

export const TABLE_OPTIONS = {
  ...TEAM_OPTIONS,
  table: { type: 'string', value: 'NAME', help: 'the only table with that name' },
  'table-id': { type: 'string', value: 'ID', help: 'the table with that ID' },
} as const satisfies OptionSpecs

/** The place in the usage of commands that read a store or a server. */
export const PLACE_FORM = '--directory DIR | --url URL'

export type TeamValues = ServerValues &
  Readonly<{
    postgres?: string[] | undefined
    s3?: string | undefined
  }>

type TableValues = TeamValues &
  Readonly<{ table?: string | undefined; 'table-id'?: string | undefined }>

/** Opens the store of the options while the function runs. @throws {ProgramFailure} */
export async function withTeam<T>(
  values: TeamValues,
  io: CommandIo,
  use: (team: Team) => Promise<T>,
): Promise<T> {
  const store = await openUnserved(parseStorePlace(values, io), io)
  try {
    return await use(await chooseTeam(store, values.team, io))
  } finally {
    await store.close()
  }
}

export function parseStorePlace(values: TeamValues, { env }: CommandIo): StorePlace {
  const { directory } = values
  const place = parsePostgresPlace(values, env, { isElsewhere: directory !== undefined })
  const found = place ?? directory
  if (found !== undefined) return found
  throw new ProgramFailure(
    'usage',
    'Specify a store with --directory or --postgres, or a server with --url',
  )
}

/** The server in the options; undefined: none. @throws {ProgramFailure} */
export async function resolveServer(
  values: TeamValues,
  io: CommandIo,
): Promise<Asking | undefined> {
  const server = parseServer(values, io.env)
  if (server === undefined) return undefined
  const isElsewhere = [values.directory, values.team, values.postgres, values.s3]
  if (isElsewhere.every((value) => value === undefined)) {
    const onRetry = retryNotes((line) => io.warn(`rowstash: ${line}`))
    return { url: server.url, key: await readKey(server.key), onRetry }
  }
  throw new ProgramFailure(
    'usage',
    '--url cannot be combined with --directory, --team, --postgres and --s3',
  )
}

/** Uses the server in the options. @throws {ProgramFailure} for failures of the client */
export async function asking<T>(server: Asking, use: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await use(openClient(server))
  } catch (failure) {
    throw explained(failure, server)
  }
}

/** The tables of the team in the options, in a store or on a server. @throws {ProgramFailure} */
export async function listTeamTables(
  values: TeamValues,
  io: CommandIo,
): Promise<readonly ListedTable[]> {
  const server = await resolveServer(values, io)
  if (server !== undefined) return asking(server, (client) => listTableInfos(client, io.signal))
  return withTeam(values, io, (team) => team.tables())
}

/** Opens the table in the options, in a store or on a server. @throws {ProgramFailure} */
export async function withTable<T>(
  values: TableValues,
  io: CommandIo,
  use: (table: CommandTable) => Promise<T>,
): Promise<T> {
  const { table: name, 'table-id': tableId } = values
  if ((name === undefined) === (tableId === undefined)) {
    throw new ProgramFailure('usage', 'Specify either --table or --table-id')
  }
  const server = await resolveServer(values, io)
  if (server !== undefined) {
    return asking(server, async (client) => {
      const id = tableId ?? findTableId(await client.tables({ signal: io.signal }), name ?? '')
      return use(remoteTable(client, id))
    })
  }
  return withTeam(values, io, async (team) => {
    const owner = `The team "${team.id}"`
    const id = tableId ?? findTableId(await team.tableNames(), name ?? '', owner)
    return use(ownTable(team.table(id)))
  })
}
