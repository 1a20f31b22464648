// Goal: a table with a key never has two rows with the same key, whatever is done to it and by how many at once, and a
// row is found by its key without a scan.
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { KEY_SPACE } from '../../src/format/keys.js'
import {
  isStoreError,
  memoryObjects,
  openLevelKv,
  openStore,
  type RowsInput,
  type RowWithId,
  type SchemaInput,
  type Stash,
  type Store,
  type StoreError,
  type StoreOptions,
  type Table,
  type Team,
} from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'
import { all } from '../support/rich-database.js'
import { randomTestSeed } from '../support/seed-record.js'
import { seeded } from '../support/seeded.js'
import { runsAll } from '../support/what-runs.js'
import { EngineWorld, turns } from './engine-world.js'
import { Hooks, hookedKv, hookedObjects } from './hooked-ports.js'

const NOT_UNIQUE = { code: 'KEY_NOT_UNIQUE' }
const INVALID = { code: 'REQUEST_VALIDATION_ERROR' }

function noColumn(id: string): string {
  return `Column '${id}' cannot be part of the table's key: the table would have no column '${id}'`
}

const SCHEMA = {
  columns: [
    { id: 'email', type: { kind: 'string' } },
    { id: 'n', type: { kind: 'number' } },
  ],
} as const

async function openKeys(options: StoreOptions = {}) {
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const objects = memoryObjects()
  const quiet = {
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0, jobIntervalMs: 0 },
    orphanGraceMs: 0,
  }
  const store = await openStore({ kv, objects, ...quiet, ...options })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const make = async (rows: object[], key = ['email']) => {
    const { tableId, rowIds } = await team.createTable({ name: 'k', schema: SCHEMA, rows, key })
    return { table: team.table(tableId), ids: [...rowIds] }
  }
  return { store, team, make, partition: kv.partition('t') }
}

async function rowsOf(table: Table): Promise<Omit<RowWithId, '$rowID'>[]> {
  const rows: Omit<RowWithId, '$rowID'>[] = []
  for await (const { $rowID: _, ...row } of table.scan()) rows.push(row)
  return rows
}

async function expectSound(store: Store): Promise<void> {
  const { findings } = await store.verify({ full: true })
  expect(findings.filter(({ kind }) => kind !== 'orphan-object')).toEqual([])
}

function numbered(first: number, count: number): { email: string; n: number }[] {
  return Array.from({ length: count }, (_, i) => ({ email: `e${first + i}`, n: first + i }))
}

const byEmail = async (table: Table, email: string) => (await table.get({ email }))?.row ?? null

