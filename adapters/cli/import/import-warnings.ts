// What an import warns of: rows that it takes, but perhaps otherwise than their owner means.
import type { Advice, AdviceCode, DecimalMark } from '../../base/intake.js'
import { renderCount } from '../command/progress.js'
import { renderName, renderText, VALUE_CHARS_MAX } from '../command/shown-values.js'
import { adviceMessage } from './advice-messages.js'
import type { OddColumn, OddShape, SeenClass, SeenValue } from './import-oddities.js'
import type { FileReport, FoundLines } from './import-reports.js'
import type { ImportSample } from './import-sample.js'
import { NUMBERS_AS_TEXT, type NumberAsText } from './import-values.js'
import { placeOfShort, type ShortRows } from './short-lines.js'
import { renderPlace } from './source-file.js'

const NAMES_SHOWN_MAX = 5

/** A value as the result line has it. */
type ShownValue = Readonly<{ value: unknown; path: string; line?: number; row?: number }>

/** A warning as the result line has it; `message` is the line for people. */
export type ImportWarning = Readonly<
  | {
      /** A few values made a column text, values of several types, or numbers in it that are text to a server. */
      type: 'textColumn' | 'mixedTypes' | NumberAsText
      column: string
      /** What the other values are, such as `numbers`. */
      others: string
      /** The values that did; this and the next are absent if the files cannot be read again. */
      count?: number
      /** All values of the column. */
      values?: number
      /** The first three; of a sample, those that it has. */
      first?: readonly ShownValue[]
      message: string
    }
  | ({ type: 'shortLines'; message: string } & ShortRows)
  | ({ type: AdviceCode; path: string; message: string } & Omit<Advice, 'code'>)
  | { type: 'spacedNames'; columns: readonly string[]; message: string }
  | { type: 'nameTaken' | 'columnsUnread' | 'rowIdsIgnored'; message: string }
>

/** The warnings about lines that are rows with empty cells. */
export function warningsOfLines({ shortLines }: FoundLines): readonly ImportWarning[] {
  if (shortLines === undefined) return []
  const { count } = shortLines
  const lines = count === 1 ? 'line has' : 'lines have'
  const place = placeOfShort(shortLines)
  const message = `${renderCount(count)} ${lines} fewer fields than the header, the first in ${place}: the other cells are empty`
  return [{ type: 'shortLines', ...shortLines, message }]
}

/** What was read and says so itself: no warning. */
const NOTED: ReadonlySet<AdviceCode> = new Set<AdviceCode>([
  'at',
  'delimiter',
  'nested',
  'oneColumn',
])

/** The warnings about how files were read. */
export function warningsOfReading(read: readonly FileReport[]): readonly ImportWarning[] {
  return read.flatMap(({ path, advice }) =>
    advice
      .filter(({ code }) => !NOTED.has(code) && code !== 'shortLines') // `warningsOfLines` has all of them.
      .map((one): ImportWarning => {
        const { code, ...about } = one
        return { type: code, path, ...about, message: `${path}: ${adviceMessage(one)}` }
      }),
  )
}

/** The lines for people about how files were read. */
export function notesOfReading(read: readonly FileReport[]): readonly string[] {
  return read.flatMap(({ path, advice }) =>
    advice.filter(({ code }) => NOTED.has(code)).map((one) => `${path}: ${adviceMessage(one)}`),
  )
}

/** The warnings about what the rows of a new table name. */
export function warningsOfNames(sample: ImportSample | undefined): readonly ImportWarning[] {
  if (sample === undefined) return []
  const warnings: ImportWarning[] = []
  if (sample.hasRowIds) {
    const message =
      '$rowID is left out, for a new table gives its rows new IDs; --mode overwrite keeps those that the table has'
    warnings.push({ type: 'rowIdsIgnored', message })
  }
  const columns = [...sample.columns.keys()].filter((column) => /^ | $/.test(column))
  if (columns.length > 0) {
    const shown = columns.slice(0, NAMES_SHOWN_MAX).map((column) => `"${renderName(column)}"`)
    const more = columns.length > shown.length ? ', …' : ''
    const of =
      columns.length === 1
        ? 'name of 1 column begins or ends'
        : `names of ${renderCount(columns.length)} columns begin or end`
    const message = `the ${of} with a space: ${shown.join(', ')}${more}; remove it from the header`
    warnings.push({ type: 'spacedNames', columns, message })
  }
  return warnings
}

