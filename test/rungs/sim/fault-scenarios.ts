// The operations whose every step on the ports is made to fail, each in a small store created for it.
import {
  type CreateResult,
  isStoreError,
  type StoreOptions,
  type Table,
  type Team,
} from '../../../src/index.js'
import { OTHER_TEAM, SETTLES, type SimWorld } from './world.js'

export type Scenario = Readonly<{
  name: string
  options?: StoreOptions
  /** Creates the state before. Its steps do not fail. */
  prepare?(world: SimWorld): Promise<void>
  act(world: SimWorld): Promise<unknown>
  /** It ends what has expired, piece by piece, and changes nothing that a client could miss. */
  isMaintenance?: boolean
  /** It deletes everything of the team, piece by piece: a failure leaves each thing complete or gone. */
  deletesAll?: boolean
}>

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** All rows go to segments. */
const SEGMENTS: StoreOptions = { inlineRowsMax: 0, segmentRowsMax: 2 }

const HISTORY: StoreOptions = { ...SEGMENTS, historyRetentionMs: HOUR_MS }

const SCHEMA = {
  columns: [
    { id: 'n', type: { kind: 'number' } },
    { id: 'v', type: { kind: 'string' } },
  ],
} as const

const WITHOUT_V = { columns: SCHEMA.columns.slice(0, 1) }

const ROWS = [
  { n: 1, v: 'a' },
  { n: 2, v: 'b' },
  { n: 3, v: 'c' },
]
const CSV = { csv: 'n,v\n4,d\n5,e\n6,f\n' }
const OTHER_ROWS = [{ n: 7, v: 'g' }]
const MERGED = [
  { n: 8, v: 'h' },
  { n: 2, v: 'other' },
  { n: 1, v: 'a' },
]

function create({ team }: SimWorld, rows: object = ROWS): Promise<CreateResult> {
  return team.createTable({ name: 't', schema: SCHEMA, rows: rows as typeof ROWS })
}

async function withTable(world: SimWorld): Promise<void> {
  await create(world)
}

async function theTable({ team }: SimWorld): Promise<Table> {
  const [entry] = await team.tables()
  return team.table(entry?.id ?? '')
}

async function rowIdAt(world: SimWorld, index: number): Promise<string> {
  const { rows } = await (await theTable(world)).page()
  return rows[index]?.$rowID ?? ''
}

async function withStash({ team }: SimWorld): Promise<void> {
  await team.stash('s').put('0', ROWS)
  await team.stash('s').put('1', CSV)
  await team.stash('s').put('2', OTHER_ROWS)
}

const SHARED_CHUNKS = ['a', 'b', 'c', 'd'].map((v) => ROWS.map(({ n }) => ({ n, v })))

/** Chunks that arrive while the first of them is put share an object. */
async function withSharedStash(world: SimWorld): Promise<void> {
  const stash = world.team.stash('s')
  world.arm(({ operation }) => (operation === 'put' ? { kind: 'delay', turns: 100 } : null))
  await Promise.all(SHARED_CHUNKS.map((rows, serial) => stash.put(String(serial), rows)))
  world.disarm()
  const objects = await world.objects.list('')
  if (objects.length === SHARED_CHUNKS.length) throw new Error('Some of the chunks share an object')
}

async function withSharedTable(world: SimWorld): Promise<void> {
  await withSharedStash(world)
  await create(world, world.team.stash('s'))
}

async function withTableAndStash(world: SimWorld): Promise<void> {
  await withTable(world)
  await withStash(world)
}

/** Row IDs and tables are found beforehand: only the operation itself is to fail. */
function onRow(
  name: string,
  index: number,
  act: (table: Table, rowId: string) => Promise<unknown>,
  options: StoreOptions = {},
): Scenario {
  const found = new WeakMap<SimWorld, { table: Table; rowId: string }>()
  return {
    name,
    options,
    async prepare(world) {
      await withTable(world)
      found.set(world, { table: await theTable(world), rowId: await rowIdAt(world, index) })
    },
    act: async (world) => {
      const place = found.get(world)
      return place && act(place.table, place.rowId)
    },
  }
}

