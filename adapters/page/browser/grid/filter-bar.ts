// The bar with the conditions that rows must meet.
import type { Column } from '../base/api.js'
import { button, el, fill, setText } from '../base/dom.js'
import { TEXT } from '../base/texts.js'

export type Condition = Readonly<{ column: string; operator: string; value: string }>

/** Conditions at the same time. */
const CONDITIONS_MAX = 20

const OPERATORS = Object.keys(TEXT.operators) as readonly (keyof typeof TEXT.operators)[]

/**
 * The condition as `where` takes it, or undefined for none. Values that do not fit their column are refused by the
 * store, which says why.
 */
export function makeWhere(
  conditions: readonly Condition[],
  columns: readonly Column[],
): object | undefined {
  const parts = conditions.map(({ column, operator, value }) => {
    const kind = columns.find(({ id }) => id === column)?.type
    const scalar = kind?.items?.kind ?? kind?.kind ?? 'string'
    const name = column.startsWith('$') ? `$${column}` : column
    return { [name]: { [operator]: parseOperand(operator, value, scalar) } }
  })
  return parts.length === 0 ? undefined : { $and: parts }
}

function parseOperand(operator: string, value: string, kind: string): unknown {
  if (operator === 'isEmpty') return value !== 'false'
  if (operator === 'in') return value.split(',').map((item) => parseScalar(item.trim(), kind))
  return parseScalar(value, kind)
}

/** Numbers are sent as text, because JavaScript would round those of many digits. */
function parseScalar(value: string, kind: string): unknown {
  if (kind !== 'boolean') return kind === 'number' && isShort(value) ? Number(value) : value
  if (value === 'true') return true
  return value === 'false' ? false : value
}

function isShort(value: string): boolean {
  return /^-?\d{1,15}$/.test(value)
}

export class FilterBar {
  readonly element = el('form', { class: 'filter', 'aria-label': TEXT.filter })
  readonly #columns: readonly Column[]
  readonly #onApply: (conditions: readonly Condition[]) => void
  readonly #list = el('div', { class: 'conditions' })
  readonly #problem = el('p', { class: 'problem', role: 'alert' })

  /** @param conditions - Those that it shows first. */
  constructor(
    columns: readonly Column[],
    conditions: readonly Condition[],
    onApply: (conditions: readonly Condition[]) => void,
  ) {
    this.#columns = columns
    this.#onApply = onApply
    this.element.append(
      this.#list,
      el(
        'div',
        { class: 'actions' },
        button(TEXT.addCondition, () => this.#add()),
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

  /** Shows why the store refused the conditions. */
  showProblem(message: string): void {
    setText(this.#problem, message)
  }

  clear(): void {
    fill(this.#list)
    this.#add()
    this.#apply()
  }

  focus(): void {
    this.#list.querySelector('select')?.focus()
  }

  #apply(): void {
    this.showProblem('')
    this.#onApply(this.#conditions())
  }

  #add(condition?: Condition): void {
    if (this.#list.children.length >= CONDITIONS_MAX) return
    const row = el('div', { class: 'condition' })
    const names = this.#columns.map(({ id, displayName = id }) => {
      return el('option', { value: id }, displayName)
    })
    const operators = OPERATORS.map((name) => el('option', { value: name }, TEXT.operators[name]))
    const column = el('select', { 'aria-label': TEXT.column, name: 'column' }, ...names)
    const operator = el('select', { 'aria-label': TEXT.operator, name: 'operator' }, ...operators)
    const value = el('input', { 'aria-label': TEXT.value, name: 'value', autocomplete: 'off' })
    if (condition !== undefined) {
      column.value = condition.column
      operator.value = condition.operator
      value.value = condition.value
    }
    row.append(
      column,
      operator,
      value,
      button('×', () => row.remove(), { 'aria-label': TEXT.removeCondition, class: 'plain' }),
    )
    this.#list.append(row)
  }

  /** A condition without a value is one that nobody has filled in. */
  #conditions(): readonly Condition[] {
    return [...this.#list.children]
      .map((row) => {
        const [column, operator] = [...row.querySelectorAll('select')].map(({ value }) => value)
        const value = row.querySelector('input')?.value ?? ''
        return { column: column ?? '', operator: operator ?? '', value }
      })
      .filter(({ operator, value }) => operator === 'isEmpty' || value !== '')
  }
}
