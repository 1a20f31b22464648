/** What a cache, or a pool of buffers, holds now and at most, in bytes. */
export type MemoryUse = Readonly<{ name: string; bytes: number; bytesMax: number }>

/** What the caches and the buffer pools of a store hold, in bytes. */
export type StoreMemory = Readonly<{
  /** What all caches hold together. Never more than `cacheBytesMax`. */
  cacheBytes: number
  /**
   * What they hold at most: the option of this name, unless the host gave the key-value store a `recordCacheBytes` of
   * its own, which then comes instead of the share of the records.
   */
  cacheBytesMax: number
  /** Buffers that are kept for the next use. Never more than `bufferBytesMax`. */
  bufferBytes: number
  /** The option of this name. */
  bufferBytesMax: number
  /** Each cache with its share. */
  caches: readonly MemoryUse[]
  /** Each buffer pool with its share. */
  buffers: readonly MemoryUse[]
}>
