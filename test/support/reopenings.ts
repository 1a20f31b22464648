import { LevelKv } from '../../src/kv/level-kv.js'
import type { KvStore } from '../../src/ports.js'

/** How often a key-value store has reopened its database after a failed write. */
export function reopeningsOf(kv: KvStore): number {
  return kv instanceof LevelKv ? kv.reopenings : 0
}
