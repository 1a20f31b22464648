// Which rows come first in an order, of versions of tables: the rows of sorted pages, and how many rows match.

/** The rows of one version of a table in an order. */
export type SortedList = Readonly<{
  /** The first rows of the order, or all: the position of each as one number. */
  places: Float64Array
  /** How many rows match. */
  total: number
}>

/** Rows that are sorted for pages however small the cache is. */
const ROWS_MIN = 1_048_576

/** Rows that are sorted, at most. */
export const SORTED_ROWS_MAX = 16_777_216

const PLACE_BYTES = 8

/** Memory of an entry beside its places, in bytes, estimated. */
const ENTRY_BYTES = 400

/** Lists by table, version and query: those that were not asked for longest are dropped first. */
export class SortedLists {
  hits = 0
  misses = 0
  #bytes = 0
  readonly #bytesMax: number
  readonly #lists = new Map<string, SortedList>()

  /** @param bytesMax - Size of the cache, in bytes, at most; 0 caches nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Rows of a list that is made for one page: one that is not kept is made for each. */
  get rowsMax(): number {
    const fitting = Math.floor((this.#bytesMax - ENTRY_BYTES) / PLACE_BYTES)
    return Math.min(SORTED_ROWS_MAX, Math.max(ROWS_MIN, fitting))
  }

  get(key: string): SortedList | undefined {
    const list = this.#lists.get(key)
    if (list === undefined) {
      this.misses++
      return undefined
    }
    this.hits++
    this.#lists.delete(key)
    this.#lists.set(key, list)
    return list
  }

  set(key: string, list: SortedList): void {
    this.#delete(key)
    if (sizeOf(list) > this.#bytesMax) return
    this.#lists.set(key, list)
    this.#bytes += sizeOf(list)
    for (const oldest of this.#lists.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.#delete(oldest)
    }
  }

  #delete(key: string): void {
    const list = this.#lists.get(key)
    if (list === undefined) return
    this.#lists.delete(key)
    this.#bytes -= sizeOf(list)
  }
}

function sizeOf({ places }: SortedList): number {
  return PLACE_BYTES * places.length + ENTRY_BYTES
}
