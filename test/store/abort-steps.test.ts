// Goal: each call that takes a signal ends with ABORTED between two of its steps. After that it changes nothing, holds
// nothing, and can be repeated.
// Method: the steps of a call on the ports are counted. Then the call is made in other stores with the same content,
// and aborted before its first step, and before some of the others.
import { expect, onTestFinished, test } from 'vitest'
import { isStoreError, openStore, type Store, type Table, type Team } from '../../src/index.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import { damageOf } from '../support/damage.js'
import { dumpTeam, fillRichly, RICH_SIZES } from '../support/rich-store.js'
import { turns } from '../support/until.js'
import { runsAll } from '../support/what-runs.js'
import { openStepPorts, Steps } from './step-ports.js'

const REASON = new Error('the user closed the page')
const HOUR_MS = 3_600_000
const ROWS = Array.from({ length: 400 }, (_, n) => ({ n, text: `text ${n}`, odd: n % 2 === 1 }))
const NEW_ROWS = ROWS.map(({ n, text }) => ({ n: n + 1_000, text }))

type World = Readonly<{
  store: Store
  steps: Steps
  clock: TestClock
  team: Team
  table: Table
  /** The IDs of the rows of `table` at version 1. */
  rowIds: readonly string[]
}>

/** A store with work for each duty, and a table of several segments with a history. */
async function openWorld(): Promise<World> {
  const steps = new Steps()
  const clock = testClock()
  const store = await openStore({
    ...(await openStepPorts(steps)),
    ...RICH_SIZES,
    pageRowsMax: 50,
    clock,
    maintenance: { ...RICH_SIZES.maintenance, jobIntervalMs: 0, recompressionAgeMs: 0 },
    overwrittenRowsTtlMs: 0,
    overwrittenRowSetsMax: 0,
    historyRetentionMs: HOUR_MS,
  })
  onTestFinished(() => store.close())
  await fillRichly(store, clock)
  const team = store.team('acme')
  const { tableId, rowIds } = await team.createTable({ name: 'rows', rows: ROWS })
  const table = team.table(tableId)
  await table.updateRows(
    [0, 1, 2, 3, 4, 5, 6].map((at) => ({ rowId: idAt(rowIds, at), cells: { text: 'x' } })),
  )
  await team.stash('rows').put(0, NEW_ROWS)
  await team.stash('rows').put(1, [{ n: -1 }])
  return { store, steps, clock, team, table, rowIds: [...rowIds] }
}

function idAt(rowIds: Readonly<{ get(index: number): string }>, at: number): string {
  return rowIds.get(at)
}

async function toEnd(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of items) count++
  return count
}

/** Rows that arrive one at a time. */
async function* arriving(steps: Steps): AsyncGenerator<(typeof NEW_ROWS)[number]> {
  for (const row of NEW_ROWS) {
    steps.step(false)
    yield row
  }
}

type Options = Readonly<{ signal?: AbortSignal }>

/**
 * What remains after an abort in the middle: everything that was there before, some of it, or the same rows in fewer
 * records.
 */
type Left = 'all' | 'some'

type Call = Readonly<{
  call: (world: World, options: Options) => Promise<unknown>
  left?: Left
  /** Most steps that may follow the abort: those under way at the same time, or belonging together. */
  stepsMax?: number
  /** The code for an invalid signal. Default: REQUEST_VALIDATION_ERROR. */
  code?: string
}>

/** All calls that take a signal, except the import from a URL (abort.test.ts). */
const CALLS: Readonly<Record<string, Call>> = {
  maintain: {
    call: ({ store }, options) => store.maintain(options),
    code: 'OPTION_NOT_ALLOWED',
    stepsMax: 3,
  },
  verify: {
    call: ({ store }, options) => store.verify({ full: true, ...options }),
    code: 'OPTION_NOT_ALLOWED',
  },
  backup: {
    call: ({ store }, options) => toEnd(store.backup(options)),
    code: 'OPTION_NOT_ALLOWED',
  },
  deleteAll: { call: ({ team }, options) => team.deleteAll(options), left: 'some', stepsMax: 3 },
  'alter of a key': {
    call: ({ table }, options) => table.alter({ key: ['n'], ...options }),
    stepsMax: 7,
  },
  'alter of the schema': {
    call: ({ table }, options) => {
      const columns = [{ id: 'n', type: 'number' }] as const
      return table.alter({ schema: { columns }, drop: ['text', 'odd'], ...options })
    },
    stepsMax: 2,
  },
  'alter of the name': {
    call: ({ table }, options) => table.alter({ name: 'y', ...options }),
    stepsMax: 2,
  },
  'deleteRows by a condition': {
    call: ({ table }, options) => table.deleteRows({ where: { odd: true } }, options),
    stepsMax: 3,
  },
  'deleteRows by IDs': {
    call: ({ table, rowIds }, options) => table.deleteRows(rowIds.slice(0, 50), options),
    stepsMax: 3,
  },
  transaction: {
    call: ({ team, table, rowIds }, options) =>
      team.transaction(async (transaction) => {
        const staged = transaction.table(table.id)
        for (const rowId of rowIds.slice(0, 5)) {
          const text = String((await staged.get(rowId))?.row['text'])
          await staged.updateRow(rowId, { text: `${text}!` })
        }
        await staged.addRows(NEW_ROWS)
      }, options),
    stepsMax: 5,
  },
  'preflight of a create': {
    call: ({ team }, options) => {
      return team.preflight({ name: 'x', rows: team.stash('rows'), key: ['n'], ...options })
    },
  },
  'preflight of a create from a body': {
    call: ({ team, steps }, options) => {
      return team.preflight({ name: 'x', rows: arriving(steps), ...options })
    },
  },
  'preflight of an add': {
    call: async ({ team, table }, options) => {
      const rows = team.stash('rows')
      return table.preflight({ rows, operation: 'add', ...options })
    },
  },
  'scan of a past version': { call: ({ table }, options) => toEnd(table.at(1).scan(options)) },
  scan: { call: ({ table }, options) => toEnd(table.scan(options)) },
  find: { call: ({ table }, options) => toEnd(table.find({ odd: true }, options)) },
  count: { call: ({ table }, options) => table.count({ odd: true }, options) },
  changes: { call: ({ table }, options) => toEnd(table.changes({ since: 1, ...options })) },
  toCSV: {
    call: ({ table }, options) => toEnd(table.toCSV(options)),
    code: 'OPTION_NOT_ALLOWED',
  },
  toNDJSON: {
    call: ({ table }, options) => toEnd(table.toNDJSON(options)),
    code: 'OPTION_NOT_ALLOWED',
  },
  createTable: {
    call: ({ team }, options) => {
      return team.createTable({ name: 'x', rows: team.stash('rows'), key: ['n'], ...options })
    },
  },
  addRows: { call: ({ team, table }, options) => table.addRows(team.stash('rows'), options) },
  overwrite: { call: ({ table }, options) => table.overwrite({ rows: NEW_ROWS, ...options }) },
  merge: {
    call: ({ table }, options) => table.merge({ rows: NEW_ROWS, key: ['n'], ...options }),
  },
  'put of a chunk': { call: ({ team }, options) => team.stash('new').put(0, NEW_ROWS, options) },
}

