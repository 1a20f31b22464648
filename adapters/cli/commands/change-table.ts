// `rowstash rename` and `rowstash delete`.
import { parseArgs } from 'node:util'
import { type CommandIo, printResult } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { PLACE_ENVIRONMENT } from '../stores/postgres-place.js'
import { PLACE_FORM, TABLE_OPTIONS, withTable } from '../stores/table-options.js'

const JSON_OPTION = {
  type: 'boolean',
  default: false,
  help: 'print the ID of the table as a line of JSON',
} as const

const RENAME_OPTIONS = {
  ...TABLE_OPTIONS,
  to: { type: 'string', value: 'NAME', help: 'the new name' },
  json: JSON_OPTION,
} as const satisfies OptionSpecs

export const RENAME_COMMAND: CommandSpec = {
  name: 'rename',
  summary: 'rename a table',
  usage: [`rename ${PLACE_FORM} --table NAME --to NAME`],
  about: 'Renames a table. Its ID stays the same.',
  options: RENAME_OPTIONS,
  notes: 'Exit code 0: it is renamed; 1: it failed; 2: a usage error.',
  details: [PLACE_ENVIRONMENT],
}

const DELETE_OPTIONS = {
  ...TABLE_OPTIONS,
  yes: {
    type: 'boolean',
    default: false,
    help: 'required, because a deleted table cannot be recovered',
  },
  json: JSON_OPTION,
} as const satisfies OptionSpecs

export const DELETE_COMMAND: CommandSpec = {
  name: 'delete',
  summary: 'delete a table with all its rows',
  usage: [`delete ${PLACE_FORM} --table NAME --yes`],
  about: 'Deletes a table with all its rows.',
  options: DELETE_OPTIONS,
  notes: 'Exit code 0: it is deleted; 1: it failed; 2: a usage error.',
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash rename`. @throws {ProgramFailure} */
export async function runRename(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: RENAME_OPTIONS })
  const { to, json } = values
  if (to === undefined) throw new ProgramFailure('usage', 'Specify the new name with --to')
  await withTable(values, io, async (table) => {
    await table.rename(to)
    printResult(io, json, { id: table.id, name: to }, `${table.id} is now ${JSON.stringify(to)}`)
  })
}

/** Runs `rowstash delete`. @throws {ProgramFailure} */
export async function runDelete(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: DELETE_OPTIONS })
  const { yes, json } = values
  if (!yes) {
    throw new ProgramFailure('usage', 'A deleted table cannot be recovered; add --yes to delete it')
  }
  await withTable(values, io, async (table) => {
    await table.delete()
    printResult(io, json, { id: table.id }, `deleted ${table.id}`)
  })
}
