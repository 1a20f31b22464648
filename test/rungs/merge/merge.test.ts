// Goal: a merge by key does exactly what comparing each row with each would do, and keeps row IDs and versions.
// Method: random pairs of row sets on a store with small segments, compared with an oracle of plain lists. The table
// was changed, compacted and reopened, and columns were dropped. First a dry run, then the merge, a check of
// everything, and the same merge again.
import { MemoryLevel } from 'memory-level'
import { expect, test } from 'vitest'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowWithId,
  type Store,
  type Table,
} from '../../../src/index.js'
import { recordedSeeds, report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { expectNoViolation, runSeeds } from '../sim/run-seeds.js'
import { bodyOf, type Cells, expectedOf, makeCase, meaningOf, SCHEMA } from './merge-case.js'

test('a merge does what an oracle of plain lists does', { timeout: 3_600_000 }, async () => {
  const seed = suiteSeed()
  const runs = sizeOf({ push: 200, deep: 4_000 })
  const done = await runSeeds(seed, runs, mergeOnce, recordedSeeds('T21'))
  report({ suite: 'T21 merges', ...done, seed })

  expectNoViolation(done)
})

type StoredRow = Readonly<{ id: string; version: number; cells: Cells }>

async function mergeOnce(seed: number): Promise<void> {
  const random = seeded(seed)
  const given = makeCase(seed)
  const store = await openStore({
    kv: await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>()),
    objects: memoryObjects(),
    maintenance: {
      garbageCollectionIntervalMs: 0,
      compactionIntervalMs: random.once(3) ? 1 : 0,
      compactionRecordsMin: 1,
    },
    compression: 'none',
    segmentRowsMax: random.pick([2, 5, 30, 1_000]),
    inlineRowsMax: random.pick([0, 0, 5, 1_000]),
  })
  try {
    await mergeIn(store, random, given, seeded(seed + 2))
    const { findings, ok } = await store.verify({ full: true })
    if (!ok) throw new Error(JSON.stringify(findings))
  } finally {
    await store.close()
  }
}

async function mergeIn(
  store: Store,
  random: Seeded,
  given: ReturnType<typeof makeCase>,
  drops: Seeded,
): Promise<void> {
  const { missing, unnamed, key, input, inputColumns } = given
  const rules = { key, missing, unnamed }
  const team = store.team('t')
  const { table, rows } = await makeTable(store, random, given.before, new Drops(drops))
  const before = { ...given, before: rows.map(({ cells }) => cells) }
  const expected = expectedOf(before)
  const version = await table.version()
  const body = bodyOf(input, inputColumns)
  const inChunks = random.once(3)
  if (inChunks) {
    await putChunks(store, input, inputColumns, random)
  }
  const source = () => (inChunks ? team.stash('s') : { json: body })
  const isNamed = input.length > 0

  const dry = await table.merge({ rows: source(), ...rules, dryRun: true })
  expect(dry).toMatchObject({
    version,
    ...(isNamed || missing === 'delete' ? expected.counts : {}),
  })
  expect(await table.version()).toBe(version)

  const merged = await table.merge({ rows: source(), ...rules, receipt: true })
  const { added, changed, removed } = expected.counts
  const hasChanged = added + changed + removed > 0
  expect(merged).toMatchObject({ version: version + (hasChanged ? 1 : 0), ...expected.counts })
  expect(merged.addedRowIds).toHaveLength(added)
  const mode = missing === 'delete' ? 'replace' : 'upsert'
  expect(merged.receipt?.merge).toEqual(hasChanged ? { mode, key, ...expected.counts } : undefined)
  const wanted = [
    ...expected.rows.flatMap(({ cells, isChanged }, i) => {
      const row = rows[i]
      if (cells === null || row === undefined) return []
      return [{ id: row.id, version: isChanged ? merged.version : row.version, cells }]
    }),
    ...expected.added.map((index, i) => ({
      id: merged.addedRowIds.get(i),
      version: merged.version,
      cells: input[index] ?? new Map(),
    })),
  ]
  await expectRows(table, wanted)

  const again = await table.merge({ rows: source(), ...rules })
  expect(again).toMatchObject({
    version: merged.version,
    added: 0,
    changed: 0,
    unchanged: input.length,
    removed: 0,
  })
  await expectRows(table, wanted)
}

async function putChunks(
  store: Store,
  input: readonly Cells[],
  columns: readonly string[],
  random: Seeded,
): Promise<void> {
  const stash = store.team('t').stash('s')
  const size = random.pick([1, 7, 50])
  let serial = 0
  for (let at = 0; at < Math.max(1, input.length); at += size) {
    await stash.put(serial++, { json: bodyOf(input.slice(at, at + size), columns) })
  }
}

