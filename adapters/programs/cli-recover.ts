// Raises the version base of a store in PostgreSQL, after commits were lost.
import { parseArgs } from 'node:util'
import { readVersionBase } from '../postgres/version-base.js'
import type { PostgresKvOptions } from '../postgres.js'
import { raiseVersionBase } from '../postgres.js'
import { type CommandIo, HELP_OPTION } from './cli-command.js'
import { optionsOf, POSTGRES_VARIABLE, parsePostgresPlace } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'

export const RECOVER_USAGE = `Usage: rowstash recover --postgres URL [--postgres URL]... [--schema NAME] [--table NAME]
                        [--pgbouncer] [--yes]

Raises the version base of a store in PostgreSQL by 2^32. Run it after acknowledged commits were lost: when
PostgreSQL was restored from a backup, or failed over to a server that lacked commits. Without it, versions
that clients know (ETags, continuations) return with other contents. Without --yes it changes nothing.

  --postgres URL  where PostgreSQL is, as postgres://user@host/database?schema=NAME; given once for each
                  server that may be the primary (default: ROWSTASH_POSTGRES). The password may be in
                  that variable or in PGPASSWORD
  --schema NAME   the schema of the tables (default: that of the URL, else rowstash)
  --table NAME    the table of the records (default: records)
  --pgbouncer     the URL is that of PgBouncer in transaction mode
  --yes           raise it
  -h, --help      show this text

Processes that have the store open refuse changes from then on, and reads by new connections: start them
again.
`

/** Runs `rowstash recover`. @throws {ProgramFailure} */
export async function runRecover(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      postgres: { type: 'string', multiple: true },
      schema: { type: 'string' },
      table: { type: 'string' },
      pgbouncer: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      help: HELP_OPTION,
    },
  })
  if (values.help) return io.print(RECOVER_USAGE.trimEnd())
  const { schema, table, pgbouncer } = values
  const env = { [POSTGRES_VARIABLE]: io.env[POSTGRES_VARIABLE] } // It needs no objects.
  const place = parsePostgresPlace({ postgres: values.postgres }, env)
  if (place === null) throw new ProgramFailure('usage', 'Name the database by --postgres')
  const options: PostgresKvOptions = {
    ...optionsOf(place),
    ...(pgbouncer && { pgBouncer: true }),
    ...(schema !== undefined && { schema }),
    ...(table !== undefined && { table }),
  }
  if (!values.yes) {
    const base = await readVersionBase(options)
    const problem = `The version base is ${base}, and nothing was changed. Give --yes to raise it`
    throw new ProgramFailure('failed', problem)
  }
  const { from, to, sessionCount } = await raiseVersionBase(options)
  io.print(`raised the version base from ${from} to ${to}`)
  if (sessionCount > 0) {
    io.warn(`ended ${sessionCount} connections: start the processes that have the store open again`)
  }
}
