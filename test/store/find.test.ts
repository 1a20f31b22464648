import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  openMemory,
  type RowWithId,
  type Store,
  type StoreOptions,
  type Table,
  type TableSchema,
  type Where,
  type WhereCell,
} from '../../src/index.js'
import { runOptions } from '../support/fast-check-options.js'
import { type Seeded, seeded } from '../support/seeded.js'
import { runsAll } from '../support/what-runs.js'
import {
  changeRandomly,
  listed,
  randomRow,
  randomSchema,
  randomSearch,
  randomWhere,
} from './find-cases.js'
import { contains, groupsOf, matches } from './find-oracle.js'

const MANUAL = {
  maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0, compactionRecordsMin: 1 },
} as const

async function open(options: StoreOptions = {}): Promise<Store> {
  const store = await openMemory({ ...MANUAL, ...options })
  onTestFinished(() => store.close())
  return store
}

async function tableOf(
  rows: readonly object[],
  schema?: TableSchema,
  options?: StoreOptions,
): Promise<Table> {
  const team = (await open(options)).team('t')
  const { tableId } = await team.createTable({ name: 't', rows, ...(schema && { schema }) })
  return team.table(tableId)
}

async function found(table: Table, where: Where, id: string): Promise<unknown[]> {
  return (await listed(table.find(where))).map((row) => row[id])
}

const text = (json: string) => ({ json: new TextEncoder().encode(json) })

async function checkOne(seed: number): Promise<void> {
  const random = seeded(seed)
  const first = randomSchema(random)
  const ids = first.columns.map(({ id }) => id)
  const store = await openMemory({
    ...MANUAL,
    segmentRowsMax: random.pick([3, 40, 65_536]),
    inlineRowsMax: random.pick([0, 20]),
    compression: random.pick(['none', 'deflate'] as const),
    valueFilters: random.pick([false, true, ids.slice(0, 1 + random.below(ids.length))]),
    pageRowsMax: random.pick([2, 10_000]),
  })
  try {
    const count = random.below(150)
    const rows = Array.from({ length: count }, () => randomRow(random, first))
    const team = store.team('t')
    const made = await team.createTable({
      name: 't',
      schema: first,
      rows: text(`[${rows.join(',')}]`),
    })
    const table = team.table(made.tableId)
    const schema = await changeRandomly(random, store, table, first)
    const all = await listed(table.scan({ numbers: 'text' }))
    expect(await table.count()).toBe(all.length)
    for (let tries = 0; tries < 12; tries++) {
      await checkWhere(random, table, schema, all)
      if (tries % 3 === 0) await checkGroups(random, table, schema, all)
    }
    const asked = [...all.map(({ $rowID }) => $rowID), ...made.rowIds, 'none'].filter(() =>
      random.once(3),
    )
    const byId = new Map(all.map((row) => [row.$rowID, row]))
    const many = await table.getMany(asked, { numbers: 'text' })
    const { damageCount } = await store.verify({ full: true })
    expect(damageCount).toBe(0)
    expect(many.map((result) => result?.row ?? null)).toEqual(
      asked.map((id) => byId.get(id) ?? null),
    )
  } finally {
    await store.close()
  }
}

async function checkGroups(
  random: Seeded,
  table: Table,
  schema: TableSchema,
  all: readonly RowWithId[],
): Promise<void> {
  const where = random.once(2) ? randomWhere(random, schema) : {}
  const some = (isTaken: (kind: string) => boolean, most: number) => {
    const ids = schema.columns.filter(({ type }) => isTaken(type.kind)).map(({ id }) => id)
    return ids.filter(() => random.once(2)).slice(0, most)
  }
  const isOrdered = (kind: string) => ['number', 'date', 'time', 'dateTime'].includes(kind)
  const request = {
    by: some((kind) => kind !== 'array', random.below(4)),
    sum: some((kind) => kind === 'number', 2),
    least: some(isOrdered, 3),
    greatest: some(isOrdered, 3),
  }
  const wanted = all.filter((row) => matches(schema, row, where))
  const limit = 1 + random.below(20)
  const groups = table.groups({ ...request, where, limit, numbers: 'text' })
  const told = JSON.stringify({ request, where })
  const cells = wanted.flatMap((row) => request.sum.map((id) => String(row[id] ?? '')))
  if (cells.some((cell) => /e[+-]?\d{4}/i.test(cell))) {
    await expect(groups, told).rejects.toThrow('has more than 400 digits')
  } else {
    expect(await groups, told).toEqual(groupsOf(schema, wanted, request).slice(0, limit))
  }
}

