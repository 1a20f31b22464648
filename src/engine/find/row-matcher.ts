// Finds the rows of a frame that match a condition.
//
// If the runtime has a fast search of bytes, whole frames are first searched for bytes that every matching row must
// contain, such as the quoted value of an equality. Then only two kinds of rows are tested: rows with a hit, and rows
// that may contain the bytes in another spelling (with escapes, or in characters that fold to the same text).
import type { Bytes } from '../../base/bytes.js'
import { byteSearch, isAscii } from '../../base/platform.js'
import { SkipSearch } from '../../base/skip-search.js'
import type { Frame } from '../../format/segment-reader.js'
import { type Condition, columnsOf } from './condition.js'
import { type Needle, needlesOf } from './needles.js'
import { RowTest } from './row-test.js'

const ESCAPE: Needle = { bytes: Uint8Array.of(0x5c), isFolded: false }

/**
 * If the candidates are more than this share of a frame's rows, all rows of the frame are tested one after the other.
 */
const CANDIDATES_SHARE = 0.25

/** Finds the place of a hit between two places of a text; -1: there is no hit. */
type Search = (bytes: Bytes, from: number, to: number) => number

export class RowMatcher {
  readonly #test: RowTest
  /** The searches: a candidate has a hit in at least one of them; null: nothing is searched for. */
  readonly #searches: readonly Search[] | null

  constructor(condition: Condition) {
    this.#test = new RowTest(condition)
    const needles = byteSearch === null ? null : needlesOf(condition)
    const isFolded = needles?.some((needle) => needle.isFolded) === true
    // To read one cell of each row is faster than to search a frame without regard to case.
    const isSlow = isFolded && columnsOf(condition).size === 1
    const searches = needles === null || isSlow ? null : [...needles, ESCAPE].map(searchFor)
    this.#searches = searches && (isFolded ? [...searches, findWide] : searches)
  }

  /** Maximum number of tests of a row. */
  get tests(): number {
    return this.#test.count
  }

  /** Whether the row with the text from `from` to `to` (not included) matches. @throws {StoreError} DATA_CORRUPT */
  matches(bytes: Bytes, from: number, to: number): boolean {
    return this.#test.passes(bytes, from, to)
  }

  /**
   * The rows of a frame, from `first` to `limit` (not included), that may match, in order; null: all rows may match.
   */
  candidates(frame: Frame, first: number, limit: number): Iterable<number> | null {
    if (this.#searches === null) return null
    const end = frame.endOf(limit - 1)
    const rows = new Set<number>()
    const countMax = CANDIDATES_SHARE * (limit - first)
    for (const search of this.#searches) {
      let row = first
      for (let at = frame.endOf(first - 1); at < end; at = frame.endOf(row++)) {
        const found = search(frame.texts, at, end)
        if (found < 0) break
        row = rowAtPlace(frame, row, limit, found)
        rows.add(row)
        if (rows.size > countMax) return null
      }
    }
    return [...rows].sort((left, right) => left - right)
  }
}

function searchFor({ bytes: needle, isFolded }: Needle): Search {
  if (isFolded) {
    const search = new SkipSearch(needle, true)
    return (bytes, from, to) => search.find(bytes, from, to)
  }
  return (bytes, from, to) => {
    const found = byteSearch?.indexOf(bytes.subarray(from, to), needle) ?? -1
    return found < 0 ? found : from + found
  }
}

/** Number of bytes that are checked together for being ASCII. */
const WIDE_STEP = 4_096

/** The place of the first non-ASCII byte; -1: there is none. */
function findWide(bytes: Bytes, from: number, to: number): number {
  for (let start = from; start < to; start += WIDE_STEP) {
    const end = Math.min(to, start + WIDE_STEP)
    if (isAscii(bytes.subarray(start, end))) continue
    for (let at = start; at < end; at++) if ((bytes[at] ?? 0) >= 0x80) return at
  }
  return -1
}

/** The row of a frame, from `first` on, that contains the byte at a place of the frame's texts. */
function rowAtPlace(frame: Frame, first: number, limit: number, place: number): number {
  let low = first
  let high = limit - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (frame.endOf(middle) > place) high = middle
    else low = middle + 1
  }
  return low
}
