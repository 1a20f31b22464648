// Widening finds the smallest type that holds both the old and the new values of a column (CONTRACT.md, section 3,
// `updateSchema`).
import type { ColumnKind, ColumnType } from './column-kind.js'
import { type ColumnSummary, SEEN } from './column-summary.js'
import { summaryFits } from './summarize.js'

/** The next wider kind before `string`. */
const WIDER_KIND: Partial<Record<ColumnKind, ColumnKind>> = {
  date: 'dateTime',
  imageURI: 'uri',
  audioURI: 'uri',
}

/**
 * The type itself if the values fit it, otherwise the smallest type that holds both. Values that fit no type (objects,
 * numbers beyond a double) are ignored.
 *
 * @param merged - All new values of the column.
 */
export function widenType(
  type: ColumnType,
  merged: ColumnSummary,
  formatChecks: boolean,
): ColumnType {
  const values = { ...merged, seen: merged.seen & ~(SEEN.object | SEEN.misfit) }
  const fitting = candidates(type).find((wider) => summaryFits(wider, values, formatChecks))
  if (fitting !== undefined) return fitting
  const onlyArrays = (values.seen & (SEEN.scalarToken | SEEN.fromText)) === 0
  if (type.kind === 'array' && onlyArrays) return { kind: 'array', items: { kind: 'string' } }
  return { kind: 'string' }
}

/** Whether `widenType` may turn `type` into `wider`, so that no cell is lost. */
export function isWidened(type: ColumnType, wider: ColumnType): boolean {
  const text = JSON.stringify(wider)
  return [...candidates(type), { kind: 'string' }].some((one) => JSON.stringify(one) === text)
}

function candidates(type: ColumnType): readonly ColumnType[] {
  if (type.kind === 'array') {
    const kinds = [type.items.kind, WIDER_KIND[type.items.kind], 'string'] as const
    return kinds.flatMap((kind) => (kind === undefined ? [] : [{ kind: 'array', items: { kind } }]))
  }
  const kind = WIDER_KIND[type.kind]
  return kind === undefined ? [type] : [type, { kind }]
}
