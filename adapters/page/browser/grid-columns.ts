// Widths of the columns of a grid, and which of them are in view.
import type { ColumnType } from './api.js'

export type GridColumn = Readonly<{ id: string; name: string; type: ColumnType }>

const WIDTH_MIN = 48
const WIDTH_MAX = 1_200

export class GridColumns {
  readonly columns: readonly GridColumn[]
  readonly #widths: number[]
  #starts: readonly number[]

  constructor(columns: readonly GridColumn[], widths: readonly number[]) {
    this.columns = columns
    this.#widths = [...widths]
    this.#starts = startsOf(this.#widths)
  }

  get width(): number {
    return this.#starts.at(-1) ?? 0
  }

  startOf(index: number): number {
    return this.#starts[index] ?? 0
  }

  widthOf(index: number): number {
    return this.#widths[index] ?? 0
  }

  resize(index: number, width: number): void {
    this.#widths[index] = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width))
    this.#starts = startsOf(this.#widths)
  }

  /** The columns that are seen from one offset up to another, in pixels. */
  between(left: number, right: number): readonly [first: number, end: number] {
    const { length } = this.columns
    let first = 0
    while (first < length - 1 && this.startOf(first + 1) <= left) first++
    let end = first
    while (end < length && this.startOf(end) < right) end++
    return [first, end]
  }
}

function startsOf(widths: readonly number[]): readonly number[] {
  const starts = [0]
  for (const width of widths) starts.push((starts.at(-1) ?? 0) + width)
  return starts
}
