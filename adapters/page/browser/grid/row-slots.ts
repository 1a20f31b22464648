// The rows of a grid in the document: a fixed set of elements, each of which shows every n-th row, with the cells of
// the visible columns.
import type { Row } from '../base/api.js'
import { el, setAttributes, setText } from '../base/dom.js'
import { type Block, isOneCell } from './cell-block.js'
import { fillCell } from './cells.js'
import type { GridColumns } from './grid-columns.js'

type Slot = {
  readonly element: HTMLElement
  readonly gutter: HTMLElement
  cells: readonly HTMLElement[]
  position: number
  /** The row that the element shows. undefined: the row is not loaded. */
  shown: unknown
  columns: string
  /** Which cells of the element are marked as chosen. */
  chosen: string
}

export type SlotEvents = Readonly<{
  /** @param column - undefined: the row number. */
  onClick: (row: number, column: number | undefined, event: MouseEvent) => void
  /** @param column - undefined: the row number. */
  onDoubleClick: (row: number, column: number | undefined) => void
  /** Marks a cell that was drawn. */
  markCell: (cell: HTMLElement, row: Row | undefined, column: string) => void
}>

/** What is drawn: the columns from one up to another, and the chosen cells. */
export type Drawn = Readonly<{ first: number; end: number; block: Block }>

export class RowSlots {
  readonly #parent: HTMLElement
  readonly #columns: GridColumns
  readonly #events: SlotEvents
  readonly #slots: Slot[] = []

  constructor(parent: HTMLElement, columns: GridColumns, events: SlotEvents) {
    this.#parent = parent
    this.#columns = columns
    this.#events = events
  }

  get count(): number {
    return this.#slots.length
  }

  fit(wanted: number): void {
    for (const { element } of this.#slots.splice(wanted)) element.remove()
    while (this.#slots.length < wanted) {
      const gutter = el('div', { role: 'rowheader', class: 'gutter', 'aria-colindex': 1 })
      const element = el('div', { role: 'row', class: 'row', hidden: true }, gutter)
      const nothing = { cells: [], position: -1, shown: null, columns: '', chosen: '' }
      const slot: Slot = { element, gutter, ...nothing }
      element.addEventListener('click', (event) => this.#clicked(slot, event))
      element.addEventListener('dblclick', ({ target }) => {
        this.#events.onDoubleClick(slot.position, columnOf(slot, target))
      })
      this.#parent.append(element)
      this.#slots.push(slot)
    }
  }

  /** Must be called when widths have changed. */
  forget(): void {
    for (const slot of this.#slots) slot.columns = ''
  }

  hide(position: number): void {
    const slot = this.#slotOf(position)
    if (slot !== undefined) slot.element.hidden = true
  }

  /** Shows a row. @param row - undefined: not loaded. @param top - The distance from the top, in pixels. */
  draw(position: number, row: Row | undefined, top: number, drawn: Drawn): void {
    const slot = this.#slotOf(position)
    if (slot === undefined) return
    slot.element.hidden = false
    slot.element.style.transform = `translateY(${top}px)`
    this.#drawRow(slot, position, row, drawn)
    this.#markChosen(slot, drawn)
  }

  /** The cells of a row in the document; undefined: it has no such row. */
  cellsOf(row: number): readonly HTMLElement[] | undefined {
    return this.#slots.find(({ position, element }) => position === row && !element.hidden)?.cells
  }

  #slotOf(position: number): Slot | undefined {
    return this.#slots[position % this.#slots.length]
  }

  #clicked(slot: Slot, event: MouseEvent): void {
    this.#events.onClick(slot.position, columnOf(slot, event.target), event)
  }

  #drawRow(slot: Slot, position: number, row: Row | undefined, { first, end }: Drawn): void {
    const columns = `${first}-${end}`
    const isSame = slot.position === position && slot.shown === row && slot.columns === columns
    if (isSame) return
    if (slot.columns !== columns) this.#makeCells(slot, first, end)
    slot.position = position
    slot.shown = row
    slot.columns = columns
    setText(slot.gutter, String(position + 1))
    slot.element.classList.toggle('odd', position % 2 === 1)
    slot.element.classList.toggle('waiting', row === undefined)
    slot.element.setAttribute('aria-rowindex', String(position + 2))
    for (const [at, cell] of slot.cells.entries()) {
      const column = this.#columns.columns[first + at]
      if (column === undefined) continue
      if (row === undefined) setText(cell, '')
      else fillCell(cell, row[column.id], column.type)
      this.#events.markCell(cell, row, column.id)
    }
  }

  #markChosen(slot: Slot, { first, block }: Drawn): void {
    const { top, bottom, left, right } = block
    const isIn = slot.position >= top && slot.position <= bottom && !isOneCell(block)
    const chosen = isIn ? `${left}-${right}` : ''
    if (slot.chosen === chosen) return
    slot.chosen = chosen
    for (const [at, cell] of slot.cells.entries()) {
      const isChosen = isIn && first + at >= left && first + at <= right
      setAttributes(cell, { 'aria-selected': isChosen && 'true' })
    }
  }

  #makeCells(slot: Slot, first: number, end: number): void {
    const cells: HTMLElement[] = []
    for (let index = first; index < end; index++) {
      const cell = el('div', { role: 'gridcell', class: 'cell', 'aria-colindex': index + 2 })
      this.#columns.place(cell, index)
      cells.push(cell)
    }
    slot.cells = cells
    slot.chosen = ''
    slot.element.replaceChildren(slot.gutter, ...cells)
  }
}

/** The column of a cell; undefined: the target is in no cell. */
function columnOf(slot: Slot, target: EventTarget | null): number | undefined {
  const at = slot.cells.findIndex((cell) => cell.contains(target as Node))
  const [first = 0] = slot.columns.split('-').map(Number)
  return at < 0 ? undefined : first + at
}
