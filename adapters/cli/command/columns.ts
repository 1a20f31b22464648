// Lines of fields: separated by tabs for programs, in columns for people.
import { escapeControls } from '../../base/arguments.js'
import type { CommandIo } from './command.js'

/** The lines with their fields aligned in columns. */
export function alignColumns(lines: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const line of lines) {
    for (const [place, field] of line.entries()) {
      widths[place] = Math.max(widths[place] ?? 0, field.length)
    }
  }
  return lines.map((line) => {
    return line
      .map((field, place) => field.padEnd(widths[place] ?? 0))
      .join('  ')
      .trimEnd()
  })
}

/**
 * Prints lines of fields: in columns to a terminal, otherwise separated by tabs.
 * @param header - Names of the fields, printed only to a terminal.
 */
export function printFields(
  { print, isTerminal }: Pick<CommandIo, 'print' | 'isTerminal'>,
  lines: readonly (readonly string[])[],
  header?: readonly string[],
): void {
  const fields = lines.map((line) => line.map(escapeControls))
  const shown =
    isTerminal === true
      ? alignColumns(header === undefined ? fields : [header, ...fields])
      : fields.map((line) => line.join('\t'))
  for (const line of shown) print(line)
}
