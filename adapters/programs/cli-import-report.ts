// The reports of `rowstash import`: on a new table the inferred types, and columns that a few values turned into text;
// with `--check` the values that do not fit.
import { ClientError } from '../../src/client/client.js'
import type { Column, ReceiptDropped } from '../../src/index.js'
import { escapeControls } from '../base/arguments.js'
import type { CommandIo } from './cli-command.js'
import { openClient } from './command-client.js'
import type { CheckResult, FileImport, FileImported, FoundProblem } from './import-files.js'
import { findOddColumns, type OddColumn } from './import-oddities.js'
import { renderPlace } from './import-places.js'
import { renderCount } from './progress.js'
import { placeOfShort, type ShortRows } from './short-lines.js'
import { renderType } from './table-types.js'

/** Columns that are listed, at most; further ones are only counted. */
const COLUMNS_SHOWN_MAX = 100
const WARNINGS_MAX = 20
const DROPPED_SHOWN_MAX = 10

/** The table is there already: where its types cannot be had, the import has not failed. */
const TRIES_MAX = 3

const NAME_CHARS_MAX = 60
const VALUE_CHARS_MAX = 80

/** Prints what an import did; of a new table also its columns, and warnings. */
export async function reportImport(
  io: CommandIo,
  given: FileImport,
  imported: FileImported,
  asJson: boolean,
): Promise<void> {
  const { tableId, version, rows, seconds, skipped, merged, shortLines } = imported
  const dropped = droppedOf(imported)
  const columns = given.sample === undefined ? undefined : await columnsOf(io, given, tableId)
  const rowsPerSecond = Math.round(rows / seconds)
  if (asJson) {
    const counts = {
      rows,
      ...merged,
      seconds,
      rowsPerSecond,
      skippedChunks: skipped,
      ...(dropped && { dropped }),
      ...(shortLines && { shortLines }),
    }
    io.print(JSON.stringify({ tableId, version, ...counts, ...(columns && { columns }) }))
  } else {
    if (merged === undefined) io.print(`rows: ${rows}`)
    for (const [name, count] of Object.entries(merged ?? {})) io.print(`${name}: ${count}`)
    if (dropped !== undefined && dropped.count > 0) io.print(renderDropped(dropped))
    if (skipped > 0) io.print(`chunks that were there: ${skipped}`)
    io.print(`seconds: ${seconds.toFixed(2)}`)
    if (merged === undefined) io.print(`rows/s: ${rowsPerSecond}`)
    io.print(`table: ${tableId}`)
    for (const line of columns === undefined ? [] : renderColumns(columns)) io.print(line)
  }
  if (shortLines !== undefined) warnOfShort(io, shortLines)
  if (columns !== undefined) await warnOfOddColumns(io, given, columns)
}

function warnOfShort(io: CommandIo, shortLines: ShortRows): void {
  const { count } = shortLines
  const lines = count === 1 ? 'line has' : 'lines have'
  const place = placeOfShort(shortLines)
  io.warn(
    `warning: ${renderCount(count)} ${lines} fewer fields than the header, the first in ${place}: the other cells are empty`,
  )
}

/** The values that did not fit and were left out, of a server that tells it. */
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
    return `${renderText(column, NAME_CHARS_MAX)} ${renderCount(dropped)}`
  })
  const more = counts.size > shown.length ? ', …' : ''
  const values = count === 1 ? 'value' : 'values'
  return `dropped ${renderCount(count)} ${values} (${shown.join(', ')}${more})`
}

/** The columns of a new table; undefined: the server does not tell them. */
async function columnsOf(
  io: CommandIo,
  given: FileImport,
  tableId: string,
): Promise<readonly Column[] | undefined> {
  try {
    const client = openClient({ ...given, triesMax: TRIES_MAX })
    return (await client.table(tableId).info({ signal: given.signal })).schema.columns
  } catch (failure) {
    given.signal.throwIfAborted()
    if (!(failure instanceof ClientError)) throw failure
    io.warn(`rowstash: The columns of the table cannot be read: ${failure.message}`)
    return undefined
  }
}

async function warnOfOddColumns(
  io: CommandIo,
  { sample, files, chunkRowsMax, signal }: FileImport,
  columns: readonly Column[],
): Promise<void> {
  const texts = new Set(columns.filter(({ type }) => type.kind === 'string').map(({ id }) => id))
  const sampled = [...(sample?.columns ?? [])].filter(([column]) => texts.has(column))
  const odd = await findOddColumns(new Map(sampled), files, chunkRowsMax, signal)
  for (const line of renderWarnings(odd)) io.warn(line)
}

/** Prints the result of `--check`. */
export function reportProblems(
  io: CommandIo,
  { rowCount, problems, problemCount, shortLines }: CheckResult,
  asJson: boolean,
): void {
  if (shortLines !== undefined) warnOfShort(io, shortLines)
  if (asJson) {
    const short = shortLines && { shortLines }
    io.print(JSON.stringify({ rows: rowCount, problemCount, problems, ...short }))
    return
  }
  for (const problem of problems) io.print(renderProblem(problem))
  const more = problemCount - problems.length
  if (more > 0) io.print(`and ${renderCount(more)} more problems`)
  io.print(`rows: ${rowCount}`)
  io.print(`problems: ${problemCount}`)
}

function renderProblem({ place, column, value, rule }: FoundProblem): string {
  const where = place === undefined ? '' : `${renderPlace(place)}: `
  const name = renderText(column, NAME_CHARS_MAX)
  if (value === undefined) return `${where}column '${name}' must be ${rule}`
  return `${where}value of column '${name}' must be ${rule}, not ${renderText(value, VALUE_CHARS_MAX)}`
}

function renderColumns(columns: readonly Column[]): string[] {
  const shown = columns.slice(0, COLUMNS_SHOWN_MAX)
  const names = shown.map(({ id }) => renderText(id, NAME_CHARS_MAX))
  const width = Math.max(0, ...names.map((name) => name.length))
  const lines = shown.map(({ type }, i) => {
    return `  ${(names[i] ?? '').padEnd(width)}  ${renderType(type)}`
  })
  const more = columns.length - shown.length
  return ['columns:', ...lines, ...(more > 0 ? [`  and ${renderCount(more)} more`] : [])]
}

function renderWarnings(odd: readonly OddColumn[]): string[] {
  const lines = odd.slice(0, WARNINGS_MAX).map(renderWarning)
  const more = odd.length - lines.length
  return more > 0
    ? [...lines, `warning: the same is true of ${renderCount(more)} more columns`]
    : lines
}

function renderWarning({ column, others, found }: OddColumn): string {
  const name = renderText(column, NAME_CHARS_MAX)
  const start = `warning: column '${name}' is text`
  if (found === undefined)
    return `${start} although nearly all of a sample of its values are ${others}`
  const { oddCount, valueCount, value } = found
  const shown = renderText(JSON.stringify(value), VALUE_CHARS_MAX)
  const count = `${renderCount(oddCount)} of ${renderCount(valueCount)} values`
  return `${start} because of ${count}, the first in ${renderPlace(found)}: ${shown} (the others are ${others})`
}

function renderText(text: string, charsMax: number): string {
  const chars = [...text]
  return escapeControls(
    chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`,
  )
}
