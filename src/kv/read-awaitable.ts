import type { Awaitable } from '../base/awaitable.js'
import type { KvPartition, KvView } from './kv.js'

/** Reads with a partition's `readAwaitable`, or with `read` if it has none. */
export function readAwaitable<T>(
  partition: KvPartition,
  use: (view: KvView) => Awaitable<T>,
): Awaitable<T> {
  return partition.readAwaitable === undefined ? partition.read(use) : partition.readAwaitable(use)
}
