// What a person changes in the rows of a table: shown at once, sent one after the other, and undone.
//
// Invariants:
// - A change is sent with the version of its row that the person has seen. What others have written since is never
//   overwritten: a cell that both have changed is a conflict, until the person decides.
// - The second of two changes of a row is sent only when the version that the first change created is known.
import { ClientError } from '../../../../src/client/client-error.js'
import type { Api, Row, VersionedRow } from '../base/api.js'
import { start } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import { wordsOf } from '../base/failure-words.js'
import { jsonText, parseJson } from '../base/json-text.js'
import { tokenOf } from './cell-text.js'
import { updateRows } from './row-writes.js'

/** A change that a function undoes. */
type Noted = Readonly<{ undo: () => Promise<void> }>

export type CellState = 'pending' | 'saved' | 'conflict' | 'failed'

export type NewCell = Readonly<{
  row: Row
  column: string
  after: string
  /** Whether the row has the cells of all columns, as it was read. Default: a row of the grid. */
  isWhole?: boolean
}>

export type CellChange = Readonly<{
  rowId: string
  column: string
  /** The JSON that the person has seen in the cell. */
  before: string
  after: string
  /** The person has seen the row at this version of the table. */
  version: number
}>

/** An unsaved change that waits for a decision. */
export type EditProblem = Readonly<{
  change: CellChange
  /** The JSON of the current value; undefined: there is no conflict. */
  theirs: string | undefined
  message: string
}>

export type EditEvents = Readonly<{
  /** Called when cells look different, or the number of unsaved ones has changed. */
  onChange: () => void
  /** Called when a change made here has created a version of the table, with changed cells in these columns. */
  onSaved: (version: number, columns: readonly string[]) => void
}>

type Step = { changes: readonly CellChange[]; readonly list: 'undo' | 'redo' }

type ShownCell = { token: string; state: CellState }

type Overlay = {
  /** The row of the grid that the overlay covers. */
  of: Row | undefined
  shown: Row | undefined
  /** The row as it was read after a conflict. */
  whole: Row | undefined
  readonly cells: Map<string, ShownCell>
  /** The known version of the row. */
  version: number
  /** The version of the last change made here. */
  ownVersion: number
}

/** The maximum number of steps that can be undone. */
const STEPS_MAX = 200
/** How often a change is repeated because others change other cells of its row. */
const TRIES_MAX = 20
/** The maximum number of rows that an answer names. */
const PROBLEMS_AT_ONCE = 100

export class RowEdits {
  readonly #api: Api
  readonly #tableId: string
  readonly #events: EditEvents
  readonly #overlays = new Map<string, Overlay>()
  readonly #queue: Step[] = []
  readonly #lists: Record<Step['list'], (Step | Noted)[]> = { undo: [], redo: [] }
  #problems: readonly EditProblem[] = []
  #sending: Step | undefined

  constructor(api: Api, tableId: string, events: EditEvents) {
    this.#api = api
    this.#tableId = tableId
    this.#events = events
  }

  get problems(): readonly EditProblem[] {
    return this.#problems
  }

  get isBusy(): boolean {
    return this.#sending !== undefined
  }

  get canUndo(): boolean {
    return this.#lists.undo.length > 0
  }

  get canRedo(): boolean {
    return this.#lists.redo.length > 0
  }

  /** A row of the grid as it is shown. It is the same object while it looks the same. */
  shown(row: Row): Row {
    const overlay = this.#overlays.get(row.$rowID)
    if (overlay === undefined) return row
    if (overlay.of === row && overlay.shown !== undefined) return overlay.shown
    overlay.of = row
    const shown: Record<string, unknown> = { ...(overlay.whole ?? row) }
    for (const [column, { token }] of overlay.cells) {
      const value = parseJson(token)
      if (value === null) delete shown[column]
      else shown[column] = value
    }
    overlay.shown = shown as Row
    return overlay.shown
  }

  stateOf(rowId: string, column: string): CellState | undefined {
    return this.#overlays.get(rowId)?.cells.get(column)?.state
  }

  /** A cell of a separately read row, as JSON, with its changes. */
  cellOf(
    { row, version }: VersionedRow,
    column: string,
  ): Readonly<{ token: string; state: CellState | undefined }> {
    const { whole = row, cells, version: known = 0 } = this.#overlays.get(row.$rowID) ?? {}
    const cell = cells?.get(column)
    const isLater = version > known
    if (cell !== undefined && !(isLater && cell.state === 'saved')) return cell
    return { token: tokenOf((isLater ? row : whole)[column]), state: undefined }
  }

  /** Shows a separately read row, with its changes, if it is newer than the shown one. @param version - The grid's. */
  see({ row, version: found }: VersionedRow, version: number): void {
    const overlay = this.#overlays.get(row.$rowID)
    if (found > (overlay?.version ?? version)) this.#takeRow(row, found)
  }

