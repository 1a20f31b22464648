// Tables opened with a schema: the check of their columns, and rows that pass a validator first.
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineSchema, openMemory, type StandardSchema, type Team } from '../../src/index.js'

async function openTeam(): Promise<Team> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return store.team('typed')
}

async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

const items = defineSchema({
  columns: {
    name: 'string',
    qty: { type: 'number', displayName: 'Quantity' },
    tags: ['string'],
  },
})

describe('defineSchema', () => {
  test('makes the schema that the store takes', () => {
    expect(items).toEqual({
      columns: [
        { id: 'name', type: { kind: 'string' } },
        { id: 'qty', displayName: 'Quantity', type: { kind: 'number' } },
        { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
      ],
    })
    expect(JSON.parse(JSON.stringify(items))).toEqual({ columns: [...items.columns] })
    expect(items.definition.columns.tags).toEqual(['string'])
  })

  test('refuses what is no definition', () => {
    for (const wrong of [undefined, {}, { columns: [] }, { columns: items.columns }, 'x']) {
      expect(() => defineSchema(wrong as never)).toThrow(/^defineSchema takes \{ columns \}/)
    }
    const refused = (definition: unknown) => () => defineSchema(definition as never)
    expect(refused({ columns: { a: { kind: 'string' } } })).toThrow("unknown property 'kind'")
    expect(refused({ columns: { $rowID: 'string' } })).toThrow("Column ID '$rowID' is reserved")
    expect(refused({ columns: { a: [] } })).toThrow('schema.columns[0].type must be')
    expect(refused({ columns: {}, validator: {} })).toThrow('must implement Standard Schema')
  })
})

describe('a table with a schema', () => {
  test('reads and writes as the table itself does', async () => {
    const team = await openTeam()
    const made = await team.createTable({
      name: 'Items',
      schema: items,
      rows: [{ name: 'a', qty: 1 }],
    })
    const table = team.table(made.tableId, items)
    const id = made.rowIds.get(0)

    await table.addRows([{ name: 'b', qty: 2, tags: ['x', 'y'] }])
    await table.updateRow(id, { tags: ['z'] })
    await table.updateRows([{ rowId: id, cells: { qty: 5 } }])
    await table.merge({ rows: [{ name: 'b', qty: 3 }], key: ['name'] })

    expect((await table.schema()).columns[1]?.displayName).toBe('Quantity')
    expect(await collect(table.scan({ columns: ['qty', 'tags'] }))).toEqual([
      { $rowID: id, qty: 5, tags: ['z'] },
      { $rowID: expect.any(String), qty: 3, tags: ['x', 'y'] },
    ])
    expect(await collect(table.find({ tags: { has: 'z' } }))).toHaveLength(1)
    expect((await table.getMany([id, 'none'])).map((found) => found?.row.name ?? null)).toEqual([
      'a',
      null,
    ])
    expect((await table.get(id))?.row.qty).toBe(5)
    expect((await table.page({ limit: 1 })).rows[0]?.tags).toEqual(['z'])
    expect(await table.count({ qty: { gte: 3 } })).toBe(2)
    expect((await table.deleteRows({ where: { name: 'b' } })).deleted).toBe(1)
    expect((await table.deleteRow(id)).deleted).toBe(true)
    expect((await table.overwrite({ rows: [{ name: 'c' }] })).rowIds).toHaveLength(1)
    expect((await table.info()).rowCount).toBe(1)
    expect(await table.version()).toBe(await table.untyped.version())
    const changes = await collect(table.toNDJSON())
    expect(Buffer.concat(changes).toString()).toBe('{"name":"c"}\n')
    expect((await table.rename('Things')).version).toBe(await table.version())
    await table.delete()
    await expect(table.info()).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' })
  })

  test('says which column it lacks, or has with another type', async () => {
    const team = await openTeam()
    const { tableId } = await team.createTable({
      name: 'Other',
      schema: {
        columns: [
          { id: 'name', type: 'string' },
          { id: 'qty', type: 'string' },
        ],
      },
      rows: [{ name: 'a' }],
    })
    const table = team.table(tableId, items)
    const refused = { code: 'SCHEMA_MISMATCH', column: 'qty' }

    const message = 'column "qty": it is of the kind string, not of the kind number'
    await expect(table.get('x')).rejects.toMatchObject(refused)
    await expect(collect(table.scan())).rejects.toThrow(message)
    await expect(table.addRows([{ name: 'b' }])).rejects.toMatchObject(refused)
    expect((await table.info()).rowCount).toBe(1)

    await table.untyped.overwrite({
      schema: {
        columns: [
          { id: 'more', type: 'date' },
          { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
          { id: 'qty', type: 'number' },
        ],
      },
      rows: [],
    })
    const missing = { code: 'SCHEMA_MISMATCH', column: 'name' }
    await expect(table.page()).rejects.toMatchObject(missing)

    const { columns } = await table.schema()
    await table.alter({ schema: { columns: [{ id: 'name', type: 'string' }, ...columns] } })
    expect((await table.page()).rows).toEqual([])
  })

  test('is checked in a transaction, which then commits nothing', async () => {
    const team = await openTeam()
    const { tableId } = await team.createTable({ name: 'Other', rows: [{ name: 'a' }] })
    const run = team.transaction(async (t) => {
      const untyped = t.table(tableId)
      await untyped.addRows([{ name: 'b' }])
      await t.table(tableId, items).addRows([{ name: 'c' }])
    })

    await expect(run).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH', column: 'qty' })
    expect(await team.table(tableId).count()).toBe(1)
    const wrong = team.transaction(async (t) => t.table(tableId, { columns: [] } as never))
    await expect(wrong).rejects.toThrow('must be what defineSchema')
  })

  test('reads rows by its validator in a transaction, too', async () => {
    const team = await openTeam()
    const { validator } = named(false)
    const schema = defineSchema({ columns: { name: 'string', qty: 'number' }, validator })
    const { tableId } = await team.createTable({ name: 'x', schema, rows: [] })
    await team.transaction((t) => t.table(tableId, schema).addRows([{ name: ' a ' }]))
    const refused = team.transaction((t) =>
      t.table(tableId, schema).overwrite({ rows: [{}] as never }),
    )

    await expect(refused).rejects.toMatchObject({ code: 'COLUMN_HAS_INVALID_VALUE', row: 0 })
    expect((await collect(team.table(tableId).scan())).map(({ name }) => name)).toEqual(['a'])
  })

  test('is opened with what defineSchema returns, and fails as the table if there is none', async () => {
    const team = await openTeam()

    expect(() => team.table('x', { columns: [] } as never)).toThrow('must be what defineSchema')
    await expect(team.table('x', items).page()).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' })
  })
})

/** A validator of objects with a name: it trims the name, and counts its calls. */
function named(isAsync: boolean) {
  const asked: unknown[] = []
  const validate: StandardSchema<{ name: string; qty?: number }>['~standard']['validate'] = (
    value,
  ) => {
    asked.push(value)
    const { name, ...rest } = value as Record<string, unknown>
    if (typeof name !== 'string') {
      return { issues: [{ message: 'a name is needed', path: [{ key: 'name' }, 0] }] }
    }
    if (rest['qty'] === 13) return { issues: [{ message: 'bad luck' }] }
    return { value: { ...rest, name: name.trim() } }
  }
  const validator: StandardSchema<{ name: string; qty?: number }> = {
    '~standard': {
      version: 1,
      vendor: 'rowstash-test',
      validate: isAsync ? async (value) => validate(value) : validate,
    },
  }
  return { asked, validator }
}

describe.each([
  ['at once', false],
  ['by a promise', true],
])('a validator that answers %s', (_, isAsync) => {
  test('reads the rows before the store does', async () => {
    const team = await openTeam()
    const { validator } = named(isAsync)
    const schema = defineSchema({ columns: { name: 'string', qty: 'number' }, validator })
    const made = await team.createTable({ name: 'x', schema, rows: [{ name: ' a ' }] })
    const table = team.table(made.tableId, schema)

    await table.addRows([{ name: 'b ', qty: 1 }])
    await table.merge({ rows: [{ name: ' b', qty: 2 }], key: ['name'] })

    expect((await collect(table.scan())).map(({ name, qty }) => [name, qty])).toEqual([
      ['a', undefined],
      ['b', 2],
    ])
    const id = made.rowIds.get(0)
    await table.overwrite({ rows: [{ $rowID: id, name: ' kept ' }] })
    expect((await table.get(id))?.row.name).toBe('kept')
  })

  test('refuses a row by its number and column, and nothing is written', async () => {
    const team = await openTeam()
    const { validator, asked } = named(isAsync)
    const schema = defineSchema({ columns: { name: 'string', qty: 'number' }, validator })
    const { tableId } = await team.createTable({ name: 'x', schema, rows: [] })
    const table = team.table(tableId, schema)
    const rows = [{ name: 'a' }, { qty: 1 } as never, { name: 'c' }]

    const failure = {
      code: 'COLUMN_HAS_INVALID_VALUE',
      row: 1,
      column: 'name',
      rule: 'a name is needed',
      message: "The validator rejected row 1 (counted from 0): column 'name': a name is needed",
    }
    await expect(table.addRows(rows)).rejects.toMatchObject(failure)
    expect(asked).toHaveLength(2)
    await expect(table.overwrite({ rows })).rejects.toMatchObject(failure)
    await expect(team.createTable({ name: 'y', schema, rows })).rejects.toMatchObject(failure)
    const whole = table.addRows([{ name: 'x', qty: 13 }])
    await expect(whole).rejects.toThrow('rejected row 0 (counted from 0): bad luck')
    expect((await table.info()).version).toBe(1)
    expect(await team.tableNames()).toHaveLength(1)
  })
})

test('a validator takes no text and no stash', async () => {
  const team = await openTeam()
  const { validator } = named(false)
  const schema = defineSchema({ columns: { name: 'string' }, validator })
  const { tableId } = await team.createTable({ name: 'x', schema, rows: [] })
  const table = team.table(tableId, schema)
  const stash = team.stash('s')
  await stash.put(0, [{ name: 'a' }])

  for (const rows of [stash, { csv: 'name\na' }, { ndjson: '{"name":"a"}' }]) {
    const refused = { code: 'REQUEST_VALIDATION_ERROR', message: expect.stringMatching(/iterable/) }
    await expect(table.addRows(rows)).rejects.toMatchObject(refused)
    await expect(team.createTable({ name: 'y', schema, rows })).rejects.toMatchObject(refused)
  }
})

test('an idempotency key compares rows as they were before the validator read them', async () => {
  const team = await openTeam()
  const { validator } = named(true)
  const schema = defineSchema({ columns: { name: 'string' }, validator })
  const create = (name: string) =>
    team.createTable({ name: 'x', schema, rows: [{ name }], idempotencyKey: 'k' })
  const first = await create('a ')

  expect((await create('a ')).tableId).toBe(first.tableId)
  await expect(create('a')).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
})
