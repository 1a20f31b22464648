// What of a table is shown, as it stands in the address behind `#/table/ID?`: a link shows the same, and back goes back.
import type { Column } from '../base/api.js'
import type { Condition } from '../grid/filter-bar.js'
import type { Place } from '../grid/grid-keys.js'
import { isSortable, type Sort } from '../grid/sort-order.js'

export type TableState = Readonly<{
  conditions: readonly Condition[]
  /** A text that some column contains. */
  search: string
  sort: Sort
  /** IDs of the columns that are shown, in the order of the table. */
  columns: readonly string[]
  /** The first row in view. */
  top: number
  active: Place
  /** The ID of the row that is open beside the others. */
  row: string | undefined
}>

/** What the address lacks, or has of other columns, is as it is in a table that is opened anew. */
export function parseAddress(text: string, columns: readonly Column[]): TableState {
  const query = new URLSearchParams(text)
  const ids = columns.map(({ id }) => id)
  const shown = ids.filter((id) => query.getAll('column').includes(id))
  const [row = 0, column = 0] = (query.get('cell') ?? '').split('.').map(Number)
  return {
    conditions: parseConditions(query.getAll('filter'), ids),
    search: query.get('search') ?? '',
    sort: query.getAll('sort').flatMap((sorted) => {
      const id = sorted.replace(/^[-+]/, '')
      const type = columns.find((each) => each.id === id)?.type
      if (type === undefined || !isSortable(type)) return []
      return [{ column: id, descending: sorted.startsWith('-') }]
    }),
    columns: shown.length > 0 ? shown : ids,
    top: countIn(Number(query.get('at'))),
    active: { row: row === -1 ? row : countIn(row), column: countIn(column) },
    row: query.get('row') ?? undefined,
  }
}

export function renderAddress(state: TableState, columns: readonly Column[]): string {
  const { conditions, search, sort, top, active, row } = state
  const isAll = state.columns.length === columns.length
  const said: Readonly<Record<string, readonly string[]>> = {
    filter: conditions.map((each) => JSON.stringify([each.column, each.operator, each.value])),
    search: search === '' ? [] : [search],
    sort: sort.map(({ column, descending }) => {
      const sign = descending ? '-' : /^[-+]/.test(column) ? '+' : ''
      return sign + column
    }),
    column: isAll ? [] : state.columns,
    at: top > 0 ? [String(top)] : [],
    cell: active.row === 0 && active.column === 0 ? [] : [`${active.row}.${active.column}`],
    row: row === undefined ? [] : [row],
  }
  const pairs = Object.entries(said).flatMap(([name, values]) =>
    values.map((value) => [name, value]),
  )
  return new URLSearchParams(pairs).toString()
}

function countIn(value: number): number {
  return Number.isSafeInteger(value) && value > 0 ? value : 0
}

function parseConditions(texts: readonly string[], ids: readonly string[]): readonly Condition[] {
  return texts.flatMap((text) => {
    const [column, operator, value] = arrayIn(text)
    const isOne = typeof operator === 'string' && typeof value === 'string'
    return isOne && ids.includes(String(column))
      ? [{ column: String(column), operator, value }]
      : []
  })
}

function arrayIn(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text)
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}
