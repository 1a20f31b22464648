// A grid over any number of rows. Only visible rows are in the document.
import type { Row } from '../base/api.js'
import { el, setAttributes } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import * as TEXT from '../base/texts.js'
import { type Block, blockOf, textOfCells } from './cell-block.js'
import { type GridColumns, GUTTER } from './grid-columns.js'
import { GridHeader } from './grid-header.js'
import { keyMove, type Place } from './grid-keys.js'
import { followPointer, isTapOnPhone } from './pointer.js'
import { RowSlots } from './row-slots.js'
import type { RowSource } from './row-sources.js'
import { ScrollMap } from './scroll-map.js'
import { isSortable } from './sort-order.js'

export const ROW_HEIGHT = 30
const HEADER_HEIGHT = 34
/** The distance beyond the edges up to which columns are created, in pixels. */
const SPARE = 200
const RESIZE_STEP = 16
/** The number of rows that can be scrolled before the real number of rows is known. */
const ROWS_UNCOUNTED = 1_000

/** The visible part of a table, in pixels, and the active cell. Another grid of the table can continue with it. */
export type GridPlace = Readonly<{
  active: Place
  /** The other corner of the chosen block; undefined: one cell. */
  anchor?: Place | undefined
  top: number
  left: number
  /** The number of rows that must be loaded before the grid can go to this place. */
  rows: number
}>

/** The place of a cell, in pixels from the corner of the grid. */
export type Box = Readonly<{ left: number; top: number; width: number }>

/** The editing of cells in the grid. If the grid has it, a click on a cell does not open the row. */
export type GridEditing = Readonly<{
  /** Marks a drawn cell. @param row - Undefined while it is not loaded. */
  markCell: (cell: HTMLElement, row: Row | undefined, column: string) => void
  onEdit: (place: Place) => void
  /** Called when the grid has drawn. */
  onDrawn: () => void
}>