function onTable(
  name: string,
  act: (table: Table, team: Team) => Promise<unknown>,
  options: StoreOptions = {},
  prepare: NonNullable<Scenario['prepare']> = withTable,
): Scenario {
  const found = new WeakMap<SimWorld, Table>()
  return {
    name,
    options,
    async prepare(world) {
      await prepare(world)
      found.set(world, await theTable(world))
    },
    act: async (world) => {
      const table = found.get(world)
      return table && act(table, world.team)
    },
  }
}

const CREATES: readonly Scenario[] = [
  { name: 'create an empty table', act: (world) => create(world, []) },
  { name: 'create a table of row records', act: (world) => create(world) },
  { name: 'create a table of segments', options: SEGMENTS, act: (world) => create(world) },
  { name: 'create a table of CSV', options: SEGMENTS, act: (world) => create(world, CSV) },
  {
    name: 'create a table and infer its schema',
    act: ({ team }) => team.createTable({ name: 't', rows: ROWS }),
  },
  {
    name: 'create a table with an idempotency key',
    act: ({ team }) => team.createTable({ name: 't', rows: ROWS, idempotencyKey: 'k' }),
  },
  {
    name: 'create a second table',
    prepare: withTable,
    act: ({ team }) => team.createTable({ name: 'u', rows: ROWS }),
  },
  {
    name: 'create a table of a stash',
    options: SEGMENTS,
    prepare: withStash,
    act: (world) => create(world, world.team.stash('s')),
  },
  {
    name: 'create a table of a stash whose text is rewritten',
    prepare: withStash,
    act: ({ team }) => {
      const columns = [{ id: 'n', type: { kind: 'string' } }, SCHEMA.columns[1]] as const
      const schema = { columns } as const
      return team.createTable({
        name: 't',
        schema,
        rows: team.stash('s'),
        onSchemaError: 'dropColumns',
      })
    },
  },
]

const CHANGES: readonly Scenario[] = [
  onTable('add row records', (table) => table.addRows(OTHER_ROWS)),
  onTable('add segments', (table) => table.addRows(ROWS), SEGMENTS),
  onTable('add segments after row records', (table) => table.addRows(ROWS), {
    inlineRowsMax: 3,
    inlineBytesMax: 60,
  }),
  onTable('add with an idempotency key', (table) => {
    return table.addRows(OTHER_ROWS, { idempotencyKey: 'k' })
  }),
  onTable('add and widen the schema', (table) => {
    return table.addRows([{ n: 'x', w: true }], { onSchemaError: 'updateSchema' })
  }),
  onTable('add a stash', (table, team) => table.addRows(team.stash('s')), {}, withTableAndStash),
  onTable('overwrite with row records', (table) => table.overwrite({ rows: OTHER_ROWS })),
  onTable('overwrite with segments', (table) => table.overwrite({ rows: ROWS }), SEGMENTS),
  onTable('overwrite with nothing', (table) => table.overwrite({ rows: [] })),
  onTable('overwrite under a precondition', (table) => {
    return table.overwrite({ rows: OTHER_ROWS, ifMatch: 1 })
  }),
  onTable('overwrite with another schema', (table) => {
    return table.overwrite({ rows: [{ v: 'z' }], schema: { columns: SCHEMA.columns.slice(1) } })
  }),
  onTable(
    'overwrite with a stash',
    (table, team) => table.overwrite({ rows: team.stash('s') }),
    {},
    withTableAndStash,
  ),
  onTable('overwrite and keep row IDs', async (table) => {
    const { rows } = await table.page()
    return table.overwrite({ rows: rows.slice(1) })
  }),
  onTable('merge row records', (table) => table.merge({ rows: MERGED, key: ['n'] })),
  onTable(
    'merge into segments',
    (table) => table.merge({ rows: MERGED, key: ['n'], missing: 'delete', idempotencyKey: 'k' }),
    SEGMENTS,
  ),
  onTable(
    'merge a stash',
    (table, team) => table.merge({ rows: team.stash('s'), key: ['n'], missing: 'delete' }),
    SEGMENTS,
    withTableAndStash,
  ),
  onTable('merge and widen the schema', (table) => {
    const rows = [{ n: 1, v: 'a', w: true }]
    return table.merge({ rows, key: ['n'], onSchemaError: 'updateSchema' })
  }),
  onRow('update a row record', 1, (table, rowId) => table.updateRow(rowId, { v: 'x' })),
  onRow(
    'update a row of a segment',
    1,
    (table, rowId) => table.updateRow(rowId, { v: 'x' }),
    SEGMENTS,
  ),
  onRow('update a row and widen its column', 0, (table, rowId) => {
    return table.updateRow(rowId, { n: 'x' }, { onSchemaError: 'updateSchema' })
  }),
  onRow('update a row under a precondition', 2, (table, rowId) => {
    return table.updateRow(rowId, { v: 'x' }, { ifMatch: 1 })
  }),
  onRow('delete a row record', 1, (table, rowId) => table.deleteRow(rowId)),
  onRow('delete a row of a segment', 1, (table, rowId) => table.deleteRow(rowId), SEGMENTS),
  onRow('update a row with a history', 1, (table, id) => table.updateRow(id, { v: 'x' }), HISTORY),
  onRow('delete a row with a history', 1, (table, rowId) => table.deleteRow(rowId), HISTORY),
  onTable('overwrite with a history', (table) => table.overwrite({ rows: ROWS }), HISTORY),
  onRows('update many rows', (table, rowIds) => {
    return table.updateRows(rowIds.map((rowId) => ({ rowId, cells: { v: 'x' } })))
  }),
  onRows('delete many rows', (table, rowIds) => table.deleteRows(rowIds)),
  onRows('run a transaction', (table, rowIds, team) => {
    return team.transaction(async (t) => {
      const [rowId = '', other = ''] = rowIds
      const found = await t.table(table.id).get(rowId)
      await t.table(table.id).deleteRow(other)
      await t.createTable({ name: 'u', schema: SCHEMA, rows: [{ v: String(found?.row['v']) }] })
      await t.table(table.id).addRows(ROWS)
    })
  }),
]

