// The reports of `rowstash import`: inferred types of a new table, and warnings; with `--check` also the values that do
// not fit.
import { ClientError } from '../../../src/client/client.js'
import type { Column, ReceiptDropped } from '../../../src/index.js'
import type { CommandIo } from '../command/command.js'
import { renderCount } from '../command/progress.js'
import { renderName } from '../command/shown-values.js'
import type { CheckResult, FileImport, FileImported, FoundProblem } from '../import/import-files.js'
import { problemText, warningsOfMisfits } from '../import/import-misfits.js'
import { type FileReport, shortLinesOf } from '../import/import-reports.js'
import { type ImportWarning, notesOfReading, warningsOfReading } from '../import/import-warnings.js'
import { renderPlace } from '../import/source-file.js'
import { openClient } from '../stores/command-client.js'
import { renderType } from './table-types.js'

/** The maximum number of columns that are listed. Further columns are only counted. */
const COLUMNS_SHOWN_MAX = 100
const WARNINGS_MAX = 20
const DROPPED_SHOWN_MAX = 10

/** The maximum number of problems that are listed per column and rule. */
const PROBLEMS_ALIKE_MAX = 3
const GROUPS_SHOWN_MAX = 100

/** Few attempts to read the types of a new table: the import has succeeded, even if they cannot be read. */
const TRIES_MAX = 3

/** Prints the result of an import: also the columns of a new table, and warnings. */
export async function reportImport(
  io: CommandIo,
  given: FileImport,
  imported: FileImported,
  asJson: boolean,
): Promise<void> {
  const { tableId, version, rows, seconds, skipped, merged, read } = imported
  const shortLines = shortLinesOf(read)
  const dropped = droppedOf(imported)
  const { rejects } = given
  const rejected = rejects && { count: rejects.count, path: rejects.path }
  const { columns, unread } = await readTableColumns(given, tableId)
  const rowsPerSecond = Math.round(rows / seconds)
  const warnings = [...unread, ...warningsOfReading(read)]
  if (asJson) {
    const counts = {
      rows,
      ...merged,
      seconds: Math.round(seconds * 1000) / 1000,
      rowsPerSecond,
      skippedChunks: skipped,
      ...(dropped && { dropped }),
      ...(rejected && { rejected }),
      ...(shortLines && { shortLines }),
      read: read.map(withoutAdvice),
      warnings,
    }
    io.print(JSON.stringify({ tableId, version, ...counts, ...(columns && { columns }) }))
    return
  }
  if (merged === undefined) io.print(`rows: ${rows}`)
  for (const [name, count] of Object.entries(merged ?? {})) io.print(`${name}: ${count}`)
  if (dropped !== undefined && dropped.count > 0) io.print(renderDropped(dropped))
  if (rejected !== undefined) io.print(`rejected: ${rejected.count} in ${rejected.path}`)
  if (skipped > 0) io.print(`chunks already on the server: ${skipped}`)
  io.print(`seconds: ${seconds.toFixed(2)}`)
  if (merged === undefined) io.print(`rows/s: ${rowsPerSecond}`)
  io.print(`table: ${tableId}`)
  for (const line of columns === undefined ? [] : renderColumns(columns)) io.print(line)
  for (const note of notesOfReading(read)) io.warn(note)
  printWarnings(io, warnings)
}

/** A report without the part that warnings contain. */
function withoutAdvice({ advice: _, ...read }: FileReport): Omit<FileReport, 'advice'> {
  return read
}

/** Prints warnings for people. */
function printWarnings(io: CommandIo, warnings: readonly ImportWarning[]): void {
  for (const { message } of warnings.slice(0, WARNINGS_MAX)) io.warn(`warning: ${message}`)
  const more = warnings.length - WARNINGS_MAX
  if (more > 0) io.warn(`and ${renderCount(more)} more warnings, which --json lists`)
}

/** The dropped values, if the server reports them. */
type Dropped = Pick<ReceiptDropped, 'count' | 'columns'>

function droppedOf({ receipt }: FileImported): Dropped | undefined {
  const dropped = receipt?.['dropped'] as Dropped | undefined
  return dropped && { count: dropped.count, columns: dropped.columns }
}

function renderDropped({ count, columns }: Dropped): string {
  const counts = new Map<string, number>()
  for (const { column, count: more } of columns)
    counts.set(column, (counts.get(column) ?? 0) + more)
  const shown = [...counts].slice(0, DROPPED_SHOWN_MAX).map(([column, dropped]) => {
    return `${renderName(column)} ${renderCount(dropped)}`
  })
  const more = counts.size > shown.length ? ', …' : ''
  const values = count === 1 ? 'value' : 'values'
  return `dropped ${renderCount(count)} ${values} (${shown.join(', ')}${more})`
}

