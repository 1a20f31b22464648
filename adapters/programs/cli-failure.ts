/**
 * How a command ends early. 1: it could not do its work. 2: the command line is wrong. 128 and a number: a
 * signal of that number ended it, as a shell says it.
 */
export type FailureCode = 1 | 2 | (typeof SIGNAL_CODE)[keyof typeof SIGNAL_CODE]

export const SIGNAL_CODE = { SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 } as const

/** A failure that the person at the terminal can act on: shown as one line, without a stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'

  constructor(
    readonly exitCode: FailureCode,
    message: string,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options)
  }
}

/** The environment of a command, so that tests can run it in process. */
export type CommandIo = Readonly<{
  /** Writes a line to stdout: what a script may read. */
  print(line: string): void
  /** Writes a line to stderr: what only a person needs. */
  warn(line: string): void
  env: Readonly<Record<string, string | undefined>>
  /** Ends the command early, as Ctrl-C does. */
  signal: AbortSignal
}>

/** `--help` of every command. */
export const HELP_OPTION = { type: 'boolean', short: 'h' } as const

/** Reads an option's text as an integer from `min` to `max`. */
export function parseIntegerOption(option: string, text: string, min: number, max: number): number {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new CommandFailure(2, `${option} must be an integer from ${min} to ${max}, not "${text}"`)
}
