import type { Soon } from '../base/soon.js'
import type { KvPartition, KvView } from './kv.js'

/** Reads as `readSoon` of a partition does, or as `read` where there is nothing of the kind. */
export function readSoon<T>(partition: KvPartition, use: (view: KvView) => Soon<T>): Soon<T> {
  return partition.readSoon === undefined ? partition.read(use) : partition.readSoon(use)
}
