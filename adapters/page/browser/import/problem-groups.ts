// Misfits: values by column and rule, and columns that the table lacks.
import { wordsOfRule } from '../base/failure-words.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import type { Check, Problem } from './import-run.js'

/** The maximum number of places named per group. */
const PLACES_MAX = 3

export type ProblemGroup = {
  readonly column: string
  readonly rule: string
  count: number
  /** The first places, with their values. */
  readonly places: string[]
}

/** The listed misfits, by column and rule. */
export function groupProblems(problems: readonly Problem[]): readonly ProblemGroup[] {
  const groups = new Map<string, ProblemGroup>()
  for (const problem of problems) {
    const { column, value } = problem
    if (value === undefined) continue
    const rule = wordsOfRule(problem.rule)
    const key = JSON.stringify([column, rule])
    const group = groups.get(key) ?? { column, rule, count: 0, places: [] }
    group.count++
    if (group.places.length < PLACES_MAX) group.places.push(`${placeOf(problem)}: ${value}`)
    groups.set(key, group)
  }
  return [...groups.values()].sort((one, other) => other.count - one.count)
}

function placeOf({ row, line }: Problem): string {
  return line === undefined ? TEXT.row(shownCount(row + 1)) : TEXT.line(line)
}

/** The columns of a file that the table lacks. */
export function lackingColumns({ problems }: Pick<Check, 'problems'>): readonly string[] {
  const lacking = problems.filter(({ value }) => value === undefined)
  return [...new Set(lacking.map(({ column }) => column))]
}

/** The number of values that do not fit. A missing column counts once per chunk, and is not a value. */
export function countMisfits({ problems, problemCount }: Check): number {
  return problemCount - problems.filter(({ value }) => value === undefined).length
}