const LIFE: readonly Scenario[] = [
  onTable('rename a table', (table) => table.rename('another')),
  onTable('drop a column', (table) => table.alter({ schema: WITHOUT_V, drop: ['v'] })),
  onTable(
    'drop a column of segments',
    (table) => table.alter({ schema: WITHOUT_V, drop: ['v'] }),
    SEGMENTS,
  ),
  onTable(
    'bring a column back, and rename the table',
    (table) => table.alter({ name: 'another', schema: SCHEMA }),
    SEGMENTS,
    withDroppedColumn,
  ),
  onTable(
    'drop a column with a history',
    (table) => table.alter({ schema: WITHOUT_V, drop: ['v'] }),
    HISTORY,
  ),
  onTable('delete a table of row records', (table) => table.delete()),
  onTable('delete a table of segments', (table) => table.delete({ ifMatch: 1 }), SEGMENTS),
  onTable(
    'delete a table with a history',
    (table) => table.delete(),
    HISTORY,
    async (world) => {
      await withTable(world)
      await (await theTable(world)).updateRow(await rowIdAt(world, 0), { v: 'x' })
    },
  ),
]

async function withDroppedColumn(world: SimWorld): Promise<void> {
  await withTable(world)
  const table = await theTable(world)
  await table.alter({ schema: WITHOUT_V, drop: ['v'] })
  await table.addRows([{ n: 9 }])
}

async function withKey({ team }: SimWorld): Promise<void> {
  await team.createTable({ name: 't', schema: SCHEMA, rows: ROWS, key: ['n'] })
}

/** With rows in segments, so that the index has a run with entries over it. */
async function withRunAndEntries(world: SimWorld): Promise<void> {
  await withKey(world)
  const table = await theTable(world)
  await table.updateRow(await rowIdAt(world, 0), { n: 10 })
  await table.deleteRow(await rowIdAt(world, 1))
}

