// Goal: the compiler knows the rows of a defined schema, and rejects what the store would refuse. Compiling this file
// is the check: every line below an expected error must have one.
import { expect, expectTypeOf, test } from 'vitest'
import {
  defineSchema,
  type InputRow,
  openMemory,
  type Row,
  type SchemaInput,
  type Transaction,
  type TypedTable,
} from '../../src/index.js'
import type { TypedWhere } from '../../src/schema/row-types.js'

const orders = defineSchema({
  columns: {
    name: 'string',
    qty: 'number',
    paid: 'boolean',
    tags: ['string'],
    sizes: ['number'],
    lasts: 'duration',
    $price: { type: 'number', displayName: 'Price' },
    due: { type: 'date' },
    at: 'dateTime',
  },
})

type Order = Row<typeof orders>

test('rows of a schema have the types of their kinds', () => {
  expectTypeOf<Order['$rowID']>().toEqualTypeOf<string>()
  expectTypeOf<Order['name']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<Order['qty']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Order['paid']>().toEqualTypeOf<boolean | undefined>()
  expectTypeOf<Order['tags']>().toEqualTypeOf<readonly string[] | undefined>()
  expectTypeOf<Order['sizes']>().toEqualTypeOf<readonly number[] | undefined>()
  expectTypeOf<Order['lasts']>().toEqualTypeOf<string | number | undefined>()
  expectTypeOf<Order['$price']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Order['due']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<Row<typeof orders, 'bigint'>['qty']>().toEqualTypeOf<number | bigint | undefined>()
  expectTypeOf<Row<typeof orders, 'text'>['qty']>().toEqualTypeOf<string | undefined>()
  // @ts-expect-error The schema has no such column.
  expectTypeOf<Order['quantity']>().toBeUndefined()
})

test('a list of columns takes kinds only', async () => {
  const store = await openMemory()
  const team = store.team('t')
  const right: SchemaInput = {
    columns: [
      { id: 'a', type: 'string' },
      { id: 'b', type: { kind: 'array', items: { kind: 'number' } } },
    ],
  }
  const wrong: readonly SchemaInput[] = [
    // @ts-expect-error No kind.
    { columns: [{ id: 'a', type: 'strng' }] },
    // @ts-expect-error No kind.
    { columns: [{ id: 'a', type: { kind: 'strng' } }] },
    // @ts-expect-error The short form of an array is one of defineSchema.
    { columns: [{ id: 'a', type: ['string'] }] },
  ]

  await team.createTable({ name: 'right', schema: right, rows: [{ a: 'x', b: [1] }] })
  for (const schema of wrong) {
    const made = team.createTable({ name: 'wrong', schema, rows: [] })
    await expect(made).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
  }
  await store.close()
})

test('a kind that does not exist, and what is no type, does not compile', () => {
  const wrong = [
    // @ts-expect-error No kind.
    () => defineSchema({ columns: { name: 'strng' } }),
    // @ts-expect-error No kind.
    () => defineSchema({ columns: { tags: ['strng'] } }),
    // @ts-expect-error An array has one type.
    () => defineSchema({ columns: { tags: ['string', 'number'] } }),
    // @ts-expect-error No kind.
    () => defineSchema({ columns: { name: { type: 'text' } } }),
    // @ts-expect-error Not a member of a schema.
    () => defineSchema({ columns: { name: 'string' }, colums: {} }),
  ]
  for (const define of wrong) {
    expect(define).toThrow(expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }))
  }
})

test('rows that are written have the types of the columns', () => {
  expectTypeOf<InputRow<typeof orders>['qty']>().toEqualTypeOf<number | bigint | null | undefined>()
  const write = (table: TypedTable<typeof orders>) => [
    table.addRows([{ name: 'x', qty: 1, tags: ['a'], lasts: 10n, due: null }]),
    table.addRows({ csv: 'name,qty\n' }),
    table.addRows(new Set([{ name: 'x' }])),
    table.overwrite({ rows: [{ $rowID: 'x', qty: 1 }] }),
    table.merge({ rows: [{ name: 'x' }], key: ['name'] }),
    table.updateRow('x', { qty: null }),
    table.updateRows([{ rowId: 'x', cells: { paid: true } }]),
    // @ts-expect-error A number is wanted.
    table.addRows([{ qty: '1' }]),
    // @ts-expect-error No such column.
    table.addRows([{ name: 'x', quantity: 1 }]),
    // @ts-expect-error An array of texts is wanted.
    table.overwrite({ rows: [{ tags: 'a' }] }),
    // @ts-expect-error No such column.
    table.merge({ rows: [{ name: 'x' }], key: ['nam'] }),
    // @ts-expect-error A boolean is wanted.
    table.updateRow('x', { paid: 'yes' }),
    // @ts-expect-error No such column.
    table.updateRow('x', { payed: true }),
    // @ts-expect-error A boolean is wanted.
    table.updateRows([{ rowId: 'x', cells: { paid: 1 } }]),
  ]
  expect(write).toBeTypeOf('function')
})

