// Rows whose texts are adjacent in bytes: rows of a frame, or encoded texts.
import { utf8 } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import { ITEM_WORK } from '../../base/time-slices.js'
import type { Frame } from '../../format/segment-reader.js'

/** The part of a frame that a merge reads. */
export type RowTexts = Pick<Frame, 'texts' | 'endOf' | 'rowText'>

/**
 * The rows from `first` to `limit` (not included) of a frame or of packed texts. Row `first` has the number `slot` in
 * its source.
 */
export type RowPiece = Readonly<{ frame: RowTexts; first: number; limit: number; slot: number }>

/** The work of the rows of a piece, for time slices. */
export function workOfPiece({ frame, first, limit }: RowPiece): number {
  return frame.texts.length + ITEM_WORK * (limit - first)
}

/** @param slot - The number of the first text's row in its source. */
export function packTexts(texts: readonly string[], slot: number): RowPiece {
  const parts = texts.map((text) => utf8(text))
  const ends = new Uint32Array(parts.length)
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const [i, part] of parts.entries()) {
    bytes.set(part, end)
    end += part.length
    ends[i] = end
  }
  const endOf = (row: number): number => (row < 0 ? 0 : (ends[row] ?? 0))
  const rowText = (row: number): string => sliceText(bytes, endOf(row - 1), endOf(row))
  return { frame: { texts: bytes, endOf, rowText }, first: 0, limit: texts.length, slot }
}