async function checkWhere(
  random: Seeded,
  table: Table,
  schema: TableSchema,
  all: readonly RowWithId[],
): Promise<void> {
  const where = randomWhere(random, schema)
  const search = random.once(3) ? randomSearch(random) : undefined
  const from = random.once(2) ? random.below(all.length + 2) : 0
  const limit = random.once(2) ? 1 + random.below(20) : Number.MAX_SAFE_INTEGER
  const columns = random.once(2)
    ? schema.columns.map(({ id }) => id).filter(() => random.once(2))
    : undefined
  const cut = (row: RowWithId) => {
    if (columns === undefined) return row
    const kept = Object.entries(row).filter(([id]) => id === '$rowID' || columns.includes(id))
    return Object.fromEntries(kept)
  }
  const isWanted = (row: RowWithId): boolean => {
    return matches(schema, row, where) && (!search || contains(schema, row, search))
  }
  const expected = all.filter(isWanted)
  const told = JSON.stringify([where, search])
  expect(await table.count(where, { search }), told).toBe(expected.length)
  const bounds = { from, limit, ...(columns && { columns }) }
  expect(await listed(table.find(where, { ...bounds, search, numbers: 'text' })), told).toEqual(
    all.slice(from).filter(isWanted).slice(0, limit).map(cut),
  )
  expect(await listed(table.scan({ ...bounds, numbers: 'text' })), told).toEqual(
    all.slice(from, from + limit).map(cut),
  )
}

test('finds what the oracle finds, in random tables with random changes', {
  timeout: 240_000,
}, async () => {
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 31 }), checkOne), runOptions(80))
})

describe('values', () => {
  test('numbers are compared by their value, whatever they were written as', async () => {
    const table = await tableOf([{ n: 34.5 }, { n: 10 }, { n: 9007199254740993n }])

    expect(await found(table, { n: '34.50' }, 'n')).toEqual([34.5])
    expect(await found(table, { n: '3.45e1' }, 'n')).toEqual([34.5])
    expect(await table.count({ n: 9007199254740993n })).toBe(1)
    expect(await table.count({ n: { gt: 9007199254740992n } })).toBe(1)
    expect(await table.count({ n: { gt: '9007199254740992.99999999999999999999' } })).toBe(1)
    expect(await table.count({ n: { gt: '1e-99999999999999999999' } })).toBe(3)
  })

  test('times are compared by their moment', async () => {
    const schema: TableSchema = { columns: [{ id: 'at', type: { kind: 'dateTime' } }] }
    const table = await tableOf([{ at: '2024-03-01T10:00:00+02:00' }, { at: '2024-03-01' }], schema)

    expect(await table.count({ at: '2024-03-01T08:00:00.000Z' })).toBe(1)
    expect(await table.count({ at: { gte: '2024-02-29T23:00:00-01:00' } })).toBe(2)
    expect(await table.count({ at: { lt: '2024-03-01T00:00:00.000001' } })).toBe(1)
  })

  test('text is in the order of code points', async () => {
    const table = await tableOf([{ s: '\uffff' }, { s: '😀' }])

    expect(await found(table, { s: { gt: '\uffff' } }, 's')).toEqual(['😀'])
  })

  test('an empty cell is equal to nothing but null', async () => {
    const table = await tableOf([{ a: 1, b: 1 }, { b: 2 }])

    expect(await found(table, { a: null }, 'b')).toEqual([2])
    expect(await found(table, { a: { isEmpty: false } }, 'b')).toEqual([1])
    expect(await found(table, { a: { ne: 1 } }, 'b')).toEqual([2])
    expect(await found(table, { a: { lt: 5 } }, 'b')).toEqual([1])
    expect(await found(table, { $not: { a: { lt: 5 } } }, 'b')).toEqual([2])
  })

  test('columns whose IDs begin with $ are written with one more', async () => {
    const table = await tableOf([{ $and: 1 }, { $and: 2 }])

    expect(await found(table, { $$and: 2 }, '$and')).toEqual([2])
    await expect(table.count({ $price: 2 })).rejects.toThrow(/needs a second \$ in front/)
  })
})

