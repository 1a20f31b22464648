#!/usr/bin/env node
import { isStoreError } from '../../src/index.js'
import { PACKAGE_VERSION } from '../directory/directory-format.js'
import { BACKUP_USAGE, RESTORE_USAGE, runBackup, runRestore } from './cli-backup.js'
import { type CommandIo, EXIT_CODE } from './cli-command.js'
import { EXPORT_USAGE, runExport } from './cli-export.js'
import { IMPORT_USAGE, runImport } from './cli-import.js'
import { KEYS_USAGE, runKeys } from './cli-keys.js'
import { MOVE_USAGE, runMove } from './cli-move.js'
import { OPEN_USAGE, runOpen } from './cli-open.js'
import { RECOVER_USAGE, runRecover } from './cli-recover.js'
import { ROWS_USAGE, runRows } from './cli-rows.js'
import { runServe, SERVE_USAGE } from './cli-serve.js'
import {
  runSchema,
  runTables,
  runTypes,
  SCHEMA_USAGE,
  TABLES_USAGE,
  TYPES_USAGE,
} from './cli-tables.js'
import { runTwin, TWIN_USAGE } from './cli-twin.js'
import { runVerify, VERIFY_USAGE } from './cli-verify.js'
import { ProgramFailure } from './program-failure.js'

const USAGE = `Usage: rowstash serve [--directory DIR | --memory | --postgres URL [--s3 URL]] [options]
       rowstash open DIR [--write] [--browser]
       rowstash import FILE... --url URL --key KEY --table NAME [options]
       rowstash export FILE --directory DIR|--url URL --table NAME [options]
       rowstash tables|types --directory DIR|--url URL
       rowstash schema|rows --directory DIR|--url URL --table NAME
       rowstash keys add|list|revoke --directory DIR [options]
       rowstash verify DIR [--full] [--json] [--verbose]
       rowstash backup DIR FILE [--files include|reference]
       rowstash restore FILE NEWDIR [--files-from DIR]
       rowstash move --from DIR --to URL [--s3 URL]
       rowstash recover --postgres URL [--yes]
       rowstash twin pull|push --upstream URL --key KEY --directory DIR [options]
       rowstash --version

"rowstash COMMAND --help" describes a command.
`

type Command = Readonly<{
  usage: string
  /** @returns the exit code, if it is another than 0. */
  run(args: readonly string[], io: CommandIo): Promise<unknown>
}>

const COMMANDS: ReadonlyMap<string | undefined, Command> = new Map<string, Command>([
  ['serve', { usage: SERVE_USAGE, run: runServe }],
  ['open', { usage: OPEN_USAGE, run: runOpen }],
  ['import', { usage: IMPORT_USAGE, run: (args, io) => runImport(args, io, process.stderr) }],
  ['export', { usage: EXPORT_USAGE, run: (args, io) => runExport(args, io, process.stdout) }],
  ['tables', { usage: TABLES_USAGE, run: runTables }],
  ['schema', { usage: SCHEMA_USAGE, run: runSchema }],
  ['rows', { usage: ROWS_USAGE, run: runRows }],
  ['types', { usage: TYPES_USAGE, run: runTypes }],
  ['keys', { usage: KEYS_USAGE, run: runKeys }],
  ['verify', { usage: VERIFY_USAGE, run: runVerify }],
  ['backup', { usage: BACKUP_USAGE, run: runBackup }],
  ['restore', { usage: RESTORE_USAGE, run: runRestore }],
  ['move', { usage: MOVE_USAGE, run: runMove }],
  ['twin', { usage: TWIN_USAGE, run: runTwin }],
  ['recover', { usage: RECOVER_USAGE, run: runRecover }],
])

