// Finds runs of equal rows on both sides of a merge by comparing bytes.
import { sameRanges } from '../../base/platform.js'
import type { RowTexts } from './packed-texts.js'

/** The number of consecutive rows, from the given ones on and up to `count`, that are equal on both sides. */
export function sameRows(
  left: RowTexts,
  leftRow: number,
  right: RowTexts,
  rightRow: number,
  count: number,
): number {
  const shift = right.endOf(rightRow - 1) - left.endOf(leftRow - 1)
  /** Whether rows `same` to `rows` (not included) are equal. */
  const areSame = (same: number, rows: number): boolean => {
    for (let row = same; row < rows; row++) {
      if (left.endOf(leftRow + row) + shift !== right.endOf(rightRow + row)) return false
    }
    const from = left.endOf(leftRow + same - 1)
    const bytes = left.endOf(leftRow + rows - 1) - from
    return sameRanges(left.texts, from, right.texts, from + shift, bytes)
  }
  // The steps double while rows are equal, and halve after the first difference. So the bytes that are compared in vain
  // are never more than the others, even if every second row differs.
  let same = 0
  let step = 1
  while (same < count) {
    const rows = Math.min(same + step, count)
    if (areSame(same, rows)) {
      same = rows
      step *= 2
      continue
    }
    for (step >>= 1; step > 0; step >>= 1) {
      if (same + step <= count && areSame(same, same + step)) same += step
    }
    break
  }
  return same
}
