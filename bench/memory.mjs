// Compares the size of caches and buffer pools with their limits, after each has been offered more data than it may
// hold.
import { createContract } from './dist/index.js'
import { openDirectory } from './dist/node.js'
import { judge, printTable } from './report.mjs'

const MIB = 1024 * 1024

/** Small enough that every share is filled in seconds. */
const CACHE_BYTES = 8 * MIB
const BUFFER_BYTES = 7 * MIB

const TEAMS = 3_000
const TABLES = 60
const ROWS = 2_000
const COLUMNS = 200
const CHUNK_BYTES = 1_000_000
const PUTS = 16
const READS = 40_000

/** Coprime to the number of rows. */
const STRIDE = 7_919

const OPTIONS = {
  ...{
    maintenance: {
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: 0,
      fileCollectionIntervalMs: 0,
    },
  },
  ...{ cacheBytesMax: CACHE_BYTES, bufferBytesMax: BUFFER_BYTES },
  segmentRowsMax: 64,
  durability: 'none',
}

/** The most that each held after any step, and the heap of the process. */
export async function measureMemory(directory) {
  globalThis.gc?.()
  const before = process.memoryUsage()
  const store = await openDirectory(directory, OPTIONS)
  const most = { cacheBytes: 0, bufferBytes: 0, caches: [], buffers: [] }
  try {
    const onStep = () => note(most, store.memory())
    await readTables(await fillTables(store, onStep), onStep)
    await fillTeams(store, onStep)
    await putChunks(store, onStep)
    globalThis.gc?.()
    const after = process.memoryUsage()
    const ofProcess = { before, after }
    return { most, atEnd: store.memory(), ofProcess }
  } finally {
    await store.close()
  }
}

function note(most, memory) {
  for (const name of ['cacheBytes', 'bufferBytes']) most[name] = Math.max(most[name], memory[name])
  for (const kind of ['caches', 'buffers']) {
    most[kind] = memory[kind].map((use, at) => ({
      ...use,
      bytes: Math.max(use.bytes, most[kind][at]?.bytes ?? 0),
    }))
  }
}

function rowOf(n) {
  return { n, [`column ${n % COLUMNS}`]: `${n}`.padEnd(200, 'x') }
}

/** Tables whose rows kept their IDs in another order: schemas, heads, extents and forward objects. */
async function fillTables(store, onStep) {
  const tables = []
  for (let number = 0; number < TABLES; number++) {
    const rows = Array.from({ length: ROWS }, (_, n) => rowOf(n))
    const team = store.team(`team ${number}`)
    const { tableId, rowIds } = await team.createTable({ name: 'memory', rows })
    const order = Array.from({ length: ROWS }, (_, n) => (n * STRIDE + number) % ROWS)
    if (number % 3 === 0) {
      const moved = order.map((from) => ({ $rowID: rowIds.at(from), ...rowOf(from) }))
      await team.table(tableId).overwrite({ rows: moved })
    }
    tables.push({ table: team.table(tableId), rowIds })
    onStep()
  }
  return tables
}

/** Reads rows all over the tables, some of them repeatedly; then makes one change, and reads rows of its table. */
async function readTables(tables, onStep) {
  for (let read = 0; read < READS; read++) {
    const { table, rowIds } = tables[read % TABLES]
    const row = Math.floor(read / TABLES)
    for (const n of [row * STRIDE, row * STRIDE + 1, row % 10]) {
      await table.getJson(rowIds.at(n % ROWS))
    }
    if (read % 100 === 0) onStep()
  }
  for (const { table, rowIds } of tables) {
    await table.updateRow(rowIds.at(0), { n: 0 })
    await table.schema()
    for await (const _ of table.scan()) break
    onStep()
  }
}

async function fillTeams(store, onStep) {
  for (let number = 0; number < TEAMS; number++) {
    const { files } = store.team(`team of files ${number}`)
    const { id } = await files.put('x', { fileName: 'x', contentType: 'text/plain' })
    await files.stat(id)
    if (number % 50 === 0) onStep()
  }
}

/** Puts chunks over the contract, several at once: buffers of bodies and of segments. */
async function putChunks(store, onStep) {
  const { handle } = createContract(store, { keys: [{ key: 'k', teamId: 'team 0' }] })
  const row = JSON.stringify(rowOf(1))
  const body = new TextEncoder().encode(
    `[${Array(Math.floor(CHUNK_BYTES / row.length))
      .fill(row)
      .join(',')}]`,
  )
  const headers = [
    ['authorization', 'Bearer k'],
    ['content-type', 'application/json'],
  ]
  const put = async (serial) => {
    const path = `/stashes/memory/${serial}`
    const { status } = await handle({ method: 'PUT', path, query: '', headers, body: pieces(body) })
    if (status >= 300) throw new Error(`a chunk was answered with ${status}`)
    onStep()
  }
  await Promise.all(Array.from({ length: PUTS }, (_, serial) => put(serial)))
}

const PIECE_BYTES = 64 * 1024

async function* pieces(body) {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES)
}

export function printMemory({ most, ofProcess }) {
  const line = (kind) => (use) => [
    kind,
    use.name,
    (use.bytes / MIB).toFixed(2),
    (use.bytesMax / MIB).toFixed(2),
    `${((100 * use.bytes) / use.bytesMax).toFixed(0)} %`,
  ]
  printTable(
    ['memory held by', 'name', 'MiB at most', 'share, MiB', 'of it'],
    [...most.caches.map(line('cache')), ...most.buffers.map(line('buffers'))],
  )
  const { before, after } = ofProcess
  const grown = (name) => ((after[name] - before[name]) / MIB).toFixed(1)
  console.log(
    `\nthe process at the end, beside before: heap ${grown('heapUsed')} MiB, array buffers ${grown('arrayBuffers')} MiB`,
  )
}

export function memoryRules({ most }) {
  const shares = [...most.caches, ...most.buffers]
  const fullest = Math.max(...shares.map(({ bytes, bytesMax }) => bytes / bytesMax))
  const unused = shares.filter(({ bytes }) => bytes === 0)
  return [
    judge('all caches, against cacheBytesMax', most.cacheBytes / MIB, CACHE_BYTES / MIB, 'MiB'),
    judge('all buffers, against bufferBytesMax', most.bufferBytes / MIB, BUFFER_BYTES / MIB, 'MiB'),
    judge('the fullest of them, against its share', 100 * fullest, 100, '%'),
    judge('those that held nothing, so that nothing is known of them', unused.length, 0, ''),
  ]
}
