// The shown part of a table, in the address after `#/table/ID?`: a link shows the same, and the back button returns to
// it.
import type { Column, Group, RowsQuery, TableInfo } from '../base/api.js'
import { type Condition, makeWhere, operatorsOf, searchQuery } from '../grid/filter-where.js'
import type { Place } from '../grid/grid-keys.js'
import { isSortable, type Sort, sortParameter } from '../grid/sort-order.js'
import type { ViewContext } from './shell.js'

export type TableState = Readonly<{
  conditions: readonly Condition[]
  /** A text that some column contains. */
  search: string
  sort: Sort
  /** IDs of the shown columns, in the order of the table. */
  columns: readonly string[]
  /** The first visible row. */
  top: number
  active: Place
  /** The ID of the row open beside the others. */
  row: string | undefined
  /** Whether the columns are open beside the rows. */
  isSchema: boolean
}>

/** The state in an address. Parts that the address lacks, or that name missing columns, get their defaults. */
export function parseAddress(text: string, columns: readonly Column[]): TableState {
  const query = new URLSearchParams(text)
  const ids = columns.map(({ id }) => id)
  const shown = ids.filter((id) => query.getAll('column').includes(id))
  const [row = 0, column = 0] = (query.get('cell') ?? '').split('.').map(Number)
  return {
    conditions: parseConditions(query.getAll('filter'), columns),
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
    isSchema: query.has('schema'),
  }
}

export function renderAddress(state: TableState, columns: readonly Column[]): string {
  const { conditions, search, sort, top, active, row } = state
  const isAll = state.columns.length === columns.length
  const said: Readonly<Record<string, readonly string[]>> = {
    filter: conditions.map(({ column, operator, value, isExact }) => {
      return JSON.stringify([column, operator, value, ...(isExact ? ['exact'] : [])])
    }),
    search: search === '' ? [] : [search],
    sort: sort.map(({ column, descending }) => {
      const sign = descending ? '-' : /^[-+]/.test(column) ? '+' : ''
      return sign + column
    }),
    column: isAll ? [] : state.columns,
    at: top > 0 ? [String(top)] : [],
    cell: active.row === 0 && active.column === 0 ? [] : [`${active.row}.${active.column}`],
    row: row === undefined ? [] : [row],
    schema: state.isSchema ? ['1'] : [],
  }
  const pairs = Object.entries(said).flatMap(([name, values]) =>
    values.map((value) => [name, value]),
  )
  return new URLSearchParams(pairs).toString()
}

/** Whether cells of these columns decide which rows are shown, and where. */
export function isPlacedBy(
  { conditions, search, sort }: TableState,
  columns: readonly string[],
): boolean {
  return search !== '' || [...conditions, ...sort].some(({ column }) => columns.includes(column))
}

/** The request's query for the shown rows. */
export function queryOfState(
  { conditions, search, sort, columns }: TableState,
  known: readonly Column[],
): RowsQuery {
  return {
    ...searchQuery(search, makeWhere(conditions, known), known),
    sort: sortParameter(sort, known),
    columns: columns.length === known.length ? undefined : columns,
  }
}

/** The maximum number of values of a column that a filter offers. */
const FREQUENT_VALUES = 10

/** The most frequent values of a column in the rows that meet the other conditions. */
export function frequentValues(
  { api, signal }: ViewContext,
  { id, schema }: TableInfo,
  { conditions, search }: TableState,
  column: string,
): Promise<readonly Group[]> {
  const others = conditions.filter((each) => each.column !== column)
  const { columns } = schema
  const request = {
    ...searchQuery(search, makeWhere(others, columns), columns),
    limit: FREQUENT_VALUES,
  }
  return api.groups(id, column, request, signal)
}

function countIn(value: number): number {
  return Number.isSafeInteger(value) && value > 0 ? value : 0
}

function parseConditions(
  texts: readonly string[],
  columns: readonly Column[],
): readonly Condition[] {
  return texts.flatMap((text) => {
    const [id, operator, value, exact] = arrayIn(text)
    const column = columns.find((each) => each.id === id)
    const known = column === undefined ? [] : operatorsOf(column.type)
    const name = known.find((each) => each === operator)
    if (column === undefined || name === undefined || typeof value !== 'string') return []
    const isExact = exact === 'exact'
    return [{ column: column.id, operator: name, value, ...(isExact && { isExact }) }]
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
