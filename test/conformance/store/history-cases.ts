// The history of a table: its changes, and its past rows.
import assert from 'node:assert/strict'
import type { RowWithId, Table, TableChange } from '../../../src/index.js'
import { fails, numbered, type StoreCase } from './fixture.js'

const HOUR_MS = 3_600_000
const options = { historyRetentionMs: HOUR_MS, inlineRowsMax: 3, segmentRowsMax: 4 }

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

async function valuesAt(table: Table, version: number): Promise<unknown[]> {
  return (await allOf(table.at(version).scan())).map(({ n }) => n)
}

function shown({ version, replaced, added, changed, removed }: TableChange): unknown[] {
  return [version, replaced, added.length, [...changed], [...removed]]
}

async function firstOf(changes: AsyncIterator<TableChange>): Promise<TableChange> {
  const { value, done } = await changes.next()
  assert.equal(done, false)
  return value as TableChange
}

export const historyCases: readonly StoreCase[] = [
  {
    name: 'the changes of a table are what its commits changed, in order',
    options,
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(6))
      const [a = '', b = '', c = ''] = rowIds
      await table.addRows([{ n: 6 }])
      await table.updateRow(a, { n: 10 })
      await table.deleteRows([b, c])
      await table.updateRow(a, {})
      const over = await table.overwrite({ rows: [{ $rowID: a, n: 11 }, { n: 12 }] })
      await fixture.team.transaction(async (t) => {
        const staged = t.table(table.id)
        const { rowIds: added } = await staged.addRows(numbered(5))
        await staged.deleteRow(added.get(1))
        await staged.updateRow(a, { n: 12 })
        await staged.updateRow(a, { n: 13 })
      })

      const changes = await allOf(table.changes({ since: 1 }))

      assert.deepEqual(changes.map(shown), [
        [2, false, 1, [], []],
        [3, false, 0, [a], []],
        [4, false, 0, [], [b, c]],
        [5, true, 2, [], []],
        [6, false, 4, [a], []],
      ])
      assert.deepEqual([...(changes[3]?.added ?? [])], [a, over.rowIds.get(1)])
      const rows: RowWithId[][] = []
      for (const change of changes) rows.push(await allOf(change.rows()))
      assert.deepEqual(
        rows.map((some) => some.map(({ n }) => n)),
        [[6], [10], [], [11, 12], [13, 0, 2, 3, 4]],
      )
      assert.deepEqual(await allOf(table.changes({ since: 6 })), [])
      assert.deepEqual(
        (await allOf(table.changes({ since: 4 }))).map(shown),
        changes.slice(3).map(shown),
      )
    },
  },
  {
    name: 'a table reads as it was at each version',
    options: { ...options, maintenance: { compactionRecordsMin: 1 } },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(5))
      const [a = '', b = ''] = rowIds
      await table.updateRow(a, { n: 10 })
      await table.deleteRow(b)
      await table.addRows(numbered(2).map(({ n }) => ({ n: n + 20 })))
      await fixture.store.maintain()
      await table.updateRow(a, { n: 'text' }, { onSchemaError: 'updateSchema' })
      await table.addRows([{ n: 'x' }])
      await table.overwrite({ rows: [{ $rowID: a, n: 'y' }] })
      fixture.clock.pass(HOUR_MS / 2)
      await fixture.store.maintain()

      assert.deepEqual(await valuesAt(table, 1), [0, 1, 2, 3, 4])
      assert.deepEqual(await valuesAt(table, 2), [10, 1, 2, 3, 4])
      assert.deepEqual(await valuesAt(table, 3), [10, 2, 3, 4])
      assert.deepEqual(await valuesAt(table, 4), [10, 2, 3, 4, 20, 21])
      assert.deepEqual(await valuesAt(table, 5), ['text', '2', '3', '4', '20', '21'])
      assert.deepEqual(await valuesAt(table, 6), ['text', '2', '3', '4', '20', '21', 'x'])
      assert.deepEqual(await valuesAt(table, 7), ['y'])
      const kinds = async (version: number) =>
        (await table.at(version).schema()).columns.map(({ type }) => type.kind)
      assert.deepEqual([await kinds(4), await kinds(5)], [['number'], ['string']])
      assert.deepEqual(await table.at(1).get(b), { row: { $rowID: b, n: 1 }, version: 1 })
      assert.deepEqual(await table.at(3).get(b), null)
      assert.deepEqual((await table.at(4).get(a))?.version, 2)
      const [first] = await allOf(table.at(3).scan())
      const page = await table.at(3).page({ limit: 2 })
      assert.deepEqual([page.version, page.rows[0]], [3, first])
      const rest = await table.at(3).page({ continuation: page.continuation })
      assert.deepEqual([rest.rows.length, rest.continuation], [2, undefined])
      await fails(table.at(7).page({ continuation: page.continuation }), 'CONTINUATION_INVALID')
      await fails(table.at(8).page(), 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'the history has what merges change, also where they write segments anew',
    options: { historyRetentionMs: HOUR_MS, inlineRowsMax: 0, segmentRowsMax: 20 },
    async run(fixture) {
      const rows = Array.from({ length: 60 }, (_, n) => ({ k: `k${n}`, n }))
      const { table, rowIds } = await fixture.create(rows)
      await table.updateRow(rowIds.get(1), { n: 100 })
      await table.deleteRow(rowIds.get(2))
      const left = rows.filter(({ n }) => n !== 2 && n % 7 !== 0)
      const merged = left.map(({ k, n }) => ({ k, n: n < 20 && n % 2 === 0 ? n + 1_000 : n }))
      await table.merge({ rows: [...merged, { k: 'new', n: 7 }], key: ['k'], missing: 'delete' })
      const now = (await allOf(table.scan())).map(({ n }) => n)

      const before = rows.filter(({ n }) => n !== 2).map(({ n }) => (n === 1 ? 100 : n))
      assert.deepEqual(await valuesAt(table, 3), before)
      assert.deepEqual(await valuesAt(table, 1), [...rows.keys()])
      const change = await firstOf(table.changes({ since: 3 }))
      const at = (index: number) => rowIds.get(index)
      const removed = [...rows.keys()].filter((n) => n % 7 === 0)
      assert.deepEqual([...change.removed], removed.map(at))
      const changed = [...rows.keys()].filter((n) => n < 20 && n % 7 !== 0 && n !== 2)
      const differ = changed.filter((n) => n % 2 === 0 || n === 1)
      assert.deepEqual([...change.changed], differ.map(at))
      assert.equal(change.added.length, 1)
      const values = (await allOf(change.rows())).map(({ n }) => n)
      assert.deepEqual(values, [...differ.map((n) => (n === 1 ? 1 : n + 1_000)), 7])
      assert.deepEqual(await valuesAt(table, 4), now)
    },
  },
  {
    name: 'a history is kept for its time, then it is gone',
    options,
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(3))
      await table.updateRow(rowIds.get(0), { n: 10 })
      await table.overwrite({ rows: numbered(2) })
      fixture.clock.pass(HOUR_MS / 2)
      await table.addRows(numbered(1))
      fixture.clock.pass(HOUR_MS / 2 + 1)
      await fixture.store.maintain()

      await fails(allOf(table.changes({ since: 1 })), 'HISTORY_GONE')
      await fails(allOf(table.at(2).scan()), 'HISTORY_GONE')
      assert.deepEqual(await valuesAt(table, 3), [0, 1])
      assert.deepEqual((await allOf(table.changes({ since: 3 }))).map(shown), [
        [4, false, 1, [], []],
      ])
      fixture.clock.pass(HOUR_MS)
      await fixture.store.maintain()
      await fails(allOf(table.changes({ since: 3 })), 'HISTORY_GONE')
      assert.deepEqual(await allOf(table.changes({ since: 4 })), [])
      assert.deepEqual(await valuesAt(table, 4), [0, 1, 0])
      await table.addRows(numbered(1))
      assert.deepEqual((await allOf(table.changes({ since: 4 }))).map(shown), [
        [5, false, 1, [], []],
      ])
    },
  },
  {
    name: 'a table without a history says what to do',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(3))
      await table.updateRow(rowIds.get(0), { n: 10 })

      await assert.rejects(allOf(table.changes({ since: 1 })), {
        code: 'HISTORY_GONE',
        message: /open the store with historyRetentionMs/,
      })
      await fails(allOf(table.watch({ since: 1 })), 'HISTORY_GONE')
      await fails(allOf(table.watch()), 'HISTORY_GONE')
      await fails(table.at(1).get(rowIds.get(0)), 'HISTORY_GONE')
      assert.deepEqual(await valuesAt(table, 2), [10, 1, 2])
      assert.deepEqual(await allOf(table.changes({ since: 2 })), [])
    },
  },
  {
    name: 'a watch follows the changes of a table until it is ended',
    options,
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(3))
      const ended = new AbortController()
      const watch = table.watch({ signal: ended.signal })
      const all = table.watch({ since: 1, signal: ended.signal })
      const next = firstOf(watch)
      // It begins with the current version, which it reads before the other readers have read it this often.
      for (let read = 0; read < 20; read++) await table.version()
      await table.updateRow(rowIds.get(0), { n: 10 })
      assert.deepEqual(shown(await next), [2, false, 0, [rowIds.get(0)], []])
      await fixture.team.transaction((t) => t.table(table.id).deleteRow(rowIds.get(1)))
      await table.addRows(numbered(1))

      assert.equal((await firstOf(watch)).version, 3)
      assert.equal((await firstOf(watch)).version, 4)
      for (const version of [2, 3, 4]) assert.equal((await firstOf(all)).version, version)
      const waiting = watch.next()
      ended.abort(new Error('enough'))
      await fails(waiting, 'ABORTED')
      await fails(all.next(), 'ABORTED')
      await fails(allOf(table.changes({ since: 1, signal: ended.signal })), 'ABORTED')
    },
  },
  {
    name: 'arguments of the history are checked',
    options,
    async run(fixture) {
      const { table } = await fixture.create(numbered(1))
      const refused = 'REQUEST_VALIDATION_ERROR'
      for (const since of [undefined, 0, -1, 1.5, 'x', 7]) {
        await fails(allOf(table.changes({ since: since as never })), refused)
      }
      await fails(allOf(table.changes({ since: 1, signal: {} as never })), refused)
      await fails(allOf(table.watch({ since: 7 })), refused)
      await fails(allOf(table.watch({ other: 7 } as never)), refused)
      assert.throws(() => table.at(0), { code: refused })
      const absent = fixture.team.table('00000000-0000-4000-8000-000000000000')
      await fails(allOf(absent.changes({ since: 1 })), 'TABLE_NOT_FOUND')
      await fails(allOf(absent.watch()), 'TABLE_NOT_FOUND')
      await fails(absent.at(1).page(), 'TABLE_NOT_FOUND')
    },
  },
]