const KEYS: readonly Scenario[] = [
  {
    name: 'create a table with a key of row records',
    act: withKey,
  },
  { name: 'create a table with a key of segments', options: SEGMENTS, act: withKey },
  onTable('give a table a key', (table) => table.alter({ key: ['n'] }), SEGMENTS),
  onTable('change a key', (table) => table.alter({ key: ['v', 'n'] }), SEGMENTS, withKey),
  onTable('take a key away', (table) => table.alter({ key: null }), {}, withKey),
  onTable('add row records to a key', (table) => table.addRows(OTHER_ROWS), {}, withRunAndEntries),
  onTable('add segments to a key', (table) => table.addRows(CSV), SEGMENTS, withRunAndEntries),
  onTable(
    'refuse a row with the key of another',
    (table) => table.addRows([...OTHER_ROWS, { n: 3, v: 'x' }]).catch(expectNotUnique),
    SEGMENTS,
    withRunAndEntries,
  ),
  onTable(
    'exchange keys of rows',
    async (table) => {
      const { rows } = await table.page()
      const [one, other] = rows
      if (one === undefined || other === undefined) return
      await table.updateRows([
        { rowId: one.$rowID, cells: { n: Number(other['n']) } },
        { rowId: other.$rowID, cells: { n: Number(one['n']) } },
      ])
    },
    SEGMENTS,
    withRunAndEntries,
  ),
  onTable(
    'overwrite rows with a key',
    (table) => table.overwrite({ rows: ROWS }),
    SEGMENTS,
    withRunAndEntries,
  ),
  onTable(
    'merge by the key of a table',
    (table) => table.merge({ rows: MERGED, key: ['n'], missing: 'delete' }),
    SEGMENTS,
    withRunAndEntries,
  ),
  onTable('read a row by its key', (table) => table.get({ n: 3 }), SEGMENTS, withRunAndEntries),
  {
    name: 'compact and collect rows with a key, and the index of rows before',
    options: { ...SEGMENTS, maintenance: { compactionRecordsMin: 1 }, orphanGraceMs: 0 },
    async prepare(world) {
      await withRunAndEntries(world)
      const table = await theTable(world)
      await table.alter({ key: ['v'] })
      await table.alter({ key: ['n'] })
    },
    act: maintainTwice,
    isMaintenance: true,
  },
]

/** The refusal is the purpose of the operation. Any other failure is the fault. */
function expectNotUnique(failure: unknown): void {
  if (!isStoreError(failure) || failure.code !== 'KEY_NOT_UNIQUE') throw failure
}

function onRows(
  name: string,
  act: (table: Table, rowIds: readonly string[], team: Team) => Promise<unknown>,
): Scenario {
  const found = new WeakMap<SimWorld, { table: Table; rowIds: readonly string[] }>()
  return {
    name,
    options: SEGMENTS,
    async prepare(world) {
      await withTable(world)
      const rowIds = [await rowIdAt(world, 0), await rowIdAt(world, 2)]
      found.set(world, { table: await theTable(world), rowIds })
    },
    act: async (world) => {
      const place = found.get(world)
      return place && act(place.table, place.rowIds, world.team)
    },
  }
}

const STASHES: readonly Scenario[] = [
  { name: 'put the first chunk of a stash', act: ({ team }) => team.stash('s').put('0', ROWS) },
  {
    name: 'put a further chunk of a stash',
    prepare: withStash,
    act: ({ team }) => team.stash('s').put('3', CSV),
  },
  {
    name: 'replace a chunk of a stash',
    prepare: withStash,
    act: ({ team }) => team.stash('s').put('1', OTHER_ROWS),
  },
  { name: 'delete a stash', prepare: withStash, act: ({ team }) => team.stash('s').delete() },
  {
    name: 'create a table of a stash whose chunks share an object',
    prepare: withSharedStash,
    act: (world) => create(world, world.team.stash('s')),
  },
  {
    name: 'replace a chunk that shares its object',
    prepare: withSharedStash,
    act: ({ team }) => team.stash('s').put('2', ROWS),
  },
]

const ABOUT = { fileName: 'a.txt', contentType: 'text/plain' }

