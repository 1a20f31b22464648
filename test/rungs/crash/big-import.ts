// Imports rows by the chunks of one stash until it is killed. The next process continues with the chunks that were not
// acknowledged, and finally creates the table:
//
//     node big-import.js '{"directory": …}'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import { BIG_STASH, BIG_TABLE, BIG_TEAM, type BigImportJob, chunkBytes } from './big-import-job.js'
import { say } from './say.js'

const PARALLEL = 8

const job = JSON.parse(process.argv[2] ?? '{}') as BigImportJob
const done = new Set(readFileSync(job.doneFile, 'utf8').split('\n'))
const startedAt = performance.now()
const store = await openDirectory(job.directory)
say({ openedMs: Math.round(performance.now() - startedAt) })
const team = store.team(BIG_TEAM)

let next = 0
async function putChunks(): Promise<void> {
  while (next < job.chunks) {
    const serial = next++
    if (done.has(String(serial))) continue
    await team.stash(BIG_STASH).put(String(serial), { json: chunkBytes(serial, job.chunkRows) })
    say({ put: serial })
  }
}
await Promise.all(Array.from({ length: PARALLEL }, putChunks))
say({ finalizing: true })
const created = await team.createTable({
  name: BIG_TABLE,
  rows: team.stash(BIG_STASH),
  idempotencyKey: BIG_STASH,
})
say({ created: created.tableId })
await store.close()
