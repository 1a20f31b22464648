// Names and values of files in messages.
import { escapeControls } from '../../base/arguments.js'

const NAME_CHARS_MAX = 60
export const VALUE_CHARS_MAX = 80

export function renderName(column: string): string {
  return renderText(column, NAME_CHARS_MAX)
}

export function renderText(text: string, charsMax: number): string {
  const chars = [...text]
  return escapeControls(
    chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`,
  )
}
