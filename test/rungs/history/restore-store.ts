// Restores a store from its backup: it has its whole content, and operations accepted before the backup end.
import { restoreDirectory } from '../../../adapters/directory/restore-directory.js'
import type { Store, Team } from '../../../src/index.js'
import { pageText } from './history.js'
import { type RoundTables, TEAM } from './history-job.js'
import { allTables, feedRowOf } from './round-tables.js'

const ROWS = 40

type Pages = Readonly<Record<string, string>>

async function pagesOf(team: Team, tables: RoundTables): Promise<Pages> {
  const pages: Record<string, string> = {}
  for (const [name, id] of allTables(tables)) {
    pages[name] = pageText((await team.table(id).page({ limit: 10_000 })).rows.map(feedRowOf))
  }
  return pages
}

/** Accepted jobs, which may still run during the backup. @returns their IDs */
async function startJobs(team: Team): Promise<readonly string[]> {
  const rows = Array.from({ length: ROWS }, (_, row) => ({ e: `row ${row}` }))
  const made = await team.createTable({ name: 'overwritten', rows: rows.slice(0, 1) })
  const stash = team.stash('of-a-job')
  await stash.put('0', rows.slice(0, ROWS / 2))
  await stash.put('1', rows.slice(ROWS / 2))
  const jobs = await Promise.all([
    team.startJob({ create: { name: 'created', rows: stash } }),
    team.startJob({ overwrite: { tableId: made.tableId, rows } }),
    team.startJob({ overwrite: { tableId: made.tableId, rows: stash } }),
  ])
  return jobs.map(({ id }) => id)
}

/** Backs a store up, closes it, and opens the restored one. */
export async function restoreStore(
  store: Store,
  directory: string,
  {
    tables,
    open,
    tellWrong,
  }: Readonly<{
    tables: RoundTables
    open(directory: string): Promise<Store>
    tellWrong(what: string, failure: unknown): void
  }>,
): Promise<Store> {
  const before = await pagesOf(store.team(TEAM), tables)
  const jobs = await startJobs(store.team(TEAM))
  const pieces: Uint8Array[] = []
  for await (const piece of store.backup()) pieces.push(piece)
  await store.close()
  await restoreDirectory(directory, piecesOf(pieces))
  const restored = await open(directory)
  const team = restored.team(TEAM)
  for (const id of jobs) {
    const status = await team.job(id).wait()
    if (status.status === 'succeeded') continue
    const error = status.status === 'failed' ? status.error.message : 'it does not end'
    tellWrong(
      'a restore',
      new Error(`A job that was accepted before it ${status.status}: ${error}`),
    )
  }
  const after = await pagesOf(team, tables)
  for (const [name, text] of Object.entries(before)) {
    if (after[name] !== text)
      tellWrong('a restore', new Error(`${name} had ${text}, and has ${after[name]}`))
  }
  await team.stash('of-a-job').delete()
  return restored
}

async function* piecesOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}
