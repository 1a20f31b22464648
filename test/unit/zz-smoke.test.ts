import { mkdtempSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { openMemory } from '../../src/index.js'

for (const [name, open] of [
  ['mem', () => openMemory({ sweepIntervalMs: 0 })],
  ['dir', () => openDirectory(mkdtempSync('/tmp/rs-'), { sweepIntervalMs: 0 })],
] as const)
  test(`smoke ${name}`, async () => {
    const store = await open()
    const team = store.team('acme')
    const made = await team.createTable({
      name: 'x',
      rows: [
        { a: 1, b: 'hi' },
        { a: 2.5, c: null },
      ],
    })
    expect(made.version).toBe(1)
    const table = team.table(made.tableId)
    console.log(JSON.stringify(await table.schema()), await table.page())
    const s = team.stash('s1')
    for (let c = 0; c < 12; c++)
      await s.put(
        String(c),
        Array.from({ length: 500 }, (_, i) => ({ n: c * 500 + i, t: `row ${i}`, d: '2024-01-02' })),
      )
    const t0 = performance.now()
    const big = await team.createTable({ name: 'big', rows: s })
    console.log('finalize', performance.now() - t0, big.rowIds.length, big.rowIds.at(-1))
    const bt = team.table(big.tableId)
    let n = 0
    for await (const row of bt.scan()) expect(row['n']).toBe(n++)
    expect(n).toBe(6000)
    const id = big.rowIds.at(777) ?? ''
    expect((await bt.get(id)).row['n']).toBe(777)
    expect(await bt.updateRow(id, { t: 'changed' })).toEqual({ version: 2 })
    expect(await bt.get(id)).toEqual({
      version: 2,
      row: { $rowID: id, n: 777, t: 'changed', d: '2024-01-02' },
    })
    await bt.deleteRow(big.rowIds.at(0) ?? '')
    const p = await bt.page({ limit: 2 })
    expect(p.rows.map((r) => r['n'])).toEqual([1, 2])
    await bt.overwrite({ rows: [{ n: 1 }] })
    expect((await bt.page()).rows.length).toBe(1)
    const p2 = await bt.page({ continuation: p.continuation ?? '', limit: 3 })
    expect(p2.rows.map((r) => r['n'])).toEqual([3, 4, 5])
    expect(p2.version).toBe(3)
    await expect(bt.addRows([{ n: 'x' }])).rejects.toMatchObject({
      code: 'COLUMN_HAS_INVALID_VALUE',
      row: 0,
      column: 'n',
      value: '"x"',
    })
    console.log(await team.tables(), await store.sweep())
    await store.close()
  })
