// Goal: a page read in pieces equals the page byte for byte, however small the pieces are and whatever happens to its
// rows, and no page holds more memory than allowed.
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fromUtf8 } from '../../../src/base/bytes.js'
import { codecs } from '../../../src/base/codecs.js'
import { openMemory, type RowIds, type StoreOptions, type Table } from '../../../src/index.js'
import type { OpenPage, PieceStart } from '../../../src/ports.js'
import { runOptions } from '../../support/fast-check-options.js'

async function createTable(rows: unknown[], options: StoreOptions = {}) {
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    ...options,
  })
  onTestFinished(() => store.close())
  const columns = [
    { id: 'n', type: 'number' },
    { id: 't', type: 'string' },
  ] as const
  const created = { name: 't', schema: { columns }, rows: { json: JSON.stringify(rows) } }
  const { tableId, rowIds } = await store.team('t').createTable(created)
  return { store, table: store.team('t').table(tableId), rowIds }
}

const PLENTY = Number.MAX_SAFE_INTEGER

/** All pieces from one on. Each is requested with the memory that it needs, if that is more. */
async function piecesOf(page: OpenPage, bytes: number, memoryBytes = PLENTY) {
  const texts: string[] = []
  const starts: (PieceStart | undefined)[] = []
  const needs: number[] = []
  for (let start: PieceStart | undefined; ; ) {
    starts.push(start)
    let piece = await page.piece({ start, bytes, memoryBytes })
    if ('needs' in piece) {
      needs.push(piece.needs)
      piece = await page.piece({ start, bytes, memoryBytes: piece.needs })
    }
    if ('needs' in piece) throw new Error('It got what it needs')
    texts.push(fromUtf8(piece.json))
    start = piece.next
    if (start === undefined) return { texts, starts, needs, continuation: piece.continuation }
  }
}

async function expectSame(table: Table, bounds: { limit?: number }, bytes: number): Promise<void> {
  const whole = await table.pageBytes(bounds)
  const page = await table.openPage(bounds)
  const { texts, continuation } = await piecesOf(page, bytes)
  expect(texts.join('')).toBe(fromUtf8(whole.json))
  expect([page.version, continuation]).toEqual([whole.version, whole.continuation])
}

describe('the pieces of a page', () => {
  test('are the page, whatever became of its rows', async () => {
    const zstd = codecs.zstd === null ? [] : (['zstd'] as const)
    type Change = Readonly<{ kind: 'update' | 'delete' | 'add' | 'widen' | 'keep'; at: number }>
    const change = fc.record<Change>({
      kind: fc.constantFrom('update', 'update', 'delete', 'delete', 'add', 'widen', 'keep'),
      at: fc.nat(10_000),
    })
    const asked = fc.record({
      limit: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
      bytes: fc.integer({ min: 1_024, max: 20_000 }),
    })
    const setting = fc.record({
      count: fc.integer({ min: 0, max: 300 }),
      compression: fc.constantFrom<'none' | 'deflate' | 'zstd'>('none', 'deflate', ...zstd),
      inlineRowsMax: fc.constantFrom(0, 1_000),
      pageBytesMax: fc.constantFrom(1_024, 10_000, 16 << 20),
      segmentRowsMax: fc.constantFrom(7, 65_536),
    })
    await fc.assert(
      fc.asyncProperty(
        setting,
        fc.array(change, { maxLength: 12 }),
        fc.array(asked, { minLength: 1, maxLength: 5 }),
        async ({ count, ...options }, changes, requests) => {
          const rows = Array.from({ length: count }, (_, n) => ({ n, t: 'é'.repeat((n * 7) % 90) }))
          const { store, table, rowIds } = await createTable(rows, options)
          await makeChanges(table, rowIds, changes)
          for (const { limit, bytes } of requests) {
            await expectSame(table, limit === undefined ? {} : { limit }, bytes)
          }
          await store.close()
        },
      ),
      runOptions(60),
    )
  })

  async function makeChanges(
    table: Table,
    rowIds: RowIds,
    changes: readonly { kind: string; at: number }[],
  ): Promise<void> {
    const t = 'ü'.repeat(400)
    for (const { kind, at } of changes) {
      const rowId = rowIds.at(at % Math.max(1, rowIds.length))
      const widen = { onSchemaError: 'updateSchema' } as const
      if (kind === 'add') await table.addRows([{ n: at, t }, { n: at }], widen)
      if (kind === 'widen') await table.addRows([{ n: `${at}` }], widen)
      if (kind === 'keep') await table.overwrite({ rows: (await table.page({ limit: 100 })).rows })
      const isThere = rowId !== undefined && (await table.get(rowId).catch(() => undefined))
      if (!isThere) continue
      if (kind === 'delete') await table.deleteRow(rowId)
      if (kind === 'update') await table.updateRow(rowId, { t: at % 2 === 0 ? t : null })
    }
  }

  test('end with the page when only deleted rows follow', async () => {
    const rows = Array.from({ length: 40 }, (_, n) => ({ n, t: 'x'.repeat(300) }))
    for (const inlineRowsMax of [0, 1_000]) {
      const { table, rowIds } = await createTable(rows, { inlineRowsMax })
      for (let n = 20; n < 40; n++) await table.deleteRow(rowIds.at(n) ?? '')
      for (let bytes = 1_024; bytes < 8_000; bytes += 100) {
        await expectSame(table, { limit: 20 }, bytes)
        await expectSame(table, { limit: 19 }, bytes)
      }
    }
  })

  test('are the same when they are read again', async () => {
    const rows = Array.from({ length: 500 }, (_, n) => ({ n, t: 'x'.repeat(n) }))
    const { table } = await createTable(rows)
    const page = await table.openPage()
    const { texts, starts } = await piecesOf(page, 10_000)
    expect(texts.length).toBeGreaterThan(5)
    await table.overwrite({ rows: [] })

    for (const [at, start] of starts.entries()) {
      const again = await page.piece({ start, bytes: 10_000, memoryBytes: PLENTY })
      expect('json' in again && fromUtf8(again.json)).toBe(texts[at])
    }
  })

  test('are about as long as was asked for', async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, t: 'some text of a row' }))
    const { table } = await createTable(rows)
    const { texts } = await piecesOf(await table.openPage(), 100_000)

    for (const text of texts.slice(0, -1)) {
      expect(text.length).toBeGreaterThanOrEqual(100_000)
      expect(text.length).toBeLessThan(150_000)
    }
  })
})