type TableColumns = Readonly<{
  /** undefined: the table is not new, or the server does not report them. */
  columns: readonly Column[] | undefined
  /** Why the server does not report them. */
  unread: readonly ImportWarning[]
}>

async function readTableColumns(given: FileImport, tableId: string): Promise<TableColumns> {
  if (given.target.name === undefined) return { columns: undefined, unread: [] }
  try {
    const client = openClient({ ...given, triesMax: TRIES_MAX })
    const { schema } = await client.table(tableId).info({ signal: given.signal })
    return { columns: schema.columns, unread: [] }
  } catch (failure) {
    given.signal.throwIfAborted()
    if (!(failure instanceof ClientError)) throw failure
    const message = `the columns of the table cannot be read: ${failure.message}`
    return { columns: undefined, unread: [{ type: 'columnsUnread', message }] }
  }
}

/**
 * Prints the result of `--check`: also the columns of a new table, and the warnings of an import.
 * @param before - Warnings that need no rows.
 */
export function reportProblems(
  io: CommandIo,
  given: FileImport,
  checked: CheckResult,
  { asJson, before }: Readonly<{ asJson: boolean; before: readonly ImportWarning[] }>,
): void {
  const { rowCount, problems, problemCount, merged, read } = checked
  const shortLines = shortLinesOf(read)
  const columns = given.target.name === undefined ? undefined : checked.columns
  const groups = groupProblems(problems)
  const ofProblems = warningsOfMisfits(problems, given.files)
  const warnings = [...before, ...ofProblems, ...warningsOfReading(read)]
  if (asJson) {
    const lines = { ...(shortLines && { shortLines }), read: read.map(withoutAdvice) }
    const found = { rows: rowCount, ...merged, problemCount, groups, problems, ...lines, warnings }
    io.print(JSON.stringify({ ...found, ...(columns && { columns }) }))
    return
  }
  for (const group of groups.slice(0, GROUPS_SHOWN_MAX)) {
    for (const problem of group.first) io.print(renderProblem(problem))
    const more = group.count - group.first.length
    if (more > 0) io.print(`and ${renderCount(more)} more like it${columnOf(group)}`)
  }
  const more = problemCount - problems.length
  if (more > 0)
    io.print(`and ${renderCount(more)} problems after the first ${renderCount(problems.length)}`)
  if (groups.length > GROUPS_SHOWN_MAX) io.print('and problems of more columns, which --json lists')
  io.print(`rows: ${rowCount}`)
  for (const [name, count] of Object.entries(merged ?? {})) io.print(`${name}: ${count}`)
  io.print(`problems: ${problemCount}`)
  io.print(`warnings: ${warnings.length}`)
  for (const line of columns === undefined ? [] : renderColumns(columns)) io.print(line)
  for (const note of notesOfReading(read)) io.warn(note)
  printWarnings(io, warnings)
}

/** Problems of one column and rule. */
type ProblemGroup = {
  readonly column?: string
  readonly rule: string
  count: number
  readonly first: FoundProblem[]
}

/** Problems by column and rule, in the order found. */
function groupProblems(problems: readonly FoundProblem[]): readonly ProblemGroup[] {
  const groups = new Map<string, ProblemGroup>()
  for (const problem of problems) {
    const { column, rule } = problem
    // Lines with too many fields are one group, although each rule contains its number of fields.
    const kind = JSON.stringify(column === undefined ? [] : [column, rule])
    const of = column === undefined ? {} : { column }
    const group = groups.get(kind) ?? { ...of, rule, count: 0, first: [] }
    groups.set(kind, group)
    group.count++
    if (group.first.length < PROBLEMS_ALIKE_MAX) group.first.push(problem)
  }
  return [...groups.values()]
}

function columnOf({ column }: ProblemGroup): string {
  return column === undefined ? '' : `, of column '${renderName(column)}'`
}

function renderProblem({ place, ...problem }: FoundProblem): string {
  const where = place === undefined ? '' : `${renderPlace(place)}: `
  return where + problemText(problem)
}

function renderColumns(columns: readonly Column[]): string[] {
  const shown = columns.slice(0, COLUMNS_SHOWN_MAX)
  const names = shown.map(({ id }) => renderName(id))
  const width = Math.max(0, ...names.map((name) => name.length))
  const lines = shown.map(({ type }, i) => {
    return `  ${(names[i] ?? '').padEnd(width)}  ${renderType(type)}`
  })
  const more = columns.length - shown.length
  return ['columns:', ...lines, ...(more > 0 ? [`  and ${renderCount(more)} more`] : [])]
}
