import { expect, onTestFinished, test } from 'vitest'
import { parseRowId, renderRowId } from '../../src/format/row-id.js'
import { openMemory } from '../../src/index.js'

test.each([0, 1_000])(
  'a row that kept its ID does not answer to the ID of its position (inline up to %i rows)',
  async (inlineRowsMax) => {
    const store = await openMemory({ sweepIntervalMs: 0, inlineRowsMax })
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
    await expect(table.get(positional)).rejects.toMatchObject(notFound)
    await expect(table.updateRow(positional, { n: 4 })).rejects.toMatchObject(notFound)
    expect(await table.deleteRow(positional)).toEqual({ version: 2 })
    const again = await table.overwrite({ rows: [{ $rowID: positional, n: 5 }] })
    expect(again.rowIds.at(0)).not.toBe(positional)
    expect((await table.page()).rows.map(({ n }) => n)).toEqual([5])
  },
)
