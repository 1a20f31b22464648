// Goal: an operation with an idempotency key has one effect, however often it is sent, and every answer equals the
// first.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { fromHex, NO_BYTES } from '../../src/base/bytes.js'
import { IDEMPOTENCY_RANGE, idempotencyRecordKey } from '../../src/format/keys.js'
import { decodeIdempotencyRecord, encodeIdempotencyRecord } from '../../src/format/records.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowIds,
  type RowObject,
  type Stash,
  type Store,
  type StoreOptions,
  type Table,
  type Team,
} from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Opened = Readonly<{
  store: Store
  kv: KvStore
  team: Team
  clock: TestClock
  /** Makes a team's view after the next wait until `meanwhile` is done. */
  holdSecondView: (meanwhile: () => Promise<void>) => void
}>

async function open(options: StoreOptions = {}): Promise<Opened> {
  const clock = testClock()
  const level = await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>())
  let views = 0
  let held: (() => Promise<void>) | undefined
  const kv: KvStore = {
    shared: level.shared,
    close: () => level.close(),
    partition(name) {
      const partition = level.partition(name)
      if (name === '') return partition
      return {
        commit: (commit) => partition.commit(commit),
        deleteRange: (range, count) => partition.deleteRange(range, count),
        async read(use) {
          if (held !== undefined && ++views === 2) {
            const meanwhile = held
            held = undefined
            await meanwhile()
          }
          return partition.read(use)
        },
      }
    },
  }
  const holdSecondView = (meanwhile: () => Promise<void>): void => {
    views = 0
    held = meanwhile
  }
  const background = { maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 } }
  const store = await openStore({ kv, objects: memoryObjects(), clock, ...background, ...options })
  onTestFinished(() => store.close())
  return { store, kv, team: store.team('acme'), clock, holdSecondView }
}

/** A table with one row, at version 1. */
async function newTable(team: Team): Promise<Table> {
  const { tableId } = await team.createTable({ name: 'Rows', rows: [{ n: -1 }] })
  return team.table(tableId)
}

function rowsOf(count: number): RowObject[] {
  return Array.from({ length: count }, (_, n) => ({ n }))
}

async function newStash(team: Team): Promise<Stash> {
  const stash = team.stash('parts')
  await stash.put('1', rowsOf(3))
  await stash.put('2', rowsOf(2_500))
  return stash
}

/** The parts that two equal answers share. */
function shown({ rowIds, ...rest }: Readonly<{ rowIds: Omit<RowIds, 'get'> }>): unknown {
  return { ...rest, rowIds: [...rowIds], length: rowIds.length, last: rowIds.at(-1) }
}

async function listedIds(table: Table): Promise<string[]> {
  const ids: string[] = []
  for await (const { $rowID } of table.scan()) ids.push($rowID)
  return ids
}

async function recordCount({ kv }: Opened): Promise<number> {
  const scan = { ...IDEMPOTENCY_RANGE, count: 1_000 }
  return kv.partition('acme').read(async (view) => (await view.scan(scan)).length)
}

/** Rows that throw when they are read. */
const UNREADABLE: Iterable<RowObject> = {
  [Symbol.iterator]: () => {
    throw new Error('the rows were read')
  },
}

const SOURCES: readonly [what: string, rows: (team: Team) => Promise<RowObject[] | Stash>][] = [
  ['3 rows', async () => rowsOf(3)],
  ['2,500 rows', async () => rowsOf(2_500)],
  ['a stash', newStash],
]

