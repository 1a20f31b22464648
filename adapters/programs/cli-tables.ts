// `rowstash tables`, `schema` and `types`: what a store has, for people, scripts and compilers.
import { parseArgs } from 'node:util'
import type { Column } from '../../src/index.js'
import { escapeControls } from '../base/arguments.js'
import { type CommandIo, HELP_OPTION } from './cli-command.js'
import {
  TABLE_OPTIONS,
  TABLE_USAGE,
  TEAM_OPTIONS,
  TEAM_USAGE,
  tablesOf,
  withTable,
} from './cli-table-options.js'
import { PLACE_HINT } from './postgres-place.js'
import type { ListedTable } from './remote-store.js'
import { renderType, renderTypes } from './table-types.js'

export const TABLES_USAGE = `Usage: rowstash tables --directory DIR | --url URL --key KEY [--json]

Lists the tables of a team, the oldest first: ID, rows, bytes, version and name, with tabs between
them.

${TEAM_USAGE}
  --json            print each table as a line of JSON, with its schema
  -h, --help        show this text

Exit code 1: the store cannot be read; 2: a wrong call.
${PLACE_HINT}
`

export const SCHEMA_USAGE = `Usage: rowstash schema --directory DIR | --url URL --key KEY --table NAME [--json]

Shows the columns of a table: ID, type and display name, with tabs between them.

${TEAM_USAGE}
${TABLE_USAGE}
  --json            print the schema as a line of JSON
  -h, --help        show this text

Exit code 1: there is no such table, or the store cannot be read; 2: a wrong call.
${PLACE_HINT}
`

export const TYPES_USAGE = `Usage: rowstash types --directory DIR | --url URL --key KEY

Writes TypeScript to the standard output: for each table of a team a schema as defineSchema takes it,
and the type of its rows. "team.table(id, schema)" is then a table with these rows.

${TEAM_USAGE}
  -h, --help        show this text

Exit code 1: the store cannot be read; 2: a wrong call.
${PLACE_HINT}
`

const JSON_OPTION = { type: 'boolean', default: false } as const

/** Runs `rowstash tables`. @throws {ProgramFailure} */
export async function runTables(args: readonly string[], io: CommandIo): Promise<void> {
  const options = { ...TEAM_OPTIONS, json: JSON_OPTION, help: HELP_OPTION }
  const { values } = parseArgs({ args: [...args], options })
  if (values.help) return io.print(TABLES_USAGE.trimEnd())
  const tables = await tablesOf(values, io)
  for (const table of tables) io.print(values.json ? JSON.stringify(table) : lineOf(table))
}

function lineOf({ id, rowCount, bytes, version, name }: ListedTable): string {
  return [id, rowCount, bytes, version, escapeControls(name)].join('\t')
}

/** Runs `rowstash schema`. @throws {ProgramFailure} */
export async function runSchema(args: readonly string[], io: CommandIo): Promise<void> {
  const options = { ...TABLE_OPTIONS, json: JSON_OPTION, help: HELP_OPTION }
  const { values } = parseArgs({ args: [...args], options })
  if (values.help) return io.print(SCHEMA_USAGE.trimEnd())
  const schema = await withTable(values, io, (table) => table.schema())
  if (values.json) return io.print(JSON.stringify(schema))
  for (const column of schema.columns) io.print(columnLine(column))
}

function columnLine({ id, type, displayName }: Column): string {
  const name = displayName === undefined || displayName === id ? [] : [escapeControls(displayName)]
  return [escapeControls(id), renderType(type), ...name].join('\t')
}

/** Runs `rowstash types`. @throws {ProgramFailure} */
export async function runTypes(args: readonly string[], io: CommandIo): Promise<void> {
  const options = { ...TEAM_OPTIONS, help: HELP_OPTION }
  const { values } = parseArgs({ args: [...args], options })
  if (values.help) return io.print(TYPES_USAGE.trimEnd())
  const tables = await tablesOf(values, io)
  io.print(renderTypes(tables).trimEnd())
}
