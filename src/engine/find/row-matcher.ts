// Finds the rows of a frame that match a condition.
//
// Where the runtime has a quick search of bytes, whole frames are searched first for what every row that matches must
// have in its text, such as the quoted value of an equality. Then only rows with such a place are looked at. A frame with
// a backslash is not searched, as a text may stand there with escapes.
import type { Bytes } from '../../base/bytes.js'
import { byteSearch } from '../../base/platform.js'
import type { Frame } from '../../format/segment-reader.js'
import type { Condition } from './condition.js'
import { needlesOf } from './needles.js'
import { RowTest } from './row-test.js'

const ESCAPE = Uint8Array.of(0x5c)

/** The rows of a frame from which a search found so many candidates are all looked at, one after the other. */
const CANDIDATES_SHARE = 0.25

export class RowMatcher {
  readonly #test: RowTest
  readonly #needles: readonly Bytes[] | null

  constructor(condition: Condition) {
    this.#test = new RowTest(condition)
    this.#needles = byteSearch === null ? null : needlesOf(condition)
  }

  /** How many tests a row takes, at most. */
  get tests(): number {
    return this.#test.count
  }

  /** Whether the row with the text from `from` to `to` (not included) matches. @throws {StoreError} DATA_CORRUPT */
  matches(bytes: Bytes, from: number, to: number): boolean {
    return this.#test.passes(bytes, from, to)
  }

  /** The rows of a frame, from `first` to `limit` (not included), that may match, in order; null: all of them. */
  candidates(frame: Frame, first: number, limit: number): Iterable<number> | null {
    const needles = this.#needles
    if (needles === null || byteSearch === null) return null
    const start = frame.endOf(first - 1)
    const texts = frame.texts.subarray(start, frame.endOf(limit - 1))
    if (byteSearch.indexOf(texts, ESCAPE) >= 0) return null
    const rows = new Set<number>()
    const countMax = CANDIDATES_SHARE * (limit - first)
    for (const needle of needles) {
      let row = first
      for (let at = 0; at < texts.length; ) {
        const found = byteSearch.indexOf(at === 0 ? texts : texts.subarray(at), needle)
        if (found < 0) break
        row = rowAtPlace(frame, row, limit, start + at + found)
        rows.add(row)
        if (rows.size > countMax) return null
        at = frame.endOf(row) - start
        row++
      }
    }
    return needles.length === 1 ? rows : [...rows].sort((left, right) => left - right)
  }
}

/** The row of a frame, from `first` on, whose text has the byte at a place of its texts. */
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