describe('a key', () => {
  test('refuses a second row with it, names both rows, and changes nothing', async () => {
    const { make, store } = await openKeys()
    const { table, ids } = await make([{ email: 'a' }, { email: 'b' }])
    const failure = await table.addRows([{ email: 'c' }, { email: '\u0062' }]).catch((why) => why)

    expect(failure).toMatchObject({ ...NOT_UNIQUE, column: 'email', row: 1, value: '"b"' })
    expect(failure.message).toContain(`row '${ids[1]}'`)
    expect(failure.message).toContain('row 1 (counted from 0) of the input')
    await expect(table.addRows([{ email: 'd' }, { email: 'd' }])).rejects.toMatchObject(NOT_UNIQUE)
    await expect(table.updateRow(ids[0] ?? '', { email: 'b' })).rejects.toMatchObject(NOT_UNIQUE)
    expect(await table.version()).toBe(1)
    expect((await table.info()).key).toEqual(['email'])
    await expectSound(store)
  })

  test('compares values, of all its columns, and no rows with an empty cell', async () => {
    const { make } = await openKeys()
    const { table } = await make([{ email: 'a', n: 34.5 }], ['n', 'email'])
    await table.addRows([{ email: 'a', n: 34.6 }, { email: 'a' }, { email: 'a' }, { n: 34.5 }])

    await expect(table.addRows({ json: '[{"email":"a","n":3.450e1}]' })).rejects.toMatchObject(
      NOT_UNIQUE,
    )
    expect((await table.get({ n: 34.6, email: 'a' }))?.row).toMatchObject({ n: 34.6 })
    await expect(table.get({ email: 'a' })).rejects.toMatchObject(INVALID)
    await expect(table.get({ n: '34.6', email: 'a' })).rejects.toMatchObject(INVALID)
  })

  test('is free again when its row is deleted or changed, and can change hands in one call', async () => {
    const { make, store } = await openKeys()
    const { table, ids } = await make([{ email: 'a' }, { email: 'b' }, { email: 'c' }])
    const [a = '', b = '', c = ''] = ids
    await table.deleteRow(c)
    await table.addRows([{ email: 'c', n: 1 }])
    await table.updateRows([
      { rowId: a, cells: { email: 'b' } },
      { rowId: b, cells: { email: 'a' } },
    ])

    expect((await byEmail(table, 'b'))?.$rowID).toBe(a)
    expect((await byEmail(table, 'a'))?.$rowID).toBe(b)
    expect(await byEmail(table, 'c')).toMatchObject({ n: 1 })
    await table.updateRow(a, { email: 'z' })
    expect(await byEmail(table, 'b')).toBe(null)
    await table.addRows([{ email: 'b' }])
    await table.updateRow(a, { email: null })
    await table.addRows([{ email: 'z' }])
    await expectSound(store)
  })

  test.each([
    ['texts', 1_000],
    ['segments', 10],
  ])(
    'is kept by overwrites, compactions and garbage collection, with rows in %s',
    async (_, inlineRowsMax) => {
      const { make, store, partition } = await openKeys({ inlineRowsMax, overwrittenRowsTtlMs: 0 })
      const { table } = await make(numbered(0, 60))
      await table.addRows(numbered(100, 60))
      await table.overwrite({ rows: numbered(50, 60) })
      await store.maintain()

      await expect(table.addRows(numbered(100, 20))).rejects.toMatchObject(NOT_UNIQUE)
      await table.addRows(numbered(0, 50))
      await expect(
        table.overwrite({ rows: [{ email: 'x' }, { email: 'x' }] }),
      ).rejects.toMatchObject(NOT_UNIQUE)
      expect(await byEmail(table, 'e109')).toMatchObject({ n: 109 })
      expect(await byEmail(table, 'e110')).toBe(null)
      await expectSound(store)
      await table.delete()
      await store.maintain()
      expect(await all(partition, KEY_SPACE.keyEntry)).toEqual([])
      expect(await all(partition, KEY_SPACE.keyIndex)).toEqual([])
    },
  )

  test('is kept for runs of many rows: against each other, entries and rows that are gone', async () => {
    const { make, store } = await openKeys()
    const { table, ids } = await make(numbered(0, 3_000))
    await table.addRows(numbered(3_000, 1_500))
    await table.addRows(numbered(4_500, 5))
    await table.deleteRow(ids[7] ?? '')
    for (const wrong of [
      numbered(2_999, 2_000),
      numbered(4_499, 1),
      [...numbered(5_000, 2_000), ...numbered(4_502, 1)],
      [...numbered(5_000, 2_000), ...numbered(6_000, 1)],
    ]) {
      await expect(table.addRows(wrong)).rejects.toMatchObject(NOT_UNIQUE)
    }
    await table.addRows([...numbered(7, 1), ...numbered(10_000, 6_000)])

    expect((await table.info()).rowCount).toBe(10_505)
    for (const n of [0, 2_999, 3_001, 4_504, 7, 15_999]) {
      expect(await byEmail(table, `e${n}`)).toMatchObject({ n })
    }
    expect(await byEmail(table, 'e16000')).toBe(null)
    await expectSound(store)
  })

  test('is given to rows that are there, changed, and taken away', async () => {
    const { team, store, partition } = await openKeys()
    const { tableId, rowIds } = await team.createTable({ name: 'k', rows: numbered(0, 2_000) })
    const table = team.table(tableId)
    await table.addRows([{ email: 'e5', n: 5_000 }])
    const failure = await table.alter({ key: ['email'] }).catch((why) => why)
    expect(failure).toMatchObject(NOT_UNIQUE)
    expect(failure.message).toContain(`row '${rowIds.at(5)}'`)
    await table.alter({ key: ['n'] })
    expect(await table.alter({ key: ['n'] })).toEqual({ version: 3 })
    await table.updateRow(rowIds.at(5) ?? '', { email: 'five' })
    await table.alter({ key: ['email'] })

    await table.addRows([{ email: 'other', n: 5 }])
    await expect(table.addRows([{ email: 'five' }])).rejects.toMatchObject(NOT_UNIQUE)
    await store.maintain()
    await expectSound(store)
    await table.alter({ key: null })
    await table.addRows([{ email: 'five' }])
    expect('key' in (await table.info())).toBe(false)
    await expect(table.get({ email: 'five' })).rejects.toMatchObject(INVALID)
    await store.maintain()
    expect(await all(partition, KEY_SPACE.keyIndex)).toEqual([])
  })

  test('leads to the row as it is now, however often it was asked for', async () => {
    const { make, team } = await openKeys({ inlineRowsMax: 0 })
    const { table, ids } = await make(numbered(0, 20))
    const [first = '', second = ''] = ids
    const ask = async () => {
      for (let times = 0; times < 4; times++) await byEmail(table, 'e0')
      return byEmail(table, 'e0')
    }
    expect(await ask()).toMatchObject({ $rowID: first, n: 0 })
    await table.updateRow(first, { n: 100 })
    expect(await ask()).toMatchObject({ $rowID: first, n: 100 })
    await table.updateRows([
      { rowId: first, cells: { email: 'other' } },
      { rowId: second, cells: { email: 'e0' } },
    ])
    expect(await ask()).toMatchObject({ $rowID: second, n: 1 })
    await team.transaction(async (open) => {
      await open.table(table.id).deleteRow(second)
      expect(await open.table(table.id).get({ email: 'e0' })).toBe(null)
    })
    expect(await ask()).toBe(null)
  })

  test('is not what a change of a row takes, which says how to get the row ID', async () => {
    const { make } = await openKeys()
    const { table } = await make([{ email: 'a', n: 1 }], ['email'])
    const key = { email: 'a' } as unknown as string
    for (const change of [table.updateRow(key, { n: 2 }), table.deleteRow(key)]) {
      const message = expect.stringContaining('(await table.get(key))?.row.$rowID')
      await expect(change).rejects.toMatchObject({ ...INVALID, message })
    }
    expect(await table.version()).toBe(1)
  })

  test('keeps its columns: they are not dropped, missing, arrays or other texts', async () => {
    const { make, team } = await openKeys()
    const { table } = await make([{ email: 'a', n: 1 }], ['n'])
    const text = { columns: [{ id: 'email', type: { kind: 'string' } }] } as const

    await expect(table.alter({ schema: text, drop: ['n'] })).rejects.toMatchObject({
      ...INVALID,
      message: `${noColumn('n')}; it has "email". Change the key first, with alter({ key })`,
    })
    await expect(table.overwrite({ schema: text, rows: [] })).rejects.toMatchObject(INVALID)
    await expect(table.addRows([{ n: 'x' }], { onSchemaError: 'updateSchema' })).rejects.toThrow(
      "column 'n' would change from number to string. Change the key first",
    )
    const missing = {
      ...INVALID,
      message: expect.stringMatching(/no column 'm'; it has "email"(?:, "n")?$/),
      column: 'm',
    }
    await expect(table.alter({ key: ['m'] })).rejects.toMatchObject(missing)
    const create = { name: 'c', schema: text, rows: [], key: ['m'] }
    await expect(team.createTable(create)).rejects.toMatchObject(missing)
    await expect(team.preflight(create)).rejects.toMatchObject(missing)
    await expect(table.alter({ key: ['emial'] })).rejects.toThrow(
      `${noColumn('emial')}; did you mean "email"? It has "email", "n"`,
    )
    await expect(table.alter({ key: ['n'], name: 'x' })).rejects.toMatchObject(INVALID)
    await expect(table.alter({ key: ['n', 'n'] })).rejects.toMatchObject(INVALID)
    const lists = { name: 'l', rows: [{ tags: [1, 2] }], key: ['tags'] }
    await expect(team.createTable(lists)).rejects.toThrow("column 'tags' has arrays")
    await table.addRows([{ email: 5, n: 2 }], { onSchemaError: 'updateSchema' })
    expect(await table.version()).toBe(2)
  })

  test('allows merges by this key, and refuses merges by another', async () => {
    const { make, store } = await openKeys()
    const { table } = await make(numbered(0, 2_000))
    await expect(table.merge({ rows: [{ n: 1 }], key: ['n'] })).rejects.toMatchObject(INVALID)
    const rows = [...numbered(1_500, 1_000), { email: 'e3', n: 4 }]
    const merged = await table.merge({ rows, key: ['email'], missing: 'delete' })

    expect(merged).toMatchObject({ added: 500, changed: 1, unchanged: 500, removed: 1_499 })
    expect(await byEmail(table, 'e0')).toBe(null)
    expect(await byEmail(table, 'e3')).toMatchObject({ n: 4 })
    expect(await byEmail(table, 'e2499')).toMatchObject({ n: 2_499 })
    await expect(table.addRows(numbered(2_400, 1))).rejects.toMatchObject(NOT_UNIQUE)
    await table.addRows(numbered(0, 3))
    await expectSound(store)
  })

  test('holds within transactions', async () => {
    const { make, team, store } = await openKeys()
    const { table, ids } = await make([{ email: 'a' }])
    await team.transaction(async (open) => {
      const inside = open.table(table.id)
      await inside.addRows([{ email: 'b', n: 1 }])
      await expect(inside.addRows([{ email: 'b' }])).rejects.toMatchObject(NOT_UNIQUE)
      await inside.deleteRow(ids[0] ?? '')
      await inside.addRows([{ email: 'a', n: 2 }, ...numbered(0, 2_000)])
      expect((await inside.get({ email: 'a' }))?.row).toMatchObject({ n: 2 })
    })

    expect(await byEmail(table, 'b')).toMatchObject({ n: 1 })
    expect(await byEmail(table, 'e1999')).toMatchObject({ n: 1_999 })
    const [a = '', b = ''] = (await table.page({ limit: 2 })).rows.map(({ $rowID }) => $rowID)
    const swap = [
      { rowId: a, cells: { email: 'a' } },
      { rowId: b, cells: { email: 'b' } },
    ]
    await team.transaction(async (open) => {
      const inside = open.table(table.id)
      await expect(inside.updateRow(a, { email: 'a' })).rejects.toMatchObject(NOT_UNIQUE)
      await inside.updateRows(swap)
    })
    expect((await table.get(a))?.row['email']).toBe('a')
    await expectSound(store)
  })
})

