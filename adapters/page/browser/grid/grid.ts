// A grid over any number of rows. Only what is seen is in the document: a fixed set of row elements, each of which shows
// every n-th row, with the cells of the columns in view.

import { el, setAttributes, setText } from '../base/dom.js'
import { plainText } from '../base/json-text.js'
import { TEXT } from '../base/texts.js'
import { fillCell } from './cells.js'
import { type GridColumns, GUTTER } from './grid-columns.js'
import { GridHeader } from './grid-header.js'
import { keyMove, type Place } from './grid-keys.js'
import type { RowSource } from './row-sources.js'
import { ScrollMap } from './scroll-map.js'
import { isSortable } from './sort-order.js'

export const ROW_HEIGHT = 30
const HEADER_HEIGHT = 34
/** Columns are made so far beyond the edges, in pixels. */
const SPARE = 200
const RESIZE_STEP = 16

type Slot = {
  readonly element: HTMLElement
  readonly gutter: HTMLElement
  cells: readonly HTMLElement[]
  position: number
  /** What it shows: the row itself, or undefined while it is not there. */
  shown: unknown
  columns: string
}

/** What of a table is in view, in pixels, and the active cell: what a grid of the same table can go on with. */
export type GridPlace = Readonly<{
  active: Place
  top: number
  left: number
  /** How many rows must be there to go to it. */
  rows: number
}>

export type GridEvents = Readonly<{
  onOpen: (position: number) => void
  /** The rows shall be sorted by a column. @param isAdded - Beside those that they are sorted by. */
  onSort: (column: string, isAdded: boolean) => void
  /** Called with the rows in view, from a position up to another. */
  onView: (from: number, to: number) => void
}>

export class Grid {
  readonly element: HTMLElement
  readonly #columns: GridColumns
  readonly #source: RowSource
  readonly #events: GridEvents
  readonly #map = new ScrollMap(ROW_HEIGHT)
  readonly #sizer = el('div', { class: 'sizer' })
  readonly #layer = el('div', { class: 'layer' })
  readonly #header: GridHeader
  readonly #observer = new ResizeObserver(() => this.refresh())
  #slots: Slot[] = []
  #active: Place = { row: 0, column: 0 }
  /** The cell that is marked as the active one. */
  #marked: Element | undefined
  #isDue = false
  #settling: ReturnType<typeof setTimeout> | undefined
  #due: GridPlace | undefined

