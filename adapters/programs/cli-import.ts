import { stat } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isJson, SOURCE_FORMATS, type SourceFormat } from '../base/records.js'
import {
  type CommandIo,
  EXIT_CODE,
  HELP_OPTION,
  parseIntegerOption,
  TEAM_DEFAULT,
} from './cli-command.js'
import { reportNewTable, reportProblems } from './cli-import-report.js'
import { parseDelimiter, renderDelimiter } from './csv-fields.js'
import {
  checkFiles,
  type FileImport,
  type ImportTarget,
  importFiles,
  type MergeTarget,
} from './import-files.js'
import { ImportSample } from './import-sample.js'
import { formatOfPath, type SourceFile } from './import-source.js'
import { checkKey, KEY_VARIABLE, readKeyFile } from './key-file.js'
import { ProgramFailure } from './program-failure.js'
import { openProgress, type ProgressOutput } from './progress.js'
import { withServedDirectory } from './served-directory.js'

export const IMPORT_USAGE = `Usage: rowstash import FILE... --directory DIR --table NAME
       rowstash import FILE... --url URL --key KEY --table NAME
       rowstash import FILE... --url URL --key KEY --table-id ID --mode add|overwrite
       rowstash import FILE... --url URL --key KEY --table-id ID --mode merge --by COLUMN...

Imports files into one table, all rows at once: into a new table, or into one that is there.
With --check, only lists the values that do not fit: with file, line, column and rule.

  --directory DIR   the directory of a store, which is made if there is none; nobody else may have
                    it open meanwhile
  --team TEAM       with --directory, the team that gets the table (default: default)
  --url URL         where the server is instead, such as http://localhost:8080
  --key KEY         the API key (default: the environment variable ROWSTASH_KEY)
  --key-file FILE   a file that holds the API key; refused if other users can read it
  --table NAME      the name of the new table
  --table-id ID     the table to change instead
  --mode MODE       what to do with it: add, overwrite or merge
  --by COLUMN       the key column of a merge: a row with a key that the table has changes that row,
                    others are added; several columns are several --by
  --missing DO      what a merge does with rows of the table that the files do not have: keep
                    (default) or delete
  --format FORMAT   csv, tsv, json or ndjson (default: by the file's extension
                    .csv, .tsv, .tab, .json, .ndjson or .jsonl)
  --delimiter D     what separates the fields of csv and tsv: one ASCII character, or comma,
                    semicolon, tab or pipe (default: comma for csv, tab for tsv; a csv file whose
                    header has no comma is read with the ; tab or | that its header has)
  --check           check the rows and change no table; exit code 1 if there are problems
  --chunk-rows N    rows of one request (default: 1000)
  --parallel N      requests at the same time (default: 8)
  -h, --help        show this text

JSON is an array of rows, NDJSON one row a line. The first line of CSV and TSV names the
columns, in each file. Several files make one table; their columns are matched by name.
A new table takes all values except JSON objects and numbers out of range, so --check is of
most use with --table-id. It lists 1,000 problems and counts the others. Exit code 1: nothing was
imported; 2: a wrong call.
`

const CHUNK_ROWS_DEFAULT = '1000'
const CHUNK_ROWS_MAX = 65_536
const PARALLEL_DEFAULT = '8'
const PARALLEL_MAX = 64

/** Shortest time between two notes about repeated requests, in milliseconds. */
const RETRY_NOTE_MS = 2_000

/** Runs `rowstash import`. @returns the exit code. @throws {ProgramFailure} */
export async function runImport(
  args: readonly string[],
  io: CommandIo,
  progressOutput: ProgressOutput,
): Promise<number> {
  const command = parseImportArgs(args, io.env)
  if (command === 'help') {
    io.print(IMPORT_USAGE.trimEnd())
    return EXIT_CODE.done
  }
  if ('directory' in command.server) {
    const { directory, team } = command.server
    return withServedDirectory(directory, team, (server) => {
      return importInto({ ...command, ...server }, io, progressOutput)
    })
  }
  const { url, key: given } = command.server
  const key = typeof given === 'string' ? given : await readSingleKey(given)
  return importInto({ ...command, url, key }, io, progressOutput)
}

