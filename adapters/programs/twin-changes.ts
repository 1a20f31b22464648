// What was changed in a twin since it was pulled, in bounded memory and whatever the order of its rows.
import type { RowWithId, Table } from '../../src/index.js'
import { type Cells, digestOf, type Pair, type PairTable } from './twin-state.js'

/** Rows that are compared at once. */
const BATCH_ROWS = 1_000

export type TwinChange =
  | Readonly<{ kind: 'changed'; pair: Pair; row: Cells; digest: string }>
  | Readonly<{ kind: 'deleted'; pair: Pair }>
  | Readonly<{ kind: 'added'; rows: readonly RowWithId[] }>

export type ChangeCounts = Readonly<{ changed: number; added: number; deleted: number }>

/** Counts the changes of a table. */
export async function countChanges(local: Table, pairs: PairTable): Promise<ChangeCounts> {
  const counts = { changed: 0, added: 0, deleted: 0 }
  for await (const change of changesOf(local, pairs)) {
    counts[change.kind] += change.kind === 'added' ? change.rows.length : 1
  }
  return counts
}

/** Changed and deleted rows in the order of the pairs, then added ones in the order of the table, 1,000 at most at once. */
export async function* changesOf(local: Table, pairs: PairTable): AsyncGenerator<TwinChange, void> {
  let kept = 0
  for await (const batch of inBatches(pairs.scan())) {
    const known = batch.map((pair) => pair as unknown as Pair)
    const found = await local.getMany(
      known.map((pair) => pair.local),
      { numbers: 'bigint' },
    )
    for (const [at, pair] of known.entries()) {
      const row = found[at]?.row
      if (row === undefined) yield { kind: 'deleted', pair }
      else {
        kept++
        const digest = digestOf(row)
        if (digest !== pair.digest) yield { kind: 'changed', pair, row, digest }
      }
    }
  }
  if ((await local.info()).rowCount > kept) yield* addedTo(local, pairs)
}

/**
 * Rows without a pair. Where both are in one order, as after changes, adds and deletes of rows, those are found by
 * walking both; what is left is looked for among the pairs, 1,000 rows at once.
 */
async function* addedTo(local: Table, pairs: PairTable): AsyncGenerator<TwinChange, void> {
  for await (const batch of inBatches(unaligned(local, pairs))) {
    const ids = batch.map(({ $rowID }) => $rowID)
    const known = new Set<unknown>()
    for await (const pair of pairs.find({ local: { in: ids } })) known.add(pair['local'])
    const rows = batch.filter(({ $rowID }) => !known.has($rowID))
    if (rows.length > 0) yield { kind: 'added', rows }
  }
}

/** Rows that the walk over both does not meet at a pair: all added rows, and maybe others. */
async function* unaligned(local: Table, pairs: PairTable): AsyncGenerator<RowWithId, void> {
  const walk = pairs.scan({ columns: ['local'] })
  let pair = await walk.next()
  for await (const row of local.scan({ numbers: 'bigint' })) {
    // Pairs of deleted rows are passed.
    while (!pair.done && pair.value['local'] !== row.$rowID) {
      if ((await local.get(String(pair.value['local']))) !== null) break
      pair = await walk.next()
    }
    if (!pair.done && pair.value['local'] === row.$rowID) pair = await walk.next()
    else yield row
  }
  await walk.return?.()
}

async function* inBatches<T>(items: AsyncIterable<T>): AsyncGenerator<T[], void> {
  let batch: T[] = []
  for await (const item of items) {
    if (batch.push(item) === BATCH_ROWS) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}
