// The same operations on stores with other options: their answers, and the content afterwards.
import type { StoreOptions, Table } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { Mismatch, show } from '../model/operation.js'
import { dump } from './fault-loop.js'
import { SETTLES, type SimOptions, SimWorld } from './world.js'

const HOUR_MS = 3_600_000

/** Options without a visible effect. */
export type MetaVariant = SimOptions & Readonly<{ reopens: boolean; ends: boolean; runs: boolean }>

function anyVariant(random: Seeded): MetaVariant {
  const store: StoreOptions = {
    inlineRowsMax: random.pick([0, 1, 2, 1_000]),
    inlineBytesMax: random.pick([0, 40, 262_144]),
    segmentRowsMax: random.pick([1, 2, 3, 65_536]),
    segmentBytesMax: random.pick([1_024, 4_194_304]),
    cacheBytesMax: random.pick([0, 1_000, 16_777_216]),
    maintenance: { compactionRecordsMin: random.pick([1, 2, 64]) },
    overwrittenRowSetsMax: random.pick([0, 2]),
    orphanGraceMs: random.pick([0, HOUR_MS]),
    stashTtlMs: 30 * 24 * HOUR_MS,
  }
  return {
    store: {
      ...store,
      valueFilters: store.segmentRowsMax === 2,
      ...(store.cacheBytesMax === 0 && {
        ...SETTLES,
        maintenance: joinedMaintenance(store.maintenance, SETTLES.maintenance),
      }),
    },
    disk: {
      seed: random.below(1_000),
      model: random.pick(['leveldb', 'prefix'] as const),
      logBytesMax: random.pick([100, 1_000_000]),
      getSync: random.once(2),
    },
    kv: {
      commitRecordsMin: random.pick([1, 65_536]),
      checkpointBatches: random.pick([1, 3, 1_024]),
      recordCacheBytes: random.pick([0, 500, 4_194_304]),
      durability: 'commit',
    },
    reopens: random.once(2),
    ends: random.once(3),
    runs: random.once(3),
  }
}

const VARIANTS = 3
const OPERATIONS_MIN = 4
const OPERATIONS_MORE = 12

/** @throws {Mismatch} if two stores that differ only in their options differ visibly */
export async function compareVariants(seed: number, trace: string[]): Promise<void> {
  const random = seeded(seed)
  for (let i = 0; i < 4; i++) random.below(2)
  const operationSeed = random.below(2 ** 30)
  let first: string | undefined
  for (let i = 0; i < VARIANTS; i++) {
    const variant = anyVariant(random)
    const transcript = await runVariant(operationSeed, variant)
    first ??= transcript
    if (transcript === first) continue
    trace.push(show(variant))
    throw new Mismatch(`Under one set of options\n${first}\nand under another\n${transcript}`)
  }
}

async function runVariant(seed: number, variant: MetaVariant): Promise<string> {
  const world = new SimWorld(variant, 1)
  const random = seeded(seed)
  const lines: string[] = []
  await world.open()
  try {
    const count = OPERATIONS_MIN + random.below(OPERATIONS_MORE)
    for (let n = 0; n < count; n++) {
      lines.push(await answerOf(world, anyOperation(random, n)))
      if (variant.runs) await world.store.maintain()
      if (!variant.ends) continue
      await world.end(true)
      await world.open()
    }
    lines.push(await dump(world), await rowVersions(world))
  } finally {
    world.disk.crash('process')
  }
  return lines.join('\n')
}

type MetaOperation = Readonly<{ text: string; run(world: SimWorld): Promise<unknown> }>

async function answerOf(world: SimWorld, { text, run }: MetaOperation): Promise<string> {
  try {
    const value = (await run(world)) as Readonly<{ version?: number; rowIds?: { length: number } }>
    return `${text}: version ${value?.version}, ${value?.rowIds?.length} rows`
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    const { code, row, column, chunk } = failure
    return `${text}: ${show({ code, row, column, chunk })}`
  }
}

/** All choices are made before anything is done: no answer changes what comes next. */
function anyOperation(random: Seeded, n: number): MetaOperation {
  const [kind, table, row] = [random.below(13), random.below(3), random.below(8)]
  const rows = anyRows(random, n)
  const onSchemaError = random.pick(['abort', 'dropColumns', 'updateSchema'] as const)
  const stash = `s${random.below(2)}`
  const serial = String(random.below(3))
  const usesStash = random.once(3)
  const change = (name: string, run: (target: Table) => Promise<unknown>): MetaOperation => {
    const text = `${n}: ${name} table ${table}`
    return { text, run: async (world) => run(await tableAt(world, table)) }
  }
  if (kind < 2) {
    const run: MetaOperation['run'] = ({ team }) => {
      return team.createTable({
        name: `t${n}`,
        rows: usesStash ? team.stash(stash) : rows,
        onSchemaError,
      })
    }
    return { text: `${n}: create`, run }
  }
  if (kind < 4) {
    return { text: `${n}: put`, run: ({ team }) => team.stash(stash).put(serial, rows) }
  }
  if (kind < 7) return change('add to', (target) => target.addRows(rows, { onSchemaError }))
  if (kind < 9) {
    return change('overwrite', async (target) => {
      // Some rows are sent back, and keep their IDs.
      const kept = row < 4 ? (await target.page()).rows.slice(row) : []
      return target.overwrite({ rows: [...kept, ...rows], onSchemaError })
    })
  }
  if (kind < 11) {
    const [cells = {}] = rows
    return change(`update row ${row} of`, async (target) => {
      return target.updateRow(await rowIdAt(target, row), cells, { onSchemaError })
    })
  }
  return change(`delete row ${row} of`, async (target) => {
    return target.deleteRow(await rowIdAt(target, row))
  })
}

function anyRows(random: Seeded, n: number): Readonly<Record<string, unknown>>[] {
  const values: readonly unknown[] = [n, `text ${n}`, true, null, [n], '2026-01-02', 1.5]
  return Array.from({ length: random.below(5) }, () => {
    return { a: random.pick(values), b: `b${n}`, ...(random.once(3) && { c: random.pick(values) }) }
  })
}

async function tableAt({ team }: SimWorld, index: number): Promise<Table> {
  const tables = await team.tables()
  return team.table(tables[index]?.id ?? '00000000-0000-4000-8000-000000000000')
}

async function rowIdAt(table: Table, index: number): Promise<string> {
  const { rows } = await table.page()
  return rows[index % Math.max(1, rows.length)]?.$rowID ?? 'AAAAAAAAAAAAAAAAAAAAAA'
}

/** The version of each row, read by its ID. */
async function rowVersions({ team }: SimWorld): Promise<string> {
  const lines: string[] = []
  for (const { id, name } of await team.tables()) {
    const table = team.table(id)
    const versions: number[] = []
    for await (const { $rowID } of table.scan())
      versions.push((await table.get($rowID))?.version ?? 0)
    lines.push(`${name} ${versions.join()}`)
  }
  return lines.join('\n')
}
