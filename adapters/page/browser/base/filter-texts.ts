// The texts of the filter of a table.

export const FILTER = {
  filter: 'Filter',
  addCondition: 'Add a condition',
  removeCondition: 'Remove the condition',
  applyFilter: 'Apply',
  clearFilter: 'Clear',
  column: 'Column',
  operator: 'Operator',
  value: 'Value',
  matchCase: 'Match case',
  operators: {
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
  },
  /** Of dates and times, where they are called otherwise. */
  timeOperators: {
    gt: 'is after',
    gte: 'is on or after',
    lt: 'is before',
    lte: 'is on or before',
  } as Readonly<Partial<Record<string, string>>>,
  filterOf: (count: number) => (count === 0 ? 'Filter' : `Filter (${count})`),
  noMatch: 'No row matches.',
  showAll: 'Show all rows',
  emptyTable: 'This table has no rows.',
} as const
