// Receipts: what an operation did, kept with the version that it created.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Receipt, Table } from '../../../src/index.js'
import { cellsOf, fails, type StoreCase, schemaOf } from './fixture.js'

/** Checks that a receipt has the digests of the table's rows from an index on. */
async function checkDigests(table: Table, receipt: Receipt | undefined, first = 0): Promise<void> {
  const rows = await cellsOf(table)
  let at = first
  for (const { rows: count, sha256 } of receipt?.chunks ?? []) {
    const lines = rows.slice(at, at + count).map((row) => `${row}\n`)
    assert.equal(createHash('sha256').update(lines.join('')).digest('hex'), sha256)
    at += count
  }
  assert.equal(at - first, receipt?.rows)
}

export const receiptCases: readonly StoreCase[] = [
  {
    name: 'an operation has a receipt if it asks for one, which the table keeps',
    async run({ clock, team }) {
      const at = clock.now()
      const rows = [{ n: 1 }, {}, { s: 'ä' }]
      const made = await team.createTable({ name: 't', rows, receipt: true })
      const table = team.table(made.tableId)
      clock.pass(5)
      const added = await table.addRows([{ n: 2 }], { receipt: true })
      const plain = await table.addRows([{ n: 2 }])
      const schema = schemaOf({ n: 'string', x: 'date' })
      const replaced = await table.overwrite({ rows: [], schema, receipt: true })

      const expected = { operation: 'create', version: 1, versionBefore: 0, at, rows: 3 }
      assert.deepEqual({ ...made.receipt, ...expected }, made.receipt)
      assert.deepEqual(added.receipt?.columns, { added: [], changed: [], removed: [] })
      assert.deepEqual([added.receipt?.at, added.receipt?.versionBefore], [at + 5, 1])
      assert.deepEqual(replaced.receipt?.columns, {
        added: ['x'],
        changed: [{ id: 'n', before: { kind: 'number' }, after: { kind: 'string' } }],
        removed: ['s'],
      })
      assert.equal('receipt' in plain, false)
      for (const { receipt, version } of [made, added, replaced]) {
        assert.deepEqual(await table.receipt(version), receipt)
      }
      assert.equal(await table.receipt(plain.version), null)
      assert.equal(await table.receipt(99), null)
    },
  },
  {
    name: 'the digests of a receipt are those of the rows as they are read back',
    async run(fixture) {
      const { team } = fixture
      const columns = { n: 'number', s: 'string' }
      const table = await fixture.createTable([{ n: 0 }], columns)
      const long = Array.from({ length: 3_000 }, (_, i) => ({ n: i, s: `row ${i} ✓` }))
      const rows = await fixture.stash({
        '10': long,
        '2': { csv: 'n,s\n1.50,7\n,\n2,true\n' },
        '3': { json: '[{"s":"x","n":-0},{"n":1e2}]' },
      })
      const added = await table.addRows(rows, { receipt: true })
      const parts = added.receipt?.chunks.map(({ serial, rows: count }) => [serial, count])
      assert.deepEqual(parts, [
        ['2', 3],
        ['3', 2],
        ['10', 3_000],
      ])
      await checkDigests(table, added.receipt, 1)

      for (const input of [long, { json: JSON.stringify(long) }, { csv: 'n,s\n1,2\n' }]) {
        const request = { name: 't', rows: input, schema: schemaOf(columns), receipt: true }
        const { tableId, receipt } = await team.createTable(request)
        await checkDigests(team.table(tableId), receipt)
      }
      const wide = { rows, schema: schemaOf({ n: 'string', s: 'string' }), receipt: true }
      const { receipt } = await table.overwrite({ ...wide, onSchemaError: 'updateSchema' })
      await checkDigests(table, receipt)
    },
  },
  {
    name: 'a receipt counts the cells that dropColumns left empty',
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number' })
      const bad = Array.from({ length: 2_500 }, (_, i) => ({ n: i % 2 === 0 ? 'x' : i }))
      const rows = await fixture.stash({ '0': [{ n: true, m: 1 }, { n: 1 }], '1': bad })
      for (const input of [rows, bad.slice(0, 6)]) {
        const options = { onSchemaError: 'dropColumns', receipt: true } as const
        const before = await table.version()
        const { receipt } = await table.addRows(input, options)
        const problems = (await table.preflight({ rows: input })).problems.slice(0, 10)
        assert.deepEqual(receipt?.dropped.first, problems)
        const [ofValues] = receipt.dropped.columns.filter(({ column }) => column === 'n')
        assert.equal(ofValues?.count, input === rows ? 1_251 : 3)
        assert.equal(receipt.dropped.count, input === rows ? 1_252 : 3)
        assert.equal(receipt.versionBefore, before)
      }
      const { receipt } = await table.addRows([{ n: 1 }], { receipt: true })
      assert.deepEqual(receipt?.dropped, { count: 0, columns: [], first: [] })
    },
  },
  {
    name: 'each version has an entry in the log of its table, whose detail is its receipt',
    async run(fixture) {
      const { clock, store } = fixture
      const table = await fixture.createTable([{ n: 0 }])
      const at = clock.now()
      const by = { author: 'ann', note: 'why' }
      const added = await table.addRows([{ n: 1 }, { n: 2 }], { receipt: true, ...by })
      const { version } = await table.updateRow(added.rowIds.get(0), { n: 3 }, { author: 'bob' })
      const counts = { added: 2, changed: 0, removed: 0 }
      const entry = { version: 2, operation: 'add', at, ...by, counts }
      assert.deepEqual(await table.change(2), entry)
      assert.equal((await table.change(version))?.author, 'bob')
      assert.deepEqual(await table.receipt(2), added.receipt)
      assert.deepEqual([await table.receipt(version), await table.change(9)], [null, null])
      assert.deepEqual((await store.verify({ full: true })).findings, [])
    },
  },
  {
    name: 'adds at the same time each have their own receipt',
    async run(fixture) {
      const table = await fixture.createTable([{ n: 0 }])
      const adds = Array.from({ length: 20 }, (_, n) => table.addRows([{ n }], { receipt: true }))
      for (const { version, receipt } of await Promise.all(adds)) {
        assert.equal(receipt?.version, version)
        assert.deepEqual(await table.receipt(version), receipt)
        await checkDigests(table, receipt, version - 1)
      }
    },
  },
  {
    name: 'a repeat under the same key has the receipt of the first operation, as long as it is kept',
    async run({ team }) {
      const request = { name: 't', rows: [{ n: 1 }], idempotencyKey: 'k', receipt: true }
      const made = await team.createTable(request)
      const table = team.table(made.tableId)
      assert.deepEqual((await team.createTable(request)).receipt, made.receipt)
      const add = () => table.addRows([{ n: 2 }], { idempotencyKey: 'a', receipt: true })
      const added = await add()
      assert.deepEqual((await add()).receipt, added.receipt)
      assert.equal('receipt' in (await table.addRows([], { receipt: true })), false)
    },
  },
  {
    name: 'a receipt is asked for by true or false, and read by a version',
    async run(fixture) {
      const { team } = fixture
      const table = await fixture.createTable([{ n: 0 }])
      const receipt = 'yes' as unknown as boolean
      const code = 'REQUEST_VALIDATION_ERROR'
      await fails(table.addRows([], { receipt }), code)
      await fails(table.overwrite({ rows: [], receipt }), code)
      await fails(team.createTable({ name: 't', rows: [], receipt }), code)
      for (const version of [0, -1, 1.5, Number.NaN, '1' as unknown as number]) {
        await fails(table.receipt(version), code)
      }
      const nowhere = team.table('00000000-0000-4000-8000-000000000000')
      await fails(nowhere.receipt(1), 'TABLE_NOT_FOUND')
    },
  },
]
