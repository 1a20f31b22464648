// The setup of a test file for commands on PostgreSQL: the built command line, a server and a folder, until its end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type BuiltCli, buildCli } from './built-cli.js'
import { startPostgres } from './postgres-server.js'

export type CliOnPostgres = Readonly<{
  cli: BuiltCli
  folder: string
  /** The database; empty if there is no server. */
  url: string
  /** Why there is no server; undefined: there is one. */
  missing: string | undefined
}>

export async function cliOnPostgres(): Promise<CliOnPostgres> {
  const [server, cli] = await Promise.all([startPostgres(), buildCli()])
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-commands-'))
  afterAll(async () => {
    if (typeof server !== 'string') await server.stop()
    await rm(folder, { recursive: true })
  })
  if (typeof server === 'string') return { cli, folder, url: '', missing: server }
  return { cli, folder, url: server.url, missing: undefined }
}
