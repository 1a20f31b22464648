// A range of records, read whole in bounded batches.
import type { Bytes } from '../base/bytes.js'
import { keyAfter } from './key-range.js'
import type { KeyRange, KvView } from './kv.js'

/** Entries of a batch at most. */
const SCAN_COUNT = 1_000

/** Every entry of a range, in batches: an await for each entry would cost more than the entry. */
export async function* scanBatches(
  view: KvView,
  range: KeyRange,
): AsyncGenerator<[key: Bytes, value: Bytes][]> {
  let { start } = range
  for (;;) {
    const entries = await view.scan({ start, limit: range.limit, count: SCAN_COUNT })
    yield entries
    const last = entries[entries.length - 1]
    if (entries.length < SCAN_COUNT || last === undefined) return
    start = keyAfter(last[0])
  }
}