/** The error with which a call fails. */
async function failureOf(call: () => Promise<unknown>): Promise<object | null> {
  try {
    await call()
    return null
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    const { code, message, row, column, value } = failure
    return { code, message, row, column, value }
  }
}

describe('a preflight of a table with a key', () => {
  const KEYS = { rows: 1, problemCount: 0 }

  test('of an add compares the rows with each other and with those of the table', async () => {
    const { table, ids } = await (await openKeys()).make([{ email: 'a', n: 1 }])
    const add = (rows: RowsInput) => table.preflight({ rows, operation: 'add' })

    expect(await add([{ email: 'b' }])).toMatchObject(KEYS)
    expect(await add([{ n: 1 }])).toMatchObject(KEYS)
    await expect(add({ csv: 'email,n\nb,1\na,2\n' })).rejects.toMatchObject({
      ...NOT_UNIQUE,
      row: 1,
      column: 'email',
      value: '"a"',
      message: `The key ('email' "a") would be shared by row '${ids[0]}' and row 1 (counted from 0), line 3 of the input: change or delete one of them`,
      line: 3,
    })
    expect(await table.version()).toBe(1)
  })

  test.each([
    ['lines that follow each other', 'email,n\nb,1\nc,2\nb,3\n', {}, [2, 4]],
    ['a line that is left out', '# x\nemail,n\nb,1\n# y\nb,3\n', { comment: '#' }, [3, 5]],
    ['a cell of two lines', 'email,n\n"c\nd",0\nb,1\nb,3\n', { blankLines: 'skip' }, [4, 5]],
    ['a cell of two lines, of which nothing is said', 'email,n\n"c\nd",0\nb,1\nb,3\n', {}, []],
  ] as const)('of CSV names the lines of two rows: %s', async (_, csv, said, lines) => {
    const { team, make } = await openKeys()
    const { table } = await make([{ email: 'a', n: 1 }])
    const [one, other] = lines
    const input = () => ({ csv, ...said }) as RowsInput
    const ways = [
      () => table.addRows(input()),
      () => table.overwrite({ rows: input() }),
      () => table.merge({ rows: input(), key: ['email'] }),
      () => table.preflight({ rows: input(), operation: 'add' }),
      () => team.createTable({ name: 'new', rows: input(), key: ['email'] }),
    ]
    const [first, second] = lines.map((line) => `(counted from 0), line ${line}`)
    const pattern =
      one === undefined
        ? /^(?!.*line)/s
        : new RegExp(`${first}.*${second}`.replace(/[()]/g, '\\$&'))
    for (const way of ways) {
      const failure: unknown = await way().catch((reason) => reason)
      expect(failure).toMatchObject({ ...NOT_UNIQUE, message: expect.stringMatching(pattern) })
      expect((failure as StoreError).line).toBe(other)
    }
  })

  test('of an overwrite compares the rows with each other alone', async () => {
    const { table } = await (await openKeys()).make([{ email: 'a', n: 1 }])

    expect(await table.preflight({ rows: [{ email: 'a' }] })).toMatchObject(KEYS)
    const rows = [{ email: 'b' }, {}, { email: 'b' }]
    await expect(table.preflight({ rows })).rejects.toMatchObject({ ...NOT_UNIQUE, row: 2 })
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const
    await expect(table.preflight({ rows: [], schema })).rejects.toMatchObject(INVALID)
  })

  test('of a create compares them, by inferred types too, and of a stash', async () => {
    const { team } = await openKeys()
    const key = ['n']
    const create = (rows: RowsInput | Stash, schema?: SchemaInput) => {
      return { name: 'k', rows, key, ...(schema && { schema }) }
    }
    const twice = { csv: 'n,x\n34.5,a\n7,b\n34.50,c\n' }
    await team.stash('s').put('0', { csv: 'n\n1\n2\n' })
    await team.stash('s').put('1', { csv: 'n\n3\n1.0\n' })
    for (const rows of [twice, team.stash('s')]) {
      await expect(team.preflight(create(rows))).rejects.toMatchObject(NOT_UNIQUE)
    }
    const texts = { columns: ['n', 'x'].map((id) => ({ id, type: 'string' })) } as SchemaInput
    expect(await team.preflight(create(twice, texts))).toMatchObject({ rows: 3, problemCount: 0 })
    await expect(team.preflight(create([{ other: 1 }]))).rejects.toMatchObject(INVALID)
    // In stored form: TRUE in CSV is text until its column is known to be boolean.
    await expect(team.preflight(create({ csv: 'n\nTRUE\ntrue\n' }))).rejects.toMatchObject(
      NOT_UNIQUE,
    )
  })

  test('lists values that do not fit first, and does not count a cell that is dropped', async () => {
    const { team } = await openKeys()
    const columns = [{ id: 'n', type: 'number' }] as const
    const rows = { csv: 'n\nx\nx\n1\n1\n' }
    const create = { name: 'k', schema: { columns }, key: ['n'] }

    expect(await team.preflight({ ...create, rows })).toMatchObject({ problemCount: 2 })
    const dropping = { ...create, onSchemaError: 'dropColumns' } as const
    await expect(team.preflight({ ...dropping, rows })).rejects.toMatchObject({ row: 3 })
    const once = { csv: 'n\nx\nx\n1\n' }
    expect(await team.preflight({ ...dropping, rows: once })).toMatchObject({ problemCount: 2 })
  })

  test('of an add gives up if the column of the key has become one of texts meanwhile', async () => {
    const { team, make } = await openKeys()
    const { table } = await make([{ n: 1 }], ['n'])
    const other = team.table(table.id)
    async function* rows() {
      await other.alter({ key: null })
      await other.addRows([{ n: 'x' }], { onSchemaError: 'updateSchema' })
      await other.alter({ key: ['n'] })
      yield { n: 1 }
    }
    // A row had its key when the check began, so a report must not call the input free of conflicts.
    const check = table.preflight({ rows: rows(), operation: 'add' })
    await expect(check).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    const csv = table.preflight({ rows: { csv: 'n\n1\n' }, operation: 'add' })
    await expect(csv).rejects.toMatchObject(NOT_UNIQUE)
  })

  test('refuses what an add cannot have', async () => {
    const { table } = await (await openKeys()).make([])
    const rows: RowsInput = []
    const wrong = [{ ifMatch: 1 }, { schema: SCHEMA }, { operation: 'merge' as 'add' }]
    for (const more of wrong) {
      const request = { rows, operation: 'add', ...more } as const
      await expect(table.preflight(request)).rejects.toMatchObject(INVALID)
    }
  })

  test.each(['inline', 'segments', 'runs'])('fails as the operation does, %s', async (kind) => {
    const seed = randomTestSeed()
    const random = seeded(seed)
    const size = kind === 'runs' ? 1_100 : 12
    const { team, make } = await openKeys({ inlineRowsMax: kind === 'inline' ? 1_000 : 0 })
    const refused = { add: 0, overwrite: 0, create: 0, merge: 0 }
    for (let run = 0; run < (kind === 'runs' ? 6 : runsAll ? 40 : 10); run++) {
      const key = random.pick([['email'], ['n'], ['n', 'email']])
      const first = numbered(0, size)
      const { table } = await make(first, key)
      const from = random.pick([size - 1, size, size])
      const rows = numbered(from, random.pick([1, 3, size]))
      if (run === 0 || random.once(2))
        rows.splice(random.below(rows.length), 0, { ...(rows[0] ?? { email: '', n: 0 }) })
      if (random.once(4))
        await table.updateRow((await table.page()).rows.at(-1)?.$rowID ?? '', {
          email: 'x',
          n: -1,
        })
      const lines = rows.map(({ email, n }) => `${email},${n}.0\n`).join('')
      let given: RowsInput | Stash = random.pick([
        rows,
        { csv: `email,n\n${lines}` },
        { json: JSON.stringify(rows) },
      ])
      if (random.once(3)) {
        await team.stash(`s${run}`).put('0', given)
        given = team.stash(`s${run}`)
      }
      const calls = {
        create: [
          () => team.preflight({ name: 'c', schema: SCHEMA, rows: given, key }),
          () => team.createTable({ name: 'c', schema: SCHEMA, rows: given, key }),
        ],
        merge: [
          () => table.merge({ rows: given, key, dryRun: true }),
          () => table.merge({ rows: given, key }),
        ],
        add: [() => table.preflight({ rows: given, operation: 'add' }), () => table.addRows(given)],
        overwrite: [() => table.preflight({ rows: given }), () => table.overwrite({ rows: given })],
      } as const
      for (const name of [
        random.pick(['create', 'merge', 'add', 'add'] as const),
        'overwrite',
      ] as const) {
        const [checked, done] = [await failureOf(calls[name][0]), await failureOf(calls[name][1])]
        expect(checked, `${name}, seed ${seed}, run ${run}`).toEqual(done)
        if (done !== null) refused[name]++
      }
    }
    expect(refused.add + refused.overwrite).toBeGreaterThan(0)
  })
})