/** The warnings about a column: one for each way of writing numbers, and one for its odd values. */
export function warningsOfColumn(found: OddColumn): readonly ImportWarning[] {
  const { column, others, asText, odd } = found
  const about = { column, others }
  const start = `column '${renderName(column)}' is text`
  if (found.isMixed) {
    const message = `${start} because of its values of several types: ${reasonOfMixed(found)}`
    return [{ type: 'mixedTypes', ...about, ...describeCounts(found.tokens, found), message }]
  }
  const warnings: ImportWarning[] = []
  for (const type of NUMBERS_AS_TEXT) {
    const seen = asText[type]
    if (seen.count === 0) continue
    const { reason, remedy } = describeNumberAsText(type, found)
    const values = renderValues(seen.first, seen.count)
    const message = `${start} because numbers in it ${reason}: ${values}; ${remedy}`
    warnings.push({ type, ...about, ...describeCounts(seen, found), message })
  }
  if (odd.count > 0 || (found.isSample && warnings.length === 0)) {
    const message = `${start} ${reasonOfOdd(found)}`
    warnings.push({ type: 'textColumn', ...about, ...describeCounts(odd, found), message })
  }
  return warnings
}

function reasonOfMixed({ tokens, isSample, valueCount }: OddColumn): string {
  const { count, first } = tokens
  const some = isSample ? 'some' : `${renderCount(count)} of ${renderCount(valueCount)}`
  const values = `${some} become text, as ${renderValues(first, count)}`
  return `${values}; give them one type, or use --schema with --on-error drop to leave the others empty`
}

function describeCounts({ count, first }: SeenClass, { isSample, valueCount }: OddColumn) {
  if (isSample && first.length === 0) return {}
  const shown = first.map(shownValue)
  return isSample ? { first: shown } : { count, values: valueCount, first: shown }
}

type Words = Readonly<{ reason: string; remedy: string }>

/** Why numbers are text, and what reads them. */
function describeNumberAsText(type: NumberAsText, found: OddColumn): Words {
  const { column, mayBeThousands, isSample } = found
  switch (type) {
    case 'decimalComma': {
      const option = `${decimalOption(column, ',')}${isSample ? ' with --schema' : ''} reads them as numbers`
      return mayBeThousands
        ? { reason: 'have a comma', remedy: `if it is a decimal comma, ${option}; else remove it` }
        : { reason: 'have a decimal comma', remedy: option }
    }
    case 'longInteger':
      return {
        reason: 'are integers of more than 15 digits',
        remedy:
          'leave it as text if they are identifiers; --schema with the kind number stores them exactly',
      }
    case 'looseNumber': {
      const count = `${renderCount(found.asText[type].count)} of ${renderCount(found.valueCount)}`
      return {
        reason: `have a plus sign, separators of thousands or no digit beside the point${isSample ? '' : ` (${count})`}`,
        remedy: 'leave it as text if they are codes, else write them as in 0.5, 5 and 1234.5',
      }
    }
    case 'spacedNumber':
      return {
        reason: 'have spaces around them',
        remedy: 'remove the spaces, or use --schema with the kind number, which ignores them',
      }
  }
}

function reasonOfOdd({ others, isSample, valueCount, odd, oddShapes }: OddColumn): string {
  const remedy = remedyOf(oddShapes)
  if (!isSample) {
    const count = `${renderCount(odd.count)} of ${renderCount(valueCount)} values`
    return `because of ${count}: ${renderValues(odd.first, odd.count)}; the others are ${others}: ${remedy}`
  }
  const known = `although nearly all of a sample of its values are ${others}`
  if (odd.count === 0) return `${known}, and it has none of the others; ${REMEDY_OF_UNSEEN}`
  return `${known}, but not ${renderValues(odd.first, odd.count)}: ${remedy}`
}

const REMEDY_OF_UNSEEN =
  'import it from a file, which can be read twice, to see them: leave the column as text if they are codes, ' +
  'or use --schema with --on-error drop to leave them empty'

/** What to do about odd values. Digits that mean something as text are not to be dropped. */
function remedyOf(shapes: ReadonlySet<OddShape>): string {
  const parts: string[] = []
  if (shapes.has('padded')) {
    parts.push('leave it as text if they are codes, for a number has no leading zeros or plus sign')
  }
  if (shapes.has('grouped')) parts.push('remove the separators of thousands')
  if (!shapes.has('other')) return parts.join('; ')
  if (parts.length > 0) return [...parts, 'correct those that are no numbers'].join('; ')
  return 'correct them, or use --schema with --on-error drop to leave them empty'
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

/** The option that says how the decimals of a column are written, and of no other, as a shell takes it. */
export function decimalOption(column: string, mark: DecimalMark): string {
  const isShown = renderName(column) === column
  const value = `${isShown ? column : 'COLUMN'}=${mark}`
  const isPlain = /^[\w.,=-]+$/.test(value)
  return `--decimal ${isPlain ? value : `'${value.replaceAll("'", "'\\''")}'`}`
}