/** The team's content, as others read it. */
async function contentOf({ team }: World): Promise<unknown> {
  const files = await team.files.list()
  return { tables: await dumpTeam(team), stashes: await team.stashes(), files: files.files.length }
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'done'
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    if (failure.code === 'ABORTED') expect(failure.cause).toBe(REASON)
    return failure.code
  }
}

/** Nothing is held: the next garbage collection drops rows that are overwritten now, and the store closes. */
async function checkFree(world: World): Promise<void> {
  const { store, team, clock } = world
  const { tableId } = await team.createTable({ name: 'free', rows: NEW_ROWS })
  await team.table(tableId).overwrite({ rows: [{ n: 1 }] })
  for (const { id } of await team.tables()) {
    if (id !== tableId) await team.table(id).delete()
  }
  clock.pass(2 * HOUR_MS)
  await store.maintain()
  expect((await store.maintain()).generations).toBe(0)
  expect(store.activity().bytesHeld?.rows).toBeLessThan(10_000)
  await checkUndamaged(world)
  await store.close()
}

/** Garbage collection deletes what an aborted call wrote: verify reports it only as information. */
async function checkUndamaged({ store }: World): Promise<void> {
  expect(await damageOf(store)).toEqual([])
}

for (const [
  name,
  { call, left = 'all', code = 'REQUEST_VALIDATION_ERROR', stepsMax = 13 },
] of Object.entries(CALLS)) {
  test(`${name}: a signal that is aborted already changes nothing, and a wrong one is refused`, async () => {
    const world = await openWorld()
    const before = await contentOf(world)
    const { writes } = world.steps
    const signal = AbortSignal.abort(REASON)

    expect(await codeOf(call(world, { signal }))).toBe('ABORTED')

    expect(world.steps.writes).toBe(writes)
    expect(await contentOf(world)).toEqual(before)
    for (const signal of [{ aborted: true }, null, true]) {
      const refused = call(world, { signal } as unknown as Options)
      await expect(refused).rejects.toMatchObject({ code, message: /\bsignal\b.*AbortSignal/ })
    }
    expect(world.steps.writes).toBe(writes)
    await call(world, {})
  })

  test(`${name}: aborted in the middle, it changes nothing more and can be made again`, async () => {
    const counting = await openWorld()
    const first = counting.steps.count
    await call(counting, {})
    const count = counting.steps.count - first
    let aborted = 0
    for (const at of someOf(count)) {
      const world = await openWorld()
      const before = await contentOf(world)
      const { outcome, stepsLeft } = await abortAt(world, at, call)
      expect(stepsLeft, `from step ${at} of ${count} on`).toBeLessThanOrEqual(stepsMax)

      const { writes } = world.steps
      await turns(10)
      expect(world.steps.writes).toBe(writes)
      if (outcome === 'ABORTED') aborted++
      else expect(outcome).toBe('done') // Its commit had begun.
      if (outcome === 'ABORTED' && left === 'all') expect(await contentOf(world)).toEqual(before)
      await checkUndamaged(world)
      if (outcome === 'ABORTED') await call(world, {})
      await checkFree(world)
    }
    expect(aborted).toBeGreaterThan(0)
  })
}

/** Some of the steps of a call. */
function someOf(count: number): readonly number[] {
  const places = runsAll ? [1, 2, 0.3, 0.6, 0.9] : [1]
  return [...new Set(places.map((at) => (at < 1 ? Math.ceil(at * count) : at)))]
}

/** Aborts a call before one of its steps. @returns its outcome, and the number of steps from that one on */
async function abortAt(
  world: World,
  at: number,
  call: Call['call'],
): Promise<Readonly<{ outcome: string; stepsLeft: number }>> {
  const { steps } = world
  const aborting = new AbortController()
  let left = at
  let begun = 0
  steps.onStep = () => {
    if (--left > 0) return
    aborting.abort(REASON)
    begun++
  }
  const outcome = await codeOf(call(world, { signal: aborting.signal }))
  steps.onStep = () => undefined
  return { outcome, stepsLeft: begun }
}
