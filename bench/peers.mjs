// rowstash and its peers: every engine in turn, round after round, each run in a separate process.
import { fork } from 'node:child_process'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { emptyFiles } from './empty-files.mjs'
import { measureFinalize } from './finalize.mjs'
import { measureHttp } from './http-import.mjs'
import { buildSqlite, installPeers } from './install-peers.mjs'
import { DATA_SETS, ROWS_PER_CHUNK, writeChunkFiles } from './peers/data-sets.mjs'
import { ENGINES } from './peers/engines.mjs'
import { judgeTargets } from './targets.mjs'

const ENGINE_PROCESS = fileURLToPath(new URL('peers/engine-process.mjs', import.meta.url))

/** Rows of the second memory measurement, and of the chunks finalized in it. */
const FULL_ROWS = 8_000_000

/** The cost of finalizing depends on the number of chunks. Where rows do not matter, a chunk has few. */
export const SMALL_CHUNK_ROWS = 25

export async function measurePeers(directory, settings) {
  installPeers()
  buildSqlite()
  const { data, seed, rounds, full } = settings
  const { rowsPerChunk } = DATA_SETS[data]
  const rows = Math.ceil(settings.rows / rowsPerChunk) * rowsPerChunk
  const chunkFolder = join(directory, 'chunks')
  const workload = writeChunkFiles(chunkFolder, { data, seed })
  const argument = {
    data,
    chunkFolder,
    chunkFiles: workload.files,
    threads: settings.threads ?? availableParallelism(),
    storeOptions: settings.storeOptions,
  }
  const loadBefore = loadavg()
  const engines = await runEngines(directory, { ...argument, rows }, settings)
  const http = await measureHttp(directory, { rows, rounds, chunkFolder, rowsPerChunk })
  settings.onRound('all but finalize', { rows, workload, engines, http })
  const finalizing = { seed, chunkRows: full ? ROWS_PER_CHUNK : SMALL_CHUNK_ROWS }
  const finalize = await measureFinalize(join(directory, 'finalize'), finalizing)
  await emptyFiles(join(directory, 'finalize'))
  const eight = full
    ? await runEngine(directory, 'rowstash', { ...argument, rows: FULL_ROWS, importOnly: true })
    : undefined
  const load = { before: loadBefore, after: loadavg() }
  const { threads } = argument
  const results = { rows, threads, workload, load, engines, http, finalize, full: eight?.measured }
  return { ...results, targets: judgeTargets(results) }
}

/** Runs each engine in turn, once per round. */
export async function runEngines(directory, argument, { rounds, engines: wanted, onRound }) {
  const unknown = wanted?.find((name) => !(name in ENGINES))
  if (unknown !== undefined) throw new Error(`No engine is named ${unknown}`)
  const results = {}
  for (const [name, { label, note, leftOut }] of Object.entries(ENGINES)) {
    if (wanted !== undefined && !wanted.includes(name)) continue
    results[name] = { label, note, leftOut: leftOut?.(), runs: [] }
  }
  for (let round = 0; round < rounds; round++) {
    for (const [name, result] of Object.entries(results)) {
      if (result.leftOut !== undefined) continue
      console.log(`round ${round + 1} of ${rounds}: ${result.label}`)
      const { measured, leftOut, failed } = await runEngine(directory, name, argument)
      if (measured === undefined) result.leftOut = leftOut ?? `it failed: ${failed}`
      else result.runs.push(measured)
    }
    onRound(`${round + 1} of ${rounds} rounds of the engines`, {
      rows: argument.rows,
      engines: results,
    })
  }
  return results
}

/** Runs so far. Each has a new directory, and all are removed at the very end. */
let places = 0

/** A message of the process has its measurements, or says why there are none. */
async function runEngine(directory, name, argument) {
  const place = join(directory, `${name}-${++places}`)
  const child = fork(ENGINE_PROCESS, [
    JSON.stringify({ ...argument, engine: name, directory: place }),
  ])
  try {
    const answer = await new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve({ failed: `it ended with ${signal ?? code}` }))
    })
    if (answer.measured === undefined) child.kill() // Its connections may still be open.
    return answer
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      await new Promise((resolve) => child.once('exit', resolve))
    }
    await emptyFiles(place)
  }
}
