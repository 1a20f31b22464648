// Rows by block: the visible rows, and other rows up to a maximum number of blocks.
import { BoundedMap } from '../../../../src/base/bounded-map.js'
import type { Row } from '../base/api.js'

type BlockLimits = Readonly<{ blockRows: number; blocksMax: number }>

/** Blocks of rows, of which the least recently used are dropped. */
export class RowBlocks {
  readonly #blockRows: number
  /** The blocks in the order of their last use. */
  readonly #blocks: BoundedMap<number, readonly Row[]>

  constructor({ blockRows, blocksMax }: BlockLimits) {
    this.#blockRows = blockRows
    this.#blocks = new BoundedMap(blocksMax)
  }

  get(block: number): readonly Row[] | undefined {
    return this.#blocks.get(block)
  }

  has(block: number): boolean {
    return this.#blocks.has(block)
  }

  rowAt(position: number): Row | undefined {
    return this.#blocks.get(Math.floor(position / this.#blockRows))?.[position % this.#blockRows]
  }

  /** Declares which rows are needed, from a position up to another. @returns their blocks */
  want(from: number, to: number): number[] {
    const last = Math.floor(Math.max(from, to - 1) / this.#blockRows)
    const wanted: number[] = []
    for (let block = Math.floor(from / this.#blockRows); block <= last; block++) wanted.push(block)
    for (const block of wanted) {
      const rows = this.#blocks.get(block)
      if (rows !== undefined) this.set(block, rows)
    }
    return wanted
  }

  set(block: number, rows: readonly Row[]): void {
    this.#blocks.delete(block)
    this.#blocks.set(block, rows)
  }
}