describe('texts without case', () => {
  test('accents count, unless they are ignored too', async () => {
    const names = ['Müller', 'MÜLLER', 'Mu\u0308ller', 'muller', 'Straße', 'STRASSE']
    const table = await tableOf(names.map((name, n) => ({ name, n })))

    const find = (test: object) => found(table, { name: { ...test, ignoreCase: true } }, 'n')

    expect(await find({ eq: 'müller' })).toEqual([0, 1])
    expect(await find({ contains: 'ÜLL' })).toEqual([0, 1])
    expect(await find({ eq: 'Muller', ignoreAccents: true })).toEqual([0, 1, 2, 3])
    expect(await find({ startsWith: 'mü', ignoreAccents: true })).toEqual([0, 1, 2, 3])
    expect(await find({ in: ['strasse', 'x'] })).toEqual([4, 5])
    expect(await find({ ne: 'strasse' })).toEqual([0, 1, 2, 3])
    expect(await find({ contains: '\u0301', ignoreAccents: true })).toHaveLength(6)
    expect(await table.count(undefined, { search: 'ASS' })).toBe(2)
    expect(await table.count({ n: { lt: 5 } }, { search: 'ASS' })).toBe(1)
    expect(await table.count({}, { search: '' })).toBe(6)
  })

  test('a search ignores accents on request', async () => {
    const table = await tableOf([{ s: 'SØREN Œuf' }, { s: 'soren' }, { s: 'Sören' }])
    const search = { text: 'sórën', ignoreAccents: true }
    expect(await table.count({}, { search })).toBe(3)
    expect(await table.count({}, { search: { ...search, ignoreAccents: false } })).toBe(0)
    expect(await table.count({}, { search: { ...search, text: 'oeu' } })).toBe(1)
    const page = await table.page({ search, limit: 1, orderBy: [{ column: 's' }] })
    const next = { limit: 1, orderBy: [{ column: 's' }], continuation: page.continuation ?? '' }
    await expect(table.page({ ...next, search: search.text })).rejects.toThrow(
      'belongs to a query with another where',
    )
    expect((await table.page({ ...next, search })).rows).toHaveLength(1)
  })

  test('a search is of the columns of text', async () => {
    const table = await tableOf([{ n: 5, tags: ['5'] }, { s: 'x5' }, { at: '2025-01-01' }])

    expect(await found(table, {}, 's')).toHaveLength(3)
    expect((await table.page({ search: '5', columns: ['s'] })).rows).toMatchObject([{ s: 'x5' }])
    expect(await (await tableOf([{ n: 5 }])).count({}, { search: '5' })).toBe(0)
  })

  test.each<[object, number]>([
    [{ eq: 'KEY 1234' }, 1],
    [{ in: ['kEy 1234', 'key 5'] }, 2],
    [{ startsWith: 'kEY 123' }, 11],
    [{ contains: 'EY 123' }, 11],
  ])('are not ruled out by what is known of segments and frames: %j', async (condition, count) => {
    const rows = Array.from({ length: 2_000 }, (_, n) => ({ key: `Key ${n}` }))
    const table = await tableOf(rows, undefined, { valueFilters: true, inlineRowsMax: 0 })

    expect(await table.count({ key: { ...condition, ignoreCase: true } })).toBe(count)
    expect(await table.count({ key: condition as WhereCell })).toBe(0)
  })

  test('texts that are folded grow', async () => {
    const table = await tableOf([
      { s: `a${'ΐ'.repeat(300)}`, n: 1 },
      { s: 'é', n: 2 },
    ])

    expect(
      await found(
        table,
        { s: { contains: '\u0399\u0308\u0301\u0399\u0308\u0301', ignoreCase: true } },
        'n',
      ),
    ).toEqual([1])
    expect(
      await table.count({ s: { eq: `A${'\u0399\u0308\u0301'.repeat(300)}`, ignoreCase: true } }),
    ).toBe(1)
  })
})

