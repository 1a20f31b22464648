// How the time of a table operation grows with the chunks of its stash. It must not grow with their rows.
import { openDirectory } from './dist/node.js'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const CHUNK_COUNTS = [100, 1_000, 8_000]
const ROWS_PER_CHUNK = 1_000

/** Untimed creates before the timed ones: the first of a process run uncompiled code in new memory. */
const WARM_UP_TRIES = 15
const TRIES = 25

const PUTS_AT_ONCE = 8

/** Distinct chunks; the stash repeats them. */
const DISTINCT_CHUNKS = 16

/**
 * @param settings.chunkRows fewer rows per chunk, where only chunks matter
 * @param settings.open opens another store than the directory
 */
export async function measureFinalize(
  directory,
  { seed, rowBytes, chunkRows = ROWS_PER_CHUNK, open = () => openDirectory(directory) },
) {
  const chunks = makeChunks({ seed, count: DISTINCT_CHUNKS, rows: chunkRows, rowBytes })
  const store = await open()
  try {
    const team = store.team('bench')
    const stash = team.stash('finalize')
    const results = []
    let stored = 0
    for (const chunkCount of CHUNK_COUNTS) {
      const startMs = performance.now()
      await putChunks(stash, chunks, stored, chunkCount)
      const putMs = performance.now() - startMs
      const putRows = (chunkCount - stored) * chunkRows
      stored = chunkCount
      const times = []
      for (let run = 0; run < WARM_UP_TRIES + TRIES; run++)
        times.push(await timeCreate(team, stash, chunkCount, chunkRows))
      times.splice(0, WARM_UP_TRIES)
      results.push({
        chunkCount,
        chunkRows,
        medianMs: median(times),
        times,
        putRowsPerSecond: (putRows * 1000) / putMs,
      })
    }
    return results
  } finally {
    await store.close()
  }
}

async function putChunks(stash, chunks, start, limit) {
  let next = start
  const putInTurn = async () => {
    while (next < limit) {
      const serial = next++
      await stash.put(String(serial), { json: chunks[serial % chunks.length] })
    }
  }
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
}

async function timeCreate(team, stash, chunkCount, chunkRows) {
  const startMs = performance.now()
  const { rowIds } = await team.createTable({ name: `finalize ${chunkCount}`, rows: stash })
  const ms = performance.now() - startMs
  if (rowIds.length !== chunkCount * chunkRows)
    throw new Error(`${rowIds.length} rows were created`)
  return ms
}

export function printFinalize(results) {
  printTable(
    [
      'chunks',
      'rows',
      `create from stash, median of ${TRIES}`,
      'fastest',
      'slowest',
      'put before, rows/s',
    ],
    results.map(({ chunkCount, chunkRows, medianMs, times, putRowsPerSecond }) => [
      chunkCount,
      chunkCount * chunkRows,
      `${medianMs.toFixed(1)} ms`,
      `${Math.min(...times).toFixed(1)} ms`,
      `${Math.max(...times).toFixed(1)} ms`,
      Math.round(putRowsPerSecond),
    ]),
  )
}

export function finalizeRule(results) {
  const medianOf = (count) => results.find(({ chunkCount }) => chunkCount === count).medianMs
  const limit = 3 * medianOf(1_000) + 40
  return judge('finalize(8,000) <= 3 x finalize(1,000) + 40 ms', medianOf(8_000), limit, 'ms')
}
