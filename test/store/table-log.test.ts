// Goal: each commit that changes a table has one entry in its log, which is kept as long as FORMAT.md says.
import { describe, expect, onTestFinished, test } from 'vitest'
import { fromHex, toHex } from '../../src/base/bytes.js'
import { loggedChange } from '../../src/engine/changes/record-log.js'
import { emptyGeneration } from '../../src/engine/read/generations.js'
import * as keys from '../../src/format/keys.js'
import {
  decodeLogEntry,
  encodeLogEntry,
  LOG_ENTRIES_MAX,
  type LogEntry,
  logKey,
  versionOfLogKey,
} from '../../src/format/log-records.js'
import { parseTableId } from '../../src/format/table-id.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
  type TableChange,
} from '../../src/index.js'
import { testClock } from '../conformance/test-clock.js'
import { goldenBytes } from '../format/golden-file.js'
import { plainDatabase } from '../support/plain-database.js'
import { all } from '../support/rich-database.js'

const HOUR_MS = 3_600_000

async function open(options: Partial<StoreOptions> = {}) {
  const clock = testClock()
  const kv = await openLevelKv(plainDatabase())
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    clock,
    maintenance: false,
    ...options,
  })
  onTestFinished(() => store.close())
  return { clock, store, team: store.team('t'), partition: kv.partition('t') }
}

type Opened = Awaited<ReturnType<typeof open>>

async function versionsIn({ partition }: Pick<Opened, 'partition'>): Promise<number[]> {
  const entries = await all(partition, keys.KEY_SPACE.log)
  return entries.map(([key]) => versionOfLogKey(key))
}

const findingsOf = async (store: Store) => (await store.verify({ full: true })).findings

