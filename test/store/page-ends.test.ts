// Pages that begin or end at an edge: at the last slot of an extent, or outside of a table's rows.
import { expect, onTestFinished, test } from 'vitest'
import { fromHex } from '../../src/base/bytes.js'
import { parseContinuation, renderContinuation } from '../../src/format/continuation-token.js'
import { SLOTS_MAX } from '../../src/format/keys.js'
import { openMemory, type Store, type Table } from '../../src/index.js'

/** Row records in the first read, so that it ends at the last slot. */
const RECORDS_OF_A_READ = 4

async function openOne(count: number): Promise<{ store: Store; table: Table; ids: string[] }> {
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    pageRowsMax: 100_000,
  })
  onTestFinished(() => store.close())
  const rows = Array.from({ length: count }, (_, n) => ({ n }))
  const { tableId, rowIds } = await store.team('t').createTable({ name: 't', rows })
  return { store, table: store.team('t').table(tableId), ids: [...rowIds] }
}

/** All values of `n`, in pages of a number of rows. */
async function walk(table: Table, limit: number): Promise<unknown[]> {
  const found: unknown[] = []
  for (let continuation: string | undefined; ; ) {
    const page = await table.page({ limit, ...(continuation !== undefined && { continuation }) })
    for (const { n } of page.rows) found.push(n)
    continuation = page.continuation
    if (continuation === undefined) return found
  }
}

test('a walk continues after the last row of a full extent, whatever is changed there', async () => {
  const count = SLOTS_MAX + 3
  const { table, ids } = await openOne(count)
  const expected: unknown[] = Array.from({ length: count }, (_, n) => n)

  expect(await walk(table, SLOTS_MAX)).toEqual(expected)
  expect(await walk(table, SLOTS_MAX - 1)).toEqual(expected)
  // This many row records, up to the last slot, are one read, and the next read begins after it.
  for (let n = SLOTS_MAX - RECORDS_OF_A_READ; n < SLOTS_MAX; n++) {
    await table.updateRow(ids[n] ?? '', { n: -n })
    expected[n] = -n
  }
  expect(await walk(table, 100_000)).toEqual(expected)
  expect(await walk(table, SLOTS_MAX)).toEqual(expected)
  expect((await table.page({ limit: SLOTS_MAX })).rows.at(-1)).toEqual({
    $rowID: ids[SLOTS_MAX - 1],
    n: 1 - SLOTS_MAX,
  })
})

test('a token that points outside of the rows is refused', async () => {
  const { table } = await openOne(5)
  const { continuation = '' } = await table.page({ limit: 2 })
  const token = parseContinuation(continuation, 0)
  if (token === null) throw new Error('It is a token')
  const at = (extent: number) => {
    return table.page({
      continuation: renderContinuation({ ...token, position: { extent, slot: 0 } }, 0),
    })
  }

  expect(token.table).toEqual(fromHex(table.id.replaceAll('-', '')))
  expect((await at(0)).rows).toHaveLength(5)
  expect((await at(1)).rows).toEqual([])
  await expect(at(2)).rejects.toMatchObject({ code: 'CONTINUATION_INVALID' })
})
