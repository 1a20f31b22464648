// An input that suits the kind of a cell's column, with messages about the typed text.
import type { ColumnType } from '../base/api.js'
import { button, el, setText } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import { isUriKind } from '../grid/cells.js'
import { cellInput } from './cell-input.js'
import { type ParsedCell, parseCell } from './cell-text.js'

export class CheckedInput {
  readonly element: HTMLElement
  readonly control: ReturnType<typeof cellInput>['control']
  /** Whether a person has changed the text. */
  isTouched = false
  readonly #type: ColumnType
  readonly #text: () => string
  readonly #problem: HTMLElement
  readonly #file = el('input', { type: 'file', hidden: true, tabindex: -1 })
  /** The text that was reported as a misfit, if it may be sent nevertheless. */
  #doubted: string | undefined

  /**
   * @param id - The ID of the message, unique on the page.
   * @param onFile - Called with a chosen file, whose URL becomes the cell's value.
   */
  constructor(
    type: ColumnType,
    value: unknown,
    { label, id }: Readonly<{ label: string; id: string }>,
    onFile: (file: File) => void,
  ) {
    this.#type = type
    const { control, help, text } = cellInput(type, value, label)
    this.control = control
    this.#text = text
    this.#problem = el('p', { id, class: 'problem', 'aria-live': 'assertive' })
    control.setAttribute('aria-describedby', id)
    const note = help === undefined ? null : el('p', { class: 'muted' }, help)
    const file = isUriKind(type.kind) ? this.#fileButton(onFile) : null
    this.element = el('div', { class: 'cellEditor' }, control, file, this.#problem, note)
    control.addEventListener('input', () => {
      this.isTouched = true
      this.#check()
    })
  }

  #fileButton(onFile: (file: File) => void): HTMLElement {
    this.#file.addEventListener('change', () => {
      const [file] = this.#file.files ?? []
      if (file !== undefined) onFile(file)
    })
    return el(
      'div',
      { class: 'actions' },
      button(EDIT.chooseFile, () => this.chooseFile()),
      this.#file,
    )
  }

  chooseFile(): void {
    this.#file.click()
  }

  #check(): ParsedCell {
    const parsed = parseCell(this.#text(), this.#type)
    const { problem, isMaybe = false } = parsed
    setText(this.#problem, problem === undefined ? '' : EDIT.mustBe(problem, isMaybe))
    this.control.setAttribute('aria-invalid', String(problem !== undefined))
    return parsed
  }

  /**
   * @returns the value to save; undefined: it does not fit. A value that a server may accept nevertheless is returned
   * at the second call
   */
  take(): string | undefined {
    const { token, problem, isMaybe } = this.#check()
    const isDoubted = isMaybe === true && this.#doubted === token
    this.#doubted = token
    return problem === undefined || isDoubted ? token : undefined
  }

  /** Whether a key ends the text: Enter, unless it begins a new line. */
  isEnd({ key, shiftKey }: KeyboardEvent): boolean {
    return key === 'Enter' && !(shiftKey && this.control.tagName === 'TEXTAREA')
  }
}