describe('verification of a key', () => {
  const damaged = async (count: number) => {
    const { make, store, partition } = await openKeys()
    await make(numbered(0, count))
    return { store, partition }
  }
  const kindsOf = async (store: Store) => {
    return (await store.verify()).findings.map(({ kind }) => kind)
  }

  test.each([
    ['an entry', 5, KEY_SPACE.keyEntry, 33],
    ['a bucket', 3_000, KEY_SPACE.keyIndex, 33],
  ])('finds that %s is missing', async (_, count, space, length) => {
    const { store, partition } = await damaged(count)
    const [lost] = (await all(partition, space)).find(([key]) => key.length >= length) ?? []
    await partition.commit({ deletes: lost === undefined ? [] : [lost] })

    expect(lost).toBeDefined()
    expect(await kindsOf(store)).toEqual(['record-missing'])
  })

  test('finds two rows with one key', async () => {
    const { store, partition } = await damaged(5)
    const [one, other] = await all(partition, KEY_SPACE.row)
    if (one === undefined || other === undefined) throw new Error('The rows are no records')
    await partition.commit({ puts: [[other[0], one[1]]] })

    expect(await kindsOf(store)).toEqual(['record-mismatch', 'record-missing'])
  })

  test('finds that the index is missing', async () => {
    const { store, partition } = await damaged(5)
    const index = (await all(partition, KEY_SPACE.keyIndex)).map(([key]) => key)
    await partition.commit({ deletes: index })

    expect(index).toHaveLength(1)
    expect((await store.verify()).findings).toHaveLength(1)
  })
})

