// Merges rows into a table by key, with a hundredth of them changed, compared with upserts of SQLite and DuckDB, and
// with reading the table, changing it and overwriting it. Each engine runs in a separate process, durably, on the same
// files.

import { fork } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSqlite, installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const PROCESS = fileURLToPath(new URL('merge-process.mjs', import.meta.url))
const ROWS_PER_CHUNK = 1_000

/** Distinct chunks; their rows get other keys each time. */
const DISTINCT_CHUNKS = 16

/** One of this many rows is changed. */
const CHANGED_EVERY = 100

/** Coprime to every measured number of rows: steps of it shuffle the input. */
const STEP = 7_368_787

const ORDERS = ['same', 'shuffled']

const ENGINES = {
  rowstash: 'rowstash, merge',
  rowstashOverwrite: 'rowstash, read, change, overwrite',
  sqlite: 'better-sqlite3, staged, ON CONFLICT DO UPDATE',
  sqliteChanged: 'better-sqlite3, staged, … WHERE a cell differs',
  sqliteRows: 'better-sqlite3, row by row, ON CONFLICT DO UPDATE',
  sqliteRowsChanged: 'better-sqlite3, row by row, … WHERE a cell differs',
  duckdb: 'DuckDB, ON CONFLICT DO UPDATE',
  duckdbChanged: 'DuckDB, … WHERE a cell differs',
}

/** @param settings.rounds - Runs of every engine in each order. */
export async function measureMerge(directory, { rows, rounds, seed, engines }) {
  installPeers()
  buildSqlite()
  await mkdir(directory, { recursive: true })
  const files = await makeFiles(directory, rows, seed)
  const results = []
  for (const order of ORDERS) {
    for (const engine of engines ?? Object.keys(ENGINES)) {
      const runs = []
      for (let round = 0; round < rounds; round++) {
        const store = join(directory, 'store')
        await mkdir(store)
        const run = await runEngine({ engine, directory: store, rows, ...files[order] })
        await rm(store, { recursive: true })
        if (run.leftOut !== undefined) {
          console.log(`${ENGINES[engine]} is left out: ${run.leftOut}`)
          break
        }
        runs.push(run.measured)
      }
      if (runs.length > 0) results.push({ engine, order, runs, ...mediansOf(runs) })
    }
  }
  return results
}

function mediansOf(runs) {
  const of = (name) => median(runs.map((run) => run[name]))
  return {
    stageSeconds: of('stageSeconds'),
    mergeSeconds: of('mergeSeconds'),
    totalSeconds: median(runs.map((run) => run.stageSeconds + run.mergeSeconds)),
    idleMegabytes: of('idleMegabytes'),
    peakMegabytes: of('peakMegabytes'),
  }
}

/** The rows of the table, and of the inputs in both orders. */
async function makeFiles(directory, rows, seed) {
  const chunks = makeChunks({ seed, count: DISTINCT_CHUNKS, rows: ROWS_PER_CHUNK })
  const texts = chunks.flatMap((chunk) =>
    JSON.parse(chunk.toString()).map((row) => JSON.stringify(row)),
  )
  const rowOf = (number, isChanged) => {
    const text = texts[number % texts.length]
    const key = `"key":"K-${String(number).padStart(9, '0')}"`
    if (!isChanged) return `{${key},${text.slice(1)}`
    return `{${key},${text.slice(1).replace(/"visits":[0-9]+/, '"visits":100001')}`
  }
  const write = async (name, rowAt) => {
    const folder = join(directory, name)
    await mkdir(folder)
    for (let first = 0; first < rows; first += ROWS_PER_CHUNK) {
      const made = Array.from({ length: Math.min(ROWS_PER_CHUNK, rows - first) }, (_, i) =>
        rowAt(first + i),
      )
      await writeFile(join(folder, `${first / ROWS_PER_CHUNK}.json`), `[${made.join(',')}]`)
    }
    return folder
  }
  const changedAt = (number) => rowOf(number, number % CHANGED_EVERY === 0)
  const table = await write('table', (number) => rowOf(number, false))
  const same = await write('same', changedAt)
  const shuffled = await write('shuffled', (number) => changedAt((number * STEP) % rows))
  return { same: { table, input: same }, shuffled: { table, input: shuffled } }
}

function runEngine(settings) {
  return new Promise((resolve, reject) => {
    const process = fork(PROCESS, [JSON.stringify(settings)])
    let message
    process.once('message', (sent) => {
      message = sent
    })
    process.once('exit', () => {
      if (message?.failed !== undefined) reject(new Error(message.failed))
      else if (message === undefined) reject(new Error(`${settings.engine} ended without a result`))
      else resolve(message)
    })
  })
}

export function printMerge(results) {
  printTable(
    ['engine', 'order of the input', 'staging', 'merge', 'both', 'peak of the merge'],
    results.map(({ engine, order, stageSeconds, mergeSeconds, totalSeconds, peakMegabytes }) => [
      ENGINES[engine],
      order,
      `${stageSeconds.toFixed(2)} s`,
      `${mergeSeconds.toFixed(2)} s`,
      `${totalSeconds.toFixed(2)} s`,
      `${Math.round(peakMegabytes)} MB`,
    ]),
  )
}

export function mergeRules(results) {
  const find = (engine, order) =>
    results.find((run) => run.engine === engine && run.order === order)
  return ORDERS.flatMap((order) => {
    const ours = find('rowstash', order)
    if (ours === undefined) return []
    const memory = judge(`memory of a merge, ${order} order`, ours.peakMegabytes, 200, 'MB')
    const rule = (what, figure, engines) => {
      const peers = engines.flatMap((name) => find(name, order)?.[figure] ?? [])
      if (peers.length === 0) return []
      return [judge(`${what}, ${order} order <= SQLite's`, ours[figure], Math.min(...peers), 's')]
    }
    return [
      ...rule('merge of staged rows', 'mergeSeconds', ['sqlite', 'sqliteChanged']),
      ...rule('from the files on', 'totalSeconds', ['sqliteRows', 'sqliteRowsChanged']),
      memory,
    ]
  })
}
