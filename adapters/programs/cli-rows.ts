// `rowstash rows`: some rows of a table, for people and scripts.
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import type { ExportOptions } from '../../src/index.js'
import { escapeControls } from '../base/arguments.js'
import { alignColumns } from './cli-columns.js'
import { type CommandIo, parseIntegerOption } from './cli-command.js'
import { FIND_OPTIONS, parseFind } from './cli-find-options.js'
import { PLACE_FORM, TABLE_OPTIONS, withTable } from './cli-table-options.js'
import type { CommandSpec, OptionSpecs } from './command-spec.js'
import { PLACE_ENVIRONMENT } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import type { CommandTable } from './remote-store.js'

const LIMIT_DEFAULT = '20'
const LIMIT_MAX = 10_000

/** Characters of a cell that a table shows, at most. */
const CELL_CHARS_MAX = 40

const FORMATS = ['table', 'csv', 'tsv', 'ndjson', 'json'] as const

const OPTIONS = {
  ...TABLE_OPTIONS,
  limit: {
    type: 'string',
    default: LIMIT_DEFAULT,
    value: 'N',
    help: `maximum number of rows, from 1 to ${LIMIT_MAX} (default: ${LIMIT_DEFAULT})`,
  },
  ...FIND_OPTIONS,
  format: {
    type: 'string',
    value: FORMATS.join('|'),
    help: 'output format (default: table); json is one array',
  },
  json: { type: 'boolean', default: false, help: 'same as --format ndjson' },
} as const satisfies OptionSpecs

export const ROWS_COMMAND: CommandSpec = {
  name: 'rows',
  summary: 'print rows of a table',
  usage: [`rows ${PLACE_FORM} --table NAME [options]`],
  about: 'Prints the first rows of a table, or the first that match.',
  options: OPTIONS,
  notes: `The format table cuts long cells; the others print every value in full. "rowstash export" writes
    all rows. Exit code 0: the rows are printed; 1: they cannot be read; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash rows`. @throws {ProgramFailure} */
export async function runRows(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: OPTIONS,
  })
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
      ? '--json cannot be combined with --format'
      : `--format must be one of ${FORMATS.join(', ')}, not "${text}"`,
  )
}

async function linesOf(
  table: CommandTable,
  format: (typeof FORMATS)[number],
  options: ExportOptions,
): Promise<readonly string[]> {
  if (format === 'csv' || format === 'tsv') {
    const delimiter = format === 'csv' ? ',' : '\t'
    return [(await text(table.toCSV({ ...options, delimiter }))).replace(/\n$/, '')]
  }
  const rows = (await text(table.toNDJSON(options))).split('\n').slice(0, -1)
  if (format === 'ndjson') return rows
  if (format === 'json') return [`[${rows.join(',\n')}]`]
  const { columns } = await table.schema()
  const wanted = columns.filter(({ id }) => options.columns?.includes(id) ?? true)
  return renderTable(
    wanted.map(({ id }) => id),
    rows,
  )
}

function renderTable(ids: readonly string[], rows: readonly string[]): readonly string[] {
  const cells = rows.map((row) => {
    const read = JSON.parse(row) as Record<string, unknown>
    return ids.map((id) => renderCell(Object.hasOwn(read, id) ? read[id] : undefined))
  })
  const lines = [ids.map(renderCell), ...cells]
  return alignColumns(lines)
}

function renderCell(value: unknown): string {
  if (value === undefined) return ''
  const text = escapeControls(typeof value === 'string' ? value : JSON.stringify(value))
  const chars = [...text]
  return chars.length <= CELL_CHARS_MAX ? text : `${chars.slice(0, CELL_CHARS_MAX - 1).join('')}…`
}
