// Goal: `await using` ends every iterator of the library, and frees what it held.
import { expect, onTestFinished, test } from 'vitest'
import { type DisposableIterator, defineSchema, openMemory, type Table } from '../../src/index.js'

const HOUR_MS = 3_600_000
const ROWS = Array.from({ length: 2_500 }, (_, n) => ({ n }))
const SCHEMA = defineSchema({ columns: { n: 'number' } })

async function open(options = {}) {
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    overwrittenRowsTtlMs: 0,
    overwrittenRowSetsMax: 0,
    ...options,
  })
  onTestFinished(() => store.close())
  const team = store.team('team')
  const { tableId, version } = await team.createTable({ name: 't', rows: ROWS })
  return { store, team, table: team.table(tableId), version }
}

const WALKS: Record<string, (table: Table) => DisposableIterator<unknown>> = {
  scan: (table) => table.scan(),
  'scan with a limit': (table) => table.scan({ limit: 2_000 }),
  find: (table) => table.find({ n: { gte: 0 } }),
  toCSV: (table) => table.toCSV(),
}

for (const [what, walk] of Object.entries(WALKS)) {
  test(`${what}: rows that were overwritten are kept until the end of the block`, async () => {
    const { store, table } = await open()
    {
      await using rows = walk(table)
      expect((await rows.next()).done).toBe(false)
      await table.overwrite({ rows: [] })
      expect((await store.maintain()).generations).toBe(0)
    }
    expect((await store.maintain()).generations).toBe(1)
  })
}

test('scans of a typed table, including the first one, hold rows until the end of the block', async () => {
  const { store, team, table } = await open()
  const typed = team.table(table.id, SCHEMA)
  for (const _ of ['the first checks the schema', 'the second does not']) {
    {
      await using rows = typed.scan()
      expect((await rows.next()).done).toBe(false)
      await table.overwrite({ rows: ROWS })
      expect((await store.maintain()).generations).toBe(0)
    }
    expect((await store.maintain()).generations).toBe(1)
  }
})

test('changes, watches, and rows of the past end with the block', async () => {
  const { table, version } = await open({ historyRetentionMs: HOUR_MS })
  await table.addRows(ROWS)
  const ended: DisposableIterator<unknown>[] = []
  {
    await using changes = table.changes({ since: version })
    await using watch = table.watch({ since: version })
    await using past = table.at(version).scan()
    const change = (await changes.next()).value
    if (change === undefined) throw new Error('there is no change')
    await using rows = change.rows()
    for (const iterator of [watch, past, rows]) {
      expect((await iterator.next()).done).toBe(false)
    }
    ended.push(past, rows, changes, watch) // A watch that continued would wait for ever: the others come first.
  }
  for (const iterator of ended) expect((await iterator.next()).done).toBe(true)
})

test('a scan in a transaction ends with the block', async () => {
  const { team, table } = await open()
  await team.transaction(async (t) => {
    const scan = t.table(table.id).scan()
    {
      await using rows = scan
      expect((await rows.next()).done).toBe(false)
    }
    expect((await scan.next()).done).toBe(true)
  })
})

test('an iterator that has not begun ends too', async () => {
  const { table } = await open()
  const scan = table.scan()
  await scan[Symbol.asyncDispose]()
  expect((await scan.next()).done).toBe(true)
})
