// The order of the rows that a person has chosen: which columns, and how a click changes it.
import type { Column, ColumnType, RowsRequest } from '../base/api.js'

/** The columns by which rows are sorted, the first one first. */
export type Sort = readonly Readonly<{ column: string; descending: boolean }>[]

/** The maximum number of columns that sort: the contract's limit. */
const SORTS_MAX = 8

const UNSORTED: ReadonlySet<string> = new Set(['array', 'duration'])
const NO_TEXT: ReadonlySet<string> = new Set(['number', 'boolean', 'date', 'time', 'dateTime'])

export function isSortable({ kind }: ColumnType): boolean {
  return !UNSORTED.has(kind)
}

/** Whether cells of a type are texts. Rows are sorted by texts without regard to case. */
export function isTextual(type: ColumnType): boolean {
  return isSortable(type) && !NO_TEXT.has(type.kind)
}

/**
 * The order after a person chose a column: first it sorts ascending, the next time descending, then no longer.
 * @param isAdded - Whether the rows stay sorted by the columns chosen before, too.
 */
export function nextSort(sort: Sort, column: string, isAdded: boolean): Sort {
  const known = isAdded || sort.length === 1 ? sort : []
  const at = known.findIndex((each) => each.column === column)
  if (at < 0) {
    const kept = isAdded ? known.slice(0, SORTS_MAX - 1) : []
    return [...kept, { column, descending: false }]
  }
  const turned = known[at]?.descending === true ? [] : [{ column, descending: true }]
  return known.toSpliced(at, 1, ...turned)
}

/** The order in the form of the contract, with `ignoreCase` for texts. */
export function sortParameter(sort: Sort, columns: readonly Column[]): RowsRequest['sort'] {
  if (sort.length === 0) return undefined
  return sort.map((each) => {
    const type = columns.find(({ id }) => id === each.column)?.type
    return type !== undefined && isTextual(type) ? { ...each, ignoreCase: true } : each
  })
}
