// Goal: a program gets the table that it needs by name. It is created once, whoever calls at the same time, and gets
// the columns that it lacks. No cell is ever lost for that.
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineSchema, openMemory, type SchemaInput, type Table } from '../../src/index.js'
import { runOptions } from '../support/fast-check-options.js'
import { EngineWorld } from './engine-world.js'

const INVALID = 'REQUEST_VALIDATION_ERROR'

async function openTeam() {
  const store = await openMemory({ maintenance: false })
  onTestFinished(() => store.close())
  return store.team('t')
}

function schemaOf(types: Readonly<Record<string, string>>): SchemaInput {
  return { columns: Object.entries(types).map(([id, type]) => ({ id, type })) } as SchemaInput
}

async function typesOf(table: Pick<Table, 'schema'>): Promise<unknown> {
  const { columns } = await table.schema()
  return Object.fromEntries(columns.map(({ id, type }) => [id, type.kind]))
}

describe('ensureTable', () => {
  test('makes a typed table, and finds it again without a version', async () => {
    const team = await openTeam()
    const Order = defineSchema({ columns: { sku: 'string', total: 'number' } })
    const orders = await team.ensureTable({ name: 'Orders', schema: Order, key: ['sku'] })
    await orders.addRows([{ sku: 'tea', total: 3 }])
    const again = await team.ensureTable({ name: 'Orders', schema: Order, key: ['sku'] })
    expect(again.id).toBe(orders.id)
    expect(await again.get({ sku: 'tea' })).toMatchObject({ row: { total: 3 } })
    expect(await team.table(orders.id).info()).toMatchObject({ version: 2, key: ['sku'] })
  })

  test('calls at the same time make one table', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 8 }),
        async (ids) => {
          const team = await openTeam()
          const ensured = ids.map((id) =>
            team.ensureTable({ name: 'Orders', schema: schemaOf({ [id]: 'string' }) }),
          )
          const tables = await Promise.all(ensured)
          expect(new Set(tables.map(({ id }) => id)).size).toBe(1)
          const listed = await team.tables()
          expect(listed).toHaveLength(1)
          const found = listed[0]?.schema.columns.map(({ id }) => id)
          expect(new Set(found)).toEqual(new Set(ids))
        },
      ),
      runOptions(30),
    )
  })

  test('engines of several processes make one table', async () => {
    const world = await EngineWorld.create()
    const engines = await Promise.all([world.open(), world.open(), world.open()])
    const ensured = engines.map(({ store }, i) =>
      store.team('t').ensureTable({ name: 'x', schema: schemaOf({ [`c${i}`]: 'string' }) }),
    )
    expect(new Set((await Promise.all(ensured)).map(({ id }) => id)).size).toBe(1)
    const tables = (await engines[0]?.store.team('t').tables()) ?? []
    expect(tables.map(({ schema }) => schema.columns.map(({ id }) => id).sort())).toEqual([
      ['c0', 'c1', 'c2'],
    ])
    for (const { store } of engines) await store.close()
  })

  test('uses the oldest of several tables, and creates another if that is deleted meanwhile', async () => {
    const team = await openTeam()
    const first = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
    await team.createTable({ name: 'x', rows: [{ a: 2 }] })
    const request = { name: 'x', schema: schemaOf({ a: 'number' }) }
    expect((await team.ensureTable(request)).id).toBe(first.tableId)
    const [table] = await Promise.all([
      team.ensureTable({ name: 'x', schema: schemaOf({ a: 'number', b: 'string' }) }),
      team.table(first.tableId).delete(),
    ])
    expect((await team.ensureTable(request)).id).toBe((await team.tablesByName('x'))[0]?.id)
    expect(table.id === first.tableId || (await typesOf(table))).toBeTruthy()
  })

  test('adds columns and widens types, and keeps rows, names and other columns', async () => {
    const team = await openTeam()
    const columns = [
      { id: 'n', type: 'number', displayName: 'Number' },
      { id: 'd', type: 'date' },
      { id: 'other', type: 'string' },
    ] as const
    const rows = [{ n: 1.5, d: '2026-11-29', other: 'x' }]
    const { tableId } = await team.createTable({ name: 'x', schema: { columns }, rows })
    const wanted = schemaOf({ more: 'boolean', d: 'dateTime', n: 'string' })
    const table = await team.ensureTable({ name: 'x', schema: wanted })
    expect(await typesOf(table)).toEqual({
      n: 'string',
      d: 'dateTime',
      other: 'string',
      more: 'boolean',
    })
    expect((await table.schema()).columns[0]).toMatchObject({ displayName: 'Number' })
    expect((await table.page()).rows).toMatchObject([{ n: '1.5', other: 'x' }])
    expect((await team.table(tableId).info()).version).toBe(2)
  })

  test('refuses what would lose cells, and another key, and changes nothing', async () => {
    const team = await openTeam()
    const schema = schemaOf({ a: 'string', n: 'number' })
    const table = await team.ensureTable({ name: 'x', schema, key: ['n'] })
    const refused = [
      { schema: schemaOf({ a: 'number' }) },
      { schema: schemaOf({ more: 'string', a: 'date' }) },
      { schema: schemaOf({ n: 'string' }) }, // The key would change from numbers to texts.
      { schema, key: ['a'] },
      { schema, key: ['n', 'a'] },
    ] as const
    for (const request of refused) {
      const ensured = team.ensureTable({ name: 'x', ...request } as never)
      await expect(ensured).rejects.toMatchObject({ code: INVALID })
    }
    const plain = await team.ensureTable({ name: 'y', schema })
    const keyed = team.ensureTable({ name: 'y', schema, key: ['n'] as never })
    await expect(keyed).rejects.toThrow('The table has no key, not "n"')
    expect((await team.table(table.id).info()).version).toBe(1)
    expect((await team.table(plain.id).info()).version).toBe(1)
  })

  test('refuses what is no request', async () => {
    const team = await openTeam()
    const schema = schemaOf({ a: 'string' })
    for (const request of [{ name: 'x' }, { name: '', schema }, { name: 'x', schema, rows: [] }]) {
      const ensured = team.ensureTable(request as never)
      await expect(ensured).rejects.toMatchObject({ code: INVALID })
    }
    expect(await team.tables()).toEqual([])
  })
})