async function importInto(
  command: Omit<ImportCommand, 'server'> & Readonly<{ url: string; key: string }>,
  io: CommandIo,
  progressOutput: ProgressOutput,
): Promise<number> {
  const progress = openProgress(progressOutput, await bytesOf(command.files))
  let notedMs = Number.NEGATIVE_INFINITY
  try {
    const isNew = 'name' in command.target && !command.isCheck
    const sample = isNew ? new ImportSample() : undefined
    const given: FileImport = {
      ...command,
      signal: io.signal,
      ...(sample !== undefined && { sample }),
      onChunk: (rows, bytes) => progress.add(rows, bytes),
      onRetry: (reason, pauseMs) => {
        const nowMs = performance.now()
        if (nowMs - notedMs < RETRY_NOTE_MS) return
        notedMs = nowMs
        progress.note(pauseMs > 0 ? `${reason}; trying again` : reason)
      },
      onDelimiter: (path, delimiter) => {
        const found = renderDelimiter(delimiter)
        progress.note(`${path}: read with the delimiter ${found}, as its header has no comma`)
      },
    }
    if (command.isCheck) {
      const checked = await checkFiles(given)
      progress.close()
      reportProblems(io, checked)
      return checked.problemCount === 0 ? EXIT_CODE.done : EXIT_CODE.misfits
    }
    const { tableId, rowCount, seconds, counts } = await importFiles(given)
    progress.close()
    if (counts.size === 0) io.print(`rows: ${rowCount}`)
    for (const [name, count] of counts) io.print(`${name}: ${count}`)
    io.print(`seconds: ${seconds.toFixed(2)}`)
    if (counts.size === 0) io.print(`rows/s: ${Math.round(rowCount / seconds)}`)
    io.print(`table: ${tableId}`)
    if (sample !== undefined) await reportNewTable(io, given, tableId, sample)
    return EXIT_CODE.done
  } finally {
    progress.close()
  }
}

type KeyFile = Readonly<{ path: string }>

/** Where the table is: at a server, or in a directory. */
type ImportServer =
  | Readonly<{ url: string; key: string | KeyFile }>
  | Readonly<{ directory: string; team: string }>

type ImportCommand = Omit<FileImport, 'signal' | 'url' | 'key'> &
  Readonly<{ server: ImportServer; isCheck: boolean }>

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
      url: { type: 'string' },
      key: { type: 'string' },
      'key-file': { type: 'string' },
      table: { type: 'string' },
      'table-id': { type: 'string' },
      mode: { type: 'string' },
      by: { type: 'string', multiple: true },
      missing: { type: 'string' },
      format: { type: 'string' },
      delimiter: { type: 'string' },
      'chunk-rows': { type: 'string', default: CHUNK_ROWS_DEFAULT },
      parallel: { type: 'string', default: PARALLEL_DEFAULT },
      check: { type: 'boolean', default: false },
      help: HELP_OPTION,
    },
  })
  if (values.help) return 'help'
  if (positionals.length === 0) throw new ProgramFailure('usage', 'Name at least one file')
  const format = values.format === undefined ? undefined : parseFormat(values.format)
  return {
    files: positionals.map((path) =>
      parseFile(path, format ?? formatOfPath(path), values.delimiter),
    ),
    server: parseServer(values, env),
    isCheck: values.check,
    target: parseTarget(values.table, values['table-id'], values.mode, {
      by: values.by,
      missing: values.missing,
    }),
    chunkRowsMax: parseIntegerOption('--chunk-rows', values['chunk-rows'], 1, CHUNK_ROWS_MAX),
    parallel: parseIntegerOption('--parallel', values.parallel, 1, PARALLEL_MAX),
  }
}

type ServerValues = Readonly<
  Partial<Record<'directory' | 'team' | 'url' | 'key' | 'key-file', string | undefined>>
>

