// Raises the version base of a store in PostgreSQL, after commits were lost.
import { parseArgs } from 'node:util'
import { readPostgresVersionBase } from '../../postgres/version-base.js'
import type { PostgresKvOptions } from '../../postgres.js'
import { raiseVersionBase } from '../../postgres.js'
import { type CommandIo, printResult } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { optionsOf, POSTGRES_VARIABLE, parsePostgresPlace } from '../stores/postgres-place.js'

const OPTIONS = {
  postgres: {
    type: 'string',
    multiple: true,
    value: 'URL',
    help: `where PostgreSQL is, as postgres://USER@HOST/DATABASE?schema=NAME; once for each server that
      may be the primary (default: ${POSTGRES_VARIABLE}). The password may be in that variable or in
      PGPASSWORD`,
  },
  schema: {
    type: 'string',
    value: 'NAME',
    help: 'the schema of the tables (default: that of the URL, else rowstash)',
  },
  table: { type: 'string', value: 'NAME', help: 'the table of the records (default: records)' },
  pgbouncer: {
    type: 'boolean',
    default: false,
    help: 'the URL is that of PgBouncer in transaction mode',
  },
  yes: { type: 'boolean', default: false, help: 'raise the version base' },
  json: { type: 'boolean', default: false, help: 'print the result as a line of JSON' },
} as const satisfies OptionSpecs

export const RECOVER_COMMAND: CommandSpec = {
  name: 'recover',
  summary: 'recover after PostgreSQL lost commits',
  usage: ['recover --postgres URL [--schema NAME] [--table NAME] [--yes]'],
  about: `Raises the version base of a store in PostgreSQL by 2^32. Run it after acknowledged commits
    were lost: when PostgreSQL was restored from a backup, or failed over to a server that lacked
    commits. Otherwise, versions that clients know (ETags, continuations) would be reused for other content.
    Earlier stashes cannot be used, because chunks may be lost: delete them, and put their chunks again. Jobs continue.
    Without --yes it changes nothing.`,
  options: OPTIONS,
  notes: `Processes that have the store open then refuse changes, and reads on new connections:
    restart them. Exit code 0: it is raised; 1: it is not; 2: a usage error.`,
}

/** Runs `rowstash recover`. @throws {ProgramFailure} */
export async function runRecover(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: OPTIONS,
  })
  const { schema, table, pgbouncer } = values
  const env = { [POSTGRES_VARIABLE]: io.env[POSTGRES_VARIABLE] } // Objects are not needed.
  const place = parsePostgresPlace({ postgres: values.postgres }, env)
  if (place === null) throw new ProgramFailure('usage', 'Specify the database with --postgres')
  const options: PostgresKvOptions = {
    ...optionsOf(place),
    ...(pgbouncer && { pgBouncer: true }),
    ...(schema !== undefined && { schema }),
    ...(table !== undefined && { table }),
  }
  if (!values.yes) {
    const base = await readPostgresVersionBase(options)
    const problem = `The version base is ${base}, and nothing was changed. Add --yes to raise it`
    throw new ProgramFailure('failed', problem)
  }
  const { from, to, sessionCount } = await raiseVersionBase(options)
  const text = `raised the version base from ${from} to ${to}`
  printResult(io, values.json, { from, to, sessionCount }, text)
  io.warn('earlier stashes cannot be used: delete them, and put their chunks again')
  if (sessionCount > 0) {
    io.warn(`ended ${sessionCount} connections: restart the processes that have the store open`)
  }
}
