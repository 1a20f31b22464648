// `rowstash rows`: some rows of a table, for people and scripts.
import { parseArgs } from 'node:util'
import type { ExportOptions } from '../../src/index.js'
import { escapeControls } from '../base/arguments.js'
import { type CommandIo, HELP_OPTION, parseIntegerOption } from './cli-command.js'
import { parseFind } from './cli-find-options.js'
import { TABLE_OPTIONS, TABLE_USAGE, TEAM_USAGE, withTable } from './cli-table-options.js'
import { ProgramFailure } from './program-failure.js'
import type { ReadableTable } from './remote-store.js'

export const ROWS_USAGE = `Usage: rowstash rows --directory DIR | --url URL --key KEY --table NAME
Prints the first rows of a table, or of those that match.
${TEAM_USAGE}
${TABLE_USAGE}
  --limit N         rows at most, from 1 to 10000 (default: 20)
  --where JSON      only rows that match, such as '{ "total": { "gt": 10 } }'
  --columns A,B     only these columns; IDs with a comma as a JSON array
  --format FORMAT   table (default), csv, ndjson, or json: one array
  --json            as --format ndjson
  -h, --help        show this text
A table has long cells cut. The other formats have every digit; for all rows
there is "rowstash export". Exit code 1: the rows cannot be read; 2: a wrong
call.
`

const LIMIT_DEFAULT = '20'
const LIMIT_MAX = 10_000

/** Characters of a cell that a table shows, at most. */
const CELL_CHARS_MAX = 40

const FORMATS = ['table', 'csv', 'ndjson', 'json'] as const

/** Runs `rowstash rows`. @throws {ProgramFailure} */
export async function runRows(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...TABLE_OPTIONS,
      limit: { type: 'string', default: LIMIT_DEFAULT },
      where: { type: 'string' },
      columns: { type: 'string' },
      format: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: HELP_OPTION,
    },
  })
  if (values.help) return io.print(ROWS_USAGE.trimEnd())
  const format = parseFormat(values.format, values.json)
  const limit = parseIntegerOption('--limit', values.limit, 1, LIMIT_MAX)
  const options: ExportOptions = { ...parseFind(values), limit, signal: io.signal }
  await withTable(values, io, async (table) => {
    for (const line of await linesOf(table, format, options)) io.print(line)
  })
}

function parseFormat(text: string | undefined, asJson: boolean): (typeof FORMATS)[number] {
  if (text === undefined) return asJson ? 'ndjson' : 'table'
  const format = FORMATS.find((known) => known === text)
  if (format !== undefined && !asJson) return format
  throw new ProgramFailure(
    'usage',
    asJson
      ? '--json does not go with --format'
      : `--format must be one of ${FORMATS.join(', ')}, not "${text}"`,
  )
}

async function linesOf(
  table: ReadableTable,
  format: (typeof FORMATS)[number],
  options: ExportOptions,
): Promise<readonly string[]> {
  if (format === 'csv') return [(await textOf(table.toCSV(options))).trimEnd()]
  const rows = (await textOf(table.toNDJSON(options))).split('\n').slice(0, -1)
  if (format === 'ndjson') return rows
  if (format === 'json') return [`[${rows.join(',\n')}]`]
  const { columns } = await table.schema()
  const wanted = columns.filter(({ id }) => options.columns?.includes(id) ?? true)
  return renderTable(
    wanted.map(({ id }) => id),
    rows,
  )
}

async function textOf(pieces: AsyncIterable<string | Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of pieces) {
    text += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
  }
  return text
}

function renderTable(ids: readonly string[], rows: readonly string[]): readonly string[] {
  const cells = rows.map((row) => {
    const read = JSON.parse(row) as Record<string, unknown>
    return ids.map((id) => renderCell(Object.hasOwn(read, id) ? read[id] : undefined))
  })
  const lines = [ids.map(renderCell), ...cells]
  const widths = ids.map((_, place) => Math.max(...lines.map((line) => line[place]?.length ?? 0)))
  return lines.map((line) => {
    return line
      .map((cell, place) => cell.padEnd(widths[place] ?? 0))
      .join('  ')
      .trimEnd()
  })
}

function renderCell(value: unknown): string {
  if (value === undefined) return ''
  const text = escapeControls(typeof value === 'string' ? value : JSON.stringify(value))
  const chars = [...text]
  return chars.length <= CELL_CHARS_MAX ? text : `${chars.slice(0, CELL_CHARS_MAX - 1).join('')}…`
}
