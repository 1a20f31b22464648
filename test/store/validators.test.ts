// Goal: validators of the libraries that the documents name read the rows of a table, both in types and at run time.
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineSchema, openMemory, type Schema, type TypedTable } from '../../src/index.js'

const columns = { name: 'string', quantity: 'number' } as const

const ofZod = defineSchema({
  columns,
  validator: z.object({
    name: z.string().trim().min(1),
    quantity: z.number().int().default(1),
  }),
})
const ofValibot = defineSchema({
  columns,
  validator: v.object({
    name: v.pipe(v.string(), v.trim(), v.nonEmpty()),
    quantity: v.optional(v.pipe(v.number(), v.integer()), 1),
  }),
})
const ofArktype = defineSchema({
  columns,
  validator: type({ name: 'string.trim |> string > 0', quantity: 'number.integer = 1' }),
})

type Item = Readonly<{ name: string; quantity?: number | undefined }>

describe.each([
  ['zod', ofZod],
  ['valibot', ofValibot],
  ['arktype', ofArktype],
] as const)('a validator of %s', (_, schema: Schema<typeof columns, Item>) => {
  test('changes the rows that it takes, and what it takes is what is stored', async () => {
    await using store = await openMemory()
    const team = store.team('team')
    const given: Item[] = [{ name: ' tea ', quantity: 2 }, { name: 'milk' }]
    const { tableId } = await team.createTable({ name: 'Items', schema, rows: given })
    const table = team.table(tableId, schema)
    await table.addRows([{ name: 'salt ' }])

    const { rows } = await table.page()
    expect(rows.map(({ $rowID: _id, ...cells }) => cells)).toEqual([
      { name: 'tea', quantity: 2 },
      { name: 'milk', quantity: 1 },
      { name: 'salt', quantity: 1 },
    ])
  })

  test('refuses a row by its number and its column, and nothing is written', async () => {
    await using store = await openMemory()
    const team = store.team('team')
    const { tableId } = await team.createTable({ name: 'Items', schema, rows: [] })
    const table = team.table(tableId, schema)

    for (const [column, row] of [
      ['quantity', { name: 'tea', quantity: 1.5 }],
      ['name', { name: ' ' }],
      ['name', { quantity: 1 } as Item],
    ] as const) {
      const rule: unknown = expect.stringMatching(/./)
      const refused = { code: 'COLUMN_HAS_INVALID_VALUE', row: 1, column, rule }
      await expect(table.addRows([{ name: 'fits' }, row])).rejects.toMatchObject(refused)
    }
    expect((await table.info()).rowCount).toBe(0)
  })
})

test('the compiler knows what each of them takes', () => {
  const write = (
    zod: TypedTable<typeof ofZod>,
    valibot: TypedTable<typeof ofValibot>,
    arktype: TypedTable<typeof ofArktype>,
  ) => [
    zod.addRows([{ name: 'tea' }, { name: 'milk', quantity: 2 }]),
    valibot.addRows([{ name: 'tea' }, { name: 'milk', quantity: 2 }]),
    arktype.addRows([{ name: 'tea' }, { name: 'milk', quantity: 2 }]),
    // @ts-expect-error A name is needed.
    zod.addRows([{ quantity: 2 }]),
    // @ts-expect-error A name is needed.
    valibot.addRows([{ quantity: 2 }]),
    // @ts-expect-error A name is needed.
    arktype.addRows([{ quantity: 2 }]),
    // @ts-expect-error A number is wanted.
    zod.addRows([{ name: 'tea', quantity: '2' }]),
    // @ts-expect-error A number is wanted.
    valibot.addRows([{ name: 'tea', quantity: '2' }]),
    // @ts-expect-error A number is wanted.
    arktype.addRows([{ name: 'tea', quantity: '2' }]),
  ]
  expect(write).toBeTypeOf('function')
})
