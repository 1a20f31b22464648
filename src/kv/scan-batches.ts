// Reads a whole range of records in bounded batches.
import type { Bytes } from '../base/bytes.js'
import { yieldToEventLoop } from '../base/platform.js'
import { keyAfter } from './key-range.js'
import type { KeyRange, KvScan, KvView } from './kv.js'

/** The maximum number of entries of a batch. */
const BATCH_COUNT = 1_000

/**
 * The approximate number of bytes of values in a batch. A batch ends with the piece of the database that reaches this
 * number.
 */
const BATCH_BYTES = 4 * 1024 * 1024

/** All entries of a range, in batches: to await each entry would cost more than to read it. */
export function scanBatches(
  view: KvView,
  range: KeyRange,
): AsyncGenerator<[key: Bytes, value: Bytes][]> {
  return batches(view, firstBatch(range))
}

/** All keys of a range, in batches. Values are not transferred from another machine. */
export async function* scanKeys(view: KvView, range: KeyRange): AsyncGenerator<Bytes[]> {
  const first = { ...firstBatch(range), keysOnly: true }
  for await (const entries of batches(view, first)) yield entries.map(([key]) => key)
}

async function* batches(view: KvView, first: KvScan): AsyncGenerator<[key: Bytes, value: Bytes][]> {
  let scan = first
  for (;;) {
    const entries = await view.scan(scan)
    yield entries
    const last = entries[entries.length - 1]
    if (last === undefined || isLast(entries)) return
    await yieldToEventLoop() // A database in memory would read all in one turn.
    scan = { ...scan, start: keyAfter(last[0]) }
  }
}

/** The scan of the first batch of a range. */
export function firstBatch({ start, limit }: KeyRange): KvScan {
  return { start, limit, count: BATCH_COUNT, bytesMax: BATCH_BYTES }
}

/** Whether a batch has fewer entries and bytes than its limits, so that it ended at the end of its range. */
function isLast(entries: readonly (readonly [Bytes, Bytes])[]): boolean {
  if (entries.length >= BATCH_COUNT) return false
  return entries.reduce((bytes, [, value]) => bytes + value.length, 0) < BATCH_BYTES
}
