// When garbage collection deletes objects: cases exact to a step, and too rare for the model test.
import { expect, test } from 'vitest'
import { KEY_SPACE } from '../../src/format/keys.js'
import { openWorld, rowIdAt } from './retained-files.js'

const GRACE_MS = 600_000

test('an object of a team that came during a garbage collection has its whole grace once nothing names it', async () => {
  const options = {
    orphanGraceMs: GRACE_MS,
    inlineRowsMax: 0,
    maintenance: { compactionRecordsMin: 1 },
  }
  const { store, hooks, clock, objects } = await openWorld(options)
  const team = store.team('new')
  let tableId = ''
  // Teams are listed for the files, for the compactions, and then for everything else.
  const create = async (): Promise<void> => {
    tableId = (await team.createTable({ name: 'x', rows: [{ n: 1 }] })).tableId
  }
  const third = async (): Promise<void> => hooks.beforeScanOf(KEY_SPACE.teamEntry, create)
  const second = async (): Promise<void> => hooks.beforeScanOf(KEY_SPACE.teamEntry, third)
  hooks.beforeScanOf(KEY_SPACE.teamEntry, second)
  await store.maintain()
  expect(hooks.ran).toBe(3)
  const [segment] = await objects.list('')
  const table = team.table(tableId)
  await table.updateRow(await rowIdAt(table, 0), { n: 2 })
  clock.pass(GRACE_MS)

  expect(await store.maintain()).toMatchObject({ compactions: 1, objects: 0 })

  expect(await objects.list('')).toContain(segment)
  clock.pass(GRACE_MS)
  expect(await store.maintain()).toMatchObject({ objects: 1 })
  expect(await objects.list('')).not.toContain(segment)
})