describe.each(SOURCES)('the second time with the same key, %s', (_, rowsFor) => {
  test('an add has no effect and answers with the first result', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const rows = await rowsFor(team)

    const first = await table.addRows(rows, { idempotencyKey: 'k' })
    const second = await table.addRows(rows, { idempotencyKey: 'k' })

    expect(first.version).toBe(2)
    expect(shown(second)).toEqual(shown(first))
    expect(await table.version()).toBe(2)
    expect((await listedIds(table)).slice(1)).toEqual([...first.rowIds])
  })

  test('a create makes no table and answers with the one that there is', async () => {
    const { team } = await open()
    const rows = await rowsFor(team)

    const first = await team.createTable({ name: 'A', rows, idempotencyKey: 'k' })
    const second = await team.createTable({ name: 'A', rows, idempotencyKey: 'k' })

    expect(shown(second)).toEqual(shown(first))
    expect(await team.tableNames()).toEqual([{ id: first.tableId, name: 'A' }])
    expect(await listedIds(team.table(first.tableId))).toEqual([...second.rowIds])
  })

  test('eight adds at once have one effect and eight equal answers', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const rows = await rowsFor(team)

    const answers = await Promise.all(
      rowsOf(8).map(() => table.addRows(rows, { idempotencyKey: 'k' })),
    )

    expect(answers.map(shown)).toEqual(answers.map(() => shown(answers[0] ?? { rowIds: [] })))
    expect(await table.version()).toBe(2)
    expect((await listedIds(table)).slice(1)).toEqual([...(answers[0]?.rowIds ?? [])])
  })

  test('eight creates at once make one table and give eight equal answers', async () => {
    const { team } = await open()
    const rows = await rowsFor(team)

    const answers = await Promise.all(
      rowsOf(8).map(() => team.createTable({ name: 'A', rows, idempotencyKey: 'k' })),
    )

    expect(answers.map(shown)).toEqual(answers.map(() => shown(answers[0] ?? { rowIds: [] })))
    expect(await team.tables()).toHaveLength(1)
  })
})

