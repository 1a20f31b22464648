// `rowstash tables`, `schema` and `types`: the tables of a store, for people, scripts and compilers.
import { parseArgs } from 'node:util'
import type { Column } from '../../../src/index.js'
import { printFields } from '../command/columns.js'
import type { CommandIo } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { printLines } from '../command/terminal.js'
import { findTableId } from '../stores/command-client.js'
import { PLACE_ENVIRONMENT } from '../stores/postgres-place.js'
import type { ListedTable } from '../stores/remote-store.js'
import {
  listTeamTables,
  PLACE_FORM,
  TABLE_OPTIONS,
  TEAM_OPTIONS,
  withTable,
} from '../stores/table-options.js'
import { renderType, renderTypes, typesOf } from './table-types.js'

const EXIT_CODES =
  'Exit code 0: done; 1: the store cannot be read, or has no such table; 2: a usage error.'

const JSON_OPTION = { type: 'boolean', default: false } as const

const TABLES_OPTIONS = {
  ...TEAM_OPTIONS,
  json: { ...JSON_OPTION, help: 'print each table as a line of JSON, with its schema' },
} as const satisfies OptionSpecs

export const TABLES_COMMAND: CommandSpec = {
  name: 'tables',
  summary: 'list the tables of a team',
  usage: [`tables ${PLACE_FORM} [--json]`],
  about: `Lists the tables of a team, the oldest first: ID, rows, bytes, version and name, separated by
    tabs, or as columns on a terminal.`,
  options: TABLES_OPTIONS,
  notes: EXIT_CODES,
  details: [PLACE_ENVIRONMENT],
}

const SCHEMA_OPTIONS = {
  ...TABLE_OPTIONS,
  json: { ...JSON_OPTION, help: 'print the schema as a line of JSON' },
} as const satisfies OptionSpecs

export const SCHEMA_COMMAND: CommandSpec = {
  name: 'schema',
  summary: 'show the columns of a table',
  usage: [`schema ${PLACE_FORM} --table NAME [--json]`],
  about: `Shows the columns of a table: ID, type and display name, separated by tabs, or as columns on a terminal.`,
  options: SCHEMA_OPTIONS,
  notes: EXIT_CODES,
  details: [PLACE_ENVIRONMENT],
}

const TYPES_OPTIONS = {
  ...TEAM_OPTIONS,
  table: { ...TABLE_OPTIONS.table, help: 'only the table with that name (default: all tables)' },
  'table-id': { ...TABLE_OPTIONS['table-id'], help: 'only the table with that ID' },
  json: {
    ...JSON_OPTION,
    help: 'print the names and the text of each table as a line of JSON, without import lines',
  },
} as const satisfies OptionSpecs

export const TYPES_COMMAND: CommandSpec = {
  name: 'types',
  summary: 'write TypeScript for the tables of a team',
  usage: [`types ${PLACE_FORM} [--table NAME]`],
  about: `Writes TypeScript to the standard output: for each table of a team, a schema made with
    defineSchema and the type of its rows. "team.table(id, schema)" is then a table of these rows.`,
  options: TYPES_OPTIONS,
  notes: EXIT_CODES,
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash tables`. @throws {ProgramFailure} */
export async function runTables(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: TABLES_OPTIONS })
  const tables = await listTeamTables(values, io)
  if (values.json) for (const table of tables) io.print(JSON.stringify(table))
  else printFields(io, tables.map(fieldsOfTable), ['id', 'rows', 'bytes', 'version', 'name'])
}

function fieldsOfTable({ id, rowCount, bytes, version, name }: ListedTable): readonly string[] {
  return [id, String(rowCount), String(bytes), String(version), name]
}

/** Runs `rowstash schema`. @throws {ProgramFailure} */
export async function runSchema(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: SCHEMA_OPTIONS })
  const schema = await withTable(values, io, (table) => table.schema())
  if (values.json) return io.print(JSON.stringify(schema))
  const lines = schema.columns.map(columnFields)
  const isNamed = lines.some((fields) => fields.length > 2)
  printFields(io, lines, isNamed ? ['column', 'type', 'name'] : ['column', 'type'])
}

function columnFields({ id, type, displayName }: Column): readonly string[] {
  const name = displayName === undefined || displayName === id ? [] : [displayName]
  return [id, renderType(type), ...name]
}

/** Runs `rowstash types`. @throws {ProgramFailure} */
export async function runTypes(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: TYPES_OPTIONS })
  const tables = oneOrAll(await listTeamTables(values, io), values)
  if (!values.json) return printLines(io.print, renderTypes(tables).trimEnd())
  for (const types of typesOf(tables)) io.print(JSON.stringify(types))
}

/** The table that the options name, or all tables if they name none. @throws {ProgramFailure} */
function oneOrAll(
  tables: readonly ListedTable[],
  { table: name, 'table-id': tableId }: Readonly<{ table?: string; 'table-id'?: string }>,
): readonly ListedTable[] {
  if (name === undefined && tableId === undefined) return tables
  if (name !== undefined && tableId !== undefined) {
    throw new ProgramFailure('usage', 'Specify either --table or --table-id')
  }
  const wanted = tableId ?? findTableId(tables, name ?? '')
  const found = tables.filter(({ id }) => id === wanted)
  if (found.length === 0) throw new ProgramFailure('failed', `Table with ID '${wanted}' not found`)
  return found
}
