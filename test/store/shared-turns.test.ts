// Goal: on a shared store, a change that read before its turn never undoes what others did since. Changes that are
// committed together each have their effect.
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryObjects, openLevelKv, openStore, type Table } from '../../src/index.js'
import type { KvStore, ObjectStore } from '../../src/ports.js'
import { Counter, countingKv } from './counting-kv.js'
import { Hooks, hookedKv, hookedObjects } from './hooked-ports.js'

const SCHEMA = {
  columns: [
    { id: 'x', type: 'number' },
    { id: 'y', type: 'number' },
  ],
} as const
const ROWS = Array.from({ length: 2_000 }, () => ({ x: 0, y: 0 }))
const CHANGES = 40

/** A separate process: it has nothing in memory, so that a text is always read from its object. */
class Process {
  readonly hooks = new Hooks()
  readonly counter = new Counter()
  #tableOf: ((tableId: string) => Table) | undefined

  static async open(kv: KvStore, objects: ObjectStore): Promise<Process> {
    const opened = new Process()
    const store = await openStore({
      kv: countingKv(hookedKv(kv, opened.hooks, true), opened.counter),
      objects: hookedObjects(objects, opened.hooks),
      cacheBytesMax: 0,
      maintenance: false,
    })
    onTestFinished(() => store.close())
    opened.#tableOf = (tableId) => store.team('t').table(tableId)
    return opened
  }

  table(tableId: string): Table {
    if (this.#tableOf === undefined) throw new Error('The process is open')
    return this.#tableOf(tableId)
  }
}

/** Two processes on one table, and the IDs of its first rows. */
async function openTwo() {
  const kv = await openLevelKv(
    new MemoryLevel<Uint8Array, Uint8Array>({ keyEncoding: 'view', valueEncoding: 'view' }),
  )
  const objects = memoryObjects()
  const maker = await openStore({
    kv: hookedKv(kv, new Hooks(), true),
    objects: hookedObjects(objects, new Hooks()),
  })
  const { tableId } = await maker.team('t').createTable({ name: 'x', schema: SCHEMA, rows: ROWS })
  await maker.close()
  const one = await Process.open(kv, objects)
  const other = await Process.open(kv, objects)
  const page = await one.table(tableId).page({ limit: 100 })
  const ids = page.rows.map(({ $rowID }) => $rowID)
  const [first = '', second = ''] = ids
  return { one, other, ids, first, second, mine: one.table(tableId), theirs: other.table(tableId) }
}

async function cellsOf(table: Table, id: string): Promise<unknown[]> {
  const found = await table.get(id)
  return [found?.row['x'], found?.row['y'], found?.version]
}

describe('what a change read before its turn', () => {
  test('does not count once another process has changed the table, also under changes of its own', async () => {
    const { one, mine, theirs, first, second } = await openTwo()
    one.hooks.beforeGet(async () => {
      await theirs.updateRow(first, { y: 2 })
      await mine.updateRow(second, { x: 9 })
    })

    const { version } = await mine.updateRow(first, { x: 1 })

    expect(one.hooks.ran).toBe(1)
    expect(version).toBe(4)
    expect(await cellsOf(theirs, first)).toEqual([1, 2, 4])
    expect(await cellsOf(theirs, second)).toEqual([9, 0, 3])
  })

  test('counts under changes of its own process, which are laid over it', async () => {
    const { one, mine, theirs, first } = await openTwo()
    await mine.version()
    one.hooks.beforeGet(async () => void (await mine.updateRow(first, { y: 2 })))

    const costs = await one.counter.of(() => mine.updateRow(first, { x: 1 }))

    expect(one.hooks.ran).toBe(1)
    expect(costs).toMatchObject({ reads: 2, commits: 2 })
    expect(await cellsOf(theirs, first)).toEqual([1, 2, 3])
  })

  test('does not count for a plan that has no effect: it is decided on what is durable', async () => {
    const { one, mine, theirs, first } = await openTwo()
    one.hooks.beforePutInto(
      TABLE_HEAD_SPACE,
      async () => void (await theirs.updateRow(first, { y: 2 })),
    )

    const deleted = await Promise.all([mine.deleteRow(first), mine.deleteRow(first)])

    expect(one.hooks.ran).toBe(1)
    expect(deleted).toContainEqual({ version: 3, deleted: true })
    expect(deleted).toContainEqual({ version: 3, deleted: false })
    expect(await theirs.get(first)).toBeNull()
  })

  test('is looked for again, if it does not show all that the plan asks for', async () => {
    const { one, other, mine, theirs, first } = await openTwo()
    const wide = { columns: [...SCHEMA.columns, { id: 'z', type: 'number' }] } as const
    await theirs.overwrite({ rows: ROWS.slice(0, 3), schema: wide })

    await expect(mine.updateRow(first, { z: 1 })).rejects.toMatchObject({ code: 'ROW_NOT_FOUND' })
    const [{ $rowID: id = '' } = {}] = (await theirs.page()).rows
    await mine.updateRow(id, { z: 1 })

    expect((await theirs.get(id))?.row).toMatchObject({ x: 0, y: 0, z: 1 })
    expect([one.hooks.ran, other.hooks.ran]).toEqual([0, 0])
  })
})

/** See FORMAT.md, section 3. */
const TABLE_HEAD_SPACE = 0x03

test('changes of two processes at once have each an effect and a version of their own', async () => {
  const { one, other, ids, mine, theirs } = await openTwo()
  const changes = ids.slice(0, CHANGES)
  const before = await mine.version()

  const versions = await Promise.all([
    ...changes.map((id) => mine.updateRow(id, { x: 1 })),
    ...changes.map((id) => theirs.updateRow(id, { y: 2 })),
    ...changes.map((n) => mine.addRows([{ x: 3, y: 3 }], { idempotencyKey: `key ${n}` })),
    ...changes.map((n) => theirs.addRows([{ x: 3, y: 3 }], { idempotencyKey: `key ${n}` })),
  ])

  // An add of the same request is a repeat, whichever came first.
  const own = new Set(versions.map(({ version }) => version))
  expect([...own].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 3 * CHANGES }, (_, i) => before + 1 + i),
  )
  expect(await mine.version()).toBe(before + 3 * CHANGES)
  for (const id of changes) expect(await cellsOf(theirs, id)).toMatchObject([1, 2, {}])
  let rows = 0
  for await (const row of theirs.scan()) rows += row['x'] === 3 ? 1 : 0
  expect(rows).toBe(CHANGES)
  expect([one.hooks.ran, other.hooks.ran]).toEqual([0, 0])
})
