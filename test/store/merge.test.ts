import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { yieldToEventLoop } from '../../src/base/platform.js'
import { KEY_SPACE } from '../../src/format/keys.js'
import {
  memoryObjects,
  type OpenStoreOptions,
  openLevelKv,
  openStore,
  type RowWithId,
  type Store,
  type Table,
} from '../../src/index.js'
import { joinedMaintenance, QUIET } from '../support/maintenance.js'
import { MERGE_MODES } from '../support/merge-oracle.js'
import { Hooks, hookedKv } from './hooked-ports.js'

async function open(options: Partial<OpenStoreOptions> = {}): Promise<Store> {
  const store = await openStore({
    kv: await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>()),
    objects: memoryObjects(),
    orphanGraceMs: 0,
    ...options,
    maintenance: joinedMaintenance(QUIET, options.maintenance),
  })
  onTestFinished(() => store.close())
  return store
}

async function tableOf(store: Store, rows: readonly object[]): Promise<Table & { ids: string[] }> {
  const team = store.team('t')
  const { tableId, rowIds } = await team.createTable({ name: 't', rows })
  return Object.assign(team.table(tableId), { ids: [...rowIds] })
}

async function rowsOf(table: Table): Promise<Omit<RowWithId, '$rowID'>[]> {
  const rows: Omit<RowWithId, '$rowID'>[] = []
  for await (const { $rowID: _, ...row } of table.scan()) rows.push(row)
  return rows
}

test('a dry run of a merge leaves no objects', async () => {
  const objects = memoryObjects()
  const store = await open({ objects, inlineRowsMax: 0, segmentRowsMax: 4, orphanGraceMs: 600_000 })
  const table = await tableOf(store, [{ n: 1, t: 'a' }])
  const before = await objects.list('')
  const rows = Array.from({ length: 20 }, (_, n) => ({ n, t: `row ${n}` }))
  async function* chunks() {
    yield { json: JSON.stringify(rows) }
  }

  const counts = await table.merge({ rows: { chunks: chunks() }, key: ['n'], dryRun: true })
  const twice = table.merge({ rows: [...rows, ...rows], key: ['n'], dryRun: true })
  await expect(twice).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE' })

  expect(counts).toMatchObject({ version: 1, added: 19, changed: 1 })
  expect(await objects.list('')).toEqual(before)
})