describe('the entry of a version', () => {
  test('says what was done, when, by whom, why, and to how many rows', async () => {
    const { clock, store, team } = await open()
    const by = { author: 'ann', note: 'prices of 2027' }
    const rows = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]
    const { tableId, rowIds } = await team.createTable({ name: 't', rows, ...by })
    const table = team.table(tableId)
    const [first = '', second = '', third = ''] = rowIds
    clock.pass(1_000)
    const changes = [
      () => table.addRows([{ n: 5 }, { n: 6 }], by),
      () => table.updateRow(first, { n: 7 }, by),
      () => table.updateRowJson(first, '{"n":8}', by),
      () =>
        table.updateRows(
          [first, second].map((rowId) => ({ rowId, cells: { n: 9 } })),
          by,
        ),
      () => table.deleteRow(first, by),
      () => table.deleteRows([second, third], by),
      () =>
        table.merge({
          rows: [{ n: 4 }, { n: 10 }],
          key: ['n'],
          missing: 'delete',
          unnamed: 'empty',
          ...by,
        }),
      () => table.rename('other', by),
      () => table.alter({ key: ['n'], ...by }),
      () => table.overwrite({ rows: [{ n: 1 }], ...by }),
      () => team.transaction((t) => t.table(tableId).addRows([{ n: 2 }]), by),
    ]
    const made = [await table.change(1)]
    for (const change of changes) made.push(await table.change((await change()).version))

    const at = clock.now()
    const entry = (operation: string, added: number, changed: number, removed: number) => {
      return { operation, at, ...by, counts: { added, changed, removed } }
    }
    const expected = [
      { ...entry('create', 4, 0, 0), at: at - 1_000 },
      entry('add', 2, 0, 0),
      entry('update', 0, 1, 0),
      entry('update', 0, 1, 0),
      entry('update', 0, 2, 0),
      entry('delete', 0, 0, 1),
      entry('delete', 0, 0, 2),
      entry('merge', 1, 0, 2),
      entry('alter', 0, 0, 0),
      entry('alter', 0, 0, 0),
      entry('overwrite', 1, 0, 2),
      entry('add', 1, 0, 0),
    ]
    expect(made).toEqual(expected.map((one, index) => ({ version: index + 1, ...one })))
    expect(await table.change(made.length + 1)).toBe(null)
    expect(await findingsOf(store)).toEqual([])
  })

  test('has neither author nor note if none was given, and refuses what is none', async () => {
    const { team } = await open()
    const table = team.table((await team.createTable({ name: 't', rows: [{ n: 1 }] })).tableId)
    const refused = expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' })
    for (const by of [
      { author: '' },
      { author: 'a'.repeat(257) },
      { note: 7 },
      { note: '\ud800' },
    ]) {
      await expect(table.addRows([{ n: 2 }], by as object)).rejects.toEqual(refused)
    }

    expect(await table.change(1)).not.toHaveProperty('author')
    expect(await table.change(1)).not.toHaveProperty('note')
    expect(await table.change(2)).toBe(null)
  })

  test('of a transaction is one for each table, with its last author', async () => {
    const { store, team } = await open()
    const { tableId, rowIds } = await team.createTable({ name: 'a', rows: [{ n: 1 }, { n: 2 }] })
    const made = await team.transaction(
      async (transaction) => {
        const table = transaction.table(tableId)
        await table.updateRow(rowIds.get(0), { n: 3 }, { author: 'bob' })
        await table.updateRow(rowIds.get(0), { n: 4 })
        await table.deleteRow(rowIds.get(1))
        const created = await transaction.createTable({ name: 'b', rows: [{ n: 5 }] })
        await transaction.table(created.tableId).addRows([{ n: 6 }])
        return created
      },
      { author: 'ann', note: 'both' },
    )

    expect(await team.table(tableId).change(2)).toMatchObject({
      operation: 'transaction',
      author: 'bob',
      counts: { added: 0, changed: 1, removed: 1 },
    })
    expect(await team.table(made.tableId).change(1)).toMatchObject({
      operation: 'create',
      author: 'ann',
      note: 'both',
      counts: { added: 2, changed: 0, removed: 0 },
    })
    expect(await findingsOf(store)).toEqual([])
  })

  test('of a job is the one of its request', async () => {
    const { team } = await open()
    const by = { author: 'ann', note: 'nightly' }
    const create = { name: 't', rows: [{ n: 1 }], receipt: true, ...by }
    const created = await (await team.startJob({ create })).wait()
    const overwrite = { tableId: created.tableId, rows: [], ...by }
    await (await team.startJob({ overwrite })).wait()

    const table = team.table(created.tableId)
    expect(await table.change(1)).toMatchObject({ operation: 'create', ...by })
    expect(await table.change(2)).toMatchObject({ operation: 'overwrite', ...by })
    expect((await table.receipt(1))?.rows).toBe(1)
    expect(await table.receipt(2)).toBe(null)
  })

  test('is with the change in the feed; a change of an earlier version has a time alone', async () => {
    const opened = await open({ historyRetentionMs: HOUR_MS })
    const { team, partition, clock } = opened
    const { tableId } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
    const table = team.table(tableId)
    await table.addRows([{ n: 2 }], { author: 'ann', note: 'why' })
    await table.addRows([{ n: 3 }], { author: 'bob' })
    const [, , [key] = []] = await all(partition, keys.KEY_SPACE.log)
    await partition.commit({ deletes: key === undefined ? [] : [key] })

    const changes: TableChange[] = []
    for await (const change of table.changes({ since: 1 })) changes.push(change)
    const [second, third] = changes
    const at = clock.now()
    expect(second).toMatchObject({ version: 2, operation: 'add', at, author: 'ann', note: 'why' })
    expect(third).toMatchObject({ version: 3, at })
    expect(third).not.toHaveProperty('operation')
    expect(third).not.toHaveProperty('author')
  })
})

