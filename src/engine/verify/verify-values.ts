// Compares the cells of a segment with the values in its footer: a search would not find a value that the footer
// excludes.
import { OPEN_BRACKET, QUOTE } from '../../base/ascii.js'
import type { Bytes } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import { CellReader, someElement } from '../../format/cell-reader.js'
import { compareToBound } from '../../format/noted-column.js'
import type { Frame } from '../../format/segment-reader.js'
import type { KnownColumn, SegmentValues } from '../../format/segment-values.js'
import { mayContain } from '../../format/value-filter.js'
import { hashOfToken } from '../../format/value-hash.js'
import { Decimal } from '../../schema/decimal.js'

/** A column, by its key in row texts. */
type Checked = Readonly<{ key: string; column: KnownColumn | undefined }>

/** A cell that the footer excludes: the key of its column, and the row in its frame. */
export type WrongCell = Readonly<{ key: string; row: number }>

export class ValuesCheck {
  readonly #reader: CellReader<Checked>

  constructor(values: SegmentValues) {
    this.#reader = new CellReader((key) => ({ key, column: values.columnOfKey(key) }))
  }

  /** The first wrong cell of a frame; null: there is none. @throws {StoreError} DATA_CORRUPT */
  wrongCell(frame: Frame): WrongCell | null {
    const reader = this.#reader
    const { texts } = frame
    for (let row = 0; row < frame.rowCount; row++) {
      const end = frame.endOf(row)
      reader.begin()
      for (let at = frame.endOf(row - 1); at < end; at = reader.to + 1) {
        const { key, column } = reader.read(texts, at, end)
        if (!this.#isKnown(column, texts)) return { key, row }
      }
    }
    return null
  }

  #isKnown(column: KnownColumn | undefined, bytes: Bytes): boolean {
    const { from, to, isEscaped } = this.#reader
    if (column?.hasFilled !== true) return false
    if (bytes[from] !== OPEN_BRACKET) {
      return isInFilter(column, bytes, from, to, isEscaped) && isInBounds(column, bytes, from, to)
    }
    return !someElement(bytes, from, to, (at, end, hasEscape) => {
      return !isInFilter(column, bytes, at, end, hasEscape)
    })
  }
}

function isInFilter(
  { filter }: KnownColumn,
  bytes: Bytes,
  from: number,
  to: number,
  isEscaped: boolean,
): boolean {
  const hash = filter === null ? undefined : hashOfToken(bytes, from, to, isEscaped)
  return filter === null || hash === undefined || mayContain(filter, hash)
}

function isInBounds({ bounds }: KnownColumn, bytes: Bytes, from: number, to: number): boolean {
  if (bounds === null) return true
  const { isNumber, least, greatest, isCut } = bounds
  if (isNumber === (bytes[from] === QUOTE)) return false
  if (isNumber) {
    const [low, high] = [least, greatest].map((bound) => sliceText(bound, 0, bound.length))
    return (
      new Decimal(low ?? '').orderOf(bytes, from, to) >= 0 &&
      new Decimal(high ?? '').orderOf(bytes, from, to) <= 0
    )
  }
  const [start, end] = [from + 1, to - 1]
  const cutEnd = isCut ? Math.min(end, start + greatest.length) : end
  return (
    compareToBound(bytes, start, end, least) >= 0 &&
    compareToBound(bytes, start, cutEnd, greatest) <= 0
  )
}
