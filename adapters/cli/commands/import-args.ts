// The arguments of `rowstash import`.
import { basename, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { OnSchemaError } from '../../../src/client/client.js'
import { NESTED_WAYS } from '../../base/intake.js'
import { type CommandIo, parseChoice, parseIntegerOption } from '../command/command.js'
import type { CommandSpec, OptionSpecs } from '../command/command-spec.js'
import { ProgramFailure } from '../command/program-failure.js'
import {
  DIALECT_OPTIONS,
  type DialectValues,
  optionOf,
  parseDialect,
} from '../import/dialect-options.js'
import { filesOf } from '../import/file-patterns.js'
import { compressionOf, STANDARD_INPUT } from '../import/import-bytes.js'
import type { FileImport } from '../import/import-files.js'
import { formatOfPath } from '../import/import-source.js'
import { FILE_FORMATS, type FileFormat, type SourceFile } from '../import/source-file.js'
import {
  type GivenServer,
  parseServerOrDirectory,
  SERVER_OPTIONS,
} from '../stores/server-options.js'
import { DIRECTORY_OPTION, PLACE_FORM, TEAM_OPTION } from '../stores/table-options.js'

const CHUNK_ROWS_DEFAULT = '1000'
const CHUNK_ROWS_MAX = 65_536
const PARALLEL_DEFAULT = '8'
const PARALLEL_MAX = 64

export type TableName = Readonly<{ name: string } | { tableId: string }>

/** The table, and what to do with it. */
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
    /** The file with the table's schema. */
    schemaPath: string | undefined
    isCheck: boolean
    /** The file for rejected rows. */
    rejectsPath: string | undefined
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
  table: {
    type: 'string',
    value: 'NAME',
    help: "a new or existing table (default: the file's name)",
  },
  'table-id': { type: 'string', value: 'ID', help: 'the table with that ID' },
  'new-table': {
    type: 'boolean',
    default: false,
    help: 'create a table even if another has the same name',
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
    help: 'what a merge does with rows that its files lack (default: keep)',
    isRare: true,
  },
  unnamed: {
    type: 'string',
    value: 'keep|empty',
    help: 'what a merge does with cells of columns that its files lack (default: keep)',
    isRare: true,
  },
  schema: {
    type: 'string',
    value: 'FILE',
    help: 'the columns, as "import --check --json" prints them',
  },
  'on-error': {
    type: 'string',
    value: 'abort|strict|drop|update',
    help: 'what to do with values that do not fit (default: abort)',
  },
  rejects: {
    type: 'string',
    value: 'FILE',
    help: 'write rows that do not fit to FILE, with their reasons, and import the others',
    isRare: true,
  },
  check: {
    type: 'boolean',
    default: false,
    help: 'import nothing; list columns, warnings and misfits',
  },
  resume: {
    type: 'boolean',
    default: false,
    help: 'continue where the same command was stopped; the first run needs it too',
    isRare: true,
  },
  format: {
    type: 'string',
    value: FILE_FORMATS.join('|'),
    help: "default: by the file's extension",
  },
  ...DIALECT_OPTIONS,
  'allow-empty': {
    type: 'boolean',
    default: false,
    help: 'accept a file that is empty or blank (default: refuse it)',
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
  usage: [`import FILE... ${PLACE_FORM} [--table NAME]`],
  about: 'Imports files into one table, all rows at once. "-" is the standard input.',
  options: OPTIONS,
  hasOperands: true,
  notes: 'Exit code 0: imported; 1: failed, or problems; 2: usage error; 130, 143: signal.',
  details: [
    `Files compressed with gzip or zstd are unpacked, whatever their names; columns of several files are matched by name. After a failure, with exit code 1
    or 2, or a signal, no row is imported.`,
    `--decimal , reads 1,5 as a number in every column; --decimal price=, in one column; --decimal , --decimal rate=. in
    every column but rate. --schema also takes what "rowstash schema --json" prints, or
    { "columns": [{ "id": "total", "type": "number" }] }.`,
    `What the options leave open is detected from the first megabyte of a csv or tsv file, and reported: its encoding,
    delimiter, title, blanks around quotes, \\N for empty cells, and columns of numbers, days and booleans in a single
    notation. --dialect plain reads values as they are written. A value that contradicts the detection ends the import.`,
    `--on-error: what to do with values that do not fit: abort refuses all rows, drop leaves their cells empty, update
    widens columns. strict is like abort, and also refuses lines with fewer fields than the header.`,
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
    values,
  }
  const paths = filesOf(positionals)
  const target = parseImportTarget(values, paths)
  const { schema: schemaPath } = values
  if (schemaPath !== undefined && target.mode !== 'create' && target.mode !== 'overwrite') {
    throw new ProgramFailure('usage', '--schema needs --mode create or overwrite')
  }
  const onError = values['on-error']
  const onSchemaError = parseOnError(onError)
  if (values.rejects !== undefined) checkRejects(values.rejects, paths, values)
  return {
    files: paths.map((path) => {
      return { ...parseSourceFile(path, given), ...(values['allow-empty'] && { allowEmpty: true }) }
    }),
    place: parseServerOrDirectory(values, env),
    isCheck: values.check,
    rejectsPath: values.rejects,
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

/** @throws {ProgramFailure} if the file for rejected rows is an input, or other options would lose rows */
function checkRejects(
  path: string,
  paths: readonly string[],
  {
    check,
    missing,
    'on-error': onError = 'abort',
  }: Readonly<{ check: boolean; missing?: string | undefined; 'on-error'?: string | undefined }>,
): void {
  if (path === STANDARD_INPUT) throw new ProgramFailure('usage', '--rejects needs a file')
  if (paths.some((read) => resolve(read) === resolve(path))) {
    throw new ProgramFailure('usage', `--rejects must not name an input file: "${path}"`)
  }
  const [other] = [
    ...(check ? ['--check'] : []),
    ...(onError === 'abort' || onError === 'strict' ? [] : [`--on-error ${onError}`]),
    // Would delete the table's rows that correspond to rejected rows.
    ...(missing === 'delete' ? ['--missing delete'] : []),
  ]
  if (other === undefined) return
  throw new ProgramFailure('usage', `--rejects cannot be combined with ${other}`)
}

type GivenFormat = Readonly<{ format: FileFormat | undefined; values: DialectValues }>

function parseSourceFile(path: string, { format: given, values }: GivenFormat): SourceFile {
  if (path === STANDARD_INPUT && given === undefined) {
    throw new ProgramFailure('usage', 'The standard input needs --format')
  }
  const format = given ?? formatOfPath(path)
  const { encoding, ...dialect } = parseDialect(values)
  const [first] = Object.keys(dialect)
  if (first !== undefined && format !== 'csv' && format !== 'tsv') {
    const problem = `${optionOf(first)} is only for csv and tsv`
    throw new ProgramFailure('usage', `${problem}; "${path}" is ${format}`)
  }
  if (values.at !== undefined && format !== 'json') {
    throw new ProgramFailure('usage', `--at is only for json; "${path}" is ${format}`)
  }
  const nested =
    values.nested === undefined ? undefined : parseChoice('--nested', values.nested, NESTED_WAYS)
  if (nested !== undefined && (format === 'csv' || format === 'tsv')) {
    const problem = '--nested is only for json, ndjson and parquet'
    throw new ProgramFailure('usage', `${problem}; "${path}" is ${format}`)
  }
  if (values.binary !== undefined) parseChoice('--binary', values.binary, ['text'])
  if (values.binary !== undefined && format !== 'parquet') {
    throw new ProgramFailure('usage', `--binary is only for parquet; "${path}" is ${format}`)
  }
  const file = { path, format, dialect, encoding, detects: values.dialect !== 'plain' }
  if (format === 'parquet') checkParquet(file)
  return {
    ...file,
    ...(values.at !== undefined && { at: values.at }),
    ...(nested && { nested }),
    ...(values.binary && { binary: 'text' }),
  }
}

/** Refuses Parquet from a pipe, because its index is at the end, or packed as a whole. @throws {ProgramFailure} */
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

function parseImportTarget(values: TargetValues, paths: readonly string[]): GivenTarget {
  const { table: given, 'table-id': tableId } = values
  const mode = values.mode === undefined ? undefined : parseChoice('--mode', values.mode, MODES)
  if (given !== undefined && tableId !== undefined) {
    throw new ProgramFailure('usage', 'Specify either --table or --table-id')
  }
  const table = given ?? (tableId === undefined ? tableNameOf(paths) : undefined)
  return targetIn(mode ?? (tableId === undefined ? 'create' : undefined), { ...values, table })
}

/** The name of the file without extensions. @throws {ProgramFailure} unless exactly one file has a name */
function tableNameOf(paths: readonly string[]): string {
  const [path = STANDARD_INPUT, ...others] = paths
  if (path === STANDARD_INPUT || others.length > 0) {
    const which = others.length > 0 ? 'Several files need' : 'The standard input needs'
    throw new ProgramFailure('usage', `${which} --table or --table-id`)
  }
  const name = basename(path).replace(/(?<=.)\.(?:gz|zst)$/i, '')
  return name.replace(/(?<=.)\.[^.]+$/, '')
}

const MODES = ['create', 'add', 'overwrite', 'merge'] as const

type Mode = (typeof MODES)[number]

/** The target of a mode, with the options that belong to it. */
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

/** The library's names, by those of the command line. */
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
