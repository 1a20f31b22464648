// Rows with some of their cells only, cut out of the bytes of their texts, in the order in which they were asked for.
import { COMMA } from '../../base/ascii.js'
import { type Bytes, NO_BYTES } from '../../base/bytes.js'
import { RowCells } from '../../format/row-cells.js'
import type { FrameRows } from '../segments/frame-runs.js'
import { frameOfRow } from './find-walk.js'

export class Projection {
  readonly #cells: RowCells
  #memory = NO_BYTES

  /** @param columns - Their IDs, none twice. */
  constructor(columns: readonly string[]) {
    this.#cells = new RowCells(columns)
  }

  /** One row of a frame with the wanted cells. Valid until the next call. */
  row({ frame, slot }: FrameRows, row: number): FrameRows {
    const text = this.#cut(frame.texts, frame.endOf(row - 1), frame.endOf(row))
    return { frame: frameOfRow(text), first: 0, limit: 1, slot }
  }

  #cut(bytes: Bytes, from: number, to: number): Bytes {
    const cells = this.#cells
    cells.read(bytes, from, to)
    if (this.#memory.length < to - from) this.#memory = new Uint8Array(2 * (to - from))
    let length = 0
    for (let column = 0; column < cells.to.length; column++) {
      if (cells.to[column] === 0) continue // The cell is empty.
      const cell = bytes.subarray(cells.start[column], cells.to[column])
      if (length > 0) this.#memory[length++] = COMMA
      this.#memory.set(cell, length)
      length += cell.length
    }
    return this.#memory.subarray(0, length)
  }
}
