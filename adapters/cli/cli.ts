#!/usr/bin/env node
import { EXIT_CODE } from './command/command.js'
import { ProgramFailure } from './command/program-failure.js'
import { openTerminal, type Terminal } from './command/terminal.js'
import { runCommandLine } from './run-command.js'

/** Time to write the output of an interrupted command, in milliseconds. Work that takes longer is cut off. */
const OUTPUT_MS = 200

const AWAKE_MS = 60_000

/** Runs the command line of this process. @returns the exit code. */
async function runProcess(): Promise<number> {
  const ended = new AbortController()
  // Once per signal: a second Ctrl-C ends the process at once.
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => ended.abort(new ProgramFailure(name, `Stopped by ${name}`)))
  }
  const terminal = openTerminal(process.stdout, process.stderr)
  const output = watchOutput(ended, terminal)
  const io = { ...terminal, env: process.env, signal: ended.signal }
  // Node's fetch may wait without a timer or socket that keeps the process alive.
  const awake = setInterval(() => undefined, AWAKE_MS)
  const code = await runCommandLine(process.argv.slice(2), io).finally(() => clearInterval(awake))
  if (ended.signal.aborted) setTimeout(() => process.exit(), OUTPUT_MS).unref()
  return output.exitCode ?? code
}

/** `exitCode`: undefined until the output cannot be written, which may happen even after the command has ended. */
type Output = { exitCode: number | undefined }

/** If the reader of the output stops, as `head` does, the command stops silently. */
function watchOutput(ended: AbortController, { warn }: Terminal): Output {
  const output: Output = { exitCode: undefined }
  process.stdout.on('error', (failure: NodeJS.ErrnoException) => {
    if (output.exitCode !== undefined) return
    const kind = failure.code === 'EPIPE' ? 'SIGPIPE' : 'failed'
    if (kind === 'failed') warn(`rowstash: The output cannot be written: ${failure.message}`)
    output.exitCode = EXIT_CODE[kind]
    process.exitCode = output.exitCode
    ended.abort(new ProgramFailure(kind, ''))
  })
  // A failure to write to stderr cannot be reported anywhere.
  process.stderr.on('error', () => undefined)
  return output
}

// Files are private to their user, including those that LevelDB writes itself.
process.umask(0o077)

process.exitCode = await runProcess()
