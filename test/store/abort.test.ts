// Goal: a caller can abort every call that takes rows. Nothing is changed then, and nothing of the input stays open.
import { getEventListeners } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import type { Abortable } from '../../src/engine/types/call-types.js'
import type { RowInput, Store, Team } from '../../src/index.js'
import { openMemory, StoreError } from '../../src/index.js'

const REASON = new Error('the user closed the page')

/** A signal, and a function that aborts it in the next turn of the event loop. */
function abortable(): Readonly<{ signal: AbortSignal; soon: () => void }> {
  const aborting = new AbortController()
  return { signal: aborting.signal, soon: () => void setImmediate(() => aborting.abort(REASON)) }
}

function aborted(what: string): unknown {
  return expect.objectContaining({
    code: 'ABORTED',
    message: `The ${what} was aborted`,
    cause: REASON,
  })
}

async function openTeam(options = {}): Promise<Team> {
  const store: Store = await openMemory(options)
  onTestFinished(() => store.close())
  return store.team('team')
}

/** Two items, after which only an abort ends the wait. */
function stalled<Item>(items: readonly Item[]) {
  const { signal, soon } = abortable()
  const seen = { begun: 0, left: 0 }
  const iterable: AsyncIterable<Item> = {
    [Symbol.asyncIterator]() {
      seen.begun++
      let next = 0
      return {
        next: () => {
          const value = items[next++]
          if (value === undefined) {
            soon()
            return new Promise(() => undefined)
          }
          return Promise.resolve({ value, done: false })
        },
        return: () => {
          seen.left++
          return new Promise(() => undefined) // a source that no longer answers
        },
      }
    },
  }
  return { iterable, seen, signal }
}

function* endless(onBegin: () => void): Generator<RowInput> {
  onBegin()
  for (let a = 0; ; a++) yield { a }
}

/** All calls that take rows, on a table with one row. */
const CALLS = {
  create: (team, _, rows, options) => team.createTable({ name: 'x', rows, ...options }),
  add: (team, id, rows, options) => team.table(id).addRows(rows, options),
  overwrite: (team, id, rows, options) => team.table(id).overwrite({ rows, ...options }),
  merge: (team, id, rows, options) => team.table(id).merge({ rows, key: ['a'], ...options }),
  'put of a chunk': (team, _, rows, options) => team.stash('other').put(0, rows, options),
  preflight: (team, id, rows, options) => team.table(id).preflight({ rows, ...options }),
} satisfies Record<
  string,
  (
    team: Team,
    tableId: string,
    rows: Parameters<ReturnType<Team['table']>['addRows']>[0] &
      Parameters<ReturnType<Team['stash']>['put']>[1],
    options: Abortable,
  ) => Promise<unknown>
>

async function stateOf(team: Team): Promise<unknown> {
  const tables = await team.tables()
  return tables.map(({ id, rowCount, version }) => ({ id, rowCount, version }))
}

