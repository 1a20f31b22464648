import { MemoryLevel } from 'memory-level'
import { expect, onTestFinished, test } from 'vitest'
import { parseRowId, renderRowId } from '../../src/format/row-id.js'
import { memoryObjects, openLevelKv, openMemory, openStore } from '../../src/index.js'
import { turns } from '../support/until.js'

test.each([0, 1_000])(
  'a row that kept its ID does not answer to the ID of its position (inline up to %i rows)',
  async (inlineRowsMax) => {
    const store = await openMemory({
      maintenance: { garbageCollectionIntervalMs: 0 },
      inlineRowsMax,
    })
    onTestFinished(() => store.close())
    const team = store.team('t')
    const { tableId, rowIds } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
    const kept = rowIds.at(0) ?? ''
    const table = team.table(tableId)
    const after = await table.overwrite({ rows: [{ n: 2 }, { $rowID: kept, n: 3 }] })
    const neighbour = parseRowId(after.rowIds.at(0) ?? '')
    const positional = renderRowId(
      neighbour?.nonce ?? new Uint8Array(8),
      neighbour?.extent ?? 0,
      (neighbour?.slot ?? 0) + 1,
    )

    expect(after.rowIds.at(1)).toBe(kept)
    const notFound = { code: 'ROW_NOT_FOUND' }
    expect(await table.get(positional)).toBeNull()
    await expect(table.updateRow(positional, { n: 4 })).rejects.toMatchObject(notFound)
    expect(await table.deleteRow(positional)).toEqual({ version: 2, deleted: false })
    const again = await table.overwrite({ rows: [{ $rowID: positional, n: 5 }] })
    expect(again.rowIds.at(0)).not.toBe(positional)
    expect((await table.page()).rows.map(({ n }) => n)).toEqual([5])
  },
)

test('an overwrite that keeps IDs ends, even if a row is deleted each time after it has found the IDs', async () => {
  const objects = memoryObjects()
  const ids: string[] = []
  const deletes: Promise<unknown>[] = []
  let deleteNext = async (): Promise<unknown> => undefined
  const put = objects.put.bind(objects)
  objects.put = async (id, content) => {
    const bytes = await put(id, content)
    const deleted = deleteNext()
    deletes.push(deleted)
    // The overwrite's turn is first, so it must not wait for the delete.
    await Promise.race([deleted, turns(DELETE_TURNS)])
    return bytes
  }
  const store = await openStore({
    kv: await memoryKv(),
    objects,
    maintenance: { garbageCollectionIntervalMs: 0 },
  })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const rows = Array.from({ length: 200 }, (_, n) => ({ n }))
  const { tableId, rowIds } = await team.createTable({ name: 't', rows })
  const table = team.table(tableId)
  ids.push(...rowIds)
  deleteNext = () => table.deleteRow(ids.pop() ?? '')

  const changed = rows.map(({ n }, at) => ({ $rowID: rowIds.at(at) ?? '', n: n + 1 }))
  const after = await table.overwrite({ rows: changed })
  await Promise.all(deletes)

  expect(deletes.length).toBeGreaterThan(3)
  const kept = rows.filter((_, at) => after.rowIds.at(at) === rowIds.at(at)).length
  expect(kept).toBe(rows.length - (deletes.length - 1)) // The last delete came after the overwrite.
  const found = await table.get(rowIds.at(0) ?? '')
  expect(found?.row['n']).toBe(1)
})

/** Turns of the event loop that a delete takes. */
const DELETE_TURNS = 50

const memoryKv = () => openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())

test('rows that a compaction found deleted keep no ID, even if it left no row of their extent', async () => {
  const store = await openMemory({
    maintenance: {
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: 0,
      compactionRecordsMin: 1,
    },
  })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const { tableId, rowIds } = await team.createTable({ name: 't', rows: [{ n: 1 }, { n: 2 }] })
  const table = team.table(tableId)
  const gone = [...rowIds]
  // Rows of a second extent, so that the first one is closed and compacted.
  const big = Array.from({ length: 1_500 }, (_, n) => ({ n }))
  const added = await table.addRows(big)
  for (const id of gone) await table.deleteRow(id)
  const { compactions } = await store.maintain()
  expect((await store.verify({ full: true })).findings).toEqual([])
  const [stays = ''] = added.rowIds

  const after = await table.overwrite({
    rows: [...gone, stays].map(($rowID, n) => ({ $rowID, n })),
  })

  expect(compactions).toBeGreaterThan(0)
  const [first, second, third] = after.rowIds
  expect(gone).not.toContain(first)
  expect(gone).not.toContain(second)
  expect(third).toBe(stays)
})
