// Messages and advice about values that do not fit, with the files and options that a server does not know.

import { classOfField } from '../../base/intake.js'
import { renderCount } from '../command/progress.js'
import { renderName, renderText, VALUE_CHARS_MAX } from '../command/shown-values.js'
import { decimalOption } from './advice-messages.js'
import type { ImportWarning } from './import-warnings.js'
import type { SourceFile } from './source-file.js'

/** The library's rule for numbers in CSV. It mentions JSON, which users may not know. */
const NUMBER_RULE = 'a finite number as JSON writes it'

const KEY_RULE = /, because the column is a key of the merge, /

/** A rule, or a message with one, in words for a CSV file. */
export function inWordsOfCsv(text: string): string {
  return text.replace(NUMBER_RULE, 'a number such as -1.5')
}

/** The problem of a value, a column or a line. */
export function problemText({
  column,
  value,
  rule: ofServer,
}: Readonly<{ column?: string; value?: string | undefined; rule: string }>): string {
  const rule = inWordsOfCsv(ofServer)
  if (column === undefined) return rule
  const name = renderName(column)
  if (value === undefined) return `column '${name}' must be ${rule}`
  return `value of column '${name}' must be ${rule}, not ${renderText(value, VALUE_CHARS_MAX)}`
}

/** Advice for a rejected value, to append to its message. */
export function hintOfMisfit(
  message: string,
  {
    files,
    onSchemaError = 'abort',
  }: Readonly<{ files: readonly SourceFile[]; onSchemaError?: string }>,
): string {
  // No option can add a key to a row.
  if (KEY_RULE.test(message)) return '; complete such rows, or leave them out of the file'
  // The rejected value is an object, or an array with an object or an array in it.
  const isNested = /boolean or an array, not |and booleans, not \[.*[[{]/s.test(message)
  if (isNested && files.every(({ nested }) => nested === undefined)) {
    return '; --nested flatten makes columns of objects, as in customer.name, --nested text keeps their JSON, --on-error drop leaves them empty'
  }
  const [, quoted, bare] = /, not (?:"(.*)"|(.+))$/s.exec(message) ?? []
  const value = quoted ?? bare
  if (value === undefined || onSchemaError !== 'abort') return ''
  const [, column] = /^Invalid value for column '(.*?)' in /s.exec(message) ?? []
  const isComma = message.includes(NUMBER_RULE) && hasDecimalComma(value)
  if (column !== undefined && isComma && mayHaveCommas(files, column)) {
    return `; ${remedyOfComma(column, isUnsureComma(value))}`
  }
  const all = '--check lists all such values'
  return KEPT.has(classOfField(value)) ? `; ${all}` : `; ${all}, --on-error drop leaves them empty`
}

/** Values like numbers that may be meant as text, such as codes: advice to drop them would be wrong. */
const KEPT: ReadonlySet<string> = new Set(['paddedNumber', 'groupedNumber', 'looseNumber'])

function hasDecimalComma(value: string): boolean {
  return /^(?:decimalComma|commasUnsure)$/.test(classOfField(value))
}

function isUnsureComma(value: string): boolean {
  return classOfField(value) === 'commasUnsure'
}

/** @param mayBeThousands - Whether each comma may be a separator of thousands. */
function remedyOfComma(column: string, mayBeThousands: boolean): string {
  const option = decimalOption(column, ',')
  return mayBeThousands
    ? `if the comma is a decimal comma, ${option} reads it; otherwise remove it`
    : `${option} reads numbers with a decimal comma`
}

/** Warnings about numbers with a decimal comma, per column. */
export function warningsOfMisfits(
  problems: readonly Readonly<{ column?: string; value?: string | undefined; rule: string }>[],
  files: readonly SourceFile[],
): readonly ImportWarning[] {
  const found = new Map<string, { count: number; mayBeThousands: boolean }>()
  for (const { column, value, rule } of problems) {
    if (
      column === undefined ||
      value === undefined ||
      rule !== NUMBER_RULE ||
      !hasDecimalComma(value) ||
      !mayHaveCommas(files, column)
    )
      continue
    const { count, mayBeThousands: may } = found.get(column) ?? { count: 0, mayBeThousands: true }
    found.set(column, { count: count + 1, mayBeThousands: may && isUnsureComma(value) })
  }
  return [...found].map(([column, { count, mayBeThousands: may }]) => {
    const values =
      count === 1 ? '1 refused number has' : `${renderCount(count)} refused numbers have`
    const message = `${values} a comma in column '${renderName(column)}': ${remedyOfComma(column, may)}`
    return { type: 'decimalComma', column, count, message }
  })
}

/** Whether a column may have decimal commas without an option for it. */
function mayHaveCommas(files: readonly SourceFile[], column: string): boolean {
  return files.some(({ format, dialect = {} }) => {
    const decimal = dialect.columns?.[column]?.decimal ?? dialect.decimal ?? '.'
    return (format === 'csv' || format === 'tsv') && decimal === '.'
  })
}
