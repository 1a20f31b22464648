// What operations cost on tables of different sizes. It may grow with what they touch, not with the table.
import { join } from 'node:path'
import { openDirectory } from '../dist/node.js'
import { drawLines } from './charts.mjs'
import { installPeers } from './install-peers.mjs'
import { judge, median, printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const SIZES = [10_000, 100_000, 1_000_000]
const FULL_SIZE = 8_000_000
const ROWS_PER_CHUNK = 1_000
const DISTINCT_CHUNKS = 32
const PUTS_AT_ONCE = 8
const ROUNDS = 5

/** Of each operation in a round. */
const PAGES = 20
const POINTS = 500
const CHANGES = 100

/** A long page, to get to the middle of the table. */
const WALK_ROWS = 10_000

/** What a figure of the largest table may be, over that of the smallest. */
const TIMES_MAX = 1.5

const OPERATIONS = ['finalize', 'page', 'point', 'update', 'add']

/** Nothing runs in the background, and there is no cache: it would hold a small table, and no large one. */
const OPTIONS = { foldIntervalMs: 0, sweepIntervalMs: 0, cacheBytesMax: 0 }

export async function measureScale(directory, { seed, rows, full }) {
  installPeers()
  const sizes = [...SIZES.filter((size) => size <= rows), ...(full ? [FULL_SIZE] : [])]
  const chunks = makeChunks({ seed, count: DISTINCT_CHUNKS, rows: ROWS_PER_CHUNK })
  const places = []
  try {
    for (const size of sizes) {
      places.push(await fill(join(directory, String(size)), size, chunks))
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const place of places) await measureRound(place, round)
    }
  } finally {
    for (const { store } of places) await store.close()
  }
  return places.map(({ size, times }) => ({
    size,
    medianMs: Object.fromEntries(OPERATIONS.map((name) => [name, median(times[name])])),
    samples: Object.fromEntries(OPERATIONS.map((name) => [name, times[name].length])),
  }))
}

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
  const times = Object.fromEntries(OPERATIONS.map((name) => [name, []]))
  return {
    size,
    store,
    team,
    stash,
    table,
    rowIds,
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

async function measureRound({ size, team, stash, table, rowIds, row, middle, times }, round) {
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
  // Rows of the whole table, other ones each round.
  const stride = Math.floor(size / (ROUNDS * POINTS))
  const anyRow = (turn) => rowIds.at((round + turn * ROUNDS) * stride)
  for (let turn = 0; turn < POINTS; turn++) await timed('point', () => table.rowText(anyRow(turn)))
  for (let turn = 0; turn < CHANGES; turn++) {
    await timed('update', () => table.updateRow(anyRow(turn), { visits: turn }))
    await timed('add', () => table.addRows([row]))
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
