// Parts of the head of a table: what it is and where a person is, in one line each, the columns of its grid, and the box
// that finds rows by a text.
import type { Column, TableInfo } from '../base/api.js'
import { button, type Child, el, setAttributes } from '../base/dom.js'
import { shownAge, shownBytes, shownCount, shownTime } from '../base/show.js'
import { TEXT } from '../base/texts.js'
import { type Block, isOneCell } from '../grid/cell-block.js'
import type { GridColumn } from '../grid/grid-columns.js'
import type { RowSource } from '../grid/row-sources.js'
import type { Sort } from '../grid/sort-order.js'

/** As the contract says. */
const SEARCH_CHARACTERS_MAX = 256

export function factsOf(
  { rowCount, schema, bytes, version, updatedAt }: TableInfo,
  now: number,
): readonly Child[] {
  const facts = [
    TEXT.rows(rowCount, shownCount(rowCount)),
    TEXT.columns(schema.columns.length),
    shownBytes(bytes),
    TEXT.version(shownCount(version)),
  ].join(' · ')
  const changed = ` · ${TEXT.changed} ${shownAge(updatedAt, now)}`
  return [facts, el('span', { title: shownTime(updatedAt) }, changed)]
}

export function asSearchBox(
  box: HTMLInputElement,
  value: string,
  oninput: () => void,
): HTMLInputElement {
  setAttributes(box, {
    type: 'search',
    class: 'search',
    maxlength: SEARCH_CHARACTERS_MAX,
    value,
    placeholder: TEXT.search,
    'aria-label': TEXT.searchHelp,
    title: TEXT.searchHelp,
    oninput,
  })
  return box
}

/** Which rows are in view, of how many, and which cells are chosen. */
export function placeText(
  source: RowSource | undefined,
  [from, to]: readonly [from: number, to: number],
  isSorted: boolean,
  block: Block | undefined,
): string {
  const { count = 0, isOpen = false, isCut = false } = source ?? {}
  if (count === 0) return isOpen ? TEXT.searching : TEXT.noRows
  const cut = isSorted ? TEXT.placeOfSorted : TEXT.placeOfFirst
  const { total, isSorting = false } = source ?? {}
  const all =
    isOpen && total !== undefined ? shownCount(total) : `${shownCount(count)}${isOpen ? '+' : ''}`
  const seen = (isCut ? cut : TEXT.place)(shownCount(from + 1), shownCount(to), all)
  if (isSorting && source?.rowAt(from) === undefined) return TEXT.sorting(seen)
  if (block === undefined || isOneCell(block)) return seen
  const [rows, columns] = [block.bottom - block.top + 1, block.right - block.left + 1]
  return `${seen} · ${TEXT.chosen(shownCount(rows), shownCount(columns))}`
}

/** @param isAll - There are no rows; else none that match. */
export function emptyNote(isAll: boolean, onShowAll: () => void): readonly Node[] {
  const text = el('p', {}, isAll ? TEXT.emptyTable : TEXT.noMatch)
  return isAll ? [text] : [text, button(TEXT.showAll, onShowAll)]
}

/** Said after a change by which a row would be elsewhere. */
export function misplacedNote(onAgain: () => void): HTMLElement {
  const again = button(TEXT.placeAgain, onAgain)
  return el('div', { class: 'notice', role: 'status', hidden: true }, TEXT.misplaced, again)
}

export function gridColumns(columns: readonly Column[], sort: Sort): readonly GridColumn[] {
  return columns.map(({ id, displayName = id, type }) => {
    const at = sort.findIndex(({ column }) => column === id)
    const rank = sort.length > 1 ? at + 1 : undefined
    const sorted = at < 0 ? undefined : { descending: sort[at]?.descending === true, rank }
    return { id, name: displayName, type, sorted }
  })
}
