// Parsed schemas: what stays in memory, and that a store with schemas of any size can be read.
import { describe, expect, test } from 'vitest'
import { SchemaCache } from '../../../src/engine/caches/schema-cache.js'
import * as keys from '../../../src/format/keys.js'
import { decodeSchema, encodeSchema } from '../../../src/format/records.js'
import type { TableSchema } from '../../../src/index.js'
import { all, openRich } from '../../support/rich-database.js'

const MIB = 1024 * 1024

/** A record of a schema whose only column has a name of a given length. */
function recordOf(nameChars: number): Uint8Array {
  const displayName = 'x'.repeat(nameChars)
  const schema: TableSchema = { columns: [{ id: 'a', displayName, type: { kind: 'string' } }] }
  return encodeSchema(JSON.stringify(schema))
}

describe('parsed schemas', () => {
  test.each([
    ['larger than any that is taken now', 14 * MIB],
    ['of the largest size', MIB],
    ['of 10 KiB', 10 * 1024],
  ])('%s stay in memory, up to 16 MiB together', async (_size, nameChars) => {
    const cache = new SchemaCache(16 * MIB)
    const count = Math.ceil((40 * MIB) / nameChars)
    // The test keeps the records, as a database with enough memory does.
    const records = Array.from({ length: count }, () => recordOf(nameChars))
    const get = (number: number) =>
      cache.get(new Uint8Array(16), number, () => records[number] ?? null)
    const parsed: unknown[] = []
    for (const number of records.keys()) parsed.push(await get(number))

    let stayed = 0
    for (let number = count - 1; number >= 0 && (await get(number)) === parsed[number]; number--) {
      stayed++
    }

    expect(stayed * nameChars).toBeLessThanOrEqual(16 * MIB)
    expect(stayed > 0).toBe(nameChars <= MIB)
  })
})

test('a store reads and verifies schemas that are larger than any it takes now', async () => {
  const { store, acme } = await openRich()
  const team = store.team('acme')
  const [entry] = await team.tables()
  const table = team.table(entry?.id ?? '')
  const key = keys.schemaKey(Uint8Array.from(Buffer.from(table.id.replaceAll('-', ''), 'hex')), 0)
  const stored = (await all(acme, keys.KEY_SPACE.schema)).find(([found]) =>
    Buffer.from(found).equals(key),
  )
  const { columns } = JSON.parse(decodeSchema(stored?.[1] ?? new Uint8Array())) as TableSchema
  const displayName = 'x'.repeat(14 * MIB)
  const large = {
    columns: columns.map((column, i) => (i > 0 ? column : { ...column, displayName })),
  }
  await acme.commit({ puts: [[key, encodeSchema(JSON.stringify(large))]] })

  expect((await table.schema()).columns[0]?.displayName).toBe(displayName)
  await table.addRows([{}])
  const found = await table.get((await table.page()).rows[0]?.$rowID ?? '')
  await table.updateRow(found?.row.$rowID ?? '', {}, { onSchemaError: 'updateSchema' })
  const grown = table.addRows([{ another: 1 }], { onSchemaError: 'updateSchema' })
  await expect(grown).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
  expect((await store.verify({ full: true })).findings).toEqual([])
})
