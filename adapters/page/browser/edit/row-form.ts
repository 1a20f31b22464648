// The values of a row in the pane. Each value has an input of its kind, and is saved when the focus leaves the input.
import type { Column, Row } from '../base/api.js'
import { button, el, fill, setAttributes } from '../base/dom.js'
import * as EDIT from '../base/edit-texts.js'
import { parseJson } from '../base/json-text.js'
import { isUriKind, shownType, wholeCell } from '../grid/cells.js'
import { tokenOf } from './cell-text.js'
import { CheckedInput } from './checked-input.js'
import type { CellState } from './row-edits.js'

export type FormEvents = Readonly<{
  /** A cell as it is shown, as JSON, and the state of its change. */
  cellOf: (column: string) => Readonly<{ token: string; state: CellState | undefined }>
  onSave: (column: string, token: string) => void
  onFile: (column: string, file: File) => void
}>

type Field = {
  readonly column: Column
  readonly place: HTMLElement
  input: CheckedInput
  /** The initial value of the input. */
  token: string
}

export class RowForm {
  readonly element = el('dl')
  readonly #rowId: string
  readonly #events: FormEvents
  readonly #fields: readonly Field[]

  constructor(rowId: string, columns: readonly Column[], events: FormEvents) {
    this.#rowId = rowId
    this.#events = events
    this.#fields = columns.map((column) => {
      const { id, displayName = id, type } = column
      const place = el('dd')
      const kind = el('span', { class: 'kind' }, shownType(type))
      this.element.append(el('dt', {}, displayName, kind), place)
      const { token } = events.cellOf(id)
      const field = { column, place, token, input: this.#inputOf(column, token) }
      this.#put(field)
      return field
    })
    this.element.addEventListener('focusout', ({ target, relatedTarget }) => {
      const field = this.#fieldOf(target)
      if (field === undefined || field.place.contains(relatedTarget as Node | null)) return
      if (document.hasFocus()) this.#save(field)
    })
    this.element.addEventListener('change', ({ target }) => {
      const field = this.#fieldOf(target)
      if (field?.column.type.kind === 'boolean') this.#save(field)
    })
    this.element.addEventListener('keydown', (event) => this.#keyDown(event))
    this.refresh()
  }

  /** The row as it is shown. */
  get row(): Row {
    const cells = this.#fields.map(({ column: { id } }) => [
      id,
      parseJson(this.#events.cellOf(id).token),
    ])
    return {
      $rowID: this.#rowId,
      ...Object.fromEntries(cells.filter(([, value]) => value !== null)),
    }
  }

  /** Whether something typed has not been sent. */
  get isTouched(): boolean {
    return this.element.isConnected && this.#fields.some(({ input }) => input.isTouched)
  }

  /** Moves the focus to a misfit, if there is one. */
  showMisfit(): boolean {
    for (const field of this.#fields) this.#save(field)
    const field = this.#fields.find(({ input }) => input.isTouched)
    field?.input.control.focus()
    return field !== undefined
  }

  /** Shows the row's new state. What a person types stays. */
  refresh(): void {
    for (const field of this.#fields) {
      const { place, input, column } = field
      const { token, state } = this.#events.cellOf(column.id)
      if (!input.isTouched && token !== field.token) this.#make(field, token)
      place.className = state ?? ''
      setAttributes(field.input.control, {
        'aria-description': state !== undefined && state !== 'saved' && EDIT.state[state],
      })
    }
  }

  #fieldOf(target: EventTarget | null): Field | undefined {
    return this.#fields.find(({ place }) => place.contains(target as Node | null))
  }

  #inputOf({ id, displayName = id, type }: Column, token: string): CheckedInput {
    const about = { label: displayName, id: `problem-of-${id}` }
    return new CheckedInput(type, parseJson(token), about, (file) => this.#events.onFile(id, file))
  }

  #make(field: Field, token: string): void {
    const hadFocus = field.place.contains(document.activeElement)
    field.token = token
    field.input = this.#inputOf(field.column, token)
    this.#put(field)
    if (hadFocus) field.input.control.focus()
  }

  /** Shows the input of a field. A switch has no text to delete, so it gets a button that empties the cell. */
  #put(field: Field): void {
    const { place, input, token, column } = field
    const { id, displayName = id, type } = column
    const isEmpty = token === tokenOf(undefined)
    const empty = (): void => this.#events.onSave(id, tokenOf(undefined))
    const more =
      type.kind === 'boolean'
        ? button('×', empty, { class: 'plain', 'aria-label': EDIT.emptyCell(displayName) })
        : isUriKind(type.kind) && !isEmpty
          ? wholeCell(parseJson(token), type)
          : null
    fill(place, input.element, type.kind === 'boolean' && isEmpty ? EDIT.empty : more)
  }

  #keyDown(event: KeyboardEvent): void {
    const field = this.#fieldOf(event.target)
    if (field === undefined || event.isComposing) return
    const { input } = field
    if (input.control === event.target && input.isEnd(event)) {
      this.#save(field)
    } else if (event.key === 'Escape' && input.isTouched) {
      this.#make(field, field.token)
      event.stopPropagation() // Otherwise Escape would close the pane.
    } else {
      return
    }
    event.preventDefault()
  }

  #save(field: Field): void {
    const { input, column } = field
    const token = input.isTouched ? input.take() : undefined
    if (token === undefined) return
    input.isTouched = false
    field.token = token
    this.#events.onSave(column.id, token)
  }
}
