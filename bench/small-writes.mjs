// Single adds and updates over HTTP, and their compacted result, compared with a table of the same rows that was
// imported at once.
import { join } from 'node:path'
import { judge, median, printTable } from './report.mjs'
import { measureStore, putChunks, serveStore, startClient } from './served-store.mjs'
import { makeChunks } from './workloads.mjs'

const BASE_CHUNKS = 100
const ROWS_PER_CHUNK = 1_000
const CLIENTS = 32
const PAGE_ROWS = 1_000
const POINT_READS = 5_000
const TIMES_MAX = 1.5
const DISK_TIMES_MAX = 1.2

/** Nothing runs in the background, so that the state before and after a compaction can be measured. */
const OPTIONS = {
  maintenance: { compactionIntervalMs: 0, garbageCollectionIntervalMs: 0 },
  orphanGraceMs: 0,
  overwrittenRowsTtlMs: 0,
}

export async function measureSmallWrites(directory, { seed, operations }) {
  const living = join(directory, 'living')
  const fresh = join(directory, 'fresh')
  const written = await writeAll(living, { seed, operations })
  const states = { written: await measureStore(living) }
  const compacted = await inStore(living, async (store) => {
    const startMs = performance.now()
    const { compactions } = await store.maintain()
    const seconds = (performance.now() - startMs) / 1000
    await store.maintain() // Second mark: deletes what the compactions replaced.
    return { compactions, compactionSeconds: seconds }
  })
  states.compacted = await measureStore(living)
  const rows = await copyFresh(living, fresh, written.tableId)
  states.fresh = await measureStore(fresh)
  const reads = await compareReads(living, fresh, written)
  return {
    ...written.pace,
    ...compacted,
    rows,
    states,
    reads: { written: written.reads, ...reads },
  }
}

async function writeAll(directory, { seed, operations }) {
  const chunks = makeChunks({ seed, count: BASE_CHUNKS, rows: ROWS_PER_CHUNK })
  const served = await serveStore(directory, OPTIONS)
  try {
    const stash = served.team.stash('base')
    await putChunks(stash, chunks, BASE_CHUNKS)
    const { tableId, rowIds } = await served.team.createTable({ name: 'living', rows: stash })
    await stash.delete()
    const newRows = JSON.parse(chunks[1].toString()).map((row) => JSON.stringify(row))
    const client = await startClient(served, 'smallWrites')
    const base = [...rowIds]
    const result = await client.run({
      tableId,
      rowIds: base,
      newRows,
      operations,
      clients: CLIENTS,
    })
    const table = served.team.table(tableId)
    await checkRows(table, base.length + operations, result.values)
    const { seconds, times } = result
    const pace = {
      operations: 2 * operations,
      seconds,
      perSecond: (2 * operations) / seconds,
      addMs: spread(times.add),
      updateMs: spread(times.update),
    }
    const reads = await timeReads(table, Object.keys(result.values))
    return { tableId, ids: Object.keys(result.values), pace, reads }
  } finally {
    await served.close()
  }
}

/** Every row exists once, with the value of its last update. */
async function checkRows(table, count, values) {
  let seen = 0
  let updated = 0
  for await (const row of table.scan()) {
    seen++
    const value = values[row.$rowID]
    if (value === undefined) continue
    updated++
    if (row.visits !== value) throw new Error(`Row ${row.$rowID}: ${row.visits}, not ${value}`)
  }
  if (seen !== count) throw new Error(`${seen} rows, not ${count}`)
  if (updated !== Object.keys(values).length) throw new Error('An updated row is missing')
}

