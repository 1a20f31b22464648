// The history of a table, damaged in each way that verify must name.
import { MemoryLevel } from 'memory-level'
import { expect, onTestFinished, test } from 'vitest'
import { type Bytes, utf8 } from '../../src/base/bytes.js'
import {
  type ChangeRecord,
  changeKey,
  decodeChange,
  decodeRowBeforeKey,
  encodeChange,
  encodeHistory,
  historyKey,
  rowBeforeKey,
} from '../../src/format/change-records.js'
import { KEY_SPACE, type TableKey } from '../../src/format/keys.js'
import { encodeRowRecord } from '../../src/format/records.js'
import { parseTableId } from '../../src/format/table-id.js'
import type { Store, VerifyFinding } from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import type { KvPartition } from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { all } from '../support/rich-database.js'

const HOUR_MS = 3_600_000

type Opened = Readonly<{ store: Store; acme: KvPartition; table: TableKey; clock: TestClock }>

/** A table of version 9, with each kind of change. */
async function openWithHistory(): Promise<Opened> {
  const clock = testClock()
  const kv = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    clock,
    historyRetentionMs: HOUR_MS,
    inlineRowsMax: 2,
    segmentRowsMax: 4,
    maintenance: {
      compactionRecordsMin: 1,
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: 0,
    },
  })
  onTestFinished(() => store.close())
  const team = store.team('acme')
  const rows = Array.from({ length: 9 }, (_, n) => ({ n, v: `v${n}` }))
  const { tableId, rowIds } = await team.createTable({ name: 't', rows })
  const table = team.table(tableId)
  await table.updateRow(rowIds.get(1), { v: 'x' }) // 2
  await table.deleteRow(rowIds.get(2)) // 3
  await table.updateRows([0, 1, 5].map((i) => ({ rowId: rowIds.get(i), cells: { v: 'y' } }))) // 4
  await team.transaction(async (t) => {
    const added = await t.table(tableId).addRows([{ n: 10, v: 'a' }])
    await t.table(tableId).deleteRows([added.rowIds.get(0), rowIds.get(7)])
  }) // 5
  await table.merge({ rows: [{ n: 3, v: 'merged' }], key: ['n'] }) // 6
  await table.overwrite({ rows: rows.slice(0, 5) }) // 7
  const { rows: now } = await table.page()
  await table.updateRow(now[0]?.$rowID ?? '', { v: 'z' }) // 8
  await table.alter({ schema: { columns: [{ id: 'n', type: 'number' }] }, drop: ['v'] }) // 9
  const key = parseTableId(tableId)
  if (key === null) throw new Error('The ID of a table names its records')
  return { store, acme: kv.partition('acme'), table: key, clock }
}

const HEAD_VERSION = 9

type Damage = (opened: Opened) => Promise<void>

function put(recordOf: (table: TableKey) => readonly [key: Bytes, value: Bytes]): Damage {
  return async ({ acme, table }) => void (await acme.commit({ puts: [recordOf(table)] }))
}

function change(version: number, edit: (record: ChangeRecord) => Partial<ChangeRecord>): Damage {
  return async ({ acme, table }) => {
    const key = changeKey(table, version)
    const bytes = await acme.read((view) => view.get(key))
    if (bytes === null) throw new Error(`There is no change of version ${version}`)
    const record = decodeChange(bytes)
    await acme.commit({ puts: [[key, encodeChange({ ...record, ...edit(record) })]] })
  }
}

/** @param record - Replaces the first row before the change of a version; null: the row is removed. */
function rowBefore(version: number, record: Bytes | null): Damage {
  return async ({ acme }) => {
    const rows = await all(acme, KEY_SPACE.rowBefore)
    const [key] = rows.find(([one]) => decodeRowBeforeKey(one).version === version) ?? []
    if (key === undefined) throw new Error(`No row changed in version ${version}`)
    await acme.commit(record === null ? { deletes: [key] } : { puts: [[key, record]] })
  }
}

const GARBAGE = utf8('no record')
const OTHER_TABLE = utf8('no such table!!!')
const row = (version: number, text: string | null): Bytes =>
  encodeRowRecord({ version, schemaNumber: 0, text })

