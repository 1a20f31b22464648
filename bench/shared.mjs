// rowstash on PostgreSQL compared with a directory and with PostgreSQL alone, with the same rows in typed columns;
// imports by several processes; and how the time of a table operation grows with the chunks of its stash.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { measureFinalize, printFinalize } from './finalize.mjs'
import { installPeers } from './install-peers.mjs'
import { ROWS_PER_CHUNK, writeChunkFiles } from './peers/data-sets.mjs'
import { OBJECTS, openSharedStore, removeShared, sharedLeftOut } from './peers/shared.mjs'
import { runEngines, SMALL_CHUNK_ROWS } from './peers.mjs'
import { middle, printImports, printReads, printUpdates } from './peers-report.mjs'
import { judge, median, printTable } from './report.mjs'

const PROCESS = fileURLToPath(new URL('shared-process.mjs', import.meta.url))
const ENGINES = ['rowstash', 'rowstashShared', 'postgres']
const PROCESS_COUNTS = [1, 2, 4]
const FINALIZE_MS_MAX = 250

export async function measureShared(directory, { seed, rows: wanted, rounds, data, storeOptions }) {
  const leftOut = sharedLeftOut()
  if (leftOut !== undefined) throw new Error(`There is nothing to measure: ${leftOut}`)
  installPeers()
  const rows = Math.ceil(wanted / ROWS_PER_CHUNK) * ROWS_PER_CHUNK
  const chunkFolder = join(directory, 'chunks')
  const { files } = writeChunkFiles(chunkFolder, { data, seed })
  const argument = { data, chunkFolder, chunkFiles: files, storeOptions, rows }
  const settings = { rounds, engines: ENGINES, onRound: () => {} }
  const engines = await runEngines(directory, argument, settings)
  const imports = {}
  for (const processes of PROCESS_COUNTS) {
    imports[processes] = []
    for (let round = 0; round < rounds; round++) {
      const share = { chunkFolder, files, count: rows / ROWS_PER_CHUNK, storeOptions, processes }
      imports[processes].push(await importBy(share))
    }
  }
  const finalize = await finalizeShared({ seed, storeOptions })
  return { rows, objects: OBJECTS, engines, imports, finalize }
}

/** @returns seconds from the first put to the end of the create */
async function importBy({ processes, count, ...settings }) {
  const schema = `rowstash_bench_${process.pid}`
  const store = await openSharedStore(schema, settings.storeOptions)
  try {
    const children = Array.from({ length: processes }, (_, first) => {
      const share = { ...settings, schema, count, first, step: processes }
      return fork(PROCESS, [JSON.stringify(share)])
    })
    await Promise.all(children.map((child) => once(child, 'message')))
    const ended = children.map((child) => once(child, 'message'))
    const exited = children.map((child) => once(child, 'exit'))
    const startMs = performance.now()
    for (const child of children) child.send('go')
    await Promise.all(ended)
    const team = store.team('bench')
    const { rowIds } = await team.createTable({ name: 'bench', rows: team.stash('bench') })
    const seconds = (performance.now() - startMs) / 1_000
    if (rowIds.length !== count * ROWS_PER_CHUNK) throw new Error(`${rowIds.length} rows`)
    await Promise.all(exited)
    return seconds
  } finally {
    await store.close()
    await removeShared(schema)
  }
}

async function finalizeShared({ seed, storeOptions }) {
  const schema = `rowstash_bench_${process.pid}`
  const open = () => openSharedStore(schema, storeOptions)
  try {
    return await measureFinalize('', { seed, chunkRows: SMALL_CHUNK_ROWS, open })
  } finally {
    await removeShared(schema)
  }
}

export function printShared({ rows, objects, engines, imports, finalize }) {
  const measured = Object.values(engines).filter(({ runs }) => runs.length > 0)
  console.log(`\n${rows} rows; records in PostgreSQL, objects in ${objects}`)
  printImports(measured, rows)
  printTable(
    ['import of one table by', 'rows/s', 'all runs'],
    Object.entries(imports).map(([processes, seconds]) => [
      `${processes} processes`,
      Math.round(rows / median(seconds)),
      seconds.map((one) => Math.round(rows / one)).join(' '),
    ]),
  )
  printReads(measured, rows)
  printUpdates(measured)
  printFinalize(finalize)
  const copySeconds = middle(engines.postgres, 'copySeconds')
  if (copySeconds === undefined) return
  console.log(`INSERT … SELECT of ${rows} rows in PostgreSQL: ${copySeconds.toFixed(2)} s`)
}

export function sharedRules({ rows, engines, finalize }) {
  const { rowstashShared: ours, postgres: theirs } = engines
  const ratio = (name) => median(theirs.runs.map((run, at) => run[name] / ours.runs[at][name]))
  const finalizeMs = (count) => finalize.find(({ chunkCount }) => chunkCount === count).medianMs
  const copyMs = (1_000 * middle(theirs, 'copySeconds') * (1_000 * ROWS_PER_CHUNK)) / rows
  return [
    judge('finalize of 8,000 chunks', finalizeMs(8_000), FINALIZE_MS_MAX, 'ms'),
    atLeast('import, times COPY of one connection', ratio('importSeconds'), 1.5),
    atLeast('page, times SELECT', ratio('pageMs'), 3),
    atLeast('finalize of 1,000 chunks, times INSERT … SELECT', copyMs / finalizeMs(1_000), 100),
  ]
}

function atLeast(what, value, limit) {
  return { what, value, limit, unit: 'x', holds: value >= limit }
}
