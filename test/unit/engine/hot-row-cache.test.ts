// Cached rows in their output form: which, for how long, and that no change is missed.
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HotRowCache } from '../../../src/engine/caches/hot-row-cache.js'
import type { TableHead } from '../../../src/format/records.js'
import type { Store, StoreOptions, Table } from '../../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../../src/index.js'

const HEAD = { version: 1 } as TableHead
const LATER_HEAD = { version: 1 } as TableHead
const ROW = { json: '{"$rowID":"x","a":1}', version: 1 }

describe('rows that were found', () => {
  test('are kept from the second time on, under their head only', () => {
    const rows = new HotRowCache(10_000)
    rows.note(HEAD, 'x', ROW)
    expect(rows.get(HEAD, 'x')).toBeUndefined()
    rows.note(HEAD, 'x', ROW)
    expect(rows.get(HEAD, 'x')).toMatchObject(ROW)
    expect(rows.get(LATER_HEAD, 'x')).toBeUndefined()
    expect(rows.get(HEAD, 'y')).toBeUndefined()
  })

  test('are kept if a thousand are read in turn, twice', () => {
    const rows = new HotRowCache(4_194_304)
    const names = Array.from(
      { length: 1_000 },
      (_, i) => `key 0123456789abcdef "user${i}@example.com"`,
    )
    for (let time = 0; time < 2; time++) for (const name of names) rows.note(HEAD, name, ROW)
    const kept = names.filter((name) => rows.get(HEAD, name) !== undefined).length
    expect(kept).toBeGreaterThan(0.95 * names.length)
  })

  test('take no more memory than they may', () => {
    const rows = new HotRowCache(100_000)
    const ids = Array.from({ length: 500 }, (_, i) => `row ${i}`)
    const json = 'x'.repeat(1_000)
    for (const id of ids) for (let time = 0; time < 2; time++) rows.note(HEAD, id, { ...ROW, json })
    const kept = ids.filter((id) => rows.get(HEAD, id) !== undefined).length
    expect(kept).toBeGreaterThan(10)
    expect(2 * kept * json.length).toBeLessThan(100_000)
  })

  test('are noted in an eighth of the memory, however many are read once', () => {
    const rows = new HotRowCache(100_000)
    for (let i = 0; i < 5_000; i++) rows.note(HEAD, `row ${i}`, ROW)
    expect(rows.bytes).toBeGreaterThan(5_000)
    expect(rows.bytes).toBeLessThanOrEqual(12_500)
    rows.note(HEAD, 'row 0', ROW)
    expect(rows.get(HEAD, 'row 0')).toBeUndefined()
    rows.note(HEAD, 'row 4999', ROW)
    expect(rows.get(HEAD, 'row 4999')).toMatchObject(ROW)
  })

  test('are not kept without memory for them', () => {
    const rows = new HotRowCache(0)
    for (let time = 0; time < 3; time++) rows.note(HEAD, 'x', ROW)
    expect(rows.get(HEAD, 'x')).toBeUndefined()
  })
})

async function open(options: StoreOptions = {}): Promise<Store> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const store = await openStore({
    maintenance: {
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: 0,
      compactionRecordsMin: 1,
    },
    orphanGraceMs: 0,
    ...options,
    kv: await openLevelKv(database),
    objects: memoryObjects(),
  })
  onTestFinished(() => store.close())
  return store
}

async function readThrice(table: Table, rowId: string): Promise<unknown> {
  await table.getJson(rowId)
  await table.getJson(rowId)
  return table.getJson(rowId)
}

type Case = Readonly<{
  name: string
  change: (table: Table, rowIds: readonly string[], store: Store) => Promise<unknown>
  /** The first row afterwards, without its ID; null: it was deleted. */
  shown: string | null
  version?: number
}>

const CASES: readonly Case[] = [
  {
    name: 'its own update',
    change: (table, [rowId = '']) => table.updateRow(rowId, { n: 7 }),
    shown: '"n":7,"t":"a"',
    version: 2,
  },
  {
    name: 'its deletion',
    change: (table, [rowId = '']) => table.deleteRow(rowId),
    shown: null,
  },
  {
    name: 'an overwrite that keeps its ID',
    change: (table, [rowId = '']) =>
      table.overwrite({
        rows: [
          { n: 8, t: 'z' },
          { $rowID: rowId, n: 9, t: 'b' },
        ],
      }),
    shown: '"n":9,"t":"b"',
    version: 2,
  },
  {
    name: 'an overwrite without it',
    change: (table) => table.overwrite({ rows: [{ n: 8, t: 'z' }] }),
    shown: null,
  },
  {
    name: 'the update of another row that widens its column',
    change: (table, [, other = '']) =>
      table.updateRow(other, { n: 'seven' }, { onSchemaError: 'updateSchema' }),
    shown: '"n":"1","t":"a"',
    version: 2,
  },
  {
    name: 'a compaction, which changes nothing of it',
    change: async (table, [, other = ''], store) => {
      await table.updateRow(other, { n: 7 })
      await store.maintain()
    },
    shown: '"n":1,"t":"a"',
    version: 1,
  },
  {
    name: 'an update, a compaction and another update',
    change: async (table, [rowId = ''], store) => {
      await table.updateRow(rowId, { n: 7 })
      await readThrice(table, rowId)
      await store.maintain()
      await readThrice(table, rowId)
      await table.updateRow(rowId, { n: 8 })
    },
    shown: '"n":8,"t":"a"',
    version: 3,
  },
]

describe.each([
  ['of a segment', { inlineRowsMax: 0 }],
  ['of a segment, of which nothing is kept,', { inlineRowsMax: 0, cacheBytesMax: 0 }],
  ['of row records', { inlineRowsMax: 100 }],
])('a row %s that was read again and again', (_, options) => {
  test.each(CASES)('shows $name at once', async ({ change, shown, version }) => {
    const store = await open(options)
    const team = store.team('t')
    const rows = [
      { n: 1, t: 'a' },
      { n: 2, t: 'b' },
      { n: 3, t: 'c' },
    ]
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
    const table = team.table(tableId)
    const ids = [...rowIds]
    const [rowId = ''] = ids
    const first = { json: `{"$rowID":"${rowId}","n":1,"t":"a"}`, version: 1 }
    expect(await readThrice(table, rowId)).toEqual(first)

    await change(table, ids, store)

    for (let time = 0; time < 3; time++) {
      const found = await table.getJson(rowId)
      const expected =
        version === undefined ? shown : { json: `{"$rowID":"${rowId}",${shown}}`, version }
      expect(found).toEqual(expected)
    }
  })

  test('is never read older than what was acknowledged before', async () => {
    const store = await open(options)
    const team = store.team('t')
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows: [{ n: 0 }, { n: 0 }] })
    const table = team.table(tableId)
    const rowId = rowIds.at(0) ?? ''
    let acknowledged = 0
    const reads = async (): Promise<void> => {
      while (acknowledged < 200) {
        const least = acknowledged
        const found = await table.get(rowId)
        expect(found?.row['n']).toBeGreaterThanOrEqual(least)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const writes = async (): Promise<void> => {
      while (acknowledged < 200) {
        await table.updateRow(rowId, { n: acknowledged + 1 })
        acknowledged++
        if (acknowledged % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await Promise.all([reads(), reads(), writes()])
  })
})
