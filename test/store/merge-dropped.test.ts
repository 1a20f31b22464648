// Goal: a merge into a table with rows from before a column was dropped sees their cells as a reader does: cells of the
// dropped column are absent, and never return. The history and the versions of other rows stay exact.
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowWithId,
  type Store,
  type StoreOptions,
  type Table,
} from '../../src/index.js'
import type { ObjectStore } from '../../src/ports.js'
import { MERGE_MODES } from '../support/merge-oracle.js'
import { replaced } from './step-ports.js'

const COLUMNS = [
  { id: 'k', type: 'number' },
  { id: 'v', type: 'string' },
] as const
const GONE = { id: 'gone', type: 'string' } as const
const FORMS: readonly (readonly [string, StoreOptions])[] = [
  ['in row records', { inlineRowsMax: 1_000 }],
  ['in segments', { inlineRowsMax: 0, segmentRowsMax: 5 }],
  ['in segments of one row', { inlineRowsMax: 0, segmentRowsMax: 1 }],
]

async function open(options: StoreOptions, objects: ObjectStore = memoryObjects()): Promise<Store> {
  const store = await openStore({
    kv: await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>()),
    objects,
    maintenance: {
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: 0,
      compactionRecordsMin: 1,
    },
    historyRetentionMs: 3_600_000,
    ...options,
  })
  onTestFinished(() => store.close())
  return store
}

const ROWS = Array.from({ length: 12 }, (_, k) => ({ k, v: `v${k}`, gone: `gone ${k}` }))

/**
 * A table with rows from before a column was dropped in version 3. Two of the rows were updated before that, one after.
 */
async function droppedTable(store: Store): Promise<Table> {
  const team = store.team('t')
  const { tableId, rowIds } = await team.createTable({ name: 't', rows: ROWS })
  const table = team.table(tableId)
  await table.updateRows(
    [1, 2].map((at) => ({ rowId: rowIds.get(at), cells: { gone: 'changed' } })),
  )
  await table.alter({ schema: { columns: COLUMNS }, drop: ['gone'] })
  await table.updateRow(rowIds.get(3), { v: 'updated' })
  return table
}

async function allOf(rows: AsyncIterable<RowWithId>): Promise<Omit<RowWithId, '$rowID'>[]> {
  const all: Omit<RowWithId, '$rowID'>[] = []
  for await (const { $rowID: _, ...row } of rows) all.push(row)
  return all
}

const AFTER = ROWS.map(({ k, v }) => ({ k, v: k === 3 ? 'updated' : v }))