describe('a merge', () => {
  test('changes, adds and leaves rows by their key', async () => {
    const store = await open()
    const table = await tableOf(store, [
      { email: 'a', n: 1, note: 'x' },
      { email: 'b', n: 2, note: 'y' },
    ])
    const merged = await table.merge({
      rows: { csv: 'email,n\nb,3\nc,4\na,1.0\n' },
      key: ['email'],
    })

    expect(merged).toMatchObject({ version: 2, added: 1, changed: 1, unchanged: 1, removed: 0 })
    expect(await rowsOf(table)).toEqual([
      { email: 'a', n: 1, note: 'x' },
      { email: 'b', n: 3, note: 'y' },
      { email: 'c', n: 4 },
    ])
    expect((await table.get(table.ids[0] ?? ''))?.version).toBe(1)
    expect((await table.get(table.ids[1] ?? ''))?.version).toBe(2)
    expect((await table.get(merged.addedRowIds.get(0)))?.row['email']).toBe('c')
  })

  test('empties the cells that the input names and a row of it lacks', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 1, a: 'a', b: 'b' }])
    await table.merge({ rows: { csv: 'k,a\n1,\n' }, key: ['k'] })

    expect(await rowsOf(table)).toEqual([{ k: 1, b: 'b' }])
  })

  test.each([
    [
      'keep',
      'keep',
      [
        { k: 1, v: 'b', w: 'x' },
        { k: 2, v: 'a', w: 'y' },
      ],
    ],
    [
      'keep',
      'empty',
      [
        { k: 1, v: 'b' },
        { k: 2, v: 'a', w: 'y' },
      ],
    ],
    ['delete', 'keep', [{ k: 1, v: 'b', w: 'x' }]],
    ['delete', 'empty', [{ k: 1, v: 'b' }]],
  ] as const)('with missing %s and unnamed %s', async (missing, unnamed, rows) => {
    const table = await tableOf(await open(), [
      { k: 1, v: 'a', w: 'x' },
      { k: 2, v: 'a', w: 'y' },
    ])
    const merge = { key: ['k'], missing, unnamed, idempotencyKey: 'once' } as const
    const input = [{ k: 1, v: 'b' }]
    const merged = await table.merge({ rows: input, ...merge })

    expect(merged).toMatchObject({ changed: 1, removed: 2 - rows.length })
    expect(await rowsOf(table)).toEqual(rows)
    const others = { missing: missing === 'keep' ? 'delete' : 'keep' } as const
    const again = table.merge({ rows: input, ...merge, ...others })
    await expect(again).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })

  test('that deletes what the input lacks, also all rows', async () => {
    const store = await open({ inlineRowsMax: 0, segmentRowsMax: 4 })
    const rows = Array.from({ length: 20 }, (_, n) => ({ n, t: `row ${n}` }))
    const table = await tableOf(store, rows)
    const kept = rows.filter(({ n }) => n < 3 || n > 13)
    const merged = await table.merge({ rows: kept, key: ['n'], missing: 'delete' })

    expect(merged).toMatchObject({ added: 0, changed: 0, unchanged: kept.length, removed: 11 })
    expect(await rowsOf(table)).toEqual(kept)
    expect((await store.verify({ full: true })).ok).toBe(true)

    const none = await table.merge({ rows: [], key: ['n'], missing: 'delete' })
    expect(none).toMatchObject({ removed: kept.length })
    expect(await rowsOf(table)).toEqual([])
    await store.maintain()
    expect((await store.verify({ full: true })).ok).toBe(true)
  })

  test('of rows that are there already writes nothing', async () => {
    const store = await open({ inlineRowsMax: 0 })
    const rows = [{ k: 'é', n: 34.5 }]
    const table = await tableOf(store, rows)
    const options = { key: ['k'], receipt: true, idempotencyKey: 'x' }
    const merged = await table.merge({ rows: { json: '[{"n":34.50,"k":"\\u00e9"}]' }, ...options })

    expect(merged).toMatchObject({ version: 1, unchanged: 1 })
    expect(merged.receipt).toBeUndefined()
    await table.updateRow(table.ids[0] ?? '', { n: 0 })
    expect(await table.merge({ rows, ...options })).toMatchObject({ version: 3, changed: 1 })
  })

  test.each([
    ['upsert', '{"k":"a","n":34.5,"o":2}'],
    ['replace', '{"k":"a","n":34.50,"o":2}'],
  ] as const)('of the mode %s leaves a changed row as %s', async (mode, text) => {
    const table = await tableOf(await open(), [{ k: 'a', n: 34.5, o: 1 }])
    await table.merge({
      rows: { json: '[{"k":"a","n":34.50,"o":2}]' },
      key: ['k'],
      ...MERGE_MODES[mode],
    })

    const row = await table.getJson(table.ids[0] ?? '')
    expect(row?.json.replace(/"\$rowID":"[^"]+",/, '')).toBe(text)
  })

  test.each(['upsert', 'replace'] as const)(
    'takes a header of CSV without rows for no rows, whatever it names, as an add does (%s)',
    async (mode) => {
      const table = await tableOf(await open(), [{ n: 1 }])
      const csv = 'n,other\n'

      expect(await table.addRows({ csv })).toMatchObject({ version: 1 })
      const merged = await table.merge({ rows: { csv }, key: ['n'], ...MERGE_MODES[mode] })
      const removed = mode === 'replace' ? 1 : 0
      expect(merged).toMatchObject({ version: 1 + removed, added: 0, changed: 0, removed })
    },
  )

  test('into an empty table links the segments of the stash', async () => {
    const objects = memoryObjects()
    const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
    const store = await openStore({
      kv,
      objects,
      maintenance: { garbageCollectionIntervalMs: 0 },
      inlineRowsMax: 0,
    })
    onTestFinished(() => store.close())
    const team = store.team('t')
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const
    const { tableId } = await team.createTable({ name: 't', rows: [], schema })
    await team.stash('s').put(0, [{ n: 1 }, { n: 2 }])
    const before = (await objects.list('')).length
    const merged = await team.table(tableId).merge({ rows: team.stash('s'), key: ['n'] })

    expect(merged).toMatchObject({ added: 2 })
    expect((await objects.list('')).length).toBe(before)
  })

  test('widens the schema where it is asked to', async () => {
    const store = await open()
    const table = await tableOf(store, [
      { k: 'a', n: 1 },
      { k: 'b', n: 2 },
    ])
    const rows = [
      { k: 'a', n: 'one', more: true },
      { k: 'b', n: 2 },
    ]
    await expect(table.merge({ rows, key: ['k'] })).rejects.toMatchObject({
      code: 'COLUMN_HAS_INVALID_VALUE',
    })
    const merged = await table.merge({ rows, key: ['k'], onSchemaError: 'updateSchema' })

    expect(merged).toMatchObject({ version: 2, changed: 1, unchanged: 1 })
    expect(await rowsOf(table)).toEqual([
      { k: 'a', n: 'one', more: true },
      { k: 'b', n: '2' },
    ])
    expect((await store.verify({ full: true })).ok).toBe(true)
  })

  test('is counted and not done as a dry run', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 1, n: 1 }])
    const request = { rows: [{ k: 1, n: 2 }, { k: 2 }], key: ['k'], missing: 'delete' as const }
    expect(await table.merge({ ...request, dryRun: true })).toMatchObject({
      version: 1,
      added: 1,
      changed: 1,
      removed: 0,
    })
    expect(await rowsOf(table)).toEqual([{ k: 1, n: 1 }])
  })

  test('is repeated under its key without an effect', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 1, n: 1 }, { k: 3 }])
    const rows = [{ k: 1, n: 2 }, { k: 2 }]
    const request = {
      rows,
      key: ['k'],
      missing: 'delete',
      idempotencyKey: 'once',
      receipt: true,
    } as const
    const first = await table.merge(request)
    await table.updateRow(first.addedRowIds.get(0), { n: 9 })
    const again = await table.merge(request)

    expect([...again.addedRowIds]).toEqual([...first.addedRowIds])
    expect({ ...again, addedRowIds: null }).toEqual({ ...first, addedRowIds: null })
    expect(again.receipt?.merge).toMatchObject({ added: 1, changed: 1, unchanged: 0, removed: 1 })
    expect(await table.version()).toBe(3)
    const other = table.merge({ ...request, missing: 'keep' })
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    const add = table.addRows(rows, { idempotencyKey: 'once' })
    await expect(add).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    await store.maintain()
    expect((await store.verify({ full: true })).ok).toBe(true)
  })

  test('of more keys than the memory for them holds takes several passes', async () => {
    const store = await open({ mergeBytesMax: 1024 * 1024, segmentRowsMax: 5_000 })
    const rows = Array.from({ length: 50_000 }, (_, n) => ({ k: `key ${n}`, n }))
    const table = await tableOf(store, rows)
    const input = rows.map(({ k, n }) => ({ k, n: n % 100 === 0 ? -1 : n })).reverse()
    input.push({ k: 'more', n: 1 })
    input.splice(0, 10)
    const merged = await table.merge({ rows: input, key: ['k'], missing: 'delete' })

    expect(merged).toMatchObject({ added: 1, changed: 500, unchanged: 49_490, removed: 10 })
    const after = await rowsOf(table)
    const expected = rows.slice(0, -10).map(({ k, n }) => ({ k, n: n % 100 === 0 ? -1 : n }))
    expect(after).toEqual([...expected, { k: 'more', n: 1 }])
  })

  const manyRows = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ k: `key ${String(n).padStart(6, '0')}`, n }))

  test.each([
    ['in order', 0, 0],
    ['with one at the end of the table that is not', 1, 0],
    ['with one of the input that is not', 0, 1],
  ])(
    'of keys %s reads both sides once, or knows them by an index',
    async (_, last, lastOfInput) => {
      const store = await open({
        mergeBytesMax: 1024 * 1024,
        segmentRowsMax: 1_000,
        inlineRowsMax: 0,
        compression: 'none', // Read bytes are counted.
      })
      const rows = manyRows(36_000)
      const early = { k: 'a', n: 0 }
      const table = await tableOf(store, [...rows, ...Array(last).fill(early)])
      const input = rows
        .filter((row) => row.n % 1_000 !== 7)
        .map((row) => (row.n % 100 === 0 ? { ...row, n: -1 } : row))
      const more = [
        { k: 'key 000500a', n: 1 },
        { k: 'z', n: 1 },
      ]
      input.splice(
        input.findIndex(({ n }) => n === 501),
        0,
        ...more.slice(0, 1),
      )
      input.push(...more.slice(1), ...Array(lastOfInput).fill(early))
      const staged = store.team('t').stash('input')
      for (let at = 0; at < input.length; at += 1_000) {
        await staged.put(at, input.slice(at, at + 1_000))
      }
      const before = store.activity().segmentBytesRead
      const dry = { rows: staged, key: ['k'], missing: 'delete', dryRun: true } as const
      const counts = {
        added: 2 + lastOfInput,
        changed: 360,
        unchanged: 35_604,
        removed: 36 + last,
      }
      expect(await table.merge(dry)).toMatchObject(counts)
      const read = store.activity().segmentBytesRead - before
      const once = 2 * 36_000 * '"k":"key 000000","n":12345'.length
      if (last + lastOfInput === 0) expect(read).toBeLessThan(1.4 * once)
      else expect(read).toBeGreaterThan(1.6 * once) // The index has two parts.

      expect(await table.merge({ ...dry, dryRun: false })).toMatchObject(counts)
      expect(await table.merge({ ...dry, dryRun: false })).toMatchObject({
        added: 0,
        changed: 0,
        removed: 0,
      })
      const sorted = (list: readonly object[]) => list.map((row) => JSON.stringify(row)).sort()
      expect(sorted(await rowsOf(table))).toEqual(sorted(input))
      expect((await store.verify({ full: true })).ok).toBe(true)
    },
  )

  test('finds a key that the input has twice behind rows in order', async () => {
    const store = await open({ segmentRowsMax: 100, inlineRowsMax: 0 })
    const rows = manyRows(1_000)
    const table = await tableOf(store, rows)
    for (const twice of [999, 500]) {
      const merge = table.merge({ rows: [...rows, { k: rows[twice]?.k, n: 1 }], key: ['k'] })
      await expect(merge).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE' })
    }
  })

  test('finds a key that the table has twice behind rows in order', async () => {
    const store = await open({ segmentRowsMax: 100, inlineRowsMax: 0 })
    const rows = manyRows(1_000)
    const table = await tableOf(store, rows)
    await table.addRows([{ k: rows[10]?.k, n: 1 }])
    const merge = table.merge({ rows, key: ['k'] })
    await expect(merge).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE' })
  })
})

