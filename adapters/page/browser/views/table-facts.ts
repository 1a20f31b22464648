// Parts of the head of a table: its facts and the person's position, in one line each, the columns of its grid, and the
// search box.
import type { Column, TableInfo } from '../base/api.js'
import { button, type Child, el, setText } from '../base/dom.js'
import { shownAge, shownBytes, shownCount, shownTime } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { type Block, isOneCell } from '../grid/cell-block.js'
import type { GridColumn } from '../grid/grid-columns.js'
import type { RowSource } from '../grid/row-sources.js'
import type { Sort } from '../grid/sort-order.js'

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

/** Sets a text only if it has changed: a screen reader reads each update. */
export function sayAnew(element: HTMLElement, text: string): void {
  if (element.textContent !== text) setText(element, text)
}

/** The visible rows, their total, and the chosen cells. */
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

/** The maximum number of cells of a block whose numbers are summed. */
const SUMMED_MAX = 20_000
/** A double is exact to 15 digits. Further digits would show its rounding, as in 0.30000000000000004. */
const EXACT = new Intl.NumberFormat(TEXT.languages.numbers, { maximumSignificantDigits: 15 })

/** The sum of the numbers of a block. Empty while its rows are not all loaded. */
export function sumText(
  source: RowSource | undefined,
  block: Block | undefined,
  shown: readonly Column[],
): string {
  if (source === undefined || block === undefined) return ''
  const { top, bottom, left, right } = block
  const columns = shown.slice(left, right + 1).filter(({ type }) => type.kind === 'number')
  const cells = (bottom - top + 1) * columns.length
  if (cells < 2 || cells > SUMMED_MAX || top < 0) return ''
  const numbers: number[] = []
  for (let position = top; position <= bottom; position++) {
    const row = source.rowAt(position)
    if (row === undefined) return ''
    for (const { id } of columns) if (row[id] !== undefined) numbers.push(Number(row[id]))
  }
  if (numbers.length === 0) return ''
  const sum = numbers.reduce((all, number) => all + number, 0)
  const least = numbers.reduce((one, other) => Math.min(one, other))
  const greatest = numbers.reduce((one, other) => Math.max(one, other))
  const [all, mean, min, max] = [sum, sum / numbers.length, least, greatest].map(EXACT.format)
  return TEXT.sums(all ?? '', mean ?? '', min ?? '', max ?? '', shownCount(numbers.length))
}

/** @param isAll - Whether there are no rows at all; otherwise none that match. */
export function emptyNote(isAll: boolean, onShowAll: () => void): readonly Node[] {
  const text = el('p', {}, isAll ? TEXT.emptyTable : TEXT.noMatch)
  return isAll ? [text] : [text, button(TEXT.showAll, onShowAll)]
}

/** Shown after a change that would move a row. */
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
