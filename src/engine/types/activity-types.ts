/** Lookups in a cache since the store was opened. */
export type CacheLookups = Readonly<{ name: string; hits: number; misses: number }>

/** A class of a histogram: the number of values that are at most `max` and greater than the previous `max`. */
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
  /** Rows read from inputs, including those of checks and of operations that failed later, and updated rows. */
  rowsIn: number
  /** Rows in pages, scans and single reads. */
  rowsOut: number
  /** Commits to the key-value store; 0 if it does not report its groups. */
  commits: number
  /** Time spent on writing groups of commits, in milliseconds. */
  commitMs: number
  /** Groups of commits by their number of commits. The `max` of the last class is infinite. */
  groupSizes: readonly SizeClass[]
  /** Compacted extents. */
  compactions: number
  /** Segments that were compressed after some time. */
  recompressed: number
  /** Garbage collections that ended, including those of files. */
  collections: number
  /** What garbage collections deleted, by kind. */
  collected: Readonly<
    Record<'objects' | 'stashes' | 'generations' | 'files' | 'uploads' | 'jobs', number>
  >
  /**
   * When each ended last, in milliseconds since 1970: the garbage collection, the search for rows to compact or
   * segments to recompress, and the complete backup. Absent: none has ended since this process opened the store.
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
   * Stored bytes that records named at the last garbage collection: compressed, and without the records of the
   * key-value store. Each object counts once. undefined: no garbage collection has ended yet, or another process that
   * shares the store counts them.
   */
  bytesHeld: BytesHeld | undefined
  /** All caches; `records` only if the key-value store counts its lookups. */
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
  /** Each cache with its share. */
  caches: readonly MemoryUse[]
  /** Each buffer pool with its share. */
  buffers: readonly MemoryUse[]
}>