for (const [what, call] of Object.entries(CALLS)) {
  test(`${what}: rows that do not come end with the signal, and the source is told`, async () => {
    const team = await openTeam()
    const { tableId } = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
    const before = await stateOf(team)
    const rows = stalled<RowInput>([{ a: 2 }, { a: 3 }])
    const csv = stalled([new TextEncoder().encode('a\n4\n')])

    await expect(call(team, tableId, rows.iterable, { signal: rows.signal })).rejects.toEqual(
      aborted(what),
    )
    const streamed = call(team, tableId, { csv: csv.iterable }, { signal: csv.signal })
    await expect(streamed).rejects.toEqual(aborted(what))

    expect([rows.seen, csv.seen]).toEqual([
      { begun: 1, left: 1 },
      { begun: 1, left: 1 },
    ])
    expect(await stateOf(team)).toEqual(before)
    expect(await team.stash('other').delete()).toBe(false)
  })

  test(`${what}: rows without an end are read no further`, async () => {
    const team = await openTeam()
    const { tableId } = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
    const before = await stateOf(team)

    const { signal, soon } = abortable()
    const calling = call(team, tableId, endless(soon), { signal })

    await expect(calling).rejects.toEqual(aborted(what))

    expect(await stateOf(team)).toEqual(before)
  })

  test(`${what}: a signal that is aborted already reads nothing`, async () => {
    const team = await openTeam()
    const { tableId } = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
    const before = await stateOf(team)
    const signal = AbortSignal.abort(REASON)
    const rows = stalled<RowInput>([{ a: 2 }])

    await expect(call(team, tableId, rows.iterable, { signal })).rejects.toEqual(aborted(what))
    await expect(call(team, tableId, [{ a: 2 }], { signal })).rejects.toEqual(aborted(what))
    await expect(call(team, tableId, { json: '[{"a":2}]' }, { signal })).rejects.toEqual(
      aborted(what),
    )

    expect(rows.seen.begun).toBe(0)
    expect(await stateOf(team)).toEqual(before)
    expect(await team.stash('other').delete()).toBe(false)
  })

  test(`${what}: a call that ends leaves no listener, and a wrong signal is refused`, async () => {
    const team = await openTeam()
    const { tableId } = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
    const { signal } = new AbortController()
    const rows = async function* (): AsyncGenerator<RowInput> {
      yield { a: 2 }
    }

    await call(team, tableId, rows(), { signal })
    await call(team, tableId, { csv: 'a\n3\n' }, { signal })

    expect(getEventListeners(signal, 'abort')).toEqual([])
    const wrong = { signal: { aborted: true } } as unknown as Abortable
    await expect(call(team, tableId, [], wrong)).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: expect.stringContaining('signal must be an AbortSignal'),
    })
  })
}

test('a failure of the source is the error of the call, and the rest of a source is closed', async () => {
  const team = await openTeam()
  const { signal } = new AbortController()
  let isClosed = false
  const failing = async function* (): AsyncGenerator<RowInput> {
    yield { a: 1 }
    throw REASON
  }
  const wrong = async function* (): AsyncGenerator<RowInput> {
    try {
      yield 1 as unknown as RowInput
      yield { a: 1 }
    } finally {
      isClosed = true
    }
  }

  await expect(team.createTable({ name: 'x', rows: failing(), signal })).rejects.toBe(REASON)
  await expect(team.createTable({ name: 'x', rows: wrong(), signal })).rejects.toMatchObject({
    code: 'REQUEST_VALIDATION_ERROR',
  })
  expect(isClosed).toBe(true)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a stash is not used by a call that is aborted', async () => {
  const team = await openTeam()
  const { tableId } = await team.createTable({ name: 'x', rows: [{ a: 1 }] })
  const stash = team.stash('s')
  await stash.put(0, [{ a: 2 }])
  const signal = AbortSignal.abort(REASON)

  await expect(team.table(tableId).addRows(stash, { signal })).rejects.toEqual(aborted('add'))

  expect(await team.table(tableId).count()).toBe(1)
})

test('an import from a URL ends with the signal', async () => {
  const own = abortable()
  const team = await openTeam({
    sources: {
      fetch: (_url: string, _limits: unknown, signal: AbortSignal) =>
        new Promise((_, reject) => {
          own.soon()
          signal.addEventListener('abort', () => {
            reject(new StoreError('ABORTED', 'The fetch was aborted'))
          })
        }),
    },
  })
  const importing = team.importTable({ fromUrl: 'https://example.com/x.csv', signal: own.signal })

  await expect(importing).rejects.toEqual(aborted('import'))
  expect(await team.tables()).toEqual([])
})

test('jobs, and calls within a transaction, take no signal of their own', async () => {
  const team = await openTeam()
  const { signal } = new AbortController()
  const rows = [{ a: 1 }]
  const refused = expect.objectContaining({
    code: 'REQUEST_VALIDATION_ERROR',
    message: expect.stringContaining('takes no "signal"'),
  })
  const create = { name: 'x', rows, signal }

  await expect(team.startJob({ create })).rejects.toEqual(refused)
  await expect(team.transaction((t) => t.createTable(create))).rejects.toEqual(refused)
})
