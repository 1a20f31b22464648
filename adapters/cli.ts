#!/usr/bin/env node
import { isStoreError } from '../src/index.js'
import { BACKUP_USAGE, RESTORE_USAGE, runBackup, runRestore } from './cli-backup.js'
import { CommandFailure, type CommandIo } from './cli-failure.js'
import { IMPORT_USAGE, runImport } from './cli-import.js'
import { runServe, SERVE_USAGE } from './cli-serve.js'
import { runVerify, VERIFY_USAGE } from './cli-verify.js'
import { PACKAGE_VERSION } from './directory-format.js'

const USAGE = `Usage: rowstash serve [--directory DIR | --memory] [options]
       rowstash import FILE... --url URL --key KEY --table NAME [options]
       rowstash verify DIR [--full] [--json]
       rowstash backup DIR FILE [--files include|reference]
       rowstash restore FILE NEWDIR [--files-from DIR]
       rowstash --version

Each command tells more with --help.
`

/** Runs a command line. @returns the exit code. */
async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args
  try {
    if (name === 'serve') await runServe(rest, io)
    else if (name === 'import') await runImport(rest, io, process.stderr)
    else if (name === 'verify') return await runVerify(rest, io)
    else if (name === 'backup') await runBackup(rest, io)
    else if (name === 'restore') await runRestore(rest, io)
    else if (name === '--help' || name === 'help') io.print(USAGE.trimEnd())
    else if (name === '--version') io.print(PACKAGE_VERSION)
    else throw new CommandFailure(2, name === undefined ? 'Name a command' : `No command "${name}"`)
    return 0
  } catch (failure) {
    return reportFailure(failure, name, io)
  }
}

const USAGE_OF_COMMAND: ReadonlyMap<string | undefined, string> = new Map([
  ['serve', SERVE_USAGE],
  ['import', IMPORT_USAGE],
  ['verify', VERIFY_USAGE],
  ['backup', BACKUP_USAGE],
  ['restore', RESTORE_USAGE],
])

/** What the user can act on is shown as its message; a fault of this program with its stack. */
function reportFailure(failure: unknown, command: string | undefined, io: CommandIo): number {
  if (failure instanceof CommandFailure && failure.exitCode === 1) {
    io.warn(`rowstash: ${failure.message}`)
    return 1
  }
  if (failure instanceof CommandFailure || isArgumentError(failure)) {
    io.warn(`rowstash: ${failure.message}\n`)
    io.warn((USAGE_OF_COMMAND.get(command) ?? USAGE).trimEnd())
    return 2
  }
  if (isStoreError(failure)) io.warn(`rowstash: ${failure.message}`)
  else io.warn(failure instanceof Error ? (failure.stack ?? failure.message) : String(failure))
  return 1
}

/** How util.parseArgs fails: errors whose code begins so. */
function isArgumentError(failure: unknown): failure is Error {
  return (
    failure instanceof Error &&
    'code' in failure &&
    String(failure.code).startsWith('ERR_PARSE_ARGS_')
  )
}

const ended = new AbortController()
// Once each: a second Ctrl-C ends the process at once.
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => ended.abort(new CommandFailure(1, `Ended by ${name}`)))
}

process.exitCode = await main(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  warn: (line) => process.stderr.write(`${line}\n`),
  env: process.env,
  signal: ended.signal,
})