describe('a key in races', () => {
  test('goes to one of many adds, in one process', async () => {
    const { make, store } = await openKeys()
    const { table } = await make([])
    const adds = Array.from({ length: 40 }, (_, i) =>
      table.addRows([{ email: `k${i % 10}`, n: i }]),
    )
    const ended = await Promise.allSettled([...adds, table.addRows(numbered(0, 1_500))])
    const refused = ended.filter(({ status }) => status === 'rejected')

    expect(refused).toHaveLength(30)
    for (const one of refused) expect(one).toMatchObject({ reason: NOT_UNIQUE })
    expect((await table.info()).rowCount).toBe(1_510)
    await expectSound(store)
  })
})

/** @param beforeRead - Called before each read of the first store. */
async function openTwo(
  beforeRead: () => Promise<void> = async () => undefined,
): Promise<readonly [Store, Store]> {
  const level = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const kv = await openLevelKv(level)
  const objects = memoryObjects()
  const open = async (onRead: () => Promise<void>): Promise<Store> => {
    const hooked = hookedKv(kv, new Hooks(), true)
    const partition: KvStore['partition'] = (name) => {
      const { read, ...others } = hooked.partition(name)
      return { ...others, read: async (use) => onRead().then(() => read(use)) }
    }
    const store = await openStore({
      kv: { ...hooked, partition },
      objects: hookedObjects(objects, new Hooks()),
      maintenance: false,
    })
    onTestFinished(() => store.close())
    return store
  }
  return [await open(beforeRead), await open(async () => undefined)]
}

