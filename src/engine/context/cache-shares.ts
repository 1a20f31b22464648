// How a store divides its memory: its caches share `cacheBytesMax`, its buffer pools share `bufferBytesMax`. README.md
// says what each of them remembers.
//
// Invariant: the shares of an option are rounded down, so together they are never more than the option.

/**
 * Parts of `cacheBytesMax`. With the default each part is a mebibyte, and a cache can hold at least what it held
 * when it had a limit of its own.
 */
const CACHE_PARTS = {
  /** Frames and footers of segments, for point reads. */
  segments: 16,
  /** Rows as JSON. */
  hotRows: 4,
  /** Forward objects. One of more than half the share is read for each look-up, so this is not a small share. */
  forwards: 16,
  /** Parsed schemas: some 1,300 of 30 columns. */
  schemas: 16,
  /** Aliases by team, and teams by alias: half each. */
  aliases: 8,
  /** Records of the key-value store. */
  records: 5,
  /** Extent pages and heads of tables without a commit since the last read. */
  pointReads: 7,
  /** Decoded heads of tables. */
  heads: 2,
  /** Decoded extent entries. */
  extents: 2,
  /** The state of teams: some 1,000. */
  teams: 4,
} as const

/** Parts of `bufferBytesMax`, likewise: 28 of them are the default of 28 MiB. */
const BUFFER_PARTS = {
  /** For building segments. */
  building: 16,
  /** For pieces of segments that are read to be copied from. */
  reading: 4,
  /** Lent to those who serve the store, for what they receive. */
  lent: 8,
} as const

export type CacheName = keyof typeof CACHE_PARTS
export type BufferName = keyof typeof BUFFER_PARTS

/** What each cache holds at most, in bytes. */
export function cacheSharesOf(cacheBytesMax: number): Readonly<Record<CacheName, number>> {
  return sharesOf(CACHE_PARTS, cacheBytesMax)
}

/** What each buffer pool keeps at most, in bytes. */
export function bufferSharesOf(bufferBytesMax: number): Readonly<Record<BufferName, number>> {
  return sharesOf(BUFFER_PARTS, bufferBytesMax)
}

function sharesOf<Name extends string>(
  parts: Readonly<Record<Name, number>>,
  bytesMax: number,
): Readonly<Record<Name, number>> {
  const entries = Object.entries<number>(parts)
  const whole = entries.reduce((sum, [, part]) => sum + part, 0)
  const shares = entries.map(([name, part]) => [name, Math.floor((bytesMax * part) / whole)])
  return Object.freeze(Object.fromEntries(shares)) as Readonly<Record<Name, number>>
}