describe('a merge is refused', () => {
  test.each([
    [{ key: [] }, 'key must be a list of 1 to 16 different column IDs'],
    [{ key: ['k', 'k'] }, 'different column IDs'],
    [
      { key: ['missing'] },
      'Invalid merge key: the table has no column "missing"; it has "k", "tags"',
    ],
    [{ key: ['k', 'tgas'] }, 'no column "tgas"; did you mean "tags"? It has "k", "tags"'],
    [{ key: ['tags'] }, "column 'tags' has arrays"],
    [{ key: ['k'], missing: 'drop' }, 'missing must be keep or delete, not "drop"'],
    [{ key: ['k'], unnamed: 'delete' }, 'unnamed must be keep or empty, not "delete"'],
    [{ key: ['k'], mode: 'replace' }, "pass missing: 'delete' and unnamed: 'empty' to replace"],
    [{ key: ['k'], signal: 1 }, 'signal must be an AbortSignal'],
    [{ key: ['k'], wrong: 1 }, 'merge takes no "wrong"'],
  ])('with %j', async (request, message) => {
    const store = await open()
    const table = await tableOf(store, [{ k: 1, tags: ['x'] }])
    const merge = table.merge({ rows: [], ...request } as never)
    await expect(merge).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    await expect(merge).rejects.toThrow(message)
  })

  test('if two rows of the input have one key: the error names both and the key', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 1 }])
    const merge = table.merge({ rows: { json: '[{"k":34.50},{"k":2},{"k":345e-1}]' }, key: ['k'] })
    await expect(merge).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE', row: 2 })
    await expect(merge).rejects.toThrow(
      'row 0 (counted from 0) and row 2 (counted from 0) of the input have the same key (k 345e-1)',
    )
  })

  test.each([
    ['two rows with one key', { json: '[{"k":1},{"k":2},{"k":1}]' }, { row: 2 }],
    ['a row without a key', { csv: 'k,n\n1,1\n,2\n' }, { row: 1, column: 'k' }],
  ])('if an input for a table without rows has %s', async (_what, rows, where) => {
    const store = await open()
    const schema = {
      columns: [
        { id: 'k', type: 'number' },
        { id: 'n', type: 'number' },
      ],
    } as const
    const { tableId } = await store.team('t').createTable({ name: 't', schema, rows: [] })
    const table = store.team('t').table(tableId)
    await expect(table.merge({ rows, key: ['k'] })).rejects.toMatchObject(where)
    expect(await rowsOf(table)).toEqual([])
    await table.addRows([{ k: 1 }])
    await table.overwrite({ rows: [] })
    await expect(table.merge({ rows, key: ['k'] })).rejects.toMatchObject(where)
  })

  test('if a row of the input has the key of two rows of the table: the error names both', async () => {
    const store = await open({ inlineRowsMax: 0 })
    const table = await tableOf(store, [{ k: 'a' }, { k: 'b' }, { k: 'a' }])
    expect(await table.merge({ rows: [{ k: 'b' }], key: ['k'] })).toMatchObject({ unchanged: 1 })
    const merge = table.merge({ rows: [{ k: 'b' }, { k: 'a' }], key: ['k'] })
    await expect(merge).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE', row: 1 })
    await expect(merge).rejects.toThrow(`Rows ${table.ids[0]} and ${table.ids[2]} of the table`)
  })

  test('if a key cell of the input is empty: the error names row and column', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 'a', n: 1 }])
    const merge = table.merge({ rows: { csv: 'k,n\nx,1\n,2\n' }, key: ['k'] })
    await expect(merge).rejects.toMatchObject({
      code: 'COLUMN_HAS_INVALID_VALUE',
      row: 1,
      column: 'k',
      line: 3,
    })
    expect(await table.version()).toBe(1)
  })

  test('if the table has changed after the version of ifMatch', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 'a', n: 1 }])
    await table.addRows([{ k: 'b' }])
    const merge = table.merge({ rows: [{ k: 'c' }], key: ['k'], ifMatch: 1 })
    await expect(merge).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
    expect(await table.merge({ rows: [{ k: 'c' }], key: ['k'], ifMatch: 2 })).toMatchObject({
      version: 3,
    })
  })

  test('by another key than that of the table, wherever the first wrong cell stands', async () => {
    const store = await open({ inlineRowsMax: 0, segmentRowsMax: 2 })
    const table = await tableOf(store, [{ k: 'a', n: 1 }])
    await table.alter({ key: ['k', 'n'] })
    const good = { k: 'b', n: 2 }
    for (const rows of [
      [{ ...good, n: 'x' }],
      [good, { k: 'c' }, { k: 'd' }, { k: 'e', n: 'x' }],
    ]) {
      const merge = table.merge({ rows, key: ['k'] })
      await expect(merge).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
      const late = table.merge({ rows, key: ['k'], ifMatch: 1 })
      await expect(late).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
    }
  })

  test('in a transaction, which continues without the merge', async () => {
    const store = await open()
    const table = await tableOf(store, [{ email: 'a', n: 1 }])
    await store.team('t').transaction(async (t) => {
      const staged = t.table(table.id) as unknown as Table
      const merge = staged.merge({ rows: [{ email: 'a', n: 2 }], key: ['email'] })
      await expect(merge).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
      await staged.addRows([{ email: 'b', n: 3 }])
    })
    expect(await rowsOf(table)).toHaveLength(2)
  })

  test('if its signal is aborted', async () => {
    const store = await open()
    const table = await tableOf(store, [{ k: 'a', n: 1 }])
    const merge = table.merge({ rows: [{ k: 'c' }], key: ['k'], signal: AbortSignal.abort() })
    await expect(merge).rejects.toMatchObject({ code: 'ABORTED' })
    expect(await table.version()).toBe(1)
  })
})

