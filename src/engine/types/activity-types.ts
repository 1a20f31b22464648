/** Lookups in a cache since the store was opened. */
export type CacheLookups = Readonly<{ name: string; hits: number; misses: number }>

/** A class of a histogram: `count` values are at most `max`, and greater than the `max` of the previous class. */
export type SizeClass = Readonly<{ max: number; count: number }>

/** Bytes in use, by what they belong to. */
export type BytesHeld = Readonly<{
  /** Segments of tables, including overwritten rows that are still kept. */
  rows: number
  /** Segments of stashes that belong to no table. */
  stashes: number
  /** Files, in bytes. */
  files: number
  /** Received bytes of uploads that are not completed. */
  uploads: number
}>

/** The work of a store besides its calls, and its backups. */
export type MaintenanceKind = 'garbageCollection' | 'compaction' | 'recompression' | 'backup'

/**
 * What a store has done since it was opened, and what it held at its last garbage collection. All numbers but
 * `jobsRunning` and `bytesHeld` only grow.
 */
export type StoreActivity = Readonly<{
  /** The number of input rows, including those of checks and of operations that failed later, plus the updated rows. */
  rowsIn: number
  /** Rows in pages, scans and single reads. */
  rowsOut: number
  /** Commits to the key-value store; 0 if the key-value store does not report its groups of commits. */
  commits: number
  /** Time spent on writing groups of commits, in milliseconds. */
  commitMs: number
  /** Groups of commits by their number of commits. The `max` of the last class is infinite. */
  groupSizes: readonly SizeClass[]
  /** Compacted extents. */
  compactions: number
  /** Segments that the recompression has compressed. */
  recompressed: number
  /** Garbage collections that ended, including those of files. */
  collections: number
  /** What garbage collections deleted, by kind. */
  collected: Readonly<
    Record<'objects' | 'stashes' | 'generations' | 'files' | 'uploads' | 'jobs', number>
  >
  /**
   * When the last work of each kind ended, in milliseconds since 1970: a garbage collection, a search for rows to
   * compact or for segments to recompress, or a complete backup. A kind is absent if no such work has ended since this
   * process opened the store.
   */
  endedAt: Readonly<Partial<Record<MaintenanceKind, number>>>
  /** Jobs that this process works on now, including those that wait for their turn here. */
  jobsRunning: number
  /** Bytes written, by kind: records of the key-value store, segments of rows, and files. */
  bytesWritten: Readonly<{ records: number; segments: number; files: number }>
  /** Bytes of segments read for pages and single reads. */
  segmentBytesRead: number
  /** Segments that searches skipped, because their value ranges and filters exclude every match. */
  segmentsSkipped: number
  /**
   * Size of the objects that records named at the last garbage collection. Each object counts once, with its stored
   * size; the records of the key-value store do not count. undefined: no garbage collection has ended yet, or another
   * process of the shared store counts the bytes.
   */
  bytesHeld: BytesHeld | undefined
  /** The lookups of each cache. `records` is present only if the key-value store counts its lookups. */
  caches: readonly CacheLookups[]
}>

/** The size of a cache or a buffer pool and its limit, in bytes. */
export type MemoryUse = Readonly<{ name: string; bytes: number; bytesMax: number }>

/** The memory of the caches and the buffer pools of a store, in bytes. */
export type StoreMemory = Readonly<{
  /** Size of all caches together. Never more than `cacheBytesMax`. */
  cacheBytes: number
  /**
   * Limit of all caches together: the option of this name. If the host gave the key-value store a `recordCacheBytes`
   * of its own, that value replaces the share of the records.
   */
  cacheBytesMax: number
  /** Size of the idle buffers that are kept for reuse. Never more than `bufferBytesMax`. */
  bufferBytes: number
  /** Limit of the idle buffers: the option of this name. */
  bufferBytesMax: number
  /** The size and the limit of each cache. */
  caches: readonly MemoryUse[]
  /** The size and the limit of each buffer pool. */
  buffers: readonly MemoryUse[]
}>
