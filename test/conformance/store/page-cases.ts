// Pages and scans: limits, continuations, overwritten rows and their retention.
import assert from 'node:assert/strict'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import type { Page, PageRequest, Table } from '../../../src/index.js'
import { columnOf, fails, numbered, type StoreCase, schemaOf } from './fixture.js'

const HOUR_MS = 3_600_000

async function walk(table: Table, limit: number): Promise<Page[]> {
  const pages: Page[] = []
  let continuation: string | undefined
  do {
    const page = await table.page({ limit, ...(continuation !== undefined && { continuation }) })
    pages.push(page)
    continuation = page.continuation
  } while (continuation !== undefined)
  return pages
}

function valuesOf(pages: readonly Page[]): unknown[] {
  return pages.flatMap(({ rows }) => rows.map((row) => row['n']))
}

/** Reads a page of the first rows. @returns its continuation */
async function begin(table: Table, limit: number): Promise<string> {
  const { continuation } = await table.page({ limit })
  assert.ok(continuation !== undefined)
  return continuation
}

export const pageCases: readonly StoreCase[] = [
  {
    name: 'a walk yields every row once, in order, and ends without a continuation',
    options: { inlineRowsMax: 2, segmentRowsMax: 3 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(11))
      for (const limit of [1, 2, 3, 10, 11, 12]) {
        const pages = await walk(table, limit)
        assert.deepEqual(
          valuesOf(pages),
          numbered(11).map(({ n }) => n),
        )
        assert.equal(pages.length, Math.ceil(11 / limit))
      }
    },
  },
  {
    name: 'without a limit, and above the cap, a page has as many rows as the cap',
    options: { pageRowsMax: 4 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(6))

      assert.equal((await table.page()).rows.length, 4)
      assert.equal((await table.page({ limit: 1_000_000 })).rows.length, 4)
      assert.equal(fixture.store.limits.pageRowsMax, 4)
    },
  },
  {
    name: 'a limit must be a positive integer',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))
      for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null]) {
        await fails(table.page({ limit: limit as number }), 'REQUEST_VALIDATION_ERROR')
      }
      await fails(table.page({ limt: 1 } as never), 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'a page ends before it has too many bytes, and a larger row is a page of its own',
    options: { pageBytesMax: 1_024, inlineRowsMax: 3 },
    async run(fixture) {
      const texts = [101, 400, 400, 100, 2_000, 10, 10, 1_100].map((length) => 'x'.repeat(length))
      const table = await fixture.createTable([], { t: 'string' })
      for (const t of texts) await table.addRows([{ t }])
      const pages = await walk(table, 100)

      const lengths = pages.map(({ rows }) => rows.map((row) => String(row['t']).length))
      assert.deepEqual(lengths, [[101, 400, 400], [100], [2_000], [10, 10], [1_100]])
    },
  },
  {
    name: 'pages that are full by their bytes lose no row, whatever the records take on the disk',
    options: { pageBytesMax: 1_024 },
    async run(fixture) {
      for (const t of ['x'.repeat(16), '文'.repeat(90), 'é'.repeat(300)]) {
        const rows = numbered(300).map(({ n }) => ({ n, t }))
        const table = await fixture.createTable(rows)
        assert.deepEqual(valuesOf(await walk(table, 1_000)), [...rows.keys()])
      }
    },
  },
  {
    name: 'an empty table has one page without rows',
    async run(fixture) {
      const table = await fixture.createTable([])

      assert.deepEqual(await table.page(), { rows: [], version: 1 })
      assert.deepEqual(await table.pageBytes(), { json: utf8('[]'), rowCount: 0, version: 1 })
    },
  },
  {
    name: 'a page as bytes has the same rows, as the tokens that were sent',
    async run(fixture) {
      const table = await fixture.createTable({ json: '[{"n":1.50},{"n":2}]' })
      const { json: bytes, rowCount, version } = await table.pageBytes()
      const json = fromUtf8(bytes)

      assert.match(
        json,
        /^\[\{"\$rowID":"[\w-]{22}","n":1\.50\},\{"\$rowID":"[\w-]{22}","n":2\}\]$/,
      )
      assert.deepEqual([rowCount, version], [2, 1])
      assert.deepEqual((await table.page()).rows, JSON.parse(json))
    },
  },
  {
    name: 'a page as bytes goes into memory of the caller if it has room, else into its own',
    options: { inlineRowsMax: 2 },
    async run(fixture) {
      for (const rows of [numbered(2), numbered(90)]) {
        const table = await fixture.createTable(rows)
        const own = await table.pageBytes()
        for (const length of [0, 1, 100, own.json.length, 3 * own.json.length]) {
          const memory = new Uint8Array(length + 20).fill(0x7e).subarray(10, 10 + length)
          const page = await table.pageBytes({ memory })
          assert.deepEqual(page, own)
          if (length > 2 * own.json.length) assert.equal(page.json.buffer, memory.buffer)
          const around = new Uint8Array(memory.buffer)
          const outside = [...around.subarray(0, 10), ...around.subarray(10 + length)]
          assert.ok(outside.every((byte) => byte === 0x7e))
        }
      }
    },
  },
  {
    name: 'memory for a page that is none is refused, and a parsed page takes none',
    async run(fixture) {
      const table = await fixture.createTable(numbered(1))
      const wrong = { memory: new ArrayBuffer(100) as unknown as Uint8Array }
      await fails(table.pageBytes(wrong), 'REQUEST_VALIDATION_ERROR')
      const parsed = { memory: new Uint8Array(100) } as PageRequest
      await fails(table.page(parsed), 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'a page shows the version of the table as it is',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))
      const continuation = await begin(table, 1)
      await table.addRows(numbered(1))

      assert.equal((await table.page({ continuation })).version, 2)
    },
  },
  {
    name: 'a walk goes on over changes: rows added show, changed ones show as they are, deleted do not',
    options: { inlineRowsMax: 2, segmentRowsMax: 3 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(8))
      const continuation = await begin(table, 3)
      await table.addRows([{ n: 100 }])
      await table.updateRow(rowIds.at(5) ?? '', { n: 50 })
      await table.deleteRow(rowIds.at(3) ?? '')
      await table.deleteRow(rowIds.at(0) ?? '')

      const { rows } = await table.page({ continuation })
      assert.deepEqual(
        rows.map((row) => row['n']),
        [4, 50, 6, 7, 100],
      )
    },
  },
  {
    name: 'a page with a continuation is never empty, and none is given when no row follows',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(5))
      const continuation = await begin(table, 2)
      for (const i of [3, 4]) await table.deleteRow(rowIds.at(i) ?? '')

      const page = await table.page({ continuation, limit: 1 })
      assert.deepEqual([page.rows.length, page.continuation], [1, undefined])

      await table.deleteRow(rowIds.at(2) ?? '')
      assert.deepEqual((await table.page({ continuation })).rows, [])
    },
  },
  {
    name: 'a continuation that is not one of this table is refused',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))
      const other = await fixture.createTable(numbered(3))
      const continuation = await begin(other, 1)
      const changed = continuation.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
      for (const token of ['', 'x', continuation, changed, `${continuation}A`, 'é'.repeat(50)]) {
        await fails(table.page({ continuation: token }), 'CONTINUATION_INVALID')
      }
      await fails(other.page({ continuation: changed }), 'CONTINUATION_INVALID')
    },
  },
  {
    name: 'a walk goes on over the rows that it began with, after they were overwritten',
    options: { inlineRowsMax: 2, segmentRowsMax: 3 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(8))
      const continuation = await begin(table, 3)
      await table.updateRow(rowIds.at(4) ?? '', { n: 40 })
      await table.overwrite({ rows: [{ t: 'new' }], schema: schemaOf({ t: 'string' }) })
      await table.addRows([{ t: 'newer' }])

      const first = await table.page({ continuation, limit: 2 })
      assert.deepEqual([valuesOf([first]), first.version], [[3, 40], 2])
      const rest = await table.page({ continuation: first.continuation ?? '' })
      assert.deepEqual([valuesOf([rest]), rest.version], [[5, 6, 7], 2])
      assert.deepEqual(await columnOf(table, 't'), ['new', 'newer'])
    },
  },
  {
    name: 'overwritten rows are kept for an hour and no longer',
    options: { overwrittenRowsTtlMs: HOUR_MS },
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))
      const continuation = await begin(table, 1)
      await table.overwrite({ rows: [] })
      fixture.clock.pass(HOUR_MS)
      await fixture.store.maintain()
      assert.deepEqual(valuesOf([await table.page({ continuation })]), [1, 2])

      fixture.clock.pass(1)
      await fails(table.page({ continuation }), 'CONTINUATION_INVALID')
      assert.equal((await fixture.store.maintain()).generations, 1)
      await fails(table.page({ continuation }), 'CONTINUATION_INVALID')
    },
  },
  {
    name: 'overwritten rows are kept for two overwrites and no longer',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))
      const continuation = await begin(table, 1)
      for (let times = 0; times < 2; times++) await table.overwrite({ rows: [] })
      assert.deepEqual(valuesOf([await table.page({ continuation })]), [1, 2])

      await table.overwrite({ rows: [] })
      await fails(table.page({ continuation }), 'CONTINUATION_INVALID')
    },
  },
  {
    name: 'a garbage collection ends overwritten rows, the oldest first, that hold more bytes than overwrittenBytesMax',
    options: {
      inlineRowsMax: 0,
      overwrittenRowSetsMax: 10,
      overwrittenBytesMax: 100_000,
      compression: 'none',
      orphanGraceMs: 0,
    },
    async run(fixture) {
      const rows = (text: string) => [{ n: 0, text: text.repeat(40_000) }, { n: 1 }]
      const table = await fixture.createTable(rows('a'))
      const walks: string[] = []
      for (const text of ['b', 'c', 'd']) {
        walks.push(await begin(table, 1))
        await table.overwrite({ rows: rows(text) })
      }
      for (const continuation of walks) {
        assert.deepEqual(valuesOf([await table.page({ continuation })]), [1])
      }

      assert.equal((await fixture.store.maintain()).generations, 1)

      const [oldest, ...younger] = walks
      await fails(table.page({ continuation: oldest ?? '' }), 'CONTINUATION_INVALID')
      for (const continuation of younger) {
        assert.deepEqual(valuesOf([await table.page({ continuation })]), [1])
      }
      assert.equal((await fixture.store.maintain()).generations, 0)
    },
  },
  {
    name: 'a scan yields the rows that were there when it began, whatever is overwritten and collected',
    options: {
      pageRowsMax: 2,
      overwrittenRowsTtlMs: 0,
      overwrittenRowSetsMax: 0,
      orphanGraceMs: 0,
    },
    async run(fixture) {
      const table = await fixture.createTable(numbered(9))
      const seen: unknown[] = []
      for await (const row of table.scan()) {
        seen.push(row['n'])
        if (seen.length === 3) await table.overwrite({ rows: [{ n: 100 }] })
        fixture.clock.pass(HOUR_MS)
        await fixture.store.maintain()
      }

      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8])
      await fixture.store.maintain()
      assert.deepEqual(await columnOf(table, 'n'), [100])
    },
  },
  {
    name: 'a scan may be left early',
    options: { pageRowsMax: 2 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(9))
      let seen = 0
      for await (const _ of table.scan()) {
        if (++seen === 3) break
      }
      assert.equal((await columnOf(table, 'n')).length, 9)
    },
  },
]
