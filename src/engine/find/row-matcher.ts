// Finds the rows of a frame that match a condition.
//
// If the runtime has a fast search of bytes, whole frames are first searched for what every matching row must
// contain, such as the quoted value of an equality. Then only rows with a hit are tested, and rows that may contain
// it in another spelling: with escapes, or in characters that fold to it.
import type { Bytes } from '../../base/bytes.js'
import { byteSearch, isAscii } from '../../base/platform.js'
import { SkipSearch } from '../../base/skip-search.js'
import type { Frame } from '../../format/segment-reader.js'
import { type Condition, columnsOf } from './condition.js'
import { type Needle, needlesOf } from './needles.js'
import { RowTest } from './row-test.js'

const ESCAPE: Needle = { bytes: Uint8Array.of(0x5c), isFolded: false }

/** If a search finds candidates for more than this share of a frame's rows, all its rows are tested in turn. */
const CANDIDATES_SHARE = 0.25

/** The place of a hit between two places of a text; -1: none. */
type Search = (bytes: Bytes, from: number, to: number) => number

export class RowMatcher {
  readonly #test: RowTest
  /** The searches: a candidate has a hit in at least one of them; null: nothing is searched for. */
  readonly #searches: readonly Search[] | null

  constructor(condition: Condition) {
    this.#test = new RowTest(condition)
    const needles = byteSearch === null ? null : needlesOf(condition)
    const isFolded = needles?.some((needle) => needle.isFolded) === true
    // Reading one cell is faster than searching a frame without case.
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

  /** The rows of a frame, from `first` to `limit` (not included), that may match, in order; null: all. */
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

/** Bytes that are checked together for being ASCII. */
const WIDE_STEP = 4_096

/** The place of the first non-ASCII character. */
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
