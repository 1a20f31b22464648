// One table: its rows in a grid, a filter, a choice of columns, and a pane for one row.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { Api, Column, Row, TableInfo } from '../base/api.js'
import { copyToClipboard } from '../base/clipboard.js'
import { csvOfRows, curlOfRows, jsonOfRows } from '../base/copies.js'
import { button, el, fill, setText, start } from '../base/dom.js'
import { shownAge, shownBytes, shownCount, shownTime } from '../base/show.js'
import { TEXT } from '../base/texts.js'
import { FilterBar, makeWhere } from '../grid/filter-bar.js'
import { Grid, type GridPlace } from '../grid/grid.js'
import { GridColumns } from '../grid/grid-columns.js'
import { type CopyFormat, columnMenu, copyMenu } from '../grid/menus.js'
import { FoundRows, PositionRows, type RowSource, type SourceEvents } from '../grid/row-sources.js'
import { SidePane } from '../grid/side-pane.js'
import { mayWrite, type View, type ViewContext } from './shell.js'

/** How often the version of the table is asked for, in milliseconds. */
const WATCH_MS = 5_000

/** Shows a table. @throws {ClientError} if it cannot be read */
export async function openTable(context: ViewContext, tableId: string): Promise<View> {
  const info = await context.api.info(tableId, context.signal)
  return new TableView(context, info).view
}

class TableView {
  readonly view: View
  readonly #api: Api
  readonly #context: ViewContext
  #info: TableInfo
  readonly #notice = el('div', { class: 'notice', role: 'status', hidden: true })
  readonly #facts = el('p', { class: 'muted' })
  readonly #place = el('div', { class: 'gridPlace' })
  readonly #status = el('span', { class: 'muted place' })
  readonly #filter: FilterBar
  readonly #pane: SidePane
  #chosen: ReadonlySet<string>
  #where: object | undefined
  #source: RowSource | undefined
  #grid: Grid | undefined
  #view: readonly [from: number, to: number] = [0, 0]
  /** A place of the grid before, to which this one goes once its rows are there. */
  #due: GridPlace | undefined

