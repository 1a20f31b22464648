// Runs a command line, and reports its failure.
import { isStoreError } from '../../src/index.js'
import { didYouMean, withNameGiven } from '../base/arguments.js'
import { PACKAGE_VERSION } from '../directory/directory-format.js'
import { COMMANDS, type Command, type ProcessIo } from './all-commands.js'
import {
  argumentProblem,
  isArgumentError,
  withDirectoryOption,
  withHelp,
} from './command/argument-problem.js'
import { EXIT_CODE } from './command/command.js'
import { askedHelp, renderCommands, renderHelp } from './command/command-spec.js'
import { ProgramFailure } from './command/program-failure.js'
import { printLines } from './command/terminal.js'
import { faultText } from './server/failure-log.js'

/** The help or version that a command line without a command requests; undefined: none. */
function renderAnswer([name, of, extent]: readonly string[]): string | undefined {
  if (name === '--version') return PACKAGE_VERSION
  if (name !== '--help' && name !== '-h' && name !== 'help') return undefined
  const found = COMMANDS.find(({ spec }) => spec.name === of)
  if (found !== undefined) return renderHelp(found.spec, extent === 'all' ? 'all' : 'short')
  return renderCommands(COMMANDS.map(({ spec }) => spec))
}

function unknownCommand(name: string): string {
  const names = COMMANDS.map(({ spec }) => spec.name)
  return `No command "${name}"${didYouMean(name, names)}`
}

/** Runs a command line. @returns the exit code. */
export async function runCommandLine(args: readonly string[], io: ProcessIo): Promise<number> {
  const [name, ...rest] = args
  const command = COMMANDS.find(({ spec }) => spec.name === name)
  try {
    if (command === undefined) {
      if (name === undefined) {
        printLines(io.warn, renderCommands(COMMANDS.map(({ spec }) => spec)))
        return EXIT_CODE.usage
      }
      const answer = renderAnswer(args)
      if (answer === undefined) throw new ProgramFailure('usage', unknownCommand(name))
      printLines(io.print, answer)
      return EXIT_CODE.done
    }
    const extent = askedHelp(rest)
    if (extent !== undefined) {
      printLines(io.print, renderHelp(command.spec, extent))
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

/** Whether the store failed. Other failures of an interrupted command only follow from the interruption. */
function isOfStore(failure: unknown): boolean {
  return isStoreError(failure) && failure.code !== 'ABORTED'
}

/** Shows failures that the user can act on as one line, and faults of the program with their stack. */
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
  io: ProcessIo,
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
  if (isStoreError(failure))
    io.warn(`rowstash: ${withNameGiven(failure.message, 'orderBy', '--sort')}`)
  else printLines(io.warn, faultText(failure))
  return EXIT_CODE.failed
}
