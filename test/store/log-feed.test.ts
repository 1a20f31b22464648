// Goal: a feed of the log has each commit exactly once, in order, whatever happens between a read and the wait for
// more. Many feeds of a table cost as much as one.
import { expect, onTestFinished, test, vi } from 'vitest'
import { KEY_SPACE } from '../../src/format/keys.js'
import {
  type ChangeEntry,
  memoryObjects,
  openLevelKv,
  openStore,
  type StoreOptions,
} from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'
import { plainDatabase } from '../support/plain-database.js'
import { all } from '../support/rich-database.js'
import { turns } from '../support/until.js'
import { Counter, countingKv } from './counting-kv.js'

async function open(wrap: (kv: KvStore) => KvStore = (kv) => kv, options: StoreOptions = {}) {
  const plain = await openLevelKv(plainDatabase())
  const kv = wrap(plain)
  const objects = memoryObjects()
  const openOne = async () => {
    const store = await openStore({ kv, objects, maintenance: false, ...options })
    onTestFinished(() => store.close())
    return store
  }
  const store = await openOne()
  const team = store.team('t')
  const { tableId } = await team.createTable({ name: 'T', rows: [{ n: 0 }], key: ['n'] })
  return { store, team, table: team.table(tableId), partition: plain.partition('t'), openOne }
}

const short = ({ version, operation, counts: { added, changed, removed } }: ChangeEntry) =>
  `${version} ${operation} +${added} ~${changed} -${removed}`

/** Takes a number of entries. */
async function take(count: number, entries: AsyncIterator<ChangeEntry>): Promise<string[]> {
  const taken: string[] = []
  while (taken.length < count) taken.push(short((await entries.next()).value as ChangeEntry))
  return taken
}

const GONE = expect.objectContaining({ code: 'HISTORY_GONE' })

test('one entry a commit, with its counts: of many rows, of each operation, of two tables in a transaction', async () => {
  const { team, table } = await open()
  const other = team.table((await team.createTable({ name: 'U', rows: [{ n: 1 }] })).tableId)
  const feed = table.watchLog({ since: 0 })
  const ofOther = other.watchLog()
  const second = ofOther.next() // from now on
  const stash = team.stash('many')
  for (let serial = 0; serial < 3; serial++) {
    const rows = Array.from({ length: 2_000 }, (_, n) => ({ n: 2_000 * serial + n + 1 }))
    await stash.put(serial, rows)
  }
  await table.addRows(stash)
  const [rowId = ''] = (await table.page({ limit: 1 })).rows.map(({ $rowID }) => $rowID)
  await table.updateRow(rowId, { n: -1 })
  await table.merge({ rows: [{ n: -1 }, { n: 7_000 }], key: ['n'] })
  await table.deleteRow(rowId)
  await table.rename('V')
  await table.overwrite({ rows: [{ n: 1 }, { n: 2 }] })
  await team.transaction(async (t) => {
    await t.table(table.id).addRows([{ n: 3 }])
    await t.table(table.id).deleteRow((await t.table(table.id).page()).rows[0]?.$rowID ?? '')
    await t.table(other.id).addRows([{ n: 2 }])
  })

  const expected = [
    '1 create +1 ~0 -0',
    '2 add +6000 ~0 -0',
    '3 update +0 ~1 -0',
    '4 merge +1 ~0 -0',
    '5 delete +0 ~0 -1',
    '6 alter +0 ~0 -0',
    '7 overwrite +2 ~0 -6001',
    '8 transaction +1 ~0 -1',
  ]
  expect(await take(8, feed)).toEqual(expected)
  expect(short((await second).value as ChangeEntry)).toBe('2 add +1 ~0 -0')
  const { version, entries } = await table.log({ since: 0, limit: 3 })
  expect([version, entries.map(short)]).toEqual([8, expected.slice(0, 3)])
  expect((await table.log({ since: 3 })).entries.map(short)).toEqual(expected.slice(3))
  expect(await table.log()).toEqual({ version: 8, entries: [] })
  await expect(table.log({ since: 9 })).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
})

/** @param afterRead - Called after each query, before its result is returned. */
function actingKv(kv: KvStore, afterRead: () => Promise<void>): KvStore {
  return {
    shared: false,
    close: () => kv.close(),
    partition: (name) => {
      const partition = kv.partition(name)
      return {
        commit: (commit) => partition.commit(commit),
        deleteRange: (range, count) => partition.deleteRange(range, count),
        async read(use) {
          const found = await partition.read(use)
          await afterRead()
          return found
        },
      }
    },
  }
}