  /** Shows a row as it was read now. It includes the saved changes, so only the unsaved ones still cover it. */
  #takeRow(row: Row, version: number): Overlay {
    const overlay = this.#overlayOf(row.$rowID, version)
    overlay.whole = row
    overlay.version = version
    overlay.shown = undefined
    for (const [column, { state }] of overlay.cells)
      if (state === 'saved') overlay.cells.delete(column)
    return overlay
  }

  /** Changes rows in one commit. @param version - The version in which they were seen. */
  change(cells: readonly NewCell[], version: number): void {
    this.#lists.redo.length = 0 // A new change ends the possibility to redo.
    this.apply(cells.map((cell) => this.#changeOf(cell, version)))
  }

  #changeOf({ row, column, after, isWhole }: NewCell, version: number): CellChange {
    const overlay = this.#overlays.get(row.$rowID)
    const cell = overlay?.cells.get(column)
    const isOpen = cell?.state === 'conflict' || cell?.state === 'failed'
    const settled = overlay?.whole ?? (isWhole ? row : (overlay?.of ?? row))
    const before = cell === undefined || isOpen ? tokenOf(settled[column]) : cell.token
    const known = Math.max(version, overlay?.version ?? 0)
    return { rowId: row.$rowID, column, before, after, version: known }
  }

  /** Makes changes as one step: they are sent together, and undone together. */
  apply(given: readonly CellChange[], list: Step['list'] = 'undo'): void {
    for (const { rowId, column } of given) this.#forget(rowId, column)
    const changes = given.filter(({ before, after }) => before !== after)
    for (const { rowId, column, after, version } of changes) {
      const overlay = this.#overlayOf(rowId, version)
      overlay.cells.set(column, { token: after, state: 'pending' })
      overlay.shown = undefined
    }
    if (changes.length > 0) {
      const step = { changes, list }
      this.#queue.push(step)
      this.#push(list, step)
    }
    this.#events.onChange()
    if (this.#sending === undefined) void this.#run()
  }

  /** Records another change, which a function undoes. */
  note(undo: () => Promise<void>): void {
    this.#lists.redo.length = 0
    this.#push('undo', { undo })
    this.#events.onChange()
  }

  #push(list: Step['list'], step: Step | Noted): void {
    const steps = this.#lists[list]
    steps.push(step)
    if (steps.length > STEPS_MAX) steps.shift()
  }

  /** Undoes the last change, or redoes the last undone one. @returns what is changed */
  turn(list: Step['list'], onFailure: (failure: unknown) => void): readonly CellChange[] {
    const step = this.#lists[list].pop()
    if (step === undefined) return []
    if ('undo' in step) {
      this.#events.onChange()
      start(step.undo(), onFailure)
      return []
    }
    const changes = step.changes.map((change) => {
      const { rowId, before, after, version } = change
      const known = Math.max(version, this.#overlays.get(rowId)?.ownVersion ?? 0)
      return { ...change, before: after, after: before, version: known }
    })
    this.apply(changes, list === 'undo' ? 'redo' : 'undo')
    return changes
  }

  /** Keeps the person's value, which replaces the current value. */
  takeMine({ change, theirs }: EditProblem): void {
    const version = Math.max(change.version, this.#overlays.get(change.rowId)?.version ?? 0)
    this.apply([{ ...change, before: theirs ?? change.before, version }])
  }

  takeTheirs(problems: readonly EditProblem[]): void {
    for (const { change } of problems) this.#forget(change.rowId, change.column)
    this.#events.onChange()
  }

  /** The grid has the rows of a version, which include the changes saved until then. */
  settle(version: number): void {
    for (const [rowId, overlay] of this.#overlays) {
      if (overlay.version > version) continue
      overlay.whole = undefined
      overlay.shown = undefined
      for (const [column, { state }] of overlay.cells)
        if (state === 'saved') overlay.cells.delete(column)
      if (overlay.cells.size === 0) this.#overlays.delete(rowId)
    }
  }

  #overlayOf(rowId: string, version: number): Overlay {
    const found = this.#overlays.get(rowId)
    if (found !== undefined) return found
    const none = { of: undefined, shown: undefined, whole: undefined, ownVersion: 0 }
    const made = { ...none, cells: new Map(), version }
    this.#overlays.set(rowId, made)
    return made
  }

  /** Drops an unsaved change. */
  #forget(rowId: string, column: string): void {
    this.#problems = this.#problems.filter(({ change }) => !isOf(change, rowId, column))
    const overlay = this.#overlays.get(rowId)
    const state = overlay?.cells.get(column)?.state
    if (overlay === undefined || state === 'pending' || state === 'saved') return
    overlay.cells.delete(column)
    overlay.shown = undefined
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#sending = this.#queue.shift()
      this.#events.onChange()
      if (this.#sending === undefined) return
      await this.#send(this.#sending)
    }
  }

  /** Never rejects: a failure becomes a problem. One request sends everything of a step that can be sent. */
  async #send(step: Step): Promise<void> {
    const seen = new Map<string, number>()
    for (let tries = 0; step.changes.length > 0; tries++) {
      const rows = this.#rowsOf(step, seen)
      try {
        this.#saved(step, await updateRows(this.#api, this.#tableId, rows))
        return
      } catch (failure) {
        const isNewer = failure instanceof ClientError && failure.status === 412
        if (!isNewer || tries >= TRIES_MAX + rows.length / PROBLEMS_AT_ONCE) {
          for (const change of step.changes) this.#refuse(step, change, wordsOf(failure))
          return
        }
        const named = failure.problems?.map(({ row }) => rows[row]?.rowId ?? '')
        await this.#compareAll(step, named ?? rows.map(({ rowId }) => rowId), seen)
      }
    }
  }

  #rowsOf({ changes }: Step, seen: ReadonlyMap<string, number>) {
    const rows = new Map<string, { rowId: string; version: number; cells: Map<string, string> }>()
    for (const { rowId, column, after, version } of changes) {
      const own = this.#overlays.get(rowId)?.ownVersion ?? 0
      const known = seen.get(rowId) ?? Math.max(version, own)
      const row = rows.get(rowId) ?? { rowId, version: known, cells: new Map() }
      row.cells.set(column, after)
      rows.set(rowId, row)
    }
    return [...rows.values()]
  }

  /** Reads rows that others have changed, and removes from the step what both have changed. */
  async #compareAll(
    step: Step,
    rowIds: readonly string[],
    seen: Map<string, number>,
  ): Promise<void> {
    for (const rowId of new Set(rowIds)) {
      try {
        const now = await this.#api.row(this.#tableId, rowId)
        seen.set(rowId, now.version)
        this.#compare(step, now)
      } catch (failure) {
        const isGone = failure instanceof ClientError && failure.type === 'row_not_found'
        const message = isGone ? EDIT.rowGone : wordsOf(failure)
        for (const change of step.changes)
          if (change.rowId === rowId) this.#refuse(step, change, message)
      }
    }
  }

  #saved({ changes }: Step, version: number): void {
    for (const { rowId, column, after } of changes) {
      const overlay = this.#overlayOf(rowId, version)
      overlay.version = version
      overlay.ownVersion = version
      overlay.shown = undefined
      const cell = overlay.cells.get(column)
      if (cell?.token === after && cell.state === 'pending') {
        overlay.cells.set(column, { token: after, state: 'saved' })
      }
    }
    const columns = changes.map(({ column }) => column)
    this.#events.onSaved(version, columns)
  }

  /** Removes from a step the changes of cells in a row that others have changed too. */
  #compare(step: Step, { row, version }: VersionedRow): void {
    const overlay = this.#takeRow(row, version)
    for (const change of step.changes) {
      if (change.rowId !== row.$rowID) continue
      const theirs = tokenOf(row[change.column])
      if (isSame(theirs, change.before)) continue
      if (isSame(theirs, change.after)) {
        overlay.cells.delete(change.column) // The person and others have written the same value.
        this.#leaveOut(step, change)
      } else {
        this.#addProblem(step, { change, theirs, message: '' }, 'conflict')
      }
    }
  }

  #refuse(step: Step, change: CellChange, message: string): void {
    this.#addProblem(step, { change, theirs: undefined, message }, 'failed')
  }

  #leaveOut(step: Step, change: CellChange): void {
    step.changes = step.changes.filter((other) => other !== change)
    const steps = this.#lists[step.list]
    if (step.changes.length === 0 && steps.includes(step)) steps.splice(steps.indexOf(step), 1)
  }

  #addProblem(step: Step, problem: EditProblem, state: CellState): void {
    const { rowId, column, after } = problem.change
    this.#leaveOut(step, problem.change)
    const overlay = this.#overlayOf(rowId, problem.change.version)
    // A later change of the cell already waits: it gets the same problem itself.
    if (overlay.cells.get(column)?.token !== after) return
    overlay.cells.set(column, { token: after, state })
    overlay.shown = undefined
    this.#problems = [...this.#problems, problem]
  }
}

function isOf(change: CellChange, rowId: string, column: string): boolean {
  return change.rowId === rowId && change.column === column
}

/** Whether two JSON texts are the same value, with the same spelling. */
function isSame(one: string, other: string): boolean {
  return one === other || jsonText(parseJson(one)) === jsonText(parseJson(other))
}