describe('a key', () => {
  test('that is not given makes every operation one of its own', async () => {
    const { team } = await open()
    const table = await newTable(team)

    for (let i = 0; i < 2; i++) await table.addRows([{ n: 1 }])

    expect(await listedIds(table)).toHaveLength(3)
  })

  test('is one of its team: another table and a create are other requests, whatever their digests', async () => {
    const { store, team } = await open()
    const [left, right] = [await newTable(team), await newTable(team)]
    const other = store.team('other')
    const refused = { code: 'IDEMPOTENCY_KEY_REUSED' }
    for (const digest of [{}, { requestDigest: new Uint8Array(32) }]) {
      const key = { idempotencyKey: `k${Object.keys(digest).length}`, ...digest }
      const rows = [{ n: 1 }]

      const added = await left.addRows(rows, key)
      await expect(right.addRows(rows, key)).rejects.toMatchObject(refused)
      await expect(team.createTable({ name: 'C', rows, ...key })).rejects.toMatchObject(refused)
      expect(shown(await left.addRows(rows, key))).toEqual(shown(added))
      await other.createTable({ name: 'D', rows, ...key })
    }

    expect((await left.page()).rows.map(({ n }) => n)).toEqual([-1, 1, 1])
    expect(await right.version()).toBe(1)
    expect((await team.tables()).map(({ name }) => name)).toEqual(['Rows', 'Rows'])
    expect((await other.tables()).map(({ name }) => name)).toEqual(['D', 'D'])
  })

  test('that eight tables use at once belongs to one of the tables', async () => {
    const { team } = await open()
    const tables = await Promise.all(rowsOf(8).map(() => newTable(team)))

    const answers = await Promise.allSettled(
      tables.map((table) => table.addRows([{ n: 1 }], { idempotencyKey: 'k' })),
    )

    const versions = await Promise.all(tables.map((table) => table.version()))
    expect(versions.sort()).toEqual([1, 1, 1, 1, 1, 1, 1, 2])
    const refused = answers.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(7)
    for (const answer of refused) {
      expect(answer).toMatchObject({ reason: { code: 'IDEMPOTENCY_KEY_REUSED' } })
    }
  })

  test('of an add that an earlier version kept by its table is found', async () => {
    const opened = await open()
    const { team, kv } = opened
    const [left, right] = [await newTable(team), await newTable(team)]
    const key = { idempotencyKey: 'k' }
    const first = await left.addRows([{ n: 1 }], key)
    const partition = kv.partition('acme')
    const record = await partition.read((view) => view.get(idempotencyRecordKey(null, 'k')))
    const table = fromHex(left.id.replaceAll('-', ''))
    if (record === null || table === null) throw new Error('the result was kept')
    await partition.commit({
      checks: [],
      puts: [[idempotencyRecordKey(table, 'k'), record]],
      deletes: [idempotencyRecordKey(null, 'k')],
    })

    expect(shown(await left.addRows([{ n: 1 }], key))).toEqual(shown(first))
    await expect(left.addRows([{ n: 2 }], key)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
    expect((await right.addRows([{ n: 1 }], key)).version).toBe(2)
  })

  test('that differs in a letter, its case or a space is another one', async () => {
    const { team } = await open()
    const table = await newTable(team)

    for (const idempotencyKey of ['k', 'K', 'k ', ' k', 'kk']) {
      await table.addRows([{ n: 1 }], { idempotencyKey })
    }

    expect(await table.version()).toBe(6)
  })

  test('of a failed operation is unused', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const idempotencyKey = 'k'

    await expect(table.addRows([{ n: 'x' }], { idempotencyKey })).rejects.toThrow()
    await expect(
      team.createTable({ name: 'A', rows: team.stash('none'), idempotencyKey }),
    ).rejects.toMatchObject({ code: 'STASH_NOT_FOUND' })
    const added = await table.addRows([{ n: 1 }], { idempotencyKey })

    expect(added.version).toBe(2)
    expect((await team.tables()).map(({ id }) => id)).toEqual([table.id])
  })

  test('of an add without rows is unused', async () => {
    const { team } = await open()
    const table = await newTable(team)

    const empty = await table.addRows([], { idempotencyKey: 'k' })
    const added = await table.addRows([{ n: 1 }], { idempotencyKey: 'k' })

    expect([empty.version, added.version]).toEqual([1, 2])
  })

  test('of a create without rows is used', async () => {
    const { team } = await open()

    const first = await team.createTable({ name: 'A', rows: [], idempotencyKey: 'k' })
    const second = await team.createTable({ name: 'A', rows: [], idempotencyKey: 'k' })

    expect(shown(second)).toEqual(shown(first))
    expect(await team.tables()).toHaveLength(1)
  })

  test.each(['', 'x'.repeat(65), 'a\tb', 'é', 7, null])('must not be %j', async (given) => {
    const { team } = await open()
    const table = await newTable(team)
    const idempotencyKey = given as string
    const wanted = { code: 'REQUEST_VALIDATION_ERROR' }

    await expect(table.addRows([], { idempotencyKey })).rejects.toMatchObject(wanted)
    await expect(team.createTable({ name: 'A', rows: [], idempotencyKey })).rejects.toMatchObject(
      wanted,
    )
  })

  test('is not taken by an overwrite, which may be repeated anyway', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const request = { rows: [], idempotencyKey: 'k' }

    await expect(table.overwrite(request)).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
    })
  })
})