export type GridEvents = Readonly<{
  editing?: GridEditing | undefined
  onOpen: (position: number) => void
  /** Sorts the rows by a column. @param isAdded - In addition to the current columns. */
  onSort: (column: string, isAdded: boolean) => void
  /** Must open the menu of a column. @param left - The left edge of its header, in pixels from the grid's. */
  onMenu: (column: string, left: number) => void
  /** Copies a block whose rows are not all loaded. */
  onCopy: (block: Block) => void
  /** Called with the visible rows, from a position up to another. */
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
  readonly #slots: RowSlots
  readonly #observer = new ResizeObserver(() => this.refresh())
  #active: Place = { row: 0, column: 0 }
  #anchor: Place | undefined
  /** Whether the button of the mouse was released on another cell than it was pressed on. */
  #hasDragged = false
  /** The cell that is marked as the active one. */
  #marked: Element | undefined
  #isDue = false
  #settling: ReturnType<typeof setTimeout> | undefined
  #due: GridPlace | undefined

  /** @param place - Where the grid goes once its rows are loaded, unless a person goes elsewhere first. */
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
    this.#anchor = place?.anchor
    this.#header = new GridHeader(columns, {
      onClick: (column, isAdded) => {
        this.moveTo({ row: -1, column })
        this.#sort(isAdded)
      },
      onResize: (index, width) => this.#resize(index, width),
      onMenu: (column) => this.#openMenu(column),
    })
    this.#slots = new RowSlots(this.#layer, columns, {
      onClick: (...clicked) => this.#clicked(...clicked),
      onDoubleClick: (row, column) => {
        if (events.editing === undefined) events.onOpen(row)
        else if (column !== undefined) events.editing.onEdit({ row, column })
      },
      markCell: (...drawn) => events.editing?.markCell(...drawn),
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
        'aria-description':
          (events.editing === undefined ? TEXT.gridHelp : EDIT.help) + TEXT.headerHelp,
        'aria-colcount': columns.columns.length + 1,
        'aria-multiselectable': 'true',
        onscroll: () => this.#scrolled(),
        onkeydown: (event) => this.#keyDown(event as KeyboardEvent),
        onpointerdown: (event) => this.#pressed(event as PointerEvent),
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

  /** Draws again, after rows arrived or the size changed. */
  refresh(): void {
    const { clientHeight } = this.element
    const { row } = this.#active
    const wasSeen = this.#map.sees(row)
    const { count, isOpen } = this.#source
    const rows = isOpen && count === 0 ? ROWS_UNCOUNTED : count
    this.#map.resize(rows, Math.max(0, clientHeight - HEADER_HEIGHT))
    const width = GUTTER + this.#columns.width
    this.#sizer.style.height = `${this.#map.height + HEADER_HEIGHT}px`
    this.#sizer.style.width = `${width}px`
    this.#layer.style.height = `${clientHeight}px`
    setAttributes(this.element, {
      'aria-rowcount': this.#source.isOpen || this.#source.isCut ? -1 : this.#source.count + 1,
    })
    const seen = Math.ceil(Math.max(0, clientHeight - HEADER_HEIGHT) / ROW_HEIGHT) + 1
    this.#slots.fit(Math.min(seen, this.#source.count))
    if (this.#marked?.isConnected === false) this.#mark(undefined) // The next frame marks it anew.
    // A message that appears above the grid must not hide the active row.
    if (wasSeen && row < this.#source.count) this.#placeBar(this.#map.show(row))
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
    this.moveTo({ ...this.#active, row })
  }

  /** The person's place, now or once the rows are loaded. */
  get place(): GridPlace {
    this.#goToDue()
    if (this.#due !== undefined) return this.#due
    const { clientHeight, scrollLeft: left } = this.element
    const { top } = this.#map
    const seen = Math.ceil((top + clientHeight - HEADER_HEIGHT) / ROW_HEIGHT)
    const rows = Math.min(this.#source.count, Math.max(seen, this.#active.row + 1))
    return { active: this.#active, anchor: this.#anchor, top, left, rows }
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

  /** The chosen cells: at least the active one. */
  get block(): Block {
    return blockOf(this.#anchor ?? this.#active, this.#active)
  }

  get active(): Place {
    return this.#active
  }

  /** The place of a cell; undefined: it is not visible. */
  boxOf({ row, column }: Place): Box | undefined {
    const { clientHeight, scrollLeft } = this.element
    const top = HEADER_HEIGHT + row * ROW_HEIGHT - this.#map.top
    if (top < HEADER_HEIGHT || top >= clientHeight) return undefined
    const left = GUTTER + this.#columns.startOf(column) - scrollLeft
    return { left, top, width: this.#columns.widthOf(column) }
  }

  get activeRow(): number {
    return this.#active.row
  }

  #scrolled(): void {
    this.#map.scrolled(this.element.scrollTop)
    this.draw()
    clearTimeout(this.#settling)
    this.#settling = setTimeout(() => {
      // The scrollbar may have moved already, although its event comes only with the next frame.
      this.#map.scrolled(this.element.scrollTop)
      this.#placeBar(this.#map.settle())
    }, 150)
  }

  #placeBar(at: number | undefined): void {
    if (at !== undefined && Math.abs(this.element.scrollTop - at) >= 1) this.element.scrollTop = at
  }

  #draw(): void {
    this.#isDue = false
    const { clientWidth, scrollLeft } = this.element
    const [first, end] = this.#columns.between(scrollLeft - SPARE, scrollLeft + clientWidth + SPARE)
    this.#header.draw(first, end)
    const from = Math.floor(this.#map.top / ROW_HEIGHT)
    const to = Math.min(this.#source.count, from + this.#slots.count)
    const drawn = { first, end, block: this.block }
    for (let position = from; position < from + this.#slots.count; position++) {
      const top = HEADER_HEIGHT + position * ROW_HEIGHT - this.#map.top
      if (position < to) this.#slots.draw(position, this.#source.rowAt(position), top, drawn)
      else this.#slots.hide(position)
    }
    this.#markActive(first, end)
    this.#source.want(from, to)
    const seen = Math.floor(
      (this.#map.top + this.element.clientHeight - HEADER_HEIGHT) / ROW_HEIGHT,
    )
    this.#events.onView(from, Math.max(from, Math.min(to, seen)))
    this.#events.editing?.onDrawn()
  }

  #resize(index: number, width: number): void {
    this.#columns.resize(index, width)
    this.#header.forget()
    this.#slots.forget()
    this.refresh()
  }

  /** The cell at a point, or the nearest one. */
  placeAt(x: number, y: number): Place {
    const { left, top } = this.element.getBoundingClientRect()
    const row = Math.floor((y - top - HEADER_HEIGHT + this.#map.top) / ROW_HEIGHT)
    const offset = x - left + this.element.scrollLeft - GUTTER
    const [column] = this.#columns.between(offset, offset + 1)
    return { row: Math.max(0, Math.min(row, this.#source.count - 1)), column }
  }

  /** Dragging the mouse over cells chooses them. */
  #pressed({ button, pointerType, shiftKey, target, clientX, clientY }: PointerEvent): void {
    this.#hasDragged = false
    const isOnCell = target instanceof Element && target.closest('[role=gridcell]') !== null
    if (button !== 0 || pointerType !== 'mouse' || shiftKey || !isOnCell) return
    const start = this.placeAt(clientX, clientY)
    followPointer((x, y) => {
      const { row, column } = this.placeAt(x, y)
      if (!this.#hasDragged && row === start.row && column === start.column) return
      if (!this.#hasDragged) this.moveTo(start)
      this.#hasDragged = true
      this.moveTo({ row, column }, true)
    }, true)
  }

  #clicked(row: number, onColumn: number | undefined, event: MouseEvent): void {
    if (this.#hasDragged) return
    const { shiftKey, detail } = event
    const column = onColumn ?? this.#active.column
    const isAgain = this.#active.row === row && this.#active.column === column
    this.moveTo({ row, column }, shiftKey)
    if (shiftKey) return
    const isOpened = isAgain && detail < 2 && this.#events.editing === undefined
    if (onColumn === undefined || isOpened || isTapOnPhone(event)) this.#events.onOpen(row)
  }

  #keyDown(event: KeyboardEvent): void {
    const { row, column } = this.#active
    const bounds = {
      rows: this.#source.count,
      columns: this.#columns.columns.length,
      page: Math.max(1, this.#slots.count - 2),
    }
    const place = keyMove(event, this.#active, bounds)
    if (row >= 0 && /^(?:Enter| )$/.test(event.key) && !event.shiftKey) {
      this.#events.onOpen(row)
    } else if (row < 0 && /^(?:Enter| )$/.test(event.key)) {
      this.#sort(event.shiftKey)
    } else if (event.altKey && row < 0 && /^Arrow(?:Left|Right)$/.test(event.key)) {
      const step = event.key === 'ArrowLeft' ? -RESIZE_STEP : RESIZE_STEP
      this.#resize(column, this.#columns.widthOf(column) + step)
    } else if (
      row < 0 &&
      (event.key === 'ContextMenu' || (event.altKey && event.key === 'ArrowDown'))
    ) {
      this.#openMenu(column)
    } else if (place !== undefined) {
      if (event.shiftKey) this.moveTo({ ...place, row: Math.max(0, place.row) }, row >= 0)
      else this.moveTo(place)
    } else if (event.key === 'Escape' && this.#anchor !== undefined) {
      this.moveTo(this.#active)
    } else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
      this.#choose({ row: 0, column: 0 }, { row: bounds.rows - 1, column: bounds.columns - 1 })
    } else if (event.key === ' ' && event.shiftKey) {
      this.#choose({ row, column: 0 }, { row, column: bounds.columns - 1 })
    } else {
      return
    }
    event.preventDefault()
  }

  #openMenu(column: number): void {
    this.moveTo({ row: -1, column })
    const { id } = this.#columns.columns[column] ?? {}
    const left = GUTTER + this.#columns.startOf(column) - this.element.scrollLeft
    if (id !== undefined) this.#events.onMenu(id, left)
  }

  #sort(isAdded: boolean): void {
    const column = this.#columns.columns[this.#active.column]
    if (column !== undefined && isSortable(column.type)) this.#events.onSort(column.id, isAdded)
  }

  /** Chooses the cells between two corners, without scrolling. */
  #choose(anchor: Place, active: Place): void {
    this.#anchor = anchor
    this.#active = active
    this.draw()
  }

  /**
   * Makes a cell the active one, and shows it. @param isBlock - Chooses all cells from the previous one to the new one.
   */
  moveTo(place: Place, isBlock = false): void {
    this.#anchor = isBlock ? (this.#anchor ?? this.#active) : undefined
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
    const isSeen = column >= first && column < end
    const cells = row < 0 ? this.#header.cells : this.#slots.cellsOf(row)
    const cell = isSeen ? cells?.[column - first] : undefined
    if (cell !== this.#marked) this.#mark(cell)
  }

  #mark(cell: Element | undefined): void {
    this.#marked?.removeAttribute('id')
    this.#marked = cell
    if (cell !== undefined) cell.id = 'active-cell'
    const named = cell === undefined ? undefined : 'active-cell'
    setAttributes(this.element, { 'aria-activedescendant': named })
  }

  #copy(event: ClipboardEvent): void {
    if (String(getSelection()) !== '') return
    event.preventDefault()
    const { block } = this
    const { top, bottom, left, right } = block
    const columns = this.#columns.columns.slice(left, right + 1).map(({ id }) => id)
    const rows: Row[] = []
    for (let position = Math.max(0, top); position <= bottom; position++) {
      const row = this.#source.rowAt(position)
      if (row === undefined) {
        this.#events.onCopy(block)
        return
      }
      rows.push(row)
    }
    event.clipboardData?.setData('text/plain', textOfCells(rows, columns))
  }
}
