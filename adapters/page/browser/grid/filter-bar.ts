// The bar with the conditions that rows must meet.
import type { Column } from '../base/api.js'
import { button, el, fill, setText } from '../base/dom.js'
import * as TEXT from '../base/texts.js'
import { type ConditionEvents, ConditionInputs } from './filter-condition.js'
import { type Condition, operatorsOf } from './filter-where.js'

/** The maximum number of conditions. */
const CONDITIONS_MAX = 20

export type FilterEvents = Pick<ConditionEvents, 'askValues'> &
  Readonly<{ onApply: (conditions: readonly Condition[]) => void }>

export class FilterBar {
  readonly element = el('form', { class: 'filter', 'aria-label': TEXT.filter })
  readonly #columns: readonly Column[]
  readonly #events: FilterEvents
  readonly #list = el('div', { class: 'conditions' })
  readonly #problem = el('p', { class: 'problem', role: 'alert' })
  #conditions: readonly ConditionInputs[] = []
  #made = 0

  /** @param conditions - The initial conditions. */
  constructor(columns: readonly Column[], conditions: readonly Condition[], events: FilterEvents) {
    this.#columns = columns
    this.#events = events
    this.element.append(
      this.#list,
      el(
        'div',
        { class: 'actions' },
        button(TEXT.addCondition, () => this.#add()?.focus()),
        el('button', { type: 'submit', class: 'primary' }, TEXT.applyFilter),
        button(TEXT.clearFilter, () => this.clear()),
      ),
      this.#problem,
    )
    this.element.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#apply()
    })
    for (const condition of conditions) this.#add(condition)
    if (conditions.length === 0) this.#add()
  }

  /** Shows why the store refused the conditions, beside the condition concerned. */
  showProblem(message: string): void {
    const found = this.#conditions.map((each) => each.showProblem(message))
    setText(this.#problem, found.includes(true) ? '' : message)
  }

  clear(): void {
    this.#conditions = []
    fill(this.#list)
    this.#add()
    this.#apply()
  }

  focus(): void {
    this.#conditions[0]?.focus()
  }

  /** Asks for the value of a column, in addition to the existing conditions. */
  ask(column: Column): void {
    for (const each of this.#conditions) if (each.condition === undefined) each.element.remove()
    this.#conditions = this.#conditions.filter(({ condition }) => condition !== undefined)
    const [operator] = operatorsOf(column.type)
    this.#add({ column: column.id, operator: operator ?? 'eq', value: '' })?.focusValue()
  }

  #apply(): void {
    this.showProblem('')
    for (const each of this.#conditions) each.forgetValues()
    this.#events.onApply(this.#conditions.flatMap(({ condition }) => condition ?? []))
  }

  #add(condition?: Condition): ConditionInputs | undefined {
    if (this.#conditions.length >= CONDITIONS_MAX) return undefined
    const added = new ConditionInputs(
      this.#columns,
      `problem-${this.#made++}`,
      {
        askValues: this.#events.askValues,
        onApply: () => this.#apply(),
        onRemove: (removed) => this.#remove(removed),
      },
      condition,
    )
    this.#conditions = [...this.#conditions, added]
    this.#list.append(added.element)
    return added
  }

  #remove(removed: ConditionInputs): void {
    const at = this.#conditions.indexOf(removed)
    this.#conditions = this.#conditions.filter((each) => each !== removed)
    removed.element.remove()
    const next = this.#conditions[at] ?? this.#conditions.at(-1) ?? this.#add()
    next?.focus()
  }
}