test('conditions have the columns of the schema and the operators of their kinds', () => {
  const conditions: TypedWhere<typeof orders>[] = [
    { name: 'x', qty: { gt: 1, lte: '1e3' }, paid: true, tags: { has: 'a' }, sizes: { has: 1 } },
    { $or: [{ name: { startsWith: 'x' } }, { $not: { due: { lt: '2026-01-01' } } }] },
    { at: { gte: new Date(0) } },
    { $$price: { in: [1, 2n, '3.50'] }, tags: null, lasts: 'PT1S', name: { ne: null } },
    // @ts-expect-error No such column.
    { nam: 'x' },
    // @ts-expect-error A number is no text.
    { name: 1 },
    // @ts-expect-error The text of a number is wanted.
    { qty: 'many' },
    // @ts-expect-error Numbers have no beginning.
    { qty: { startsWith: '1' } },
    // @ts-expect-error No order.
    { paid: { gt: false } },
    // @ts-expect-error No order.
    { lasts: { gt: 'PT1S' } },
    // @ts-expect-error An array takes `has`.
    { tags: 'a' },
    // @ts-expect-error Its elements are texts.
    { tags: { has: 1 } },
    // @ts-expect-error Written with one more `$`.
    { $price: 1 },
    // @ts-expect-error Undefined is no value of a condition.
    { qty: undefined },
    // @ts-expect-error Nor of an operator.
    { qty: { gt: undefined } },
    // @ts-expect-error Nor of a list of values.
    { name: { in: ['x', undefined] } },
    // @ts-expect-error Nor a condition within.
    { $or: undefined },
    // @ts-expect-error No such column, also within.
    { $and: [{ nam: 'x' }] },
  ]
  expect(conditions).toHaveLength(18)
})

test('a table of a schema is read and written without casts', async () => {
  await using store = await openMemory()
  const team = store.team('types')
  const made = await team.createTable({
    name: 'Orders',
    schema: orders,
    rows: [{ name: 'a', qty: 2, tags: ['x'], sizes: [1, 2], $price: 3 }, { name: 'b' }],
  })
  const table = await team.tableByName('Orders', orders)
  if (table === null) throw new Error('The table has this name')
  expect(table.id).toBe(made.tableId)
  expectTypeOf(table).toEqualTypeOf(team.table(made.tableId, orders))
  expect(await team.tableByName('Order', orders)).toBe(null)

  for await (const row of table.find({ qty: { gt: 1 } })) {
    expectTypeOf(row).toEqualTypeOf<Order>()
    expect((row.qty ?? 0) + (row.sizes?.[1] ?? 0) + (row.$price ?? 0)).toBe(7)
    expect(row.tags?.map((tag) => tag.toUpperCase())).toEqual(['X'])
  }
  for await (const row of table.scan({ columns: ['name'], numbers: 'text' })) {
    expectTypeOf(row).toEqualTypeOf<Readonly<{ $rowID: string; name?: string }>>()
    // @ts-expect-error It was not asked for.
    expect(row.qty).toBeUndefined()
  }
  const { rows } = await table.page({ where: { name: 'a' }, numbers: 'bigint' })
  expectTypeOf(rows[0]?.qty).toEqualTypeOf<number | bigint | undefined>()
  await table.alter({ key: ['name'] })
  expect((await table.get({ name: 'b' }))?.row.qty).toBeUndefined()
  // @ts-expect-error No such column.
  await expect(table.get({ nam: 'b' })).rejects.toThrow('key')
  // @ts-expect-error Arrays are no keys.
  await expect(table.get({ tags: ['x'] })).rejects.toThrow('key')
  const found = await table.get(made.rowIds.get(0))
  expectTypeOf(found?.row).toEqualTypeOf<Order | undefined>()
  expect(found?.row.qty?.toFixed(1)).toBe('2.0')
  expect(await table.count({ paid: null })).toBe(2)
})

test('the changes of a table of a schema have its rows', async () => {
  await using store = await openMemory({ historyRetentionMs: 60_000 })
  const team = store.team('types')
  const made = await team.createTable({ name: 'Orders', schema: orders, rows: [{ name: 'a' }] })
  const table = team.table(made.tableId, orders)
  await table.addRows([{ name: 'b', qty: 2 }])
  let total = 0

  for await (const change of table.changes({ since: made.version })) {
    expect(change).toMatchObject({ version: 2, retyped: false })
    expect(change.added).toHaveLength(1)
    for await (const row of change.rows()) {
      expectTypeOf(row).toEqualTypeOf<Order>()
      total += row.qty ?? 0
    }
    for await (const { qty } of change.rows({ numbers: 'bigint' })) {
      expectTypeOf(qty).toEqualTypeOf<number | bigint | undefined>()
    }
  }
  for await (const change of table.watch({ since: made.version })) {
    for await (const row of change.rows({ numbers: 'text' })) {
      expectTypeOf(row.qty).toEqualTypeOf<string | undefined>()
      total += Number(row.qty)
    }
    break
  }
  for await (const { qty } of table.at(made.version).scan()) {
    expectTypeOf(qty).toEqualTypeOf<unknown>() // Its columns may have been different.
  }
  expect(total).toBe(4)
})

