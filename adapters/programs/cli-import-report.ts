// The reports of `rowstash import`: on a new table the inferred types, and columns that a few values turned into text;
// with `--check` the values that do not fit.
import type { CommandIo } from './cli-command.js'
import { ImportClient, RequestFailure } from './import-client.js'
import type { CheckResult, FileImport, FoundProblem } from './import-files.js'
import { findOddColumns, type OddColumn } from './import-oddities.js'
import type { ImportSample } from './import-sample.js'
import { type ColumnTypeName, inferredTypes } from './import-schema.js'
import { ProgramFailure } from './program-failure.js'
import { renderCount } from './progress.js'

/** Columns that are listed, at most; further ones are only counted. */
const COLUMNS_SHOWN_MAX = 100
const WARNINGS_MAX = 20

/** The table is there already: where its types cannot be had, the import has not failed. */
const TRIES_MAX = 3

const NAME_CHARS_MAX = 60
const VALUE_CHARS_MAX = 80

/** Prints the types of a new table, and warnings. @param sample - A sample of the table's rows. */
export async function reportNewTable(
  io: CommandIo,
  given: FileImport,
  tableId: string,
  sample: ImportSample,
): Promise<void> {
  const client = new ImportClient({ ...given, triesMax: TRIES_MAX })
  try {
    const types = await inferredTypes(client, tableId, sample.columns)
    for (const line of renderColumns([...sample.columns.keys()], types)) io.print(line)
    const text = [...sample.columns].filter(([column]) => types.get(column) === 'string')
    const { files, chunkRowsMax, signal } = given
    const odd = await findOddColumns(new Map(text), files, chunkRowsMax, signal)
    for (const line of renderWarnings(odd)) io.warn(line)
  } catch (failure) {
    given.signal.throwIfAborted()
    if (!(failure instanceof RequestFailure || failure instanceof ProgramFailure)) throw failure
    io.warn(`rowstash: The columns of the table cannot be shown: ${failure.message}`)
  } finally {
    client.close()
  }
}

/** Prints the result of `--check`. */
export function reportProblems(
  io: CommandIo,
  { rowCount, problems, problemCount }: CheckResult,
): void {
  for (const problem of problems) io.print(renderProblem(problem))
  const more = problemCount - problems.length
  if (more > 0) io.print(`and ${renderCount(more)} more problems`)
  io.print(`rows: ${rowCount}`)
  io.print(`problems: ${problemCount}`)
}

function renderProblem({ place, column, value, rule }: FoundProblem): string {
  const where = place === undefined ? '' : `${place.path}, line ${place.line}: `
  const name = renderText(column, NAME_CHARS_MAX)
  if (value === undefined) return `${where}column '${name}' must be ${rule}`
  return `${where}value of column '${name}' must be ${rule}, not ${renderText(value, VALUE_CHARS_MAX)}`
}

function renderColumns(
  columns: readonly string[],
  types: ReadonlyMap<string, ColumnTypeName>,
): string[] {
  const shown = columns.slice(0, COLUMNS_SHOWN_MAX)
  const names = shown.map((column) => renderText(column, NAME_CHARS_MAX))
  const width = Math.max(0, ...names.map((name) => name.length))
  const lines = shown.map((column, i) => {
    return `  ${(names[i] ?? '').padEnd(width)}  ${types.get(column) ?? '?'}`
  })
  const more = columns.length - shown.length
  return ['columns:', ...lines, ...(more > 0 ? [`  and ${renderCount(more)} more`] : [])]
}

function renderWarnings(odd: readonly OddColumn[]): string[] {
  const lines = odd.slice(0, WARNINGS_MAX).map(renderWarning)
  const more = odd.length - lines.length
  return more > 0 ? [...lines, `warning: so are ${renderCount(more)} more columns`] : lines
}

function renderWarning({ column, others, found }: OddColumn): string {
  const name = renderText(column, NAME_CHARS_MAX)
  const start = `warning: column '${name}' is text`
  if (found === undefined)
    return `${start} although nearly all of a sample of its values are ${others}`
  const { oddCount, valueCount, value, path, line } = found
  const shown = renderText(JSON.stringify(value), VALUE_CHARS_MAX)
  const count = `${renderCount(oddCount)} of ${renderCount(valueCount)} values`
  return `${start} because of ${count}, the first in ${path}, line ${line}: ${shown} (the others are ${others})`
}

/** Control characters, line separators and direction marks, which could disguise what a terminal shows. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

function renderText(text: string, charsMax: number): string {
  const chars = [...text]
  const cut = chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`
  return cut.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