describe('conditions that are refused', () => {
  const columns = [
    { id: 'n', type: { kind: 'number' } },
    { id: 's', type: { kind: 'string' } },
    { id: 'd', type: { kind: 'date' } },
    { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
    { id: 'p', type: { kind: 'duration' } },
  ] as const
  const deep = (levels: number): Where => (levels === 0 ? {} : { $not: deep(levels - 1) })

  test.each<[RegExp, unknown]>([
    [/no column "missing"; it has "n", "s", "d", "tags", "p"$/, { missing: 1 }],
    [/no column "Tags"; did you mean "tags"\? It has "n", "s", "d", "tags", "p"$/, { Tags: 1 }],
    [/value for eq of column "n": must be a finite number/, { n: 'x' }],
    [/value for gt of column "n"/, { n: { gt: true } }],
    [/finite number/, { n: Number.NaN }],
    [/value for eq of column "s": must be text, not 5/, { s: 5 }],
    [/must be an array of values/, { s: { in: 'x' } }],
    [/the unknown operator "like" for column "s"/, { s: { like: 'x' } }],
    [/lone surrogate/, { s: '\ud800' }],
    [/must be a date/, { d: { lt: '2024-2-3' } }],
    [/does not support eq: an array column supports only has/, { tags: 'a' }],
    [/does not support has: it is not an array column/, { s: { has: 'a' } }],
    [/does not support gt: durations have no order/, { p: { gt: 'PT1H' } }],
    [/its cells are not text/, { n: { contains: '5' } }],
    [/must be true or false/, { s: { isEmpty: 1 } }],
    [/\$or takes an array/, { $or: {} }],
    [/more than 16 levels/, deep(17)],
    [/at most 1000 are allowed/, { s: { in: Array.from({ length: 1_001 }, String) } }],
    [/more than 2000 conditions/, { $or: Array.from({ length: 2_001 }, () => ({ s: 'x' })) }],
    [/more than 65536 characters/, { s: 'x'.repeat(65_537) }],
    [/must be an object of conditions/, 's'],
    [
      /does not support ignoreCase: its cells are not text/,
      { d: { startsWith: '2', ignoreCase: true } },
    ],
    [
      /does not support ignoreCase: its cells are not text/,
      { tags: { has: 'a', ignoreCase: true } },
    ],
    [/does not support gt: ignoreCase is for eq, ne, in/, { s: { gt: 'a', ignoreCase: true } }],
    [
      /does not support ignoreAccents: it needs ignoreCase/,
      { s: { eq: 'a', ignoreAccents: true } },
    ],
    [
      /value for ignoreCase of column "s": must be true or false/,
      { s: { eq: 'a', ignoreCase: 1 } },
    ],
  ])('%s', async (message, where) => {
    const table = await tableOf([], { columns })

    await expect(table.count(where as Where)).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: expect.stringMatching(message),
    })
  })

  test('members are counted before one is read', async () => {
    const table = await tableOf([], { columns })
    const get = vi.fn(() => 1)
    const many = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, n) => [`m${n}`, { get, enumerable: true }]),
      )
    for (const where of [
      Object.defineProperties({}, many(2_001)),
      { s: Object.defineProperties({}, many(2_001)) },
    ]) {
      await expect(table.count(where as Where)).rejects.toThrow('more than 2000 conditions')
    }
    expect(get).not.toHaveBeenCalled()
  })

  test('the error of a value names column, value and rule', async () => {
    const table = await tableOf([], { columns })

    await expect(table.count({ n: { gte: 'x' } })).rejects.toMatchObject({
      column: 'n',
      value: '"x"',
      rule: 'a finite number, or the text of one',
    })
  })

  test.each<[string, object]>([
    ['from', { from: -1 }],
    ['from', { from: 1.5 }],
    ['limit', { limit: 0 }],
    ['columns', { columns: 'a' }],
    ['search', { search: 5 }],
    ['search', { search: { text: 'x', ignoreCase: true } }],
    ['search', { search: { ignoreAccents: true } }],
    ['search', { search: { text: 'x', ignoreAccents: 1 } }],
    ['search', { search: 'x'.repeat(257) }],
    ['columns', { columns: ['missing'] }],
    ['signal', { signal: 5 }],
    ['were', { were: {} }],
  ])('%s of a scan: %j', async (name, options) => {
    const table = await tableOf([{ a: 1 }])

    await expect(listed(table.scan(options))).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: expect.stringContaining(name),
    })
  })

  test('a column to return that is not there is told with the nearest and with all', async () => {
    const table = await tableOf([{ id: 1, amount: 2 }])

    await expect(listed(table.scan({ columns: ['amont'] }))).rejects.toMatchObject({
      column: 'amont',
      message:
        'columns: the table has no column "amont"; did you mean "amount"? It has "id", "amount"',
    })
    await expect(table.page({ columns: ['total'] })).rejects.toThrow(
      /no column "total"; it has "id", "amount"$/,
    )
  })

  test('a page has a beginning or a continuation', async () => {
    const table = await tableOf([{ a: 1 }, { a: 2 }])
    const { continuation = '' } = await table.page({ limit: 1, where: {} })

    await expect(table.page({ from: 1, continuation })).rejects.toThrow(
      /from cannot be combined with a continuation/,
    )
    await expect(table.getMany(Array.from({ length: 10_001 }, () => ''))).rejects.toThrow(/10000/)
  })
})

