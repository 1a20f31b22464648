// What an import warns of: rows that it takes, but perhaps otherwise than their owner means.
import { escapeControls } from '../base/arguments.js'
import type { OddColumn, SeenValue } from './import-oddities.js'
import { renderPlace } from './import-places.js'
import { renderCount } from './progress.js'
import { placeOfShort, type ShortRows } from './short-lines.js'

const NAME_CHARS_MAX = 60
export const VALUE_CHARS_MAX = 80

/** A value as the result line has it. */
type ShownValue = Readonly<{ value: unknown; path: string; line?: number; row?: number }>

/** A warning as the result line has it; `message` is the line for people. */
export type ImportWarning = Readonly<
  | {
      /** A few values made a column text, or decimal commas did. */
      type: 'textColumn' | 'decimalComma'
      column: string
      /** What the other values are, such as `numbers`. */
      others: string
      /** The values that did; this and the next two are absent if the files cannot be read again. */
      count?: number
      /** All values of the column. */
      values?: number
      /** The first three. */
      first?: readonly ShownValue[]
      message: string
    }
  | ({ type: 'shortLines'; message: string } & ShortRows)
  | { type: 'nameTaken' | 'columnsUnread'; message: string }
>

export function warningsOfShort(shortLines: ShortRows | undefined): readonly ImportWarning[] {
  if (shortLines === undefined) return []
  const { count } = shortLines
  const lines = count === 1 ? 'line has' : 'lines have'
  const place = placeOfShort(shortLines)
  const message = `${renderCount(count)} ${lines} fewer fields than the header, the first in ${place}: the other cells are empty`
  return [{ type: 'shortLines', ...shortLines, message }]
}

/** The warnings about a column, of which there are two if it has both decimal commas and odd values. */
export function warningsOfColumn(odd: OddColumn): readonly ImportWarning[] {
  const { column, others, hasCommas, found } = odd
  const about = { column, others }
  const start = `column '${renderText(column, NAME_CHARS_MAX)}' is text`
  if (found === undefined) {
    const message = `${start} although nearly all of a sample of its values are ${others}`
    if (!hasCommas) return [{ type: 'textColumn', ...about, message }]
    const commas = `${message}, some of them with a decimal comma; --decimal , reads those`
    return [{ type: 'decimalComma', ...about, message: commas }]
  }
  const { valueCount, oddCount, commaCount, commas, mayBeThousands } = found
  const warnings: ImportWarning[] = []
  if (commaCount > 0) {
    const reason = `because numbers in it have a ${mayBeThousands ? '' : 'decimal '}comma: ${renderValues(commas, commaCount)}`
    const remedy = `${mayBeThousands ? 'if it is a decimal comma, ' : ''}--decimal , reads them as numbers`
    const counts = { count: commaCount, values: valueCount, first: commas.map(shownValue) }
    const message = `${start} ${reason}; ${remedy}`
    warnings.push({ type: 'decimalComma', ...about, ...counts, message })
  }
  if (oddCount > 0) {
    const count = `${renderCount(oddCount)} of ${renderCount(valueCount)} values`
    const reason = `because of ${count}: ${renderValues(found.odd, oddCount)}`
    const remedy = 'correct them, or use --schema with --on-error drop to leave them empty'
    const counts = { count: oddCount, values: valueCount, first: found.odd.map(shownValue) }
    const message = `${start} ${reason}; the others are ${others}: ${remedy}`
    warnings.push({ type: 'textColumn', ...about, ...counts, message })
  }
  return warnings
}

function shownValue({ value, path, line, unit }: SeenValue): ShownValue {
  return { value, path, ...(unit === 'line' ? { line } : { row: line }) }
}

function renderValues(values: readonly SeenValue[], count: number): string {
  const shown = values.map((seen) => {
    return `${renderText(JSON.stringify(seen.value), VALUE_CHARS_MAX)} (${renderPlace(seen)})`
  })
  return `${shown.join(', ')}${count > shown.length ? ', …' : ''}`
}

export function renderName(column: string): string {
  return renderText(column, NAME_CHARS_MAX)
}

export function renderText(text: string, charsMax: number): string {
  const chars = [...text]
  return escapeControls(
    chars.length <= charsMax ? text : `${chars.slice(0, charsMax - 1).join('')}…`,
  )
}