function parseServer(values: ServerValues, env: CommandIo['env']): ImportServer {
  const { directory, team, url, key } = values
  const keyFile = values['key-file']
  if (directory === undefined) {
    if (team !== undefined) throw new ProgramFailure('usage', '--team goes with --directory')
    if (url === undefined) throw new ProgramFailure('usage', 'Give --directory or --url')
    return { url, key: parseKeySource(key, keyFile, env[KEY_VARIABLE]) }
  }
  const isServer = url !== undefined || key !== undefined || keyFile !== undefined
  if (!isServer) return { directory, team: team ?? TEAM_DEFAULT }
  throw new ProgramFailure('usage', '--directory does not go with --url, --key and --key-file')
}

function parseKeySource(
  given: string | undefined,
  keyFile: string | undefined,
  fromEnvironment: string | undefined,
): string | KeyFile {
  if (keyFile !== undefined) {
    if (given === undefined) return { path: keyFile }
    throw new ProgramFailure('usage', 'Give --key or --key-file, not both')
  }
  const key = given ?? fromEnvironment
  if (key === undefined) {
    throw new ProgramFailure('usage', `Give --key or --key-file, or set ${KEY_VARIABLE}`)
  }
  checkKey(given === undefined ? KEY_VARIABLE : '--key', key)
  return key
}

async function readSingleKey({ path }: KeyFile): Promise<string> {
  const [key = '', ...more] = await readKeyFile(path)
  if (more.length > 0)
    throw new ProgramFailure('failed', `The key file ${path} holds more than one key`)
  checkKey(path, key)
  return key
}

function parseFormat(text: string): SourceFormat {
  const format = SOURCE_FORMATS.find((known) => known === text)
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `--format must be one of ${SOURCE_FORMATS.join(', ')}, not "${text}"`,
  )
}

function parseFile(path: string, format: SourceFormat, delimiterText?: string): SourceFile {
  if (delimiterText === undefined) return { path, format }
  if (isJson(format)) {
    throw new ProgramFailure('usage', `--delimiter goes with csv and tsv; "${path}" is ${format}`)
  }
  const delimiter = parseDelimiter(delimiterText)
  if (delimiter !== undefined) return { path, format, delimiter }
  throw new ProgramFailure(
    'usage',
    `--delimiter must be one ASCII character, comma, semicolon, tab or pipe, not "${delimiterText}"`,
  )
}

function parseTarget(
  name: string | undefined,
  tableId: string | undefined,
  mode: string | undefined,
  merge: MergeOptions,
): ImportTarget {
  if (mode === 'merge' && tableId !== undefined && name === undefined) {
    return parseMerge(tableId, merge)
  }
  if (merge.by !== undefined || merge.missing !== undefined) {
    throw new ProgramFailure('usage', '--by and --missing go with --table-id and --mode merge')
  }
  if ((name === undefined) === (tableId === undefined)) {
    throw new ProgramFailure('usage', 'Give either --table or --table-id')
  }
  if (tableId === undefined) {
    if (mode !== undefined) throw new ProgramFailure('usage', '--mode goes with --table-id')
    return { name: name ?? '' }
  }
  if (mode === 'add' || mode === 'overwrite') return { tableId, mode }
  throw new ProgramFailure('usage', '--table-id needs --mode add, overwrite or merge')
}

type MergeOptions = Readonly<{ by: readonly string[] | undefined; missing: string | undefined }>

function parseMerge(tableId: string, { by, missing = 'keep' }: MergeOptions): MergeTarget {
  if (by === undefined) throw new ProgramFailure('usage', '--mode merge needs --by COLUMN')
  if (missing === 'keep' || missing === 'delete') {
    return { tableId, mode: 'merge', key: by, missing }
  }
  throw new ProgramFailure('usage', `--missing must be keep or delete, not "${missing}"`)
}

async function bytesOf(files: ImportCommand['files']): Promise<number> {
  let bytes = 0
  for (const { path } of files) {
    try {
      bytes += (await stat(path)).size
    } catch (failure) {
      throw new ProgramFailure('failed', `There is no file ${path} to read`, { cause: failure })
    }
  }
  return bytes
}
