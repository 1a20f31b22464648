// The clients' recipe over HTTP: read all rows, change each, stash them, overwrite with If-Match; three times, with
// updates and deletes between. Every row must keep its ID.
import { setTimeout as sleep } from 'node:timers/promises'
import { printTable } from './report.mjs'
import { measureFolder, putChunks, serveStore, startClient } from './served-store.mjs'
import { makeChunks } from './workloads.mjs'

const ROWS_PER_CHUNK = 1_000
const TIMES = 3
const BETWEEN_EACH = 1_000

/** Short, so that the disk can be measured when garbage collection has nothing left to do. */
const OPTIONS = {
  maintenance: { garbageCollectionIntervalMs: 0 },
  orphanGraceMs: 500,
  overwrittenRowsTtlMs: 500,
}

export async function measureRewrite(directory, { seed, rows }) {
  const count = Math.ceil(rows / ROWS_PER_CHUNK)
  const served = await serveStore(directory, OPTIONS)
  try {
    const stash = served.team.stash('first')
    await putChunks(stash, makeChunks({ seed, count: 32, rows: ROWS_PER_CHUNK }), count)
    const { tableId, rowIds } = await served.team.createTable({ name: 'rewritten', rows: stash })
    await stash.delete()
    const disk = [await diskAfterMaintenance(served.store, directory)]
    const client = await startClient(served, 'rewrite')
    const task = { tableId, times: TIMES, betweenEach: BETWEEN_EACH, expected: rowIds.length }
    const told = []
    const { rounds, rowsAtEnd } = await client.run(task, async () => {
      told.push(measureFolder(directory).bytes)
      disk.push(await diskAfterMaintenance(served.store, directory))
      client.send('go on')
    })
    const results = rounds.map((round, index) => ({
      ...round,
      diskBeforeMaintenance: told[index],
      disk: disk[index + 1],
    }))
    return { rows: rowIds.length, diskAtFirst: disk[0], rounds: results, rowsAtEnd }
  } finally {
    await served.close()
  }
}

/** Two garbage collections, with the grace period between them, leave nothing unused. */
async function diskAfterMaintenance(store, directory) {
  for (let run = 0; run < 3; run++) {
    await store.maintain()
    await sleep(OPTIONS.orphanGraceMs + 100)
  }
  await store.maintain()
  return measureFolder(directory).bytes
}

export function printRewrite({ rows, diskAtFirst, rounds, rowsAtEnd }) {
  const megabytes = (bytes) => (bytes / 1e6).toFixed(0)
  console.log(
    `\n${rows} rows, ${megabytes(diskAtFirst)} MB; IDs of all rows kept; ${rowsAtEnd} rows at the end`,
  )
  printTable(
    ['round', 'rows', 'read, change, put', 'overwrite', 'disk MB before maintenance', 'after'],
    rounds.map((round, index) => [
      index + 1,
      round.rows,
      `${round.readAndPutSeconds.toFixed(1)} s`,
      `${round.overwriteSeconds.toFixed(2)} s`,
      megabytes(round.diskBeforeMaintenance),
      megabytes(round.disk),
    ]),
  )
}
