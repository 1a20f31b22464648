// A range of records, read whole in bounded batches.
import type { Bytes } from '../base/bytes.js'
import { keyAfter } from './key-range.js'
import type { KeyRange, KvView } from './kv.js'

/** Entries of a batch at most. */
const BATCH_COUNT = 1_000

/** Bytes of the values of a batch, about: a batch ends with the piece of the database that reaches it. */
const BATCH_BYTES = 4 * 1024 * 1024

/** Every entry of a range, in batches: an await for each entry would cost more than the entry. */
export async function* scanBatches(
  view: KvView,
  range: KeyRange,
): AsyncGenerator<[key: Bytes, value: Bytes][]> {
  let { start } = range
  const bounds = { limit: range.limit, count: BATCH_COUNT, bytesMax: BATCH_BYTES }
  for (;;) {
    const entries = await view.scan({ start, ...bounds })
    yield entries
    const last = entries[entries.length - 1]
    if (last === undefined || isLast(entries)) return
    start = keyAfter(last[0])
  }
}

/** Whether a batch ended at neither of its bounds, so at the end of its range. */
function isLast(entries: readonly (readonly [Bytes, Bytes])[]): boolean {
  if (entries.length >= BATCH_COUNT) return false
  return entries.reduce((bytes, [, value]) => bytes + value.length, 0) < BATCH_BYTES
}
