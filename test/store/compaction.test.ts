import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { yieldToEventLoop } from '../../src/base/platform.js'
import { PAGE_EXTENTS } from '../../src/format/keys.js'
import type { RowWithId, Store, StoreOptions, Table } from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import { joinedMaintenance, QUIET } from '../support/maintenance.js'

type Opened = Readonly<{
  store: Store
  objectCount(): Promise<number>
  recordCount(): Promise<number>
}>

async function open(options: StoreOptions = {}): Promise<Opened> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const objects = memoryObjects()
  const store = await openStore({
    orphanGraceMs: 0,
    ...options,
    maintenance: joinedMaintenance(QUIET, options.maintenance),
    kv: await openLevelKv(database),
    objects,
  })
  onTestFinished(() => store.close())
  return {
    store,
    objectCount: async () => (await objects.list('')).length,
    /** Row records: key space 0x06 after the partition's name, here `t`. */
    recordCount: async () => {
      const keys = await database.keys().all()
      return keys.filter((key) => key[0] === 2 && key[3] === 0x74 && key[4] === 6).length
    },
  }
}

async function rowsOf(table: Table): Promise<RowWithId[]> {
  const rows: RowWithId[] = []
  for await (const row of table.scan()) rows.push(row)
  return rows
}

async function stateOf(table: Table): Promise<unknown> {
  const rows = await rowsOf(table)
  const versions = await Promise.all(
    rows.map(async ({ $rowID }) => (await table.get($rowID))?.version),
  )
  return { rows, versions, version: await table.version() }
}

