// The arguments of `rowstash import`.
import { parseArgs } from 'node:util'
import type { OnSchemaError } from '../../src/client/client.js'
import { type CommandIo, parseChoice, parseIntegerOption } from './cli-command.js'
import { type GivenServer, parseServerOrDirectory, SERVER_OPTIONS } from './cli-server-options.js'
import { DIRECTORY_OPTION, PLACE_FORM, TEAM_OPTION } from './cli-table-options.js'
import type { CommandSpec, OptionSpecs } from './command-spec.js'
import { parseDelimiter, type Quotes } from './csv-fields.js'
import type { DecimalMark, DecimalMarks } from './decimal-commas.js'
import { filesOf } from './file-patterns.js'
import { compressionOf, STANDARD_INPUT } from './import-bytes.js'
import type { FileImport } from './import-files.js'
import { FILE_FORMATS, type FileFormat, formatOfPath, type SourceFile } from './import-source.js'
import { ProgramFailure } from './program-failure.js'

const CHUNK_ROWS_DEFAULT = '1000'
const CHUNK_ROWS_MAX = 65_536
const PARALLEL_DEFAULT = '8'
const PARALLEL_MAX = 64

export type TableName = Readonly<{ name: string } | { tableId: string }>

/** What is done with a table, and with which. */
export type GivenTarget = Readonly<
  | { mode: 'create'; name: string; isNameShared: boolean }
  | { mode: 'add' | 'overwrite'; table: TableName }
  | {
      mode: 'merge'
      table: TableName
      key: readonly string[]
      missing: 'keep' | 'delete'
      unnamed: 'keep' | 'empty'
    }
>

export type ImportCommand = Pick<
  FileImport,
  'files' | 'chunkRowsMax' | 'parallel' | 'onSchemaError' | 'refusesShortLines'
> &
  Readonly<{
    place: GivenServer | Readonly<{ directory: string; team: string | undefined }>
    target: GivenTarget
    /** The file with the schema of the table. */
    schemaPath: string | undefined
    isCheck: boolean
    isResumable: boolean
    isJson: boolean
  }>

const OPTIONS = {
  directory: {
    ...DIRECTORY_OPTION,
    help: 'a store that no other process has open; created if missing',
  },
  ...SERVER_OPTIONS,
  team: TEAM_OPTION,
  table: { type: 'string', value: 'NAME', help: 'a new table, or the only one with that name' },
  'table-id': { type: 'string', value: 'ID', help: 'the table with that ID' },
  'new-table': {
    type: 'boolean',
    default: false,
    help: 'make a new table even if another one has the name',
    isRare: true,
  },
  mode: {
    type: 'string',
    value: 'create|add|overwrite|merge',
    help: 'what to do with the table (default: create)',
  },
  by: {
    type: 'string',
    multiple: true,
    value: 'COLUMN',
    help: 'key column of a merge; repeat for several columns',
  },
  missing: {
    type: 'string',
    value: 'keep|delete',
    help: 'rows that are not in the files of a merge (default: keep)',
    isRare: true,
  },
  unnamed: {
    type: 'string',
    value: 'keep|empty',
    help: 'cells in columns that are not in the files of a merge (default: keep)',
    isRare: true,
  },
  schema: {
    type: 'string',
    value: 'FILE',
    help: 'columns, as "import --check --json" prints them',
  },
  'on-error': {
    type: 'string',
    value: 'abort|strict|drop|update',
    help: 'misfits (default: abort); strict refuses short lines too',
  },
  check: {
    type: 'boolean',
    default: false,
    help: 'only list values that do not fit, columns and warnings',
  },
  resume: {
    type: 'boolean',
    default: false,
    help: 'continue where this command was stopped; stay resumable',
  },
  format: {
    type: 'string',
    value: FILE_FORMATS.join('|'),
    help: "default: by the file's extension",
  },
  delimiter: {
    type: 'string',
    value: 'D',
    help: 'of csv and tsv (default: as the header of a csv file shows)',
  },
  quotes: {
    type: 'string',
    default: 'strict',
    value: 'strict|relaxed',
    help: `for csv and tsv: with relaxed, a quote inside a field that does not begin with one is text,
      as spreadsheets write it; with strict (default), it is refused`,
    isRare: true,
  },
  decimal: {
    type: 'string',
    multiple: true,
    value: '.|,',
    help: 'in csv and tsv (default: "."); COLUMN=, for one column',
  },
  encoding: {
    type: 'string',
    value: 'NAME',
    help: 'of files that are not UTF-8, such as windows-1252',
  },
  'allow-empty': {
    type: 'boolean',
    default: false,
    help: 'import a file without bytes, or of blanks alone, as no rows; otherwise it is refused',
    isRare: true,
  },
  'chunk-rows': {
    type: 'string',
    default: CHUNK_ROWS_DEFAULT,
    value: 'N',
    help: `maximum number of rows in a request (default: ${CHUNK_ROWS_DEFAULT})`,
    isRare: true,
  },
  parallel: {
    type: 'string',
    default: PARALLEL_DEFAULT,
    value: 'N',
    help: `number of requests at the same time (default: ${PARALLEL_DEFAULT})`,
    isRare: true,
  },
  json: { type: 'boolean', default: false, help: 'print the result as a line of JSON' },
} as const satisfies OptionSpecs

