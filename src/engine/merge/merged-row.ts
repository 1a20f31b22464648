// Merges a row of the table with the input row that has the same key.
import { StoreError } from '../../base/store-error.js'
import { differentCells, spliceRowText } from '../../format/row-text.js'
import { canonicalToken, cellsOf, sameValues } from '../../format/row-values.js'

/** A row as it is stored, without cells of dropped columns, and the number of its schema. */
export type StoredRow = Readonly<{ text: string; schemaNumber: number }>

/** How rows are merged. */
export type MergeRules = Readonly<{
  /** Whether rows of the table that the input lacks are deleted. */
  deletesMissing: boolean
  /** Whether a matched row loses its cells in columns that the input does not name. */
  emptiesUnnamed: boolean
  /** IDs of the key columns. */
  key: readonly string[]
  /** Columns that the input names. */
  inputColumns: ReadonlySet<string>
  /** The numbers of the table's schema before and after the merge. */
  schemaBefore: number
  schemaAfter: number
  rowBytesMax: number
}>

/** Thrown if rows with different keys have the same fingerprint: the merge then begins anew with other fingerprints. */
export class KeyCollision extends Error {
  override readonly name = 'KeyCollision'
}

/**
 * The row after the merge; null: the row stays, because all cells that the merge sets already have the new values.
 * @param reads - The text of the row as served.
 * @param incoming - The text of the input row with the same key.
 * @throws {KeyCollision} if the keys differ, so that only their fingerprints are equal
 */
export function mergedRow(
  rules: MergeRules,
  stored: StoredRow,
  reads: string,
  incoming: string,
): StoredRow | null {
  const known = likeBefore(rules, stored, reads, incoming)
  if (known !== undefined) return known
  const before = cellsOf(reads)
  const after = cellsOf(incoming)
  for (const id of rules.key)
    if (!sameValues(before.get(id), after.get(id))) throw new KeyCollision()
  if (rules.emptiesUnnamed) {
    const isSame = before.size === after.size && isWithin(before, after)
    return isSame ? null : { text: incoming, schemaNumber: rules.schemaAfter }
  }
  const changes = new Map<string, string | null>()
  for (const [id, token] of after) if (!sameValues(before.get(id), token)) changes.set(id, token)
  for (const id of before.keys()) {
    if (rules.inputColumns.has(id) && !after.has(id)) changes.set(id, null)
  }
  if (changes.size === 0) return null
  const text = spliceRowText(stored.text, changes)
  checkMergedRowSize(
    text,
    rules.rowBytesMax,
    rules.key.map((id) => `${id} ${after.get(id) ?? ''}`).join(', '),
  )
  // If the merge changes the schema, it retypes only columns whose cells it sets in each changed row.
  const isCurrent = stored.schemaNumber === rules.schemaBefore
  return { text, schemaNumber: isCurrent ? rules.schemaAfter : stored.schemaNumber }
}

/**
 * The result of `mergedRow` for rows with the same columns in the same order, in a fourth of the time. undefined: the
 * rows differ in another way.
 */
function likeBefore(
  { key, schemaAfter }: MergeRules,
  stored: StoredRow,
  reads: string,
  incoming: string,
): StoredRow | null | undefined {
  if (stored.text !== reads) return undefined
  const different = differentCells(reads, incoming)
  if (different === null || different.some(({ id }) => key.includes(id))) return undefined
  const changed = different.filter(({ before, after }) => !sameValues(before, after))
  if (changed.length === 0) return null
  // Cells with equal values keep their form, unless the whole row is replaced by the input row.
  return changed.length === different.length
    ? { text: incoming, schemaNumber: schemaAfter }
    : undefined
}

function isWithin(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): boolean {
  for (const [id, token] of left) if (!sameValues(token, right.get(id))) return false
  return true
}

function checkMergedRowSize(text: string, rowBytesMax: number, key: string): void {
  if (3 * text.length <= rowBytesMax || new TextEncoder().encode(text).length <= rowBytesMax) return
  const message = `The row with the key ${key} would be longer than ${rowBytesMax} bytes`
  throw new StoreError('REQUEST_VALIDATION_ERROR', message)
}

/** The values of the key of a row, for messages. */
export function shownKey(text: string, key: readonly string[]): string {
  const cells = cellsOf(text)
  return key.map((id) => `${id} ${cells.get(id) ?? ''}`).join(', ')
}

/** Whether two rows have the same key. */
export function sameKey(left: string, right: string, key: readonly string[]): boolean {
  const [one, other] = [cellsOf(left), cellsOf(right)]
  return key.every((id) => {
    const [a, b] = [one.get(id), other.get(id)]
    return a !== undefined && b !== undefined && canonicalToken(a) === canonicalToken(b)
  })
}
