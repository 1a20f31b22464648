// Long work on a busy table: a stash is added while updates change the same table on a fixed schedule.
import { judge, median, printTable } from './report.mjs'
import { putChunks, serveStore, startClient } from './served-store.mjs'
import { makeChunks } from './workloads.mjs'

const ROWS_PER_CHUNK = 1_000
const BASE_CHUNKS = 10
const UPDATES_PER_SECOND = 500
const TRIES = 5
const OPTIONS = { maintenance: { garbageCollectionIntervalMs: 0 } }

/** Two ways to use the stash: link its chunks unchanged, or rewrite every chunk first. */
const WAYS = ['link', 'rewrite']

export async function measureBusy(directory, { seed, rows }) {
  const count = Math.ceil(rows / ROWS_PER_CHUNK)
  const chunks = makeChunks({ seed, count: 32, rows: ROWS_PER_CHUNK })
  const served = await serveStore(directory, OPTIONS)
  try {
    const stashes = {
      link: await fill(served.team.stash('link'), chunks, count),
      rewrite: await fill(served.team.stash('rewrite'), chunks.map(withMisfit), count),
    }
    const results = {}
    for (const way of WAYS) {
      const tries = way === 'link' ? TRIES : 1
      const idle = await timeAdds(served, stashes[way], chunks, tries, 0)
      const busy = await timeAdds(served, stashes[way], chunks, tries, UPDATES_PER_SECOND)
      results[way] = { idle, busy }
    }
    return { rows, updatesPerSecond: UPDATES_PER_SECOND, ...results }
  } finally {
    await served.close()
  }
}

async function fill(stash, chunks, count) {
  await putChunks(stash, chunks, count)
  return stash
}

/** A chunk with a cell in its last row that does not fit. */
function withMisfit(chunk) {
  return Buffer.concat([chunk.subarray(0, chunk.length - 2), Buffer.from(',"odd":1}]')])
}

/** Adds the stash to a new table repeatedly, while updates arrive at a given rate. */
async function timeAdds({ team, ...served }, stash, chunks, tries, perSecond) {
  const { tableId, rowIds } = await team.createTable({
    name: 'busy',
    rows: { json: Buffer.from(`[${chunks.slice(0, BASE_CHUNKS).map(innerText).join(',')}]`) },
  })
  const table = team.table(tableId)
  const client = perSecond > 0 ? await startClient(served, 'steadyUpdates') : null
  const updates = client?.run({ tableId, rowIds: [...rowIds], perSecond })
  if (client !== null) await sleepUntilSteady()
  const times = []
  for (let attempt = 0; attempt < tries; attempt++) {
    const startMs = performance.now()
    await table.addRows(stash, { onSchemaError: 'dropColumns' })
    times.push(performance.now() - startMs)
  }
  client?.send('stop')
  const result = { medianMs: median(times), times }
  if (updates === undefined) return result
  const { sent, seconds, values, refused, times: updateTimes } = await updates
  await checkLastValues(table, values)
  updateTimes.sort((left, right) => left - right)
  return {
    ...result,
    updates: sent,
    updatesPerSecond: sent / seconds,
    refused: refused.length,
    updateMs: {
      p50: updateTimes[Math.floor(updateTimes.length / 2)],
      p99: updateTimes[Math.floor(0.99 * updateTimes.length)],
      max: updateTimes.at(-1),
    },
  }
}

const innerText = (chunk) => chunk.subarray(1, chunk.length - 1).toString()

const sleepUntilSteady = () => new Promise((resolve) => setTimeout(resolve, 1_000))

/** No update is lost: each row has the value of its last acknowledged update. */
async function checkLastValues(table, values) {
  for (const [rowId, value] of Object.entries(values)) {
    const { row } = await table.get(rowId)
    if (row.visits !== value) throw new Error(`Row ${rowId} has ${row.visits}, not ${value}`)
  }
}

export function printBusy(result) {
  printTable(
    [
      'add of',
      'idle',
      `with ${result.updatesPerSecond} updates/s`,
      'updates',
      'refused',
      'update p50 / p99 / max',
    ],
    WAYS.map((way) => {
      const { idle, busy } = result[way]
      const { p50, p99, max } = busy.updateMs
      return [
        `${result.rows} rows, ${way === 'link' ? 'linked' : 'every chunk rewritten'}`,
        `${idle.medianMs.toFixed(0)} ms`,
        `${busy.medianMs.toFixed(0)} ms`,
        `${busy.updates} (${busy.updatesPerSecond.toFixed(0)}/s)`,
        busy.refused,
        `${p50.toFixed(1)} / ${p99.toFixed(1)} / ${max.toFixed(0)} ms`,
      ]
    }),
  )
}

export function busyRules(result) {
  return WAYS.map((way) => judge(`refused updates, ${way}`, result[way].busy.refused, 0, ''))
}
