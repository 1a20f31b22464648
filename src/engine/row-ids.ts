// The row IDs of an operation: a few runs of positions, rendered one ID at a time.
import type { Bytes } from '../base/bytes.js'
import { renderRowId } from '../format/row-id.js'
import type { RowIds } from './store-types.js'

/** IDs of `count` rows from a slot of an extent on. */
export type RowIdRun = Readonly<{ nonce: Bytes; extent: number; firstSlot: number; count: number }>

/** The IDs of runs in order. */
export function rowIdsOf(runs: readonly RowIdRun[]): RowIds {
  const starts: number[] = []
  let length = 0
  for (const { count } of runs) {
    starts.push(length)
    length += count
  }
  return Object.freeze({
    length,
    at: (index: number) => idAt(runs, starts, index < 0 ? length + index : index, length),
    [Symbol.iterator]: () => iterate(runs),
  })
}

function idAt(
  runs: readonly RowIdRun[],
  starts: readonly number[],
  index: number,
  length: number,
): string | undefined {
  if (!Number.isInteger(index) || index < 0 || index >= length) return undefined
  let low = 0
  let high = runs.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= index) low = middle
    else high = middle - 1
  }
  const run = runs[low]
  return run && renderRowId(run.nonce, run.extent, run.firstSlot + index - (starts[low] ?? 0))
}

function* iterate(runs: readonly RowIdRun[]): IterableIterator<string> {
  for (const { nonce, extent, firstSlot, count } of runs) {
    for (let i = 0; i < count; i++) yield renderRowId(nonce, extent, firstSlot + i)
  }
}
