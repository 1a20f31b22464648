// The cost of operations on tables of different sizes. It may grow with what an operation touches, not with the table.
import { join } from 'node:path'
import { drawLines } from './charts.mjs'
import { openDirectory } from './dist/node.js'
import { installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const SIZES = [10_000, 100_000, 1_000_000]
const FULL_SIZE = 8_000_000
const ROWS_PER_CHUNK = 1_000
const DISTINCT_CHUNKS = 32
const PUTS_AT_ONCE = 8
const ROUNDS = 5

/** One uncounted round precedes the others: JavaScript is still being compiled in it, mostly on the smallest table. */
const WARM_UP = -1

/** Runs of each operation in a round. */
const PAGES = 20
const POINTS = 500
const CHANGES = 100

/**
 * Point reads visit this many segments, spread over the table: as many as the smallest table has, because the first
 * read of a file opens it.
 */
const POINT_SEGMENTS = SIZES[0] / ROWS_PER_CHUNK

/** A long page, to reach the middle of the table. */
const WALK_ROWS = 10_000

/** The largest allowed ratio between a figure of the largest table and of the smallest. */
const TIMES_MAX = 1.5

const OPERATIONS = ['finalize', 'page', 'point', 'update', 'add']

/** Nothing runs in the background, and there is no cache: it would hold a small table, but not a large one. */
const OPTIONS = {
  maintenance: { compactionIntervalMs: 0, garbageCollectionIntervalMs: 0 },
  cacheBytesMax: 0,
}

export async function measureScale(directory, { seed, rows, full, onRound }) {
  const sizes = sizesUpTo(full ? FULL_SIZE : rows)
  const chunks = makeChunks({ seed, count: DISTINCT_CHUNKS, rows: ROWS_PER_CHUNK })
  const places = []
  try {
    for (const size of sizes) {
      console.log(`a table of ${size} rows`)
      places.push(await fill(join(directory, String(size)), size, chunks))
    }
    for (let round = WARM_UP; round < ROUNDS; round++) {
      // Forwards and backwards, so that other load of the machine affects all sizes.
      const inTurn = round % 2 === 0 ? places : places.toReversed()
      for (const place of inTurn) await measureRound(place, round)
      if (round === WARM_UP) for (const { times } of places) clear(times)
      else onRound(`${round + 1} of ${ROUNDS} rounds`, places.map(summarize))
    }
  } finally {
    for (const { store } of places) await store.close()
  }
  return places.map(summarize)
}

/** The largest size, and the usual sizes below it. */
function sizesUpTo(rows) {
  const largest = Math.ceil(rows / ROWS_PER_CHUNK) * ROWS_PER_CHUNK
  if (largest <= SIZES[0])
    throw new Error(`scale compares with ${SIZES[0]} rows: --rows takes more`)
  return [...SIZES.filter((size) => size < largest), largest]
}

const clear = (times) => {
  for (const name of OPERATIONS) times[name].length = 0
}

const summarize = ({ size, times }) => ({
  size,
  medianMs: Object.fromEntries(OPERATIONS.map((name) => [name, median(times[name])])),
  samples: Object.fromEntries(OPERATIONS.map((name) => [name, times[name].length])),
})

async function fill(directory, size, chunks) {
  const store = await openDirectory(directory, OPTIONS)
  const team = store.team('bench')
  const stash = team.stash('bench')
  const count = size / ROWS_PER_CHUNK
  let next = 0
  const putInTurn = async () => {
    while (next < count) {
      const serial = next++
      await stash.put(String(serial), { json: chunks[serial % chunks.length] })
    }
  }
  await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putInTurn))
  const { tableId, rowIds } = await team.createTable({ name: 'bench', rows: stash })
  const table = team.table(tableId)
  const row = JSON.parse(chunks[0].toString())[0]
  // Changes go to another table: their row records would slow pages of a small table down, but not of a large one.
  const changed = await team.createTable({ name: 'changed', rows: stash })
  const times = Object.fromEntries(OPERATIONS.map((name) => [name, []]))
  return {
    size,
    store,
    team,
    stash,
    table,
    rowIds,
    changed: team.table(changed.tableId),
    changedIds: changed.rowIds,
    row,
    middle: await toMiddle(table, size),
    times,
  }
}

/** The continuation of a page that ends in the middle of the table. */
async function toMiddle(table, size) {
  let continuation
  for (let rows = 0; rows < size / 2; ) {
    const limit = Math.min(WALK_ROWS, size / 2 - rows)
    const page = await table.pageBytes({ limit, continuation })
    rows += page.rowCount
    continuation = page.continuation
  }
  return continuation
}

async function measureRound(place, round) {
  const { size, team, stash, table, rowIds, changed, changedIds, row, middle, times } = place
  const timed = async (name, operation) => {
    const startMs = performance.now()
    const result = await operation()
    times[name].push(performance.now() - startMs)
    return result
  }
  await timed('finalize', () => team.createTable({ name: `finalize ${round}`, rows: stash }))
  let continuation = middle
  for (let page = 0; page < Math.min(PAGES, size / 2 / ROWS_PER_CHUNK); page++) {
    const read = await timed('page', () => table.pageBytes({ limit: ROWS_PER_CHUNK, continuation }))
    continuation = read.continuation ?? middle
  }
  // Other rows in each round.
  const roundsInAll = ROUNDS - WARM_UP
  for (let turn = 0; turn < POINTS; turn++) {
    const segment = (turn % POINT_SEGMENTS) * (size / POINT_SEGMENTS)
    const row = round - WARM_UP + Math.floor(turn / POINT_SEGMENTS) * roundsInAll
    await timed('point', () => table.getJson(rowIds.at(segment + row)))
  }
  for (let turn = 0; turn < CHANGES; turn++) {
    const stride = Math.floor(size / (roundsInAll * CHANGES))
    const id = changedIds.at((round - WARM_UP + turn * roundsInAll) * stride)
    await timed('update', () => changed.updateRow(id, { visits: turn }))
    await timed('add', () => changed.addRows([row]))
  }
}

export function printScale(results) {
  printTable(
    ['rows', ...OPERATIONS.map((name) => `${name} ms`)],
    results.map(({ size, medianMs }) => [
      size,
      ...OPERATIONS.map((name) => medianMs[name].toFixed(3)),
    ]),
  )
}

export function scaleRules(results) {
  const [smallest, largest] = [results[0], results.at(-1)]
  const grown = largest.size / smallest.size
  return OPERATIONS.map((name) =>
    judge(
      `${name}: ${largest.size} rows over ${smallest.size}`,
      largest.medianMs[name] / smallest.medianMs[name],
      name === 'finalize' ? grown : TIMES_MAX,
      'x',
    ),
  )
}

export async function drawScale(results) {
  installPeers() // It needs only the library that draws.
  const points = results.flatMap(({ size, medianMs }) =>
    OPERATIONS.map((series) => ({ series, x: size, value: medianMs[series] })),
  )
  await drawLines('scale', {
    title: 'What an operation costs, by the size of the table',
    subtitle: 'finalize: all chunks; page: 1,000 rows; others: one row; medians',
    axis: 'milliseconds, logarithmic',
    across: 'rows of the table',
    points,
  })
  console.log('picture in bench/results/scale.svg')
}
