// The same seeded operations on a store and on SQLite. A failing list is shortened.
import type { StoreOptions } from '../../../src/index.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { Mismatch, show } from '../model/operation.js'
import type { Limits } from '../model/oracle.js'
import { memoryMedium, World } from '../model/world.js'
import { Both } from './both.js'
import { anyOperations, type Operation } from './operations.js'
import type { SqlEngine } from './sql-js.js'
import { SqliteTwin } from './twin.js'

const HOUR_MS = 3_600_000

/** Small sizes, so that small tables have records, segments of several extents, and compactions. */
function anyOptions(random: Seeded): StoreOptions & Limits {
  return {
    inlineRowsMax: random.pick([0, 2, 1_000]),
    inlineBytesMax: random.pick([100, 262_144]),
    segmentRowsMax: random.pick([1, 4, 65_536]),
    segmentBytesMax: random.pick([1_024, 4_194_304]),
    pageRowsMax: random.pick([3, 100]),
    pageBytesMax: 16_777_216,
    cacheBytesMax: random.pick([0, 2_000, 16_777_216]),
    maintenance: { compactionRecordsMin: random.pick([1, 3, 64]) },
    overwrittenRowSetsMax: random.pick([0, 2]),
    orphanGraceMs: 0,
    overwrittenRowsTtlMs: HOUR_MS,
    historyRetentionMs: 0,
    stashTtlMs: 48 * HOUR_MS,
    idempotencyTtlMs: 24 * HOUR_MS,
    compression: random.once(20) ? 'deflate' : 'none',
  }
}

/** @throws {Mismatch} at the first operation after which the two differ */
async function runBoth(
  engine: SqlEngine,
  seed: number,
  options: StoreOptions & Limits,
  operations: readonly Operation[],
): Promise<void> {
  const world = await World.open(memoryMedium(), { instances: 1, keyed: false, options }, seed)
  const twin = new SqliteTwin(engine)
  try {
    const both = new Both(world, twin)
    for (const operation of operations) {
      await both.run(operation)
      await both.compareDumps()
    }
    await both.compareRows()
  } finally {
    twin.close()
    await world.remove()
  }
}

/** @throws {Mismatch} if the store and SQLite differ, with the shortest list of operations found */
export function compareWithSqlite(
  engine: SqlEngine,
): (seed: number, trace: string[]) => Promise<void> {
  return async (seed, trace) => {
    const random = seeded(seed)
    const options = anyOptions(random)
    const run = (operations: readonly Operation[]): Promise<Mismatch | null> =>
      runBoth(engine, seed, options, operations).then(
        () => null,
        (failure: unknown) => {
          if (failure instanceof Mismatch) return failure
          throw failure
        },
      )
    const operations = anyOperations(random)
    const failure = await run(operations)
    if (failure === null) return
    const shortest = await shorten(operations, async (list) => (await run(list)) !== null)
    trace.push(show(options), ...shortest.map(show))
    throw (await run(shortest)) ?? failure
  }
}

/** Omits one operation after another, as long as the list still fails. */
async function shorten(
  operations: readonly Operation[],
  fails: (list: readonly Operation[]) => Promise<boolean>,
): Promise<readonly Operation[]> {
  let shortest = operations
  for (let at = operations.length - 1; at >= 0; at--) {
    const shorter = shortest.toSpliced(at, 1)
    if (await fails(shorter)) shortest = shorter
  }
  return shortest
}
