// Goal: the cost of operations whose records are on another machine, in round trips, is known and does not grow. A
// change that lowers a number writes the lower one here.
import { MemoryLevel } from 'memory-level'
import { expect, onTestFinished, test } from 'vitest'
import {
  createContract,
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
  type Table,
  type Team,
} from '../../src/index.js'
import { seeded } from '../support/seeded.js'
import { type Costs, Counter, countingKv, countingObjects } from './counting-kv.js'

const SEGMENT_ROWS = Array.from({ length: 2_000 }, (_, n) => ({ n, text: `row ${n}` }))
const SCHEMA = {
  columns: [
    { id: 'n', type: 'number' },
    { id: 'text', type: 'string' },
  ],
} as const
const UPDATES_AT_ONCE = 32
const KEY = 'key-of-the-operator-of-t'

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}

type Place = Readonly<{ store: Store; team: Team; counter: Counter }>

/** The cost of a request for an object, in bytes read instead. */
const REQUEST_COST_BYTES = 256 * 1024

async function openPlace(options: StoreOptions): Promise<Place> {
  const kv = await openLevelKv(
    new MemoryLevel<Uint8Array, Uint8Array>({ keyEncoding: 'view', valueEncoding: 'view' }),
  )
  const counter = new Counter()
  const store = await openStore({
    kv: countingKv(kv, counter),
    objects: countingObjects(memoryObjects(), counter, REQUEST_COST_BYTES),
    maintenance: false,
    jobLeaseMs: 600_000, // A renewal during an operation would count as its commit.
    compression: 'none', // By default it depends on the version of Node, and so do the bytes that one request reads.
    ...options,
  })
  onTestFinished(() => store.close())
  return { store, team: store.team('t'), counter }
}

async function tableOf({ team }: Place): Promise<Table> {
  const made = await team.createTable({ name: 'x', schema: SCHEMA, rows: SEGMENT_ROWS })
  return team.table(made.tableId)
}

/** A table of several segments of 100 rows. */
async function tableOfChunks({ team }: Place, chunks: number): Promise<Table> {
  for (let i = 0; i < chunks; i++) await team.stash('s').put(i, SEGMENT_ROWS.slice(0, 100))
  const made = await team.createTable({ name: 'x', schema: SCHEMA, rows: team.stash('s') })
  return team.table(made.tableId)
}

/** A table of one segment of 3 MB. */
async function longTableOf({ team }: Place): Promise<Table> {
  const random = seeded(1)
  const letter = (): string => String.fromCodePoint(0x20 + random.below(0x5f))
  const text = (): string => Array.from({ length: 1_000 }, letter).join('')
  const rows = Array.from({ length: 3_000 }, (_, n) => ({ n, text: text() }))
  const made = await team.createTable({ name: 'x', schema: SCHEMA, rows })
  return team.table(made.tableId)
}

async function idsOf(table: Table): Promise<string[]> {
  return (await table.page({ limit: 100 })).rows.map(({ $rowID }) => $rowID)
}

/** Prepares an operation. Only the returned function is counted. */
type Operation = (place: Place) => Promise<() => Promise<unknown>>