describe('a compaction', () => {
  test('of small adds makes one segment of each full extent and changes nothing that can be read', async () => {
    const { store, objectCount, recordCount } = await open()
    const team = store.team('t')
    const { tableId } = await team.createTable({
      name: 'x',
      rows: [],
      schema: { columns: [{ id: 'n', type: 'number' }] },
    })
    const table = team.table(tableId)
    for (let n = 0; n < 1_500; n += 100) {
      await table.addRows(Array.from({ length: 100 }, (_, i) => ({ n: n + i })))
    }
    const [first] = await rowsOf(table)
    await table.updateRow(first?.$rowID ?? '', { n: -1 })
    await table.deleteRow((await rowsOf(table))[5]?.$rowID ?? '')
    const before = await stateOf(table)

    expect(await store.maintain()).toMatchObject({ compactions: 1 })

    expect(await stateOf(table)).toEqual(before)
    expect([await objectCount(), await recordCount()]).toEqual([1, 500])
    expect(await store.maintain()).toMatchObject({ compactions: 0 })
  })

  test('of a segment with many records over it keeps rows, versions and deletions', async () => {
    const { store, objectCount, recordCount } = await open({
      inlineRowsMax: 0,
      maintenance: { compactionRecordsMin: 10 },
    })
    const team = store.team('t')
    const rows = Array.from({ length: 200 }, (_, n) => ({ n, t: `row ${n}` }))
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
    const table = team.table(tableId)
    for (let i = 0; i < 20; i++) await table.updateRow(rowIds.at(3 * i) ?? '', { t: `new ${i}` })
    for (let i = 0; i < 7; i++) await table.deleteRow(rowIds.at(3 * i + 1) ?? '')
    const before = await stateOf(table)

    expect(await store.maintain()).toMatchObject({ compactions: 1 })
    expect(await stateOf(table)).toEqual(before)
    expect(await recordCount()).toBe(0)

    // Later changes lie over the compacted segment, and are compacted again.
    await table.updateRow(rowIds.at(0) ?? '', { t: 'later' })
    for (let i = 0; i < 12; i++) await table.deleteRow(rowIds.at(100 + i) ?? '')
    const again = await stateOf(table)
    expect(await store.maintain()).toMatchObject({ compactions: 1 })
    expect(await stateOf(table)).toEqual(again)
    await store.maintain()
    await store.maintain()
    expect(await objectCount()).toBe(1)
  })

  test('finds the extents with many records of all tables and pages, but no open and no overwritten one', async () => {
    const { store } = await open({ maintenance: { compactionRecordsMin: 2 }, inlineRowsMax: 1 })
    const team = store.team('t')

    /** A table with one segment per number. Rows of the segments of some numbers are changed. */
    async function changedTable(
      numbers: number,
      isChanged: (n: number) => boolean,
    ): Promise<Table> {
      const { tableId } = await team.createTable({ name: 'x', rows: [{ n: 0 }] })
      const table = team.table(tableId)
      for (let n = 1; n <= numbers; n++) await table.addRows([{ n }, { n: -n }])
      for (const { $rowID, n } of await rowsOf(table)) {
        if (isChanged(Number(n))) await table.updateRow($rowID, { n: 0.5 })
      }
      await table.addRows([{ n: 1_000 }]) // a record of the open extent
      return table
    }

    // The first row of each table was closed as a record. One record over a segment is not enough.
    const small = await changedTable(1, (n) => Math.abs(n) === 1)
    const middle = await changedTable(4, (n) => Math.abs(n) === 4)
    const large = await changedTable(PAGE_EXTENTS + 1, (n) => {
      return n === PAGE_EXTENTS || [5, PAGE_EXTENTS - 1, PAGE_EXTENTS + 1].includes(Math.abs(n))
    })
    const overwritten = await changedTable(1, () => true)
    await overwritten.overwrite({ rows: [{ n: 4 }] })
    const tables = [small, middle, large, overwritten]
    const before = await Promise.all(tables.map(stateOf))

    expect(await store.maintain()).toMatchObject({ compactions: 2 + 2 + 4 })
    expect(await Promise.all(tables.map(stateOf))).toEqual(before)
    expect(await store.maintain()).toMatchObject({ compactions: 0 })
  })

  test('of an extent without live rows leaves neither object nor records', async () => {
    const { store, objectCount, recordCount } = await open({
      inlineRowsMax: 0,
      maintenance: { compactionRecordsMin: 1 },
    })
    const team = store.team('t')
    const rows = Array.from({ length: 30 }, (_, n) => ({ n }))
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
    const table = team.table(tableId)
    for (const id of rowIds) await table.deleteRow(id)
    await table.addRows([{ n: 1_000 }])

    for (let i = 0; i < 3; i++) await store.maintain()

    expect((await rowsOf(table)).map((row) => row['n'])).toEqual([1_000])
    expect([await objectCount(), await recordCount()]).toEqual([1, 0])
    expect(await table.get(rowIds.at(3) ?? '')).toBeNull()
  })

  test('loses no update, delete or add that is made meanwhile', async () => {
    const { store } = await open({
      inlineRowsMax: 5,
      maintenance: { compactionRecordsMin: 1 },
      segmentRowsMax: 50,
    })
    const team = store.team('t')
    const rows = Array.from({ length: 300 }, (_, n) => ({ n, t: 0 }))
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
    const table = team.table(tableId)
    const expected = new Map(rows.map(({ n }) => [n, 0]))
    let compactions = 0
    let isDone = false
    const compacting = (async () => {
      while (!isDone) {
        compactions += (await store.maintain()).compactions
        await yieldToEventLoop() // Nothing else yields in memory, and compression needs a turn of the event loop.
      }
    })()
    for (let round = 1; round <= 400; round++) {
      await yieldToEventLoop()
      const n = (round * 37) % 300
      if (!expected.has(n)) continue
      const id = rowIds.at(n) ?? ''
      if (round % 9 === 0) {
        await table.deleteRow(id)
        expected.delete(n)
      } else {
        await table.updateRow(id, { t: round })
        expected.set(n, round)
      }
      if (round % 25 === 0) {
        await table.addRows([{ n: 1_000 + round, t: round }])
        expected.set(1_000 + round, round)
      }
    }
    isDone = true
    await compacting

    const read = (await rowsOf(table)).map((row) => [row['n'], row['t']])
    expect(read).toEqual([...expected].sort(([a], [b]) => a - b))
    expect(compactions).toBeGreaterThan(0)
  })

  test('does not disturb a walk: every row exactly once', async () => {
    const { store } = await open({
      inlineRowsMax: 0,
      maintenance: { compactionRecordsMin: 1 },
      segmentRowsMax: 40,
    })
    const team = store.team('t')
    const rows = Array.from({ length: 400 }, (_, n) => ({ n, t: 0 }))
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
    const table = team.table(tableId)
    let spanning = 0
    for (let walk = 0; walk < 15; walk++) {
      const seen: unknown[] = []
      let compactions = 0
      let page = await table.page({ limit: 30 })
      for (;;) {
        seen.push(...page.rows.map((row) => row['n']))
        await table.updateRow(rowIds.at((walk * 53 + seen.length) % 400) ?? '', { t: walk })
        compactions += (await store.maintain()).compactions
        if (page.continuation === undefined) break
        page = await table.page({ limit: 30, continuation: page.continuation })
      }
      expect(seen).toEqual(rows.map(({ n }) => n))
      if (compactions > 0) spanning++
    }
    expect(spanning).toBeGreaterThanOrEqual(10)
  })

  test('keeps kept row IDs, and its deleted rows cannot be claimed', async () => {
    const { store } = await open({ inlineRowsMax: 0, maintenance: { compactionRecordsMin: 1 } })
    const team = store.team('t')
    const { tableId, rowIds } = await team.createTable({
      name: 'x',
      rows: [{ n: 0 }, { n: 1 }, { n: 2 }],
    })
    const table = team.table(tableId)
    await table.overwrite({
      rows: [{ $rowID: rowIds.at(2), n: 2 }, { n: 9 }, { $rowID: rowIds.at(1), n: 1 }],
    })
    await table.updateRow(rowIds.at(2) ?? '', { n: 22 })
    await table.deleteRow(rowIds.at(1) ?? '')
    await store.maintain()
    expect(await table.get(rowIds.at(2) ?? '')).toMatchObject({ row: { n: 22 }, version: 3 })
    expect(await table.get(rowIds.at(1) ?? '')).toBeNull()

    const { rowIds: after } = await table.overwrite({
      rows: [
        { $rowID: rowIds.at(1), n: 1 },
        { $rowID: rowIds.at(2), n: 2 },
      ],
    })

    expect(after.at(0)).not.toBe(rowIds.at(1))
    expect(after.at(1)).toBe(rowIds.at(2))
  })

  test('leaves what must be converted to the reader', async () => {
    const { store } = await open({ inlineRowsMax: 0, maintenance: { compactionRecordsMin: 1 } })
    const team = store.team('t')
    const rows = [
      { n: 1, u: 5 },
      { n: 2, u: 6 },
    ]
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
    const table = team.table(tableId)
    await table.updateRow(rowIds.at(0) ?? '', { u: 7 })
    await table.addRows([{ n: 'text' }], { onSchemaError: 'updateSchema' })
    const before = await stateOf(table)

    expect((await store.maintain()).compactions).toBeGreaterThan(0)

    expect(await stateOf(table)).toEqual(before)
    expect((await rowsOf(table)).map((row) => row['n'])).toEqual(['1', '2', 'text'])
  })
})
