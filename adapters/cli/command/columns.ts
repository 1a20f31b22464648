// Lines of fields: with tabs for programs, as columns for people.
import { escapeControls } from '../../base/arguments.js'
import type { CommandIo } from './command.js'

/** The lines with their fields one below the other. */
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
 * Prints lines of fields: to a terminal as columns, else with tabs between them.
 * @param header - Names of the fields, which only a terminal gets.
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