test('the changes of a table that lacks a column of the schema are refused', async () => {
  await using store = await openMemory({ historyRetentionMs: 60_000 })
  const team = store.team('types')
  const { tableId } = await team.createTable({ name: 'Other', rows: [{ name: 'a' }] })
  const refused = { code: 'SCHEMA_MISMATCH' }

  const first = (iterator: AsyncIterator<unknown>) => iterator.next()
  await expect(first(team.table(tableId, orders).changes({ since: 1 }))).rejects.toMatchObject(
    refused,
  )
  await expect(first(team.table(tableId, orders).watch())).rejects.toMatchObject(refused)
})

test('a table of a schema in a transaction is read and written without casts', async () => {
  await using store = await openMemory()
  const team = store.team('types')
  const rows = [{ name: 'a', qty: 2 }, { name: 'b' }, { name: 'c' }]
  const { tableId, rowIds } = await team.createTable({ name: 'Orders', schema: orders, rows })
  const id = rowIds.get(0)

  await team.transaction(async (t) => {
    const table = t.table(tableId, orders)
    expectTypeOf((await table.get(id))?.row).toEqualTypeOf<Order | undefined>()
    expectTypeOf((await table.page({ numbers: 'text' })).rows[0]?.qty).toEqualTypeOf<
      string | undefined
    >()
    for await (const row of table.scan({ where: { qty: { gt: 1 } }, columns: ['qty'] })) {
      expectTypeOf(row).toEqualTypeOf<Readonly<{ $rowID: string; qty?: number }>>()
      await table.updateRow(row.$rowID, { qty: (row.qty ?? 0) + 1 })
    }
    expect((await table.get(id))?.row.qty?.toFixed(1)).toBe('3.0')
    await table.addRows([{ name: 'd', tags: ['x'] }])
    await table.updateRows([{ rowId: id, cells: { paid: true } }])
    expect(await table.deleteRow(rowIds.get(1))).toMatchObject({ deleted: true })
    expect(await table.deleteRows({ where: { name: 'c' } })).toMatchObject({ deleted: 1 })
    expect(await table.untyped.version()).toBe(await table.version())
    expect(table.id).toBe(tableId)
  })

  const table = team.table(tableId, orders)
  expect((await table.page()).rows.map(({ $rowID, ...cells }) => cells)).toEqual([
    { name: 'a', qty: 3, paid: true },
    { name: 'd', tags: ['x'] },
  ])
  await team.transaction((t) => t.table(tableId, orders).overwrite({ rows: [{ name: 'e' }] }))
  expect(await table.count()).toBe(1)
  const wrong = (t: Transaction) => [
    // @ts-expect-error A number is wanted.
    t.table(tableId, orders).addRows([{ qty: 'two' }]),
    // @ts-expect-error No such column.
    t.table(tableId, orders).updateRow(id, { quantity: 2 }),
    // @ts-expect-error A key of its own is no part of a transaction.
    t.table(tableId, orders).addRows([], { idempotencyKey: 'x' }),
    // @ts-expect-error No such column.
    t.table(tableId, orders).deleteRows({ where: { nam: 'x' } }),
    // @ts-expect-error No merge.
    t.table(tableId, orders).merge,
  ]
  expect(wrong).toBeTypeOf('function')
})

test('a create with a schema takes its rows only; without one, any', async () => {
  await using store = await openMemory()
  const team = store.team('types')
  const name = 'Orders'
  const creates = [
    // @ts-expect-error A number is wanted.
    () => team.createTable({ name, schema: orders, rows: [{ qty: 'two' }] }),
    // @ts-expect-error No such column.
    () => team.createTable({ name, schema: orders, rows: [{ name: 'x', quantity: 2 }] }),
  ]
  for (const create of creates) await expect(create()).rejects.toThrow(/qty|quantity/)

  await team.createTable({ name: 'Keyed', schema: orders, rows: [], key: ['name'] })
  // @ts-expect-error No such column.
  const misspelled = team.createTable({ name, schema: orders, rows: [], key: ['nam'] })
  await expect(misspelled).rejects.toThrow("no column 'nam'")

  await team.createTable({ name, rows: [{ any: 1 }] })
  await team.createTable({
    name,
    schema: { columns: [{ id: 'n', type: 'number' }] },
    rows: [{ n: 1 }],
  })
  expect(await team.tableNames()).toHaveLength(3)
})