describe.each(FORMS)('rows %s', (_, options) => {
  test.each(['upsert', 'replace'] as const)(
    'a merge that is to %s changes rows that read differently',
    async (mode) => {
      const store = await open(options)
      const table = await droppedTable(store)
      const rows = AFTER.map((row) => (row.k % 5 === 0 ? { ...row, v: 'merged' } : row))
      const merge = { rows, key: ['k'], ...MERGE_MODES[mode] }

      const counts = { changed: 3, unchanged: 9, added: 0, removed: 0 }
      expect(await table.merge({ ...merge, dryRun: true })).toMatchObject({ version: 4, ...counts })
      expect(await table.merge(merge)).toMatchObject({ version: 5, ...counts })
      expect(await table.merge(merge)).toMatchObject({ version: 5, changed: 0, unchanged: 12 })

      expect(await allOf(table.scan())).toEqual(rows)
      expect(await allOf(table.at(2).scan())).toEqual(
        ROWS.map((row) => (row.k === 1 || row.k === 2 ? { ...row, gone: 'changed' } : row)),
      )
      expect(await allOf(table.at(4).scan())).toEqual(AFTER)
      const changes: (readonly [number, number, number])[] = []
      for await (const { version, changed, added } of table.changes({ since: 3 })) {
        changes.push([version, changed.length, added.length])
      }
      expect(changes).toEqual([
        [4, 1, 0],
        [5, 3, 0],
      ])
      const page = await table.page()
      const versions = await table.getMany(page.rows.map(({ $rowID }) => $rowID))
      expect(versions.map((row) => row?.version)).toEqual([5, 3, 3, 4, 3, 5, 3, 3, 3, 3, 5, 3])
    },
  )

  test('a column with the ID of a dropped one has no cell of it, also after a merge, a compaction and a garbage collection', async () => {
    const store = await open(options)
    const table = await droppedTable(store)
    await table.merge({
      rows: [
        { k: 5, v: 'merged' },
        { k: 90, v: 'new' },
      ],
      key: ['k'],
    })
    const { changed, unchanged } = await table.merge({
      rows: [
        { k: 6, gone: 7 },
        { k: 7, gone: null },
      ],
      key: ['k'],
      onSchemaError: 'updateSchema',
    })
    await store.maintain()

    expect([changed, unchanged]).toEqual([1, 1])
    expect((await table.schema()).columns.map(({ id }) => id)).toEqual(['k', 'v', 'gone'])
    const wanted = AFTER.map((row) => {
      if (row.k === 5) return { k: 5, v: 'merged' }
      return row.k === 6 ? { ...row, gone: 7 } : row
    })
    expect(await allOf(table.scan())).toEqual([...wanted, { k: 90, v: 'new' }])
    expect(await allOf(table.at(1).scan())).toEqual(ROWS)
    expect((await store.verify({ full: true })).ok).toBe(true)
    await table.alter({ schema: { columns: COLUMNS }, drop: ['gone'] })
    await table.alter({ schema: { columns: [...COLUMNS, GONE] } })
    await table.merge({ rows: [{ k: 6, v: 'again' }], key: ['k'] })
    expect((await allOf(table.scan())).filter((row) => 'gone' in row)).toEqual([])
  })
})

test('a table with a key is merged by it after a column was dropped', async () => {
  const store = await open({ inlineRowsMax: 0, segmentRowsMax: 5 })
  const table = await droppedTable(store)
  await table.alter({ key: ['k'] })
  const rows = [
    { k: 1, v: 'one' },
    { k: 50, v: 'fifty' },
  ]
  expect(await table.merge({ rows, key: ['k'] })).toMatchObject({ changed: 1, added: 1 })
  expect((await table.get({ k: 1 }))?.row).toMatchObject({ k: 1, v: 'one' })
  expect((await table.get({ k: 1 }))?.row).not.toHaveProperty('gone')
  expect((await store.verify({ full: true })).ok).toBe(true)
})

test('a dry run during which the schema changes is judged by one moment', async () => {
  const objects = memoryObjects()
  let then: (() => Promise<unknown>) | undefined
  const store = await open(
    { inlineRowsMax: 0, segmentRowsMax: 5, cacheBytesMax: 0 },
    replaced(objects, {
      async get(...given) {
        const change = then
        then = undefined
        await change?.()
        return objects.get(...given)
      },
    }),
  )
  const team = store.team('t')
  const { tableId } = await team.createTable({ name: 't', rows: ROWS })
  const table = team.table(tableId)
  await team.stash('s').put(
    0,
    AFTER.map(({ k, v }) => ({ k, v: k === 3 ? 'v3' : v })),
  )
  const rules = { key: ['k'], missing: 'delete', unnamed: 'empty' } as const
  const merge = { rows: team.stash('s'), ...rules, dryRun: true }
  expect(await table.merge(merge)).toMatchObject({ version: 1, changed: 12, unchanged: 0 })

  let isChanged = false
  then = async () => {
    await table.alter({ schema: { columns: COLUMNS }, drop: ['gone'] })
    isChanged = true
  }
  const dry = await table.merge(merge)

  expect(isChanged).toBe(true)
  expect(dry).toMatchObject({ version: 2, changed: 0, unchanged: 12 })
})
