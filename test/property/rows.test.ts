import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openMemory } from '../../src/index.js'
import { anyRowOf, anySchema } from '../conformance/generators.js'
import { runs } from '../support/runs.js'

const anyTable = anySchema(fc).chain((schema) =>
  fc.tuple(fc.constant(schema), fc.array(anyRowOf(fc, schema), { maxLength: 12 })),
)

/**
 * V8 of Node 24 (seen in 24.21) takes a key with an escape for another one that it has met in the same place. What JSON.parse mixes up
 * is not of the store, whose bytes are right: such keys are left out there.
 */
const MIXES_KEYS_UP = Number(process.versions['node']?.split('.')[0]) >= 24

test('rows of any schema read back as they were put in, inline, as segments and as JSON text', async () => {
  const inline = await openMemory({ sweepIntervalMs: 0 })
  const sealed = await openMemory({ sweepIntervalMs: 0, inlineRowsMax: 0, segmentRowsMax: 5 })
  onTestFinished(async () => {
    await inline.close()
    await sealed.close()
  })
  const property = fc.asyncProperty(anyTable, async ([schema, rows]) => {
    fc.pre(!MIXES_KEYS_UP || schema.columns.every(({ id }) => JSON.stringify(id) === `"${id}"`))
    const expected = rows.map((row) => JSON.parse(JSON.stringify(row)))
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
  await fc.assert(property, { numRuns: runs(300) })
})
