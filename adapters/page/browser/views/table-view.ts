// One table: its rows in a grid, a filter, a choice of columns, and a pane for one row.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { Api, Column, TableInfo } from '../base/api.js'
import { button, el, fill, setText, start } from '../base/dom.js'
import { shownCount } from '../base/show.js'
import { TEXT } from '../base/texts.js'
import { GridEditor } from '../edit/grid-editor.js'
import { type Block, isOneCell } from '../grid/cell-block.js'
import { FilterBar, makeWhere } from '../grid/filter-bar.js'
import { Grid, type GridPlace, ROW_HEIGHT } from '../grid/grid.js'
import { GridColumns } from '../grid/grid-columns.js'
import { type CopyFormat, columnMenu, copyMenu } from '../grid/menus.js'
import { FoundRows, PositionRows, type RowSource, type SourceEvents } from '../grid/row-sources.js'
import { SidePane } from '../grid/side-pane.js'
import { isTextual, nextSort, sortParameter } from '../grid/sort-order.js'
import { mayWrite, type View, type ViewContext } from './shell.js'
import { parseAddress, renderAddress, type TableState } from './table-address.js'
import { type Copied, copyBlock, copyRows } from './table-copies.js'
import { asSearchBox, factsOf } from './table-facts.js'

/** Other rows than before are shown from the first one. */
const FROM_TOP = { top: 0, active: { row: 0, column: 0 }, row: undefined }
/** How often the version of the table is asked for, in milliseconds. */
const WATCH_MS = 5_000

/** Shows a table. @throws {ClientError} if it cannot be read */
export async function openTable(context: ViewContext, tableId: string): Promise<View> {
  const info = await context.api.info(tableId, context.signal)
  return new TableView(context, info).view
}

/** The view of a table is written into the address so long after a person has scrolled, in milliseconds. */
const PLACE_MS = 300
/** A text is looked for so long after a person has typed, in milliseconds. */
const TYPED_MS = 300
/** Rows of the highest screen. */
const ROWS_SEEN_MAX = 100

function shownBlock({ top, bottom, left, right }: Block): string {
  return TEXT.chosen(shownCount(bottom - top + 1), shownCount(right - left + 1))
}

class TableView {
  readonly view: View
  readonly #api: Api
  readonly #context: ViewContext
  #info: TableInfo
  #state: TableState
  readonly #notice = el('div', { class: 'notice', role: 'status', hidden: true })
  readonly #facts = el('p', { class: 'muted' })
  readonly #place = el('div', { class: 'gridPlace' })
  readonly #status = el('span', { class: 'muted place' })
  readonly #search = el('input')
  readonly #filter: FilterBar
  readonly #pane: SidePane
  readonly #editor: GridEditor | undefined
  #source: RowSource | undefined
  #grid: Grid | undefined
  #view: readonly [from: number, to: number] = [0, 0]
  /** The open row is to be shown once it is known where it is. */
  #isRowDue = false
  #moved: ReturnType<typeof setTimeout> | undefined
  #typed: ReturnType<typeof setTimeout> | undefined

