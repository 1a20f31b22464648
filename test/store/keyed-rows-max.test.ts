// Goal: an operation with more rows than can be compared by their keys at once is refused, changes nothing, and its
// error tells how to proceed. A table with a key may have any number of rows. The bound is lowered for these tests.
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openMemory, type Store, type Table, type Team } from '../../src/index.js'

const MAX = 8

vi.mock('../../src/engine/keys/keyed-rows-max.js', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  KEYED_ROWS_MAX: 8,
}))

const SCHEMA = {
  columns: [
    { id: 'k', type: 'number' },
    { id: 'v', type: 'string' },
  ],
} as const

function rowsOf(count: number, first = 0): { k: number; v: string }[] {
  return Array.from({ length: count }, (_, n) => ({ k: first + n, v: `v${n}` }))
}

async function open(): Promise<Readonly<{ store: Store; team: Team }>> {
  const store = await openMemory({
    inlineRowsMax: 0,
    segmentRowsMax: 4,
    maintenance: { garbageCollectionIntervalMs: 0 },
  })
  onTestFinished(() => store.close())
  return { store, team: store.team('t') }
}

async function keyed(team: Team, count: number): Promise<Table> {
  const first = rowsOf(Math.min(MAX, count))
  const { tableId } = await team.createTable({ name: 't', schema: SCHEMA, rows: first, key: ['k'] })
  const table = team.table(tableId)
  for (let at = MAX; at < count; at += MAX)
    await table.addRows(rowsOf(Math.min(MAX, count - at), at))
  return table
}

const TOO_MANY = {
  code: 'REQUEST_VALIDATION_ERROR',
  message: expect.stringContaining('add the rows in several operations'),
}

describe('more rows than one operation compares', () => {
  test('a table does not get a key, and another one with the key is made in parts', async () => {
    const { store, team } = await open()
    const { tableId } = await team.createTable({ name: 't', rows: rowsOf(MAX + 1) })
    const table = team.table(tableId)
    const altered = table.alter({ key: ['k'] })
    await expect(altered).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: expect.stringContaining('create a table with the key, and add the rows'),
    })
    expect(await table.info()).toMatchObject({ version: 1, rowCount: MAX + 1 })
    expect((await table.info()).key).toBeUndefined()

    const made = await keyed(team, 3 * MAX + 1)
    expect(await made.get({ k: 3 * MAX })).not.toBeNull()
    await expect(made.addRows([{ k: 0 }])).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE' })
    expect((await store.verify({ full: true })).ok).toBe(true)
  })

  test('rows with an empty cell in the key do not count', async () => {
    const { team } = await open()
    const rows = [...rowsOf(MAX), ...rowsOf(MAX).map(({ v }) => ({ v }))]
    const preflight = await team.preflight({ name: 't', schema: SCHEMA, rows, key: ['k'] })
    const { tableId } = await team.createTable({ name: 't', schema: SCHEMA, rows })

    expect(preflight.rows).toBe(2 * MAX)
    await team.table(tableId).alter({ key: ['k'] })
    expect(await team.table(tableId).get({ k: 1 })).not.toBeNull()
  })

  test('a create, an add and an overwrite are refused, as are their preflights', async () => {
    const { team } = await open()
    const create = { name: 'x', schema: SCHEMA, key: ['k'] } as const
    const stash = team.stash('s')
    await stash.put(0, rowsOf(MAX, 100))
    await stash.put(1, rowsOf(1, 200))
    const table = await keyed(team, 2 * MAX)
    const { version } = await table.info()

    for (const rows of [stash, rowsOf(MAX + 1, 100)]) {
      await expect(team.createTable({ ...create, rows })).rejects.toMatchObject(TOO_MANY)
      await expect(team.preflight({ ...create, rows })).rejects.toMatchObject(TOO_MANY)
      await expect(table.addRows(rows)).rejects.toMatchObject(TOO_MANY)
      await expect(table.overwrite({ rows })).rejects.toMatchObject(TOO_MANY)
      for (const operation of ['add', 'overwrite'] as const) {
        await expect(table.preflight({ rows, operation })).rejects.toMatchObject(TOO_MANY)
      }
    }
    expect(await team.tableNames()).toHaveLength(1)
    expect(await table.info()).toMatchObject({ version, rowCount: 2 * MAX })

    await table.overwrite({ rows: rowsOf(MAX, 100) })
    await table.addRows(rowsOf(1, 200))
    expect(await table.count()).toBe(MAX + 1)
  })

  test('a merge changes any number of rows, and adds so many', async () => {
    const { store, team } = await open()
    const table = await keyed(team, 3 * MAX)
    const changed = rowsOf(3 * MAX).map(({ k }) => ({ k, v: 'changed' }))
    expect(await table.merge({ rows: changed, key: ['k'] })).toMatchObject({ changed: 3 * MAX })
    const { version } = await table.info()

    for (const missing of ['keep', 'delete'] as const) {
      for (const dryRun of [true, false]) {
        const merge = table.merge({ rows: rowsOf(MAX + 1, 100), key: ['k'], missing, dryRun })
        await expect(merge).rejects.toMatchObject(TOO_MANY)
      }
    }
    expect(await table.info()).toMatchObject({ version, rowCount: 3 * MAX })

    await table.merge({ rows: rowsOf(MAX, 100), key: ['k'], missing: 'delete' })
    await table.merge({ rows: rowsOf(1, 200), key: ['k'] })
    expect(await table.count()).toBe(MAX + 1)
    expect((await store.verify({ full: true })).ok).toBe(true)
  })
})
