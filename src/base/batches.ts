/** Nonempty batches of `countMax` items; the last may have fewer. */
export function* inBatches<Item>(
  items: readonly Item[],
  countMax: number,
): Generator<Item[], void> {
  for (let at = 0; at < items.length; at += countMax) yield items.slice(at, at + countMax)
}
