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
