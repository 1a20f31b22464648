// Changes of the rows in a grid, by keyboard, mouse and buttons.
import type { Row, VersionedRow } from '../base/api.js'
import { button, el, setDisabled, setText, start } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import { shownCount } from '../base/show.js'
import { isUriKind } from '../grid/cells.js'
import type { Grid } from '../grid/grid.js'
import type { GridColumn } from '../grid/grid-columns.js'
import type { Place } from '../grid/grid-keys.js'
import type { RowSource } from '../grid/row-sources.js'
import { BlockEdits } from './block-edits.js'
import { CellEditor, type Leaving } from './cell-editor.js'
import type { EditedTable, Shown } from './edited-table.js'
import { uploadFile } from './file-upload.js'
import { ProblemList } from './problem-list.js'
import { type CellChange, type EditProblem, RowEdits } from './row-edits.js'
import { RowForm } from './row-form.js'

const STEPS: Readonly<Record<Leaving, Place>> = {
  down: { row: 1, column: 0 },
  up: { row: -1, column: 0 },
  right: { row: 0, column: 1 },
  left: { row: 0, column: -1 },
  stay: { row: 0, column: 0 },
  away: { row: 0, column: 0 },
}

export class GridEditor {
  readonly tools: HTMLElement
  readonly problems: HTMLElement
  readonly #table: EditedTable
  readonly #edits: RowEdits
  readonly #list: ProblemList
  readonly #blocks: BlockEdits
  readonly #state = el('div', { class: 'editState', role: 'status' })
  readonly #undo = iconButton(EDIT.undo, '↶', () => this.#turn('undo'))
  readonly #redo = iconButton(EDIT.redo, '↷', () => this.#turn('redo'))
  /** The known positions of changed rows. */
  readonly #positions = new Map<string, number>()
  #shown: Shown | undefined
  #open: Readonly<{ editor: CellEditor; at: Place }> | undefined
  #form: RowForm | undefined
  #hasSaved = false

