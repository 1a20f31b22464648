// The input over a cell of the grid, from its opening until it is saved or cancelled.
import type { ColumnType } from '../base/api.js'
import type { Box } from '../grid/grid.js'
import { CheckedInput } from './checked-input.js'

/** Where the focus goes afterwards. */
export type Leaving = 'down' | 'up' | 'right' | 'left' | 'stay' | 'away'

export type CellEditorEvents = Readonly<{
  onSave: (token: string) => void
  onEnd: (leaving: Leaving) => void
  /** Called with a chosen file, whose URL becomes the cell's value. */
  onFile: (file: File) => void
}>

export class CellEditor {
  readonly element: HTMLElement
  readonly #input: CheckedInput
  readonly #events: CellEditorEvents
  #box: Box | undefined
  #isEnded = false

  /** @param typed - Whether a typed character opens the input: it replaces the value, so the input begins empty. */
  constructor(
    type: ColumnType,
    value: unknown,
    label: string,
    typed: boolean,
    events: CellEditorEvents,
  ) {
    this.#events = events
    const about = { label, id: 'cell-problem' }
    this.#input = new CheckedInput(type, typed ? undefined : value, about, (file) => {
      this.#end('stay')
      events.onFile(file)
    })
    this.element = this.#input.element
    // A message about the text may make it wider.
    this.element.addEventListener('input', () => this.place(this.#box))
    this.#input.control.addEventListener('keydown', (event) =>
      this.#keyDown(event as KeyboardEvent),
    )
    this.element.addEventListener('focusout', ({ relatedTarget }) => {
      if (!this.element.contains(relatedTarget as Node | null)) this.#blurred()
    })
  }

  /** Puts the input over a cell. @param box - undefined: the cell is not in view. */
  place(box: Box | undefined): void {
    this.#box = box
    const { style } = this.element
    // The input stays in the document, because it must keep the focus.
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

  #keyDown(event: KeyboardEvent): void {
    const { key, shiftKey } = event
    if (event.isComposing) return
    if (event.altKey && key === 'ArrowDown') this.#input.chooseFile()
    else if (key === 'Escape') this.#end('stay')
    else if (this.#input.isEnd(event)) this.#save(shiftKey ? 'up' : 'down')
    else if (key === 'Tab') this.#save(shiftKey ? 'left' : 'right')
    else return
    event.preventDefault()
  }

  #blurred(): void {
    if (this.#input.isTouched && document.hasFocus()) this.#save('away')
    else if (document.hasFocus()) this.#end('away')
  }

  /** Saves the value and ends. If the value does not fit, the input stays open, so that nothing typed is lost. */
  #save(leaving: Leaving): void {
    if (this.#isEnded) return
    const token = this.#input.take()
    if (token === undefined) return
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
