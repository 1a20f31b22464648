// Checks the cells of a JSON byte scanner, and returns which kinds to look for in the texts that follow.
import type { ColumnSummary } from '../../schema/column-summary.js'
import { FORM } from '../../schema/json-byte-values.js'
import type { JsonByteScanner } from '../../schema/scan-json-bytes.js'
import { summarizeBytes } from '../../schema/summarize-bytes.js'
import { RULED_TEXT_KINDS } from '../../schema/value-rules.js'

/** A bit for each form of a cell, and of arrays for each mix of elements. */
export function kindKnownBit(what: number): number {
  const form = what & 0xff
  return 1 << (form === FORM.array ? FIRST_ARRAY_BIT + ((what >> 8) & 0xff) : form)
}

/** There are four bits of ELEMENT. */
const FIRST_ARRAY_BIT = 16

/**
 * Checks a cell of a byte scanner, and sets the kinds to look for in the column's next texts.
 * @returns as `judgeBytes`
 */
export function summarizeCell(
  summary: ColumnSummary,
  { ruledOf }: JsonByteScanner,
  number: number,
  from: number,
  to: number,
  what: number,
  textOf: (from: number, to: number) => string,
): boolean {
  const ruled = summary.scalarMask & RULED_TEXT_KINDS
  let form = what & 0xff
  // The first texts of a segment are asked for all kinds, whatever those of the last one were.
  if (form === FORM.ruledText && (ruled & ~(ruledOf[number] ?? 0)) !== 0) form = FORM.text
  const isSettled = summarizeBytes(summary, from, to, form, (what >> 8) & 0xff, textOf)
  ruledOf[number] = summary.scalarMask & RULED_TEXT_KINDS
  return isSettled
}