/** Operations with this suffix find nothing in memory. */
const COLD = ', cold'

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'point read': async (place) => {
    const table = await tableOf(place)
    const ids = await idsOf(table)
    return () => table.get(ids[5] ?? '')
  },
  'point read, cold': async (place) => {
    const table = await tableOf(place)
    const ids = await idsOf(table)
    return () => table.get(ids[5] ?? '')
  },
  'point read of a long segment, cold': async (place) => {
    const table = await longTableOf(place)
    const ids = await idsOf(table)
    return () => table.get(ids[5] ?? '')
  },
  'point read of a compacted row, cold': async (place) => {
    const table = await tableOf(place)
    const ids = await idsOf(table)
    for (const id of ids) await table.updateRow(id, { n: 1 })
    await place.store.maintain()
    return () => table.get(ids[5] ?? '')
  },
  'point read, again': async (place) => {
    const table = await tableOf(place)
    const [id = ''] = await idsOf(table)
    for (let i = 0; i < 3; i++) await table.get(id)
    return () => table.get(id)
  },
  page: async (place) => {
    const table = await tableOf(place)
    await table.page({ limit: 100 })
    return () => table.page({ limit: 100 })
  },
  'page with a token': async (place) => {
    const table = await tableOf(place)
    const { continuation = '' } = await table.page({ limit: 100 })
    return () => table.page({ limit: 100, continuation })
  },
  'page of 10 segments, cold': async (place) => {
    const table = await tableOfChunks(place, 12)
    return () => table.page({ limit: 1_000 })
  },
  'page of 10 segments with a token, cold': async (place) => {
    const table = await tableOfChunks(place, 12)
    const { continuation = '' } = await table.page({ limit: 100 })
    return () => table.page({ limit: 1_000, continuation })
  },
  'page of a long segment': async (place) => {
    const table = await longTableOf(place)
    await table.page({ limit: 100 })
    return () => table.page()
  },
  'page of a long segment, cold': async (place) => {
    const table = await longTableOf(place)
    return () => table.page()
  },
  'scan of 12 segments, cold': async (place) => {
    const table = await tableOfChunks(place, 12)
    return async () => {
      for await (const row of table.scan()) expect(row).toHaveProperty('text')
    }
  },
  'page of a compacted table, cold': async (place) => {
    const table = await tableOf(place)
    await table.addRows([{ n: 1 }])
    for (const id of await idsOf(table)) await table.deleteRow(id)
    await place.store.maintain()
    return () => table.page({ limit: 100 })
  },
  'page of a compacted table with a token, cold': async (place) => {
    const table = await tableOf(place)
    await table.addRows([{ n: 1 }])
    for (const id of (await idsOf(table)).slice(10)) await table.deleteRow(id)
    await place.store.maintain()
    const { continuation = '' } = await table.page({ limit: 5 })
    return () => table.page({ limit: 100, continuation })
  },
  update: async (place) => {
    const table = await tableOf(place)
    const [id = '', other = ''] = await idsOf(table)
    await table.updateRow(other, { n: 1 })
    return () => table.updateRow(id, { n: 2 })
  },
  delete: async (place) => {
    const table = await tableOf(place)
    const [id = '', other = ''] = await idsOf(table)
    await table.deleteRow(other)
    return () => table.deleteRow(id)
  },
  'update, cold': async (place) => {
    const table = await tableOf(place)
    const [id = ''] = await idsOf(table)
    return () => table.updateRow(id, { n: 2 })
  },
  'delete, cold': async (place) => {
    const table = await tableOf(place)
    const [id = ''] = await idsOf(table)
    return () => table.deleteRow(id)
  },
  add: async (place) => {
    const table = await tableOf(place)
    await table.addRows([{ n: 1 }])
    return () => table.addRows([{ n: 2 }])
  },
  'add with a key': async (place) => {
    const table = await tableOf(place)
    await table.addRows([{ n: 1 }], { idempotencyKey: 'a' })
    return () => table.addRows([{ n: 2 }], { idempotencyKey: 'b' })
  },
  'stash put': async ({ team }) => {
    for (let i = 0; i < 2; i++) await team.stash('s').put(i, SEGMENT_ROWS)
    return () => team.stash('s').put(2, SEGMENT_ROWS)
  },
  'create from a stash of 3 chunks': async ({ team }) => {
    for (const stash of ['a', 'b']) {
      for (let i = 0; i < 3; i++) await team.stash(stash).put(i, SEGMENT_ROWS)
    }
    await team.createTable({ name: 'x', schema: SCHEMA, rows: team.stash('a') })
    return () => team.createTable({ name: 'y', schema: SCHEMA, rows: team.stash('b') })
  },
  'create from a stash of 2,000 chunks': async ({ team }) => {
    await team.stash('a').put(0, SEGMENT_ROWS)
    await team.createTable({ name: 'x', schema: SCHEMA, rows: team.stash('a') })
    const rows = SEGMENT_ROWS.slice(0, 1)
    const puts = SEGMENT_ROWS.map((_, serial) => team.stash('b').put(serial, rows))
    expect(await Promise.all(puts)).toHaveLength(2_000)
    return () => team.createTable({ name: 'y', schema: SCHEMA, rows: team.stash('b') })
  },
  'overwrite with a schema': async (place) => {
    const table = await tableOf(place)
    for (let i = 0; i < 3; i++) await place.team.stash('s').put(i, SEGMENT_ROWS)
    return () => table.overwrite({ rows: place.team.stash('s'), schema: SCHEMA })
  },
  'PATCH of a row over HTTP': async (place) => {
    const table = await tableOf(place)
    const [id, other] = await idsOf(table)
    const { handle } = createContract(place.store, { keys: [{ key: KEY, teamId: 't' }] })
    const { id: tableId } = await table.info()
    const patch = async (rowId: string | undefined, n: number) => {
      const { status } = await handle({
        method: 'PATCH',
        path: `/tables/${tableId}/rows/${rowId}`,
        query: '',
        headers: [
          ['authorization', `Bearer ${KEY}`],
          ['content-type', 'application/json'],
          ['content-length', '7'],
        ],
        body: bodyOf(`{"n":${n}}`),
      })
      expect(status).toBe(200)
    }
    await patch(other, 1)
    return () => patch(id, 2)
  },
  [`${UPDATES_AT_ONCE} updates at once`]: async (place) => {
    const table = await tableOf(place)
    const ids = (await idsOf(table)).slice(0, UPDATES_AT_ONCE)
    await table.updateRow(ids[0] ?? '', { n: 1 })
    return () => Promise.all(ids.map((id) => table.updateRow(id, { n: 2 })))
  },
}

