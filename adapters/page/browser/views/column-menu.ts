// The menu of a column.
import type { Column } from '../base/api.js'
import * as SCHEMA from '../base/schema-texts.js'
import * as TEXT from '../base/texts.js'
import { type MenuItem, openHeaderMenu } from '../grid/header-menu.js'
import { isSortable } from '../grid/sort-order.js'
import type { TableState } from './table-address.js'

type ColumnChange = keyof typeof SCHEMA.changes

/** The effects of the choices. */
type Actions = Readonly<{
  /** Changes what is shown of the table. */
  change: (change: Pick<Partial<TableState>, 'sort' | 'columns'>) => void
  filterBy: () => void
  /** undefined: the column must not be changed. */
  changeColumn: ((what: ColumnChange) => void) | undefined
  /** Called when the menu returns the focus. */
  onBack: () => void
}>

/** @param at - The place of the menu: the container, and the distance from its left edge, in pixels. */
export function openColumnMenu(
  at: Readonly<{ place: HTMLElement; left: number }>,
  column: Column,
  state: TableState,
  actions: Actions,
): void {
  const label = TEXT.menuOf(column.displayName ?? column.id)
  openHeaderMenu(at.place, at.left, label, itemsOf(column, state, actions), actions.onBack)
}

function itemsOf(
  { id, type }: Column,
  { sort, columns }: TableState,
  { change, filterBy, changeColumn }: Actions,
): readonly MenuItem[] {
  const sortBy = (descending: boolean) => () => change({ sort: [{ column: id, descending }] })
  const others = sort.filter(({ column }) => column !== id)
  const hide = (): void => change({ columns: columns.filter((each) => each !== id) })
  const items: (MenuItem | false)[] = [
    isSortable(type) && [TEXT.sortUp, sortBy(false)],
    isSortable(type) && [TEXT.sortDown, sortBy(true)],
    others.length < sort.length && [TEXT.unsort, () => change({ sort: others })],
    [TEXT.filterBy, filterBy],
    columns.length > 1 && [TEXT.hide, hide],
  ]
  if (changeColumn !== undefined) {
    const names = Object.entries(SCHEMA.changes) as [ColumnChange, string][]
    for (const [what, name] of names) items.push([name, () => changeColumn(what)])
  }
  return items.filter((item) => item !== false)
}