async function inStore(directory, use) {
  const { openDirectory } = await import('./dist/node.js')
  const store = await openDirectory(directory, OPTIONS)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** The same rows, imported at once into another store. */
async function copyFresh(living, fresh, tableId) {
  const chunks = []
  await inStore(living, async (store) => {
    const table = store.team('bench').table(tableId)
    let continuation
    do {
      const page = await table.page({ limit: ROWS_PER_CHUNK, continuation })
      chunks.push(page.rows.map(({ $rowID, ...cells }) => cells))
      continuation = page.continuation
    } while (continuation !== undefined)
  })
  return inStore(fresh, async (store) => {
    const team = store.team('bench')
    const stash = team.stash('fresh')
    for (const [serial, rows] of chunks.entries()) await stash.put(String(serial), rows)
    const { rowIds } = await team.createTable({ name: 'fresh', rows: stash })
    await stash.delete()
    return rowIds.length
  })
}

/** Both stores are open at once and are read in turn. */
function compareReads(living, fresh, { tableId, ids }) {
  return inStore(living, (livingStore) =>
    inStore(fresh, async (freshStore) => {
      const freshTeam = freshStore.team('bench')
      const [{ id }] = await freshTeam.tables()
      const tables = [livingStore.team('bench').table(tableId), freshTeam.table(id)]
      const freshIds = []
      for await (const row of tables[1].scan())
        if (freshIds.length < ids.length) freshIds.push(row.$rowID)
      const results = [[], []]
      for (let round = 0; round < 5; round++) {
        results[0].push(await timeReads(tables[0], ids))
        results[1].push(await timeReads(tables[1], freshIds))
      }
      const [compacted, imported] = results.map((runs) => ({
        pageMs: median(runs.map(({ pageMs }) => pageMs)),
        pointMs: median(runs.map(({ pointMs }) => pointMs)),
      }))
      return { compacted, fresh: imported }
    }),
  )
}

/** Median of all pages of a walk, and mean of point reads spread over the table. */
async function timeReads(table, ids) {
  const pages = []
  let continuation
  do {
    const startMs = performance.now()
    const page = await table.pageBytes({ limit: PAGE_ROWS, continuation })
    pages.push(performance.now() - startMs)
    continuation = page.continuation
  } while (continuation !== undefined)
  const startMs = performance.now()
  for (let read = 0; read < POINT_READS; read++)
    await table.getJson(ids[(read * 7_919) % ids.length])
  return { pageMs: median(pages), pointMs: (performance.now() - startMs) / POINT_READS }
}

function spread(times) {
  const sorted = [...times].sort((left, right) => left - right)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) }
}

export function printSmallWrites(result) {
  const { operations, seconds, perSecond, addMs, updateMs, compactions, states, reads, rows } =
    result
  printTable(
    ['operations', `seconds, ${CLIENTS} clients`, 'a second', 'add p50 / p99', 'update p50 / p99'],
    [
      [
        operations,
        seconds.toFixed(1),
        Math.round(perSecond),
        ...[addMs, updateMs].map(({ p50, p99 }) => `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`),
      ],
    ],
  )
  console.log(
    `\n${compactions} extents compacted in ${result.compactionSeconds.toFixed(1)} s; ${rows} rows`,
  )
  printTable(
    ['store', 'objects', 'row records', 'disk MB', 'of it kv', 'page of 1,000', 'point read'],
    Object.entries(states).map(([name, state]) => [
      name,
      state.objects,
      state.rowRecords,
      (state.bytes / 1e6).toFixed(1),
      (state.kvBytes / 1e6).toFixed(1),
      `${reads[name].pageMs.toFixed(2)} ms`,
      `${(1000 * reads[name].pointMs).toFixed(0)} us`,
    ]),
  )
}

export function smallWritesRules({ states, reads }) {
  const { compacted, fresh } = reads
  return [
    judge(
      'page after the compaction, over a fresh import',
      compacted.pageMs / fresh.pageMs,
      TIMES_MAX,
      'x',
    ),
    judge(
      'point read after the compaction, over a fresh import',
      compacted.pointMs / fresh.pointMs,
      TIMES_MAX,
      'x',
    ),
    judge(
      'disk after the compaction, over a fresh import',
      states.compacted.bytes / states.fresh.bytes,
      DISK_TIMES_MAX,
      'x',
    ),
  ]
}
