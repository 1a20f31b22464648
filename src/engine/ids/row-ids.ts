// The row IDs of an operation, stored as a few runs of positions. IDs are rendered one at a time.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import { ROW_ID_CHARS, renderRowId, renderRowIdTail } from '../../format/row-id.js'
import type { RowIds } from '../types/row-types.js'

/** The IDs of `count` rows, from the slot `firstSlot` of an extent on. */
export type RowIdRun = Readonly<{ nonce: Bytes; extent: number; firstSlot: number; count: number }>

/** The IDs of runs in order. */
export function rowIdsOf(runs: readonly RowIdRun[]): RowIds {
  return Object.freeze(new RunRowIds(runs))
}

/** The runs of row IDs that a store of this package made. */
export function runsOf(rowIds: RowIds): readonly RowIdRun[] {
  invariant(rowIds instanceof RunRowIds, 'the row IDs of an operation are runs')
  return rowIds.runs
}

/** The number of characters of an ID with its quotes and a comma. */
const JSON_ID_CHARS = ROW_ID_CHARS + 3

/** Maximum number of IDs that are shown to a person. */
const SHOWN_IDS_MAX = 3

/** Maximum number of IDs in the JSON of a result. */
const JSON_IDS_MAX = 10_000

class RunRowIds implements RowIds {
  readonly length: number
  readonly runs: readonly RowIdRun[]
  /** Index of the first ID of each run. */
  readonly #starts: readonly number[]

  constructor(runs: readonly RowIdRun[]) {
    const starts: number[] = []
    let length = 0
    for (const { count } of runs) {
      starts.push(length)
      length += count
    }
    this.length = length
    this.runs = runs
    this.#starts = starts
  }

  get(index: number): string {
    const rowId = Number.isInteger(index) && index >= 0 ? this.at(index) : undefined
    if (rowId !== undefined) return rowId
    throw new StoreError(
      'REQUEST_VALIDATION_ERROR',
      `There is no row at index ${shown(index)}: the operation has ${this.length} rows`,
    )
  }

  at(index: number): string | undefined {
    if (!Number.isInteger(index)) return undefined
    const from = index < 0 ? this.length + index : index
    if (from < 0 || from >= this.length) return undefined
    let low = 0
    let high = this.runs.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#starts[middle] ?? 0) <= from) low = middle
      else high = middle - 1
    }
    const run = this.runs[low]
    return (
      run && renderRowId(run.nonce, run.extent, run.firstSlot + from - (this.#starts[low] ?? 0))
    )
  }

  *[Symbol.iterator](): IterableIterator<string> {
    for (const { nonce, extent, firstSlot, count } of this.runs) {
      for (let i = 0; i < count; i++) yield renderRowId(nonce, extent, firstSlot + i)
    }
  }

  /** The text that `console.log` of Node, Deno and Bun shows instead of the runs. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `RowIds(${this.length}) [${this.#first(SHOWN_IDS_MAX, (id) => `'${id}'`).join(', ')}]`
  }

  toJSON(): readonly string[] {
    return this.#first(JSON_IDS_MAX, (id) => id)
  }

  /** The first IDs, and the number of the others. */
  #first(idsMax: number, render: (id: string) => string): string[] {
    const count = Math.min(this.length, idsMax)
    const ids = Array.from({ length: count }, (_, at) => render(this.get(at)))
    if (count < this.length) ids.push(`... ${this.length - count} more`)
    return ids
  }

  /** See `jsonOfRowIds`. The IDs of a run differ only in their last characters. */
  *json(idsMax: number): Generator<Bytes, void> {
    let left = this.length
    let piece = new Uint8Array(JSON_ID_CHARS * Math.min(idsMax, left))
    let at = 0
    for (const { nonce, extent, firstSlot, count } of this.runs) {
      const first = utf8(`"${renderRowId(nonce, extent, firstSlot)}",`)
      for (let i = 0; i < count; i++) {
        if (at === piece.length) {
          yield piece
          piece = new Uint8Array(JSON_ID_CHARS * Math.min(idsMax, left))
          at = 0
        }
        piece.set(first, at)
        renderRowIdTail(piece, at + 1, extent, firstSlot + i)
        at += JSON_ID_CHARS
        left--
      }
    }
    yield piece.subarray(0, Math.max(0, at - 1)) // No comma follows the last ID.
  }
}

/** The IDs as the members of a JSON array, without its brackets, in pieces of `idsMax` IDs. */
export function jsonOfRowIds(rowIds: RowIds, idsMax: number): Iterable<Bytes> {
  return rowIds instanceof RunRowIds ? rowIds.json(idsMax) : jsonOfTexts(rowIds, idsMax)
}

/** The JSON of row IDs that another implementation of `RowIds` gives. */
function* jsonOfTexts(rowIds: RowIds, idsMax: number): Generator<Bytes, void> {
  let text = ''
  let count = 0
  for (const rowId of rowIds) {
    if (count > 0 && count % idsMax === 0) {
      yield utf8(text)
      text = ''
    }
    text += count++ === 0 ? JSON.stringify(rowId) : `,${JSON.stringify(rowId)}`
  }
  yield utf8(text)
}
