// What the command says of values that do not fit, besides what the server says: it knows the files and the options.

import { DECIMAL_POINTS, markOf, withPoint } from './decimal-commas.js'
import { shapeOf } from './import-oddities.js'
import type { SourceFile } from './import-source.js'
import { decimalOption, type ImportWarning, renderName } from './import-warnings.js'
import { renderCount } from './progress.js'

/** The rule of numbers of CSV, which names JSON to people who may never have seen it. */
const NUMBER_RULE = 'a finite number as JSON writes it'

/** A rule, or a message with one, in the words of whoever has a CSV file. */
export function inWordsOfCsv(text: string): string {
  return text.replace(NUMBER_RULE, 'a number such as -1.5')
}

/** What to do about a refused value, at the end of the message about it. */
export function hintOfMisfit(
  message: string,
  {
    files,
    onSchemaError = 'abort',
  }: Readonly<{ files: readonly SourceFile[]; onSchemaError?: string }>,
): string {
  const [, quoted, bare] = /, not (?:"(.*)"|(.+))$/s.exec(message) ?? []
  const value = quoted ?? bare
  if (value === undefined || onSchemaError !== 'abort') return ''
  const [, column] = /^Invalid value for column '(.*?)' in /s.exec(message) ?? []
  const isNumber = message.includes(NUMBER_RULE) && withPoint(value) !== value
  if (column !== undefined && isNumber && mayHaveCommas(files, column)) {
    return `; ${decimalOption(column, ',')} reads numbers with a decimal comma`
  }
  const all = '--check lists all such values'
  // Digits that mean something as text are no values to drop.
  return shapeOf(value) === 'other' ? `; ${all}, --on-error drop leaves them empty` : `; ${all}`
}

/** Warns of the values of problems that are numbers with a decimal comma, by column. */
export function warningsOfMisfits(
  problems: readonly Readonly<{ column?: string; value?: string | undefined; rule: string }>[],
  files: readonly SourceFile[],
): readonly ImportWarning[] {
  const counts = new Map<string, number>()
  for (const { column, value, rule } of problems) {
    if (
      column === undefined ||
      value === undefined ||
      rule !== NUMBER_RULE ||
      withPoint(value) === value
    )
      continue
    if (!mayHaveCommas(files, column)) continue
    counts.set(column, (counts.get(column) ?? 0) + 1)
  }
  return [...counts].map(([column, count]) => {
    const have = count === 1 ? '1 problem is' : `${renderCount(count)} problems are`
    const message = `${have} a decimal comma in column '${renderName(column)}'; ${decimalOption(column, ',')} reads it`
    return { type: 'decimalComma', column, others: 'numbers', count, message }
  })
}

/** Whether a column may have decimal commas that no option has told of. */
function mayHaveCommas(files: readonly SourceFile[], column: string): boolean {
  return files.some(({ format, decimal = DECIMAL_POINTS }) => {
    return (format === 'csv' || format === 'tsv') && markOf(decimal, column) === '.'
  })
}
