// One table: its rows in a grid, a filter, a choice of columns, and a pane for one row.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { Api, Column, TableInfo } from '../base/api.js'
import { button, el, fill, setAttributes, setText, start } from '../base/dom.js'
import * as SCHEMA from '../base/schema-texts.js'
import * as TEXT from '../base/texts.js'
import { GridEditor } from '../edit/grid-editor.js'
import { SchemaEditor } from '../edit/schema-editor.js'
import { FilterBar } from '../grid/filter-bar.js'
import { isSearched } from '../grid/filter-where.js'
import { Grid, type GridPlace, ROW_HEIGHT } from '../grid/grid.js'
import { GridColumns } from '../grid/grid-columns.js'
import { openRows, type RowSource, type SourceEvents } from '../grid/row-sources.js'
import { SidePane } from '../grid/side-pane.js'
import { nextSort } from '../grid/sort-order.js'
import { openColumnMenu } from './column-menu.js'
import { mayWrite, type View, type ViewContext } from './shell.js'
import {
  frequentValues,
  isPlacedBy,
  parseAddress,
  queryOfState,
  renderAddress,
  type TableState,
} from './table-address.js'
import { type Copied, copyBlock, copyRows } from './table-copies.js'
import { type Downloaded, TableDownload } from './table-download.js'
import {
  emptyNote,
  factsOf,
  gridColumns,
  misplacedNote,
  placeText,
  sayAnew,
  sumText,
} from './table-facts.js'
import { TableLive } from './table-live.js'
import { SearchBox, tableTools } from './table-tools.js'

/** The place in the table when a filter or a search begins to show other rows: the first row. */
const FROM_TOP = { top: 0, active: { row: 0, column: 0 }, row: undefined }

/** Shows a table. @throws {ClientError} if it cannot be read */
export async function openTable(context: ViewContext, tableId: string): Promise<View> {
  const info = await context.api.info(tableId, context.signal)
  return new TableView(context, info).view
}

/** The view of a table is written into the address this long after a person has scrolled, in milliseconds. */
const PLACE_MS = 300
/** The maximum number of rows that a screen shows. */
const ROWS_SEEN_MAX = 100

