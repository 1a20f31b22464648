// The store as a whole: options, garbage collection, closing.
import assert from 'node:assert/strict'
import { testClock } from '../test-clock.js'
import { columnOf, fails, numbered, type StoreCase } from './fixture.js'

const HOUR_MS = 3_600_000

export const lifeCases: readonly StoreCase[] = [
  {
    name: 'an option that is unknown, or out of its range, is refused by name',
    async run({ open }) {
      const wrong: Record<string, unknown> = {
        pageRowMax: 1,
        pageRowsMax: 0,
        overwrittenRowsTtlMs: -1,
        inlineRowsMax: 1.5,
        segmentRowsMax: '4',
        stashTtlMs: Number.NaN,
        formatChecks: 'maybe',
        clock: {},
        random: {},
        fileBytesMax: 0,
        fileRetentionMs: 24 * HOUR_MS - 1,
        uploadsOpenMax: 0,
        filesInFlightMax: 0,
        quota: true,
      }
      for (const [name, value] of Object.entries(wrong)) {
        await assert.rejects(
          open({ [name]: value }).then((store) => store.close()),
          (failure: Error & { code?: string }) => {
            return failure.code === 'OPTION_NOT_ALLOWED' && failure.message.includes(`"${name}"`)
          },
        )
      }
    },
  },
  {
    name: 'the limits in force can be read',
    options: { fileBytesMax: 2_048, pageRowsMax: 7 },
    async run({ store }) {
      const { fileBytesMax, pageRowsMax, pageBytesMax } = store.limits
      assert.deepEqual([fileBytesMax, pageRowsMax, pageBytesMax], [2_048, 7, 16 * 1024 * 1024])
    },
  },
  {
    name: 'a garbage collection frees what overwritten rows, replaced chunks and deleted stashes took',
    options: {
      inlineRowsMax: 0,
      segmentRowsMax: 2,
      orphanGraceMs: 600_000,
      overwrittenRowsTtlMs: HOUR_MS,
    },
    async run(fixture) {
      const { store, clock } = fixture
      const table = await fixture.createTable(numbered(6)) // 3 objects
      await table.overwrite({ rows: numbered(4) })
      const stash = await fixture.stash({ 0: numbered(2), 1: numbered(2) })
      await stash.put('0', numbered(2))
      await stash.delete()

      clock.pass(HOUR_MS + 1)
      assert.deepEqual((await store.maintain()).generations, 1)
      clock.pass(600_000)
      assert.equal((await store.maintain()).objects, 3 + 3)
      assert.equal((await store.maintain()).objects, 0)
      assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2, 3])
    },
  },
  {
    name: 'an operation that is refused leaves objects that a garbage collection frees',
    options: { inlineRowsMax: 0, segmentRowsMax: 2, orphanGraceMs: 0 },
    async run(fixture) {
      const { store } = fixture
      const table = await fixture.createTable([], { n: 'number' })
      await fails(table.addRows([...numbered(4), { n: 'x' }]), 'COLUMN_HAS_INVALID_VALUE')
      await fails(table.addRows([...numbered(4), 7 as never]), 'REQUEST_VALIDATION_ERROR')

      await store.maintain()
      assert.equal((await store.maintain()).objects, 3 + 2)
    },
  },
  {
    name: 'nothing that is in use is collected, however often',
    options: { inlineRowsMax: 0, segmentRowsMax: 2, orphanGraceMs: 0 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(5))
      const stash = await fixture.stash({ 0: numbered(5) })
      for (let runs = 0; runs < 4; runs++) {
        fixture.clock.pass(HOUR_MS)
        assert.equal((await fixture.store.maintain()).objects, 0)
      }

      assert.equal((await columnOf(table, 'n')).length, 5)
      assert.equal((await fixture.create(stash)).rowIds.length, 5)
    },
  },
  {
    name: 'garbage collections beside everything else disturb nothing',
    options: { inlineRowsMax: 2, segmentRowsMax: 2, orphanGraceMs: 600_000 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(1), { n: 'number' })
      const work = Promise.all(numbered(20).map(() => table.addRows(numbered(5))))
      for (let runs = 0; runs < 10; runs++) await fixture.store.maintain()
      await work

      assert.equal((await columnOf(table, 'n')).length, 101)
    },
  },
  {
    name: 'close waits for operations under way',
    async run({ open }) {
      const store = await open({ clock: testClock() })
      const team = store.team('acme')
      const made = team.createTable({ name: 'late', rows: numbered(2_000) })
      await new Promise((done) => setImmediate(done))
      await store.close()

      assert.equal((await made).rowIds.length, 2_000)
    },
  },
  {
    name: 'after close everything fails with STORE_CLOSED, and closing again is no error',
    async run({ open }) {
      const store = await open({ clock: testClock() })
      const team = store.team('acme')
      const { tableId, rowIds } = await team.createTable({ name: 'x', rows: numbered(3) })
      const table = team.table(tableId)
      const rowId = rowIds.at(0) ?? ''
      await Promise.all([store.close(), store.close()])
      await store.close()
      for (const action of [
        store.maintain(),
        team.tables(),
        team.createTable({ name: 'x', rows: [] }),
        team.stash('s').put('0', []),
        team.stash('s').delete(),
        table.version(),
        table.page(),
        table.scan().next(),
        table.get(rowId),
        table.addRows([]),
        table.overwrite({ rows: [] }),
        table.updateRow(rowId, {}),
        table.deleteRow(rowId),
        team.files.put('x', { fileName: 'x', contentType: 'text/plain' }),
        team.files.fromUrl('https://example.test/'),
        team.files.createUpload({ fileName: 'x', contentType: 'text/plain' }),
        team.files.completeUpload('x'),
        team.files.get('x'),
        team.files.stat('x'),
        team.files.delete('x'),
        store.files.open('x'),
      ]) {
        await fails(action, 'STORE_CLOSED')
      }
    },
  },
]
