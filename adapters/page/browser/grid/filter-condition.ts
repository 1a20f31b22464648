// One condition: a column, an operator, and an input that suits its kind.
import type { Column, Group } from '../base/api.js'
import { button, el, fill, setAttributes, setText } from '../base/dom.js'
import { plainText } from '../base/json-text.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import { type Condition, hasCase, hasOperand, operandKind, operatorsOf } from './filter-where.js'

export type ConditionEvents = Readonly<{
  /** The most frequent values of a column; none if it has too many. */
  askValues: (column: string) => Promise<readonly Group[]>
  onApply: () => void
  onRemove: (condition: ConditionInputs) => void
}>

/** The kinds for which browsers have an input type. */
const INPUT_TYPES: Readonly<Record<string, string>> = {
  date: 'date',
  time: 'time',
  dateTime: 'datetime-local',
  boolean: 'checkbox',
}

/** The maximum number of characters of an offered value. */
const OFFERED_CHARACTERS_MAX = 40

export class ConditionInputs {
  readonly element = el('div', { class: 'condition' })
  readonly #columns: readonly Column[]
  readonly #events: ConditionEvents
  readonly #column = el('select', { 'aria-label': TEXT.column, name: 'column' })
  readonly #operator = el('select', { 'aria-label': TEXT.operator, name: 'operator' })
  readonly #place = el('span', { class: 'operand' })
  readonly #exact = el('input', { type: 'checkbox' })
  readonly #case = el('label', { class: 'check' }, this.#exact, TEXT.matchCase)
  readonly #problem: HTMLElement
  readonly #values = el('div', { class: 'chips' })
  #value = el('input')
  /** Whether a person has chosen the operator. If not, another column gets its most useful operator. */
  #isOperatorChosen = false
  /** The column whose values are offered. */
  #offered: string | undefined

  /** @param id - The ID of the message, unique on the page. */
  constructor(columns: readonly Column[], id: string, events: ConditionEvents, given?: Condition) {
    this.#problem = el('p', { class: 'problem', role: 'alert', id })
    this.#columns = columns
    this.#events = events
    const options = columns.map(({ id, displayName = id }) =>
      el('option', { value: id }, displayName),
    )
    this.#column.append(...options)
    this.#column.addEventListener('change', () => this.#fitColumn())
    this.#operator.addEventListener('change', () => {
      this.#isOperatorChosen = true
      this.#fitOperator()
    })
    if (given !== undefined) this.#column.value = given.column
    this.element.append(
      this.#column,
      this.#operator,
      this.#place,
      this.#case,
      button('×', () => events.onRemove(this), {
        'aria-label': TEXT.removeCondition,
        class: 'plain',
      }),
      this.#problem,
      this.#values,
    )
    this.element.addEventListener('focusin', () => this.#offer())
    this.#fitColumn(given)
  }

  focus(): void {
    this.#column.focus()
  }

  focusValue(): void {
    this.#value.focus()
  }

  /** The condition. undefined: a person has not filled it in. */
  get condition(): Condition | undefined {
    const { value: operator } = this.#operator
    const column = this.#column.value
    if (!hasOperand(operator)) return { column, operator, value: '' }
    const isSwitch = this.#value.type === 'checkbox'
    const value = isSwitch ? String(this.#value.checked) : this.#value.value
    const isExact = this.#exact.checked && hasCase(operator, this.#type)
    return value === '' ? undefined : { column, operator, value, ...(isExact && { isExact }) }
  }

  /** Shows why the store refused the condition. @returns whether the message concerns it */
  showProblem(message: string): boolean {
    const { column, operator } = this.condition ?? {}
    const isOf = message.includes(`${operator} of column ${JSON.stringify(column)}`)
    setText(this.#problem, isOf ? message : '')
    setAttributes(this.#value, {
      'aria-invalid': isOf && 'true',
      'aria-describedby': isOf && this.#problem.id,
    })
    return isOf
  }

  /** Must be called when other rows match, because other values must then be offered. */
  forgetValues(): void {
    this.#offered = undefined
  }

  get #type(): Column['type'] {
    return this.#columns.find(({ id }) => id === this.#column.value)?.type ?? { kind: 'string' }
  }

  #fitColumn(given?: Condition): void {
    const type = this.#type
    if (given !== undefined) this.#isOperatorChosen = true
    const before = given?.operator ?? this.#operator.value
    const operators = operatorsOf(type)
    const isTime = /^(?:date|time)/.test(type.kind)
    fill(
      this.#operator,
      ...operators.map((name) => {
        return el(
          'option',
          { value: name },
          (isTime && TEXT.timeOperators[name]) || TEXT.operators[name],
        )
      }),
    )
    if (this.#isOperatorChosen && operators.some((name) => name === before))
      this.#operator.value = before
    this.#exact.checked = given?.isExact === true
    this.#makeInput(given?.value ?? '')
    fill(this.#values)
    this.#fitOperator()
  }

  #fitOperator(): void {
    const { value: operator } = this.#operator
    this.#place.hidden = !hasOperand(operator)
    this.#case.hidden = !hasCase(operator, this.#type)
    this.#offer()
  }

  #makeInput(value: string): void {
    const kind = operandKind(this.#type)
    const type = INPUT_TYPES[kind] ?? 'text'
    const attributes = { 'aria-label': TEXT.value, name: 'value', autocomplete: 'off' }
    const made = el('input', { ...attributes, type, step: /^(?:time|dateTime)$/.test(kind) && 1 })
    if (kind === 'number') made.inputMode = 'decimal'
    const state = el('span', {}, TEXT.no)
    const say = (): void => setText(state, made.checked ? TEXT.yes : TEXT.no)
    if (type === 'checkbox') {
      made.setAttribute('role', 'switch')
      made.checked = value !== 'false'
      made.addEventListener('change', say)
      say()
    } else {
      made.value = value
      // An address may have a form that the input does not accept.
      if (made.value !== value) setAttributes(made, { type: 'text', value })
    }
    this.#value = made
    fill(this.#place, made, type === 'checkbox' ? state : null)
  }

  /** Offers the most frequent values of the column, once it is used. */
  #offer(): void {
    const { value: column } = this.#column
    const { kind } = this.#type
    const canOffer = kind !== 'array' && kind !== 'boolean' && hasOperand(this.#operator.value)
    this.#values.hidden = !canOffer
    if (!canOffer || this.#offered === column) return
    if (!this.element.contains(document.activeElement)) return
    this.#offered = column
    this.#events.askValues(column).then(
      (groups) => {
        if (this.#column.value === column) this.#showValues(column, groups)
      },
      () => undefined, // A person can type the value as well.
    )
  }

  #showValues(column: string, groups: readonly Group[]): void {
    const chips = groups.map(({ values, count: rows }) => {
      const value = values[column]
      const text = plainText(value)
      const short =
        text.length > OFFERED_CHARACTERS_MAX ? `${text.slice(0, OFFERED_CHARACTERS_MAX)}…` : text
      const label = value === null ? TEXT.emptyCell : short
      const chip = button('', () => this.#choose(value), { class: 'chip' })
      fill(chip, `${label} `, el('span', {}, shownCount(rows)))
      return chip
    })
    fill(this.#values, ...chips)
  }

  #choose(value: unknown): void {
    this.#fitColumn({
      column: this.#column.value,
      operator: value === null ? 'isEmpty' : 'eq',
      value: plainText(value),
      isExact: true,
    })
    this.#events.onApply()
  }
}