describe('memory', () => {
  test.each(['none', 'deflate'] as const)(
    'is asked for by a large row (%s)',
    async (compression) => {
      const sizes = [10, 300_000, 10, 20_000, 900_000]
      const rows = sizes.map((size) => ({ t: 'x'.repeat(size) }))
      const { table } = await createTable(rows, { compression })
      const { needs, texts } = await piecesOf(await table.openPage(), 10_000, 100_000)

      expect(needs.map((bytes) => Math.round(bytes / 300_000))).toEqual([3, 9])
      expect(texts.join('')).toBe(fromUtf8((await table.pageBytes()).json))
    },
  )

  test('is asked for by a large row record', async () => {
    const { table, rowIds } = await createTable([{ t: 'a' }, { t: 'b' }], { inlineRowsMax: 0 })
    await table.updateRow(rowIds.at(1) ?? '', { t: 'é'.repeat(100_000) })
    const { needs } = await piecesOf(await table.openPage(), 10_000, 100_000)

    expect(needs).toHaveLength(1)
    expect(needs[0]).toBeGreaterThan(600_000)
  })

  test('of row records is asked for before they are read', async () => {
    const { table } = await createTable([])
    const t = 'x'.repeat(10_000)
    for (let n = 0; n < 200; n++) await table.addRows([{ n, t }])
    const reserved: number[] = []
    await table.openPage({
      reserve: (bytes) => {
        reserved.push(bytes)
        return undefined
      },
    })

    const all = 200 * t.length
    expect(reserved.at(-1)).toBeGreaterThan(all)
    expect(reserved.at(-1)).toBeLessThan(1.2 * all)
    // Each batch was announced: the memory held grows only to the amount requested before.
    const growths = reserved.filter(
      (bytes, at) => at % 2 === 1 && bytes > (reserved[at - 1] ?? 0) + 50_000,
    )
    expect(growths).toEqual([])
  })

  test('that is not given ends the page', async () => {
    const { table } = await createTable([{ t: 'a' }], { inlineRowsMax: 1_000 })
    const refused = new Error('No memory')

    await expect(table.openPage({ reserve: () => Promise.reject(refused) })).rejects.toBe(refused)
  })
})

test('a piece of nonsense is refused', async () => {
  const { table } = await createTable([{ t: 'a' }])
  const page = await table.openPage()
  const good = { bytes: 10_000, memoryBytes: 30_000 }
  for (const bad of [{ bytes: 1_023 }, { bytes: 1.5 }, { memoryBytes: 29_999 }, { extra: 1 }]) {
    await expect(page.piece({ ...good, ...bad })).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
    })
  }
})