describe('changes of some columns', () => {
  test('add, drop and rename are one version, and need no schema', async () => {
    const team = await openTeam()
    const schema = schemaOf({ a: 'string', b: 'number' })
    const table = await team.ensureTable({ name: 'x', schema })
    await table.addRows([{ a: 'x', b: 1 }])
    await table.alter({ add: [{ id: 'c', type: 'date' }], drop: ['b'], rename: { a: 'Text' } })
    expect((await table.schema()).columns).toMatchObject([
      { id: 'a', displayName: 'Text' },
      { id: 'c', type: { kind: 'date' } },
    ])
    expect(await table.info()).toMatchObject({ version: 3 })
    expect((await table.page()).rows[0]).not.toHaveProperty('b')
  })

  test('refuses columns that are missing or exist already, and a schema beside them', async () => {
    const team = await openTeam()
    const table = await team.ensureTable({ name: 'x', schema: schemaOf({ a: 'string' }) })
    const refused = [
      [{ drop: ['b'] }, INVALID],
      [{ rename: { b: 'B' } }, INVALID],
      [{ rename: { a: 1 } }, INVALID],
      [{ rename: ['a'] }, INVALID],
      [{ add: [{ id: 'b', type: 'money' }] }, INVALID],
      [{ add: [{ id: 'a', type: 'string' }] }, 'COLUMN_ID_NOT_UNIQUE'],
      [{ add: [{ id: '$rowID', type: 'string' }] }, 'COLUMN_ID_RESERVED'],
      [{ add: [{ id: 'b', type: 'string' }], schema: schemaOf({ a: 'string' }) }, INVALID],
      [{ add: [], rename: {}, drop: [] }, INVALID],
      [{ drop: ['a'], key: ['a'] }, INVALID],
    ] as const
    for (const [request, code] of refused) {
      await expect(table.alter(request as never)).rejects.toMatchObject({ code })
    }
    expect((await table.info()).version).toBe(1)
  })
})
