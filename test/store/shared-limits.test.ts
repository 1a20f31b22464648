// Goal: a team's limit applies approximately to all processes together that share a store, not to each.
import { expect, test } from 'vitest'
import { isStoreError, type Store, type StoreOptions } from '../../src/index.js'
import { EngineWorld, MINUTE_MS } from './engine-world.js'

const PROCESSES = 4
const MAX = 24

/** Longer than a count is used. */
const TURN_MS = 11_000

type Limit = Readonly<{
  options: StoreOptions
  /** Adds one item. */
  add: (store: Store, n: number) => Promise<unknown>
}>

async function addWithKey(store: Store, n: number): Promise<void> {
  const team = store.team('t')
  const [table] = await team.tables()
  await team.table(table?.id ?? '').addRows([{ n }], { idempotencyKey: `key ${n}` })
}

const LIMITS: Readonly<Record<string, Limit>> = {
  stashes: {
    options: { stashesMax: MAX },
    add: (store, n) => store.team('t').stash(`s${n}`).put('0', [{ n }]),
  },
  'idempotency keys': { options: { idempotencyKeysMax: MAX }, add: addWithKey },
  'open uploads': {
    options: { uploadsOpenMax: MAX },
    add: (store) => {
      const upload = { fileName: 'a', contentType: 'text/plain', owner: 'o' }
      return store.team('t').files.createUpload(upload)
    },
  },
}

/** @returns whether it was added; false: a limit refused it */
async function isAdded(adding: Promise<unknown>): Promise<boolean> {
  try {
    await adding
    return true
  } catch (failure) {
    if (isStoreError(failure) && ['LIMIT_EXCEEDED', 'RATE_LIMITED'].includes(failure.code)) {
      return false
    }
    throw failure
  }
}

test.each(Object.entries(LIMITS))(
  '%s of a team are limited for all processes together',
  async (_, { options, add }) => {
    const world = await EngineWorld.create()
    const stores: Store[] = []
    for (let i = 0; i < PROCESSES; i++) stores.push((await world.open(options)).store)
    // Each has a record.
    for (const store of stores) await store.team('t').createTable({ name: 'x', rows: [{ n: 1 }] })
    let added = 0
    for (let n = 0; n < 3 * MAX * PROCESSES; n++) {
      const store = stores[n % PROCESSES]
      if (store !== undefined && (await isAdded(add(store, n)))) added++
      if (n % PROCESSES === 0) await world.pass(TURN_MS)
    }

    expect(added).toBeGreaterThanOrEqual(MAX)
    expect(added).toBeLessThanOrEqual(MAX + PROCESSES)
  },
)

test('one process may use a limit to its end', async () => {
  const world = await EngineWorld.create()
  const [first] = [await world.open({ stashesMax: MAX }), await world.open()]
  for (let n = 0; n < MAX; n++) await first.store.team('t').stash(`s${n}`).put('0', [{ n }])
  const more = first.store
    .team('t')
    .stash('more')
    .put('0', [{ n: 1 }])

  await expect(more).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  await first.store.team('t').stash('s0').delete()
  await world.pass(MINUTE_MS)
  await first.store
    .team('t')
    .stash('more')
    .put('0', [{ n: 1 }])
})
