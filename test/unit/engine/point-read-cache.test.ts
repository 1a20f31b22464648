// Point reads of tables that have not changed since their last read: their queries of the database, and that they miss
// no commit.
import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PointReadCache } from '../../../src/engine/caches/point-read-cache.js'
import { renderRowId } from '../../../src/format/row-id.js'
import type { Store, StoreError, Table } from '../../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../../src/index.js'
import { runOptions } from '../../support/fast-check-options.js'
import { seeded } from '../../support/seeded.js'

const SEGMENTS = 5
const ROWS = 10
const STEPS = 40
const RUNS = 25

type Counted = Readonly<{ store: Store; reads: () => number }>

/** Room for the facts about tables, and for few rows. */
const CACHE_BYTES = 256 * 1024

/** A store that counts its queries of the database. */
async function open(): Promise<Counted> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  let reads = 0
  const getSync = database.getSync.bind(database)
  const iterator = database.iterator.bind(database) as (...given: unknown[]) => unknown
  Object.assign(database, {
    getSync: (...given: Parameters<typeof getSync>) => [getSync(...given), reads++][0],
    iterator: (...given: unknown[]) => [iterator(...given), reads++][0],
  })
  const store = await openStore({
    ...{
      maintenance: {
        garbageCollectionIntervalMs: 0,
        compactionIntervalMs: 0,
        compactionRecordsMin: 1,
      },
      orphanGraceMs: 0,
    },
    ...{ inlineRowsMax: 0, cacheBytesMax: CACHE_BYTES },
    kv: await openLevelKv(database, { recordCacheBytes: 0 }),
    objects: memoryObjects(),
  })
  onTestFinished(() => store.close())
  return { store, reads: () => reads }
}

/** A table of `SEGMENTS` segments. The `n` of each row is its index. */
async function fill(store: Store, team: string): Promise<{ table: Table; ids: string[] }> {
  const stash = store.team(team).stash('s')
  for (let serial = 0; serial < SEGMENTS; serial++) {
    const rows = Array.from({ length: ROWS }, (_, row) => ({ n: ROWS * serial + row }))
    await stash.put(String(serial), { json: JSON.stringify(rows) })
  }
  const { tableId, rowIds } = await store.team(team).createTable({ name: 'x', rows: stash })
  return { table: store.team(team).table(tableId), ids: [...rowIds] }
}

const codeOf = (failure: StoreError): string => failure.code

