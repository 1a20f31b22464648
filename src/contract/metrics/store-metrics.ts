// The metrics of a store: its state, memory and activity.
import type { MemoryUse, StoreActivity } from '../../engine/types/activity-types.js'
import type { Store } from '../../engine/types/store-types.js'
import type { MetricFamily, MetricSample } from './metric-family.js'

type Read = (store: Store) => readonly MetricSample[]

/** Every metric of a store: name after `rowstash_`, type, help, and samples. */
const STORE_METRICS: readonly (readonly [
  name: string,
  type: MetricFamily['type'],
  help: string,
  read: Read,
])[] = [
  ['writable', 'gauge', 'Whether the store accepts changes.', writable],
  ['cache_bytes', 'gauge', 'Memory that a cache holds.', caches(({ bytes }) => bytes)],
  ['cache_bytes_max', 'gauge', 'Memory that a cache may hold.', caches(({ bytesMax }) => bytesMax)],
  ['cache_hits_total', 'counter', 'Lookups that found an entry.', lookups('hits')],
  ['cache_misses_total', 'counter', 'Lookups that found no entry.', lookups('misses')],
  ['buffer_bytes', 'gauge', 'Memory that a buffer pool holds.', buffers(({ bytes }) => bytes)],
  [
    'buffer_bytes_max',
    'gauge',
    'Memory that a buffer pool may hold.',
    buffers(({ bytesMax }) => bytesMax),
  ],
  ['rows_in_total', 'counter', 'Rows that were read from inputs or updated.', rows('rowsIn')],
  ['rows_out_total', 'counter', 'Rows in pages, scans and single reads.', rows('rowsOut')],
  [
    'commits_total',
    'counter',
    'Commits to the key-value store.',
    activityMetric(({ commits }) => commits),
  ],
  [
    'commit_write_seconds_total',
    'counter',
    'Time that writing groups of commits took.',
    activityMetric(({ commitMs }) => commitMs / 1_000),
  ],
  ['commit_group_size', 'histogram', 'Commits in a group, which is one write.', groupSizes],
  [
    'compactions_total',
    'counter',
    'Extents that were compacted.',
    activityMetric(({ compactions }) => compactions),
  ],
  [
    'recompressed_total',
    'counter',
    'Segments compressed later.',
    activityMetric(({ recompressed }) => recompressed),
  ],
  [
    'garbage_collections_total',
    'counter',
    'Garbage collections that ended.',
    activityMetric(({ collections }) => collections),
  ],
  [
    'garbage_collected_total',
    'counter',
    'Items that garbage collections deleted.',
    byKind(({ collected }) => collected),
  ],
  [
    'last_ended_timestamp_seconds',
    'gauge',
    'When the last garbage collection, search for rows to compact or recompress, or backup ended.',
    byKind(({ endedAt }) => inSeconds(endedAt)),
  ],
  [
    'jobs_running',
    'gauge',
    'Jobs that this process works on.',
    activityMetric((now) => now.jobsRunning),
  ],
  [
    'written_bytes_total',
    'counter',
    'Bytes that were written to storage.',
    byKind(({ bytesWritten }) => bytesWritten),
  ],
  [
    'held_bytes',
    'gauge',
    'Bytes in use at the last garbage collection, as they are stored, without records.',
    byKind(({ bytesHeld }) => bytesHeld ?? {}),
  ],
  [
    'segment_read_bytes_total',
    'counter',
    'Bytes of segments that were read for pages and single reads.',
    activityMetric(({ segmentBytesRead }) => segmentBytesRead),
  ],
  [
    'segments_skipped_total',
    'counter',
    'Segments that searches skipped, because no row in them can match.',
    activityMetric(({ segmentsSkipped }) => segmentsSkipped),
  ],
]

export function storeFamilies(store: Store): readonly MetricFamily[] {
  return STORE_METRICS.map(([name, type, help, read]): MetricFamily => {
    return { name: `rowstash_${name}`, type, help, samples: () => read(store) }
  })
}

function writable(store: Store): readonly MetricSample[] {
  return [{ value: store.status().writable ? 1 : 0 }]
}

function activityMetric(of: (activity: StoreActivity) => number): Read {
  return (store) => [{ value: of(store.activity()) }]
}

function rows(count: 'rowsIn' | 'rowsOut'): Read {
  return activityMetric((activity) => activity[count])
}

function byKind(of: (activity: StoreActivity) => Readonly<Record<string, number>>): Read {
  return (store) =>
    Object.entries(of(store.activity())).map(([kind, value]) => ({ labels: { kind }, value }))
}

function inSeconds(times: StoreActivity['endedAt']): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(times).map(([kind, ms]) => [kind, ms / 1_000]))
}

function caches(of: (use: MemoryUse) => number): Read {
  return (store) =>
    store.memory().caches.map((use) => ({ labels: { cache: use.name }, value: of(use) }))
}

function buffers(of: (use: MemoryUse) => number): Read {
  return (store) =>
    store.memory().buffers.map((use) => ({ labels: { pool: use.name }, value: of(use) }))
}

function lookups(count: 'hits' | 'misses'): Read {
  return (store) =>
    store.activity().caches.map((cache) => ({ labels: { cache: cache.name }, value: cache[count] }))
}

function groupSizes(store: Store): readonly MetricSample[] {
  const { groupSizes: classes, commits } = store.activity()
  let count = 0
  const samples = classes.map(({ max, count: inClass }): MetricSample => {
    count += inClass
    const le = max === Number.POSITIVE_INFINITY ? '+Inf' : max
    return { labels: { le }, value: count, suffix: '_bucket' }
  })
  return [...samples, { value: commits, suffix: '_sum' }, { value: count, suffix: '_count' }]
}
