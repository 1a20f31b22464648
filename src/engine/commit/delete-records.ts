import { inBatches } from '../../base/batches.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import type { KeyRange, KvCheck, KvPartition } from '../../kv/kv.js'

/** Records deleted in one commit. */
const DELETE_COUNT = 500

/**
 * Deletes records that still have the bytes given; one that has changed stays.
 * @returns how many were deleted.
 */
export async function deleteUnchanged(
  partition: KvPartition,
  records: readonly KvCheck[],
): Promise<number> {
  let deleted = 0
  for (const batch of inBatches(records, DELETE_COUNT)) {
    let left = batch
    while (left.length > 0) {
      const result = await partition.commit({ checks: left, deletes: left.map(({ key }) => key) })
      if (result.ok) break
      const changed = new Set(result.failed.map(({ key }) => toHex(key)))
      left = left.filter(({ key }) => !changed.has(toHex(key)))
    }
    deleted += left.length
  }
  return deleted
}

/** Deletes records, whatever their bytes are by now. */
export async function deleteKeys(partition: KvPartition, keys: readonly Bytes[]): Promise<void> {
  for (const deletes of inBatches(keys, DELETE_COUNT)) await partition.commit({ deletes })
}

/** Deletes a range that nothing reads any more. */
export async function sweepRange(partition: KvPartition, range: KeyRange): Promise<void> {
  while ((await partition.sweep(range, DELETE_COUNT)) === DELETE_COUNT);
}