describe('a key in two processes', () => {
  test('is given to a table that another process overwrites meanwhile', async () => {
    let readsLeft = 0
    let met = 0
    const [one, other] = await openTwo(async () => {
      if (readsLeft-- !== 1) return
      met++
      await same.overwrite({ rows: numbered(met, 3) })
    })
    const { tableId } = await one.team('t').createTable({ name: 'k', schema: SCHEMA, rows: [] })
    const table = one.team('t').table(tableId)
    const same = other.team('t').table(tableId)
    for (let at = 1; at <= met + 1; at++) {
      await same.alter({ key: null })
      readsLeft = at
      await table.alter({ key: ['email'] })
      expect((await same.info()).key).toEqual(['email'])
    }
    expect(met).toBeGreaterThan(2)
    await expectSound(other)
  })

  test('is given although two rows had it at some of the reads', async () => {
    let reads = Number.POSITIVE_INFINITY
    let met = 0
    const [one, other] = await openTwo(async () => {
      reads--
      if (reads === 0) met++
      const isTwin = reads === 0 || reads === -3 // the second time for a caller that has looked again
      if (isTwin || reads === -1 || reads === -4) {
        await same.updateRow(ids.get(0), { email: isTwin ? 'e1' : 'e0' })
      }
    })
    const rows = numbered(0, 2)
    const made = await one.team('t').createTable({ name: 'k', schema: SCHEMA, rows })
    const ids = made.rowIds
    const table = one.team('t').table(made.tableId)
    const same = other.team('t').table(made.tableId)
    for (let at = 1; at <= met + 1; at++) {
      await same.alter({ key: null })
      reads = at
      await table.alter({ key: ['email'] })
      reads = Number.POSITIVE_INFINITY
      expect((await same.info()).key).toEqual(['email'])
    }
    expect(met).toBeGreaterThan(2)
    await expectSound(other)
  })

  test.each([false, true])(
    'is changed and collected beside a merge, dry run %j',
    async (dryRun) => {
      const outcomes: unknown[] = []
      for (let at = 1, isMet = true; isMet; at++) {
        let readsLeft = 0
        isMet = false
        const [one, other] = await openTwo(async () => {
          if (readsLeft-- !== 1) return
          isMet = true
          await same.alter({ key: ['n'] })
          await other.maintain()
        })
        const { tableId } = await one.team('t').createTable({
          ...{ name: 'k', schema: SCHEMA, rows: numbered(0, 3), key: ['email'] },
        })
        const same = other.team('t').table(tableId)
        readsLeft = at
        const merge = { rows: [{ email: 'e0', n: 9 }], key: ['email'], dryRun }
        const failure = await failureOf(() => one.team('t').table(tableId).merge(merge))
        if (isMet) outcomes.push(failure)
      }

      const refused = { ...INVALID, message: expect.stringMatching(/key of the table: n$/) }
      expect(outcomes).toContainEqual(expect.objectContaining(refused))
      for (const failure of outcomes) if (failure !== null) expect(failure).toMatchObject(refused)
    },
  )

  test('goes to one of the adds, and never to both, also while it is given', async () => {
    const [one, other] = await openTwo()
    const made = await one.team('t').createTable({ name: 'k', schema: SCHEMA, rows: [] })
    const tables = [one, other].map((store) => store.team('t').table(made.tableId))
    const addAll = (first: number) =>
      tables.flatMap((table) => [
        ...Array.from({ length: 5 }, (_, i) => table.addRows(numbered(first + i, 1))),
        table.addRows(numbered(first + 5, 1_100)),
      ])
    const given = tables.map((table) => table.alter({ key: ['email'] }))
    await Promise.all([...given, tables[0]?.addRows(numbered(0, 5))])
    const ended = await Promise.allSettled(addAll(5))

    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(6)
    for (const result of ended) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject(NOT_UNIQUE)
    }
    expect((await tables[1]?.info())?.rowCount).toBe(5 + 1_105)
    for (const table of tables) {
      expect(await byEmail(table, 'e7')).toMatchObject({ n: 7 })
      expect(await byEmail(table, 'e1109')).toMatchObject({ n: 1_109 })
    }
    await expectSound(other)
  })
})

