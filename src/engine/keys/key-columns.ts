// The columns of a key, and how they may change.
import { StoreError } from '../../base/store-error.js'
import { columnsInstead } from '../../base/unknown-column.js'
import { isTextKind, type KeyColumn } from '../../format/key-hash.js'
import type { Column } from '../../schema/column-kind.js'

/** The advice after an operation that the key of a table forbids. */
const CHANGE_KEY = 'Change the key first, with alter({ key })'

/**
 * The columns of a key that a table has or is to get.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR: if a column is missing, or is one of arrays
 */
export function resolveKeyColumns(
  ids: readonly string[],
  columns: ReadonlyMap<string, Column>,
): readonly KeyColumn[] {
  return columnsOfKey(ids, columns, undefined)
}

/** Like `resolveKeyColumns`, for a key that a table keeps while its columns change. */
export function resolveKeptKeyColumns(
  ids: readonly string[],
  columns: ReadonlyMap<string, Column>,
): readonly KeyColumn[] {
  return columnsOfKey(ids, columns, CHANGE_KEY)
}

function columnsOfKey(
  ids: readonly string[],
  columns: ReadonlyMap<string, Column>,
  remedy: string | undefined,
): readonly KeyColumn[] {
  return ids.map((id) => {
    const type = columns.get(id)?.type
    if (type === undefined) {
      const problem = `the table would have no column '${id}'${columnsInstead(columns, id)}`
      throw invalidKeyColumn(problem, id, remedy)
    }
    if (type.kind === 'array') throw invalidKeyColumn(`column '${id}' has arrays`, id, remedy)
    return { id, kind: type.kind }
  })
}

/**
 * Checks that the keys of all rows stay the same. They change, for example, if a column of numbers becomes a column of
 * texts.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkSameForm(before: readonly KeyColumn[], after: readonly KeyColumn[]): void {
  for (const [at, { id, kind }] of after.entries()) {
    const old = before[at]?.kind ?? kind
    if (isTextKind(old) === isTextKind(kind)) continue
    throw invalidKeyColumn(`column '${id}' would change from ${old} to ${kind}`, id, CHANGE_KEY)
  }
}

function invalidKeyColumn(problem: string, column: string, remedy: string | undefined): StoreError {
  const phrase = `Column '${column}' cannot be part of the table's key: ${problem}`
  const message = remedy === undefined ? phrase : `${phrase}. ${remedy}`
  return new StoreError('REQUEST_VALIDATION_ERROR', message, { column })
}
