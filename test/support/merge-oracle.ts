// The result of a merge by key according to CONTRACT.md, section 6, found by comparing each row with each.

/** Cells by column ID. Empty cells are absent. */
type Cells<Value> = ReadonlyMap<string, Value>

export type MergeRules<Value> = Readonly<{
  key: readonly string[]
  missing?: 'keep' | 'delete'
  unnamed?: 'keep' | 'empty'
  /** Columns that the input names. */
  named: readonly string[]
  isSame: (one: Value, other: Value) => boolean
}>

export type MergeFate<Value> =
  | 'stays'
  | 'removed'
  /** The index of the input row with the same key, and the changed cells; null: a cell becomes empty. */
  | Readonly<{ partner: number; changes: ReadonlyMap<string, Value | null> }>

export type Merged<Value> = Readonly<{
  /** The outcome for each row. */
  fates: readonly MergeFate<Value>[]
  /** Indexes of input rows that are added. */
  added: readonly number[]
  counts: Readonly<{ added: number; changed: number; unchanged: number; removed: number }>
}>

/** The options of a merge, by the value of `mode` over HTTP. */
export const MERGE_MODES = {
  upsert: { missing: 'keep', unnamed: 'keep' },
  replace: { missing: 'delete', unnamed: 'empty' },
} as const

/**
 * @param before - null: a deleted row.
 * @returns null: a key occurs in two rows of the input, or in two rows of the table and one of the input
 */
export function mergeOf<Value>(
  before: readonly (Cells<Value> | null)[],
  input: readonly Cells<Value>[],
  { key, missing, unnamed, named, isSame }: MergeRules<Value>,
): Merged<Value> | null {
  const isEqual = (one: Value | undefined, other: Value | undefined): boolean =>
    one !== undefined && other !== undefined && isSame(one, other)
  const indexOf = (row: Cells<Value> | null): number =>
    input.findIndex((other) => key.every((id) => isEqual(row?.get(id), other.get(id))))
  const partners = before.map(indexOf)
  const isTwice = input.some((row, index) => indexOf(row) < index)
  if (isTwice || partners.some((one, at) => one >= 0 && partners.indexOf(one) < at)) return null
  const fates = before.map((row, at): MergeFate<Value> => {
    const partner = partners[at] ?? -1
    const incoming = input[partner]
    if (row === null) return 'stays'
    if (incoming === undefined) return missing === 'delete' ? 'removed' : 'stays'
    const isSet = (id: string): boolean => unnamed === 'empty' || named.includes(id)
    const emptied = [...row.keys()].filter((id) => !incoming.has(id) && isSet(id))
    const set = [...incoming].filter(([id, value]) => !isEqual(row.get(id), value))
    const changes = new Map([...set, ...emptied.map((id) => [id, null] as const)])
    return changes.size === 0 ? 'stays' : { partner, changes }
  })
  const added = input.flatMap((_, index) => (partners.includes(index) ? [] : [index]))
  const changed = fates.filter((fate) => typeof fate === 'object').length
  const removed = fates.filter((fate) => fate === 'removed').length
  const unchanged = input.length - added.length - changed
  return { fates, added, counts: { added: added.length, changed, unchanged, removed } }
}
