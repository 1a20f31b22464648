// Sorts numbers in steps, so that other work can run in between, even if many compare as equal.
import type { Steps } from './time-slices.js'

/** Runs of this length are sorted by insertion before they are merged. */
const RUN = 16

/** Approximate number of comparisons per step. */
const COMPARISONS_AT_ONCE = 4_096

/** Sorts in place, stably. A few numbers are sorted in one step. */
export function* sortSteps(
  numbers: Uint32Array,
  compare: (left: number, right: number) => number,
): Steps<void> {
  const { length } = numbers
  for (let start = 0; start < length; start += RUN) {
    insert(numbers, start, Math.min(length, start + RUN), compare)
    if (start % COMPARISONS_AT_ONCE === COMPARISONS_AT_ONCE - RUN) yield COMPARISONS_AT_ONCE
  }
  if (length <= RUN) return
  let from = numbers
  let to: Uint32Array = new Uint32Array(length)
  for (let width = RUN; width < length; width *= 2) {
    let left = 0
    let middle = 0
    let right = 0
    let limit = 0
    for (let at = 0; at < length; at++) {
      if (at === limit) {
        left = limit
        right = middle = Math.min(length, left + width)
        limit = Math.min(length, middle + width)
      }
      const isRight =
        left === middle || (right < limit && compare(from[right] ?? 0, from[left] ?? 0) < 0)
      to[at] = from[isRight ? right++ : left++] ?? 0
      if (at % COMPARISONS_AT_ONCE === COMPARISONS_AT_ONCE - 1) yield COMPARISONS_AT_ONCE
    }
    ;[from, to] = [to, from]
  }
  if (from !== numbers) numbers.set(from)
}

function insert(
  numbers: Uint32Array,
  start: number,
  limit: number,
  compare: (left: number, right: number) => number,
): void {
  for (let next = start + 1; next < limit; next++) {
    const moved = numbers[next] ?? 0
    let at = next
    for (; at > start && compare(moved, numbers[at - 1] ?? 0) < 0; at--) {
      numbers[at] = numbers[at - 1] ?? 0
    }
    numbers[at] = moved
  }
}