describe('a log is kept', () => {
  /** Entries of a table that exist without their changes. */
  async function withEntries(opened: Opened, entries: readonly Partial<LogEntry>[]) {
    const { team, partition, clock } = opened
    const { tableId } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
    const table = parseTableId(tableId) ?? new Uint8Array(16)
    const small = { ...decodeLogEntry(goldenBytes('log-entry')), at: clock.now() }
    const puts = entries.map((entry, index) => {
      return [logKey(table, 2 + index), encodeLogEntry({ ...small, ...entry })] as const
    })
    await partition.commit({ puts })
    return tableId
  }

  test('for 24 hours without a history, but for the newest entry', async () => {
    const opened = await open()
    const { clock, store, team } = opened
    const { tableId } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
    clock.pass(HOUR_MS)
    await team.table(tableId).addRows([{ n: 2 }])
    clock.pass(23 * HOUR_MS)
    await store.maintain()
    const young = await versionsIn(opened)
    clock.pass(1)
    await store.maintain()
    const left = await versionsIn(opened)
    clock.pass(48 * HOUR_MS)
    await store.maintain()

    expect([young, left, await versionsIn(opened)]).toEqual([[1, 2], [2], [2]])
  })

  test('as long as a history', async () => {
    const opened = await open({ historyRetentionMs: 48 * HOUR_MS })
    const { clock, store, team } = opened
    const { tableId } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
    clock.pass(47 * HOUR_MS)
    await team.table(tableId).addRows([{ n: 2 }])
    await store.maintain()
    const young = await versionsIn(opened)
    clock.pass(HOUR_MS + 1)
    await store.maintain()

    expect([young, await versionsIn(opened)]).toEqual([[1, 2], [2]])
  })

  test('up to 1 MiB without a history, but for the newest entry', async () => {
    const opened = await open()
    const half = { note: 'x'.repeat(500_000) }
    const whole = { note: 'x'.repeat(2_000_000) }
    await withEntries(opened, [half, half, half])
    await opened.store.maintain()
    const halves = await versionsIn(opened)
    await withEntries(opened, [whole, whole])
    await opened.store.maintain()

    expect(halves).toEqual([3, 4])
    expect((await versionsIn(opened)).toSorted()).toEqual([3, 3, 4])
  })

  test('up to 10,000 entries: the commit deletes the one that is over', () => {
    const { generation, table } = {
      generation: emptyGeneration(new Uint8Array(8), 0, 0),
      table: new Uint8Array(16),
    }
    const change = { next: generation, puts: [], operation: 'update' } as const
    const deletesOf = (version: number, historyRetentionMs: number) => {
      const options = { clock: testClock(), historyRetentionMs } as never
      const before = { version, commitNonce: new Uint8Array(8), order: 0, generation }
      const { deletes = [] } = loggedChange({ kv: {}, options }, { table }, before, change)
      return deletes.map(versionOfLogKey)
    }

    expect(deletesOf(LOG_ENTRIES_MAX - 1, 0)).toEqual([])
    expect(deletesOf(LOG_ENTRIES_MAX, 0)).toEqual([1])
    expect(deletesOf(LOG_ENTRIES_MAX, 1)).toEqual([])
  })

  test('until its table is deleted, also by an earlier version, which leaves it', async () => {
    const opened = await open({ overwrittenRowsTtlMs: 0 })
    const { store, team, partition } = opened
    const { tableId } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
    await team.table(tableId).delete()
    await store.maintain()
    const left = await versionsIn(opened)
    const entry = encodeLogEntry({ ...decodeLogEntry(goldenBytes('log-entry')), author: 'ann' })
    await partition.commit({ puts: [[logKey(new Uint8Array(16).fill(0xee), 1), entry]] })
    const found = await findingsOf(store)
    await store.maintain()

    expect([left, found]).toEqual([[], []])
    expect(await versionsIn(opened)).toEqual([])
  })
})

test('verify finds entries that cannot be read, and entries of later versions', async () => {
  const { store, team, partition } = await open()
  await team.createTable({ name: 't', rows: [{ n: 1 }] })
  const [[key, entry] = []] = await all(partition, keys.KEY_SPACE.log)
  if (key === undefined || entry === undefined) throw new Error('no entry')
  const later = logKey(keys.tableOfKey(key), 9)
  await partition.commit({
    puts: [
      [key, entry.with(0, 9)],
      [later, entry],
    ],
  })

  expect((await findingsOf(store)).map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
    'record: Stored log entry cannot be read: record version 9 is unknown',
    'record-mismatch: The log has an entry of version 9, but the table has only version 1',
  ])
})

test('receipts of earlier versions are read until their table is deleted', async () => {
  const { store, team, partition } = await open({ overwrittenRowsTtlMs: 0 })
  const { tableId } = await team.createTable({ name: 't', rows: [{ n: 1 }] })
  const table = team.table(tableId)
  const [[key] = []] = await all(partition, keys.KEY_SPACE.log)
  const of = keys.tableOfKey(key ?? new Uint8Array(25))
  // A record of an earlier version: a list of one receipt, and no entry.
  const list = fromHex(`01${'00'.repeat(7)}01${'00'.repeat(8)}00000100`) ?? new Uint8Array()
  const receipt = goldenBytes('receipt-merge')
  await partition.commit({
    puts: [
      [keys.receiptListKey(of), list],
      [keys.receiptKey(of, 1), receipt],
    ],
    deletes: key === undefined ? [] : [key],
  })

  const found = await table.receipt(1)
  const findings = await findingsOf(store)
  await table.delete()
  await store.maintain()

  expect(found).toMatchObject({ operation: 'merge', version: 1, versionBefore: 0, rows: 6 })
  expect(found?.merge).toMatchObject({ mode: 'replace', changed: 1 })
  expect(findings).toEqual([])
  expect(await all(partition, keys.KEY_SPACE.receipt)).toEqual([])
  expect(toHex(of)).toBe(tableId.replaceAll('-', ''))
})