describe('the answer to a repeat', () => {
  test('needs no rows that can be read: an iterable is not', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const idempotencyKey = 'k'
    const rows = new Set([{ n: 1 }])
    const added = await table.addRows(rows, { idempotencyKey })
    const created = await team.createTable({ name: 'A', rows, idempotencyKey: 'create' })

    const again = await team.createTable({
      name: 'A',
      rows: UNREADABLE,
      idempotencyKey: 'create',
    })

    expect(shown(again)).toEqual(shown(created))
    expect(shown(await table.addRows(UNREADABLE, { idempotencyKey }))).toEqual(shown(added))
  })

  test('is that of any request with the key, if its record is of an earlier version', async () => {
    const { team, kv } = await open()
    const table = await newTable(team)
    const first = await table.addRows([{ n: 1 }], { idempotencyKey: 'k' })
    const scan = { ...IDEMPOTENCY_RANGE, count: 1 }
    const [found] = await kv.partition('acme').read((view) => view.scan(scan))
    const [key = NO_BYTES, bytes = NO_BYTES] = found ?? []
    const before = encodeIdempotencyRecord({ ...decodeIdempotencyRecord(bytes), digest: null })
    await kv.partition('acme').commit({ puts: [[key, before]] })

    const again = await table.addRows([{ n: 2 }], { idempotencyKey: 'k' })

    expect([bytes[0], before[0]]).toEqual([2, 1])
    expect(shown(again)).toEqual(shown(first))
  })

  test('is refused to another request that was under way at the same time', async () => {
    const { team, holdSecondView } = await open()
    const table = await newTable(team)
    for (const send of [
      (n: number) => table.addRows([{ n }], { idempotencyKey: 'k' }),
      (n: number) => team.createTable({ name: 'A', rows: [{ n }], idempotencyKey: 'create' }),
    ]) {
      holdSecondView(async () => {
        await send(1)
      })

      await expect(send(2)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    }
    expect((await table.page()).rows.map(({ n }) => n)).toEqual([-1, 1])
    expect(await team.tables()).toHaveLength(2)
  })

  test('does not need the stash any more', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const rows = await newStash(team)
    const idempotencyKey = 'k'
    const added = await table.addRows(rows, { idempotencyKey })
    const create = { name: 'A', rows, idempotencyKey: 'create' }
    const created = await team.createTable(create)
    await rows.delete()

    expect(shown(await table.addRows(rows, { idempotencyKey }))).toEqual(shown(added))
    expect(shown(await team.createTable(create))).toEqual(shown(created))
  })

  test('does not need the stash that is used and deleted while the repeat is under way', async () => {
    const { team, holdSecondView } = await open()
    const table = await newTable(team)
    const rows = team.stash('parts')

    for (const send of [
      () => table.addRows(rows, { idempotencyKey: 'k' }),
      () => team.createTable({ name: 'A', rows, idempotencyKey: 'create' }),
    ]) {
      await newStash(team)
      const first: unknown[] = []
      holdSecondView(async () => {
        first.push(shown(await send()))
        await rows.delete()
      })

      expect([shown(await send())]).toEqual(first)
    }
    expect(await table.version()).toBe(2)
  })

  test('is the first result, whatever has become of its rows', async () => {
    const { team } = await open()
    const table = await newTable(team)
    const first = await table.addRows(rowsOf(3), { idempotencyKey: 'k' })
    await table.addRows(rowsOf(2))
    await table.deleteRow(first.rowIds.at(0) ?? '')
    await table.overwrite({ rows: [] })

    const again = await table.addRows(rowsOf(3), { idempotencyKey: 'k' })

    expect(shown(again)).toEqual(shown(first))
    expect(await listedIds(table)).toEqual([])
    expect(await table.version()).toBe(5)
  })

  test('comes after the refusal of a table that is not there', async () => {
    const { store, team } = await open()
    const table = await newTable(team)
    await table.addRows([{ n: 1 }], { idempotencyKey: 'k' })
    const same = store.team('other').table(table.id)

    await expect(same.addRows([{ n: 1 }], { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'TABLE_NOT_FOUND',
    })
  })

  test('is the same after the store was closed and opened again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-repeat-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const before = await openDirectory(join(folder, 'store'))
    const team = before.team('acme')
    const create = { name: 'A', rows: rowsOf(3), idempotencyKey: 'create' }
    const created = await team.createTable(create)
    const added = await team
      .table(created.tableId)
      .addRows(rowsOf(1_500), { idempotencyKey: 'k', onSchemaError: 'updateSchema' })
    await before.close()

    const after = await openDirectory(join(folder, 'store'))
    onTestFinished(() => after.close())
    const sameTeam = after.team('acme')
    const table = sameTeam.table(created.tableId)

    const update = { idempotencyKey: 'k', onSchemaError: 'updateSchema' } as const
    expect(shown(await table.addRows(rowsOf(1_500), update))).toEqual(shown(added))
    expect(shown(await sameTeam.createTable(create))).toEqual(shown(created))
    expect(await listedIds(table)).toEqual([...created.rowIds, ...added.rowIds])
  })
})

