#!/usr/bin/env node
import { isStoreError } from '../../src/index.js'
import { didYouMean, escapeControls } from '../base/arguments.js'
import { PACKAGE_VERSION } from '../directory/directory-format.js'
import {
  argumentProblem,
  isArgumentError,
  withDirectoryOption,
  withHelp,
} from './argument-problem.js'
import { type CommandIo, EXIT_CODE } from './cli-command.js'
import { COMMANDS, type Command } from './cli-commands.js'
import { askedHelp, renderCommands, renderHelp } from './command-spec.js'
import { ProgramFailure } from './program-failure.js'

/** What a command line without a command asks for; undefined: nothing that there is. */
function renderAnswer([name, of, extent]: readonly string[]): string | undefined {
  if (name === '--version') return PACKAGE_VERSION
  if (name !== '--help' && name !== '-h' && name !== 'help') return undefined
  const found = COMMANDS.find(({ spec }) => spec.name === of)
  if (found !== undefined) return renderHelp(found.spec, extent === 'all' ? 'all' : 'short')
  return renderCommands(COMMANDS.map(({ spec }) => spec))
}

function unknownCommand(name: string): string {
  const names = COMMANDS.map(({ spec }) => spec.name)
  return `No command "${escapeControls(name)}"${didYouMean(name, names)}`
}

/** Runs a command line. @returns the exit code. */
async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args
  const command = COMMANDS.find(({ spec }) => spec.name === name)
  try {
    if (command === undefined) {
      if (name === undefined) {
        io.warn(renderCommands(COMMANDS.map(({ spec }) => spec)))
        return EXIT_CODE.usage
      }
      const answer = renderAnswer(args)
      if (answer === undefined) throw new ProgramFailure('usage', unknownCommand(name))
      io.print(answer)
      return EXIT_CODE.done
    }
    const extent = askedHelp(rest)
    if (extent !== undefined) {
      io.print(renderHelp(command.spec, extent))
      return EXIT_CODE.done
    }
    const exitCode = await command.run(withDirectoryOption(command.spec, rest), io)
    return typeof exitCode === 'number' ? exitCode : EXIT_CODE.done
  } catch (failure) {
    const help = command === undefined ? 'rowstash --help' : `rowstash ${name} --help`
    const isInterrupted = io.signal.aborted && !isOfStore(failure)
    return reportFailure(
      isInterrupted ? io.signal.reason : failure,
      { help, command, args: rest },
      io,
    )
  }
}

/** Whether a store failed. Other failures of an interrupted command are consequences of the interruption. */
function isOfStore(failure: unknown): boolean {
  return isStoreError(failure) && failure.code !== 'ABORTED'
}

/** Shows failures that the user can act on as one line, and faults of this program with their stack. */
function reportFailure(
  failure: unknown,
  {
    help,
    command,
    args,
  }: Readonly<{
    help: string
    command: Command | undefined
    args: readonly string[]
  }>,
  io: CommandIo,
): number {
  if (failure instanceof ProgramFailure) {
    const { kind, message } = failure
    const line = kind === 'usage' ? withHelp(message, help) : message
    if (message !== '') io.warn(`rowstash: ${line}`)
    return EXIT_CODE[kind]
  }
  if (isArgumentError(failure)) {
    const problem = argumentProblem(failure, command?.spec.options ?? {}, args)
    io.warn(`rowstash: ${withHelp(problem, help)}`)
    return EXIT_CODE.usage
  }
  if (isStoreError(failure)) io.warn(`rowstash: ${failure.message}`)
  else io.warn(failure instanceof Error ? (failure.stack ?? failure.message) : String(failure))
  return EXIT_CODE.failed
}

/** Time for the output of an interrupted command, in milliseconds. Work that goes on then is cut off. */
const OUTPUT_MS = 200

/** Runs the command line of this process. @returns the exit code. */
async function runProcess(): Promise<number> {
  const ended = new AbortController()
  // Once each: a second Ctrl-C ends the process at once.
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => ended.abort(new ProgramFailure(name, `Stopped by ${name}`)))
  }
  const output = watchOutput(ended)
  const code = await main(process.argv.slice(2), {
    print: (line) => process.stdout.write(`${line}\n`),
    warn: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stdout.isTTY,
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
