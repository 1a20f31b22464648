// The columns of a key, and what may become of them.
import { StoreError } from '../../base/store-error.js'
import { isTextKind, type KeyColumn } from '../../format/key-hash.js'
import type { Column } from '../../schema/column-kind.js'

/** @throws {StoreError} REQUEST_VALIDATION_ERROR: one is missing, or has arrays */
export function keyColumnsOf(
  ids: readonly string[],
  columns: ReadonlyMap<string, Column>,
): readonly KeyColumn[] {
  return ids.map((id) => {
    const type = columns.get(id)?.type
    if (type === undefined) throw invalidKey(`the table would have no column '${id}'`, id)
    if (type.kind === 'array') throw invalidKey(`column '${id}' has arrays`, id)
    return { id, kind: type.kind }
  })
}

/**
 * A column of numbers that becomes one of texts has other keys.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkSameForm(before: readonly KeyColumn[], after: readonly KeyColumn[]): void {
  for (const [at, { id, kind }] of after.entries()) {
    const old = before[at]?.kind ?? kind
    if (isTextKind(old) === isTextKind(kind)) continue
    throw invalidKey(`column '${id}' would change from ${old} to ${kind}`, id)
  }
}

function invalidKey(problem: string, column: string): StoreError {
  const message = `Column '${column}' cannot be part of the table's key: ${problem}. Change the key first, with alter({ key })`
  return new StoreError('REQUEST_VALIDATION_ERROR', message, { column })
}