async function withFile({ team }: SimWorld): Promise<void> {
  await team.files.put('content', ABOUT)
}

type Ticket = Readonly<{ uploadId: string; target: string }>

function receive({ store }: SimWorld, { uploadId, target }: Ticket, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text)
  const [, query = ''] = target.split('?')
  async function* body(): AsyncGenerator<Uint8Array> {
    yield bytes
  }
  const about = { contentType: ABOUT.contentType, contentLength: bytes.length }
  return store.files.receive({ uploadId, query, ...about, body: body() })
}

function onUpload(
  name: string,
  received: readonly string[],
  act: (world: SimWorld, ticket: Ticket) => Promise<unknown>,
): Scenario {
  const tickets = new WeakMap<SimWorld, Ticket>()
  return {
    name,
    async prepare(world) {
      const ticket = await world.team.files.createUpload(ABOUT)
      for (const text of received) await receive(world, ticket, text)
      tickets.set(world, ticket)
    },
    act: async (world) => {
      const ticket = tickets.get(world)
      return ticket && act(world, ticket)
    },
  }
}

const FILES: readonly Scenario[] = [
  { name: 'put a file', act: ({ team }) => team.files.put('content', ABOUT) },
  {
    name: 'put a second file',
    prepare: withFile,
    act: ({ team }) => team.files.put('more content', ABOUT),
  },
  { name: 'create an upload', act: ({ team }) => team.files.createUpload(ABOUT) },
  onUpload('receive an upload', [], (world, ticket) => receive(world, ticket, 'one')),
  onUpload('receive an upload again', ['one'], (world, ticket) => receive(world, ticket, 'three')),
  onUpload('complete an upload', ['one'], ({ team }, ticket) => {
    return team.files.completeUpload(ticket.uploadId)
  }),
]

async function withRecordsOverSegment(world: SimWorld): Promise<void> {
  await create(world)
  const table = await theTable(world)
  await table.updateRow(await rowIdAt(world, 0), { v: 'x' })
  await table.deleteRow(await rowIdAt(world, 1))
}

async function maintainTwice({ store, clock, options }: SimWorld): Promise<void> {
  for (let runs = 0; runs < 2; runs++) {
    await store.maintain()
    clock.pass(options.store.orphanGraceMs ?? 0)
  }
}

