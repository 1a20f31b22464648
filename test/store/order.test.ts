import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  openMemory,
  type Page,
  type RowWithId,
  type Store,
  type StoreOptions,
  type Table,
  type TableSchema,
} from '../../src/index.js'
import { runOptions } from '../support/fast-check-options.js'
import { type Seeded, seeded } from '../support/seeded.js'
import {
  changeRandomly,
  listed,
  type Order,
  randomOrder,
  randomRow,
  randomSchema,
  randomWhere,
} from './find-cases.js'
import { matches, sorted } from './find-oracle.js'

const MANUAL = {
  maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0, compactionRecordsMin: 1 },
} as const

const DAY_MS = 86_400_000

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

type Request = NonNullable<Parameters<Table['page']>[0]>

async function pagesOf(table: Table, request: Request, between?: () => Promise<unknown>) {
  const pages: Page[] = []
  for (let continuation: string | undefined; ; await between?.()) {
    const page: Page = await table.page({ ...request, ...(continuation && { continuation }) })
    pages.push(page)
    continuation = page.continuation
    if (continuation === undefined) return pages
  }
}

const idsOf = (rows: readonly RowWithId[]) => rows.map(({ $rowID }) => $rowID)

async function checkOne(seed: number): Promise<void> {
  const random = seeded(seed)
  const first = randomSchema(random)
  const store = await openMemory({
    ...MANUAL,
    segmentRowsMax: random.pick([3, 40, 65_536]),
    inlineRowsMax: random.pick([0, 20]),
    compression: random.pick(['none', 'deflate'] as const),
    valueFilters: random.once(2),
    cacheBytesMax: random.pick([0, 96 * 1024 * 1024]),
  })
  try {
    const rows = Array.from({ length: random.below(150) }, () => randomRow(random, first))
    const given = { json: Buffer.from(`[${rows.join(',')}]`) }
    const team = store.team('t')
    const { tableId } = await team.createTable({ name: 't', schema: first, rows: given })
    const table = team.table(tableId)
    const schema = await changeRandomly(random, store, table, first)
    const all = await listed(table.scan({ numbers: 'text' }))
    for (let tries = 0; tries < 8; tries++) await checkOrder(random, table, schema, all)
  } finally {
    await store.close()
  }
}

async function checkOrder(
  random: Seeded,
  table: Table,
  schema: TableSchema,
  all: readonly RowWithId[],
): Promise<void> {
  const orderBy = randomOrder(random, schema)
  if (orderBy === undefined) return
  const where = random.once(2) ? randomWhere(random, schema) : undefined
  const from = random.once(2) ? random.below(all.length + 2) : 0
  const limit = 1 + random.below(random.once(2) ? 20 : 200)
  const matching = all.filter((row) => where === undefined || matches(schema, row, where))
  const expected = sorted(schema, matching, orderBy)
  const told = JSON.stringify({ orderBy, where, from, limit })
  const bounds = { orderBy, from, limit, ...(where && { where }), numbers: 'text' } as const
  const scanned = await listed(table.scan(bounds))
  expect(scanned, told).toEqual(expected.slice(from, from + limit))
  const page = await table.page({ ...bounds, total: true })
  expect(page.rows, told).toEqual(scanned)
  expect(page.total, told).toBe(expected.length)
  const { from: _, ...whole } = bounds
  const pages = await pagesOf(table, whole)
  expect(
    pages.flatMap(({ rows }) => rows),
    told,
  ).toEqual(expected)
}

test('sorts as the oracle does, in random tables with random changes', {
  timeout: 240_000,
}, async () => {
  await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 31 }), checkOne), runOptions(80))
})

test('numbers are in the order of their values, however near and long they are', async () => {
  const ascending = [
    ...['-1e300', '-9007199254740993', '-9007199254740992.5', '-9007199254740992'],
    ...[
      '-0.30000000000000000001',
      '-0.3',
      '-2e-400',
      '-1e-400',
      '-1e-4000',
      '0',
      '1e-12345678901234567890',
    ],
    ...['1e-4000', '1e-400', '2e-400', '0.09999999999999999999', '0.1', '0.10000000000000000001'],
    ...[
      '0.100000000000000000011',
      '9007199254740992',
      '9007199254740992.000001',
      '9007199254740993',
    ],
    ...['9007199254740993.5', '9007199254740994', '12345678901234567890.5', '1e300'],
  ]
  const rows = shuffled(3 * ascending.length).map(({ n }) => `{"n":${ascending[n]}}`)
  const columns = [{ id: 'n', type: { kind: 'number' } }] as const
  const table = await tableOf([], { columns })
  await table.addRows({ json: Buffer.from(`[${rows.join(',')}]`) })
  for (const descending of [false, true]) {
    const orderBy = [{ column: 'n', descending }]
    const { rows: found } = await table.page({ orderBy, numbers: 'text' })
    const expected = ascending.flatMap((token) => [token, token, token])
    expect(found.map(({ n }) => n)).toEqual(descending ? expected.reverse() : expected)
  }
})