  constructor(context: ViewContext, info: TableInfo) {
    this.#context = context
    this.#api = context.api
    this.#info = info
    this.#chosen = new Set(info.schema.columns.map(({ id }) => id))
    this.#filter = new FilterBar(info.schema.columns, (conditions) => {
      this.#where = makeWhere(conditions, info.schema.columns)
      this.#open()
    })
    this.#filter.element.hidden = true
    this.#pane = new SidePane(this.#api, info, {
      onRenamed: mayWrite(context) ? () => this.#reopen() : undefined,
      onClose: () => this.#closePane(),
      onStep: (step) => this.#openRow((this.#grid?.activeRow ?? 0) + step),
      onSaid: context.say,
    })
    const body = el('div', { class: 'tableBody' }, this.#place, this.#pane.element)
    const element = el(
      'section',
      { class: 'tableView' },
      this.#head(),
      this.#filter.element,
      this.#notice,
      body,
    )
    const look = (): void => this.#lookForVersion()
    const watch = setInterval(look, WATCH_MS)
    addEventListener('focus', look, { signal: context.signal })
    this.view = {
      element,
      title: info.name,
      onShown: () => this.#open(),
      close: () => {
        clearInterval(watch)
        this.#source?.close()
        this.#grid?.close()
      },
    }
  }

  #sayFacts(): void {
    const { rowCount, schema, bytes, version, updatedAt } = this.#info
    const facts = [
      TEXT.rows(rowCount, shownCount(rowCount)),
      TEXT.columns(schema.columns.length),
      shownBytes(bytes),
      TEXT.version(shownCount(version)),
    ].join(' · ')
    const changed = el(
      'span',
      { title: shownTime(updatedAt) },
      ` · ${TEXT.changed} ${shownAge(updatedAt, this.#context.now())}`,
    )
    fill(this.#facts, facts, changed)
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
        button(TEXT.filter, () => this.#toggleFilter(), {
          'aria-expanded': 'false',
          id: 'filter-toggle',
        }),
        columnMenu(schema.columns, (chosen) => {
          this.#chosen = chosen
          this.#open(this.#placeNow())
        }),
        copyMenu(this.#copyFormats(), (format) => start(this.#copy(format), this.#context.fail)),
        button(TEXT.schema, () => this.#pane.showSchema()),
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

  /** Opens the grid on the rows that are wanted now. @param place - Where it goes. Default: to the beginning. */
  #open(place?: GridPlace): void {
    this.#due = place
    this.#source?.close()
    this.#grid?.close()
    this.#pane.closeRow()
    const columns = this.#info.schema.columns.filter(({ id }) => this.#chosen.has(id))
    const source = this.#sourceOf(columns, place?.rows ?? 0)
    const shown = columns.map(({ id, displayName = id, type }) => ({ id, name: displayName, type }))
    const { id: tableId, name } = this.#info
    const grid = new Grid(new GridColumns(shown, this.#context.widths.of(tableId)), source, name, {
      onOpen: (position) => this.#openRow(position),
      onView: (from, to) => this.#sayPlace(from, to),
    })
    this.#source = source
    this.#grid = grid
    fill(this.#place, grid.element)
    this.#refresh()
  }

  #refresh(): void {
    this.#grid?.refresh()
    if (this.#grid === undefined || this.#due === undefined) return
    const { count = 0, isOpen = false } = this.#source ?? {}
    const { active, top } = this.#grid.place
    const hasMoved = active.row !== 0 || top > 0 // Whoever has gone elsewhere meanwhile stays there.
    if (!hasMoved && isOpen && count < this.#due.rows) return
    if (!hasMoved) this.#grid.goTo(this.#due)
    this.#due = undefined
  }

  /** Where a person is, or will be once the rows are there. */
  #placeNow(): GridPlace | undefined {
    this.#refresh()
    return this.#due ?? this.#grid?.place
  }

  #sourceOf(columns: readonly Column[], atLeast: number): RowSource {
    const { id: tableId, version, rowCount, schema } = this.#info
    const isAll = columns.length === schema.columns.length
    const chosen = isAll ? undefined : columns.map(({ id }) => id)
    const reading = { api: this.#api, tableId, version, columns: chosen }
    const events: SourceEvents = {
      onRows: () => this.#refresh(),
      onVersion: (found) => this.#sayVersion(found),
      onFailure: (failure) => this.#fail(failure),
    }
    return this.#where === undefined
      ? new PositionRows(reading, rowCount, events)
      : new FoundRows(reading, this.#where, events, { atLeast })
  }

  #fail(failure: unknown): void {
    if (this.#where === undefined) this.#context.fail(failure)
    else this.#filter.showProblem(messageOf(failure))
  }

  #sayPlace(from: number, to: number): void {
    this.#view = [from, to]
    const { count = 0, isOpen = false, isCut = false } = this.#source ?? {}
    const all = `${shownCount(count)}${isOpen ? '+' : ''}`
    const say = isCut ? TEXT.placeOfFirst : TEXT.place
    const none = isOpen ? TEXT.searching : TEXT.noRows
    const text = count === 0 ? none : say(shownCount(from + 1), shownCount(to), all)
    if (this.#status.textContent !== text) setText(this.#status, text)
  }

  #openRow(position: number): void {
    const row = this.#source?.rowAt(position)
    if (row === undefined) return
    if (this.#grid?.activeRow !== position) this.#grid?.select(position)
    this.#pane.showRow(row, position, this.#chosen)
  }

  #reopen(): void {
    this.#context.say(TEXT.namesSaved)
    this.#context.reload()
  }

  #closePane(): void {
    this.#pane.close()
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
  #sayVersion(found: number): void {
    const { version } = this.#info
    if (found <= version) return
    const show = button(TEXT.showNewer, () => start(this.#showNewer(), this.#context.fail), {
      class: 'primary',
    })
    fill(this.#notice, el('span', {}, TEXT.newer(shownCount(found), shownCount(version))), show)
    this.#notice.hidden = false
  }

  /** Shows the table as it is now. Filter, columns and place stay, unless names or columns have changed. */
  async #showNewer(): Promise<void> {
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
    this.#open(this.#placeNow())
    if (isHere) this.#grid?.element.focus() // Whoever has gone elsewhere meanwhile stays there.
  }

  /** A session has its key in this browser only, so a command of a shell would be refused. */
  #copyFormats(): readonly CopyFormat[] {
    return this.#context.session.mode === 'key' ? ['json', 'csv', 'curl'] : ['json', 'csv']
  }

  async #copy(format: CopyFormat): Promise<void> {
    const [from, to] = this.#view
    const text = format === 'curl' ? await this.#curl(from, to) : this.#rowsText(format, from, to)
    this.#context.say(await copyToClipboard(text))
  }

  #rowsText(format: 'json' | 'csv', from: number, to: number): string {
    const rows: Row[] = []
    for (let position = from; position < to; position++) {
      const row = this.#source?.rowAt(position)
      if (row !== undefined) rows.push(row)
    }
    return format === 'json' ? jsonOfRows(rows) : csvOfRows(rows, [...this.#chosen])
  }

  async #curl(from: number, to: number): Promise<string> {
    const columns = [...this.#chosen]
    const isAll = columns.length === this.#info.schema.columns.length
    return curlOfRows(this.#api.url, this.#info.id, {
      ...(await this.#source?.requestFrom(from)),
      limit: Math.max(1, to - from),
      columns: isAll ? undefined : columns,
    })
  }
}
