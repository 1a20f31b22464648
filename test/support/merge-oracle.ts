// What a merge by key must give, as CONTRACT.md, section 6, says it: found by comparing each row with each.

/** Cells by the IDs of their columns; an empty cell is not there. */
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
  /** The index of the row with its key in the input, and the cells that change; null: a cell becomes empty. */
  | Readonly<{ partner: number; changes: ReadonlyMap<string, Value | null> }>

export type Merged<Value> = Readonly<{
  /** What becomes of each row. */
  fates: readonly MergeFate<Value>[]
  /** Indexes of rows of the input that are added. */
  added: readonly number[]
  counts: Readonly<{ added: number; changed: number; unchanged: number; removed: number }>
}>

/** The options of a merge by what `mode` is called over HTTP. */
export const MERGE_MODES = {
  upsert: { missing: 'keep', unnamed: 'keep' },
  replace: { missing: 'delete', unnamed: 'empty' },
} as const

/**
 * @param before - null: a row that is gone.
 * @returns null: a key is that of two rows of the input, or of two rows of the table and one of the input.
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
