// All values of stored or inline rows that do not fit. Column summaries tell which segments must be read.
import { ITEM_WORK, type TimeSlices } from '../../base/time-slices.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { TeamContext } from '../context/store-context.js'
import type { PreflightProblem } from '../types/preflight-types.js'
import { ChunkProblems, hasMisfit, PROBLEMS_MAX, type ProblemRules } from './find-problems.js'
import type { OperationRows } from './rows-reader.js'
import type { RowPolicy } from './stored-form.js'

/** The first problems, and the number of all problems. */
export type Problems = Readonly<{ problems: readonly PreflightProblem[]; count: number }>

export function rulesOf({ schema, formatChecks, inferred }: RowPolicy): ProblemRules {
  const { columns } = schema
  return { formatChecks, inferred, columnOf: (id) => columns.get(id) }
}

/** How a search for problems is done. */
export type ProblemSearch = Readonly<{
  slices: TimeSlices
  /** Called for each problem, in no particular order. */
  onProblem?: (column: string, rule: string) => void
  /** Called before each segment is read. */
  checkGoesOn?: CheckGoesOn
}>

export async function problemsOfRows(
  team: TeamContext,
  { chunks, inline }: OperationRows,
  rules: ProblemRules,
  { slices, onProblem, checkGoesOn }: ProblemSearch,
): Promise<Problems> {
  const listed: PreflightProblem[] = []
  let count = 0
  let rows = 0 // Rows of the previous chunks. Chunks without a serial are parts of one input.
  for (const { chunk, serial } of chunks) {
    const found = new ChunkProblems(rules, slices, onProblem)
    const summaries = chunk.columns.map(({ summary }) => summary)
    if (hasMisfit(rules, summaries)) {
      if (inline !== null) await found.addSegment(chunk, inline.columns, () => [inline.texts])
      for (const ref of chunk.segments) {
        checkGoesOn?.()
        const { columns } = await team.segments.footer(ref)
        const read = () => team.segments.rowTexts(ref, 0, ref.rowCount)
        await found.addSegment(ref, columns, read)
      }
    }
    const { problems, count: more } = found.end(chunk, serial)
    count += more
    if (listed.length < PROBLEMS_MAX) listed.push(...shifted(problems, serial, rows))
    rows += chunk.rowCount
    if (slices.spend(ITEM_WORK * summaries.length)) await slices.pause()
  }
  return { problems: listed.slice(0, PROBLEMS_MAX), count }
}

function shifted(
  problems: readonly PreflightProblem[],
  serial: string | undefined,
  rows: number,
): readonly PreflightProblem[] {
  if (serial !== undefined || rows === 0) return problems
  return problems.map((problem) => ({ ...problem, row: problem.row + rows }))
}
