import type { Awaitable } from '../base/awaitable.js'
import type { KvPartition, KvView } from './kv.js'

/** Reads as `readAwaitable` of a partition does, or as `read` where there is nothing of the kind. */
export function readAwaitable<T>(
  partition: KvPartition,
  use: (view: KvView) => Awaitable<T>,
): Awaitable<T> {
  return partition.readAwaitable === undefined ? partition.read(use) : partition.readAwaitable(use)
}