describe('a merge beside others', () => {
  test('loses no update, whatever comes between', async () => {
    const store = await open({
      inlineRowsMax: 0,
      segmentRowsMax: 50,
      maintenance: { compactionRecordsMin: 3 },
    })
    const rows = Array.from({ length: 300 }, (_, n) => ({ k: n, n: 0, other: 0 }))
    const table = await tableOf(store, rows)
    let goesOn = true
    const counts = new Map<number, number>()
    const write = async (from: number): Promise<void> => {
      for (let i = from; goesOn; i = (i + 7) % 300) {
        await table.updateRow(table.ids[i] ?? '', { other: (counts.get(i) ?? 0) + 1 })
        counts.set(i, (counts.get(i) ?? 0) + 1)
        await yieldToEventLoop()
        if (i % 50 === 0) await store.maintain()
      }
    }
    const writers = [write(0)]
    for (let round = 1; round <= 12; round++) {
      const input = rows.filter(({ k }) => k % round === 0).map(({ k }) => ({ k, n: round }))
      const merged = await table.merge({ rows: input, key: ['k'] })
      expect(merged).toMatchObject({ changed: input.length, added: 0 })
    }
    goesOn = false
    await Promise.all(writers)

    for (const { k, n, other } of (await rowsOf(table)) as {
      k: number
      n: number
      other: number
    }[]) {
      const last = Math.max(
        ...Array.from({ length: 12 }, (_, i) => i + 1).filter((r) => k % r === 0),
      )
      expect([k, n, other]).toEqual([k, last, counts.get(k) ?? 0])
    }
    expect((await store.verify({ full: true })).ok).toBe(true)
  })

  // With few changes, the merge has the rows' texts in memory; with many, it reads them again.
  test.each([
    [1, 30],
    [2, 30],
    [1, 2],
    [2, 2],
  ])('joins again what %i updates change meanwhile, of %i rows', async (updates, changed) => {
    const objects = memoryObjects()
    const put = objects.put.bind(objects)
    let meanwhile = async (): Promise<unknown> => undefined
    objects.put = async (id, content) => {
      await meanwhile()
      return put(id, content)
    }
    const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
    const store = await openStore({
      kv,
      objects,
      maintenance: { garbageCollectionIntervalMs: 0 },
      inlineRowsMax: 0,
    })
    onTestFinished(() => store.close())
    const rows = Array.from({ length: 60 }, (_, k) => ({ k, n: 0, other: 0 }))
    const table = await tableOf(store, rows)
    await table.updateRow(table.ids[0] ?? '', { other: -1 })
    const stash = store.team('t').stash('s')
    const input = rows.slice(0, changed).map(({ k }) => ({ k, n: 1 }))
    // Other keys lie between, so that the added row needs a separate segment.
    await stash.put(0, [{ k: 99, n: 1 }, ...input])
    let done = 0
    meanwhile = async () => {
      // The drafts are made before the merge gets its turn.
      if (done < updates) await table.updateRow(table.ids[0] ?? '', { other: ++done })
    }
    const merged = await table.merge({ rows: stash, key: ['k'] })

    expect(merged).toMatchObject({ changed, added: 1 })
    expect((await rowsOf(table))[0]).toEqual({ k: 0, n: 1, other: done })
    expect(done).toBeGreaterThan(0)
  })

  test('does not judge rows by the schema of before: no two of them ever had the key at once', async () => {
    const hooks = new Hooks()
    const level = new MemoryLevel<Uint8Array, Uint8Array>()
    const kv = hookedKv(await openLevelKv(level), hooks, false)
    const store = await openStore({
      kv,
      objects: memoryObjects(),
      maintenance: { garbageCollectionIntervalMs: 0 },
    })
    onTestFinished(() => store.close())
    const table = await tableOf(store, [{ k: 1, n: 0 }])
    const columns = (await table.schema()).columns
    hooks.beforeScanOf(KEY_SPACE.row, async () => {
      // When the column is added again, it has none of its former cells.
      const kept = columns.filter(({ id }) => id === 'n')
      await table.alter({ schema: { columns: kept }, drop: ['k'] })
      await table.alter({ schema: { columns } })
      await table.addRows([{ k: 1, n: 1 }])
    })
    const merged = await table.merge({ rows: [{ k: 1, n: 2 }], key: ['k'] })

    expect(hooks.ran).toBe(1)
    expect(merged).toMatchObject({ added: 0, changed: 1, version: 5 })
    expect(await rowsOf(table)).toEqual([{ n: 0 }, { k: 1, n: 2 }])
  })

  test('keeps the IDs that an overwrite preserved', async () => {
    const store = await open({ inlineRowsMax: 0 })
    const table = await tableOf(store, [{ k: 1 }, { k: 2 }])
    const [first = '', second = ''] = table.ids
    await table.overwrite({
      rows: [
        { $rowID: second, k: 2 },
        { $rowID: first, k: 1 },
      ],
    })
    const rows = [{ k: 1, n: 1 }]
    await table.merge({ rows, key: ['k'], missing: 'delete', onSchemaError: 'updateSchema' })

    expect((await table.get(first))?.row).toEqual({ $rowID: first, k: 1, n: 1 })
    expect(await table.get(second)).toBeNull()
  })
})
