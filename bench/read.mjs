// Micro workloads on a table of 100,000 rows in a directory.
import benny from 'benny'
import { openDirectory } from '../dist/node.js'
import { printTable } from './report.mjs'
import { makeChunks } from './workloads.mjs'

const CHUNKS = 100
const ROWS_PER_CHUNK = 1_000
const PAGE_ROWS = 1_000

export async function measureRead(directory, { seed, rowBytes }) {
  const chunks = makeChunks({ seed, count: 8, rows: ROWS_PER_CHUNK, rowBytes })
  const store = await openDirectory(directory)
  try {
    const team = store.team('bench')
    const stash = team.stash('read')
    for (let serial = 0; serial < CHUNKS; serial++) {
      await stash.put(String(serial), { json: chunks[serial % chunks.length] })
    }
    const { tableId, rowIds } = await team.createTable({ name: 'read', rows: stash })
    return await runCases(team.table(tableId), rowIds)
  } finally {
    await store.close()
  }
}

async function runCases(table, rowIds) {
  let turn = 0
  // A stride that is prime to the number of rows visits all of them, none near the last one.
  const anyRow = () => rowIds.at((turn++ * 7_919) % rowIds.length)
  const summary = await benny.suite(
    'read',
    benny.add(`page of ${PAGE_ROWS} rows, as bytes`, () => table.pageBytes({ limit: PAGE_ROWS })),
    benny.add(`page of ${PAGE_ROWS} rows, as objects`, () => table.page({ limit: PAGE_ROWS })),
    benny.add('one row, any, as text', () => table.rowText(anyRow())),
    benny.add('one row, the same one, as text', () => table.rowText(rowIds.at(0))),
    benny.add('one cell of one row changed, durably', () =>
      table.updateRow(anyRow(), { visits: 1 }),
    ),
  )
  return summary.results.map(({ name, ops, margin, samples }) => ({ name, ops, margin, samples }))
}

export function printRead(results) {
  printTable(
    ['what', 'a second', 'ms each', 'margin'],
    results.map(({ name, ops, margin }) => [name, ops, (1000 / ops).toFixed(3), `${margin} %`]),
  )
}