/**
 * Columns that are dropped at some moment: one that the merge does not name, and one that is added again without cells.
 */
class Drops {
  readonly hasGone: boolean
  /** The moment: after the create, after the add, after the changes of rows, or after garbage collection. */
  readonly moment: number
  /** The column that is added again. */
  readonly lost: string | null
  /** The version that dropped the last column: all rows have it, unless they were written later. */
  version = 0

  constructor(random: Seeded) {
    this.hasGone = random.once(2)
    this.moment = random.below(4)
    this.lost = random.once(3) ? random.pick(SCHEMA.columns).id : null
  }

  get schema() {
    return this.hasGone ? { columns: [...SCHEMA.columns, GONE] } : SCHEMA
  }

  with(cells: Cells): Cells {
    if (!this.hasGone || this.version > 0) return cells
    return new Map(cells).set('gone', { token: '"gone"', means: 'text gone' })
  }

  async at(moment: number, table: Table, rows: StoredRow[]): Promise<void> {
    if (moment !== this.moment) return
    if (this.hasGone) this.version = (await table.alter({ schema: SCHEMA, drop: ['gone'] })).version
    if (this.lost !== null) {
      const columns = SCHEMA.columns.filter(({ id }) => id !== this.lost)
      this.version = (await table.alter({ schema: { columns }, drop: [this.lost] })).version
      await table.alter({ schema: SCHEMA })
    }
    for (const [i, { id, version, cells }] of rows.entries()) {
      const left = new Map([...cells].filter(([column]) => column !== this.lost))
      rows[i] = { id, version: Math.max(version, this.version), cells: left }
    }
  }
}

async function makeTable(
  store: Store,
  random: Seeded,
  before: readonly Cells[],
  drops: Drops,
): Promise<{ table: Table; rows: StoredRow[] }> {
  const team = store.team('t')
  const half = random.below(before.length + 1)
  const textOf = (cells: readonly Cells[]) =>
    bodyOf(
      cells.map((row) => drops.with(row)),
      [],
    )
  const { tableId, rowIds } = await team.createTable({
    name: 't',
    schema: drops.schema,
    rows: { json: textOf(before.slice(0, half)) },
  })
  const table = team.table(tableId)
  const all: StoredRow[] = before
    .slice(0, half)
    .map((cells, i) => ({ id: rowIds.get(i), version: 1, cells }))
  await drops.at(0, table, all)
  const more = await table.addRows({ json: textOf(before.slice(half)) })
  for (const [i, cells] of before.slice(half).entries()) {
    all.push({ id: more.rowIds.get(i), version: more.version, cells })
  }
  await drops.at(1, table, all)
  const rows: StoredRow[] = []
  for (const row of all) {
    if (random.once(10)) await table.deleteRow(row.id)
    else if (random.once(6)) {
      const n = random.below(100)
      const { version } = await table.updateRow(row.id, { n })
      const value = { token: String(n), means: `number ${n}` }
      rows.push({ id: row.id, version, cells: new Map(row.cells).set('n', value) })
    } else rows.push(row)
  }
  await drops.at(2, table, rows)
  if (random.once(2)) await store.maintain()
  await drops.at(3, table, rows)
  return { table, rows }
}

const GONE = { id: 'gone', type: 'string' } as const

async function expectRows(table: Table, wanted: readonly StoredRow[]): Promise<void> {
  const found: RowWithId[] = []
  for await (const row of table.scan({ numbers: 'text' })) found.push(row)
  expect(found.map(({ $rowID }) => $rowID)).toEqual(wanted.map(({ id }) => id))
  for (const [i, { id, version, cells }] of wanted.entries()) {
    const { $rowID: _, ...read } = found[i] ?? { $rowID: '' }
    expect(readMeaning(read), `row ${i}`).toBe(meaningOf(cells))
    expect((await table.get(id))?.version, `version of row ${i}`).toBe(version)
  }
}

/** The values of a row that was read. */
function readMeaning(row: Readonly<Record<string, unknown>>): string {
  const cells = new Map<string, { token: string; means: string }>()
  for (const [id, value] of Object.entries(row))
    cells.set(id, { token: '', means: meansOf(id, value) })
  return meaningOf(cells)
}

function meansOf(id: string, value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((element) => meansOf('', element)).join(',')}]`
  if (typeof value === 'boolean') return String(value)
  if (id === 'm' || id === 'n') return `number ${plainNumber(String(value))}`
  return `text ${String(value)}`
}

function plainNumber(token: string): string {
  return /^[0-9]{16,}$/.test(token) ? token : String(Number(token))
}