const DAMAGES: readonly (readonly [
  name: string,
  damage: Damage,
  kind: VerifyFinding['kind'],
  says: string,
])[] = [
  [
    'a change that cannot be decoded',
    put((table) => [changeKey(table, 4), GARBAGE]),
    'record',
    'The change of version 4 is damaged',
  ],
  [
    'a change that is missing',
    async ({ acme, table }) => void (await acme.commit({ deletes: [changeKey(table, 6)] })),
    'record-missing',
    'The history has no change for version 6',
  ],
  [
    'changes that are missing',
    async ({ acme, table }) => {
      const deletes = [4, 5, 6].map((version) => changeKey(table, version))
      await acme.commit({ deletes })
    },
    'record-missing',
    'The history has no change for versions 4 to 6',
  ],
  [
    'a change that begins another history',
    change(5, () => ({ since: 4 })),
    'record-mismatch',
    'The change of version 5 says that all changes exist since version 4, but the change before it since version 1',
  ],
  [
    'a change of a version that there is not yet',
    put((table) => [changeKey(table, 12), GARBAGE]),
    'record-mismatch',
    'There is a change with version 12',
  ],
  [
    'a change of rows that were not there',
    change(2, ({ before }) => ({ changed: [{ extent: before.nextExtent, slot: 0, count: 1 }] })),
    'record-mismatch',
    'The change of version 2 names rows that did not exist',
  ],
  [
    'a change of more rows than an extent has',
    change(2, () => ({ changed: [{ extent: 0, slot: 0, count: 2 ** 32 - 1 }] })),
    'record-mismatch',
    'The change of version 2 names rows that did not exist',
  ],
  [
    'a row before a change that is missing',
    rowBefore(6, null),
    'record-missing',
    'The row in slot 3 of extent 0 before version 6 is missing',
  ],
  [
    'a row before a change that cannot be decoded',
    rowBefore(3, GARBAGE),
    'record',
    'The row in slot 2 of extent 0 before version 3 is damaged',
  ],
  [
    'a row before a change with a text that is none',
    rowBefore(3, row(1, 'no cells')),
    'record',
    'The row in slot 2 of extent 0 before version 3 is damaged',
  ],
  [
    'a row before a change that is not from before it',
    rowBefore(3, row(3, '"n":2')),
    'row-version',
    'The row in slot 2 of extent 0 before version 3 has version 3',
  ],
  [
    'a row before a change that is a tombstone',
    rowBefore(3, row(1, null)),
    'row',
    'The row in slot 2 of extent 0 before version 3 is marked as deleted',
  ],
  [
    'a row before a change that the change does not name',
    put((table) => [rowBeforeKey(table, { extent: 1, slot: 2 }, 3), row(1, '"n":6')]),
    'orphan-record',
    'The row in slot 2 of extent 1 before version 3 is not named by any change',
  ],
  [
    'a history that was deleted up to a version that there is not yet',
    put((table) => [historyKey(table), encodeHistory(10)]),
    'record-mismatch',
    'The history was deleted up to version 10',
  ],
  [
    'a change of a table that is not there',
    put(() => [changeKey(OTHER_TABLE, 2), GARBAGE]),
    'orphan-record',
    'History remains of a table that does not exist',
  ],
  [
    'a row before a change of a table that is not there',
    put(() => [rowBeforeKey(OTHER_TABLE, { extent: 0, slot: 0 }, 2), GARBAGE]),
    'orphan-record',
    'History remains of a table that does not exist',
  ],
]

test.each(DAMAGES)('verify finds %s', async (_, damage, kind, says) => {
  const opened = await openWithHistory()
  await damage(opened)

  const { findings } = await opened.store.verify({ full: true })

  const message = kind === 'orphan-record' && says.startsWith('History') ? says : withHead(says)
  expect(findings.filter((finding) => finding.message === message)).toEqual([
    expect.objectContaining({ kind, team: 'acme', table: expect.any(String) }),
  ])
})

function withHead(says: string): string {
  return `${says}; the table has version ${HEAD_VERSION}`
}

/** Findings, except objects that a merge has replaced. */
async function damageOf(store: Store, full: boolean): Promise<readonly VerifyFinding[]> {
  const { findings } = await store.verify({ full })
  return findings.filter(({ kind }) => kind !== 'orphan-object')
}

test.each([false, true])('verify finds nothing in a whole history (full: %s)', async (full) => {
  const { store, acme, clock } = await openWithHistory()
  expect((await all(acme, KEY_SPACE.rowBefore)).length).toBeGreaterThan(7)
  expect(await damageOf(store, full)).toEqual([])

  clock.pass(2 * HOUR_MS)
  await store.maintain()
  expect(await all(acme, KEY_SPACE.rowBefore)).toEqual([])
  expect(await damageOf(store, full)).toEqual([])
})

test('verify leaves alone what a garbage collection has begun to delete, and a table that is being deleted', async () => {
  const { store, acme, table } = await openWithHistory()
  const deletes = [2, 3, 4].map((version) => changeKey(table, version))
  await acme.commit({ deletes, puts: [[historyKey(table), encodeHistory(5)]] })
  expect(await damageOf(store, true)).toEqual([])

  const [entry] = await store.team('acme').tables()
  await store
    .team('acme')
    .table(entry?.id ?? '')
    .delete()
  const { findings } = await store.verify({ full: true })
  expect(findings.filter(({ message }) => message.includes('history'))).toEqual([])
})