test('a commit during the look, after the feed has read, is not missed; nor by a feed that begins then', async () => {
  const acts: (() => Promise<unknown>)[] = []
  const { table } = await open((kv) => actingKv(kv, async () => void (await acts.shift()?.())))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (let version = 2; version < 9; version++) {
    const [first, second] = [1, 2].map(() => table.watchLog({ since: version - 1 }))
    let ofSecond: Promise<unknown> | undefined
    acts.push(turn, async () => {
      await table.addRows([{ n: version }])
      ofSecond = second?.next()
      for (let turns = 20; turns > 0; turns--) await turn() // It reads while the first still waits for its read.
    })
    const expected = { value: { version, operation: 'add' } }
    expect(await first?.next()).toMatchObject(expected)
    expect(await ofSecond).toMatchObject(expected)
    await Promise.all([first?.return?.(), second?.return?.()])
  }
})

test('100 feeds that are woken together look once', async () => {
  const counter = new Counter()
  const { table } = await open((kv) => ({ ...countingKv(kv, counter), shared: false }))
  const looksOf = async (count: number) => {
    const stops = Array.from({ length: count }, () => new AbortController())
    const { version } = await table.log()
    const feeds = stops.map(({ signal }) => table.watchLog({ since: version, signal }))
    let waiting = feeds.map((feed) => feed.next())
    await turns()
    const { views } = await counter.of(async () => {
      await table.addRows([{ n: version }])
      await Promise.all(waiting)
      waiting = feeds.map((feed) => feed.next())
      await turns()
    })
    for (const stop of stops) stop.abort()
    await Promise.allSettled(waiting)
    return views
  }
  expect(await looksOf(100)).toBe(await looksOf(1))
})

test('HISTORY_GONE where an entry is not kept, and before a loss', async () => {
  const { table, partition } = await open()
  for (let n = 1; n < 5; n++) await table.addRows([{ n }])
  const [, second] = await all(partition, KEY_SPACE.log)
  await partition.commit({ checks: [], deletes: [second?.[0] as never] })
  expect(await take(1, table.watchLog({ since: 0 }))).toEqual(['1 create +1 ~0 -0'])
  const feed = table.watchLog({ since: 0 })
  await feed.next()
  await expect(feed.next()).rejects.toEqual(GONE)
  await expect(table.log({ since: 1 })).rejects.toEqual(GONE)
  expect((await table.log({ since: 2 })).entries.length).toBe(3)
})

test('a feed ends with its table, its store and its signal', async () => {
  const { store, team, table } = await open()
  const stop = new AbortController()
  const aborted = table.watchLog({ signal: stop.signal }).next()
  const deleted = team.table((await team.createTable({ name: 'U', rows: [] })).tableId)
  const ofDeleted = deleted.watchLog().next()
  const closed = table.watchLog().next()
  for (const feed of [aborted, ofDeleted, closed]) feed.catch(() => undefined)
  await turns()
  stop.abort()
  await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' })
  await deleted.delete()
  await expect(ofDeleted).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' })
  await store.close()
  await expect(closed).rejects.toMatchObject({ code: 'STORE_CLOSED' })
})

test('changes of another process are found by looking, at all watched tables of a team in one query', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const counter = new Counter()
  const { table, team, openOne } = await open((kv) => countingKv(kv, counter))
  const other = (await openOne()).team('t')
  const tables = [table]
  for (let i = 0; i < 4; i++) {
    tables.push(team.table((await team.createTable({ name: 'U', rows: [{ n: 0 }] })).tableId))
  }
  const feeds = tables.map((each) => each.watchLog())
  let waiting = feeds.map((feed) => feed.next())
  const look = async (times: number) => {
    for (; times > 0; times--) {
      await turns()
      await vi.advanceTimersByTimeAsync(25)
    }
    await turns()
  }
  await look(3)
  const { views } = await counter.of(() => look(10))
  expect(views).toBe(10)
  for (let n = 1; n < 4; n++) {
    for (const { id } of tables) await other.table(id).addRows([{ n }])
    await look(1)
    for (const next of waiting) expect(((await next).value as ChangeEntry).operation).toBe('add')
    waiting = feeds.map((feed) => feed.next())
  }
  for (const next of waiting) next.catch(() => undefined)
})
