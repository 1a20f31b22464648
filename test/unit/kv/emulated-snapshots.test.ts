// Goal: an emulated snapshot shows one moment, whatever is written and read meanwhile.
// Method: consecutive batches, and snapshots at any time, each read several times during the batches, on a database
// whose reads and writes take a random number of turns.
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { takeWebLock, withSnapshots } from '../../../src/kv/emulated-snapshots.js'
import type { LevelDatabase } from '../../../src/kv/level-database.js'
import { runOptions } from '../../support/fast-check-options.js'
import { plainDatabase } from '../../support/plain-database.js'

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' } as const
const KEYS = 8

type Change = Readonly<{ key: number; value: number | null }>
type State = ReadonlyMap<number, number>

const change = fc.record({
  key: fc.nat({ max: KEYS - 1 }),
  value: fc.option(fc.nat({ max: 255 }), { freq: 3 }),
})
const batch = fc.uniqueArray(change, { selector: ({ key }) => key, minLength: 1, maxLength: 4 })
const reader = fc.record({
  /** Turns until it takes its snapshot. */
  after: fc.nat({ max: 40 }),
  count: fc.integer({ min: 1, max: 3 }),
  reverse: fc.boolean(),
})

function keyOf(key: number): Uint8Array {
  return Uint8Array.of(1, key)
}

/** The records of a snapshot by `getMany`, and by an iterator with pieces of `count`. */
async function readTwice(
  database: LevelDatabase,
  { count, reverse }: Readonly<{ count: number; reverse: boolean }>,
): Promise<{ got: State; scanned: State }> {
  const snapshot = database.snapshot()
  try {
    const keys = Array.from({ length: KEYS }, (_, key) => key)
    const iterator = database.iterator<Uint8Array, Uint8Array>({
      ...VIEWS,
      gte: keyOf(0),
      lt: keyOf(KEYS),
      reverse,
      snapshot,
    })
    const scanned: [number, number][] = []
    for (;;) {
      const entries = await iterator.nextv(count)
      expect(entries.length).toBeLessThanOrEqual(count)
      if (entries.length === 0) break
      for (const [key, value] of entries) scanned.push([key[1] ?? 0, value[0] ?? 0])
    }
    await iterator.close()
    const order = scanned.map(([key]) => (reverse ? -key : key))
    expect(order).toEqual([...order].sort((left, right) => left - right))
    const values = await database.getMany<Uint8Array, Uint8Array>(keys.map(keyOf), {
      ...VIEWS,
      snapshot,
    })
    const got = keys.flatMap((key): [number, number][] => {
      const value = values[key]
      return value === undefined ? [] : [[key, value[0] ?? 0]]
    })
    return { got: new Map(got), scanned: new Map(scanned) }
  } finally {
    await snapshot.close()
  }
}

function after(state: State, changes: readonly Change[]): State {
  const next = new Map(state)
  for (const { key, value } of changes) {
    if (value === null) next.delete(key)
    else next.set(key, value)
  }
  return next
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

test('a snapshot shows one moment, even if it is taken while a batch is written', async () => {
  const inputs = [
    fc.array(batch, { minLength: 1, maxLength: 12 }),
    fc.array(reader, { minLength: 1, maxLength: 6 }),
    fc.infiniteStream(fc.nat({ max: 3 })),
  ] as const
  await fc.assert(
    fc.asyncProperty(...inputs, async (batches, readers, pauses) => {
      const pause = () => turns(pauses.next().value ?? 0)
      const plain = plainDatabase(pause)
      await plain.open()
      const database = withSnapshots(plain)
      let state: State = new Map()
      let coming = state

      async function write(): Promise<void> {
        for (const changes of batches) {
          coming = after(state, changes)
          const operations = changes.map(({ key, value }) =>
            value === null
              ? { type: 'del' as const, key: keyOf(key) }
              : { type: 'put' as const, key: keyOf(key), value: Uint8Array.of(value) },
          )
          await database.batch<Uint8Array, Uint8Array>(operations, VIEWS)
          state = coming
        }
      }

      async function read(wanted: (typeof readers)[number]): Promise<void> {
        await turns(wanted.after)
        const expected = coming // Nothing happens between the end of a batch and the next one.
        const { got, scanned } = await readTwice(database, wanted)
        expect(got).toEqual(expected)
        expect(scanned).toEqual(expected)
      }

      await Promise.all([write(), ...readers.map(read)])
      await database.close()
    }),
    runOptions(300),
  )
})

test('a database with snapshots of its own is left alone', () => {
  const database = { supports: { explicitSnapshots: true } } as LevelDatabase
  expect(withSnapshots(database)).toBe(database)
})

test.each([
  ['a page of plain HTTP, which has no locks, is refused', false, 'STORE_LOCKED'],
  ['a runtime without such pages has no locks either', undefined, undefined],
])('%s', async (_, isSecureContext, code) => {
  vi.stubGlobal('navigator', {})
  vi.stubGlobal('isSecureContext', isSecureContext)
  onTestFinished(() => void vi.unstubAllGlobals())

  const failure: unknown = await takeWebLock('rows').then(
    () => undefined,
    (reason: unknown) => reason,
  )

  expect((failure as { code?: string } | undefined)?.code).toBe(code)
})