export const IMPORT_COMMAND: CommandSpec = {
  name: 'import',
  summary: 'import files into a table',
  usage: [`import FILE... ${PLACE_FORM} --table NAME`],
  about: 'Imports files into one table, all rows at once. "-" is the standard input.',
  options: OPTIONS,
  hasOperands: true,
  notes: 'Exit code 0: imported; 1: failed, or problems; 2: usage error; 130, 143: signal.',
  details: [
    `Files compressed with gzip or zstd are unpacked, whatever their names; columns of several files are matched by name. After a failure, with exit code 1
    or 2, or a signal, no row is imported.`,
    `--delimiter: one character, or comma, semicolon, tab or pipe. --decimal: with "," 1,5 is a number, and 1.5 is refused
    in a column of numbers; repeat it for several columns, as in --decimal price=, --decimal tax=, or name those that
    have points, as in --decimal , --decimal rate=. --schema: also as "rowstash schema --json" prints it; it may name columns as
    { "columns": [{ "id": "total", "type": "number" }] }.`,
    `--on-error: what becomes of values that do not fit: abort refuses all rows, drop leaves their cells empty, update
    widens columns. strict is abort, and also refuses lines with fewer fields than the header.`,
  ],
}

/** @throws {ProgramFailure} */
export function parseImportArgs(args: readonly string[], env: CommandIo['env']): ImportCommand {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: OPTIONS,
  })
  if (positionals.length === 0) throw new ProgramFailure('usage', 'Specify at least one file')
  const given = {
    format:
      values.format === undefined
        ? undefined
        : parseChoice('--format', values.format, FILE_FORMATS),
    delimiter: values.delimiter,
    quotes: parseChoice('--quotes', values.quotes, ['strict', 'relaxed']),
    encoding: parseEncoding(values.encoding),
    decimal: parseDecimal(values.decimal ?? []),
  }
  const target = parseTarget(values)
  const { schema: schemaPath } = values
  if (schemaPath !== undefined && target.mode !== 'create' && target.mode !== 'overwrite') {
    throw new ProgramFailure('usage', '--schema needs --mode create or overwrite')
  }
  const onError = values['on-error']
  const onSchemaError = parseOnError(onError)
  return {
    files: filesOf(positionals).map((path) => {
      return { ...parseFile(path, given), ...(values['allow-empty'] && { allowEmpty: true }) }
    }),
    place: parseServerOrDirectory(values, env),
    isCheck: values.check,
    isResumable: values.resume,
    isJson: values.json,
    target,
    schemaPath,
    ...(onSchemaError !== undefined && { onSchemaError }),
    refusesShortLines: onError === 'strict',
    chunkRowsMax: parseIntegerOption('--chunk-rows', values['chunk-rows'], 1, CHUNK_ROWS_MAX),
    parallel: parseIntegerOption('--parallel', values.parallel, 1, PARALLEL_MAX),
  }
}

/** @returns undefined for points everywhere */
function parseDecimal(texts: readonly string[]): DecimalMarks | undefined {
  const ofColumns = new Map<string, DecimalMark>()
  let all: DecimalMark = '.'
  for (const text of texts) {
    const [, column, mark] = /^(?:(.+)=)?([.,])$/s.exec(text) ?? []
    if (mark !== '.' && mark !== ',') {
      const form = '".", "," or, for one column, "COLUMN=." or "COLUMN=,"'
      throw new ProgramFailure('usage', `--decimal must be ${form}, not "${text}"`)
    }
    if (column === undefined) all = mark
    else ofColumns.set(column, mark)
  }
  const hasCommas = [all, ...ofColumns.values()].includes(',')
  return hasCommas ? { all, ofColumns: [...ofColumns] } : undefined
}

/** @returns undefined for UTF-8, which the server checks itself */
function parseEncoding(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  try {
    const { encoding } = new TextDecoder(label)
    return encoding === 'utf-8' ? undefined : encoding
  } catch (cause) {
    const problem = `--encoding must be a name such as windows-1252 or utf-16le, not "${label}"`
    throw new ProgramFailure('usage', problem, { cause })
  }
}

type GivenFormat = Readonly<{
  format: FileFormat | undefined
  delimiter: string | undefined
  quotes: Quotes
  encoding: string | undefined
  decimal: DecimalMarks | undefined
}>

