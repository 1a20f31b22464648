// The list of tables.
import type { TableName } from '../base/api.js'
import { confirmDeletion } from '../base/confirm.js'
import { button, el, fill, setText, start } from '../base/dom.js'
import { runForEach } from '../base/held.js'
import { shownAge, shownBytes, shownCount, shownTime } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { dropZone } from '../import/drop-zone.js'
import { mayWrite, type View, type ViewContext } from './shell.js'

/** How many tables are listed at first, and more each time on demand: each takes a request for its numbers. */
const SHOWN_AT_ONCE = 100

/** How many tables at the top of the list have their row counts requested again at every poll. */
const LOOKED_AT = 20
/** Time between two polls for tables that others have created, deleted or filled, in milliseconds. */
const LOOK_MS = 5_000

export async function openTables(context: ViewContext): Promise<View> {
  const tables = await context.api.tables(context.signal)
  const list = new TableList(context, tables)
  const looking = setInterval(() => list.look(), LOOK_MS)
  const close = (): void => clearInterval(looking)
  return { element: list.element, title: TEXT.tabs.tables, close }
}

class TableList {
  readonly element: HTMLElement
  readonly #context: ViewContext
  #tables: readonly TableName[]
  /** The lines made so far. Each requests its numbers when it is first shown. */
  readonly #lines = new Map<TableName, TableLine>()
  readonly #body = el('tbody')
  readonly #more = el('p', { class: 'actions' })
  #wanted = ''
  #shown = SHOWN_AT_ONCE
  #isLooking = false

  constructor(context: ViewContext, tables: readonly TableName[]) {
    this.#context = context
    this.#tables = tables
    const search = el('input', {
      type: 'search',
      'aria-label': TEXT.findTable,
      placeholder: TEXT.findTable,
      oninput: () => {
        this.#wanted = search.value.toLowerCase()
        this.#shown = SHOWN_AT_ONCE
        this.#draw()
      },
    })
    const shown = mayWrite(context) ? TEXT.tableColumns : TEXT.tableColumns.slice(0, -1)
    const names = shown.map((name, index) => {
      return el('th', { class: index === 0 || index === 4 ? '' : 'number', scope: 'col' }, name)
    })
    const table = el(
      'table',
      { class: 'tables list' },
      el('thead', {}, el('tr', {}, ...names)),
      this.#body,
    )
    const add = el('a', { class: 'button', href: '#/import' }, TEXT.addFromFile)
    const tools = tables.length === 0 ? [] : [search, mayWrite(context) ? add : null]
    this.element = el(
      'section',
      { class: 'page' },
      el('div', { class: 'listHead' }, el('h1', {}, TEXT.tabs.tables), ...tools),
      tables.length === 0 ? this.#nothing() : el('div', { class: 'wide' }, table),
      this.#more,
    )
    this.#draw()
  }

