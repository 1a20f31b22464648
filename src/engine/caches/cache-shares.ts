// Divides the memory of a store: its caches share `cacheBytesMax`, its buffer pools share `bufferBytesMax`.
//
// Invariant: the shares of an option are rounded down, so together they never exceed the option.

/** Parts of `cacheBytesMax`. With the default each part is one mebibyte. */
const CACHE_PARTS = {
  /** Frames and footers of segments, for point reads. */
  segments: 16,
  /** Rows as JSON. */
  hotRows: 4,
  /** Forward objects. An object larger than half of this share would be read on each lookup, so the share is large. */
  forwards: 16,
  /** Parsed schemas: about 1,300 schemas of 30 columns. */
  schemas: 16,
  /** Aliases by team, and teams by alias; each has half. */
  aliases: 8,
  /** Records of the key-value store. */
  records: 5,
  /** Heads and extent pages of tables that were read since the last commit. */
  pointReads: 7,
  /** Decoded heads of tables. */
  heads: 2,
  /** Decoded extent entries. */
  extents: 2,
  /** The state of teams: about 1,000 teams. */
  teams: 4,
  /** Lists of sorted rows: two million rows in all lists together. */
  sorted: 16,
} as const

/** Parts of `bufferBytesMax`. With the default of 28 MiB each part is a mebibyte. */
const BUFFER_PARTS = {
  /** For building segments. */
  building: 16,
  /** For reading segments whose bytes are copied afterwards. */
  reading: 4,
  /** Lent to the servers of the store, for request bodies. */
  lent: 8,
} as const

export type CacheName = keyof typeof CACHE_PARTS
export type BufferName = keyof typeof BUFFER_PARTS

/** The limit of each cache, in bytes. */
export function cacheSharesOf(cacheBytesMax: number): Readonly<Record<CacheName, number>> {
  return divideShares(CACHE_PARTS, cacheBytesMax)
}

/** The limit of each buffer pool, in bytes. */
export function bufferSharesOf(bufferBytesMax: number): Readonly<Record<BufferName, number>> {
  return divideShares(BUFFER_PARTS, bufferBytesMax)
}

function divideShares<Name extends string>(
  parts: Readonly<Record<Name, number>>,
  bytesMax: number,
): Readonly<Record<Name, number>> {
  const entries = Object.entries<number>(parts)
  const whole = entries.reduce((sum, [, part]) => sum + part, 0)
  const shares = entries.map(([name, part]) => [name, Math.floor((bytesMax * part) / whole)])
  return Object.freeze(Object.fromEntries(shares)) as Readonly<Record<Name, number>>
}
