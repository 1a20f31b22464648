// All that the programs write to their terminal, or to the file or pipe in its place.
//
// Invariants:
// - Nothing of a server or of the data acts on a terminal: `shownLine` alone decides what of a text is shown there.
// - A line is a line: no name, value or message begins another one.
// - Rows that go to a file or a pipe keep their bytes.
import { Writable } from 'node:stream'
import { escapeControls } from '../../base/arguments.js'

/** The part of a stream of the process that is needed here. */
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
  /** Takes rows in bulk: stdout, or what escapes them for a terminal. */
  rows: OutputStream
  /** Takes the progress of a command, which `openProgress` draws. */
  progress: OutputStream
}>

/**
 * A text as a line of a terminal or of a log. What could act on either, or be read otherwise than it is, becomes the
 * escape that JSON has for it, so that a line of JSON keeps its meaning. Tabs stay: they separate fields.
 */
export function shownLine(text: string): string {
  return text.split('\t').map(escapeControls).join('\t')
}

/** Rows, whose line breaks stay too. */
function shownRows(text: string): string {
  return text.split('\n').map(shownLine).join('\n')
}

/** @param stdout - And stderr: of the process. */
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

/** Writes a text of several lines, by a function that takes one. */
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
  shown.on('error', () => undefined) // The terminal itself tells of it.
  return Object.assign(shown, { isTTY: true })
}