/** An option that was given and is about the fields of csv and tsv; undefined: none. */
function fieldOptionOf({ delimiter, quotes, decimal }: GivenFormat): string | undefined {
  if (delimiter !== undefined) return '--delimiter'
  if (quotes === 'relaxed') return '--quotes relaxed'
  return decimal === undefined ? undefined : '--decimal with a comma'
}

function parseFile(path: string, given: GivenFormat): SourceFile {
  const { delimiter: delimiterText, encoding } = given
  if (path === STANDARD_INPUT && given.format === undefined) {
    throw new ProgramFailure('usage', 'The standard input needs --format')
  }
  const format = given.format ?? formatOfPath(path)
  const isText = format === 'csv' || format === 'tsv'
  const quotes = given.quotes === 'relaxed' ? ({ quotes: 'relaxed' } as const) : {}
  const file = {
    path,
    format,
    ...(encoding && { encoding }),
    ...quotes,
    ...(given.decimal && { decimal: given.decimal }),
  }
  if (format === 'parquet') checkParquet(file)
  const ofFields = fieldOptionOf(given)
  if (!isText && ofFields !== undefined) {
    throw new ProgramFailure('usage', `${ofFields} is only for csv and tsv; "${path}" is ${format}`)
  }
  if (delimiterText === undefined) return file
  const delimiter = parseDelimiter(delimiterText)
  if (delimiter !== undefined) return { ...file, delimiter }
  throw new ProgramFailure(
    'usage',
    `--delimiter must be one ASCII character, comma, semicolon, tab or pipe, not "${delimiterText}"`,
  )
}

/** Its index is at its end, and it says itself how it is compressed. @throws {ProgramFailure} */
function checkParquet({ path, encoding }: SourceFile): void {
  const compression = compressionOf(path)
  if (path === STANDARD_INPUT) {
    throw new ProgramFailure(
      'usage',
      'Parquet can only be read from a file, not from the standard input',
    )
  }
  if (compression !== undefined || encoding !== undefined) {
    const problem =
      compression === undefined
        ? '--encoding cannot be combined with Parquet'
        : `A file compressed with ${compression} cannot be read as Parquet`
    throw new ProgramFailure('usage', `${problem}: "${path}"`)
  }
}

type TargetValues = Readonly<{
  'new-table': boolean
  table?: string | undefined
  'table-id'?: string | undefined
  mode?: string | undefined
  by?: string[] | undefined
  missing?: string | undefined
  unnamed?: string | undefined
}>

function parseTarget(values: TargetValues): GivenTarget {
  const { table: name, 'table-id': tableId } = values
  const mode = values.mode === undefined ? undefined : parseChoice('--mode', values.mode, MODES)
  if ((name === undefined) === (tableId === undefined)) {
    throw new ProgramFailure('usage', 'Specify either --table or --table-id')
  }
  return targetIn(mode ?? (tableId === undefined ? 'create' : undefined), values)
}

const MODES = ['create', 'add', 'overwrite', 'merge'] as const

type Mode = (typeof MODES)[number]

/** The target of a mode, with the options that go with it. */
function targetIn(mode: Mode | undefined, values: TargetValues): GivenTarget {
  const { table: name, 'table-id': tableId, by, missing = 'keep', unnamed = 'keep' } = values
  if (mode !== 'merge' && (by ?? values.missing ?? values.unnamed) !== undefined) {
    throw new ProgramFailure('usage', '--by, --missing and --unnamed need --mode merge')
  }
  if (values['new-table'] && mode !== 'create') {
    throw new ProgramFailure('usage', '--new-table needs --mode create')
  }
  const table = tableId === undefined ? { name: name ?? '' } : { tableId }
  switch (mode) {
    case 'create':
      if (name !== undefined) return { mode, name, isNameShared: values['new-table'] }
      throw new ProgramFailure('usage', '--mode create needs --table')
    case 'add':
    case 'overwrite':
      return { mode, table }
    case 'merge':
      if (by === undefined) throw new ProgramFailure('usage', '--mode merge needs --by COLUMN')
      return {
        ...{ mode, table, key: by },
        missing: parseChoice('--missing', missing, ['keep', 'delete']),
        unnamed: parseChoice('--unnamed', unnamed, ['keep', 'empty']),
      }
    case undefined:
      throw new ProgramFailure('usage', '--table-id needs --mode add, overwrite or merge')
  }
}

/** By their names on the command line, and in the library. */
const ON_ERROR: ReadonlyMap<string, OnSchemaError> = new Map([
  ['abort', 'abort'],
  ['strict', 'abort'],
  ['drop', 'dropColumns'],
  ['update', 'updateSchema'],
  ['dropColumns', 'dropColumns'],
  ['updateSchema', 'updateSchema'],
])

function parseOnError(text: string | undefined): OnSchemaError | undefined {
  if (text === undefined) return undefined
  const found = ON_ERROR.get(text)
  if (found !== undefined) return found
  throw new ProgramFailure(
    'usage',
    `--on-error must be abort, strict, drop or update, not "${text}"`,
  )
}
