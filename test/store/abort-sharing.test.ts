// Goal: an abort ends only the caller's own call, also where calls share work: garbage collections that share a run,
// and transactions.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, type Store, StoreError, type Team } from '../../src/index.js'
import { openStepPorts, Steps } from './step-ports.js'

const REASON = new Error('the user closed the page')
const ABORTED = { code: 'ABORTED', cause: REASON }

type Opened = Readonly<{ store: Store; team: Team; steps: Steps }>

async function open(): Promise<Opened> {
  const steps = new Steps()
  const store = await openStore({
    ...(await openStepPorts(steps)),
    maintenance: false,
    inlineRowsMax: 2,
    overwrittenRowsTtlMs: 0,
    overwrittenRowSetsMax: 0,
  })
  onTestFinished(() => store.close())
  return { store, team: store.team('team'), steps }
}

/** A table with overwritten rows, for a garbage collection. */
async function overwritten(team: Team): Promise<string> {
  const rows = Array.from({ length: 100 }, (_, n) => ({ n }))
  const { tableId } = await team.createTable({ name: 'x', rows })
  await team.table(tableId).overwrite({ rows: [{ n: 1 }] })
  return tableId
}

/** Calls `then` before a step from now on. */
function atStep(steps: Steps, at: number, then: () => void): void {
  let left = at
  steps.onStep = () => {
    if (--left === 0) then()
  }
}

test('a garbage collection that others await continues for them', async () => {
  const { store, team, steps } = await open()
  await overwritten(team)
  await delay(2) // past retention
  const aborting = new AbortController()
  atStep(steps, 3, () => aborting.abort(REASON))

  const one = store.maintain({ signal: aborting.signal })
  const other = store.maintain()

  await expect(one).rejects.toMatchObject(ABORTED)
  expect(await other).toMatchObject({ generations: 1 })
})

test('a garbage collection that all have left ends, and one that is called then is another', async () => {
  const { store, team, steps } = await open()
  await overwritten(team)
  await delay(2)
  const [first, second] = [new AbortController(), new AbortController()]
  let next: Promise<unknown> | undefined
  atStep(steps, 3, () => {
    first.abort(REASON)
    second.abort(REASON)
    next = store.maintain()
  })

  const calls = [first, second].map(({ signal }) => store.maintain({ signal }))

  for (const call of calls) await expect(call).rejects.toMatchObject(ABORTED)
  expect(await next).toMatchObject({ generations: 1 })
})

test('a garbage collection that waits for the end of another one does not wait for it after an abort', async () => {
  const { store, team, steps } = await open()
  await overwritten(team)
  await delay(2)
  const [first, second] = [new AbortController(), new AbortController()]
  const ended: string[] = []
  let waiting: Promise<unknown> = Promise.resolve()
  atStep(steps, 2, () => {
    first.abort(REASON)
    waiting = store.maintain({ signal: second.signal }).finally(() => ended.push('waiting'))
    waiting.catch(() => undefined)
    second.abort(REASON)
  })
  const running = store.maintain({ signal: first.signal }).finally(() => ended.push('running'))

  await expect(running).rejects.toMatchObject(ABORTED)
  await expect(waiting).rejects.toMatchObject(ABORTED)
  expect(ended).toEqual(['waiting', 'running'])
  expect(await store.maintain()).toMatchObject({ generations: 1 })
})

test('a transaction that is aborted is not committed, whatever its function does', async () => {
  const { team } = await open()
  const { tableId } = await team.createTable({ name: 'x', rows: [{ n: 1 }] })
  const aborting = new AbortController()
  let calls = 0
  const swallowing = team.transaction(
    async (transaction) => {
      calls++
      await transaction.table(tableId).addRows([{ n: 2 }])
      aborting.abort(REASON)
      const next = transaction.table(tableId).addRows([{ n: 3 }])
      await expect(next).rejects.toMatchObject(ABORTED)
      return 'done'
    },
    { signal: aborting.signal },
  )

  await expect(swallowing).rejects.toMatchObject(ABORTED)
  expect(calls).toBe(1)
  expect(await team.table(tableId).count()).toBe(1)
})

