// Caches sorted lists of rows of table versions: a list has the positions of the first rows in an order, and the number
// of matching rows.

/** The rows of one version of a table in an order. */
export type SortedList = Readonly<{
  /** The positions of the first rows in the order, or of all rows, each as one number. */
  places: Float64Array
  /** The number of matching rows. */
  total: number
}>

/** Minimum number of rows that are sorted for a page, however small the cache is. */
const ROWS_MIN = 1_048_576

/** Maximum number of rows that are sorted. */
export const SORTED_ROWS_MAX = 16_777_216

const PLACE_BYTES = 8

/** Estimated memory of an entry without its places, in bytes. */
const ENTRY_BYTES = 400

/** Lists by table, version and query. The least recently used are dropped first. */
export class SortedLists {
  hits = 0
  misses = 0
  #bytes = 0
  readonly #bytesMax: number
  readonly #lists = new Map<string, SortedList>()

  /** @param bytesMax - Maximum size of the cache, in bytes; 0 caches nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Maximum number of rows of a list that is made for a page. A list too large for the cache is made again for each
   * page.
   */
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
