// Keys of tables: no two rows with the same values.
import assert from 'node:assert/strict'
import { type Fixture, fails, type StoreCase } from './fixture.js'

const KINDS = { email: 'string', n: 'number' }

function rowsFrom(first: number, count: number): { email: string; n: number }[] {
  return Array.from({ length: count }, (_, i) => ({ email: `e${first + i}`, n: first + i }))
}

async function keyed(fixture: Fixture, rows: object[]) {
  const { table, rowIds } = await fixture.create(rows, KINDS)
  await table.alter({ key: ['email'] })
  return { table, rowIds }
}

export const keyCases: readonly StoreCase[] = [
  {
    name: 'no change makes two rows with one key, and a row is found by it',
    async run(fixture) {
      const { table, rowIds } = await keyed(fixture, rowsFrom(0, 3))
      const [first = '', second = ''] = rowIds
      await fails(table.addRows(rowsFrom(2, 2)), 'KEY_NOT_UNIQUE')
      await fails(table.updateRow(first, { email: 'e1' }), 'KEY_NOT_UNIQUE')
      const swapped = [
        { rowId: first, cells: { email: 'e1' } },
        { rowId: second, cells: { email: 'e0' } },
      ]
      await table.updateRows(swapped)
      assert.equal((await table.get({ email: 'e1' }))?.row.$rowID, first)
      await table.deleteRow(first)
      assert.equal(await table.get({ email: 'e1' }), null)
      await table.addRows(rowsFrom(1, 1))
      assert.equal((await table.get({ email: 'e1' }))?.row['n'], 1)
      await table.overwrite({ rows: rowsFrom(10, 5) })
      await fails(table.addRows(rowsFrom(14, 1)), 'KEY_NOT_UNIQUE')
      assert.deepEqual((await table.info()).key, ['email'])
      assert.equal((await fixture.store.verify({ full: true })).ok, true)
    },
  },
  {
    name: 'a key holds for stashes with many rows, and in a transaction',
    options: { segmentRowsMax: 800 },
    async run(fixture) {
      const { table } = await keyed(fixture, rowsFrom(0, 1_500))
      await table.addRows(rowsFrom(1_500, 3))
      await fails(
        table.addRows(await fixture.stash({ 0: rowsFrom(1_502, 2_000) })),
        'KEY_NOT_UNIQUE',
      )
      await fails(table.addRows(await fixture.stash({ 0: rowsFrom(1_499, 1) })), 'KEY_NOT_UNIQUE')
      await fixture.team.transaction(async (open) => {
        const inside = open.table(table.id)
        await inside.addRows(rowsFrom(2_000, 2))
        await fails(inside.addRows(rowsFrom(2_001, 1)), 'KEY_NOT_UNIQUE')
      })
      await table.addRows(await fixture.stash({ 0: rowsFrom(3_000, 2_000) }))
      assert.equal((await table.get({ email: 'e4999' }))?.row['n'], 4_999)
      assert.equal((await table.info()).rowCount, 3_505)
      await fixture.store.maintain()
      assert.equal((await fixture.store.verify({ full: true })).ok, true)
    },
  },
  {
    name: 'of adds of one key at the same time one wins',
    async run(fixture) {
      const { table } = await keyed(fixture, rowsFrom(0, 1))
      const adds = Array.from({ length: 20 }, (_, i) => table.addRows(rowsFrom(1 + (i % 4), 1)))
      const ended = await Promise.allSettled(adds)
      assert.equal(ended.filter(({ status }) => status === 'fulfilled').length, 4)
      assert.equal((await table.info()).rowCount, 5)
    },
  },
]
