// The arguments of `rowstash import`.
import { parseArgs } from 'node:util'
import type { OnSchemaError } from '../../src/client/client.js'
import { isJson, SOURCE_FORMATS, type SourceFormat } from '../base/records.js'
import { type CommandIo, HELP_OPTION, parseIntegerOption } from './cli-command.js'
import { type GivenServer, parseServerOrDirectory, SERVER_OPTIONS } from './cli-server-options.js'
import { parseDelimiter } from './csv-fields.js'
import { compressionOf, STANDARD_INPUT } from './import-bytes.js'
import type { FileImport } from './import-files.js'
import { formatOfPath, type SourceFile } from './import-source.js'
import { ProgramFailure } from './program-failure.js'

const CHUNK_ROWS_DEFAULT = '1000'
const CHUNK_ROWS_MAX = 65_536
const PARALLEL_DEFAULT = '8'
const PARALLEL_MAX = 64

export type TableName = Readonly<{ name: string } | { tableId: string }>

/** What is done with a table, and with which. */
export type GivenTarget = Readonly<
  | { mode: 'create'; name: string }
  | { mode: 'add' | 'overwrite'; table: TableName }
  | { mode: 'merge'; table: TableName; key: readonly string[]; missing: 'keep' | 'delete' }
>

export type ImportCommand = Pick<
  FileImport,
  'files' | 'chunkRowsMax' | 'parallel' | 'onSchemaError'
> &
  Readonly<{
    place: GivenServer | Readonly<{ directory: string; team: string }>
    target: GivenTarget
    /** The file with the schema of the table. */
    schemaPath: string | undefined
    isCheck: boolean
    isResumable: boolean
    isJson: boolean
  }>

/** @throws {ProgramFailure} */
export function parseImportArgs(
  args: readonly string[],
  env: CommandIo['env'],
): ImportCommand | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      directory: { type: 'string' },
      team: { type: 'string' },
      ...SERVER_OPTIONS,
      table: { type: 'string' },
      'table-id': { type: 'string' },
      mode: { type: 'string' },
      by: { type: 'string', multiple: true },
      missing: { type: 'string' },
      schema: { type: 'string' },
      'on-error': { type: 'string' },
      format: { type: 'string' },
      delimiter: { type: 'string' },
      encoding: { type: 'string' },
      'chunk-rows': { type: 'string', default: CHUNK_ROWS_DEFAULT },
      parallel: { type: 'string', default: PARALLEL_DEFAULT },
      check: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: HELP_OPTION,
    },
  })
  if (values.help) return 'help'
  if (positionals.length === 0) throw new ProgramFailure('usage', 'Name at least one file')
  const given = {
    format: values.format === undefined ? undefined : parseFormat(values.format),
    delimiter: values.delimiter,
    encoding: parseEncoding(values.encoding),
  }
  const target = parseTarget(values)
  const { schema: schemaPath } = values
  if (schemaPath !== undefined && target.mode !== 'create' && target.mode !== 'overwrite') {
    throw new ProgramFailure('usage', '--schema goes with --mode create and overwrite')
  }
  if (values.check && values.resume) {
    throw new ProgramFailure('usage', '--check does not go with --resume')
  }
  const onSchemaError = parseOnError(values['on-error'])
  return {
    files: positionals.map((path) => parseFile(path, given)),
    place: parseServerOrDirectory(values, env),
    isCheck: values.check,
    isResumable: values.resume,
    isJson: values.json,
    target,
    schemaPath,
    ...(onSchemaError !== undefined && { onSchemaError }),
    chunkRowsMax: parseIntegerOption('--chunk-rows', values['chunk-rows'], 1, CHUNK_ROWS_MAX),
    parallel: parseIntegerOption('--parallel', values.parallel, 1, PARALLEL_MAX),
  }
}

function parseFormat(text: string): SourceFormat {
  const format = SOURCE_FORMATS.find((known) => known === text)
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `--format must be one of ${SOURCE_FORMATS.join(', ')}, not "${text}"`,
  )
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
  format: SourceFormat | undefined
  delimiter: string | undefined
  encoding: string | undefined
}>

function parseFile(path: string, given: GivenFormat): SourceFile {
  const { delimiter: delimiterText, encoding } = given
  if (path === STANDARD_INPUT && given.format === undefined) {
    throw new ProgramFailure('usage', 'The standard input needs --format')
  }
  const format = given.format ?? formatOfPath(path)
  const compression = compressionOf(path)
  const file = { path, format, ...(compression && { compression }), ...(encoding && { encoding }) }
  if (delimiterText === undefined) return file
  if (isJson(format)) {
    throw new ProgramFailure('usage', `--delimiter goes with csv and tsv; "${path}" is ${format}`)
  }
  const delimiter = parseDelimiter(delimiterText)
  if (delimiter !== undefined) return { ...file, delimiter }
  throw new ProgramFailure(
    'usage',
    `--delimiter must be one ASCII character, comma, semicolon, tab or pipe, not "${delimiterText}"`,
  )
}

type TargetValues = Readonly<{
  table?: string | undefined
  'table-id'?: string | undefined
  mode?: string | undefined
  by?: string[] | undefined
  missing?: string | undefined
}>

function parseTarget(values: TargetValues): GivenTarget {
  const { table: name, 'table-id': tableId, by, missing = 'keep' } = values
  if ((name === undefined) === (tableId === undefined)) {
    throw new ProgramFailure('usage', 'Give either --table or --table-id')
  }
  const mode = values.mode ?? (tableId === undefined ? 'create' : undefined)
  if (mode !== 'merge' && (by !== undefined || values.missing !== undefined)) {
    throw new ProgramFailure('usage', '--by and --missing go with --mode merge')
  }
  const table = tableId === undefined ? { name: name ?? '' } : { tableId }
  switch (mode) {
    case 'create':
      if (name !== undefined) return { mode, name }
      throw new ProgramFailure('usage', '--mode create goes with --table')
    case 'add':
    case 'overwrite':
      return { mode, table }
    case 'merge':
      if (by === undefined) throw new ProgramFailure('usage', '--mode merge needs --by COLUMN')
      if (missing === 'keep' || missing === 'delete') return { mode, table, key: by, missing }
      throw new ProgramFailure('usage', `--missing must be keep or delete, not "${missing}"`)
    case undefined:
      throw new ProgramFailure('usage', '--table-id needs --mode add, overwrite or merge')
    default:
      throw new ProgramFailure(
        'usage',
        `--mode must be create, add, overwrite or merge, not "${mode}"`,
      )
  }
}

const ON_ERROR: ReadonlyMap<string, OnSchemaError> = new Map([
  ['abort', 'abort'],
  ['drop', 'dropColumns'],
  ['update', 'updateSchema'],
])

function parseOnError(text: string | undefined): OnSchemaError | undefined {
  if (text === undefined) return undefined
  const found = ON_ERROR.get(text)
  if (found !== undefined) return found
  throw new ProgramFailure('usage', `--on-error must be abort, drop or update, not "${text}"`)
}
