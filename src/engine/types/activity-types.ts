/** Lookups in a cache since the store was opened. */
export type CacheLookups = Readonly<{ name: string; hits: number; misses: number }>

/** A class of a histogram: how many were at most `max` and more than the `max` before it. */
export type SizeClass = Readonly<{ max: number; count: number }>

/** Bytes that are in use, by what they belong to. */
export type BytesHeld = Readonly<{
  /** Segments of tables, with overwritten rows that are still kept. */
  rows: number
  /** Segments of stashes that belong to no table. */
  stashes: number
  /** Files, in bytes. */
  files: number
  /** Received bytes of uploads that are not completed. */
  uploads: number
}>

/** What a store does beside its calls, and its backups. */
export type MaintenanceKind = 'garbageCollection' | 'compaction' | 'recompression' | 'backup'

/**
 * What a store has done since it was opened, and what it held at its last garbage collection. All numbers but
 * `jobsRunning` and `bytesHeld` only grow.
 */
export type StoreActivity = Readonly<{
  /** Rows that were read from inputs, also by checks and by operations that failed later, and updated rows. */
  rowsIn: number
  /** Rows in pages, scans and single reads. */
  rowsOut: number
  /** Commits to the key-value store; 0 if it does not report its groups. */
  commits: number
  /** Time that writing groups of commits took, in milliseconds. */
  commitMs: number
  /** Groups of commits by their number of commits. The `max` of the last class is infinite. */
  groupSizes: readonly SizeClass[]
  /** Compacted extents. */
  compactions: number
  /** Segments that were compressed after some time. */
  recompressed: number
  /** Garbage collections that ended, those of files included. */
  collections: number
  /** What garbage collections deleted, by kind. */
  collected: Readonly<
    Record<'objects' | 'stashes' | 'generations' | 'files' | 'uploads' | 'jobs', number>
  >
  /**
   * When the last garbage collection ended, the last look for rows to compact or to recompress, and the last whole
   * backup, in milliseconds since 1970. Absent: none has ended in this process since it opened the store.
   */
  endedAt: Readonly<Partial<Record<MaintenanceKind, number>>>
  /** Jobs that this process works on now, or that wait for their turn here. */
  jobsRunning: number
  /** Bytes that were written, by kind: records of the key-value store, segments of rows, and files. */
  bytesWritten: Readonly<{ records: number; segments: number; files: number }>
  /** Bytes of segments that were read for pages and single reads. */
  segmentBytesRead: number
  /** Segments that searches left unread, as what they know of their values says that no row matches. */
  segmentsSkipped: number
  /**
   * Bytes that records named when the last garbage collection counted them, as they are stored: compressed, and without
   * the records of the key-value store. Each object counts once. undefined: no garbage collection has ended yet, or
   * another process that shares the store counts them.
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