test('a transaction that changes nothing fails all the same if it is aborted', async () => {
  const { team } = await open()
  const { tableId } = await team.createTable({ name: 'x', rows: [{ n: 1 }] })
  const aborting = new AbortController()
  const reading = team.transaction(
    async (transaction) => {
      const version = await transaction.table(tableId).version()
      aborting.abort(REASON)
      return version
    },
    { signal: aborting.signal },
  )

  await expect(reading).rejects.toMatchObject(ABORTED)
})

test('a transaction that waits for its turn is not committed after an abort', async () => {
  const { team, steps } = await open()
  const rows = Array.from({ length: 100 }, () => ({ n: 1 }))
  const { tableId } = await team.createTable({ name: 'x', rows })
  const table = team.table(tableId)
  const aborting = new AbortController()
  let keying: Promise<unknown> = Promise.resolve()
  const waiting = team.transaction(
    async (transaction) => {
      await transaction.table(tableId).addRows([{ n: 2 }])
      keying = table.alter({ key: ['n'] }) // It has its turn, and fails in it.
      keying.catch(() => undefined)
      await new Promise<void>((resolve) => atStep(steps, 1, resolve))
      atStep(steps, 5, () => aborting.abort(REASON)) // while the transaction waits
    },
    { signal: aborting.signal },
  )

  await expect(waiting).rejects.toMatchObject(ABORTED)
  await expect(keying).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE' })
  expect(await table.count()).toBe(100)
})

test('a transaction in conflict is not called again after an abort', async () => {
  const { team } = await open()
  const { tableId } = await team.createTable({ name: 'x', rows: [{ n: 1 }] })
  const table = team.table(tableId)
  const aborting = new AbortController()
  let calls = 0
  const running = team.transaction(
    async (transaction) => {
      calls++
      await transaction.table(tableId).addRows([{ n: 2 }])
      await table.addRows([{ n: 3 }])
      if (calls === 2) aborting.abort(REASON)
    },
    { signal: aborting.signal },
  )

  await expect(running).rejects.toMatchObject(ABORTED)
  expect(calls).toBe(2)
  expect(await table.count()).toBe(3)
})

test("a transaction whose commit has begun ends with the commit's outcome", async () => {
  const { team, steps } = await open()
  const { tableId } = await team.createTable({ name: 'x', rows: [{ n: 1 }] })
  const aborting = new AbortController()
  const { writes } = steps
  steps.onStep = () => {
    if (steps.writes > writes) aborting.abort(REASON)
  }
  const { signal } = aborting
  const result = await team.transaction(
    async (transaction) => {
      await transaction.table(tableId).addRows([{ n: 2 }])
      return 'done'
    },
    { signal },
  )

  expect([result, signal.aborted]).toEqual(['done', true])
  expect(await team.table(tableId).count()).toBe(2)
})

test('a transaction with an unknown outcome reports that, even after an abort', async () => {
  const { team, steps } = await open()
  const { tableId } = await team.createTable({ name: 'x', rows: [{ n: 1 }] })
  const aborting = new AbortController()
  const { writes } = steps
  steps.onStep = () => {
    if (steps.writes === writes) return
    aborting.abort(REASON)
    throw new StoreError('STORAGE_UNAVAILABLE', 'unplugged', { outcome: 'unknown' })
  }
  const running = team.transaction(
    (transaction) => transaction.table(tableId).addRows([{ n: 2 }]),
    { signal: aborting.signal },
  )

  await expect(running).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', outcome: 'unknown' })
  steps.onStep = () => undefined
  await team.table(tableId).addRows([{ n: 3 }])
  expect(await team.table(tableId).count()).toBe(2)
})