const MAINTENANCE: readonly Scenario[] = [
  {
    name: 'compact row records',
    options: { maintenance: { compactionRecordsMin: 1 }, inlineRowsMax: 3, inlineBytesMax: 60 },
    async prepare(world) {
      await create(world)
      await (await theTable(world)).addRows(ROWS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'recompress segments and what was compacted',
    options: {
      ...SEGMENTS,
      ...SETTLES,
      maintenance: { ...SETTLES.maintenance, compactionRecordsMin: 1 },
    },
    prepare: withRecordsOverSegment,
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'recompress segments that a stash names too',
    options: { ...SEGMENTS, ...SETTLES },
    async prepare(world) {
      await withStash(world)
      await create(world, world.team.stash('s'))
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'recompress segments that share an object, and records over one',
    options: {
      ...SEGMENTS,
      ...SETTLES,
      maintenance: { ...SETTLES.maintenance, compactionRecordsMin: 1 },
    },
    async prepare(world) {
      await withSharedTable(world)
      await (await theTable(world)).updateRow(await rowIdAt(world, 4), { v: 'x' })
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'compact records over a segment',
    options: { ...SEGMENTS, maintenance: { compactionRecordsMin: 1 } },
    prepare: withRecordsOverSegment,
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'collect an overwritten generation',
    options: { ...SEGMENTS, overwrittenRowsTtlMs: 0, overwrittenRowSetsMax: 0, orphanGraceMs: 0 },
    async prepare(world) {
      await create(world)
      await (await theTable(world)).overwrite({ rows: OTHER_ROWS })
      world.clock.pass(HOUR_MS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'collect a deleted table',
    options: { ...HISTORY, overwrittenRowsTtlMs: 0, orphanGraceMs: 0 },
    async prepare(world) {
      await withRecordsOverSegment(world)
      const table = await theTable(world)
      await table.overwrite({ rows: OTHER_ROWS })
      await table.delete()
      world.clock.pass(HOUR_MS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'compact row records of a column that was dropped',
    options: { maintenance: { compactionRecordsMin: 1 }, inlineRowsMax: 3, inlineBytesMax: 60 },
    async prepare(world) {
      await withDroppedColumn(world)
      await (await theTable(world)).addRows([{ n: 10 }, { n: 11 }])
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'collect a history that is over',
    options: { ...HISTORY, overwrittenRowsTtlMs: 0, orphanGraceMs: 0 },
    async prepare(world) {
      await withRecordsOverSegment(world)
      await (await theTable(world)).overwrite({ rows: OTHER_ROWS })
      world.clock.pass(2 * HOUR_MS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'collect a stash that is over',
    options: { stashTtlMs: HOUR_MS, orphanGraceMs: 0 },
    async prepare(world) {
      await withStash(world)
      world.clock.pass(3 * HOUR_MS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'collect an upload that is over',
    options: { uploadTtlMs: HOUR_MS, orphanGraceMs: 0 },
    async prepare(world) {
      await world.team.files.createUpload(ABOUT)
      world.clock.pass(3 * HOUR_MS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
  {
    name: 'collect a file that no row names',
    options: { fileRetentionMs: DAY_MS, orphanGraceMs: 0 },
    async prepare(world) {
      await withFile(world)
      world.clock.pass(2 * DAY_MS)
    },
    act: maintainTwice,
    isMaintenance: true,
  },
]

/** One of each kind of thing that a team may have. */
async function withEverything(world: SimWorld): Promise<void> {
  const { team, store } = world
  await withSharedTable(world)
  await withStash(world)
  const table = await theTable(world)
  await table.updateRow(await rowIdAt(world, 1), { v: 'x' })
  await table.overwrite({ rows: OTHER_ROWS, receipt: true })
  const { id } = await team.files.put('content', ABOUT)
  const rows = [{ n: 1, v: id }]
  await team.createTable({ name: 'u', schema: SCHEMA, rows, key: ['n'], idempotencyKey: 'k' })
  await withFile(world)
  await receive(world, await team.files.createUpload(ABOUT), 'one')
  await team.files.createUpload(ABOUT)
  await (await team.startJob({ create: { name: 'by a job', rows: ROWS } })).wait()
  const other = store.team(OTHER_TEAM)
  await other.stash('s').put('0', ROWS)
  const file = await other.files.put('of another team', ABOUT)
  await other.createTable({ name: 'of another team', rows: [...ROWS, { n: 4, v: file.id }] })
}

const WIPES: readonly Scenario[] = [
  {
    name: 'delete everything of a team',
    options: HISTORY,
    prepare: withEverything,
    act: ({ team }) => team.deleteAll(),
    deletesAll: true,
  },
  {
    name: 'delete a table, a stash and a file of a team',
    async prepare(world) {
      await withTableAndStash(world)
      await withFile(world)
      await world.store.team(OTHER_TEAM).createTable({ name: 'of another team', rows: ROWS })
    },
    act: ({ team }) => team.deleteAll(),
    deletesAll: true,
  },
]

const READS: readonly Scenario[] = [
  onTable('read a page of segments', (table) => table.page({ limit: 2 }), SEGMENTS),
  onRow('read a row', 1, (table, rowId) => table.get(rowId), SEGMENTS),
  readFile(),
]

function readFile(): Scenario {
  const ids = new WeakMap<SimWorld, string>()
  return {
    name: 'read a file',
    async prepare(world) {
      const { id } = await world.team.files.put('content', ABOUT)
      ids.set(world, id)
    },
    act: async (world) => {
      const file = await world.team.files.get(ids.get(world) ?? '')
      for await (const _ of file?.stream() ?? []);
    },
  }
}

export const SCENARIOS: readonly Scenario[] = [
  ...CREATES,
  ...CHANGES,
  ...LIFE,
  ...KEYS,
  ...STASHES,
  ...FILES,
  ...MAINTENANCE,
  ...READS,
  ...WIPES,
]