/** Numbers from 0, in a shuffled order, each in three rows. */
function shuffled(count: number): { n: number; at: number }[] {
  return Array.from({ length: count }, (_, at) => ({ n: ((at * 7_919) % count) % (count / 3), at }))
}

const BY_N: Order = [{ column: 'n', descending: true }]

describe('pages', () => {
  test('show one version by their continuations, while rows are written between the pages', async () => {
    const options = { inlineRowsMax: 1_000 }
    const table = await tableOf(shuffled(300), undefined, options)
    const before = await listed(table.scan({ orderBy: BY_N }))
    const deleted = new Set<string>()
    let step = 0
    const pages = await pagesOf(table, { orderBy: BY_N, limit: 20 }, async () => {
      const last = before[299 - step]?.$rowID ?? ''
      deleted.add(last)
      await table.deleteRow(last)
      await table.updateRow(before[step]?.$rowID ?? '', { n: -step })
      await table.addRows([{ n: 1_000 + step++, at: 0 }])
    })
    const left = before.filter(({ $rowID }) => !deleted.has($rowID))

    expect(idsOf(pages.flatMap(({ rows }) => rows))).toEqual(idsOf(left))
    expect(pages.length).toBe(15)
  })

  test('of more rows than are held begin with the first ones, whichever column decides', async () => {
    const rows = shuffled(12_000).map(({ n, at }) => ({
      n,
      few: n % 5 === 0 ? null : n % 7,
      t: `t${n % 11}`,
      at,
    }))
    const table = await tableOf(rows)
    const all = await listed(table.scan({ numbers: 'text' }))
    const { schema } = await table.info()
    const orders: Order[] = [
      BY_N,
      [{ column: 'few' }, { column: 't', descending: true }, { column: 'n' }],
      [
        { column: 't', locale: 'de' },
        { column: 'few', descending: true },
      ],
    ]
    for (const orderBy of orders) {
      const { rows: found } = await table.page({ orderBy, limit: 500, numbers: 'text' })
      expect(idsOf(found)).toEqual(idsOf(sorted(schema, all, orderBy).slice(0, 500)))
    }
  })

  test('go on without their list while the version is there, as from another process', async () => {
    const table = await tableOf(shuffled(300), undefined, { cacheBytesMax: 0 })
    const pages = await pagesOf(table, { orderBy: BY_N, limit: 70 })
    const from = await table.page({ orderBy: BY_N, from: 140, limit: 70 })

    expect(pages.flatMap(({ rows }) => rows)).toEqual(await listed(table.scan({ orderBy: BY_N })))
    expect(from.rows).toEqual(pages[2]?.rows)
  })

  test('go on from history without their list, and say so when that is gone', async () => {
    const options = { cacheBytesMax: 0, historyRetentionMs: DAY_MS }
    for (const isKept of [true, false]) {
      const table = await tableOf(shuffled(30), undefined, isKept ? options : { cacheBytesMax: 0 })
      const first = await table.page({ orderBy: BY_N, limit: 20 })
      const all = await listed(table.scan({ orderBy: BY_N }))
      await table.updateRow(first.rows[0]?.$rowID ?? '', { n: -1 })
      await table.deleteRow(all[20]?.$rowID ?? '')
      const { continuation = '' } = first
      const next = table.page({ orderBy: BY_N, limit: 20, continuation })

      if (isKept) expect(idsOf((await next).rows)).toEqual(idsOf(all.slice(21)))
      else await expect(next).rejects.toMatchObject({ code: 'CONTINUATION_INVALID' })
    }
  })

  test('of texts that do not fit the memory of a sort are made in several passes', async () => {
    const texts = Array.from({ length: 34 }, (_, at) => {
      return { t: String(10 + ((at * 37) % 34)).padEnd(520_000, 'x'), at }
    })
    const table = await tableOf(texts)
    const orderBy = [{ column: 't', descending: true }]
    const expected = Array.from({ length: 34 }, (_, at) => at).sort(
      (one, other) => ((other * 37) % 34) - ((one * 37) % 34),
    )
    const columns = ['at']
    const pages = await pagesOf(table, { orderBy, columns, limit: 34 })

    expect(pages.flatMap(({ rows }) => rows).map(({ at }) => at)).toEqual(expected)
  })

  test('are each in the order of one version, whatever is committed while they are read', async () => {
    const rows = shuffled(120).map((row) => ({ ...row, pad: 'x'.repeat(100) }))
    const table = await tableOf([], undefined, { inlineRowsMax: 1_000, pageBytesMax: 4_096 })
    const { rowIds } = await table.addRows(rows, { onSchemaError: 'updateSchema' })
    let isDone = false
    const write = async () => {
      for (let step = 1; !isDone; step++) {
        const ids = [...rowIds].filter((_, at) => at % 40 === step % 40)
        await table.updateRows(ids.map((rowId, at) => ({ rowId, cells: { n: 100 * at - step } })))
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const writing = Promise.all([write(), write()])
    try {
      for (let reads = 0; reads < 20; reads++) {
        const page = await table.page({ orderBy: BY_N, columns: ['n'], total: true })
        const values = page.rows.map(({ n }) => Number(n))
        expect(values).toEqual([...values].sort((one, other) => other - one))
        expect([values.length, page.total]).toEqual([120, 120])
      }
    } finally {
      isDone = true
    }
    await writing
  })

  test('belong to one condition and one order', async () => {
    const table = await tableOf(shuffled(30))
    const { continuation = '' } = await table.page({ orderBy: BY_N, limit: 2 })
    const plain = (await table.page({ limit: 2 })).continuation ?? ''
    const refused = { code: 'REQUEST_VALIDATION_ERROR' }

    await expect(table.page({ orderBy: [{ column: 'at' }], continuation })).rejects.toMatchObject(
      refused,
    )
    await expect(
      table.page({ orderBy: BY_N, where: { n: 1 }, continuation }),
    ).rejects.toMatchObject(refused)
    await expect(table.page({ orderBy: BY_N, continuation: plain })).rejects.toMatchObject(refused)
    await expect(table.page({ orderBy: BY_N, continuation: 'x' })).rejects.toMatchObject({
      code: 'CONTINUATION_INVALID',
    })
    await expect(table.page({ continuation })).rejects.toMatchObject({
      code: 'CONTINUATION_INVALID',
    })
  })

  test('count the rows that match, with an order or without', async () => {
    const table = await tableOf(shuffled(30))

    expect(await table.page({ total: true, limit: 1 })).toMatchObject({ total: 30 })
    expect(await table.page({ total: true, limit: 1, where: { n: { lt: 2 } } })).toMatchObject({
      total: 6,
    })
    expect((await table.page({ total: false, limit: 1 })).total).toBe(undefined)
  })
})

describe('a scan', () => {
  test('ends with ABORTED while it sorts, or waits for its turn', async () => {
    const table = await tableOf(shuffled(20_000)) // They take more than one slice of time.
    const scans = Array.from({ length: 3 }, () => {
      const controller = new AbortController()
      const ended = listed(table.scan({ orderBy: BY_N, signal: controller.signal }))
      setImmediate(() => controller.abort())
      return ended
    })
    const ends = await Promise.allSettled(scans)

    for (const end of ends) expect(end).toMatchObject({ reason: { code: 'ABORTED' } })
    expect(await table.page({ orderBy: BY_N, total: true, limit: 1 })).toMatchObject({
      total: 20_000,
    })
  })

  test('is of one version, whatever is written meanwhile', async () => {
    const table = await tableOf(shuffled(300))
    const before = await listed(table.scan({ orderBy: BY_N }))
    const ids: string[] = []
    for await (const { $rowID } of table.scan({ orderBy: BY_N })) {
      if (ids.length === 3) await table.overwrite({ rows: [{ n: 1 }] })
      ids.push($rowID)
    }

    expect(ids).toEqual(idsOf(before))
  })
})

describe('an order is refused', () => {
  const columns = [
    { id: 'n', type: { kind: 'number' } },
    { id: 's', type: { kind: 'string' } },
    { id: 'd', type: { kind: 'duration' } },
    { id: 'list', type: { kind: 'array', items: { kind: 'string' } } },
  ] as const
  const wrong: readonly (readonly [string, unknown])[] = [
    ['it is no array', { column: 'n' }],
    ['it is empty', []],
    ['of too many columns', Array.from({ length: 9 }, (_, at) => ({ column: String(at) }))],
    ['of a text', ['n']],
    ['of a column that the table lacks', [{ column: 'm' }]],
    ['with an unknown member', [{ column: 'n', desc: true }]],
    ['with a wrong direction', [{ column: 'n', descending: 'yes' }]],
    ['of a column twice', [{ column: 'n' }, { column: 'n' }]],
    ['of arrays', [{ column: 'list' }]],
    ['of durations', [{ column: 'd' }]],
    ['without case of numbers', [{ column: 'n', ignoreCase: true }]],
    ['with a broken locale', [{ column: 's', locale: 'not a locale' }]],
    ['with an unknown locale', [{ column: 's', locale: 'xx' }]],
  ]
  test.each(wrong)('%s', async (_, given) => {
    const table = await tableOf([{ n: 1 }], { columns })
    const orderBy = given as Order
    const refused = { code: 'REQUEST_VALIDATION_ERROR' }

    await expect(table.page({ orderBy })).rejects.toMatchObject(refused)
    await expect(table.pageVersion({ orderBy })).rejects.toMatchObject(refused)
    await expect(listed(table.scan({ orderBy }))).rejects.toMatchObject(refused)
    await expect(listed(table.toCSV({ orderBy }))).rejects.toMatchObject(refused)
  })
})
