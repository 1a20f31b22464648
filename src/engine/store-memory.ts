// Reports the size of the caches and buffer pools of a store, with their shares (caches/cache-shares.ts), and what the
// store has done.

import {
  type BufferName,
  bufferSharesOf,
  type CacheName,
  cacheSharesOf,
} from './caches/cache-shares.js'
import type { StoreContext } from './context/store-context.js'
import type { CacheLookups, MemoryUse, StoreActivity, StoreMemory } from './types/activity-types.js'

type Held = Readonly<{ bytes: number }>

const NOTHING: Held = { bytes: 0 }

/** @param teams - The cache of the state of teams. */
export function measureMemory(context: StoreContext, teams: Held): StoreMemory {
  const { kv, options } = context
  const { cacheBytesMax, bufferBytesMax } = options
  const { segments, hotRows, forwards, schemas, aliases, pointReads, heads, extents } = context
  const held: Readonly<Record<CacheName, Held>> = {
    ...{ segments, hotRows, forwards, schemas, aliases, pointReads, heads, extents, teams },
    sorted: context.sortedLists,
    records: kv.cache ?? NOTHING,
  }
  const pools: Readonly<Record<BufferName, Held>> = {
    building: context.buffers,
    reading: context.readBuffers,
    lent: context.lentBuffers,
  }
  const shares = cacheSharesOf(cacheBytesMax)
  const recordBytesMax = kv.cache?.bytesMax ?? shares.records
  const caches = listMemoryUses(held, { ...shares, records: recordBytesMax })
  const buffers = listMemoryUses(pools, bufferSharesOf(bufferBytesMax))
  return {
    cacheBytes: sumUsedBytes(caches),
    cacheBytesMax: cacheBytesMax - shares.records + recordBytesMax,
    bufferBytes: sumUsedBytes(buffers),
    bufferBytesMax,
    caches,
    buffers,
  }
}

type Lookups = Omit<CacheLookups, 'name'>

/** @param teams - The cache of the state of teams. */
export function measureActivity(
  context: StoreContext,
  teams: Lookups,
  jobsRunning: number,
): StoreActivity {
  const { segments, hotRows, forwards, schemas, aliases, pointReads, heads, extents } = context
  const { kv, activity } = context
  const { hits, misses = 0 } = kv.cache ?? {}
  const lookups: Readonly<Partial<Record<CacheName, Lookups>>> = {
    ...{ segments, hotRows, forwards, schemas, aliases, pointReads, heads, extents, teams },
    sorted: context.sortedLists,
    ...(hits !== undefined && { records: { hits, misses } }),
  }
  return {
    ...activity.counted(),
    jobsRunning,
    segmentBytesRead: segments.bytesRead,
    caches: Object.entries(lookups).map(([name, counts]): CacheLookups => {
      return { name, hits: counts.hits, misses: counts.misses }
    }),
  }
}

function listMemoryUses<Name extends string>(
  held: Readonly<Record<Name, Held>>,
  shares: Readonly<Record<Name, number>>,
): readonly MemoryUse[] {
  return Object.entries<number>(shares).map(([name, bytesMax]) => {
    const { bytes } = held[name as Name]
    return { name, bytes, bytesMax }
  })
}

function sumUsedBytes(uses: readonly MemoryUse[]): number {
  return uses.reduce((sum, { bytes }) => sum + bytes, 0)
}