  constructor(context: ViewContext, info: TableInfo) {
    this.#context = context
    this.#api = context.api
    this.#info = info
    const { columns } = info.schema
    this.#state = parseAddress(context.query, columns)
    const { conditions } = this.#state
    this.#filter = new FilterBar(columns, conditions, (found) => {
      this.#change({ ...FROM_TOP, conditions: found })
    })
    this.#filter.element.hidden = conditions.length === 0
    this.#pane = new SidePane(this.#api, info, {
      onRenamed: mayWrite(context) ? () => this.#reopen() : undefined,
      onClose: () => this.#closePane(),
      onStep: (step) => this.#openRow((this.#grid?.activeRow ?? 0) + step),
      onSaid: context.say,
    })
    this.#editor = mayWrite(context) ? this.#makeEditor() : undefined
    const body = el('div', { class: 'tableBody' }, this.#place, this.#pane.element)
    const element = el(
      'section',
      { class: 'tableView' },
      this.#head(),
      this.#filter.element,
      this.#notice,
      this.#editor?.problems ?? '',
      body,
    )
    const look = (): void => this.#lookForVersion()
    const watch = setInterval(look, WATCH_MS)
    addEventListener('focus', look, { signal: context.signal })
    this.view = {
      element,
      title: info.name,
      onShown: () => this.#open(this.#addressedPlace()),
      focus: () => this.#grid?.element.focus(),
      close: () => {
        clearInterval(watch)
        clearTimeout(this.#moved)
        clearTimeout(this.#typed)
        this.#source?.close()
        this.#grid?.close()
      },
    }
  }

  #makeEditor(): GridEditor {
    return new GridEditor({
      api: this.#api,
      info: () => this.#info,
      place: this.#place,
      say: this.#context.say,
      fail: this.#context.fail,
      onSaved: (version) => this.#took(version),
      onRows: (isEnd) => this.#showNewer(isEnd),
    })
  }

  /** A change of this page has made a version. Between it and the one before, nobody else has changed the table. */
  #took(version: number): void {
    if (version === this.#info.version + 1) {
      this.#info = { ...this.#info, version, updatedAt: this.#context.now() }
      this.#pane.info = this.#info
      this.#sayFacts()
    } else {
      this.#sayVersion(version, true)
    }
  }

  #sayFacts(): void {
    fill(this.#facts, ...factsOf(this.#info, this.#context.now()))
  }

  #head(): HTMLElement {
    const { name, schema } = this.#info
    this.#sayFacts()
    return el(
      'div',
      { class: 'tableHead' },
      el('div', {}, el('h1', {}, name || TEXT.noName), this.#facts),
      el(
        'div',
        { class: 'tools' },
        this.#status,
        this.#editor?.tools,
        this.#searchBox(),
        button(TEXT.filter, () => this.#toggleFilter(), {
          'aria-expanded': String(this.#state.conditions.length > 0),
          id: 'filter-toggle',
        }),
        columnMenu(schema.columns, this.#state.columns, (columns) => this.#change({ columns })),
        copyMenu(this.#copyFormats(), (format) => {
          this.#copy((copied) => copyRows(copied, format, this.#view))
        }),
        button(TEXT.schema, () => {
          if (this.#state.row !== undefined) this.#note({ row: undefined }, true)
          this.#pane.showSchema()
        }),
      ),
    )
  }

  #toggleFilter(): void {
    const { element } = this.#filter
    element.hidden = !element.hidden
    const toggle = this.view.element.querySelector('#filter-toggle')
    toggle?.setAttribute('aria-expanded', String(!element.hidden))
    if (!element.hidden) this.#filter.focus()
  }

  #searchBox(): HTMLElement | null {
    if (!this.#info.schema.columns.some(({ type }) => isTextual(type))) return null
    return asSearchBox(this.#search, this.#state.search, () => {
      clearTimeout(this.#typed)
      this.#typed = setTimeout(() => this.#noteSearch() && this.#open(), TYPED_MS)
    })
  }

  /** Notes the text that was typed. Back goes to all rows, not to each of its letters. @returns whether it is another one */
  #noteSearch(): boolean {
    clearTimeout(this.#typed)
    const { search } = this.#state
    const { value } = this.#search
    if (value === search) return false
    this.#note({ ...FROM_TOP, search: value }, (search === '') !== (value === ''))
    return true
  }

  /** Shows something else of the table. Back goes to what is shown now. */
  #change(change: Partial<TableState>): void {
    // The place stays, as far as there are rows, unless it is another one.
    const place = this.#noteSearch() || change.top !== undefined ? undefined : this.#grid?.place
    this.#note(change, true)
    this.#open(place)
  }

  #note(change: Partial<TableState>, isNew: boolean): void {
    if (isNew) this.#notePlace() // Back goes to the place, too.
    this.#state = { ...this.#state, ...change }
    this.#writeAddress(isNew)
  }

  #notePlace(): void {
    clearTimeout(this.#moved)
    if (this.#grid === undefined) return
    const { active, top } = this.#grid.place
    this.#state = { ...this.#state, active, top: Math.round(top / ROW_HEIGHT) }
    this.#writeAddress(false)
  }

  #writeAddress(isNew: boolean): void {
    this.#context.setQuery(renderAddress(this.#state, this.#info.schema.columns), isNew)
  }

  #addressedPlace(): GridPlace | undefined {
    const { top, active, row } = this.#state
    this.#isRowDue = row !== undefined
    const rows = Math.max(top, active.row) + ROWS_SEEN_MAX
    return { active, top: top * ROW_HEIGHT, left: 0, rows }
  }

  /** Opens the grid on the rows that are wanted now. @param place - Where it goes. Default: to the beginning. */
  #open(place?: GridPlace): void {
    const hadFocus = this.#grid?.element.contains(document.activeElement) === true
    this.#source?.close()
    this.#grid?.close()
    if (this.#state.row === undefined) this.#pane.closeRow()
    else this.#isRowDue = true
    const { sort } = this.#state
    const columns = this.#shownColumns()
    const read = this.#sourceOf(columns, place?.rows ?? 0)
    const source = this.#editor?.over(read) ?? read
    const shown = columns.map(({ id, displayName = id, type }) => {
      const at = sort.findIndex(({ column }) => column === id)
      const rank = sort.length > 1 ? at + 1 : undefined
      const sorted = at < 0 ? undefined : { descending: sort[at]?.descending === true, rank }
      return { id, name: displayName, type, sorted }
    })
    const { id: tableId, name: label } = this.#info
    const widths = this.#context.widths.of(tableId)
    const grid = new Grid(
      new GridColumns(shown, widths),
      source,
      { label, place },
      {
        editing: this.#editor,
        onOpen: (position) => this.#openRow(position),
        onSort: (column, isAdded) => this.#change({ sort: nextSort(sort, column, isAdded) }),
        onCopy: (block) => this.#copy((copied) => copyBlock(copied, block)),
        onView: (from, to) => this.#sayPlace(from, to),
      },
    )
    this.#source = source
    this.#grid = grid
    fill(this.#place, grid.element)
    this.#editor?.attach(grid, source, shown)
    if (hadFocus) grid.element.focus()
    this.#refresh()
  }

  #refresh(): void {
    this.#grid?.refresh()
    this.#showDueRow()
  }

  #shownColumns(): readonly Column[] {
    return this.#info.schema.columns.filter(({ id }) => this.#state.columns.includes(id))
  }

  #sourceOf(columns: readonly Column[], atLeast: number): RowSource {
    const { id: tableId, version, rowCount, schema } = this.#info
    const { conditions, search, sort } = this.#state
    const where = makeWhere(conditions, schema.columns)
    const query = {
      where,
      search: search || undefined,
      sort: sortParameter(sort, schema.columns),
      columns: columns.length === schema.columns.length ? undefined : columns.map(({ id }) => id),
    }
    const isShown = (found: number): boolean => found >= version && found <= this.#info.version
    const reading = { api: this.#api, tableId, isShown, query }
    const events: SourceEvents = {
      onRows: () => this.#refresh(),
      onVersion: (found) => this.#sayVersion(found),
      onFailure: (failure) => this.#fail(failure),
    }
    const isAll = where === undefined && query.search === undefined
    if (isAll || sort.length > 0) {
      return new PositionRows(reading, isAll ? rowCount : undefined, events)
    }
    return new FoundRows(reading, events, { atLeast })
  }

  #fail(failure: unknown): void {
    if (this.#state.conditions.length === 0) this.#context.fail(failure)
    else this.#filter.showProblem(messageOf(failure))
  }

  #sayPlace(from: number, to: number): void {
    const [before] = this.#view
    this.#view = [from, to]
    if (from !== before) {
      clearTimeout(this.#moved)
      this.#moved = setTimeout(() => this.#notePlace(), PLACE_MS)
    }
    const { count = 0, isOpen = false, isCut = false } = this.#source ?? {}
    const all = `${shownCount(count)}${isOpen ? '+' : ''}`
    const cut = this.#state.sort.length > 0 ? TEXT.placeOfSorted : TEXT.placeOfFirst
    const none = isOpen ? TEXT.searching : TEXT.noRows
    const say = isCut ? cut : TEXT.place
    const seen = count === 0 ? none : say(shownCount(from + 1), shownCount(to), all)
    const block = this.#grid?.block
    const text = block === undefined || isOneCell(block) ? seen : `${seen} · ${shownBlock(block)}`
    if (this.#status.textContent !== text) setText(this.#status, text)
  }

  #openRow(position: number): void {
    const row = this.#source?.rowAt(position)
    if (row === undefined) return
    if (this.#grid?.activeRow !== position) this.#grid?.select(position)
    this.#isRowDue = false
    const wasOpen = this.#state.row !== undefined
    this.#note({ row: row.$rowID }, !wasOpen)
    this.#pane.showRow(row, position, new Set(this.#state.columns))
  }

  /** Shows the row that the address has, or that was open before, where it is known whether the grid has it here. */
  #showDueRow(): void {
    const { row: id } = this.#state
    const { activeRow: position = 0 } = this.#grid ?? {}
    const row = this.#source?.rowAt(position)
    const { isOpen = false, count = 0 } = this.#source ?? {}
    if (!this.#isRowDue || id === undefined) return
    if (row === undefined && (isOpen || position < count) && position >= 0) return
    this.#isRowDue = false
    if (row?.$rowID === id) this.#pane.showRow(row, position, new Set(this.#state.columns))
    else this.#pane.showRow({ $rowID: id }, undefined, new Set())
  }

  #reopen(): void {
    this.#context.say(TEXT.namesSaved)
    this.#context.reload()
  }

  #closePane(): void {
    this.#pane.close()
    if (this.#state.row !== undefined) this.#note({ row: undefined }, true)
    this.#grid?.element.focus()
  }

  #lookForVersion(): void {
    if (document.hidden || !this.#notice.hidden) return
    const { id, version } = this.#info
    const asked = this.#api.newerVersion(id, version, this.#context.signal)
    start(
      asked.then((found) => found !== undefined && this.#sayVersion(found)),
      () => undefined,
    ) // A server that does not answer shows at the next read.
  }

  /** An answer may be older than what is shown by now. */
  #sayVersion(found: number, isSure = false): void {
    const { version } = this.#info
    const isOwn = this.#editor?.isBusy === true && !isSure // It may be.
    if (found <= version || isOwn) return
    const show = button(TEXT.showNewer, () => start(this.#showNewer(), this.#context.fail), {
      class: 'primary',
    })
    fill(this.#notice, el('span', {}, TEXT.newer(shownCount(found), shownCount(version))), show)
    this.#notice.hidden = false
  }

  /** Shows the table as it is now, or its last row. Filter, columns and place stay, unless names or columns have changed. */
  async #showNewer(isEnd = false): Promise<void> {
    const before = this.#info
    const info = await this.#api.info(before.id, this.#context.signal)
    const namesOf = ({ name, schema }: TableInfo) => JSON.stringify([name, schema])
    if (namesOf(info) !== namesOf(before)) return this.#context.reload()
    const { activeElement } = document
    const isHere = activeElement === document.body || this.#notice.contains(activeElement)
    this.#info = info
    this.#pane.info = info
    this.#notice.hidden = true
    this.#sayFacts()
    this.#open(this.#grid?.place)
    if (isEnd) this.#grid?.select(Math.max(0, (this.#source?.count ?? 0) - 1))
    if (isHere) this.#grid?.element.focus() // Whoever has gone elsewhere meanwhile stays there.
  }

  /** A session has its key in this browser only, so a command of a shell would be refused. */
  #copyFormats(): readonly CopyFormat[] {
    return this.#context.session.mode === 'key' ? ['json', 'csv', 'curl'] : ['json', 'csv']
  }

  #copy(copies: (copied: Copied) => Promise<string>): void {
    const source = this.#source
    if (source === undefined) return
    const { signal, say, fail } = this.#context
    const columns = this.#state.columns
    const copied = { api: this.#api, tableId: this.#info.id, source, columns, signal }
    start(copies(copied).then(say), fail)
  }
}