  #nothing(): HTMLElement {
    const mayImport = mayWrite(this.#context)
    const zone = mayImport ? dropZone(this.#context.take) : el('p', {}, TEXT.needsWrite)
    return el('div', { class: 'nothing' }, el('p', {}, TEXT.noTables), zone)
  }

  /** Shows the current tables. Failures are ignored: a person's next request reports them. */
  look(): void {
    if (document.hidden || this.#isLooking) return
    this.#isLooking = true
    this.#look()
      .catch(() => undefined)
      .finally(() => {
        this.#isLooking = false
      })
  }

  async #look(): Promise<void> {
    const { api, signal, reload } = this.#context
    const tables = await api.tables(signal)
    if (signal.aborted) return
    if ((tables.length === 0) !== (this.#tables.length === 0)) return reload()
    const known = new Map(this.#tables.map((table) => [`${table.id} ${table.name}`, table]))
    const now = tables.map((table) => known.get(`${table.id} ${table.name}`) ?? table)
    const isSame = now.length === known.size && now.every((table, at) => table === this.#tables[at])
    this.#tables = now
    if (!isSame) this.#draw()
    for (const table of now.slice(0, LOOKED_AT)) await this.#lines.get(table)?.readAgain()
  }

  #draw(): void {
    const { activeElement } = document
    this.#drawLines()
    if (activeElement instanceof HTMLElement && this.#body.contains(activeElement)) {
      activeElement.focus() // Its line was inserted anew.
    }
  }

  #drawLines(): void {
    const found = this.#tables.filter(({ name }) => name.toLowerCase().includes(this.#wanted))
    const shown = found.slice(0, this.#shown)
    const rows = shown.map((table) => this.#lineOf(table))
    fill(this.#body, ...rows.map(({ element }) => element))
    const more = button(TEXT.moreTables(found.length - shown.length), () => {
      this.#shown += SHOWN_AT_ONCE
      this.#draw()
    })
    fill(this.#more, found.length > shown.length ? more : null)
    start(
      runForEach(rows, (line) => line.read()),
      this.#context.fail,
    )
  }

  #lineOf(table: TableName): TableLine {
    const known = this.#lines.get(table)
    if (known !== undefined) return known
    const line = new TableLine(table, this.#context, () => this.#forget(table))
    this.#lines.set(table, line)
    return line
  }

  #forget(table: TableName): void {
    this.#tables = this.#tables.filter((each) => each !== table)
    this.#lines.delete(table)
    this.#draw()
  }
}

class TableLine {
  readonly element: HTMLElement
  readonly #table: TableName
  readonly #context: ViewContext
  readonly #onDeleted: () => void
  readonly #numbers = Array.from({ length: 3 }, () => el('td', { class: 'number' }, '…'))
  readonly #age = el('td', {}, '…')
  #reading: Promise<void> | undefined

  constructor(table: TableName, context: ViewContext, onDeleted: () => void) {
    this.#table = table
    this.#context = context
    this.#onDeleted = onDeleted
    const { id, name } = table
    const link = el('a', { href: `#/table/${encodeURIComponent(id)}` }, name || TEXT.noName)
    this.element = el('tr', {}, el('td', { class: 'name' }, link), ...this.#numbers, this.#age)
    if (mayWrite(context)) this.element.append(this.#actions())
  }

  /** Requests the numbers at the first call, and at the next one after a failure. */
  read(): Promise<void> {
    this.#reading ??= this.#read().catch((failure: unknown) => {
      this.#reading = undefined
      throw failure
    })
    return this.#reading
  }

  /** Requests the numbers again, if the line is shown. */
  async readAgain(): Promise<void> {
    if (this.element.isConnected) await this.#read()
  }

  async #read(): Promise<void> {
    const { api, signal } = this.#context
    const { rowCount, bytes, schema, version, updatedAt } = await api.info(this.#table.id, signal)
    const [rows, size, columns] = this.#numbers
    if (rows) setText(rows, shownCount(rowCount))
    if (size) setText(size, shownBytes(bytes))
    if (columns) setText(columns, shownCount(schema.columns.length))
    const age = shownAge(updatedAt, this.#context.now())
    fill(
      this.#age,
      el('span', { title: shownTime(updatedAt) }, age),
      el('span', { class: 'muted' }, ` · ${TEXT.version(shownCount(version))}`),
    )
  }

  #actions(): HTMLElement {
    const remove = button(TEXT.deleteTable, () => this.#ask(), {
      class: 'plain quiet',
      'aria-label': TEXT.deleteNamed(this.#table.name),
    })
    return el('td', { class: 'number' }, remove)
  }

  /** Asks a person to confirm the deletion: a deleted table is gone for good. */
  #ask(): void {
    const { name, id } = this.#table
    confirmDeletion(TEXT.deleteNamed(name), TEXT.deleteQuestion(name), () => {
      const removed = this.#context.api.deleteTable(id).then(() => {
        this.#onDeleted()
        this.#context.say(TEXT.deleted(name))
      })
      start(removed, this.#context.fail)
    })
  }
}