describe('a key in a crash', () => {
  const work = async (store: Store, tableId: string, done: (step: string) => void) => {
    const table = store.team('t').table(tableId)
    for (const [step, run] of [
      ['key', () => table.alter({ key: ['email'] })],
      ['few', () => table.addRows(numbered(10, 3))],
      ['many', () => table.addRows(numbered(100, 1_100))],
      ['more', () => table.addRows(numbered(2_000, 1_200))],
      ['overwrite', () => table.overwrite({ rows: numbered(0, 1_100) })],
      ['taken', () => table.addRows(numbered(1_099, 2)).catch(() => undefined)],
      ['garbageCollection', () => store.maintain()],
    ] as const) {
      await run()
      done(step)
    }
  }

  test('after any commit leaves one row for each key, and an index that leads to it', async () => {
    let isOver = false
    for (let last = 1; !isOver; last += runsAll ? 1 : 3) {
      const world = await EngineWorld.create()
      const engine = await world.open({ orphanGraceMs: 0, overwrittenRowsTtlMs: 0 }, false)
      const team = engine.store.team('t')
      const { tableId } = await team.createTable({
        name: 'k',
        schema: SCHEMA,
        rows: numbered(0, 5),
      })
      const done: string[] = []
      let commits = 0
      const killed = new Promise<void>((end) => {
        world.onCommit = () => {
          if (++commits !== last) return
          engine.kill()
          setImmediate(end)
        }
      })
      const whole = work(engine.store, tableId, (step) => done.push(step)).then(() => true)
      isOver = (await Promise.race([killed, whole])) === true
      await turns()
      world.onCommit = () => undefined
      const { store } = await world.open({}, false)
      const table = store.team('t').table(tableId)
      await expectSound(store)
      const rows = await rowsOf(table)
      expect(new Set(rows.map(({ email }) => email)).size).toBe(rows.length)
      if (!done.includes('key')) continue
      for (const { email, n } of rows.slice(-3)) {
        expect(await byEmail(table, String(email))).toMatchObject({ n })
        await expect(table.addRows([{ email, n }])).rejects.toMatchObject(NOT_UNIQUE)
      }
    }
  })
})

