// Immutable records in key order. A batch creates new ones, so a snapshot is a reference.
import { compareBytes } from '../../../src/base/bytes.js'

export type StoredRecord = Readonly<{ key: Uint8Array; value: Uint8Array }>
export type SortedRecords = readonly StoredRecord[]

export type RecordChange =
  | Readonly<{ type: 'put'; key: Uint8Array; value: Uint8Array }>
  | Readonly<{ type: 'del'; key: Uint8Array }>

export const NO_RECORDS: SortedRecords = []

/** The index of the first record whose key is at least this key. */
export function lowerBound(records: SortedRecords, key: Uint8Array): number {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const record = records[middle]
    if (record !== undefined && compareBytes(record.key, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

export function findRecord(records: SortedRecords, key: Uint8Array): StoredRecord | undefined {
  const record = records[lowerBound(records, key)]
  return record !== undefined && compareBytes(record.key, key) === 0 ? record : undefined
}

/** The records after a batch. Of several changes of one key the last applies. */
export function applyBatch(
  records: SortedRecords,
  changes: readonly RecordChange[],
): SortedRecords {
  const sorted = changes
    .map((change, order) => ({ change, order }))
    .sort((left, right) => {
      const byKey = compareBytes(left.change.key, right.change.key)
      return byKey === 0 ? left.order - right.order : byKey
    })
  const next: StoredRecord[] = []
  let at = 0
  for (const [index, { change }] of sorted.entries()) {
    const following = sorted[index + 1]?.change
    if (following !== undefined && compareBytes(following.key, change.key) === 0) continue
    const place = lowerBound(records, change.key)
    while (at < place) at = take(records, at, next)
    const there = records[at]
    if (there !== undefined && compareBytes(there.key, change.key) === 0) at++
    if (change.type === 'put') next.push({ key: change.key, value: change.value })
  }
  while (at < records.length) at = take(records, at, next)
  return next
}

function take(records: SortedRecords, at: number, into: StoredRecord[]): number {
  const record = records[at]
  if (record !== undefined) into.push(record)
  return at + 1
}