/** Runs a command line. @returns the exit code. */
async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args
  const command = COMMANDS.get(name)
  try {
    if (command !== undefined) {
      const exitCode = await command.run(rest, io)
      return typeof exitCode === 'number' ? exitCode : EXIT_CODE.done
    }
    if (name === '--version') io.print(PACKAGE_VERSION)
    else if (name === '--help' || name === '-h' || name === 'help') {
      io.print((COMMANDS.get(rest[0])?.usage ?? USAGE).trimEnd())
    } else {
      throw new ProgramFailure(
        'usage',
        name === undefined ? 'Name a command' : `No command "${name}"`,
      )
    }
    return EXIT_CODE.done
  } catch (failure) {
    const help = command === undefined ? 'rowstash --help' : `rowstash ${name} --help`
    const isInterrupted = io.signal.aborted && !isOfStore(failure)
    return reportFailure(isInterrupted ? io.signal.reason : failure, help, io)
  }
}

/** Whether a store failed. Other failures of an interrupted command are consequences of the interruption. */
function isOfStore(failure: unknown): boolean {
  return isStoreError(failure) && failure.code !== 'ABORTED'
}

/** Shows failures that the user can act on as one line, and faults of this program with their stack. */
function reportFailure(failure: unknown, help: string, io: CommandIo): number {
  if (failure instanceof ProgramFailure) {
    const { kind, message } = failure
    if (message !== '') io.warn(`rowstash: ${message}${kind === 'usage' ? `; see ${help}` : ''}`)
    return EXIT_CODE[kind]
  }
  if (isArgumentError(failure)) {
    // Text after the first sentence is advice that does not apply here.
    const [problem] = failure.message.split(/\. |\n/)
    io.warn(`rowstash: ${problem}; see ${help}`)
    return EXIT_CODE.usage
  }
  if (isStoreError(failure)) io.warn(`rowstash: ${failure.message}`)
  else io.warn(failure instanceof Error ? (failure.stack ?? failure.message) : String(failure))
  return EXIT_CODE.failed
}

/** Whether a failure is one of util.parseArgs, by the prefix of its code. */
function isArgumentError(failure: unknown): failure is Error {
  return (
    failure instanceof Error &&
    'code' in failure &&
    String(failure.code).startsWith('ERR_PARSE_ARGS_')
  )
}

/** Time for the output of an interrupted command, in milliseconds. Work that goes on then is cut off. */
const OUTPUT_MS = 200

/** Runs the command line of this process. @returns the exit code. */
async function runProcess(): Promise<number> {
  const ended = new AbortController()
  // Once each: a second Ctrl-C ends the process at once.
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => ended.abort(new ProgramFailure(name, `Ended by ${name}`)))
  }
  const output = watchOutput(ended)
  const code = await main(process.argv.slice(2), {
    print: (line) => process.stdout.write(`${line}\n`),
    warn: (line) => process.stderr.write(`${line}\n`),
    env: process.env,
    signal: ended.signal,
  })
  if (ended.signal.aborted) setTimeout(() => process.exit(), OUTPUT_MS).unref()
  return output.exitCode ?? code
}

/** The exit code once the output could not be written, which may show after the command is done. */
type Output = { exitCode: number | undefined }

/** If the reader of the output stops, as `head` does, the command stops too, silently. */
function watchOutput(ended: AbortController): Output {
  const output: Output = { exitCode: undefined }
  process.stdout.on('error', (failure: NodeJS.ErrnoException) => {
    if (output.exitCode !== undefined) return
    const kind = failure.code === 'EPIPE' ? 'SIGPIPE' : 'failed'
    if (kind === 'failed') {
      process.stderr.write(`rowstash: The output cannot be written: ${failure.message}\n`)
    }
    output.exitCode = EXIT_CODE[kind]
    process.exitCode = output.exitCode
    ended.abort(new ProgramFailure(kind, ''))
  })
  // A failure to write to stderr cannot be reported anywhere.
  process.stderr.on('error', () => undefined)
  return output
}

// Files of commands are private to their user, also those that LevelDB writes itself.
process.umask(0o077)

process.exitCode = await runProcess()
