import { didYouMean, escapeControls } from '../../base/arguments.js'
import { ProgramFailure } from '../command/program-failure.js'

/**
 * Checks that columns which options name are there: a misspelled one would be read otherwise than meant.
 * @param problemOf - What is wrong, of a column as messages show it.
 * @throws {ProgramFailure} for the first one that is not
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
