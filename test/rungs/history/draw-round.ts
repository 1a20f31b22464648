// What a round draws: operations, faults and options of the store.
import type { StoreOptions } from '../../../src/index.js'
import type { Seeded } from '../../support/seeded.js'
import { drawSwarm } from '../../support/swarm.js'
import {
  type FaultName,
  LIBRARY_OPERATIONS,
  type OperationName,
  type RoundSwarm,
} from './history-job.js'
import { ACCOUNTS } from './round-tables.js'

const HOUR_MS = 3_600_000

function drawOptions(random: Seeded): StoreOptions {
  return {
    freeDiskBytesMin: 0,
    inlineRowsMax: random.pick([0, 3, 20, 1_000]),
    segmentRowsMax: random.pick([4, 64, 65_536]),
    cacheBytesMax: random.pick([0, 16_777_216]),
    pageRowsMax: 10_000,
    historyRetentionMs: 24 * HOUR_MS,
    overwrittenRowsTtlMs: random.pick([0, HOUR_MS]),
    compression: random.pick(['none', 'auto']),
    recompression: 'deflate', // On each runtime.
    maintenance: {
      compactionRecordsMin: random.pick([1, 4, 100]),
      compactionIntervalMs: random.pick([0, 10, 200]),
      garbageCollectionIntervalMs: random.pick([0, 50, 500]),
      recompressionIntervalMs: random.pick([0, 50]),
      recompressionAgeMs: 0,
      recompressionSavingMin: 0,
      jobIntervalMs: 200,
    },
  }
}

const TRANSACTIONS = LIBRARY_OPERATIONS.filter((name) => /^(?:transact|audit)/.test(name))
const OTHERS = LIBRARY_OPERATIONS.filter((name) => !TRANSACTIONS.includes(name))

/** Transactions are most of what a process with the store does. */
function drawOperations(random: Seeded): readonly OperationName[] {
  const transactions = drawSwarm(random, TRANSACTIONS)
  return [...Array<typeof transactions>(4).fill(transactions).flat(), ...drawSwarm(random, OTHERS)]
}

/** @param faults - Those that the place knows. */
export function drawRound(
  random: Seeded,
  faults: readonly FaultName[],
  options: StoreOptions,
): RoundSwarm {
  return {
    operations: drawOperations(random),
    faults: random.once(4) ? [] : drawSwarm(random, faults),
    options: { ...drawOptions(random), ...options },
    keyed: ACCOUNTS.filter(() => random.once(2)),
  }
}
