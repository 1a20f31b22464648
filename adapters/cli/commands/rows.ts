// `rowstash rows`: some rows of a table. `rowstash watch`: changes of a table as they are made.
import { buffer, text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import type { ExportOptions } from '../../../src/index.js'
import { escapeControls } from '../../base/arguments.js'
import { COMMA } from '../../base/ascii.js'
import { endOfLineBreak, fieldText, findFields } from '../../base/intake.js'
import { alignColumns } from '../command/columns.js'
import { type CommandIo, parseChoice, parseIntegerOption } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import { PLACE_ENVIRONMENT } from '../stores/postgres-place.js'
import type { CommandTable } from '../stores/remote-store.js'
import { PLACE_FORM, TABLE_OPTIONS, withTable } from '../stores/table-options.js'
import { FIND_OPTIONS, parseFind } from './find-options.js'

const LIMIT_DEFAULT = '20'
const LIMIT_MAX = 10_000

/** The maximum number of characters that a table shows of a cell. */
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
    const print = format === 'table' ? io.print : (io.printRows ?? io.print)
    for (const line of await renderRowLines(table, format, options)) print(line)
  })
}

function parseFormat(text: string | undefined, asJson: boolean): (typeof FORMATS)[number] {
  if (text === undefined) return asJson ? 'ndjson' : 'table'
  if (asJson) throw new ProgramFailure('usage', '--json cannot be combined with --format')
  return parseChoice('--format', text, FORMATS)
}

async function renderRowLines(
  table: CommandTable,
  format: (typeof FORMATS)[number],
  options: ExportOptions,
): Promise<readonly string[]> {
  if (format === 'csv' || format === 'tsv') {
    const delimiter = format === 'csv' ? ',' : '\t'
    return [(await text(table.toCSV({ ...options, delimiter }))).replace(/\n$/, '')]
  }
  if (format === 'table') return renderTable(await buffer(table.toCSV(options)))
  const rows = (await text(table.toNDJSON(options))).split('\n').slice(0, -1)
  return format === 'ndjson' ? rows : [`[${rows.join(',\n')}]`]
}

/** The records of CSV in columns. CSV has numbers as they were sent; JSON.parse would round them. */
function renderTable(csv: Uint8Array): readonly string[] {
  const lines: string[][] = []
  const bounds: number[] = []
  for (let at = 0; at < csv.length; ) {
    const count = findFields(csv, at, csv.length, COMMA, bounds)
    const line = Array.from({ length: count }, (_, i) => {
      return renderCell(fieldText(csv, bounds[2 * i] ?? 0, bounds[2 * i + 1] ?? 0))
    })
    lines.push(line)
    at = endOfLineBreak(csv, bounds[2 * count - 1] ?? csv.length)
  }
  return alignColumns(lines)
}

function renderCell(cell: string): string {
  const text = escapeControls(cell)
  const chars = [...text]
  return chars.length <= CELL_CHARS_MAX ? text : `${chars.slice(0, CELL_CHARS_MAX - 1).join('')}…`
}

const WATCH_OPTIONS = {
  ...TABLE_OPTIONS,
  since: {
    type: 'string',
    value: 'VERSION',
    help: 'begin after this version (default: with the next change)',
  },
  json: {
    type: 'boolean',
    default: false,
    help: 'accepted, but each line is always JSON',
    isRare: true,
  },
} as const satisfies OptionSpecs

export const WATCH_COMMAND: CommandSpec = {
  name: 'watch',
  summary: 'print the changes of a table as they are made',
  usage: [`watch ${PLACE_FORM} --table NAME [options]`],
  about: `Prints a line of JSON for each commit that changes the table, once and in order, until
    the command is interrupted: version, operation, time, author and numbers of rows.`,
  options: WATCH_OPTIONS,
  notes: `After a restart, --since with the last version continues. With --directory it prints the changes
    up to now, as no other process can make more. Exit code 0: they are printed; 1: they cannot be read,
    or are not kept from --since on; 2: a usage error.`,
  details: [PLACE_ENVIRONMENT],
}

/** Runs `rowstash watch`. @throws {ProgramFailure} */
export async function runWatch(args: readonly string[], io: CommandIo): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: WATCH_OPTIONS })
  const since =
    values.since === undefined
      ? undefined
      : parseIntegerOption('--since', values.since, 0, Number.MAX_SAFE_INTEGER)
  const follows = values.directory === undefined
  if (!follows && since === undefined) {
    throw new ProgramFailure('usage', '--directory needs --since: no other process can change it')
  }
  await withTable(values, io, async (table) => {
    for await (const entry of table.changes({ since, follows, signal: io.signal })) {
      io.print(JSON.stringify(entry))
    }
  })
}
