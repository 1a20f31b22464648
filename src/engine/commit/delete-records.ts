import { inBatches } from '../../base/batches.js'
import { type Bytes, compareBytes, toHex } from '../../base/bytes.js'
import { keyAfter } from '../../kv/key-range.js'
import type { KeyRange, KvCheck, KvCommit, KvPartition } from '../../kv/kv.js'

/** Records deleted in one commit. */
const DELETE_COUNT = 500

/**
 * Deletes the records that still have the given bytes; keeps the records that have changed.
 * @returns the number of deleted records.
 */
export async function deleteUnchanged(
  partition: KvPartition,
  records: readonly KvCheck[],
): Promise<number> {
  const deleted = await commitUnchanged(partition, records, (left) => {
    return { deletes: left.map(({ key }) => key) }
  })
  return deleted.length
}

/**
 * Commits changes of many records that still have the given bytes; leaves out the records that have changed.
 * @returns the records that were unchanged.
 */
export async function commitUnchanged<Record extends KvCheck>(
  partition: KvPartition,
  records: readonly Record[],
  plan: (left: readonly Record[]) => KvCommit,
): Promise<Record[]> {
  const done: Record[] = []
  for (const batch of inBatches(records, DELETE_COUNT)) {
    let left = batch
    while (left.length > 0) {
      const result = await partition.commit({ ...plan(left), checks: left })
      if (result.ok) break
      const changed = new Set(result.failed.map(({ key }) => toHex(key)))
      left = left.filter(({ key }) => !changed.has(toHex(key)))
    }
    done.push(...left)
  }
  return done
}

/** Deletes records, whatever their bytes are now. */
export async function deleteKeys(partition: KvPartition, keys: readonly Bytes[]): Promise<void> {
  for (const deletes of inBatches(keys, DELETE_COUNT)) await partition.commit({ deletes })
}

/**
 * Deletes ranges that nothing reads any longer; no two overlap. A scan of LevelDB steps over every deleted record up
 * to the next existing one, even beyond its range. Therefore one scan passes all ranges once, forwards.
 */
export async function deleteRanges(
  partition: KvPartition,
  ranges: readonly KeyRange[],
): Promise<void> {
  const left = [...ranges].sort((a, b) => compareBytes(b.start, a.start)) // The next range is the last element.
  const limit = left[0]?.limit
  let start = left.at(-1)?.start
  while (start !== undefined && limit !== undefined) {
    const scan = { start, limit, count: DELETE_COUNT, keysOnly: true }
    const keys = (await partition.read((view) => view.scan(scan))).map(([key]) => key)
    const deletes = keys.filter((key) => isInNext(left, key))
    if (deletes.length > 0) await partition.commit({ deletes })
    const last = keys[DELETE_COUNT - 1]
    const next = left.at(-1)?.start
    if (last === undefined || next === undefined) return
    start = compareBytes(next, last) > 0 ? next : keyAfter(last)
  }
}

/**
 * Whether a key is in the next range, the last element. Ranges that end before the key are removed first: keys come in
 * ascending order.
 */
function isInNext(ranges: KeyRange[], key: Bytes): boolean {
  for (;;) {
    const range = ranges.at(-1)
    if (range === undefined) return false
    if (compareBytes(key, range.limit) < 0) return compareBytes(key, range.start) >= 0
    ranges.pop()
  }
}