describe('a table with a key under random operations', () => {
  test('has the rows of a map with the same operations', async () => {
    const { team, store } = await openKeys({ segmentRowsMax: 700, inlineRowsMax: 40 })
    const random = seeded(randomTestSeed()).below
    const { tableId } = await team.createTable({
      name: 'k',
      rows: [],
      schema: SCHEMA,
      key: ['email'],
    })
    const run = new RandomKeys(team, team.table(tableId), random)
    for (let step = 0; step < 60; step++) {
      await run.step()
      if (random(10) === 0) await store.maintain()
      if (random(10) === 0) await store.maintain()
    }
    await run.compare()
    await expectSound(store)
  })
})

type Random = (limit: number) => number

/** Few enough different keys that operations often conflict. */
const KEYS = 6_000

class RandomKeys {
  readonly #team: Team
  readonly #table: Table
  readonly #random: Random
  /** Row IDs and numbers, by key. */
  readonly #rows = new Map<string, { id: string; n: number }>()
  #n = 0

  constructor(team: Team, table: Table, random: Random) {
    this.#team = team
    this.#table = table
    this.#random = random
  }

  async step(): Promise<void> {
    const kind = this.#random(8)
    if (kind < 2) await this.#add(1 + this.#random(30))
    else if (kind === 2) await this.#add(1_100 + this.#random(900))
    else if (kind < 5) await this.#update()
    else if (kind === 5) await this.#delete()
    else if (kind === 6 && this.#random(3) === 0) await this.#overwrite()
    else await this.#look()
  }

  #newRows(count: number): { email: string; n: number }[] {
    const first = this.#random(KEYS)
    return Array.from({ length: count }, (_, i) => ({ email: `e${first + i}`, n: ++this.#n }))
  }

  async #add(count: number): Promise<void> {
    const rows = this.#newRows(count)
    const free = rows.filter(({ email }) => !this.#rows.has(email))
    if (free.length < rows.length) {
      await expect(this.#table.addRows(rows)).rejects.toMatchObject(NOT_UNIQUE)
    }
    const { rowIds } = await this.#table.addRows(free)
    for (const [at, { email, n }] of free.entries())
      this.#rows.set(email, { id: rowIds.get(at), n })
  }

  #any(): readonly [string, { id: string; n: number }] | undefined {
    return [...this.#rows][this.#random(Math.max(1, this.#rows.size))]
  }

  async #update(): Promise<void> {
    const [row, email] = [this.#any(), `e${this.#random(KEYS)}`]
    if (row === undefined) return
    const [old, { id }] = row
    const n = ++this.#n
    const updated = this.#table.updateRow(id, { email, n })
    if (email !== old && this.#rows.has(email)) {
      await expect(updated).rejects.toMatchObject(NOT_UNIQUE)
      return
    }
    await updated
    this.#rows.delete(old)
    this.#rows.set(email, { id, n })
  }

  async #delete(): Promise<void> {
    const gone = [...this.#rows].filter(() => this.#random(4) === 0).slice(0, 500)
    if (gone.length === 0) return
    await this.#team.transaction((open) => {
      return open.table(this.#table.id).deleteRows(gone.map(([, { id }]) => id))
    })
    for (const [email] of gone) this.#rows.delete(email)
  }

  async #overwrite(): Promise<void> {
    const rows = this.#newRows(1 + this.#random(2_000))
    const { rowIds } = await this.#table.overwrite({ rows })
    this.#rows.clear()
    for (const [at, { email, n }] of rows.entries())
      this.#rows.set(email, { id: rowIds.get(at), n })
  }

  async #look(): Promise<void> {
    for (let looks = 0; looks < 20; looks++) {
      const email = `e${this.#random(KEYS)}`
      const known = this.#rows.get(email)
      const row = known === undefined ? null : { $rowID: known.id, email, n: known.n }
      expect((await this.#table.get({ email }))?.row ?? null).toEqual(row)
    }
  }

  async compare(): Promise<void> {
    const rows = new Map((await rowsOf(this.#table)).map((row) => [row['email'], row['n']]))
    expect(rows).toEqual(new Map([...this.#rows].map(([email, { n }]) => [email, n])))
    for (const [email, { id }] of this.#rows) {
      expect((await this.#table.get({ email }))?.row.$rowID).toBe(id)
    }
  }
}
