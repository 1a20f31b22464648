import { didYouMean, escapeControls } from '../../base/arguments.js'
import { ProgramFailure } from '../command/program-failure.js'

/**
 * Checks that the columns named by options exist: a misspelled option would have no effect.
 * @param problemOf - Makes the problem from the shown name of a column.
 * @throws {ProgramFailure} for the first missing column
 */
export function checkNamedColumns(
  named: Iterable<string>,
  known: ReadonlySet<string>,
  problemOf: (column: string) => string,
): void {
  const shown = (column: string): string => `"${escapeControls(column)}"`
  for (const column of named) {
    if (known.has(column)) continue
    const parts = column.split(',')
    const isList = parts.length > 1 && parts.every((part) => known.has(part))
    const hint = isList ? '; repeat the option for each column' : didYouMean(column, known, shown)
    throw new ProgramFailure('failed', problemOf(shown(column)) + hint)
  }
}