describe('after its time', () => {
  test.each([
    ['24 hours by default', {}, DAY_MS],
    ['as long as the option says', { idempotencyTtlMs: 60_000 }, 60_000],
  ] as const)('a key is unused again: %s', async (_, options, ttlMs) => {
    const { team, clock } = await open(options)
    const table = await newTable(team)
    const idempotencyKey = 'k'
    const first = await table.addRows([{ n: 1 }], { idempotencyKey })
    await team.createTable({ name: 'A', rows: [], idempotencyKey: 'create' })

    clock.pass(ttlMs - 1)
    const kept = await table.addRows([{ n: 1 }], { idempotencyKey })
    clock.pass(1)
    const second = await Promise.all(
      rowsOf(8).map(() => table.addRows([{ n: 3 }], { idempotencyKey })),
    )
    await team.createTable({ name: 'B', rows: [], idempotencyKey: 'create' })

    expect(shown(kept)).toEqual(shown(first))
    expect(second.map(({ version }) => version)).toEqual(second.map(() => 3))
    expect((await table.page()).rows.map(({ n }) => n)).toEqual([-1, 1, 3])
    expect((await team.tables()).map(({ name }) => name)).toEqual(['Rows', 'A', 'B'])
  })

  test('the garbage collection deletes its record, and no other', async () => {
    const opened = await open({ idempotencyTtlMs: HOUR_MS })
    const { store, team, clock } = opened
    const table = await newTable(team)
    for (let i = 0; i < 3; i++) await table.addRows([{ n: 1 }], { idempotencyKey: `old ${i}` })
    await team.createTable({ name: 'A', rows: [], idempotencyKey: 'old' })
    clock.pass(HOUR_MS / 2)
    const first = await table.addRows([{ n: 1 }], { idempotencyKey: 'new' })
    const before = await recordCount(opened)

    await store.maintain()
    const young = await recordCount(opened)
    clock.pass(HOUR_MS / 2)
    await store.maintain()

    expect([before, young, await recordCount(opened)]).toEqual([5, 5, 1])
    expect(shown(await table.addRows([{ n: 1 }], { idempotencyKey: 'new' }))).toEqual(shown(first))
  })

  test.each([59_999, 30 * DAY_MS + 1, 60_000.5])(
    'which must not be %d ms',
    async (idempotencyTtlMs) => {
      await expect(open({ idempotencyTtlMs })).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
    },
  )
})

test('an operation without a key, or that has failed, writes no record', async () => {
  const opened = await open()
  const table = await newTable(opened.team)

  await table.addRows(rowsOf(2_000))
  await expect(table.addRows([{ n: 'x' }], { idempotencyKey: 'k' })).rejects.toThrow()
  await table.addRows([], { idempotencyKey: 'k' })

  expect(await recordCount(opened)).toBe(0)
})

test('the objects that a repeat wrote before it found the first result are collected', async () => {
  const { store, team, clock, holdSecondView } = await open({
    compression: 'none',
    inlineRowsMax: 0,
  })
  const { tableId } = await team.createTable({ name: 'Rows', rows: [{ text: '' }] })
  const table = team.table(tableId)
  const rows = [{ text: 'x'.repeat(70_000) }] // too long for a segment that shares an object
  const add = () => table.addRows(rows, { idempotencyKey: 'k' })
  holdSecondView(async () => void (await add()))
  await add()

  await store.maintain()
  clock.pass(HOUR_MS)
  const { objects } = await store.maintain()

  expect(objects).toBeGreaterThan(0)
  expect(await listedIds(table)).toHaveLength(2)
})
