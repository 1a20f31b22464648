// The store, the team and the table that a command reads: options, and how they are found.
import type { Table, Team } from '../../src/index.js'
import { type CommandIo, TEAM_DEFAULT } from './cli-command.js'
import { PLACE_OPTIONS, parsePostgresPlace } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import { openStoreOf, type StorePlace } from './store-place.js'

/** IDs that a message lists, at most. */
const SHOWN_IDS_MAX = 5

export const TEAM_OPTIONS = {
  directory: { type: 'string' },
  ...PLACE_OPTIONS,
  team: { type: 'string', default: TEAM_DEFAULT },
} as const

export const TABLE_OPTIONS = {
  ...TEAM_OPTIONS,
  table: { type: 'string' },
  'table-id': { type: 'string' },
} as const

export const TEAM_USAGE = `  --directory DIR   the directory of the store; nobody else may have it open
  --team TEAM       the team whose tables are read (default: default)`

export const TABLE_USAGE = `  --table NAME      the table, by its name
  --table-id ID     the table, by its ID`

type TeamValues = Readonly<{
  directory?: string | undefined
  postgres?: string[] | undefined
  s3?: string | undefined
  team: string
}>

type TableValues = TeamValues &
  Readonly<{ table?: string | undefined; 'table-id'?: string | undefined }>

/** Opens the store of the options, and closes it when the function has ended. @throws {ProgramFailure} */
export async function withTeam<T>(
  values: TeamValues,
  io: CommandIo,
  use: (team: Team) => Promise<T>,
): Promise<T> {
  const store = await openStoreOf(placeOf(values, io), io)
  try {
    return await use(store.team(values.team))
  } finally {
    await store.close()
  }
}

function placeOf(values: TeamValues, { env }: CommandIo): StorePlace {
  const { directory } = values
  const place = parsePostgresPlace(values, env, { isElsewhere: directory !== undefined })
  const found = place ?? directory
  if (found !== undefined) return found
  throw new ProgramFailure('usage', 'Name the store by --directory or --postgres')
}

/** As `withTeam`, with the table of the options. @throws {ProgramFailure} */
export function withTable<T>(
  values: TableValues,
  io: CommandIo,
  use: (table: Table) => Promise<T>,
): Promise<T> {
  const { table: name, 'table-id': tableId } = values
  if ((name === undefined) === (tableId === undefined)) {
    throw new ProgramFailure('usage', 'Give either --table or --table-id')
  }
  return withTeam(values, io, async (team) => {
    return use(tableId === undefined ? await tableOfName(team, name ?? '') : team.table(tableId))
  })
}

async function tableOfName(team: Team, name: string): Promise<Table> {
  const found = await team.tablesByName(name)
  const [table] = found
  if (table === undefined) {
    throw new ProgramFailure('failed', `The team "${team.id}" has no table "${name}"`)
  }
  if (found.length === 1) return table
  const ids = found.slice(0, SHOWN_IDS_MAX).map(({ id }) => id)
  throw new ProgramFailure(
    'failed',
    `${found.length} tables have the name "${name}"; give --table-id, such as ${ids.join(' or ')}`,
  )
}
