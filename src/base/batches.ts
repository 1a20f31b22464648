/** Items in batches of `countMax`, the last of which may have fewer; none of them is empty. */
export function* inBatches<Item>(
  items: readonly Item[],
  countMax: number,
): Generator<Item[], void> {
  for (let at = 0; at < items.length; at += countMax) yield items.slice(at, at + countMax)
}