  constructor(table: EditedTable) {
    this.#table = table
    this.#edits = new RowEdits(table.api, table.info().id, {
      onChange: () => this.#changed(),
      onSaved: (version, columns) => {
        this.#hasSaved = true
        table.onSaved(version, columns)
      },
    })
    this.#blocks = new BlockEdits(table, this.#edits, (row, position) => {
      this.#positions.set(row.$rowID, position)
    })
    const nameOf = (problem: EditProblem): string => this.#nameOf(problem.change)
    this.#list = new ProblemList(this.#edits, nameOf, () => this.#shown?.grid.element.focus())
    this.problems = this.#list.element
    this.tools = el(
      'div',
      { class: 'editTools', role: 'group', 'aria-label': EDIT.tools },
      this.#undo,
      this.#redo,
      button(EDIT.addRow, () => this.#do(() => this.#blocks.addRow())),
      button(EDIT.deleteRows, () => this.#do((shown) => this.#blocks.deleteRows(shown))),
    )
    this.#changed()
  }

  get isBusy(): boolean {
    return this.#edits.isBusy
  }

  /** Whether the input over a cell is open, or something is being typed beside the grid. */
  get isEditing(): boolean {
    return this.#open !== undefined || this.#form?.isTouched === true
  }

  /** The inputs of a row as it was read. @param position - Its position in the grid, if known. */
  formOf(found: VersionedRow, position: number | undefined): RowForm {
    const { row, version } = found
    const { info } = this.#table
    if (position !== undefined) this.#positions.set(row.$rowID, position)
    const change = (column: string, after: string): void => {
      this.#edits.see(found, info().version)
      this.#edits.change([{ row, column, after, isWhole: true }], version)
    }
    this.#form = new RowForm(row.$rowID, info().schema.columns, {
      cellOf: (column) => this.#edits.cellOf(found, column),
      onSave: change,
      onFile: (column, file) => this.#store(file, (url) => change(column, url)),
    })
    return this.#form
  }

  /** A source whose rows include the changes made here. */
  over(source: RowSource): RowSource {
    const edits = this.#edits
    return {
      get count() {
        return source.count
      },
      get isOpen() {
        return source.isOpen
      },
      get isCut() {
        return source.isCut
      },
      get total() {
        return source.total
      },
      get isSorting() {
        return source.isSorting === true
      },
      rowAt: (position) => {
        const row = source.rowAt(position)
        return row === undefined ? undefined : edits.shown(row)
      },
      want: (from, to) => source.want(from, to),
      requestFrom: (position) => source.requestFrom(position),
      close: () => source.close(),
    }
  }

  /** Uses a new grid from now on, with the rows of the table's version. */
  attach(grid: Grid, source: RowSource, columns: readonly GridColumn[]): void {
    this.#open?.editor.element.remove()
    this.#open = undefined
    this.#shown = { grid, source, columns }
    this.#table.place.append(this.#state)
    this.#edits.settle(this.#table.info().version)
    const { element } = grid
    element.addEventListener('keydown', (event) => this.#keyDown(event), { capture: true })
    element.addEventListener('paste', (event) => {
      const text = event.clipboardData?.getData('text/plain') ?? ''
      if (text !== '' && grid.active.row >= 0) this.#do((shown) => this.#blocks.paste(shown, text))
    })
    element.addEventListener('dragover', (event) => this.#dragged(event))
    element.addEventListener('drop', (event) => this.#dropped(event))
  }

  /** Marks a cell of the grid by the state of its change. */
  markCell(cell: HTMLElement, row: Row | undefined, column: string): void {
    const state = row === undefined ? undefined : this.#edits.stateOf(row.$rowID, column)
    if (state !== undefined) cell.classList.add(state)
    const isBad = state === 'conflict' || state === 'failed'
    if (isBad) cell.setAttribute('aria-invalid', 'true')
    else cell.removeAttribute('aria-invalid')
    if (state === undefined || state === 'saved') cell.removeAttribute('aria-description')
    else cell.setAttribute('aria-description', EDIT.state[state])
  }

  onEdit(at: Place): void {
    this.#edit(at)
  }

  /** Must be called after the grid has drawn: puts the input over its cell again. */
  onDrawn(): void {
    if (this.#open === undefined) return
    const { editor, at } = this.#open
    editor.place(this.#shown?.grid.boxOf(at))
  }

  #nameOf({ rowId, column }: CellChange): string {
    const position = this.#positions.get(rowId)
    const name = this.#shown?.columns.find(({ id }) => id === column)?.name ?? column
    return EDIT.cellOf(name, position === undefined ? rowId : shownCount(position + 1))
  }

  #changed(): void {
    const { problems, isBusy, canUndo, canRedo } = this.#edits
    const settled = this.#hasSaved ? EDIT.saved : ''
    const text = problems.length > 0 ? EDIT.notSaved(problems.length) : settled
    setText(this.#state, isBusy ? EDIT.saving : text)
    setDisabled(!canUndo, this.#undo)
    setDisabled(!canRedo, this.#redo)
    this.#list?.refresh()
    this.#form?.refresh()
    this.#shown?.grid.draw()
  }

  #keyDown(event: KeyboardEvent): void {
    const { grid } = this.#shown ?? {}
    if (grid === undefined || event.isComposing) return
    const at = grid.active
    const { key, shiftKey, altKey } = event
    const isCommand = event.ctrlKey || event.metaKey
    const letter = key.toLowerCase()
    if (isCommand && (letter === 'z' || letter === 'y')) {
      this.#turn(letter === 'y' || shiftKey ? 'redo' : 'undo')
    } else if (at.row < 0) {
      return
    } else if (key === 'Enter' || key === 'F2') {
      this.#edit(at)
    } else if (key === 'Delete' && isCommand) {
      this.#do((shown) => this.#blocks.deleteRows(shown))
    } else if (key === 'Delete' || key === 'Backspace') {
      this.#do((shown) => this.#blocks.empty(shown))
    } else if (key.length === 1 && key !== ' ' && !isCommand && !altKey) {
      this.#edit(at, true)
      event.stopImmediatePropagation()
      return // The input gets the character.
    } else {
      return
    }
    event.preventDefault()
    event.stopImmediatePropagation()
  }

  #cellAt({ row: position, column: index }: Place) {
    const row = this.#shown?.source.rowAt(position)
    const column = this.#shown?.columns[index]
    return row === undefined || column === undefined ? undefined : { row, column }
  }

  #edit(at: Place, isTyped = false): void {
    const cell = this.#cellAt(at)
    const { grid } = this.#shown ?? {}
    this.#open?.editor.focus() // An input stays open if its value does not fit.
    if (cell === undefined || grid === undefined || this.#open !== undefined) return
    const { row, column } = cell
    const { version } = this.#table.info()
    grid.moveTo(at)
    const label = EDIT.cellOf(column.name, shownCount(at.row + 1))
    const editor = new CellEditor(column.type, row[column.id], label, isTyped, {
      onSave: (token) => {
        this.#positions.set(row.$rowID, at.row)
        this.#edits.change([{ row, column: column.id, after: token }], version)
      },
      onEnd: (leaving) => this.#leave(at, leaving),
      onFile: (file) => this.#upload(at, file),
    })
    this.#open = { editor, at }
    this.#table.place.append(editor.element)
    this.onDrawn()
    editor.focus()
  }

  #leave(at: Place, leaving: Leaving): void {
    const { grid, columns = [] } = this.#shown ?? {}
    const editor = this.#open?.editor
    this.#open = undefined
    editor?.element.remove()
    if (leaving === 'away' || grid === undefined) return
    const step = STEPS[leaving]
    const row = Math.max(0, Math.min(at.row + step.row, (this.#shown?.source.count ?? 1) - 1))
    const column = Math.max(0, Math.min(at.column + step.column, columns.length - 1))
    grid.moveTo({ row, column })
    grid.element.focus()
  }

  #turn(list: 'undo' | 'redo'): void {
    const { canUndo, canRedo } = this.#edits
    const can = list === 'undo' ? canUndo : canRedo
    const done = list === 'undo' ? EDIT.undone : EDIT.redone
    this.#table.say(can ? done : EDIT.nothingToUndo)
    const [first] = this.#edits.turn(list, this.#table.fail)
    if (first === undefined) return
    const row = this.#positions.get(first.rowId)
    const column = this.#shown?.columns.findIndex(({ id }) => id === first.column) ?? -1
    const isThere = row !== undefined && this.#shown?.source.rowAt(row)?.$rowID === first.rowId
    if (isThere && column >= 0) this.#shown?.grid.moveTo({ row, column })
  }

  /** Does something with the chosen block. */
  #do(work: (shown: Shown) => Promise<void>): void {
    if (this.#shown !== undefined) start(work(this.#shown), this.#table.fail)
  }

  #dragged(event: DragEvent): void {
    if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault()
  }

  /** Files dropped on a cell of addresses go into this cell and those below. */
  #dropped(event: DragEvent): void {
    const { grid, columns } = this.#shown ?? {}
    const files = [...(event.dataTransfer?.files ?? [])]
    if (grid === undefined || files.length === 0) return
    const at = grid.placeAt(event.clientX, event.clientY)
    const kind = columns?.[at.column]?.type.kind
    if (kind === undefined || !isUriKind(kind)) return // The page imports the file.
    event.preventDefault()
    for (const [index, file] of files.entries())
      this.#upload({ row: at.row + index, column: at.column }, file)
  }

  #upload(at: Place, file: File): void {
    const cell = this.#cellAt(at)
    if (cell === undefined) return
    const { version } = this.#table.info()
    this.#positions.set(cell.row.$rowID, at.row)
    this.#store(file, (after) => {
      this.#edits.change([{ row: cell.row, column: cell.column.id, after }], version)
    })
  }

  /** @param take - Receives the URL of the stored file, as JSON. */
  #store(file: File, take: (url: string) => void): void {
    this.#table.say(EDIT.uploading(file.name))
    const stored = uploadFile(this.#table.api, file).then((url) => take(JSON.stringify(url)))
    start(stored, this.#table.fail)
  }
}

function iconButton(label: string, icon: string, onClick: () => void): HTMLButtonElement {
  return button(icon, onClick, { 'aria-label': label, title: label })
}
