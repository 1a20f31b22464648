// A condition as a test of rows, on the bytes of their texts: no object and no string is made of a row.
//
// Where the runtime has a quick search of bytes, whole frames are searched first for what every row that matches must
// have in its text, such as the quoted value of an equality. Then only rows with such a place are looked at. A frame with
// a backslash is not searched, as a text may stand there with escapes.
import type { Bytes } from '../../base/bytes.js'
import { byteSearch } from '../../base/platform.js'
import { RowCells } from '../../format/row-cells.js'
import type { Frame } from '../../format/segment-reader.js'
import { NEEDLES_MAX, needlesOf, type TokenTest, tokenTest } from './cell-tests.js'
import { type Condition, columnsOf } from './where.js'

type RowTest = (bytes: Bytes) => boolean

const ESCAPE = Uint8Array.of(0x5c)

/** The rows of a frame from which a search found so many candidates are all looked at, one after the other. */
const CANDIDATES_SHARE = 0.25

export class RowMatcher {
  readonly #cells: RowCells
  readonly #test: RowTest
  readonly #needles: readonly Bytes[] | null

  constructor(condition: Condition) {
    const columns = [...columnsOf(condition)]
    this.#cells = new RowCells(columns)
    this.#test = this.#compile(condition, columns)
    this.#needles = byteSearch === null ? null : needlesOfCondition(condition)
  }

  /** Whether the row with the text from `from` to `to` (not included) matches. @throws {StoreError} DATA_CORRUPT */
  matches(bytes: Bytes, from: number, to: number): boolean {
    this.#cells.read(bytes, from, to)
    return this.#test(bytes)
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
        row = rowAt(frame, row, limit, start + at + found)
        rows.add(row)
        if (rows.size > countMax) return null
        at = frame.endOf(row) - start
        row++
      }
    }
    return needles.length === 1 ? rows : [...rows].sort((left, right) => left - right)
  }

  #compile(condition: Condition, columns: readonly string[]): RowTest {
    switch (condition.op) {
      case 'all': {
        const tests = condition.conditions.map((part) => this.#compile(part, columns))
        return (bytes) => tests.every((test) => test(bytes))
      }
      case 'any': {
        const tests = condition.conditions.map((part) => this.#compile(part, columns))
        return (bytes) => tests.some((test) => test(bytes))
      }
      case 'not': {
        const test = this.#compile(condition.condition, columns)
        return (bytes) => !test(bytes)
      }
      case 'cell': {
        const index = columns.indexOf(condition.column)
        if (condition.test === 'isEmpty') return () => this.#cells.to[index] === 0
        return this.#testOfCell(index, tokenTest(condition))
      }
    }
  }

  #testOfCell(index: number, test: TokenTest): RowTest {
    const cells = this.#cells
    return (bytes) => {
      const to = cells.to[index] ?? 0
      return to > 0 && test(bytes, cells.from[index] ?? 0, to, cells.isEscaped[index] === 1)
    }
  }
}

/** Runs of bytes of which every row that matches has one, unless it has a backslash; null: unknown. */
function needlesOfCondition(condition: Condition): readonly Bytes[] | null {
  switch (condition.op) {
    case 'cell':
      return needlesOf(condition)
    case 'not':
      return null
    case 'any': {
      const parts = condition.conditions.map(needlesOfCondition)
      if (parts.some((needles) => needles === null)) return null
      const all = parts.flatMap((needles) => needles ?? [])
      return all.length > NEEDLES_MAX ? null : all
    }
    case 'all':
      return condition.conditions.map(needlesOfCondition).reduce(better, null)
  }
}

/** Those that are fewer, and then the longer ones. */
function better(
  left: readonly Bytes[] | null,
  right: readonly Bytes[] | null,
): readonly Bytes[] | null {
  if (left === null || right === null) return left ?? right
  if (left.length !== right.length) return left.length < right.length ? left : right
  return shortest(left) >= shortest(right) ? left : right
}

function shortest(needles: readonly Bytes[]): number {
  return Math.min(...needles.map(({ length }) => length))
}

/** The row of a frame, from `first` on, whose text has the byte at a place of its texts. */
function rowAt(frame: Frame, first: number, limit: number, place: number): number {
  let low = first
  let high = limit - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (frame.endOf(middle) > place) high = middle
    else low = middle + 1
  }
  return low
}
