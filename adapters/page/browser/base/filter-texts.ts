// The texts of the filter of a table.

export const filter = 'Filter'
export const addCondition = 'Add a condition'
export const removeCondition = 'Remove the condition'
export const applyFilter = 'Apply'
export const filterBy = 'Filter by this column'
export const clearFilter = 'Clear'
export const column = 'Column'
export const operator = 'Operator'
export const value = 'Value'
export const matchCase = 'Match case and accents'
export const operators = {
  contains: 'contains',
  eq: 'is',
  ne: 'is not',
  startsWith: 'begins with',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of (a, b, c)',
  has: 'contains the element',
  isEmpty: 'is empty',
  isFilled: 'is not empty',
} as const
/** Operators that have other names for dates and times. */
export const timeOperators = {
  gt: 'is after',
  gte: 'is on or after',
  lt: 'is before',
  lte: 'is on or before',
} as Readonly<Partial<Record<string, string>>>
export const filterOf = (count: number) => (count === 0 ? 'Filter' : `Filter (${count})`)
export const noMatch = 'No row matches.'
export const showAll = 'Show all rows'
export const emptyTable = 'This table has no rows.'
