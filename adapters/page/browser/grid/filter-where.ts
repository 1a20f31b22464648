// Conditions on rows, in the person's form and in the contract's.
import type { Column, ColumnType, RowsRequest } from '../base/api.js'
import type * as FILTER from '../base/filter-texts.js'
import { isTextual } from './sort-order.js'

export type Operator = keyof typeof FILTER.operators

export type Condition = Readonly<{
  column: string
  operator: string
  value: string
  /** Whether texts are compared with case. */
  isExact?: boolean
}>

const EMPTY = ['isEmpty', 'isFilled'] as const
const TEXTS: readonly Operator[] = ['contains', 'eq', 'ne', 'startsWith', 'in', ...EMPTY]
const ORDERED: readonly Operator[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', ...EMPTY]
const OPERATORS: Readonly<Record<string, readonly Operator[]>> = {
  number: [...ORDERED.slice(0, 6), 'in', ...EMPTY],
  date: ORDERED,
  time: ORDERED,
  dateTime: ORDERED,
  boolean: ['eq', ...EMPTY],
  duration: ['eq', 'ne', 'in', ...EMPTY],
  array: ['has', ...EMPTY],
}

export function operatorsOf({ kind }: ColumnType): readonly Operator[] {
  return OPERATORS[kind] ?? TEXTS
}

/** The kind of an operator's operand for a column. */
export function operandKind({ kind, items }: ColumnType): string {
  return items?.kind ?? kind
}

export function hasOperand(operator: string): boolean {
  return operator !== 'isEmpty' && operator !== 'isFilled'
}

/** Whether an operator can compare a column's texts with or without case. */
export function hasCase(operator: string, type: ColumnType): boolean {
  return isTextual(type) && TEXTS.slice(0, 5).includes(operator as Operator)
}

/** The condition as `where`; undefined: none. The store refuses values that do not fit their column, and says why. */
export function makeWhere(
  conditions: readonly Condition[],
  columns: readonly Column[],
): object | undefined {
  const parts = conditions.map(({ column, operator, value, isExact }) => {
    const type = columns.find(({ id }) => id === column)?.type ?? { kind: 'string' }
    const name = escapedId(column)
    if (!hasOperand(operator)) return { [name]: { isEmpty: operator === 'isEmpty' } }
    const operand = parseOperand(operator, value, operandKind(type))
    const isFolded = isExact !== true && hasCase(operator, type)
    return { [name]: { [operator]: operand, ...(isFolded && FOLDED) } }
  })
  return parts.length === 0 ? undefined : { $and: parts }
}

const FOLDED = { ignoreCase: true, ignoreAccents: true }

/** Whether a search includes cells of a type. */
export function isSearched(type: ColumnType): boolean {
  return type.kind === 'number' || isTextual(type)
}

/** The maximum number of tests of cells for a search. With those of the filter, they stay below the contract's limit. */
const SEARCHED_MAX = 1_900

/** The search as the contract takes it: a number is also searched for as a number. */
export function searchQuery(
  text: string,
  where: object | undefined,
  columns: readonly Column[],
): Pick<RowsRequest, 'where' | 'search' | 'searchIgnoreAccents'> {
  const searched = columns.filter(({ type }) => isSearched(type))
  const number = text.trim()
  if (!/^-?\d+(?:\.\d+)?$/.test(number) || searched.length > SEARCHED_MAX)
    return text === '' ? { where } : { where, search: text, searchIgnoreAccents: true }
  const tests = searched.map(({ id, type }) => ({
    [escapedId(id)]: type.kind === 'number' ? { eq: number } : { contains: text, ...FOLDED },
  }))
  return { where: { $and: [...(where === undefined ? [] : [where]), { $or: tests }] } }
}

/** A column's name in conditions. */
function escapedId(id: string): string {
  return id.startsWith('$') ? `$${id}` : id
}

function parseOperand(operator: string, value: string, kind: string): unknown {
  if (operator === 'in') return value.split(',').map((item) => parseScalar(item.trim(), kind))
  return parseScalar(value, kind)
}

/** An operand in the contract's form. Numbers stay text, because JavaScript would round numbers with many digits. */
function parseScalar(value: string, kind: string): unknown {
  if (kind !== 'boolean') return kind === 'number' && isShort(value) ? Number(value) : value
  if (value === 'true') return true
  return value === 'false' ? false : value
}

function isShort(value: string): boolean {
  return /^-?\d{1,15}$/.test(value)
}