describe('segments that cannot have a row that matches', () => {
  const rows = Array.from({ length: 4_000 }, (_, n) => {
    return { n, key: `key ${n}`, at: new Date(86_400_000 * n).toISOString(), note: 'x'.repeat(200) }
  })
  const types = { n: 'number', key: 'string', at: 'dateTime', note: 'string' } as const
  const columns = Object.entries(types).map(([id, kind]) => ({ id, type: { kind } }))

  test.each<[string, Where, number]>([
    ['a number', { n: 1_234 }, 1],
    ['a key', { key: 'key 3210' }, 1],
    ['no key', { key: 'none' }, 0],
    ['one of several', { key: { in: ['key 5', 'key 6'] } }, 2],
    ['a range', { n: { gte: 100, lt: 110 } }, 10],
    ['a range of times', { at: { lt: '1970-01-11T00:00Z' } }, 10],
    ['a beginning', { key: { startsWith: 'key 399' } }, 11],
    ['empty cells', { n: null }, 0],
  ])('%s', async (_, where, count) => {
    const store = await open({ segmentRowsMax: 100, valueFilters: true, compression: 'none' })
    const made = await store.team('t').createTable({ name: 't', schema: { columns }, rows })
    const table = store.team('t').table(made.tableId)
    await table.count(where) // The knowledge about the segments is cached then.
    const before = store.activity()

    expect(await table.count(where)).toBe(count)
    const { segmentBytesRead, segmentsSkipped } = store.activity()
    expect(segmentBytesRead - before.segmentBytesRead).toBeLessThan(250_000) // of more than a million
    expect(segmentsSkipped - before.segmentsSkipped).toBeGreaterThan(30) // of 40
  })

  test('numbers in a column that became text are found as text', async () => {
    const store = await open({ segmentRowsMax: 100, inlineRowsMax: 0, valueFilters: true })
    const made = await store.team('t').createTable({ name: 't', rows: [{ n: 5 }, { n: 34.5 }] })
    const table = store.team('t').table(made.tableId)
    await table.addRows([{ n: 'text' }], { onSchemaError: 'updateSchema' })

    expect(await found(table, { n: '34.5' }, 'n')).toEqual(['34.5'])
    expect(await found(table, { n: 'text' }, 'n')).toEqual(['text'])
  })

  test('only columns that are named have them, and of the others empty cells are known', async () => {
    const store = await open({ segmentRowsMax: 100, valueFilters: ['key'], compression: 'none' })
    const made = await store
      .team('t')
      .createTable({ name: 't', schema: { columns }, rows: text(JSON.stringify(rows)) })
    const table = store.team('t').table(made.tableId)
    const skipped = async (where: Where): Promise<readonly number[]> => {
      const before = store.activity().segmentsSkipped
      const count = await table.count(where)
      return [count, store.activity().segmentsSkipped - before]
    }

    expect(await skipped({ key: 'key 3210' })).toEqual([1, 39])
    expect(await skipped({ n: 3_210 })).toEqual([1, 0])
    expect(await skipped({ n: { lt: 0 } })).toEqual([0, 0])
    expect(await skipped({ n: null })).toEqual([0, 40])
    expect((await store.verify({ full: true })).ok).toBe(true)
  })

  test.each([
    [[], 'must be true, false or 1 to 32 IDs of columns, not 0 of them'],
    [Array(33).fill('a'), 'must be true, false or 1 to 32 IDs of columns, not 33 of them'],
    [['a', ''], 'must be IDs of columns, not ""'],
    [[7], 'must be IDs of columns, not 7'],
    ['key', 'must be true or false, not "key"'],
  ])('the option %j is refused', async (valueFilters, problem) => {
    const given = { valueFilters } as unknown as StoreOptions
    await expect(open(given)).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
    await expect(open(given)).rejects.toThrow(problem)
  })

  test('row records over them are found', async () => {
    const store = await open({ segmentRowsMax: 100, valueFilters: true })
    const made = await store.team('t').createTable({ name: 't', schema: { columns }, rows })
    const table = store.team('t').table(made.tableId)
    await table.updateRow(made.rowIds.get(7), { key: 'changed' })

    expect(await found(table, { key: 'changed' }, 'n')).toEqual([7])
    expect(await found(table, { key: 'key 7' }, 'n')).toEqual([])
  })
})

