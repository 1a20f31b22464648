// Shared parts of all commands: their environment, their exit codes, and common options.
import { didYouMean, either } from '../../base/arguments.js'
import { type FailureKind, ProgramFailure } from './program-failure.js'

/** The exit codes of all commands. After a signal: 128 plus its number, as in shells. */
export const EXIT_CODE = {
  done: 0,
  failed: 1,
  /** `verify` found damage. */
  damaged: 1,
  /** `import --check` found values that do not fit. */
  misfits: 1,
  usage: 2,
  /** `verify` could not open the directory. */
  notOpened: 2,
  SIGINT: 130,
  SIGPIPE: 141,
  SIGTERM: 143,
} as const satisfies Record<FailureKind | 'done' | 'damaged' | 'misfits' | 'notOpened', number>

/** The environment of a command. Tests pass their own, to run a command in their process. See `openTerminal`. */
export type CommandIo = Readonly<{
  /** Writes a line to stdout, for scripts. */
  print(line: string): void
  /** Writes rows to stdout; a file or a pipe gets them unchanged. Default: `print`. */
  printRows?(text: string): void
  /** Writes a line to stderr, for people. */
  warn(line: string): void
  /** Whether the output is a terminal. Default: false. */
  isTerminal?: boolean
  env: Readonly<Record<string, string | undefined>>
  /** Ends the command early, as Ctrl-C does. */
  signal: AbortSignal
}>

/** A day, in milliseconds. */
export const DAY_MS = 86_400_000

/** The default team of a store. */
export const TEAM_DEFAULT = 'default'

/** Parses an option as an integer from `min` to `max`. @throws {ProgramFailure} */
export function parseIntegerOption(option: string, text: string, min: number, max: number): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  const problem = `${option} must be an integer from ${min} to ${max}, not "${text}"`
  throw new ProgramFailure('usage', problem)
}

/** Parses an option as one of several words. @throws {ProgramFailure} */
export function parseChoice<Word extends string>(
  option: string,
  text: string,
  words: readonly Word[],
): Word {
  const word = words.find((known) => known === text)
  if (word !== undefined) return word
  const problem = `${option} must be ${either(words)}, not "${text}"${didYouMean(text, words)}`
  throw new ProgramFailure('usage', problem)
}

/** Resolves when the signal is aborted. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
}

/** Prints a result as a line of JSON, or as text for people. */
export function printResult(
  { print }: CommandIo,
  json: boolean,
  result: object,
  text: string,
): void {
  print(json ? JSON.stringify(result) : text)
}
