// The team that a command works on.
import type { Store, Team } from '../../../src/index.js'
import { type CommandIo, TEAM_DEFAULT } from '../command/command.js'

/** The maximum number of teams that are searched for tables, and of teams in a message. */
const TEAMS_ASKED_MAX = 1_000
const TEAMS_SHOWN_MAX = 5

/**
 * The named team; without a name, the only team with tables, otherwise "default". Warns if the team has no tables but
 * others do.
 */
export async function chooseTeam(
  store: Store,
  name: string | undefined,
  { warn }: Pick<CommandIo, 'warn'>,
): Promise<Team> {
  const chosen = store.team(name ?? TEAM_DEFAULT)
  if (await hasTables(chosen)) return chosen
  const others = await teamsWithTables(store)
  const [only, ...more] = others
  if (only === undefined) return chosen
  if (name === undefined && more.length === 0) return store.team(only)
  warn(`rowstash: ${renderEmpty(chosen.id, others)}`)
  return chosen
}

/** The team for an import: a named team may be new, and the choice of an unnamed one is reported. */
export async function teamToImportInto(
  store: Store,
  name: string | undefined,
  io: Pick<CommandIo, 'warn'>,
): Promise<Team> {
  if (name !== undefined) return store.team(name)
  const team = await chooseTeam(store, undefined, io)
  if (team.id !== TEAM_DEFAULT) {
    io.warn(`Using the team ${JSON.stringify(team.id)}, the only one with tables`)
  }
  return team
}

function renderEmpty(id: string, others: readonly string[]): string {
  const shown = others.slice(0, TEAMS_SHOWN_MAX).map((other) => JSON.stringify(other))
  const more = others.length > shown.length ? ` and ${others.length - shown.length} more` : ''
  const problem = `The team ${JSON.stringify(id)} has no tables`
  return `${problem}; the teams with tables are ${shown.join(', ')}${more}: use --team ${others[0]}`
}

async function teamsWithTables(store: Store): Promise<readonly string[]> {
  const found: string[] = []
  for (const id of (await store.teams()).slice(0, TEAMS_ASKED_MAX)) {
    if (await hasTables(store.team(id))) found.push(id)
  }
  return found
}

async function hasTables(team: Team): Promise<boolean> {
  return (await team.tableNames()).length > 0
}
