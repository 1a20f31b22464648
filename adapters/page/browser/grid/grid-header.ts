// The header of a grid: names, kinds, the order, and handles for widths.
import { el } from '../base/dom.js'
import * as TEXT from '../base/texts.js'
import type { GridColumns } from './grid-columns.js'
import { followPointer } from './pointer.js'
import { isSortable } from './sort-order.js'

export type HeaderEvents = Readonly<{
  /** @param isAdded - With shift: in addition to columns chosen before. */
  onClick: (index: number, isAdded: boolean) => void
  onResize: (index: number, width: number) => void
  /** Must open the menu of a column. */
  onMenu: (index: number) => void
}>

export class GridHeader {
  readonly element = el('div', { role: 'row', class: 'head row', 'aria-rowindex': 1 })
  readonly #columns: GridColumns
  readonly #events: HeaderEvents
  #drawn = ''

  constructor(columns: GridColumns, events: HeaderEvents) {
    this.#columns = columns
    this.#events = events
  }

  /** The cells of the drawn columns. */
  get cells(): readonly Element[] {
    return [...this.element.children].slice(1)
  }

  /** Draws the columns from one up to another. */
  draw(first: number, end: number): void {
    const columns = `${first}-${end}`
    if (this.#drawn === columns) return
    this.#drawn = columns
    const corner = { role: 'columnheader', class: 'gutter', 'aria-colindex': 1 }
    this.element.replaceChildren(el('div', corner, TEXT.rowNumber))
    for (let index = first; index < end; index++) this.element.append(this.#cellOf(index))
  }

  /** Must be called when widths have changed. */
  forget(): void {
    this.#drawn = ''
  }

  #cellOf(index: number): HTMLElement {
    const { id, name, type, sorted } = this.#columns.columns[index] ?? { name: '' }
    const canSort = type !== undefined && isSortable(type)
    const handle = el('span', {
      class: 'handle',
      'aria-hidden': 'true',
      onclick: (event) => event.stopPropagation(),
      onpointerdown: (event) => this.#drag(index, event as PointerEvent),
    })
    const openMenu = (event: Event): void => {
      event.preventDefault()
      event.stopPropagation() // So that the click does not sort.
      this.#events.onMenu(index)
    }
    const menu = el('span', { class: 'opener', 'aria-hidden': 'true', onclick: openMenu }, '▾')
    const order = sorted?.descending === true ? 'descending' : 'ascending'
    const arrow =
      sorted &&
      el('span', { class: 'arrow', 'aria-hidden': 'true' }, TEXT.arrows[order], sorted.rank)
    const cell = el(
      'div',
      {
        role: 'columnheader',
        class: type?.kind === 'number' ? 'cell number' : 'cell',
        'aria-colindex': index + 2,
        'aria-sort': canSort && (sorted === undefined ? 'none' : order),
        title: id,
        onclick: (event) => this.#events.onClick(index, (event as MouseEvent).shiftKey),
        oncontextmenu: openMenu,
      },
      el('span', { class: 'name' }, name),
      arrow,
      el('span', { class: 'kind' }, type?.kind ?? ''),
      menu,
      handle,
    )
    this.#columns.place(cell, index)
    return cell
  }

  #drag(index: number, event: PointerEvent): void {
    event.preventDefault()
    const handle = event.currentTarget as HTMLElement
    const from = event.clientX
    const width = this.#columns.widthOf(index)
    followPointer((x) => this.#events.onResize(index, width + x - from))
    handle.releasePointerCapture(event.pointerId)
  }
}
