// A checked condition on rows.
import type { Fold } from '../../base/fold-case.js'

/** How values of a kind are compared. The elements of arrays are compared in the same way. */
export type Comparison = 'text' | 'number' | 'boolean' | 'date' | 'time' | 'dateTime' | 'duration'

export type Order = 'gt' | 'gte' | 'lt' | 'lte'

/**
 * A test of one cell. Values are number tokens, `true` and `false`, or text, depending on the comparison. With `fold`
 * they are folded, as is the text of the cell before the comparison.
 */
export type CellTest =
  | Readonly<{ test: 'in' | 'has'; comparison: Comparison; values: readonly string[]; fold?: Fold }>
  | Readonly<{ test: Order; comparison: Comparison; value: string }>
  | Readonly<{ test: 'startsWith' | 'contains'; text: string; fold?: Fold }>
  | Readonly<{ test: 'isEmpty' }>

/** A checked condition. `all` of no conditions is true, `any` of none is false. */
export type Condition =
  | Readonly<{ op: 'all' | 'any'; conditions: readonly Condition[] }>
  | Readonly<{ op: 'not'; condition: Condition }>
  | (Readonly<{ op: 'cell'; column: string }> & CellTest)

/** The columns that a condition tests. */
export function columnsOf(condition: Condition): Set<string> {
  if (condition.op === 'cell') return new Set([condition.column])
  if (condition.op === 'not') return columnsOf(condition.condition)
  return new Set(condition.conditions.flatMap((part) => [...columnsOf(part)]))
}

/** The number of values with which a condition compares cells. A test without a value counts as one value. */
export function valueCountOf(condition: Condition): number {
  if (condition.op === 'cell') return 'values' in condition ? condition.values.length : 1
  if (condition.op === 'not') return valueCountOf(condition.condition)
  return condition.conditions.reduce((sum, part) => sum + valueCountOf(part), 0)
}

/** Whether every row matches, whatever its cells are. */
export function matchesAll(condition: Condition | null): boolean {
  return condition === null || verdictOf(condition) === true
}

/** The result that a condition has for every row; undefined: the result depends on the cells. */
function verdictOf(condition: Condition): boolean | undefined {
  if (condition.op === 'cell') {
    return 'values' in condition && condition.values.length === 0 ? false : undefined
  }
  if (condition.op === 'not') {
    const verdict = verdictOf(condition.condition)
    return verdict === undefined ? undefined : !verdict
  }
  const decisive = condition.op === 'any'
  const verdicts = condition.conditions.map(verdictOf)
  if (verdicts.includes(decisive)) return decisive
  return verdicts.includes(undefined) ? undefined : !decisive
}
