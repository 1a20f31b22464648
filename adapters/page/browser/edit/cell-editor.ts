// The input over a cell of the grid, from its opening until it is saved or given up.
import type { ColumnType } from '../base/api.js'
import { button, el, setText } from '../base/dom.js'
import { EDIT } from '../base/edit-texts.js'
import { isUriKind } from '../grid/cells.js'
import type { Box } from '../grid/grid.js'
import { cellInput } from './cell-input.js'
import { type ParsedCell, parseCell } from './cell-text.js'

/** Where the person goes after it. */
export type Leaving = 'down' | 'up' | 'right' | 'left' | 'stay' | 'away'

export type CellEditorEvents = Readonly<{
  onSave: (token: string) => void
  onEnd: (leaving: Leaving) => void
  /** A file was chosen, whose URL the cell shall have. */
  onFile: (file: File) => void
}>

export class CellEditor {
  readonly element: HTMLElement
  readonly #type: ColumnType
  readonly #input: ReturnType<typeof cellInput>
  readonly #events: CellEditorEvents
  readonly #problem: HTMLElement
  readonly #file = el('input', { type: 'file', hidden: true, tabindex: -1 })
  #isTouched = false
  /** The text that was said not to fit, if it may be sent nevertheless. */
  #doubted: string | undefined
  #isEnded = false

  /** @param typed - Whether a character follows that takes the place of the value. */
  constructor(
    type: ColumnType,
    value: unknown,
    label: string,
    typed: boolean,
    events: CellEditorEvents,
  ) {
    this.#type = type
    this.#events = events
    this.#input = cellInput(type, typed ? undefined : value, label)
    const { control, help } = this.#input
    const id = 'cell-problem'
    this.#problem = el('p', { id, class: 'problem', 'aria-live': 'assertive' })
    control.setAttribute('aria-describedby', id)
    const note = help === undefined ? null : el('p', { class: 'muted' }, help)
    const file = isUriKind(type.kind) ? this.#fileButton() : null
    this.element = el('div', { class: 'cellEditor' }, control, file, this.#problem, note)
    control.addEventListener('input', () => {
      this.#isTouched = true
      this.#check()
    })
    control.addEventListener('keydown', (event) => this.#keyDown(event as KeyboardEvent))
    this.element.addEventListener('focusout', ({ relatedTarget }) => {
      if (!this.element.contains(relatedTarget as Node | null)) this.#blurred()
    })
  }

  #fileButton(): HTMLElement {
    this.#file.addEventListener('change', () => {
      const [file] = this.#file.files ?? []
      if (file === undefined) return
      this.#end('stay')
      this.#events.onFile(file)
    })
    const choose = button(EDIT.chooseFile, () => this.#file.click())
    return el('div', { class: 'actions' }, choose, this.#file)
  }

  /** Puts it over a cell; undefined: the cell is not in view. */
  place(box: Box | undefined): void {
    const { style } = this.element
    // It keeps the focus.
    style.opacity = box === undefined ? '0' : '1'
    if (box === undefined) return
    style.minWidth = `${box.width}px`
    const { offsetWidth, offsetHeight, parentElement } = this.element
    const left = Math.min(box.left, (parentElement?.clientWidth ?? 0) - offsetWidth)
    const top = Math.min(box.top, (parentElement?.clientHeight ?? 0) - offsetHeight)
    style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, top)}px)`
  }

  focus(): void {
    const { control } = this.#input
    control.focus()
    if (control.type !== 'checkbox' && control.type !== 'date') control.select()
  }

  #check(): ParsedCell {
    const parsed = parseCell(this.#input.text(), this.#type)
    const { problem, isMaybe = false } = parsed
    setText(this.#problem, problem === undefined ? '' : EDIT.mustBe(problem, isMaybe))
    this.#input.control.setAttribute('aria-invalid', String(problem !== undefined))
    return parsed
  }

  #keyDown(event: KeyboardEvent): void {
    const { key, shiftKey, isComposing } = event
    if (isComposing) return
    const isLine = key === 'Enter' && shiftKey && this.#input.control.tagName === 'TEXTAREA'
    if (event.altKey && key === 'ArrowDown') this.#file.click()
    else if (key === 'Escape') this.#end('stay')
    else if (key === 'Enter' && !isLine) this.#save(shiftKey ? 'up' : 'down')
    else if (key === 'Tab') this.#save(shiftKey ? 'left' : 'right')
    else return
    event.preventDefault()
  }

  #blurred(): void {
    if (this.#isTouched && document.hasFocus()) this.#save('away')
    else if (document.hasFocus()) this.#end('away')
  }

  /** What does not fit stays, so that nothing that was typed is lost. */
  #save(leaving: Leaving): void {
    if (this.#isEnded) return
    const { token, problem, isMaybe } = this.#check()
    const isDoubted = isMaybe === true && this.#doubted === token
    this.#doubted = token
    if (problem !== undefined && !isDoubted) return
    this.#isEnded = true
    this.#events.onSave(token)
    this.#events.onEnd(leaving)
  }

  #end(leaving: Leaving): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#events.onEnd(leaving)
  }
}
