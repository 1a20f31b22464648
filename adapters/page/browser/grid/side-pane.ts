// The pane beside the grid: one whole row, or the schema of the table.
import { messageOf } from '../../../../src/base/shown-text.js'
import type { Api, Row, TableInfo, VersionedRow } from '../base/api.js'
import { copyToClipboard } from '../base/clipboard.js'
import { button, el, fill, setText, start } from '../base/dom.js'
import { PAST } from '../base/edit-texts.js'
import { jsonText } from '../base/json-text.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { shownType, wholeCell } from './cells.js'
import { rowHistory } from './row-history.js'
import { tableTimeline } from './table-timeline.js'

export type PaneEvents = Readonly<{
  /** A form for the columns; undefined: they must not be changed. */
  schemaForm: (() => HTMLElement) | undefined
  /** @returns the inputs of a row; undefined: it must not be changed */
  rowForm: (row: VersionedRow, position: number | undefined) => RowForm | undefined
  onClose: () => void
  /** Shows the next or previous row. */
  onStep: (step: number) => void
  onSaid: (message: string) => void
}>

/** The inputs of a row. */
export type RowForm = Readonly<{
  element: HTMLElement
  /** The row with its changes. */
  row: Row
  /** Moves the focus to a misfit that was typed, if there is one. */
  showMisfit: () => boolean
}>

export class SidePane {
  readonly element: HTMLElement
  /** The table in the shown version. */
  info: TableInfo
  readonly #api: Api
  readonly #events: PaneEvents
  #shown = 0
  #hasRow = false
  #form: RowForm | undefined

  constructor(api: Api, info: TableInfo, events: PaneEvents) {
    this.#api = api
    this.info = info
    this.#events = events
    this.element = el('aside', { class: 'pane', hidden: true, tabindex: -1 })
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#leave(events.onClose)
    })
  }

  get isOpen(): boolean {
    return !this.element.hidden
  }

  close(): void {
    this.#shown++
    this.element.hidden = true
  }

  /** Goes elsewhere, unless a misfit was typed. */
  #leave(go: () => void): void {
    if (!this.#hasRow || this.#form?.showMisfit() !== true) go()
  }

  /** Closes the pane if it shows a row: the grid may show other rows next. */
  closeRow(): void {
    if (this.#hasRow) this.close()
  }

  /**
   * Shows a row of the grid at once, and completely when it has been read.
   * @param position - In the grid; undefined: unknown.
   * @param chosen - The columns whose cells the row has.
   */
  showRow(row: Row, position: number | undefined, chosen: ReadonlySet<string>): void {
    const at = ++this.#shown
    this.#hasRow = true
    const { columns } = this.info.schema
    const known = columns.filter(({ id }) => chosen.has(id))
    const version = el('span', { class: 'muted' })
    const step = (label: string, by: number) =>
      button(label, () => this.#leave(() => this.#events.onStep(by)), { class: 'plain' })
    const history = el('div')
    const cells = el('dl', {}, ...known.flatMap((column) => renderRowField(row, column)))
    let whole = row
    this.#form = undefined
    const copy = button(TEXT.copyJson, () => this.#copy(this.#form?.row ?? whole), {
      disabled: true,
    })
    this.#show(
      position === undefined ? TEXT.rowNumber : TEXT.rowAt(shownCount(position + 1)),
      el('div', { class: 'actions' }, step(TEXT.rowBefore, -1), step(TEXT.rowAfter, 1), copy),
      el('p', { class: 'muted' }, `${row.$rowID} `, version),
      cells,
      history,
    )
    const asked = this.#api.row(this.info.id, row.$rowID).then((found) => {
      if (at !== this.#shown) return
      whole = found.row
      copy.disabled = false
      this.#form = this.#events.rowForm(found, position)
      if (this.#form === undefined)
        fill(cells, ...columns.flatMap((column) => renderRowField(whole, column)))
      else cells.replaceWith(this.#form.element)
      const shown = shownCount(found.version)
      const isNewer = found.version > this.info.version
      setText(version, isNewer ? TEXT.rowIsNewer(shown) : TEXT.rowVersion(shown))
      history.append(rowHistory(this.#api, this.info, found))
    })
    start(asked, (failure) => {
      if (at !== this.#shown) return
      setText(version, messageOf(failure)) // The row of the grid stays.
      copy.disabled = known.length < columns.length
    })
  }

  showSchema(): void {
    this.#shown++
    this.#hasRow = false
    const form = this.#events.schemaForm?.() ?? this.#columns()
    this.#show(TEXT.schema, form, this.#history())
  }

  #columns(): HTMLElement {
    const { schema, key } = this.info
    const head = [TEXT.columnName, TEXT.columnId, TEXT.columnType].map((text) => el('th', {}, text))
    const rows = schema.columns.map(({ id, displayName = id, type }) => {
      const isKey = key?.includes(id) === true
      return el(
        'tr',
        {},
        el('td', {}, displayName, isKey ? el('span', { class: 'badge' }, TEXT.key) : null),
        el('td', {}, el('code', {}, id)),
        el('td', {}, shownType(type)),
      )
    })
    return el('table', {}, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...rows))
  }

  #history(): HTMLElement {
    const place = el('section', { class: 'rowHistory', tabindex: -1, 'aria-label': PAST.title })
    const show = button(PAST.show, () => {
      fill(place, el('h3', {}, PAST.title), tableTimeline(this.#api, this.info))
      place.focus() // Otherwise the focus would leave the pane.
    })
    place.append(show)
    return place
  }

  #show(title: string, ...content: readonly Node[]): void {
    const end = (): void => this.#leave(this.#events.onClose)
    const close = button('×', end, { 'aria-label': TEXT.close, class: 'plain' })
    const heading = el('h2', {}, title)
    const { activeElement } = document
    const hadFocus = this.element.contains(activeElement)
    fill(this.element, el('div', { class: 'paneHead' }, heading, close), ...content)
    this.element.setAttribute('aria-label', title)
    const wasClosed = this.element.hidden
    this.element.hidden = false
    this.element.scrollTop = 0
    if (wasClosed || hadFocus) this.element.focus()
    if (!hadFocus) return
    // The focus stays on the button that goes from row to row.
    const buttons = [...this.element.querySelectorAll('button')]
    buttons.find(({ textContent }) => textContent === activeElement?.textContent)?.focus()
  }

  #copy(row: Row): void {
    start(copyToClipboard(jsonText(row, 2)).then(this.#events.onSaid), (failure) =>
      this.#events.onSaid(messageOf(failure)),
    )
  }
}

function renderRowField(
  row: Row,
  { id, displayName = id, type }: TableInfo['schema']['columns'][number],
): readonly Node[] {
  const kind = el('span', { class: 'kind' }, shownType(type))
  return [el('dt', {}, displayName, kind), el('dd', {}, wholeCell(row[id], type))]
}
