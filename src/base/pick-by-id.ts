/** The items with the given IDs, in the order of the IDs; undefined: all. Unknown and repeated IDs have no effect. */
export function pickById<Item extends Readonly<{ id: string }>>(
  items: readonly Item[],
  ids: readonly string[] | undefined,
): readonly Item[] {
  if (ids === undefined) return items
  const byId = new Map(items.map((item) => [item.id, item]))
  return [...new Set(ids)].flatMap((id) => byId.get(id) ?? [])
}