/** The costs of operations today. */
const COSTS: Readonly<Record<string, Costs>> = {
  'point read': costs({ reads: 1, gets: 1, getRounds: 1 }),
  'point read, cold': costs({ reads: 1, gets: 1, getRounds: 1 }),
  'point read of a long segment, cold': costs({ reads: 1, gets: 2, getRounds: 1 }),
  'point read of a compacted row, cold': costs({ reads: 1, gets: 1, getRounds: 1 }),
  'point read, again': costs({ reads: 1 }),
  page: costs({ reads: 2, gets: 1, getRounds: 1 }),
  'page with a token': costs({ reads: 1, gets: 1, getRounds: 1 }),
  'page of 10 segments, cold': costs({ reads: 2, gets: 10, getRounds: 1 }),
  'page of 10 segments with a token, cold': costs({ reads: 1, gets: 10, getRounds: 1 }),
  'page of a long segment': costs({ reads: 2, gets: 4, getRounds: 1 }),
  'page of a long segment, cold': costs({ reads: 2, gets: 5, getRounds: 2 }),
  'scan of 12 segments, cold': costs({ reads: 4, views: 4, commits: 2, gets: 12, getRounds: 2 }),
  'page of a compacted table, cold': costs({ reads: 2, gets: 2, getRounds: 2 }),
  'page of a compacted table with a token, cold': costs({ reads: 1, gets: 2, getRounds: 2 }),
  update: costs({ reads: 1, commits: 1 }),
  'update, cold': costs({ reads: 1, commits: 1, gets: 1, getRounds: 1 }),
  delete: costs({ reads: 1, commits: 1 }),
  'delete, cold': costs({ reads: 1, commits: 1 }),
  add: costs({ reads: 1, commits: 1 }),
  'add with a key': costs({ reads: 1, commits: 1 }),
  'stash put': costs({ reads: 2, commits: 1, puts: 1 }),
  'create from a stash of 3 chunks': costs({ reads: 3, views: 2, commits: 1 }),
  'create from a stash of 2,000 chunks': costs({ reads: 5, views: 2, commits: 1 }),
  'overwrite with a schema': costs({ reads: 3, views: 2, commits: 1 }),
  'PATCH of a row over HTTP': costs({ reads: 1, commits: 1 }), // like an update: its head is read once
  [`${UPDATES_AT_ONCE} updates at once`]: costs({ reads: 1, commits: 1 }),
}

function costs(some: Partial<Costs>): Costs {
  return { reads: 0, views: 1, commits: 0, gets: 0, getRounds: 0, getsInViews: 0, puts: 0, ...some }
}

test.each(Object.entries(OPERATIONS))(
  '%s costs as many round trips as it did',
  async (name, prepare) => {
    const place = await openPlace(name.endsWith(COLD) ? { cacheBytesMax: 0 } : {})
    const operation = await prepare(place)

    const found = await place.counter.of(operation)

    expect(found).toEqual(COSTS[name])
  },
)
