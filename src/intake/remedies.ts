// Finds dialect options, not given yet, that would read a field that does not fit its column.
import { parseDateCell, parseNumberCell } from './cells.js'
import { SIGN } from './conversions.js'
import { DATE_FORMS, type Dialect } from './dialect.js'

/** Dialect options that together read a field. */
export type Remedy = readonly Readonly<{ option: keyof Dialect; value: string }>[]

/** Characters between thousands. */
const THOUSANDS = ['.', ',', ' ', '\u00a0', '\u202f', "'", '\u2019'] as const

/**
 * The remedies for a field, each of which would read it; empty: there is none.
 * @param kind - The kind of the column.
 */
export function remediesOfField(kind: 'number' | 'date' | 'dateTime', text: string): Remedy[] {
  if (kind === 'number') return remediesOfNumber(text)
  const isRead = (found: string | undefined) =>
    found !== undefined && !(kind === 'date' && /T/.test(found))
  const forms = DATE_FORMS.filter((form) => isRead(parseDateCell(text, form)))
  return forms.map((value) => [{ option: 'dates', value }])
}

function remediesOfNumber(text: string): Remedy[] {
  const [, before, behind] = SIGN.exec(text.trim()) ?? []
  const currency = before ?? behind
  const sign: Remedy = currency === undefined ? [] : [{ option: 'currency', value: currency }]
  const reads = (decimal: '.' | ',', thousands?: string): boolean =>
    parseNumberCell(text, { decimal, thousands, currency }) !== undefined
  if (reads('.')) return sign.length === 0 ? [] : [sign]
  const comma = { option: 'decimal', value: ',' } as const
  const marks = THOUSANDS.filter((mark) => text.includes(mark))
  // If points separate thousands, the decimal mark is a comma by default.
  const byMark = marks.filter((mark) => reads(mark === '.' ? ',' : '.', mark))
  const found: Remedy[] = byMark.map((value) => [{ option: 'thousands', value }, ...sign])
  if (reads(',')) found.unshift([comma, ...sign])
  if (found.length > 0) return found
  const byBoth = marks.filter((mark) => reads(',', mark))
  return byBoth.map((value) => [comma, { option: 'thousands', value }, ...sign])
}