describe('a table that was imported', () => {
  test('is read without asking the database, from the second row on', async () => {
    const { store, reads } = await open()
    const { table, ids } = await fill(store, 't')
    await table.getJson(ids[7] ?? '')
    const before = reads()

    for (const [n, id] of ids.entries()) {
      expect(await table.getJson(id)).toEqual({ json: `{"$rowID":"${id}","n":${n}}`, version: 1 })
    }
    // The page of its extents is read once.
    expect(reads() - before).toBeLessThanOrEqual(1)
  })

  test('is looked through for row records once, however often it changes', async () => {
    const { store, reads } = await open()
    const { table, ids } = await fill(store, 't')
    await table.updateRow(ids[3] ?? '', { n: -1 })
    for (let n = 0; n < 3; n++) {
      await table.getJson(ids[20] ?? '')
      await table.updateRow(ids[4] ?? '', { n })
    }
    await table.getJson(ids[20] ?? '')
    const before = reads()
    await table.getJson(ids[21] ?? '')
    // The head, the page of its extent and the row record.
    expect(reads() - before).toBeLessThanOrEqual(3)
    expect((await table.get(ids[4] ?? ''))?.row['n']).toBe(2)
  })

  test('is read with its row records, once a scan has found some', async () => {
    const { store } = await open()
    const { table, ids } = await fill(store, 't')
    await table.updateRow(ids[3] ?? '', { n: -1 })
    await table.getJson(ids[20] ?? '')

    expect((await table.get(ids[3] ?? ''))?.row['n']).toBe(-1)
  })

  test('is read from its new segment after a compaction, with the versions and deletions that it tells of', async () => {
    const { store } = await open()
    const { table, ids } = await fill(store, 't')
    const [first = '', second = '', third = ''] = ids
    await table.page()
    await table.getJson(third)
    await table.updateRow(first, { n: -1 })
    await table.deleteRow(second)
    await store.maintain()
    for (let time = 0; time < 3; time++) {
      await table.page() // It finds that there are no row records left.
      expect(await table.getJson(first)).toEqual({
        json: `{"$rowID":"${first}","n":-1}`,
        version: 2,
      })
      expect(await table.getJson(second)).toBeNull()
      expect(await table.getJson(third)).toEqual({
        json: `{"$rowID":"${third}","n":2}`,
        version: 1,
      })
    }
  })

  test('is read in the kinds that its columns have now', async () => {
    const { store } = await open()
    const { table, ids } = await fill(store, 't')
    await table.getJson(ids[5] ?? '')
    await table.addRows([{ n: 'text' }], { onSchemaError: 'updateSchema' })
    for (const n of [5, 6, 15]) expect((await table.get(ids[n] ?? ''))?.row['n']).toBe(String(n))

    const stash = store.team('t').stash('csv')
    await stash.put('0', { csv: 'n\n1\n2\n' })
    const schema = { columns: [{ id: 'n', type: { kind: 'string' } }] } as const
    const created = await store.team('t').createTable({ name: 'y', rows: stash, schema })
    const texts = store.team('t').table(created.tableId)
    for (const [n, id] of [...created.rowIds].entries()) {
      expect((await texts.get(id))?.row['n']).toBe(String(n + 1))
      expect((await texts.get(id))?.row['n']).toBe(String(n + 1))
    }
  })

  test('has no row under an ID that is made up, and none for another team', async () => {
    const { store } = await open()
    const { table, ids } = await fill(store, 't')
    const other = await fill(store, 'u')
    const [id = ''] = ids
    const bytes = Buffer.from(id, 'base64url')
    const idWith = (change: (bytes: Buffer) => void): string => {
      const copy = Buffer.from(bytes)
      change(copy)
      return copy.toString('base64url')
    }
    expect(renderRowId(bytes.subarray(0, 8), bytes.readUIntBE(8, 6), 0)).toBe(id)
    await table.getJson(id)
    const wrong = [
      '',
      `${id}A`,
      idWith((copy) => copy.writeUInt8((bytes[0] ?? 0) ^ 1, 0)),
      idWith((copy) => copy.writeUIntBE(bytes.readUIntBE(8, 6) + SEGMENTS, 8, 6)),
      idWith((copy) => copy.writeUIntBE(bytes.readUIntBE(8, 6) + 1_000_000, 8, 6)),
      idWith((copy) => copy.writeUInt16BE(ROWS, 14)),
      other.ids[0] ?? '',
    ]
    for (const each of wrong) {
      expect(await table.getJson(each), each).toBeNull()
    }
    expect(await store.team('u').table(table.id).getJson(id).catch(codeOf)).toBe('TABLE_NOT_FOUND')
    expect(await table.getJson(id)).toMatchObject({ version: 1 })
  })

  test('every change of any table is visible at once, whatever was read before', async () => {
    const property = fc.asyncProperty(fc.integer(), async (seed) => {
      const random = seeded(seed)
      const { store } = await open()
      const tables = await Promise.all(['t', 'u'].map((team) => fill(store, team)))
      const expected = tables.map(
        ({ ids }) => new Map(ids.map((id, n): [string, unknown] => [id, n])),
      )
      for (let step = 0; step < STEPS; step++) {
        const which = random.below(2)
        const [place, rows] = [tables[which], expected[which]]
        if (place === undefined || rows === undefined) continue
        const id = random.pick(place.ids)
        const kind = random.below(12)
        if (kind === 0 && rows.has(id)) {
          await place.table.deleteRow(id)
          rows.set(id, undefined)
        } else if (kind <= 2 && rows.get(id) !== undefined) {
          await place.table.updateRow(id, { n: 1_000 + step })
          rows.set(id, 1_000 + step)
        } else if (kind === 3) await store.maintain()
        else if (kind <= 5) await place.table.page()
        else if (kind === 6) {
          const { rowIds } = await place.table.addRows([{ n: 2_000 + step }])
          for (const added of rowIds) {
            place.ids.push(added)
            rows.set(added, 2_000 + step)
          }
        } else if (kind === 7 && random.once(6)) {
          const { rowIds } = await place.table.overwrite({ rows: [{ n: 3_000 }, { n: 3_001 }] })
          for (const before of place.ids) rows.set(before, undefined)
          for (const [n, made] of [...rowIds].entries()) {
            place.ids.push(made)
            rows.set(made, 3_000 + n)
          }
        }
        for (let reads = 0; reads < 3; reads++) {
          const some = random.pick(place.ids)
          const found = (await place.table.get(some))?.row['n']
          expect(found, `step ${step}`).toBe(rows.get(some))
        }
      }
      await store.close()
    })
    await fc.assert(property, runOptions(RUNS))
  })
})

test('of many tables some are remembered', () => {
  const tables = new PointReadCache(100_000)
  const head = {} as Parameters<ReturnType<PointReadCache['of']>['remember']>[1]
  const moment = {}
  for (let n = 0; n < 100; n++) tables.of('t', `table ${n}`).remember(moment, head, true)
  expect(tables.of('t', 'table 99').headAt(moment)).toBe(head)
  expect(tables.of('t', 'table 99').headAt({})).toBe(undefined)
  expect(tables.of('t', 'table 99').headAt(undefined)).toBe(undefined)
  expect(tables.of('u', 'table 99').headAt(moment)).toBe(undefined)
  expect(tables.of('t', 'table 0').headAt(moment)).toBe(undefined)
})