class TableView {
  readonly view: View
  readonly #api: Api
  readonly #context: ViewContext
  #info: TableInfo
  #state: TableState
  readonly #live: TableLive
  readonly #download: TableDownload
  readonly #facts = el('p', { class: 'muted' })
  readonly #empty = el('div', { class: 'noMatch', role: 'status', hidden: true })
  readonly #misplaced = misplacedNote(() => {
    this.#open(this.#grid?.place)
    this.#grid?.element.focus()
  })
  readonly #toggle = button(TEXT.filter, () => this.#toggleFilter(), { 'aria-expanded': 'false' })
  readonly #place = el('div', { class: 'gridPlace' })
  readonly #status = el('span', { class: 'muted place' })
  readonly #sums = el('div', { class: 'editState sums' })
  readonly #search: SearchBox
  readonly #filter: FilterBar
  readonly #pane: SidePane
  readonly #editor: GridEditor | undefined
  #schema: SchemaEditor | undefined
  #source: RowSource | undefined
  #grid: Grid | undefined
  #view: readonly [from: number, to: number] = [0, 0]
  /** Whether the open row must be shown once its position is known. */
  #isRowDue = false
  #moved: ReturnType<typeof setTimeout> | undefined

  constructor(context: ViewContext, info: TableInfo) {
    this.#context = context
    this.#api = context.api
    this.#info = info
    const { columns } = info.schema
    this.#state = parseAddress(context.query, columns)
    const { conditions, search } = this.#state
    this.#search = new SearchBox(search, () => this.#noteSearch() && this.#open())
    this.#filter = new FilterBar(columns, conditions, {
      onApply: (found) => this.#change({ ...FROM_TOP, conditions: found }),
      askValues: (column) => frequentValues(context, this.#info, this.#state, column),
    })
    this.#filter.element.hidden = conditions.length === 0
    this.#pane = new SidePane(this.#api, info, {
      schemaForm: mayWrite(context) ? () => this.#schemaForm() : undefined,
      rowForm: (row, position) => this.#editor?.formOf(row, position),
      onClose: () => this.#closePane(),
      onStep: (step) => this.#openRow((this.#grid?.activeRow ?? 0) + step),
      onSaid: context.say,
    })
    this.#editor = mayWrite(context) ? this.#makeEditor() : undefined
    this.#download = new TableDownload(context)
    this.#live = new TableLive({
      api: this.#api,
      tableId: info.id,
      signal: context.signal,
      shown: () => this.#info.version,
      take: () => start(this.#showNewer(), context.fail),
      isChanging: () => this.#editor?.isBusy === true,
      isEditing: () => this.#editor?.isEditing === true,
    })
    const body = el('div', { class: 'tableBody' }, this.#place, this.#pane.element)
    const element = el(
      'section',
      { class: 'tableView' },
      this.#head(),
      this.#filter.element,
      this.#live.element,
      this.#misplaced,
      this.#download.element,
      this.#editor?.problems ?? '',
      body,
    )
    this.view = {
      element,
      title: info.name,
      onShown: () => {
        this.#open(this.#addressedPlace())
        if (this.#state.isSchema) this.#pane.showSchema()
      },
      focus: () => (this.#state.isSchema ? this.#pane : this.#grid)?.element.focus(),
      close: () => {
        clearTimeout(this.#moved)
        this.#search.take()
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
      onSaved: (version, columns) => this.#took(version, columns),
      onRows: (isEnd) => this.#showNewer(isEnd),
    })
  }

  /** Must be called when a change made here created a version. If it is not the next one, others made those between. */
  #took(version: number, columns: readonly string[]): void {
    if (isPlacedBy(this.#state, columns)) this.#misplaced.hidden = false
    if (version === this.#info.version + 1) {
      this.#info = { ...this.#info, version, updatedAt: this.#context.now() }
      this.#pane.info = this.#info
      this.#sayFacts()
      this.#live.draw()
    } else {
      this.#live.tell(version, true)
    }
  }

  #sayFacts(): void {
    fill(this.#facts, ...factsOf(this.#info, this.#context.now()))
  }

  #head(): HTMLElement {
    const { name, schema } = this.#info
    const download = this.#download.menu(() => ({ info: this.#info, query: this.#query() }))
    this.#sayFacts()
    return el(
      'div',
      { class: 'tableHead' },
      el('div', {}, el('h1', {}, name || TEXT.noName), this.#facts),
      el(
        'div',
        { class: 'tools' },
        this.#status,
        schema.columns.some(({ type }) => isSearched(type)) ? this.#search.element : null,
        this.#toggle,
        ...tableTools(this.#context.session, schema.columns, [this.#editor?.tools, download], {
          openRow: () => this.#openRow(Math.max(0, this.#grid?.activeRow ?? 0)),
          shown: () => this.#state.columns,
          show: (columns) => this.#change({ columns }),
          copy: (format) => this.#copy((copied) => copyRows(copied, format, this.#view)),
          showSchema: () => this.#showSchema(),
        }),
      ),
    )
  }

  #showSchema(): SchemaEditor | undefined {
    this.#note({ row: undefined, isSchema: true }, !this.#state.isSchema)
    this.#pane.showSchema()
    return this.#schema
  }

  #openMenu(id: string, left: number): void {
    const column = this.#shownColumns().find((each) => each.id === id)
    if (column === undefined) return
    openColumnMenu({ place: this.#place, left }, column, this.#state, {
      change: (change) => this.#change(change),
      filterBy: () => {
        if (this.#filter.element.hidden) this.#toggleFilter()
        this.#filter.ask(column)
      },
      changeColumn: this.#editor && ((what) => this.#showSchema()?.change(id, what)),
      onBack: () => this.#grid?.element.focus(),
    })
  }

  #toggleFilter(): void {
    const { element } = this.#filter
    element.hidden = !element.hidden
    this.#sayFilter()
    if (!element.hidden) this.#filter.focus()
  }

  #sayFilter(): void {
    setText(this.#toggle, TEXT.filterOf(this.#state.conditions.length))
    setAttributes(this.#toggle, { 'aria-expanded': String(!this.#filter.element.hidden) })
  }

  /** Records the typed text. The back button returns to all rows, not to each letter. @returns whether it changed */
  #noteSearch(): boolean {
    const { search } = this.#state
    const value = this.#search.take()
    if (value === search) return false
    this.#note({ ...FROM_TOP, search: value }, (search === '') !== (value === ''))
    return true
  }

  /** Changes what is shown of the table. The back button returns to the current state. */
  #change(change: Partial<TableState>): void {
    // Unless the change sets a position, the grid keeps its own, as far as there are rows.
    const place = this.#noteSearch() || change.top !== undefined ? undefined : this.#grid?.place
    this.#note(change, true)
    this.#open(place)
  }

  #note(change: Partial<TableState>, isNew: boolean): void {
    if (isNew) this.#notePlace() // The back button returns to the position, too.
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

  /** Opens the grid on the wanted rows. @param place - Where it goes. Default: to the beginning. */
  #open(place?: GridPlace): void {
    const hadFocus = this.#grid?.element.contains(document.activeElement) === true
    this.#source?.close()
    this.#grid?.close()
    this.#misplaced.hidden = true
    if (this.#state.row === undefined) this.#pane.closeRow()
    else this.#isRowDue = true
    const read = this.#sourceOf(place?.rows ?? 0)
    const source = this.#editor?.over(read) ?? read
    const { sort } = this.#state
    const shown = gridColumns(this.#shownColumns(), sort)
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
        onMenu: (column, left) => this.#openMenu(column, left),
        onCopy: (block) => this.#copy((copied) => copyBlock(copied, block)),
        onView: (from, to) => this.#sayPlace(from, to),
      },
    )
    this.#source = source
    this.#grid = grid
    fill(this.#place, grid.element, this.#empty, this.#sums)
    this.#editor?.attach(grid, source, shown)
    this.#sayFilter()
    if (hadFocus) grid.element.focus()
    grid.refresh()
    this.#showDueRow()
  }

  #shownColumns(): readonly Column[] {
    return this.#info.schema.columns.filter(({ id }) => this.#state.columns.includes(id))
  }

  #query(): Downloaded['query'] {
    return queryOfState(this.#state, this.#info.schema.columns)
  }

  #sourceOf(atLeast: number): RowSource {
    const { id: tableId, version, rowCount } = this.#info
    const query = this.#query()
    const isShown = (found: number): boolean => found >= version && found <= this.#info.version
    const reading = { api: this.#api, tableId, isShown, query }
    const events: SourceEvents = {
      onRows: () => {
        this.#grid?.refresh()
        this.#showDueRow()
      },
      onVersion: (found) => this.#live.tell(found),
      onFailure: (failure) => this.#fail(failure),
    }
    return openRows(reading, events, rowCount, atLeast)
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
    this.#sayEmpty(count === 0 && !isOpen && !isCut)
    const { block } = this.#grid ?? {}
    const isSorted = this.#state.sort.length > 0
    sayAnew(this.#status, placeText(this.#source, this.#view, isSorted, block))
    sayAnew(this.#sums, sumText(this.#source, block, this.#shownColumns()))
  }

  #sayEmpty(isEmpty: boolean): void {
    if (this.#empty.hidden !== isEmpty) return
    this.#empty.hidden = !isEmpty
    const { conditions, search } = this.#state
    const isAll = conditions.length === 0 && search === ''
    const showAll = (): void => {
      this.#search.element.value = ''
      this.#filter.clear()
      this.#grid?.element.focus()
    }
    fill(this.#empty, ...emptyNote(isAll, showAll))
  }

  #openRow(position: number): void {
    const row = this.#source?.rowAt(position)
    if (row === undefined) return
    if (this.#grid?.activeRow !== position) this.#grid?.select(position)
    this.#isRowDue = false
    const wasOpen = this.#state.row !== undefined
    this.#note({ row: row.$rowID, isSchema: false }, !wasOpen)
    this.#pane.showRow(row, position, new Set(this.#state.columns))
  }

  /** Shows the row of the address, or the one open before, once its position in the grid is known. */
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

  /** The form for the columns. One with unsaved changes is shown again after rows were shown in its place. */
  #schemaForm(): HTMLElement {
    if (this.#schema?.isDirty === true) return this.#schema.element
    const onSaved = (message: string): void => {
      if (this.#context.signal.aborted) return
      if (message !== '') this.#context.say(message)
      this.#context.reload()
    }
    this.#schema = new SchemaEditor({ api: this.#api, info: () => this.#info, onSaved })
    return this.#schema.element
  }

  #closePane(): void {
    this.#pane.close()
    const { row, isSchema } = this.#state
    if (row !== undefined || isSchema) this.#note({ row: undefined, isSchema: false }, true)
    this.#grid?.element.focus()
  }

  /** Shows the newest version, `isEnd`: its last row. If names or columns have changed, the whole view is new. */
  async #showNewer(isEnd = false): Promise<void> {
    const before = this.#info
    const info = await this.#api.info(before.id, this.#context.signal)
    const namesOf = ({ name, schema }: TableInfo) => JSON.stringify([name, schema])
    if (namesOf(info) !== namesOf(before)) {
      // A reload would lose the unsaved changes of the columns.
      if (this.#schema?.isDirty === true) return this.#context.say(SCHEMA.saveFirst)
      return this.#context.reload()
    }
    const { activeElement } = document
    const isHere = activeElement === document.body || this.#live.element.contains(activeElement)
    this.#info = info
    this.#pane.info = info
    this.#live.draw()
    this.#sayFacts()
    this.#open(this.#grid?.place)
    if (isEnd) this.#grid?.select(Math.max(0, (this.#source?.count ?? 0) - 1))
    if (isHere) this.#grid?.element.focus() // A person who has gone elsewhere meanwhile stays there.
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
