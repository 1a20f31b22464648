// The output of the programs to a terminal, a file or a pipe.
//
// Invariants:
// - No text of a server or of the data can control the terminal: only `shownLine` decides what is shown.
// - A line stays one line: no name, value or message can begin another.
// - Rows that go to a file or a pipe keep their bytes.
import { Writable } from 'node:stream'
import { escapeControls } from '../../base/arguments.js'

/** The required part of a stream of the process. */
export type OutputStream = NodeJS.WritableStream & Readonly<{ isTTY?: boolean }>

/** The output of a process. */
export type Terminal = Readonly<{
  /** Writes a line to stdout. */
  print(line: string): void
  /** Writes rows to stdout, and a line break. */
  printRows(text: string): void
  /** Writes a line to stderr. */
  warn(line: string): void
  /** Whether stdout is a terminal. */
  isTerminal: boolean
  /** The target of rows in bulk: stdout, or a stream that escapes them for a terminal. */
  rows: OutputStream
  /** The target of the progress that `openProgress` draws. */
  progress: OutputStream
}>

/**
 * A text as one line of a terminal or a log. Characters that could control either, or be misread, become JSON escapes,
 * so that JSON keeps its meaning. Tabs stay: they separate fields.
 */
export function shownLine(text: string): string {
  return text.split('\t').map(escapeControls).join('\t')
}

/** Rows as text for a terminal: like `shownLine`, but line breaks stay too. */
function shownRows(text: string): string {
  return text.split('\n').map(shownLine).join('\n')
}

/** Opens the output of a process. @param stdout - The stdout of the process. @param stderr - Its stderr. */
export function openTerminal(stdout: OutputStream, stderr: OutputStream): Terminal {
  const isTerminal = stdout.isTTY === true
  const rows = isTerminal ? rowsOnTerminal(stdout) : stdout
  return {
    print: (line) => stdout.write(`${shownLine(line)}\n`),
    printRows: (text) => rows.write(`${text}\n`),
    warn: (line) => stderr.write(`${shownLine(line)}\n`),
    isTerminal,
    rows,
    progress: stderr,
  }
}

/** Writes a text of several lines with a function that writes one line. */
export function printLines(print: (line: string) => void, text: string): void {
  for (const line of text.split('\n')) print(line)
}

function rowsOnTerminal(terminal: OutputStream): OutputStream {
  const decoder = new TextDecoder()
  const shown = new Writable({
    write(piece: Uint8Array, _, done) {
      terminal.write(shownRows(decoder.decode(piece, { stream: true })), done)
    },
  })
  shown.on('error', () => undefined) // The terminal itself reports it.
  return Object.assign(shown, { isTTY: true })
}