  /** @param place - Where it goes once its rows are there, unless a person goes elsewhere meanwhile. */
  constructor(
    columns: GridColumns,
    source: RowSource,
    { label, place }: Readonly<{ label: string; place: GridPlace | undefined }>,
    events: GridEvents,
  ) {
    this.#columns = columns
    this.#source = source
    this.#events = events
    this.#due = place
    this.#active = place?.active ?? this.#active
    this.#header = new GridHeader(columns, {
      onClick: (column, isAdded) => {
        this.#moveTo({ row: -1, column })
        this.#sort(isAdded)
      },
      onResize: (index, width) => this.#resize(index, width),
    })
    this.#layer.append(this.#header.element)
    this.#sizer.append(this.#layer)
    this.element = el(
      'div',
      {
        role: 'grid',
        class: 'grid',
        tabindex: 0,
        'aria-label': label,
        'aria-description': TEXT.gridHelp,
        'aria-colcount': columns.columns.length + 1,
        onscroll: () => this.#scrolled(),
        onkeydown: (event) => this.#keyDown(event as KeyboardEvent),
        oncopy: (event) => this.#copy(event as ClipboardEvent),
      },
      this.#sizer,
    )
    this.#observer.observe(this.element)
  }

  close(): void {
    this.#observer.disconnect()
    clearTimeout(this.#settling)
  }

  /** Draws again, as after rows have come or the size has changed. */
  refresh(): void {
    const { clientHeight } = this.element
    this.#map.resize(this.#source.count, Math.max(0, clientHeight - HEADER_HEIGHT))
    const width = GUTTER + this.#columns.width
    this.#sizer.style.height = `${this.#map.height + HEADER_HEIGHT}px`
    this.#sizer.style.width = `${width}px`
    this.#layer.style.height = `${clientHeight}px`
    setAttributes(this.element, {
      'aria-rowcount': this.#source.isOpen || this.#source.isCut ? -1 : this.#source.count + 1,
    })
    this.#fitSlots(Math.ceil(Math.max(0, clientHeight - HEADER_HEIGHT) / ROW_HEIGHT) + 1)
    this.#goToDue()
    this.draw()
  }

  #goToDue(): void {
    const due = this.#due
    if (due === undefined) return
    const hasMoved = this.#active !== due.active || this.#map.top > 0
    const { count, isOpen } = this.#source
    if (!hasMoved && isOpen && count < due.rows) return
    this.#due = undefined
    if (!hasMoved) this.#goTo(due)
  }

  /** Draws with the next frame. */
  draw(): void {
    if (this.#isDue) return
    this.#isDue = true
    requestAnimationFrame(() => this.#draw())
  }

  /** Moves to a row, and gives it the focus. */
  select(row: number): void {
    this.#moveTo({ ...this.#active, row })
  }

  /** Where a person is, or will be once the rows are there. */
  get place(): GridPlace {
    this.#goToDue()
    if (this.#due !== undefined) return this.#due
    const { clientHeight, scrollLeft: left } = this.element
    const { top } = this.#map
    const seen = Math.ceil((top + clientHeight - HEADER_HEIGHT) / ROW_HEIGHT)
    const rows = Math.min(this.#source.count, Math.max(seen, this.#active.row + 1))
    return { active: this.#active, top, left, rows }
  }

  /** Goes to a place, or as near to it as there are rows and columns. */
  #goTo({ active, top, left }: GridPlace): void {
    const lastRow = Math.max(0, this.#source.count - 1)
    const lastColumn = Math.max(0, this.#columns.columns.length - 1)
    this.#active = {
      row: Math.min(active.row, lastRow),
      column: Math.min(active.column, lastColumn),
    }
    this.#placeBar(this.#map.moveTo(top))
    this.element.scrollLeft = left
    this.draw()
  }

  get activeRow(): number {
    return this.#active.row
  }

  #scrolled(): void {
    this.#map.scrolled(this.element.scrollTop)
    this.draw()
    clearTimeout(this.#settling)
    this.#settling = setTimeout(() => {
      // The bar may have been moved since, and its event comes with the next frame only.
      this.#map.scrolled(this.element.scrollTop)
      this.#placeBar(this.#map.settle())
    }, 150)
  }

  #placeBar(at: number | undefined): void {
    if (at !== undefined && Math.abs(this.element.scrollTop - at) >= 1) this.element.scrollTop = at
  }

  #fitSlots(count: number): void {
    const wanted = Math.min(count, this.#source.count)
    for (const { element } of this.#slots.splice(wanted)) element.remove()
    while (this.#slots.length < wanted) {
      const gutter = el('div', { role: 'rowheader', class: 'gutter', 'aria-colindex': 1 })
      const element = el('div', { role: 'row', class: 'row' }, gutter)
      const slot: Slot = { element, gutter, cells: [], position: -1, shown: null, columns: '' }
      element.addEventListener('click', (event) => this.#clicked(slot, event))
      element.addEventListener('dblclick', () => this.#events.onOpen(slot.position))
      this.#layer.append(element)
      this.#slots.push(slot)
    }
  }

  #draw(): void {
    this.#isDue = false
    const { clientWidth, scrollLeft } = this.element
    const [first, end] = this.#columns.between(scrollLeft - SPARE, scrollLeft + clientWidth + SPARE)
    this.#header.draw(first, end)
    const from = Math.floor(this.#map.top / ROW_HEIGHT)
    const to = Math.min(this.#source.count, from + this.#slots.length)
    for (let position = from; position < from + this.#slots.length; position++) {
      const slot = this.#slots[position % this.#slots.length]
      if (slot === undefined) continue
      const isThere = position < this.#source.count
      slot.element.hidden = !isThere
      if (!isThere) continue
      const offset = HEADER_HEIGHT + position * ROW_HEIGHT - this.#map.top
      slot.element.style.transform = `translateY(${offset}px)`
      this.#drawSlot(slot, position, first, end)
    }
    this.#markActive(first, end)
    this.#source.want(from, to)
    const seen = Math.floor(
      (this.#map.top + this.element.clientHeight - HEADER_HEIGHT) / ROW_HEIGHT,
    )
    this.#events.onView(from, Math.max(from, Math.min(to, seen)))
  }

  #drawSlot(slot: Slot, position: number, first: number, end: number): void {
    const row = this.#source.rowAt(position)
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
    slot.element.replaceChildren(slot.gutter, ...cells)
  }

  #resize(index: number, width: number): void {
    this.#columns.resize(index, width)
    this.#header.forget()
    for (const slot of this.#slots) slot.columns = ''
    this.refresh()
  }

  #clicked(slot: Slot, event: MouseEvent): void {
    const at = slot.cells.findIndex((cell) => cell.contains(event.target as Node))
    const [first = 0] = slot.columns.split('-').map(Number)
    const column = at < 0 ? this.#active.column : first + at
    const isAgain = this.#active.row === slot.position && this.#active.column === column
    this.#moveTo({ row: slot.position, column })
    if (at < 0 || (isAgain && event.detail < 2)) this.#events.onOpen(slot.position)
  }

  #keyDown(event: KeyboardEvent): void {
    const { row, column } = this.#active
    const bounds = {
      rows: this.#source.count,
      columns: this.#columns.columns.length,
      page: Math.max(1, this.#slots.length - 2),
    }
    const place = keyMove(event, this.#active, bounds)
    if (event.key === 'Enter' && row >= 0) {
      this.#events.onOpen(row)
    } else if (row < 0 && /^(?:Enter| )$/.test(event.key)) {
      this.#sort(event.shiftKey)
    } else if (event.altKey && row < 0 && /^Arrow(?:Left|Right)$/.test(event.key)) {
      const step = event.key === 'ArrowLeft' ? -RESIZE_STEP : RESIZE_STEP
      this.#resize(column, this.#columns.widthOf(column) + step)
    } else if (place !== undefined) {
      this.#moveTo(place)
    } else {
      return
    }
    event.preventDefault()
  }

  #sort(isAdded: boolean): void {
    const column = this.#columns.columns[this.#active.column]
    if (column !== undefined && isSortable(column.type)) this.#events.onSort(column.id, isAdded)
  }

  #moveTo(place: Place): void {
    this.#active = place
    if (place.row >= 0) this.#placeBar(this.#map.show(place.row))
    const left = this.#columns.startOf(place.column)
    const right = left + this.#columns.widthOf(place.column)
    const { clientWidth, scrollLeft } = this.element
    if (left < scrollLeft) this.element.scrollLeft = left
    else if (right > scrollLeft + clientWidth - GUTTER) {
      this.element.scrollLeft = right - clientWidth + GUTTER
    }
    this.draw()
  }

  #markActive(first: number, end: number): void {
    const { row, column } = this.#active
    const slot = this.#slots.find(({ position, element }) => position === row && !element.hidden)
    const isSeen = column >= first && column < end
    const cells = row < 0 ? this.#header.cells : slot?.cells
    const cell = isSeen ? cells?.[column - first] : undefined
    if (cell === this.#marked) return
    this.#marked?.removeAttribute('id')
    this.#marked = cell
    if (cell !== undefined) cell.id = 'active-cell'
    const named = cell === undefined ? undefined : 'active-cell'
    setAttributes(this.element, { 'aria-activedescendant': named })
  }

  #copy(event: ClipboardEvent): void {
    const { row, column } = this.#active
    const id = this.#columns.columns[column]?.id
    if (id === undefined || String(getSelection()) !== '') return
    event.clipboardData?.setData('text/plain', plainText(this.#source.rowAt(row)?.[id]))
    event.preventDefault()
  }
}