test('an overwrite does not disturb a search that began before', async () => {
  const table = await tableOf(Array.from({ length: 3_000 }, (_, n) => ({ n })))
  const rows = table.find({ n: { gte: 1_000 } })

  expect((await rows.next()).value).toMatchObject({ n: 1_000 })
  await table.overwrite({ rows: [] })
  expect(await listed(rows)).toHaveLength(1_999)
  expect(await table.count({ n: { gte: 0 } })).toBe(0)
})

test('the last row that a page looks at is found, whatever lies over the rows behind it', async () => {
  const count = 4 * 65_536 + 20
  const store = await open({ compression: 'none' })
  const json = JSON.stringify(Array.from({ length: count }, (_, n) => ({ n })))
  const made = await store.team('t').createTable({ name: 't', rows: text(json) })
  const table = store.team('t').table(made.tableId)
  for (const row of [count - 1, count - 2, count - 3]) {
    await table.updateRow(made.rowIds.get(row), { n: row })
  }

  expect(await table.count({ n: { gte: 0 } })).toBe(count)
})

test('a row that does not fit into a page is on the next one', async () => {
  const s = 'x'.repeat(700_000)
  const table = await tableOf([{ s }, { s }, { s }])

  expect(await listed(table.find({ s: { contains: 'xx' } }))).toHaveLength(3)
})

test('a signal ends a search', async () => {
  const table = await tableOf(Array.from({ length: 3_000 }, (_, n) => ({ n })))
  const controller = new AbortController()
  const { signal } = controller
  const rows = table.find({ n: { gte: 0 } }, { signal })
  await rows.next()
  controller.abort()

  await expect(listed(rows)).rejects.toMatchObject({ code: 'ABORTED' })
  await expect(table.count({ n: 1 }, { signal })).rejects.toMatchObject({ code: 'ABORTED' })
})

test('preserved row IDs are found rows too', async () => {
  const table = await tableOf(Array.from({ length: 10 }, (_, n) => ({ n })))
  const before = await listed(table.scan())
  await table.overwrite({ rows: before.filter(({ n }) => Number(n) % 2 === 1) })

  expect(await listed(table.find({ n: { gt: 4 } }))).toEqual(
    before.filter(({ n }) => Number(n) % 2 === 1 && Number(n) > 4),
  )
  const ids = before.map(({ $rowID }) => $rowID).reverse()
  const many = await table.getMany(ids)
  expect(many.map((result) => result?.row['n'] ?? null)).toEqual([
    9,
    null,
    7,
    null,
    5,
    null,
    3,
    null,
    1,
    null,
  ])
})

describe('a condition of many tests', () => {
  /** Matches only the last row. Each test uses two columns, so that all tests differ. */
  const where: Where = {
    $or: Array.from({ length: 661 }, (_, n): Where => ({ a: n - 660, b: 660 - n })),
  }
  const count = 20_000
  const csv = `a,b\n${'0,5\n'.repeat(count - 1)}0,0\n`
  const tableOfMany = async (): Promise<Table> => {
    const team = (await open()).team('t')
    const { tableId } = await team.createTable({ name: 't', rows: { csv: Buffer.from(csv) } })
    return team.table(tableId)
  }

  test('ends a page early, with a continuation', async () => {
    const table = await tableOfMany()
    const first = await table.page({ where })
    expect(first.rows).toEqual([])
    const { continuation } = first
    if (continuation === undefined) throw new Error('The page has no continuation')
    const second = await table.page({ where, continuation })
    expect(second).toMatchObject({ rows: [{ a: 0, b: 0 }] })
    expect(second.continuation).toBeUndefined()
    if (runsAll) expect(await table.count(where)).toBe(1)
  })

  test('lets others run between the rows of a page', async () => {
    const table = await tableOfMany()
    let turns = 0
    let isOver = false
    const turn = (): void => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    await table.page({ where, limit: 1 })
    isOver = true
    expect(turns).toBeGreaterThan(100)
  })
})
