// Transactions: several changes of tables in one commit, each based on the same moment.
import assert from 'node:assert/strict'
import type { Transaction } from '../../../src/index.js'
import { columnOf, fails, failsWithoutEffect, numbered, type StoreCase } from './fixture.js'

const ABSENT = '00000000-0000-4000-8000-000000000000'

export const transactionCases: readonly StoreCase[] = [
  {
    name: 'a transaction changes several tables in one version each, and returns a result',
    options: { inlineRowsMax: 3, segmentRowsMax: 4 },
    async run(fixture) {
      const one = await fixture.create(numbered(6))
      const two = await fixture.create(numbered(2))

      const result = await fixture.team.transaction(async (t) => {
        const [from, to] = [t.table(one.tableId), t.table(two.tableId)]
        const moved = await from.getMany([one.rowIds.get(1), 'x', one.rowIds.get(5)])
        await from.deleteRows([one.rowIds.get(1), one.rowIds.get(5)])
        const added = await to.addRows(moved.map((found) => ({ n: found?.row['n'] ?? -1 })))
        await to.updateRow(added.rowIds.get(0), { n: 100 })
        const updates = [{ rowId: two.rowIds.get(0), cells: { n: 50 } }]
        const { version } = await to.updateRows(updates)
        return [version, (await to.deleteRow(two.rowIds.get(1))).deleted]
      })

      assert.deepEqual(result, [2, true])
      assert.deepEqual(await columnOf(one.table, 'n'), [0, 2, 3, 4])
      assert.deepEqual(await columnOf(two.table, 'n'), [50, 100, -1, 5])
      assert.deepEqual([await one.table.version(), await two.table.version()], [2, 2])
      await one.table.addRows([{ n: 9 }])
      await two.table.deleteRow(two.rowIds.get(0))
      assert.deepEqual([await one.table.version(), await two.table.version()], [3, 3])
    },
  },
  {
    name: 'operations of a transaction that change nothing answer the version that it makes',
    async run(fixture) {
      const { table, tableId } = await fixture.create(numbered(2))
      const results = await fixture.team.transaction(async (t) => {
        const staged = t.table(tableId)
        const before = await staged.deleteRow(ABSENT)
        await staged.addRows([{ n: 2 }])
        const made = await t.createTable({ name: 'u', rows: [{ n: 1 }] })
        const others = [await staged.deleteRow(ABSENT), await staged.deleteRows([ABSENT])]
        const more = [await staged.addRows([]), await t.table(made.tableId).updateRows([])]
        return [before, ...others, ...more].map(({ version }) => version)
      })

      assert.deepEqual(results, [1, 2, 2, 2, 1])
      assert.equal(await table.version(), 2)
    },
  },
  {
    name: 'a transaction sees its own changes, and nobody else does before the commit',
    options: { inlineRowsMax: 3, segmentRowsMax: 4 },
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(9))
      const inside: unknown[] = []
      const values = async (t: Transaction) => {
        const found: unknown[] = []
        for await (const row of t.table(tableId).scan()) found.push(row['n'])
        return found
      }

      await fixture.team.transaction(async (t) => {
        const staged = t.table(tableId)
        await staged.addRows([{ n: 9, m: 'x' }], { onSchemaError: 'updateSchema' })
        await staged.addRows(numbered(5).map(({ n }) => ({ n: n + 10 })))
        await staged.deleteRow(rowIds.get(3))
        await staged.updateRow(rowIds.get(0), { n: -1 })
        inside.push(await values(t), (await staged.get(rowIds.get(3))) ?? null)
        inside.push((await staged.get(rowIds.get(0)))?.row['n'], await staged.version())
        inside.push((await staged.schema()).columns.length, (await staged.page()).rows.length)
        assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2, 3, 4, 5, 6, 7, 8])
        assert.equal((await table.schema()).columns.length, 1)
      })

      const after = [-1, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
      assert.deepEqual(inside, [after, null, -1, 2, 2, 14])
      assert.deepEqual(await columnOf(table, 'n'), after)
      await fixture.store.maintain()
      assert.deepEqual(await columnOf(table, 'n'), after)
    },
  },
  {
    name: 'a transaction whose function fails changes nothing',
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(3))
      const problem = new Error('no')
      const run = fixture.team.transaction(async (t) => {
        await t.table(tableId).addRows(numbered(2))
        await t.table(tableId).deleteRow(rowIds.get(0))
        await t.createTable({ name: 'other', rows: numbered(1) })
        throw problem
      })

      await assert.rejects(run, (failure) => failure === problem)
      assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2])
      assert.equal(await table.version(), 1)
      assert.equal((await fixture.team.tables()).length, 1)
    },
  },
  {
    name: 'a failed operation leaves the rest of its transaction as it is',
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(3), { n: 'number' })

      await fixture.team.transaction(async (t) => {
        const staged = t.table(tableId)
        await staged.deleteRow(rowIds.get(0))
        await fails(staged.updateRow(rowIds.get(0), { n: 1 }), 'ROW_NOT_FOUND')
        await fails(staged.addRows([{ n: 'x' }]), 'COLUMN_HAS_INVALID_VALUE')
        await fails(
          staged.updateRow(rowIds.get(1), { n: 1 }, { ifMatch: 0 }),
          'PRECONDITION_FAILED',
        )
        await staged.updateRow(rowIds.get(1), { n: 7 })
        assert.equal((await staged.get(rowIds.get(1)))?.version, 2)
        await staged.updateRow(rowIds.get(1), { n: 8 }, { ifMatch: 2 })
      })

      assert.deepEqual(await columnOf(table, 'n'), [8, 2])
      assert.equal(await table.version(), 2)
    },
  },
  {
    name: 'a transaction creates tables, overwrites one, and links stashes',
    options: { segmentRowsMax: 4 },
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(3))
      const stash = await fixture.stash({ 0: numbered(9), 1: numbered(2) })

      const ids = await fixture.team.transaction(async (t) => {
        const made = await t.createTable({ name: 'new', rows: stash })
        const created = t.table(made.tableId)
        await created.addRows([{ n: 100 }])
        await created.deleteRow(made.rowIds.get(0))
        const second = await t.createTable({ name: 'second', rows: [] })
        const kept = { $rowID: rowIds.get(1), n: 7 }
        const over = await t.table(tableId).overwrite({ rows: [{ n: 5 }, kept] })
        await t.table(tableId).addRows(stash)
        return [made.tableId, second.tableId, over.rowIds.get(1), String(made.version)]
      })

      const [newId = '', secondId = ''] = ids
      assert.deepEqual(ids.slice(2), [rowIds.get(1), '1'])
      const created = fixture.team.table(newId)
      assert.deepEqual(await columnOf(created, 'n'), [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 100])
      assert.equal(await created.version(), 1)
      assert.deepEqual(await columnOf(table, 'n'), [5, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1])
      const listed = (await fixture.team.tables()).map(({ id }) => id)
      assert.deepEqual(listed, [tableId, newId, secondId])
      await stash.delete()
      await fixture.store.maintain()
      assert.equal((await columnOf(created, 'n')).length, 11)
      assert.deepEqual((await fixture.store.verify({ full: true })).findings, [])
    },
  },
  {
    name: 'a transaction is called again when others change what it read',
    async run(fixture) {
      const one = await fixture.create(numbered(2))
      const two = await fixture.create(numbered(2))
      let calls = 0

      const sum = await fixture.team.transaction(async (t) => {
        calls++
        const n = (await t.table(one.tableId).get(one.rowIds.get(0)))?.row['n']
        if (calls === 1) await one.table.updateRow(one.rowIds.get(0), { n: 40 })
        await t.table(two.tableId).updateRow(two.rowIds.get(0), { n: Number(n) + 2 })
        return Number(n) + 2
      })

      assert.deepEqual([calls, sum], [2, 42])
      assert.deepEqual(await columnOf(two.table, 'n'), [42, 1])
      assert.equal(await two.table.version(), 2)
    },
  },
  {
    name: 'all reads of a transaction are of one moment',
    async run(fixture) {
      const one = await fixture.create(numbered(1))
      const two = await fixture.create(numbered(1))
      const seen: unknown[] = []
      let calls = 0

      await fixture.team.transaction(async (t) => {
        calls++
        const first = (await t.table(one.tableId).page()).rows[0]?.['n']
        if (calls === 1) {
          await one.table.updateRow(one.rowIds.get(0), { n: 1 })
          await two.table.updateRow(two.rowIds.get(0), { n: 1 })
        }
        const second = (await t.table(two.tableId).page()).rows[0]?.['n']
        seen.push([first, second])
      })

      assert.deepEqual([calls, seen], [2, [[1, 1]]])
    },
  },
  {
    name: 'a transaction that has staged an extent page is called again when a compaction swaps that page',
    options: {
      inlineRowsMax: 3,
      segmentRowsMax: 4,
      maintenance: { compactionRecordsMin: 1 },
      orphanGraceMs: 0,
    },
    async run(fixture) {
      const compacted = [
        await fixture.create(numbered(8)), // row records over a segment
        await fixture.create([], { n: 'number' }), // only row records, in an open extent
      ]
      for (const { table, tableId, rowIds } of compacted) {
        const ids = [...rowIds, ...(await table.addRows(numbered(3))).rowIds]
        await table.updateRow(ids[1] ?? '', { n: 100 })
        await table.deleteRow(ids[2] ?? '')
        await table.addRows(numbered(5))
        const before = await columnOf(table, 'n')
        const seen: unknown[] = []

        await fixture.team.transaction(async (t) => {
          const staged = t.table(tableId)
          await staged.addRows(numbered(5))
          if (seen.length === 0) await fixture.store.maintain()
          seen.push('called')
          const [updated, deleted] = await staged.getMany([ids[1] ?? '', ids[2] ?? ''])
          seen.push(updated?.row['n'], deleted, (await staged.page()).rows.length)
        })

        const whole = ['called', 100, null, before.length + 5]
        assert.deepEqual(seen, ['called', ...whole])
        assert.deepEqual(await columnOf(table, 'n'), [...before, 0, 1, 2, 3, 4])
      }
    },
  },
  {
    name: 'a key that an update has freed stays free in a transaction beside a compaction',
    options: {
      inlineRowsMax: 3,
      segmentRowsMax: 4,
      maintenance: { compactionRecordsMin: 1 },
      orphanGraceMs: 0,
    },
    async run(fixture) {
      const rows = numbered(8)
      const { tableId, rowIds } = await fixture.team.createTable({ name: 'k', rows, key: ['n'] })
      const table = fixture.team.table(tableId)
      await table.updateRow(rowIds.get(3), { n: 100 })
      let calls = 0

      await fixture.team.transaction(async (t) => {
        await t.table(tableId).addRows([20, 21, 22, 23, 24].map((n) => ({ n })))
        if (calls++ === 0) await fixture.store.maintain()
        await t.table(tableId).addRows([{ n: 3 }])
      })

      assert.equal(calls, 2)
      assert.equal((await table.get({ n: 3 }))?.row['n'], 3)
    },
  },
  {
    name: 'a transaction whose history meets a deletion and a compaction is called again',
    options: {
      segmentRowsMax: 4,
      maintenance: { compactionRecordsMin: 1 },
      orphanGraceMs: 0,
      historyRetentionMs: 1_000,
    },
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(2_000))
      let calls = 0
      const run = fixture.team.transaction(async (t) => {
        calls++
        await t.table(tableId).updateRow(rowIds.get(1), { n: 100 })
        await table.deleteRow(rowIds.get(1))
        await fixture.store.maintain()
      })

      await fails(run, 'ROW_NOT_FOUND')
      assert.equal(calls, 2)
    },
  },
  {
    name: 'a transaction that is disturbed in each call gives up, and nothing was changed',
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(2))
      let calls = 0
      const run = fixture.team.transaction(async (t) => {
        calls++
        await t.table(tableId).deleteRow(rowIds.get(1))
        await table.updateRow(rowIds.get(0), { n: calls })
      })

      await assert.rejects(run, { code: 'TRANSACTION_CONFLICT', outcome: 'unchanged' })
      assert.equal(calls, 10)
      assert.deepEqual(await columnOf(table, 'n'), [10, 1])
    },
  },
  {
    name: 'what a transaction must not do is refused',
    async run(fixture) {
      const { tableId, rowIds } = await fixture.create(numbered(1))
      const other = await fixture.store.team('other').createTable({ name: 'x', rows: numbered(1) })
      const foreign = fixture.store.team('other').stash('s')
      await foreign.put(0, numbered(1))
      let after: Transaction | undefined
      const refused = 'REQUEST_VALIDATION_ERROR'

      await fixture.team.transaction(async (t) => {
        after = t
        const staged = t.table(tableId)
        await fails(t.table(other.tableId).version(), 'TABLE_NOT_FOUND')
        await fails(t.table(ABSENT).addRows([]), 'TABLE_NOT_FOUND')
        await fails(staged.addRows(foreign), refused)
        await fails(staged.addRows([], { receipt: true } as never), refused)
        await fails(staged.addRows([], { idempotencyKey: 'k' } as never), refused)
        await fails(t.createTable({ name: 'x', rows: [], receipt: true } as never), refused)
        await fails(staged.overwrite({ rows: [], receipt: true } as never), refused)
        const untyped = t as unknown as { transaction(): void; files: unknown }
        assert.throws(() => untyped.transaction(), { code: refused })
        assert.throws(() => untyped.files, { code: refused })
        await staged.deleteRow(rowIds.get(0))
        await fails(staged.overwrite({ rows: [] }), refused)
      })

      const ended = after?.table.bind(after)
      assert.throws(() => ended?.(tableId), { code: refused })
      await assert.rejects(async () => after?.createTable({ name: 'x', rows: [] }), {
        code: refused,
      })
      await fails(fixture.team.transaction(null as never), refused)
    },
  },
  {
    name: 'a transaction has limits of what it reads and writes',
    async run(fixture) {
      const { table, tableId, rowIds } = await fixture.create(numbered(11_000))
      const all = [...rowIds]
      const run = (use: (t: Transaction) => Promise<unknown>) =>
        failsWithoutEffect(table, () => fixture.team.transaction(use), 'LIMIT_EXCEEDED')

      await run(async (t) => {
        await t.table(tableId).deleteRows(all.slice(0, 10_000))
        for (let at = 0; at < 11; at++) await t.table(tableId).addRows(numbered(1_000))
      })
      await run(async (t) => {
        for (let times = 0; times < 11; times++)
          for (let at = 0; at < 10; at++) await t.table(tableId).page({ limit: 1_000 })
      })
      const absent = new Array<string>(10_000).fill('x') // Absent rows count too.
      await run(async (t) => {
        for (let times = 0; times < 11; times++) await t.table(tableId).getMany(absent)
      })
      await run(async (t) => {
        for (let at = 0; at < 101; at++)
          await t
            .table(tableId)
            .addRows([{ n: at, m: 'x'.repeat(200_000) }], { onSchemaError: 'updateSchema' })
      })
    },
  },
  {
    name: 'transactions at once lose no update',
    async run(fixture) {
      const one = await fixture.create([{ n: 100 }])
      const two = await fixture.create([{ n: 100 }])
      const sides = [one, two] as const
      let moved = 0
      const move = async (times: number, from: number) => {
        const [source, target] = [sides[from] ?? one, sides[1 - from] ?? two]
        for (let i = 0; i < times; i++) {
          try {
            await fixture.team.transaction(async (t) => {
              const n = async (side: typeof one) =>
                Number((await t.table(side.tableId).get(side.rowIds.get(0)))?.row['n'])
              const [left, right] = [await n(source), await n(target)]
              assert.equal(left + right, 200)
              await t.table(source.tableId).updateRow(source.rowIds.get(0), { n: left - 1 })
              await t.table(target.tableId).updateRow(target.rowIds.get(0), { n: right + 1 })
            })
            moved += from === 0 ? 1 : -1
          } catch (failure) {
            assert.equal((failure as { code?: string }).code, 'TRANSACTION_CONFLICT')
          }
        }
      }

      await Promise.all([move(6, 0), move(6, 1), move(6, 0), move(3, 1)])

      assert.deepEqual(await columnOf(one.table, 'n'), [100 - moved])
      assert.deepEqual(await columnOf(two.table, 'n'), [100 + moved])
    },
  },
]
